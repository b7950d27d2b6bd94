"""List of the lessons, read from their files: title, required lessons and exercises, and the minutes that they take.

The minutes are computed, so no file states them; `Lesson.timed` writes them into a page and a notebook.  tracks.py orders the
lessons.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from viz.formats.files import nearest

FOLDER = Path(__file__).parent
WORDS, LINES = 180, 15  # words of text, and lines of code, that a reader reads in a minute
PREDICTION, EXERCISE = 1, 5  # minutes
AT_HOME = "(at home)"  # ends the heading of an exercise that is homework
QUESTION = re.compile(r"^lessons\.predict\(.*", re.MULTILINE | re.DOTALL)
CHECK = re.compile(r"^lessons\.check\(\"(\w+)\"", re.MULTILINE)


@dataclass(frozen=True)
class Lesson:
    """A lesson: its number and file, the text of its first cell, and the exercises that it calls `lessons.check` for.

    `minutes` does not include the exercises marked "(at home)", which take `home` minutes.

    >>> lesson(1).needs, lesson(1).exercises[0], 15 < lesson(1).minutes <= 30
    ((), 'leaf_dragged', True)
    """

    number: int
    path: Path
    title: str
    minutes: int
    home: int
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

    def timed(self, markdown: str) -> str:
        """Return the text of the first cell with the minutes before the required lessons."""
        return markdown.replace("\n*Needs ", f"\n*{lasting(self.minutes, self.home)}. Needs ", 1)


def lasting(minutes: int, home: int = 0) -> str:
    """Return a duration in words, in class and at home.

    >>> lasting(25), lasting(25, 10), lasting(200, 65)
    ('25 minutes', '25 minutes, and 10 minutes at home', '3 h 20 min, and 1 h 5 min at home')
    """
    in_words = [f"{n // 60} h {n % 60} min" if n > 60 else f"{n} minutes" for n in (minutes, home)]
    return in_words[0] + (f", and {in_words[1]} at home" if home else "")


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


def all_lessons() -> tuple[Lesson, ...]:
    """Return all lessons, and after them the steps of the track "Build it"."""
    return lessons() + steps()


def lesson(which: int | str) -> Lesson:
    """Return the lesson or step with this number or name; raise ValueError if there is none.

    >>> lesson(1) is lesson("01_numbers_that_remember") is lesson("numbers_that_remember")
    True
    >>> lesson("build 1") is lesson("build_1_scalars")
    True
    """
    words = " ".join(str(which).split()).lstrip("0")
    for one in all_lessons():
        if words == one.called or which in (one.name, re.sub(r"^(build_)?\d+_", "", one.name)):
            return one
    known = f"a number from 1 to {lessons()[-1].number}, build and a number from 1 to {steps()[-1].number}, or a name"
    raise ValueError(f"there is no lesson {which}: give {known}")


def of_exercise(name: str, others: Iterable[str] = ()) -> Lesson:
    """Return the lesson or step with an exercise; raise ValueError if there is none, with the nearest name or `others`."""
    for one in all_lessons():
        if name in one.exercises:
            return one
    known = [*(each for one in all_lessons() for each in one.exercises), *others]
    raise ValueError(f"there is no exercise {name!r}. {nearest(name, known)}".rstrip())


def cells(path: Path) -> list[tuple[str, str]]:
    """Return the cells of a script: the title after `# %%`, and the text up to the next.  Skip the lines before the first.

    >>> cells(FOLDER / "01_numbers_that_remember.py")[0][0]
    '[markdown]'
    """
    parts = re.split(r"^# %%(.*)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [(title.strip(), text.strip("\n") + "\n") for title, text in zip(parts[1::2], parts[2::2])]


def _read(path: Path) -> Lesson:
    """Read a lesson's title, required lessons, summary, exercises and minutes from its file."""
    text = path.read_text(encoding="utf-8")
    first = re.sub(r"^# ?", "", cells(path)[0][1], flags=re.MULTILINE)
    title, about, summary = (part.strip() for part in first.split("\n\n", 2))
    found = re.fullmatch(r"\*Needs (?:no other lesson|(?:lessons?|build) ([\d, and]+))\.\*", about)
    if found is None or not title.startswith("# "):
        raise ValueError(f"{path.name}: begin with '# Title' and '*Needs lessons 1 and 2.*', got {about!r}")
    needs = tuple(map(int, re.findall(r"\d+", found[1] or "")))
    exercises = tuple(CHECK.findall(text))
    number, folder = int(path.stem.partition("_")[0]), path.parent.name if path.parent != FOLDER else ""
    return Lesson(number, path, title[2:], *minutes(cells(path)), needs, summary, exercises, folder)


def minutes(parts: Iterable[tuple[str, str]]) -> tuple[int, int]:
    """Return the minutes of a lesson with these cells, without and for the exercises at home, rounded up.

    The code of a prediction is folded, so it counts only as a prediction.  So does an exercise that asks to try something in
    a picture.

    >>> code = "lines = 1\\n" * 30
    >>> minutes([("[markdown]", "# words\\n" * 90), ("", code), ("", "lessons.predict(1)"), ("", 'lessons.check("a", 1)')])
    (9, 0)
    >>> minutes([("[markdown]", "# ### 1. Loops (at home)\\n"), ("", 'lessons.check("a", 1)')])
    (0, 6)
    """
    times, at_home = [0.0, 0.0], False
    for title, part in parts:
        if title.startswith("[markdown]"):
            for line in re.sub(r"^# ?", "", part, flags=re.MULTILINE).splitlines():
                at_home = line.endswith(AT_HOME) if line.startswith(("## ", "### ")) else at_home
                times[at_home] += len(line.split()) / WORDS
                times[at_home] -= (EXERCISE - PREDICTION) * line.startswith("**Try it.**")
        else:
            read, asked = QUESTION.subn("", part)
            times[at_home] += len([line for line in read.splitlines() if line.strip()]) / LINES
            times[at_home] += PREDICTION * asked + EXERCISE * len(CHECK.findall(read))
    return math.ceil(times[0]), math.ceil(times[1])
