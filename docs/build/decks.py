"""Make slides for the course plans from executed lessons: an HTML file for each deck that plans.py finds.

A lesson's slides are its question, its pictures, its outcomes, the beginning of each section with its formula and first code,
the predictions, the summary and the questions.  Nothing is written for slides alone: a long text is cut at the end of a
sentence, long code leaves its output, and code without a word or an output beside it is left to the notebook.
"""

from __future__ import annotations

import ast
import base64
import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from string import Template

from nbformat import NotebookNode

from lessons import Lesson
from lessons.as_notebook import untabbed
from viz.view import PASSES

from . import DOCS, dark, large, slides
from .execute import ESCAPES
from .lessons import CELL
from .plans import Block, Deck, decks
from .slide_parts import (
    WORDS,
    Part,
    Slide,
    above,
    code,
    cut,
    drawing,
    escaped,
    fitting,
    formula,
    image,
    listed,
    output,
    pieces,
    readable,
    short,
    words,
)

TEMPLATE = Template(Path(__file__).with_name("deck.html").read_text(encoding="utf-8"))
FOLDED = re.compile(r"<details[^>]*>\s*<summary>(.*?)</summary>(.*?)</details>", re.DOTALL)
ASKED = re.compile(r"<b>Predict:</b> (.*?) <i>", re.DOTALL)
CHOICE = re.compile(r"<code>(.*?)</code></summary><div[^>]*>([✓✗]) \w+\. (.*?)</div>", re.DOTALL)
BLOCK = re.compile(r"^`{3}[\s\S]*?^`{3}|^\$\$[\s\S]*?\$\$|^#+ .*|(?:^(?!`{3}|\$\$|#+ ).*\S.*\n?)+", re.MULTILINE)
KINDS = {"#": "heading", "$$": "math", "```": "fence", "|": "table", "<": "html", "!!!": "html"}
TAB = re.compile(r"\*\*[^*]+\*\*")  # its name, as as_notebook.untabbed writes it
ITEM = re.compile(r"^(?:[-*]|\d+\.) ", re.MULTILINE)
DEFINES = re.compile(r"^(?:def |class |\w+(?:, \w+)* = )", re.MULTILINE)
CLOSING = ("Exercises", "Summary", "Questions")
LANGUAGES = {"python": "Python", "cpp": "C++", "typescript": "TypeScript"}


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the kinds and texts of the blocks of a lesson's Markdown; the kinds are those of KINDS, "list" and "text".

    >>> list(blocks("## A\\n\\nOne\\ntwo.\\n\\n$$x$$\\n\\n- a\\n- b"))
    [('heading', '## A'), ('text', 'One\\ntwo.'), ('math', '$$x$$'), ('list', '- a\\n- b')]
    """
    for block in BLOCK.findall(untabbed(text)):
        block = block.strip("\n")
        kind = next((kind for start, kind in KINDS.items() if block.startswith(start)), "text")
        if not TAB.fullmatch(block):
            yield ("list" if ITEM.match(block) else kind), block


def items(block: str) -> list[str]:
    """Return the items of a list in Markdown.

    >>> items("- one\\n  two,\\n- three.")
    ['one two', 'three']
    """
    lines = [" ".join(item.split()) for item in ITEM.split(block)[1:]]
    return [line.rstrip(",.") for line in lines] if any(line.endswith(",") for line in lines) else lines


@dataclass
class Section:
    """A part of a lesson below a heading: its Markdown blocks and code cells in order."""

    heading: str
    content: list[tuple[str, str] | NotebookNode] = field(default_factory=list)

    def texts(self, kind: str) -> list[str]:
        """Return the blocks of a kind."""
        return [one[1] for one in self.content if isinstance(one, tuple) and one[0] == kind]

    def below(self, cell: NotebookNode) -> list[str]:
        """Return the paragraphs below a code cell."""
        place = next(i for i, one in enumerate(self.content) if one is cell)
        return [one[1] for one in self.content[place:] if isinstance(one, tuple) and one[0] == "text"]

    @property
    def cells(self) -> list[NotebookNode]:
        """The code cells."""
        return [one for one in self.content if not isinstance(one, tuple)]

    def lead(self, start: int = 0) -> list[tuple[str, str]]:
        """Return the text from a place to the next code, up to WORDS words, with the first formulas in it."""
        found: list[tuple[str, str]] = []
        for kind, block in takewhile(lambda one: isinstance(one, tuple), self.content[start:]):
            count = sum(len(text.split()) for _, text in found)
            if kind == "text" and (not found or count + len(cut(block, 1).split()) <= WORDS):
                found.append((kind, cut(block, max(1, WORDS - count), goes_on=True)))
            elif kind == "math" and (found[-1:] and found[-1][0] == "math" or all(each != "math" for each, _ in found)):
                found.append((kind, block))
        return found

    def late_formula(self) -> list[tuple[str, str]]:
        """Return the first formula with the paragraph before it, if it is below code."""
        kinds = [one[0] if isinstance(one, tuple) else "code" for one in self.content]
        place = kinds.index("math") if "math" in kinds else 0
        return self.lead(place - (kinds[place - 1] == "text")) if "code" in kinds[:place] else []


def sections(cells: Sequence[NotebookNode]) -> list[Section]:
    """Return the sections of a lesson, first the part before any heading."""
    found = [Section("")]
    for cell in cells:
        if cell.cell_type == "code":
            found[-1].content.append(cell)
            continue
        for kind, block in blocks(FOLDED.sub("", cell.source)):
            if block.startswith("## "):
                found.append(Section(block[3:]))
            else:
                found[-1].content.append((kind, block))
        folds = FOLDED.findall(cell.source)
        found[-1].content += [("answer", f"{question.strip()}\n{answer.strip()}") for question, answer in folds]
    return found


def paragraphs(lead: Sequence[tuple[str, str]], goes_on: bool = False) -> list[Part]:
    """Return paragraphs and formulas; the last paragraph may end with a colon if the slide goes on."""
    return [
        formula(block.strip("$").strip()) if kind == "math" else words(cut(block, goes_on=goes_on or i + 1 < len(lead)))
        for i, (kind, block) in enumerate(lead)
    ]


def shown_code(cell: NotebookNode) -> str:
    """Return a cell's code without assertions, calls of lessons.* and functions that answer a prediction.

    Return "" if only imports and calls of draw are left.
    """
    lines, tree = cell.source.splitlines(), ast.parse(cell.source)
    calls = [node for node in tree.body if ast.unparse(node).startswith("lessons.")]
    inner = [node for call in calls for node in ast.walk(call) if isinstance(node, ast.Call)]
    answers = {ast.unparse(node.args[2]) for node in inner if ast.unparse(node.func) == "lessons.predict"}
    helpers = [node for node in tree.body if getattr(node, "name", None) in answers]
    for first, last in [*((node.lineno, node.end_lineno or 0) for node in [*calls, *helpers]), *assertions(tree)]:
        lines[first - 1 : last] = ["\0"] * (last - first + 1)
    left = re.sub(r"\n{3,}", "\n\n", "\n".join(line for line in lines if line != "\0")).strip("\n")
    return "" if all(line.startswith(("draw(", "import ", "from ")) for line in left.splitlines()) else left


def assertions(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Yield the first and the last lines of assertions, and of branches that raise AssertionError."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and (len(body) > 1 or node is tree):
            yield from ((one.lineno, one.end_lineno or 0) for one in body if isinstance(one, ast.Assert))
        if isinstance(node, ast.Try) and node.orelse and ast.unparse(node.orelse[0]).startswith("raise AssertionError"):
            yield node.orelse[0].lineno - 1, node.orelse[-1].end_lineno or 0


def program(cell: NotebookNode) -> list[Part]:
    """Return a cell's code, if it is short, and its printed output, with a value that is only a text."""
    text = shown_code(cell)
    found = [one.text for one in cell.outputs if one.output_type == "stream" and one.name == "stdout"]
    found += [one.data["text/plain"] for one in cell.outputs if list(one.get("data", ())) == ["text/plain"]]
    printed = CELL.sub("cell", ESCAPES.sub("", "\n".join(one.rstrip("\n") for one in found))).strip("\n")
    return [code(text)] * short(text) + [output(printed)] * bool(printed)


