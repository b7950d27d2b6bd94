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
    needs: tuple[int, ...]  # of steps, the steps before
    summary: str
    exercises: tuple[str, ...]
    folder: str = ""  # "build" for a step

    @property
    def name(self) -> str:
        """The file's name without its suffix, such as 01_numbers_that_remember; of a step, build_1_scalars."""
        return f"{self.folder}_{self.path.stem}".lstrip("_")

    @property
    def called(self) -> str:
        """The words that name it in a command: 1, or build 1 for a step."""
        return f"{self.folder} {self.number}".lstrip()


@functools.cache
def lessons() -> tuple[Lesson, ...]:
    """Return all lessons in order.

    >>> lessons()[0].title
    'Numbers that remember'
    """
    return tuple(_read(path) for path in sorted(FOLDER.glob("[0-9][0-9]_*.py")))


@functools.cache
def steps() -> tuple[Lesson, ...]:
    """Return the steps of the track "Build it", in which a learner writes an engine, in order.

    >>> steps()[0].name, steps()[0].called
    ('build_1_scalars', 'build 1')
    """
    return tuple(_read(path) for path in sorted((FOLDER / "build").glob("[0-9]_*.py")))


def lesson(which: int | str) -> Lesson:
    """Return the lesson or step with this number or name; raise ValueError if there is none.

    >>> lesson(1) is lesson("01_numbers_that_remember") is lesson("numbers_that_remember")
    True
    >>> lesson("build 1") is lesson("build_1_scalars")
    True
    """
    words = " ".join(str(which).split()).lstrip("0")
    for one in (*lessons(), *steps()):
        if words == one.called or which in (one.name, re.sub(r"^(build_)?\d+_", "", one.name)):
            return one
    known = f"a number from 1 to {lessons()[-1].number}, build and a number from 1 to {steps()[-1].number}, or a name"
    raise ValueError(f"there is no lesson {which}: give {known}")


def of_exercise(name: str, others: Iterable[str] = ()) -> Lesson:
    """Return the lesson or step with an exercise; raise ValueError if there is none, with the nearest name or `others`."""
    every = (*lessons(), *steps())
    for one in every:
        if name in one.exercises:
            return one
    known = [*(each for one in every for each in one.exercises), *others]
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
    found = re.fullmatch(r"\*(\d+) minutes\. Needs (?:no other lesson|(?:lessons?|build) ([\d, and]+))\.\*", about)
    if found is None or not title.startswith("# "):
        raise ValueError(f"{path.name}: begin with '# Title' and '*20 minutes. Needs lessons 1 and 2.*', got {about!r}")
    needs = tuple(map(int, re.findall(r"\d+", found[2] or "")))
    exercises = tuple(re.findall(r"^lessons\.check\(\"(\w+)\"", text, re.MULTILINE))
    folder = path.parent.name if path.parent != FOLDER else ""
    number = int(path.stem.partition("_")[0])
    return Lesson(number, path, title[2:], int(found[1]), needs, summary, exercises, folder)
