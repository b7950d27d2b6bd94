"""Make a page for each lesson: text, code and outputs, with hints and the solution below each exercise.

Beside it is its notebook to download.  If minigrad/config.py names a repository, the page also links to Binder, which
builds the folder binder/, and to Colab, which reads the branch NOTEBOOKS: the workflow of the site pushes them to it.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from nbformat import NotebookNode

import lessons
from lessons import Lesson
from lessons.as_notebook import notebook
from lessons.catalogue import CHECK, QUESTION, lasting
from lessons.tracks import Track, once, tracks

from . import hooks
from .execute import ESCAPES, LessonError
from .live import live
from .markup import fence, folded, picture, raw, words_of
from .pages import put

BINDER = "https://mybinder.org/v2/gh/{repository}/HEAD?urlpath=lab/tree/minigrad-lessons/{name}.ipynb"
NOTEBOOKS = "notebooks"
COLAB = f"https://colab.research.google.com/github/{{repository}}/blob/{NOTEBOOKS}/{{name}}.ipynb"
CELL = re.compile(r"\bIn\[\d+\](?=:\d)")  # cells have no numbers on a page


def write(notebooks: Mapping[Lesson, NotebookNode], folder: Path) -> None:
    """Write the pages of executed lessons, their PNG pictures and notebooks, and the list of lessons."""
    index = folder / "index.md"
    index.write_text(put(index.read_text(encoding="utf-8"), {"lessons": listed(tracks())}), encoding="utf-8")
    for lesson, made in notebooks.items():
        page = Page(lesson)
        text = page.markdown(made.cells)
        (folder / f"{lesson.name}.md").write_text(text, encoding="utf-8")
        (folder / f"{lesson.name}.ipynb").write_text(notebook(lesson, installs=True), encoding="utf-8")
        for name, content in page.files.items():
            (folder / name).write_bytes(content)


def listed(chosen: Sequence[Track]) -> str:
    """Return a table of the tracks, and for each track its lessons: minutes, what it needs, and its summary, folded.

    A lesson of several tracks has its summary where it is first.
    """
    first = once(chosen)
    rows = [f"| [{one.name}](#{slug(one)}) | {one.able} | {one.lasting} |" for one in chosen]
    parts = ["| track | afterwards you can | time |", "| --- | --- | --- |", *rows, ""]
    for track in chosen:
        parts.append(f"## {track.name} {{ #{slug(track)} }}\n\nAfterwards you can {track.able}. {track.lasting}.\n")
        parts += [row(track, one, one in first[track]) for one in track.lessons]
    return "\n".join(parts)


def slug(track: Track) -> str:
    """Return the name of a track in addresses."""
    return track.name.lower().replace(" ", "-")


def row(track: Track, one: Lesson, full: bool) -> str:
    """Return a lesson of a track; if `full`, its question is a block that opens on click and has its summary."""
    needs = [f"[{number}]({lessons.lesson(number).name}.md)" for number in track.before(one)]
    also = f" · needs {', '.join(needs)}" if needs else ""
    title = f"**[{one.called.capitalize()}. {one.title}]({one.name}.md)** · {lasting(one.minutes, one.home)}{also}\n"
    question, _, answer = one.summary.partition("**")[2].partition("**")
    return f"{title}\n{folded('abstract', ' '.join(question.split()), answer.strip())}" if full else title


def doors(lesson: Lesson, repository: str) -> str:
    """Return the ways to a lesson's notebook as a line of Markdown.

    >>> from lessons import lesson
    >>> print(doors(lesson(15), "").splitlines()[0])
    As a notebook: `minigrad lessons open 15` · [download](15_gradcheck.ipynb){ download="15_gradcheck.ipynb" }
    """
    file = f"{lesson.name}.ipynb"
    ways = [f"`minigrad lessons open {lesson.called}`", f'[download]({file}){{ download="{file}" }}']
    for title, address in (("Binder", BINDER), ("Colab", COLAB)) if repository else ():
        ways.append(f"[{title}]({address.format(repository=repository, name=lesson.name)})")
    return f"As a notebook: {' · '.join(ways)}\n{{ .door }}\n"


class Page:
    """Page of one lesson that is being written; `files` are the pictures beside it."""

    def __init__(self, lesson: Lesson):
        self.lesson = lesson
        self.files: dict[str, bytes] = {}
        self.pictures = 0

    def markdown(self, cells: Sequence) -> str:
        """Return the text of the page."""
        first, *others = cells
        title = json.dumps(f"{self.lesson.called.capitalize()}. {self.lesson.title}", ensure_ascii=False)
        words = f"---\ntitle: {title}\n---\n\n{self.lesson.timed(first.source)}\n"
        return "\n".join([words, doors(self.lesson, hooks.name()), *map(self.cell, others)])

    def cell(self, cell) -> str:
        """Return text unchanged, code with its outputs, and help below an exercise."""
        if cell.cell_type == "markdown":
            return cell.source + "\n"
        program = QUESTION.sub("", cell.source)  # its reasons would give the answer away
        parts = [fence("python", program)] if program.strip() else []
        parts += [self.output(output, cell.metadata.get("alt", "")) for output in cell.outputs]
        last = cell.source.strip().rpartition("\n")[2]
        if asked := CHECK.match(last):
            parts.append(helped(asked[1]))
        return "\n".join(parts)

    def output(self, output, alt: str) -> str:
        """Return one output as Markdown; stderr is not shown to readers."""
        if output.output_type == "stream":
            return printed(output.text) if output.name == "stdout" else ""
        data = output.data
        if "image/svg+xml" in data:
            shown = self.svg(data["image/svg+xml"], alt)
            return live(data.get("text/html", ""), shown, alt or words_of(data["image/svg+xml"]), "../")
        if "image/png" in data:
            return self.png(base64.b64decode(data["image/png"]), alt)
        if "text/html" in data:
            return raw('class="output"', CELL.sub("cell", data["text/html"]))
        return printed(data["text/plain"])

    def svg(self, text: str, alt: str) -> str:
        """Return a picture embedded in the page, with ids that are unique on the page."""
        self.pictures += 1
        if not alt and "aria-label=" not in text:
            raise LessonError(self.without_alt("an SVG"))
        return picture(CELL.sub("cell", text), f"picture-{self.pictures}", alt)

    def png(self, content: bytes, alt: str) -> str:
        """Return a picture that is a separate file."""
        self.pictures += 1
        if not alt:
            raise LessonError(self.without_alt("a PNG"))
        name = f"{self.lesson.name}-{self.pictures}.png"
        self.files[name] = content
        words = re.sub(r"([][])", r"\\\1", alt)
        return f'<div class="figure" markdown="1">\n\n![{words}]({name})\n\n</div>\n'

    def without_alt(self, kind: str) -> str:
        """Return the message for a picture without a description for screen readers."""
        return (
            f"lesson {self.lesson.name}: picture {self.pictures}, {kind}, has no words that say what it shows. "
            'Give them to its cell: # %% alt="The loss falls from 2.3 to 0.1"'
        )


def helped(exercise: str) -> str:
    """Return the hints and the solution of an exercise, in blocks that open on click."""
    hints = [folded("question", f"Hint {i}", hint) for i, hint in enumerate(lessons.hints(exercise), 1)]
    return "\n".join([*hints, folded("success", "Solution", fence("python", lessons.solution(exercise)))])


def printed(text: str) -> str:
    """Return the printed output of a cell, without the parts that differ from run to run."""
    text = CELL.sub("cell", ESCAPES.sub("", text)).rstrip()
    return f'<div class="output" markdown="1">\n\n{fence("text", text)}\n</div>\n' if text else ""
