"""Make lessons with answers instead of their gaps: the solutions, or those of the folder answers."""

import re
from pathlib import Path

from lessons import Lesson
from lessons.catalogue import cells
from lessons.instructor import solutions, solved

__all__ = ["answers", "solutions", "solved"]

ANSWERS = Path(__file__).parent / "answers"


def answers(one: Lesson) -> list[tuple[str, str, str, str]]:
    """Return the cells of a file of answers: right or wrong, the exercise, a word of the verdict, and the text."""
    found = []
    for title, text in cells(ANSWERS / one.path.name):
        match = re.fullmatch(r"(right|wrong) (\w+)(?:: (.+))?", title)
        assert match, f"{one.path.name}: a cell is titled '# %% {title}'"
        found.append((match[1], match[2], match[3] or "", text))
    return found
