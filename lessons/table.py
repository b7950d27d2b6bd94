"""The table of grades, which a spreadsheet reads, and the table of marks that a teacher writes."""

import csv
import math
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from viz.formats.files import nearest
from viz.text import clean

from .bank import entries
from .catalogue import all_lessons
from .grading import Graded

CELL = 32_767  # characters that a spreadsheet's cell may have
FORMULA = re.compile(r'(^|[;|])(?=[\s"]*[=+\-@＝＋－＠])')  # the start of one, also in full-width signs


def write_csv(all_of_them: Iterable[Graded], file: TextIO) -> None:
    """Write a row for each notebook, with a column for each exercise that one of them has, and marks if a row has them.

    >>> import sys
    >>> one = Graded("ann.ipynb", "01_numbers", {"three_uses": "right"}, student="ann")
    >>> write_csv([one], sys.stdout)
    student,file,lesson,points,of,seconds,notes,three_uses
    ann,ann.ipynb,01_numbers,1,1,0.0,,right
    """
    rows = list(all_of_them)
    columns, weighed = exercises(rows), any(row.marks is not None for row in rows)
    table = csv.writer(file, lineterminator="\n")
    table.writerow(
        ["student", "file", "lesson", "points", "of", *["marks", "most"] * weighed, "seconds", "notes", *columns]
    )
    for row in rows:
        marks = [plain(row.earned), plain(row.most)] * weighed
        counts = [row.points, len(row.statuses), *marks, row.seconds, cell("; ".join([*row.notes, *row.remarks]))]
        statuses = (row.statuses.get(name, "") for name in columns)
        table.writerow([cell(row.student), cell(row.file), cell(row.lesson), *counts, *statuses])


def exercises(rows: Iterable[Graded]) -> list[str]:
    """Return the exercises that the rows have: those of the lessons, of the bank, and then a teacher's."""
    known = [*(name for one in all_lessons() for name in one.exercises), *entries()]
    there = dict.fromkeys(name for row in rows for name in row.statuses)
    return [*(name for name in known if name in there), *(name for name in there if name not in set(known))]


def cell(text: str) -> str:
    """Return text that a spreadsheet shows unchanged: an apostrophe goes before text that begins like a formula.

    A semicolon starts a new cell where numbers have decimal commas.

    >>> cell("=1+1"), cell("ann.ipynb"), cell("\x1b[2J"), cell("a; =1+1")
    ("'=1+1", 'ann.ipynb', '\ufffd[2J', "a;' =1+1")
    """
    text = FORMULA.sub(r"\1'", clean(text))
    return text if len(text) <= CELL else text[: CELL - 1] + "…"


def plain(number: float) -> str:
    """Return a number without a fraction that is 0.

    >>> plain(2.0), plain(0.1 + 0.2)
    ('2', '0.3')
    """
    return f"{number:.10g}"


def read_marks(path: Path, others: Iterable[str] = ()) -> dict[str, float]:
    """Return the marks of exercises from a .toml file (name = 2) or a .csv file (name,2); `others` are a teacher's exercises.

    Raise ValueError for a file that cannot be read, for an exercise that does not exist, and for marks below 0.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        found = rows_of(text) if path.suffix.lower() == ".csv" else flat(tomllib.loads(text))
    except (OSError, ValueError) as e:
        raise ValueError(f"{path} cannot be read: {getattr(e, 'strerror', None) or e}") from None
    known = {name for one in all_lessons() for name in one.exercises} | {*entries(), *others}
    for name, marks in found.items():
        if name not in known:
            raise ValueError(f"{path}: there is no exercise {name!r}. {nearest(name, sorted(known))}".rstrip())
        if isinstance(marks, bool) or not isinstance(marks, (int, float)) or not 0 <= marks < math.inf:
            raise ValueError(f"{path}: the marks of {name} are a number from 0 on, got {marks!r}")
    return {name: float(marks) for name, marks in found.items()}


def flat(found: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a TOML document and of its tables, which may be one for each lesson."""
    tables = [flat(value) for value in found.values() if isinstance(value, dict)]
    return {name: value for name, value in found.items() if not isinstance(value, dict)} | {
        name: value for each in tables for name, value in each.items()
    }


def rows_of(text: str) -> dict[str, Any]:
    """Return the first two columns of a CSV file; a first row without a number is the head."""
    found: dict[str, Any] = {}
    first = text.partition("\n")[0]
    for i, row in enumerate(csv.reader(text.splitlines(), delimiter=";" if ";" in first else ",")):
        if any(map(str.strip, row)):
            name, marks, *_ = [*map(str.strip, row), ""]
            try:
                found[name] = float(marks.replace(",", "."))
            except ValueError:
                if i:
                    found[name] = marks
    return found
