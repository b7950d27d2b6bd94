"""Exercises: their checks, hints and solutions, and the verdict that a learner sees.

A check is a function in exercises/NN_name.py with the name of the answer that it judges.  It returns if the answer is right,
and its docstring tells the learner why.  For a wrong answer it raises Wrong, mostly through `expect`.  Exercises of the bank
(bank/) make their check from the numbers of one student.
"""

from __future__ import annotations

import ast
import functools
import html
import importlib.util
import inspect
import itertools
import os
import re
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import progress
from .catalogue import FOLDER, cells, of_exercise

if TYPE_CHECKING:
    from viz import Drawing

    from .bank import Entry


class Wrong(Exception):
    """A wrong answer: the mistake in words for the learner, and a drawing of the difference if there is one."""

    def __init__(self, message: str, drawing: Drawing | None = None):
        super().__init__(message)
        self.drawing = drawing


SIGNS = {"right": "✓", "wrong": "✗", "open": "○"}
COLOURS = {"right": "#2e7d32", "wrong": "#c62828", "open": "#757575"}


@dataclass(frozen=True)
class Verdict:
    """Result of `check`.  A notebook shows it beside a coloured bar, with a drawing of the difference.

    >>> print(Verdict("sum_of_two", "right", "Two and two are four."))
    ✓ sum_of_two: Two and two are four.
    """

    name: str
    status: str  # right | wrong | open
    message: str
    drawing: Drawing | None = None

    def __bool__(self) -> bool:
        return self.status == "right"

    def __repr__(self) -> str:
        return f"{SIGNS[self.status]} {self.name}: {self.message}"

    def _repr_html_(self) -> str:
        colour, text = COLOURS[self.status], html.escape(self.message).replace("\n", "<br>")
        head = f"<b>{SIGNS[self.status]} {html.escape(self.name)}</b>"
        picture = "" if self.drawing is None else f"<div style='overflow-x:auto'>{self.drawing.svg()}</div>"
        return f"<div style='border-left:4px solid {colour};padding:.2em .8em'>{head}: {text}{picture}</div>"


@dataclass(frozen=True)
class Exercise:
    """The check of an answer, its hints, and the explanation of a right answer."""

    judge: Callable[[Any], None]
    hints: tuple[str, ...]
    why: str


def exercise(*hints: str) -> Callable[[Callable[[Any], None]], Exercise]:
    """Mark a function in exercises/NN_name.py as the check of the answer with its name; hints are shown one at a time.

    >>> exercise("Count again.")(print).hints
    ('Count again.',)
    """
    return lambda judge: Exercise(judge, hints, judge.__doc__ or "That is right.")


def check(name: str, answer: Any, student: str = "") -> Verdict:
    """Judge an answer to the exercise `name`: right, wrong and why, or still open.

    An exercise of the bank is judged with the numbers of `student`.  A wrong answer raises nothing, even if its code fails.
    Raises ValueError if there is no such exercise.

    >>> check("three_uses", ...)
    ○ three_uses: not answered yet. Replace the dots with your answer; lessons.hint("three_uses") helps.
    """
    found = _exercise(name, student)
    with warnings.catch_warnings(record=True) as warned:  # the verdict shows each once
        warnings.simplefilter("always", UserWarning)
        try:
            found.judge(answer)
        except Exception as e:
            if has_gap(answer):
                words = "not answered yet. Replace the dots with your answer"
                return Verdict(name, "open", f'{words}; lessons.hint("{name}") helps.')
            words, drawing = (str(e), e.drawing) if isinstance(e, Wrong) else (_failed(e), None)
            if words.endswith("is not right"):  # no reason is known
                words += f'; lessons.hint("{name}") helps'
            return Verdict(name, "wrong", words + _warnings(warned), drawing)
    progress.solved(name)
    return Verdict(name, "right", " ".join(found.why.split()) + _kept(name, answer) + _warnings(warned))


def _kept(name: str, answer: Any) -> str:
    """Write a right answer to a step of the track into engine.py; return a sentence about a file that cannot be written."""
    if name in _bank() or not of_exercise(name).folder:
        return ""
    from .build import ENGINE, keep

    try:
        keep(answer)
    except (OSError, SyntaxError, ValueError) as e:
        return f" But {ENGINE} is unchanged: {e}"
    return ""


def _warnings(warned: list[warnings.WarningMessage]) -> str:
    """Return the first line of each warning, without repeats: minigrad's texts are equal for the same mistake."""
    texts = dict.fromkeys(text for w in warned for text in getattr(w.message, "args", ())[:1])
    return "".join(f"\nyour code warns: {str(text).partition(chr(10))[0]}" for text in texts)


