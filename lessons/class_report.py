"""A class's results as one self-contained page: exercises to repeat, students who need help, mistakes to talk about, tables.

grading.py computes the results; this file only counts them.  Wrong answers count as the same mistake if the verdicts have the
same key, or else the same words, whatever numbers are in them.  Names, answers and messages come from notebooks, so `text`
escapes all of them.
"""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date

from viz.text import shorten

from .bank import TOPICS, entries
from .catalogue import all_lessons
from .grading import Graded
from .table import exercises

LONGEST = 300  # characters of a message
MOST = 10  # mistakes to talk about
ANSWERS = 3  # to show for a mistake
SOLVED_BY_FEW = 2 / 3  # of the class: an exercise that a smaller part has solved is one to repeat
NEEDS_HELP = 1 / 2  # of the exercises: a student who has solved a smaller part needs help
# numbers, lists of numbers, and addresses of objects: what differs between two answers with the same mistake
NUMBERS = re.compile(r"0x[0-9a-f]+|\[[\[\]\d.,\s]*\]|(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")


@dataclass(frozen=True)
class Mistake:
    """A mistake in an exercise: the words of the verdict, the students who made it, and their answers without repeats."""

    place: str  # lesson 3, or the bank
    exercise: str
    words: str
    students: tuple[str, ...]
    answers: tuple[str, ...] = ()


@dataclass
class Counted:
    """Results of one exercise: the students with a right answer, with a wrong one and with none, and the mistakes."""

    place: str
    heading: str
    name: str
    solved: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    wrong: dict[str, Graded] = field(default_factory=dict)  # of each student

    @property
    def tried(self) -> int:
        """The number of students with an answer."""
        return len(self.solved) + len(self.wrong)

    @property
    def all(self) -> int:
        """The number of students who handed in the notebook."""
        return self.tried + len(self.open)

    @property
    def mistakes(self) -> list[Mistake]:
        """The mistakes, the most frequent first."""
        groups: dict[tuple, list[str]] = {}
        for student, graded in self.wrong.items():
            key = graded.mistakes.get(self.name, "")
            groups.setdefault((key,) if key else tuple(NUMBERS.split(self.said(student))), []).append(student)
        found = []
        for group in groups.values():
            answers = dict.fromkeys(self.wrong[one].given.get(self.name, "") for one in group)
            words = common([self.said(one) for one in group])
            found.append(Mistake(self.place, self.name, words, tuple(group), tuple(filter(None, answers))))
        return sorted(found, key=lambda one: -len(one.students))

    def said(self, student: str) -> str:
        """Return the first line of the verdict on a student's wrong answer."""
        return first_line(self.wrong[student].messages.get(self.name, ""))


def first_line(message: str) -> str:
    """Return the first line of a message, shortened."""
    return shorten(message.strip().partition("\n")[0], LONGEST)


def common(messages: Sequence[str]) -> str:
    """Return messages about the same mistake as one: the first, with dots for the numbers that differ if the words are equal.

    >>> common(["4 is not right: take 2 * eps", "5 is not right: take 2 * eps"])
    '… is not right: take 2 * eps'
    """
    words = NUMBERS.split(messages[0])
    if any(NUMBERS.split(message) != words for message in messages):
        return messages[0]
    columns = zip(*(NUMBERS.findall(message) for message in messages))
    numbers = [column[0] if len(set(column)) == 1 else "…" for column in columns]
    return "".join(part for pair in zip(words, [*numbers, ""]) for part in pair)


def counted(judged: Sequence[Graded]) -> list[Counted]:
    """Return the results of each exercise that was handed in: of the lessons, of the bank's topics, and then a teacher's."""
    found = {
        name: Counted(f"lesson {one.called}", f"{one.called}. {one.title}", name)
        for one in all_lessons()
        for name in one.exercises
    }
    for name, one in entries().items():
        found[name] = Counted("the bank", f"Exercise bank: {TOPICS[one.topic]}", name)
    for graded in judged:
        for name, status in graded.statuses.items():
            one = found.setdefault(name, Counted(graded.lesson, graded.lesson, name))
            if status == "right":
                one.solved.append(graded.student)
            elif status == "wrong":
                one.wrong[graded.student] = graded
            else:
                one.open.append(graded.student)
    return [found[name] for name in exercises(judged)]


