"""Lessons for a class or for oneself: `NN_name.py` here are the texts, as scripts with cells; `minigrad lessons` opens them.

In a lesson, `check` says whether an answer is right, `hint` helps, `solution` shows one that is.  catalogue.py finds the
lessons, exercise.py the checks, which stand in exercises/ and are written with expect.py; difference.py draws where a
learner's graph is not the expected one; progress.py remembers what has been solved.
"""

from .catalogue import Lesson, lesson, lessons
from .exercise import Verdict, check, hint, hints, solution

__all__ = ["Lesson", "Verdict", "check", "hint", "hints", "lesson", "lessons", "solution"]
