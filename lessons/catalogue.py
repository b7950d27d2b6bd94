"""List of the lessons, read from their files: title, minutes, required lessons and exercises."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from viz.files import nearest

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Lesson:
    """A lesson: its number and file, the text of its first cell, and the exercises that it calls `lessons.check` for.

    >>> lesson(1).minutes, lesson(1).needs, lesson(1).exercises[0]
    (20, (), 'leaf_dragged')
    """

    number: int
    path: Path
    title: str
    minutes: int
    needs: tuple[int, ...]
    summary: str
    exercises: tuple[str, ...]

    @property
    def name(self) -> str:
        """The file's name without its suffix, such as 01_numbers_that_remember."""
        return self.path.stem


@functools.cache
def lessons() -> tuple[Lesson, ...]:
    """Return all lessons in order.

    >>> lessons()[0].title
    'Numbers that remember'
    """
    return tuple(_read(path) for path in sorted(FOLDER.glob("[0-9][0-9]_*.py")))


def lesson(which: int | str) -> Lesson:
    """Return the lesson with this number or name, with or without the leading number; raise ValueError if there is none.

    >>> lesson(1) is lesson("01_numbers_that_remember") is lesson("numbers_that_remember")
    True
    """
    for one in lessons():
        if str(which).lstrip("0") == str(one.number) or which in (one.name, one.name[3:]):
            return one
    raise ValueError(f"there is no lesson {which}: give a number from 1 to {lessons()[-1].number}, or a name")


def of_exercise(name: str, others: Iterable[str] = ()) -> Lesson:
    """Return the lesson with an exercise; raise ValueError if there is none, with the nearest name, also among `others`."""
    for one in lessons():
        if name in one.exercises:
            return one
    known = [*(each for one in lessons() for each in one.exercises), *others]
    raise ValueError(f"there is no exercise {name!r}. {nearest(name, known)}".rstrip())


def cells(path: Path) -> list[tuple[str, str]]:
    """Return the cells of a script: the title after `# %%`, and the text up to the next.  Skip the lines before the first.

    >>> cells(FOLDER / "01_numbers_that_remember.py")[0][0]
    '[markdown]'
    """
    parts = re.split(r"^# %%(.*)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [(title.strip(), text.strip("\n") + "\n") for title, text in zip(parts[1::2], parts[2::2])]


def _read(path: Path) -> Lesson:
    """Read a lesson's title, minutes, required lessons, summary and exercises from its file."""
    text = path.read_text(encoding="utf-8")
    first = re.sub(r"^# ?", "", cells(path)[0][1], flags=re.MULTILINE)
    title, about, summary = (part.strip() for part in first.split("\n\n", 2))
    found = re.fullmatch(r"\*(\d+) minutes\. Needs (?:no other lesson|lessons? ([\d, and]+))\.\*", about)
    if found is None or not title.startswith("# "):
        raise ValueError(f"{path.name}: begin with '# Title' and '*20 minutes. Needs lessons 1 and 2.*', got {about!r}")
    needs = tuple(map(int, re.findall(r"\d+", found[2] or "")))
    exercises = tuple(re.findall(r"^lessons\.check\(\"(\w+)\"", text, re.MULTILINE))
    return Lesson(int(path.stem[:2]), path, title[2:], int(found[1]), needs, summary, exercises)
