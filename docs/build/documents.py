"""Table of the documents that minigrad follows: each example and statement, with its lesson and its exercise.

`python -m docs.build.documents` prints the page, or the gaps of the table.  The rows are in documents.toml.  An example's code
is in tests/spec/documents.md, as its document writes it, and `gaps` looks for each of its statements in the lesson.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lessons import Lesson, lesson
from lessons.bank import entries
from lessons.catalogue import cells, of_exercise

from . import ROOT

DATA = Path(__file__).with_suffix(".toml")
SPEC = ROOT / "tests/spec"
EXAMPLES = SPEC / "documents.md"
EXAMPLE = re.compile(r"^### ([^\n]+)\n\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Row:
    """An example or statement of a document: lesson and exercise by name, words of the lesson, and names of tests.

    An example has no words: its code is looked for.
    """

    says: str
    lesson: str
    exercise: str
    words: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Document:
    """A document: the name of its tests, its title, its address or "", and its rows."""

    name: str
    title: str
    address: str
    rows: tuple[Row, ...]

    def named(self) -> str:
        """Return the title, as a link if there is an address."""
        return f"[{self.title}]({self.address})" if self.address else self.title


def documents() -> list[Document]:
    """Return the documents in order.

    >>> [one.name for one in documents()][:2]
    ['extending_torch_func', 'function_forward']
    """
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    return [Document(name, one["title"], one["address"], tuple(map(row_of, one["rows"]))) for name, one in data.items()]


def row_of(written: list[str]) -> Row:
    """Return a row of documents.toml, whose last column has the tests with spaces between them."""
    says, place, exercise, words, tests = written
    return Row(says, place, exercise, words, tuple(tests.split()))


def examples() -> dict[str, tuple[str, str]]:
    """Return the language and the code of each example, by heading.

    >>> examples()["Example 2: my_cube"][0]
    'python'
    """
    found = EXAMPLE.findall(EXAMPLES.read_text(encoding="utf-8"))
    return {heading: (language, code) for heading, language, code in found}


def listed(page: str = "") -> str:
    """Return a table for each document."""
    parts = []
    for one in documents():
        rows = [f"| {row.says} | {link(lesson(row.lesson))} | {practised(row.exercise)} |" for row in one.rows]
        head = ["| Example or statement | Lesson | Exercise |", "| --- | --- | --- |"]
        parts.append("\n".join([f"## {one.named()}\n", *head, *rows, ""]))
    return "\n".join(parts)


def practised(exercise: str) -> str:
    """Return a link to an exercise of a lesson or of the bank; raise ValueError if there is none."""
    return (
        f"[`{exercise}`](../exercises.md)"
        if exercise in entries()
        else link(of_exercise(exercise, entries()), exercise)
    )


def link(one: Lesson, exercise: str = "") -> str:
    """Return a link to a lesson, under its title or the name of an exercise in it."""
    return f"[{f'`{exercise}`' if exercise else f'{one.number}. {one.title}'}]({one.name}.md)"


def gaps(tables: Sequence[Document] | None = None) -> Iterator[str]:
    """Yield what is missing: an example or a test without a row, and a row that its lesson or exercise does not bear out."""
    tables = documents() if tables is None else tables
    known = examples()
    rows = [row for one in tables for row in one.rows]
    headings = [row.says for row in rows if not row.words]
    yield from (f"{EXAMPLES.name}: no row has the example {one!r}" for one in known if one not in headings)
    for one in tables:
        yield from untold(one)
    for row in rows:
        try:
            place = lesson(row.lesson)
            practised(row.exercise)
        except ValueError as e:
            yield f"{row.says}: {e}"
            continue
        if row.words:
            if plain(row.words) not in plain(text_of(place)):
                yield f"{row.says}: {place.path.name} has no words {row.words!r}"
        elif row.says not in known:
            yield f"{row.says}: is no example of {EXAMPLES.name}, and names no words of its lesson"
        else:
            yield from (
                f"{row.says}: {place.path.name} has no code {line!r}" for line in absent(place, *known[row.says])
            )


def untold(one: Document) -> Iterator[str]:
    """Yield the tests of a document that are in no row of it, or in several, and those that do not exist."""
    files = sorted(SPEC.glob(f"test_{one.name}*.py"))
    defined = re.findall(r"^def test_(\w+)", "\n".join(f.read_text(encoding="utf-8") for f in files), re.MULTILINE)
    told = [test for row in one.rows for test in row.tests]
    for test in defined:
        if told.count(test) != 1:
            yield f"{one.title}: test_{test} is in {told.count(test)} rows, expected 1"
    yield from (f"{one.title}: there is no test_{test}" for test in told if test not in defined)


def absent(place: Lesson, language: str, code: str) -> list[str]:
    """Return the first lines of an example's statements that a lesson lacks; text that is not Python is one statement."""
    words = plain(text_of(place))
    if language != "python":
        return [] if plain(code) in words else [code.partition("\n")[0]]
    if plain(code) in words:  # in a text cell: the signature of a method is no program
        return []
    programs = [cell for title, cell in cells(place.path) if not title.startswith("[markdown]")]
    here = {meaning for cell in programs for node in ast.parse(cell).body for meaning in meanings(node)}
    statements = [node for node in ast.parse(code).body if not isinstance(node, ast.Import)]
    return [code.splitlines()[node.lineno - 1] for node in statements if ast.dump(node) not in here]


def meanings(node: ast.stmt) -> Iterator[str]:
    """Yield a statement without comments and layout; of a with block, also its beginnings.

    >>> first, second = (ast.parse(f"with f(): x = 1{more}").body[0] for more in ("", "; print(x)  # one"))
    >>> next(meanings(first)) in list(meanings(second))
    True
    """
    yield ast.dump(node)
    if isinstance(node, ast.With):
        yield from (ast.dump(ast.With(node.items, node.body[:n])) for n in range(1, len(node.body)))


def text_of(place: Lesson) -> str:
    """Return a lesson's text and code without comment signs."""
    return re.sub(r"^# ?", "", place.path.read_text(encoding="utf-8"), flags=re.MULTILINE)


def plain(text: str) -> str:
    """Return words with single spaces between them.

    >>> plain("a  b\\n c")
    'a b c'
    """
    return " ".join(text.split())


if __name__ == "__main__":
    found = list(gaps())
    print("\n".join(found) if found else listed())
    sys.exit(bool(found))
