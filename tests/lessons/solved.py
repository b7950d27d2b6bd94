"""Lessons with answers in the place of their gaps: the solutions, or those of the folder answers."""

import re
from pathlib import Path

from lessons import Lesson
from lessons.catalogue import cells

ANSWERS = Path(__file__).parent / "answers"


def answers(one: Lesson) -> list[tuple[str, str, str, str]]:
    """What the file of answers has: right or wrong, the exercise, the word that is to be said, and the text."""
    found = []
    for title, text in cells(ANSWERS / one.path.name):
        match = re.fullmatch(r"(right|wrong) (\w+)(?:: (.+))?", title)
        assert match, f"{one.path.name}: a cell is titled '# %% {title}'"
        found.append((match[1], match[2], match[3] or "", text))
    return found


def solutions(one: Lesson) -> dict[str, str]:
    """The solutions of a lesson, by the names of its exercises."""
    return dict(cells(one.path.parent / "solutions" / one.path.name))


def solved(text: str, known: dict[str, str]) -> tuple[str, str]:
    """A cell with its solution, what stands before the gap included, and its call of `lessons.check`; as it is without one."""
    checked = re.search(r"^lessons\.check\(\"(\w+)\".*$", text, re.MULTILINE)
    if checked is None:
        return text, ""
    gap = re.search(rf"^(?:{checked[1]} = |(?:@.*\n)*(?:def|class) {checked[1]}\b)", text, re.MULTILINE)
    return f"{text[: gap.start()]}{known[checked[1]]}", checked[0]