def pictures(cell: NotebookNode, title: str) -> list[Slide]:
    """Return a slide for each picture of a cell, and for each pass of a drawing."""
    made, alt = [], cell.metadata.get("alt", "")
    for data in (one.get("data", {}) for one in cell.outputs):
        if pages := data.get(large.PAGES):
            made += [Slide("picture", title, [drawing(pages[name])], passed(name)) for name in PASSES if name in pages]
            made += [
                Slide("picture", title, [image(pages[name].encode(), "svg+xml", alt)])
                for name in pages
                if name == "figure"
            ]
        elif "image/svg+xml" in data and readable(data["image/svg+xml"]):
            made.append(Slide("picture", title, [drawing(data["image/svg+xml"], alt)]))
        elif "image/png" in data:
            made.append(Slide("picture", title, [image(base64.b64decode(data["image/png"]), "png", alt)]))
    return made


def passed(name: str) -> str:
    """Return the name of a pass, to stand beside a title in the colour of the pass."""
    return f'<span class="pass {name}">{name} pass</span>'


def predictions(cell: NotebookNode, seen: Sequence[str] = ()) -> Iterator[Slide]:
    """Yield two slides for each prediction of an executed cell: the question with its choices, and the answer with reasons.

    Short code of the cell that defines names is below the question, unless it is among the texts in `seen`.
    """
    text = shown_code(cell)
    helps = [code(text)] if text not in seen and short(text) and DEFINES.search(text) else []
    for made in (one.get("data", {}).get("text/html", "") for one in cell.outputs):
        if asked := ASKED.search(made):
            question = escaped(html.unescape(asked[1]))
            choices = [(text, sign == "✓", reason) for text, sign, reason in CHOICE.findall(made)]
            plainly = chosen(
                [f"<li><code>{text}</code></li>" for text, _, _ in choices], [text for text, _, _ in choices]
            )
            slide = Slide("ask", "Predict", [words(question), *helps, plainly])
            yield slide if slide.size() else Slide("ask", "Predict", [words(question), plainly])
            rows = [
                f"<li{' class=right' * right}><code>{text}</code><small>{reason}</small></li>"
                for text, right, reason in choices
            ]
            lines = [line for text, _, reason in choices for line in (text, reason)]
            yield Slide("ask answer", "Answer", [words(question, small=True), chosen(rows, lines, 0.85)])