def page(title: str, all_of_them: Sequence[Graded]) -> str:
    """Return the results as an HTML document that needs no other file and no script.

    >>> graded = Graded("ann.ipynb", "01_numbers_that_remember", {"three_uses": "right"})
    >>> "1 notebook from 1 student" in page("Class", [graded])
    True
    """
    judged = [graded for graded in all_of_them if graded.file and graded.statuses]
    counts = counted(judged)
    handed_in, students = [one for one in all_of_them if one.file], {one.student for one in all_of_them}
    points, most = sum(graded.points for graded in judged), sum(len(graded.statuses) for graded in judged)
    today = date.today()
    overview = (
        f"{number(len(handed_in), 'notebook')} from {number(len(students), 'student')}, {today.day} {today:%B %Y}. "
        f"{points} of {number(most, 'exercise')} solved."
    )
    parts = [
        f"<header><h1>{text(title)}</h1><p>{overview}</p></header>",
        f"<div class='glance'>{to_repeat(counts)}{needing_help(all_of_them)}</div>" if judged else "",
        next_topics(counts),
        "<h2>Exercises</h2>",
        *(section(one, before) for before, one in zip([None, *counts], counts)),
        "<h2>Students</h2>",
        of_students(judged),
        not_graded([graded for graded in handed_in if not graded.statuses]),
    ]
    return PAGE.format(title=text(title), style=STYLE, body="\n".join(filter(None, parts)))


def to_repeat(exercises: Iterable[Counted]) -> str:
    """Return the exercises that few students have solved as a list, the hardest first."""
    found = sorted(
        (one for one in exercises if len(one.solved) < SOLVED_BY_FEW * one.all),
        key=lambda one: len(one.solved) / one.all,
    )
    rows = [
        f"<li><a href='#{one.name}'>{one.name}</a>, {one.place}: <b>{len(one.solved)} of {one.all}</b> solved, "
        f"{len(one.wrong)} wrong, {len(one.open)} open{bar(one)}</li>"
        for one in found[:MOST]
    ]
    listed = (
        f"<ol>{''.join(rows)}</ol>" if rows else "<p>Two thirds of the class or more have solved each exercise.</p>"
    )
    return f"<div><h2>Repeat next week</h2>{listed}</div>"


def needing_help(all_of_them: Sequence[Graded]) -> str:
    """Return two lists: students with few solved exercises, and those who did not hand in a notebook.

    Without a list of the class, a notebook is missing that half of the others handed in.
    """
    own: dict[str, list[Graded]] = {}
    for graded in all_of_them:
        own.setdefault(graded.student, []).append(graded)
    counts = {
        name: (sum(one.points for one in each), sum(len(one.statuses) for one in each if one.file))
        for name, each in own.items()
    }
    behind = sorted((solved / most, name) for name, (solved, most) in counts.items() if solved < NEEDS_HELP * most)
    rows = [f"<li>{text(name)}: <b>{counts[name][0]} of {counts[name][1]}</b> solved</li>" for _, name in behind]
    listed = f"<ol>{''.join(rows)}</ol>" if rows else "<p>Each student has solved half of the exercises or more.</p>"
    missing = []
    known = any(not one.file for one in all_of_them)
    for lesson in sorted({one.lesson for one in all_of_them if one.lesson}):
        without = [name for name, each in own.items() if lesson not in {one.lesson for one in each if one.file}]
        if without and (known or len(without) <= len(own) / 2):  # a sheet of few students is not asked of all
            missing.append(f"<li>{text(place(lesson))}: {with_names(without)}</li>")
    more = f"<h3>Not handed in</h3><ul>{''.join(missing)}</ul>" if missing else ""
    return f"<div><h2>Who needs help</h2>{listed}{more}</div>"


