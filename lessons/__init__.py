"""Lessons for a class or for self-study.  Each `NN_name.py` is a script with cells; `minigrad lessons` opens it as a notebook.

Inside a lesson, `predict` asks before a program runs, and `slider` draws a picture for a value that the reader chooses.
`check` judges an answer, `drag` one in a live picture; `hint` helps, and `solution` shows a right answer.  catalogue.py finds
the lessons, and exercise.py loads their checks from exercises/.  The checks use expect.py and loops.py; difference.py draws
where a learner's graph differs from the expected one, and progress.py remembers the solved exercises.  bank/ has further
exercises, in which every student gets different numbers, and sheet.py makes notebooks of them.
"""

from .build import keep
from .catalogue import Lesson, lesson, lessons, steps
from .dragged import drag
from .exercise import Verdict, check, hint, hints, solution
from .prediction import Prediction, predict
from .widgets import Slider, slider

__all__ = [
    "Lesson",
    "Prediction",
    "Slider",
    "Verdict",
    "check",
    "drag",
    "hint",
    "hints",
    "keep",
    "lesson",
    "lessons",
    "predict",
    "slider",
    "solution",
    "steps",
]