def chosen(rows: Sequence[str], lines: Sequence[str], scale: float = 1) -> Part:
    """Return the list of choices."""
    return Part(f'<ol class="choices">{"".join(rows)}</ol>', "text", list(map(html.unescape, lines)), scale)


class LessonSlides:
    """Slides of one lesson."""

    def __init__(self, lesson: Lesson, cells: Sequence[NotebookNode]):
        self.lesson, self.head = lesson, cells[0].source
        self.first, *others = sections(cells[1:])
        self.main = [one for one in others if one.heading not in CLOSING]
        self.closing = {one.heading: one for one in others if one.heading in CLOSING}
        self.question, _, self.answer = self.head.split("\n\n")[2].partition("**")[2].partition("**")

    def all(self) -> Iterator[Slide]:
        """Yield all slides."""
        yield from self.opening()
        yield from self.ending()

    def homework(self) -> Iterator[Slide]:
        """Yield the slides for a lesson that students do at home."""
        yield self.title(f"Homework: lesson {self.lesson.number} · `minigrad lessons open {self.lesson.number}`")
        yield self.outcomes()

    def opening(self) -> Iterator[Slide]:
        """Yield the slides up to the exercises."""
        yield self.title(f"Lesson {self.lesson.number} · {self.lesson.minutes} minutes")
        cells = self.first.cells
        place, drawn = next(
            ((i, made) for i, cell in enumerate(cells) if (made := pictures(cell, self.lesson.title))), (0, [])
        )
        about = self.first.below(cells[place])[:1] if drawn else []  # the text below the first picture is about it
        yield from drawn
        yield from fitting(self.question, [words(cut(one)) for one in (self.answer, *about) if one])
        for cell in cells:
            yield from predictions(cell)
        yield self.outcomes()
        for section in self.main:
            made = list(self.section(section))
            both = above(*made[:2]) if len(made) > 1 else None
            made = [both, *made[2:]] if both else made
            yield from (slide for slide in made if any(part.kind != "code" for part in slide.parts))

    def title(self, above: str) -> Slide:
        """Return the lesson's title with its question."""
        return Slide("title", self.lesson.title, [words(self.question)], above=above)

    def outcomes(self) -> Slide:
        """Return the list of what students can do after the lesson."""
        found = next(block for kind, block in blocks(self.head) if kind == "list")
        return Slide("", "After this lesson you can", [listed(items(found))])

    def section(self, section: Section) -> Iterator[Slide]:
        """Yield the slides of a section: its beginning, its blocks of code, its first picture, and its predictions."""
        title, cells, lead = section.heading, section.cells, section.lead()
        first = next((cell for cell in cells if program(cell)), None)
        first = None if first and "lessons.predict(" in first.source else first  # its code belongs to the question
        run = program(first) if first else []
        few = sum(len(block.split()) for _, block in lead) < WORDS / 2
        lists = [listed(items(block)) for block in section.texts("list")[:1] if few]
        yield from fitting(title, [*paragraphs(lead, goes_on=bool(run)), *lists], run)
        yield from fitting(title, paragraphs(section.late_formula()))
        for block in section.texts("fence"):
            language, _, text = block.strip("`").partition("\n")
            label = f'<span class="pass">{LANGUAGES.get(language, "")}</span>'
            for piece in pieces(text):
                yield from fitting(title, [code(piece, language or "text")], label=label)
        drawn = False
        for cell in cells:
            made = [] if drawn else pictures(cell, title)
            drawn = drawn or bool(made)
            yield from made
            yield from predictions(cell, [shown_code(first)] if first else [])

    def ending(self) -> Iterator[Slide]:
        """Yield the summary, and the questions, each before its answer."""
        yield Slide("", "Summary", [listed(items(self.closing["Summary"].texts("list")[0]))])
        for text in self.closing["Questions"].texts("answer"):
            question, _, answer = text.partition("\n")
            yield Slide("center", "Question", [words(question)])
            yield Slide("center", "Question", [words(question, small=True), words(" ".join(answer.split()))])