def next_topics(exercises: Iterable[Counted]) -> str:
    """Return the most frequent mistakes of all exercises as a list."""
    found = sorted((one for each in exercises for one in each.mistakes), key=lambda one: -len(one.students))
    rows = [
        f"<li><b>{number(len(one.students), 'student')}</b>, {one.place}, "
        f"<a href='#{one.exercise}'>{one.exercise}</a>: {text(one.words)}</li>"
        for one in found[:MOST]
    ]
    more = f"<p>{number(len(found) - MOST, 'other mistake')} below.</p>" if len(found) > MOST else ""
    listed = f"<ol>{''.join(rows)}</ol>{more}" if rows else "<p>No answer is wrong.</p>"
    return f"<h2>Talk about next</h2>\n{listed}"


def section(one: Counted, before: Counted | None) -> str:
    """Return the counts of an exercise and its mistakes, with a heading before the first one of a lesson."""
    head = "" if before and before.heading == one.heading else f"<h3>{text(one.heading)}</h3>"
    row = [f"{one.tried} of {one.all}", len(one.solved), len(one.wrong), with_names(one.open)]
    tables = [table(["Tried", "Solved", "Wrong", "Left open"], [row], "counts")]
    if one.wrong:
        tables.append(
            table(
                ["Mistake", "Students"],
                [[text(each.words) + given(each.answers), with_names(each.students)] for each in one.mistakes],
                "mistakes",
            )
        )
    return f"{head}<section id='{one.name}'><h4>{one.name}</h4>{bar(one)}{''.join(tables)}</section>"


def given(answers: Sequence[str]) -> str:
    """Return wrong answers, to stand below the words of a mistake."""
    shown = "".join(f"<pre>{program(answer)}</pre>" for answer in answers[:ANSWERS])
    more = f"<small>{number(len(answers) - ANSWERS, 'other answer')}</small>" if len(answers) > ANSWERS else ""
    return shown + more


def bar(one: Counted) -> str:
    """Return a bar of the right, wrong and open answers."""
    counts = {"right": len(one.solved), "wrong": len(one.wrong), "open": len(one.open)}
    spans = "".join(f"<span class='{kind}' style='flex:{count}'></span>" for kind, count in counts.items() if count)
    return f"<div class='bar' aria-hidden='true'>{spans}</div>"


def with_names(students: Sequence[str]) -> str:
    """Return the number of students and their names."""
    return f"{len(students)}<small>{text(', '.join(sorted(students)))}</small>" if students else "0"


def of_students(judged: Sequence[Graded]) -> str:
    """Return a table with a row for each notebook, in order of the students' names and the lessons."""
    rows = []
    for graded in sorted(judged, key=lambda one: (one.student.lower(), one.lesson)):
        wrong = [name for name, status in graded.statuses.items() if status == "wrong"]
        unanswered = [name for name, status in graded.statuses.items() if status in ("open", "missing")]
        row = [text(graded.student), text(title(graded.lesson)), f"{graded.points} of {len(graded.statuses)}"]
        row += [text(", ".join(wrong)), text(", ".join(unanswered))]
        rows.append([*row, text("; ".join(shorten(note, LONGEST) for note in [*graded.notes, *graded.remarks]))])
    return table(["Student", "Lesson", "Solved", "Wrong", "Open", "Notes"], rows, "students")


def title(lesson: str) -> str:
    """Return the number of a lesson, or the title of a sheet.

    >>> title("01_numbers_that_remember"), title("week_3")
    ('1', 'week_3')
    """
    return next((one.called for one in all_lessons() if one.name == lesson), lesson)


def place(lesson: str) -> str:
    """Return "lesson 1" for a lesson, or the title of a sheet."""
    return f"lesson {title(lesson)}" if title(lesson) != lesson else lesson