def _failed(e: Exception) -> str:
    """Return the error that the learner's code raised, with its line but without lines of the checks."""
    from minigrad.places import PACKAGE

    checks = re.escape(f"{FOLDER}{os.sep}")
    message = re.sub(
        rf"^  (.* )?at {checks}(expect|difference|loops|(?:exercises|bank|build).[\w/\\]+)\.py:.*\n",
        "",
        f"{e}\n",
        flags=re.M,
    )
    steps = traceback.extract_tb(e.__traceback__)
    own = [step for step in steps if not step.filename.startswith((PACKAGE, f"{FOLDER}{os.sep}")) and step.line]
    line = f"\nin the line: {own[-1].line}" if own and str(own[-1].line) not in message else ""
    return f"your code raises {type(e).__name__}: {message.rstrip()}{line}"


def has_gap(answer: Any) -> bool:
    """Return True if an answer is still dots, or is a function or class in which dots replace a part.

    >>> has_gap(...), has_gap(lambda x: ...), has_gap(lambda x: x[..., 0]), has_gap(3)
    (True, True, False, False)
    >>> from numba import njit
    >>> class Node: step = staticmethod(lambda x: x + 1)
    >>> Node.root = Node
    >>> has_gap(njit(lambda x: ...)), has_gap(njit(lambda x: x)), has_gap(Node)
    (True, False, False)
    """
    if isinstance(answer, type):  # skip inner classes: a Function's node class leads back to the Function
        own = [getattr(value, "__func__", value) for value in vars(answer).values()]
        return any(has_gap(value) for value in own if not isinstance(value, type))
    if isinstance(answer, (list, tuple)):
        return any(has_gap(one) for one in answer)
    plain = inspect.unwrap(answer)  # the class wraps its forward
    plain = getattr(plain, "py_func", plain)  # Numba's wrapper
    return answer is ... or inspect.isfunction(plain) and _dots(plain)


def _dots(f: Any) -> bool:
    """Return True if a function contains dots that are not an index as in x[..., 0].

    Search its source.  Search the constants of a lambda, whose source is the whole line, and of a function without source.
    """
    try:
        tree = None if f.__name__ == "<lambda>" else ast.parse(textwrap.dedent(inspect.getsource(f)))
    except (OSError, SyntaxError):
        tree = None
    if tree is None:
        return ... in f.__code__.co_consts
    indices = [one for node in ast.walk(tree) if isinstance(node, ast.Subscript) for one in ast.walk(node.slice)]
    dots = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value is ...]
    return any(one not in indices for one in dots)


class Words(str):
    """Text that a notebook shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


_given: dict[str, Iterator[str]] = {}


def hint(name: str) -> Words:
    """Return the next hint for an exercise; the first one follows the last.

    >>> hint("three_uses")
    Hint 1 of 2: There is one edge to `a` for each use of it, and each sends back a contribution.
    """
    known = hints(name)
    numbered = [f"Hint {i} of {len(known)}: {words}" for i, words in enumerate(known, 1)]
    return Words(next(_given.setdefault(name, itertools.cycle(numbered))))


def hints(name: str) -> list[str]:
    """Return all hints for an exercise.

    >>> len(hints("three_uses"))
    2
    """
    return list(_exercise(name).hints)


def solution(name: str, student: str = "") -> Words:
    """Return the source of a right answer to an exercise; for one of the bank, with the numbers of `student`.

    >>> solution("three_uses")
    three_uses = 12.0
    """
    if name in (bank := _bank()):
        return Words(bank[name].task(student).solution)
    path = of_exercise(name).path
    return Words(dict(cells(path.parent / "solutions" / path.name))[name].strip())


def _exercise(name: str, student: str = "") -> Exercise:
    """Return an exercise of a lesson, or one of the bank with a student's numbers; raise ValueError if there is none."""
    if name not in (bank := _bank()):
        return _exercises(of_exercise(name, bank).path)[name]
    task = bank[name].task(student)
    return Exercise(task.judge, bank[name].hints, task.why)


def _bank() -> dict[str, Entry]:
    """Return the exercises of the bank, which is imported only when an exercise is judged."""
    from .bank import entries

    return entries()


@functools.cache
def _exercises(lesson: Path) -> dict[str, Exercise]:
    """Return the exercises of a lesson's file by name."""
    place = lesson.parent / "exercises" / lesson.name
    spec = importlib.util.spec_from_file_location(f"lessons.exercises.{lesson.stem}", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: one for name, one in vars(module).items() if isinstance(one, Exercise)}
