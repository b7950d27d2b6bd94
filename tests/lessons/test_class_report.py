"""The page about a class: its numbers, its mistakes, and what hostile names and a narrow screen do to it."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lessons import catalogue, lesson
from lessons.class_command import Running, results
from lessons.class_report import common, page
from lessons.grading import USUAL, Graded, grade_folder
from lessons.students import assign, names
from tests.browser import launched
from tests.viz import command

from .classes import hand_in, submissions

pytest.importorskip("jupytext")
pytest.importorskip("IPython")
ONE = lesson(1)


class Tables(HTMLParser):
    """The texts of the cells of a page, by the ids of the sections; tables outside of one have the id ""."""

    def __init__(self, text: str):
        super().__init__()
        self.place, self.found, self.cell = "", {}, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "section":
            self.place = dict(attrs)["id"]
        elif tag == "table":
            self.found.setdefault(self.place, []).append([])
        elif tag == "tr":
            self.found[self.place][-1].append([])
        elif tag == "td":
            self.found[self.place][-1][-1].append("")
            self.cell = self.found[self.place][-1][-1]
        elif tag == "small" and self.cell:
            self.cell[-1] += "|"

    def handle_endtag(self, tag):
        if tag == "section":
            self.place = ""
        elif tag == "td":
            self.cell = None

    def handle_data(self, data):
        if self.cell is not None:
            self.cell[-1] += data


def made(student: str, **answers: str) -> Graded:
    """Return a grade of lesson 1: an answer is right, open, missing or, if wrong, its message."""
    statuses = {name: answers.get(name, "open") for name in ONE.exercises}
    wrong = {name: text for name, text in statuses.items() if text not in ("right", "open", "missing")}
    return Graded(f"{student}.ipynb", ONE.name, {**statuses, **dict.fromkeys(wrong, "wrong")}, wrong, student=student)


def shown(pages: str, exercise: str):
    """Return the counts on the page of an exercise, and its mistakes."""
    counts, *mistakes = Tables(pages).found[exercise]
    rows = [row for row in mistakes[0] if row] if mistakes else []
    return counts[-1], rows


def check_numbers(text: str, handed_in) -> None:
    """Compare a page with the submissions that it is about."""
    for one in {each.lesson for each in handed_in}:
        for name in one.exercises:
            kinds = {s.student: s.kinds[name] for s in handed_in if s.lesson is one}
            words = {s.student: s.words.get(name) for s in handed_in if s.lesson is one}
            tried = [s for s, kind in kinds.items() if kind in ("right", "wrong")]
            wrong = [s for s, kind in kinds.items() if kind == "wrong"]
            still_open = sorted(s for s, kind in kinds.items() if kind in ("open", "missing"))
            counts, mistakes = shown(text, name)
            assert counts[:3] == [f"{len(tried)} of {len(kinds)}", f"{len(tried) - len(wrong)}", f"{len(wrong)}"]
            assert counts[3] == (f"{len(still_open)}|{', '.join(still_open)}" if still_open else "0")
            students = []
            for said, who in mistakes:
                number, _, listed = who.partition("|")
                assert int(number) == len(listed.split(", "))
                assert all(words[student] in said for student in listed.split(", ") if "…" not in said), said
                students += listed.split(", ")
            assert sorted(students) == sorted(wrong)
            sizes = [int(who.partition("|")[0]) for _, who in mistakes]
            assert sizes == sorted(sizes, reverse=True)
    solved = sum(kind == "right" for s in handed_in for kind in s.kinds.values())
    most = sum(len(s.kinds) for s in handed_in)
    people = len({s.student for s in handed_in})
    assert (
        f"{len(handed_in)} notebooks from {people} students" in text and f"{solved} of {most} exercises solved" in text
    )
    rows = {(row[0], row[1]): row for row in Tables(text).found[""][0] if row}
    for s in handed_in:
        row = rows.pop((s.student, str(s.lesson.number)))
        wrong, unanswered = (
            [name for name, k in s.kinds.items() if k in kinds] for kinds in (["wrong"], ["open", "missing"])
        )
        assert row[2:] == [
            f"{list(s.kinds.values()).count('right')} of {len(s.kinds)}",
            ", ".join(wrong),
            ", ".join(unanswered),
            "",
        ]
    assert not rows


def test_four_notebooks_become_a_page(tmp_path):
    handed_in = submissions(4, (1,))
    hand_in(handed_in, tmp_path / "class")
    done = command.minigrad(tmp_path, "lessons", "report", "class")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode() == "wrote report.html: 4 notebooks\n"
    check_numbers((tmp_path / "report.html").read_text(encoding="utf-8"), handed_in)


@pytest.mark.slow
def test_thirty_notebooks_become_a_page(tmp_path):
    handed_in = submissions(15, (1, 5))
    hand_in(handed_in, tmp_path)
    check_numbers(page("Class", results(tmp_path, Running(jobs=4))), handed_in)


def test_the_page_may_go_to_the_standard_output_and_mistakes_of_the_call_are_said(tmp_path):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ann.ipynb").write_text("{")
    done = command.minigrad(tmp_path, "lessons", "report", "class", "-o", "-")
    assert done.stdout.startswith(b"<!doctype html>") and b"is not a notebook" in done.stdout
    assert b"there is no folder nowhere" in command.minigrad(tmp_path, "lessons", "report", "nowhere").stderr
    done = command.minigrad(tmp_path, "lessons", "report", "class", "-o", "no/page.html")
    assert done.returncode == 2 and b"the folder no does not exist" in done.stderr
    assert b"must be greater than 0" in command.minigrad(tmp_path, "lessons", "report", "class", "-j", "0").stderr


def test_the_same_words_are_one_mistake_whatever_the_numbers():
    said = {
        "ann": "the gradient for [1, 2] is 3 at [0], expected 8\nin the line: x = 1",
        "ben": "the gradient for [1, 2] is 5.5e-3 at [1], expected 8\nin the line: y = 2",
        "cat": "a 4 is not right: that is what one edge brings",
    }
    text = page("Class", [made(name, three_uses=words) for name, words in said.items()])
    _, mistakes = shown(text, "three_uses")
    assert mistakes == [
        ["the gradient for [1, 2] is … at …, expected 8", "2|ann, ben"],
        ["a 4 is not right: that is what one edge brings", "1|cat"],
    ]
    assert common(["x1 is -2", "x1 is 3"]) == "x1 is …"


def test_the_most_frequent_mistake_of_all_exercises_comes_first():
    class_of_four = [
        made(f"s{i}", three_uses=f"rare {'abcd'[i]}", count_paths="frequent", walking_order="right") for i in range(4)
    ]
    text = page("Class", class_of_four)
    topics = re.findall("<li>(.*?)</li>", text.partition("Talk about next")[2])
    assert len(topics) == 5 and "4 students" in topics[0] and "frequent" in topics[0]
    assert "#count_paths" in topics[0] and "id='count_paths'" in text


def part(text: str, heading: str) -> list[str]:
    """Return the items of the lists below a heading of the page, without markup."""
    below = text.partition(f"<h2>{heading}</h2>")[2].partition("<h2>")[0]
    return [re.sub("<.*?>", "", item) for item in re.findall("<li>(.*?)</li>", below)]


def test_the_page_begins_with_the_exercises_that_few_have_solved_and_the_students_who_need_help():
    right = dict.fromkeys(ONE.exercises, "right")
    two = Graded("ann/2.ipynb", lesson(2).name, dict.fromkeys(lesson(2).exercises, "right"))
    everyone = [
        made("ann/1", **right),
        made("ben/1", **{**right, "count_paths": "4 paths"}),
        made("cat/1", **{**right, "count_paths": "open", "three_uses": "4 is not right"}),
        made("dan/1", three_uses="right"),
    ]
    text = page("Class", assign([*everyone, two]))
    repeat, help_ = part(text, "Repeat next week"), part(text, "Who needs help")
    assert repeat == ["count_paths, lesson 1: 1 of 4 solved, 1 wrong, 2 open"]
    assert help_ == ["dan: 1 of 5 solved"], "of lesson 2, one student is no reason to ask the others for it"
    text = page("Class", [made(name, **right) for name in ("ann", "ben")])
    assert part(text, "Repeat next week") == part(text, "Who needs help") == []
    assert "have solved each exercise" in text and "half of the exercises or more" in text


def test_students_without_a_notebook_that_most_others_handed_in_are_named():
    two = [Graded(f"{name}/2.ipynb", lesson(2).name, {"CombinedSine": "right"}) for name in ("ann", "ben")]
    text = page("Class", assign([*(made(f"{name}/1", three_uses="right") for name in ("ann", "ben", "<cat>")), *two]))
    assert "lesson 2: 1&lt;cat&gt;" in part(text, "Who needs help")


def test_a_class_without_mistakes_and_an_empty_one_have_a_page():
    assert "No answer is wrong." in page("Class", [made("ann", three_uses="right")])
    text = page("Class", [Graded("ann.ipynb", notes=["it is not a notebook"])])
    assert "0 of 0 exercises solved" in text and "it is not a notebook" in text


@pytest.mark.parametrize(
    "files, expected",
    [
        (["ann/ONE.ipynb", "ben/ONE.ipynb"], ["ann", "ben"]),
        (["ONE_ann.ipynb", "ben-ONE.ipynb"], ["ann", "ben"]),
        (["week 1/ann.ipynb", "week 1/ben.ipynb"], ["ann", "ben"]),
        (["ann/mine.ipynb", "ben/mine.ipynb"], ["ann", "ben"]),
        (["ann/ONE (1).ipynb", "ben/ONE-Copy1.ipynb"], ["ann", "ben"]),
        (["ann/ONE.ipynb", "ann/ONE (1).ipynb", "ben/ONE.ipynb"], ["ann/ONE", "ann/ONE (1)", "ben"]),
        (["ONE.ipynb"], ["ONE"]),
    ],
)
def test_a_student_is_named_by_file_or_folder(files, expected):
    found = names([Graded(file.replace("ONE", ONE.name), ONE.name) for file in files])
    assert found == [name.replace("ONE", ONE.name) for name in expected]


def test_a_student_has_one_name_in_all_lessons():
    files = {"ann/first.ipynb": 1, "ann/second.ipynb": 2, "ben/first.ipynb": 1, "ben/second.ipynb": 2}
    found = names([Graded(file, lesson(number).name) for file, number in files.items()])
    assert found == ["ann", "ann", "ben", "ben"]


def test_names_and_messages_become_no_markup():
    evil = "<img src=x onerror=alert(1)>\x1b[2J\u202e&'"
    grade = made(evil.replace("/", ""), three_uses=evil)
    grade.notes.append(evil)
    text = page(evil, [grade, Graded(evil, notes=[evil])])
    assert "<img" not in text and "\x1b" not in text and "\u202e" not in text
    assert "default-src 'none'" in text and "<script" not in text


def test_a_long_message_is_cut():
    assert len(page("Class", [made("ann", three_uses="long " * 100_000)])) < 20_000


PREDICTED = """# %% [markdown]
# # Title
#
# *Needs no other lesson.*
#
# **A question?**

# %%
lessons.predict("What is 2 + 2?", {4: "Two and two.", 22: "That joins texts."}, 4)

# %%
lessons.check("three_uses", ...)
"""


def test_predictions_are_no_exercises(tmp_path):
    file = tmp_path / "01_title.py"
    file.write_text(PREDICTED)
    assert catalogue._read(file).exercises == ("three_uses",)
    (one,) = submissions(1, (1,))  # its notebook has a prediction
    hand_in([one], tmp_path)
    (graded,) = grade_folder(tmp_path, USUAL, 1)
    assert list(graded.statuses) == list(ONE.exercises) and not graded.notes
    assert "predict" not in page("Class", [graded])


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_fits_a_phone_and_a_screen(width, tmp_path):
    file = tmp_path / "report.html"
    long_one = made("a student with a name that is longer than others " * 2, count_paths="word" * 60)
    file.write_text(
        page("Class", [long_one, *(made(f"s{i}", three_uses="right") for i in range(20))]), encoding="utf-8"
    )
    with launched() as browser:
        tab = browser.new_page(viewport={"width": width, "height": 800})
        tab.goto(Path(file).as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
