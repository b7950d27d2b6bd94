"""Lessons with the solutions in the place of their gaps."""

import re

from lessons import Lesson
from lessons.catalogue import cells


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