def not_graded(others: Sequence[Graded]) -> str:
    """Return a table of the notebooks without grades, and the reasons."""
    rows = [
        [text(one.file), text("; ".join(shorten(note, LONGEST) for note in [*one.notes, *one.remarks]))]
        for one in others
    ]
    return f"<h2>Not graded</h2>\n{table(['File', 'Reason'], rows)}" if rows else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], kind: str = "") -> str:
    """Return a table of HTML cells; on a phone each row is a block with the heads as labels."""
    top = "".join(f"<th>{head}</th>" for head in heads)
    cells = ([f"<td data-label='{head}'><div>{one}</div></td>" for head, one in zip(heads, row)] for row in rows)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    return f"<table class='{kind}'><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def text(words: str) -> str:
    """Return text from a notebook as HTML.

    >>> text("<script>\\x1b")
    '&lt;script&gt;\\ufffd'
    """
    return html.escape(shorten(words, 100 * LONGEST))


def program(words: str) -> str:
    """Return text of several lines as HTML, with its line breaks."""
    return "\n".join(map(text, words.splitlines()))


def number(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> number(1, "student"), number(2, "student")
    ('1 student', '2 students')
    """
    return f"{count} {noun}{'s' * (count != 1)}"


STYLE = """:root { --ink: #18202b; --soft: #515c6b; --rule: #dedbd1; --well: #f2f0e9; --link: #1d55a0;
  --right: #2e7d32; --wrong: #c62828; --open: #bdbdbd; }
body { max-width: 60rem; margin: 0 auto; padding: 1rem; color: var(--ink); font: 1rem/1.45 system-ui, sans-serif;
  overflow-wrap: anywhere; }
h1 { margin: .5rem 0 0; font-size: 1.6rem; }
h2 { margin: 2rem 0 .5rem; border-top: 2px solid var(--ink); padding-top: .5rem; font-size: 1.3rem; }
h3 { margin: 1.5rem 0 .5rem; font-size: 1.1rem; }
h4 { margin: 1.2rem 0 .2rem; font: 600 1rem ui-monospace, monospace; }
header p, small, th { color: var(--soft); }
a { color: var(--link); }
li { margin: .4rem 0; }
table { border-collapse: collapse; width: 100%; margin: .4rem 0; }
th, td { padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; }
th { font-size: .85rem; font-weight: 600; white-space: nowrap; }
small { display: block; font-size: .85rem; }
pre { margin: .3rem 0 0; font: .85rem/1.35 ui-monospace, monospace; white-space: pre-wrap; color: var(--soft); }
.counts td { width: 20%; }
.counts td:last-child { width: auto; }
.counts td + td > div::before { content: "■ "; color: var(--right); }
.counts td:nth-child(3) > div::before { color: var(--wrong); }
.counts td:nth-child(4) > div::before { color: var(--open); }
.mistakes td:last-child { width: 40%; }
.students td:first-child { min-width: 8rem; }
.students td:nth-child(3) { white-space: nowrap; }
.glance { display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 0 2rem; }
.glance ol, .glance ul { margin: 0; padding-left: 1.6rem; }
.glance h3 { margin: 1rem 0 0; font-size: 1rem; }
.bar { display: flex; gap: 2px; height: .5rem; }
.right { background: var(--right); }
.wrong { background: var(--wrong); }
.open { background: var(--open); }
@media screen and (max-width: 40rem) {
  thead { position: absolute; left: 0; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tr { display: block; padding: .4rem 0; border-bottom: 1px solid var(--rule); }
  td { display: grid; grid-template-columns: 6rem 1fr; padding: .1rem 0; border: 0; width: auto !important; }
  td::before { content: attr(data-label); color: var(--soft); font-size: .85rem; }
  td:has(> div:empty), .students td:first-child::before { display: none; }
  .students td:first-child { display: block; font-weight: 600; }
  .counts td:nth-child(-n+3) { display: inline-grid; width: 32% !important; grid-template-columns: auto 1fr; gap: .4rem; }
  .students td:nth-child(2), .students td:nth-child(3) { display: inline-grid; width: 49% !important;
    grid-template-columns: 4rem 1fr; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  section, tr, li { break-inside: avoid; }
  h2, h3, h4 { break-after: avoid; }
  .bar span { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}"""

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}
</style>
{body}
</html>
"""