def block_slides(block: Block, deck: Deck, lessons: Mapping[str, LessonSlides]) -> Iterator[tuple[str, Slide]]:
    """Yield the slides of a row of a plan, each with the words for its foot."""
    yield deck.plan, title_of(block, deck, lessons)
    for kind, name in block.steps:
        if kind == "picture":
            yield from ((deck.plan, one) for one in own_picture(name))
        elif kind == "projects":
            found = re.findall(r"^## \d+\. (.*)", (DOCS / "projects.md").read_text(encoding="utf-8"), re.MULTILINE)
            yield deck.plan, Slide("", "Projects", [listed(found, "ol")])
        else:
            one = lessons[name]
            made = {"lesson": one.all, "opening": one.opening, "exercises": one.ending, "homework": one.homework}
            yield from ((f"Lesson {one.lesson.number} · {one.lesson.title}", slide) for slide in made[kind]())


def title_of(block: Block, deck: Deck, lessons: Mapping[str, LessonSlides]) -> Slide:
    """Return the title of a row: its topic, its lessons and its goal."""
    names = [lessons[name].lesson for kind, name in block.steps if kind == "lesson"]
    column, goal = block.goal
    topic = block.cells.get("topic", "")
    title = f"{block.place}: {topic}" if topic and deck.place else topic or block.place
    parts = [listed([f"Lesson {one.number}: {one.title}" for one in names])] if names and deck.place else []
    unlinked = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", goal)
    parts += [words(f"{column.capitalize()}: {unlinked}")] if goal else []
    return Slide("title", title[:1].upper() + title[1:], parts, above=deck.plan if deck.place else block.place)


def own_picture(name: str) -> Iterator[Slide]:
    """Yield the slides of a picture that slides.py draws."""
    title, text = slides.title_and_text(name)
    made = slides.SLIDES[name]()
    pages = {name: made} if isinstance(made, str) else large.drawn(made) or {name: made.svg()}
    for key, page in pages.items():
        yield Slide("picture", title, [drawing(page), words(text)], passed(key) if len(pages) > 1 else "")


def deck_slides(deck: Deck, lessons: Mapping[str, LessonSlides]) -> Iterator[tuple[str, Slide]]:
    """Yield the slides of a deck, each with the words for its foot."""
    if not deck.place:
        yield deck.plan, Slide("title", deck.plan, [words(deck.about)])
        yield deck.plan, Slide("", "Plan", [listed(f"{one.place}: {one.cells['topic']}" for one in deck.blocks)])
    for block in deck.blocks:
        yield from block_slides(block, deck, lessons)


def page(deck: Deck, lessons: Mapping[str, LessonSlides]) -> str:
    """Return a deck as the text of an HTML file."""
    made = list(deck_slides(deck, lessons))
    written = "".join(slide.html(foot, number, len(made)) for number, (foot, slide) in enumerate(made, 1))
    title = html.escape(f"{deck.plan}, {deck.place}" if deck.place else deck.plan)
    return TEMPLATE.substitute(title=title, dark=dark.rules(":root "), slides=written)


def write(notebooks: Mapping[Lesson, NotebookNode], folder: Path) -> None:
    """Write all decks."""
    lessons = {lesson.name: LessonSlides(lesson, made.cells) for lesson, made in notebooks.items()}
    for several in decks((DOCS / "teachers.md").read_text(encoding="utf-8")).values():
        for deck in several:
            (folder / f"{deck.name}.html").write_text(page(deck, lessons), encoding="utf-8")
