"""Exercises: their checks, hints and solutions, and the verdict that a learner sees.

A check is a function in exercises/NN_name.py with the name of the answer that it judges.  It returns if the answer is right,
and its docstring tells the learner why.  For a wrong answer it raises Wrong, mostly through `expect`.  Exercises of the bank
(bank/) make their check from the numbers of one student.  A teacher's exercises (own.py) are in a file beside the notebook.
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
import sysconfig
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import failure, instructor, own, progress
from .catalogue import FOLDER, Lesson, all_lessons, of_exercise
from .limit import TooLong, within

if TYPE_CHECKING:
    from viz import Drawing

    from .bank import Entry


class Wrong(Exception):
    """A wrong answer: the mistake in words for the learner, and a drawing of the difference if there is one.

    `mistake` is a short name of the mistake, the same for all who make it; by default, the message without numbers.
    `line` is the learner's line with the mistake, if it is known.

    >>> Wrong("5 is not right: that is one path").mistake
    'that is one path'
    """

    def __init__(self, message: str, drawing: Drawing | None = None, mistake: str = "", line: str = ""):
        super().__init__(message)
        self.drawing, self.line = drawing, line
        self.mistake = mistake or _without_numbers(message)


class Unanswered(Exception):
    """An open task of a step: the cells below build on it.  A notebook shows only the message."""

    def _render_traceback_(self) -> list[str]:
        return [f"Unanswered: {self}"]


SIGNS = {"right": "✓", "wrong": "✗", "open": "○"}
GIVEN = 80  # characters of an answer in a report
given_by_drag: dict[str, float] = {}  # answers to which a live picture was dragged (dragged.py)
SECONDS = 20  # of the processor's time for a check
CLOCK = 20  # seconds on the clock: a loop that sleeps ends, too
COLOURS = {"right": "#2e7d32", "wrong": "#c62828", "open": "#757575"}


@dataclass(frozen=True)
class Verdict:
    """Result of `check`.  A notebook shows it beside a coloured bar, with a drawing of the difference.

    Of a wrong answer, `mistake` is a short name of the mistake, by which answers of many learners can be grouped, and `given`
    is the answer: a value in short, or the line with the mistake.

    >>> print(Verdict("sum_of_two", "right", "Two and two are four."))
    ✓ sum_of_two: Two and two are four.
    """

    name: str
    status: str  # right | wrong | open
    message: str
    drawing: Drawing | None = None
    mistake: str = ""
    given: str = ""

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
    """Judge an answer as `verdict_on` does; raise Unanswered for an open task of a step, so that "Run All" ends there.

    >>> check("three_uses", ...)
    ○ three_uses: not answered yet. Replace the dots with your answer; lessons.hint("three_uses") helps.
    """
    found = verdict_on(name, answer, student)
    if found.status == "open" and name not in _bank() and (one := _lesson(name)) and one.folder:
        number = list(one.exercises).index(name) + 1
        raise Unanswered(f'answer task {number}, {name}, first: the cells below need it. lessons.hint("{name}") helps')
    return found


def verdict_on(name: str, answer: Any, student: str = "") -> Verdict:
    """Judge an answer to the exercise `name`: right, wrong and why, or still open.

    An exercise of the bank is judged with the numbers of `student`.  A wrong answer raises nothing, even if its code fails, and
    one that loops without end is stopped after SECONDS or CLOCK.  Raises ValueError if there is no such exercise.
    """
    from .incoming import for_learner  # not earlier: the list of lessons needs no minigrad

    found = _exercise(name, student)
    dragged = answer is ... and name in given_by_drag
    answer = given_by_drag[name] if dragged else answer
    with warnings.catch_warnings(record=True) as warned:  # the verdict shows each once
        warnings.simplefilter("always", UserWarning)
        try:
            with for_learner(name, student):
                within(CLOCK, lambda: within(SECONDS, lambda: found.judge(answer), computing=True))
        except (Exception, SystemExit, TooLong) as e:
            if has_gap(answer):
                words = "not answered yet. Replace the dots with your answer"
                return Verdict(name, "open", f'{words}; lessons.hint("{name}") helps.')
            with for_learner(name, student):
                wrong = e if isinstance(e, Wrong) else stopped(e, name, answer, found)
            words = str(wrong)
            if words.endswith("is not right"):  # no reason is known
                words += f'; lessons.hint("{name}") helps'
            words += _warnings(warned, known=wrong.mistake)
            return Verdict(name, "wrong", words, wrong.drawing, wrong.mistake, _given_answer(answer, wrong.line))
    progress.solved(name)
    more = f"\nTo hand it in, write {name} = {answer:.5g}." if dragged else _kept(name, answer)
    return Verdict(name, "right", " ".join(found.why.split()) + more + _warnings(warned))


def _kept(name: str, answer: Any) -> str:
    """Write a right answer to a step of the track into engine.py; return a sentence about a file that cannot be written."""
    if name in _bank() or not (one := _lesson(name)) or not one.folder:
        return ""
    from .build import ENGINE, keep

    try:
        keep(answer)
    except (OSError, SyntaxError, ValueError) as e:
        return f" But {ENGINE} is unchanged: {e}"
    return ""


def _warnings(warned: list[warnings.WarningMessage], known: str = "") -> str:
    """Return the first line of each warning, without repeats: minigrad's texts are equal for the same mistake.

    Leave out the one about a mistake that the verdict itself names, which is `known`.
    """
    texts = dict.fromkeys(text for w in warned for text in getattr(w.message, "args", ())[:1])
    lines = [str(text).partition("\n")[0] for text in texts]
    told = "ignores the incoming gradient" if known == "without the incoming gradient" else "\n"
    return "".join(f"\nyour code warns: {line}" for line in lines if told not in line)


def stopped(e: BaseException, name: str, answer: Any, found: Exercise) -> Wrong:
    """Return in words why a check could not finish, with the arguments of the answer's last call and the first hint."""
    where = failure.arguments_at(answer, e.__traceback__)
    unfit = unusable(e, name, answer, found) if where is None else None
    words, mistake, line = unfit or (str(wrong := failed(e)), wrong.mistake, wrong.line)
    at = f"\nwhere {where}" if where else ""
    hint = f"\nHint: {found.hints[0]}" if found.hints else ""
    return Wrong(f"{words}{at}{hint}", mistake=mistake, line=line)


def unusable(e: BaseException, name: str, answer: Any, found: Exercise) -> tuple[str, str, str] | None:
    """Return the words, the mistake and the line for an answer that a check cannot call, or whose result it cannot use."""
    said = str(e).partition("\n")[0]
    if isinstance(e, TypeError) and "is not callable" in said and not callable(answer):
        return f"expected a function, got {failure.short(answer)}: begin with def {name}(...)", "no function", ""
    refused = re.match(r"(?:.*\.)?([\w<>]+)\(\) (?:takes|missing|got an unexpected|got multiple)", said)
    if isinstance(e, TypeError) and refused:
        one = None if name in _bank() else _lesson(name)
        wanted = failure.parameters(one, name, refused[1] if isinstance(answer, type) else name)
        right = f": expected {', '.join(wanted) or 'no arguments'}" if wanted is not None else ""
        return f"the arguments do not fit, {said}{right}", "wrong arguments", ""
    if isinstance(e, TooLong) or of_minigrad(e) or (last := failure.last_call(answer, found.judge, SECONDS)) is None:
        return None
    called, where, result = last
    given = f"for {where}, " if where else ""
    returned = f"{given}{called} returns {failure.short(result)}"
    why = f"the check cannot use this result ({type(e).__name__}: {said})"
    return f"{returned}\n{why}", f"a result that raises {type(e).__name__}", ""


def of_minigrad(e: BaseException) -> bool:
    """Return True for an error that minigrad itself has raised: it says more than a check could."""
    from minigrad.places import PACKAGE

    return traceback.extract_tb(e.__traceback__)[-1].filename.startswith(PACKAGE)


def failed(e: BaseException, when: str = "") -> Wrong:
    """Return the error that the learner's code raised, with its line and its fix, but without lines of the checks.

    `when` says in which case it was raised.
    """
    from minigrad.places import PACKAGE

    files = r"(?:expect|values|forbidden|difference|incoming|loops|(?:exercises|bank|build).[\w/\\]+)\.py"
    message = re.sub(rf"^  (.* )?at {re.escape(f'{FOLDER}{os.sep}')}{files}:.*\n", "", f"{e}\n", flags=re.M)
    message = re.sub(r"\x1b\[[\d;]*m", "", message)  # Numba's colours
    steps = traceback.extract_tb(e.__traceback__)
    others = (PACKAGE, f"{FOLDER}{os.sep}", *(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")))
    own = [step.line for step in steps if not step.filename.startswith(others) and step.line]
    line = own[-1] if own else ""
    at = f"\nin the line: {line}" if line not in message else ""
    said = f"raises {type(e).__name__}: {message.rstrip()}"
    if isinstance(e, TooLong):
        said = f"was {e}: is there a loop without end?"
    elif isinstance(e, RecursionError):
        said += ", so it calls itself without end"
    mistake = "loop without end" if isinstance(e, TooLong) else f"raises {type(e).__name__}"
    return Wrong(f"{when}your code {said}{at}", mistake=mistake, line=line)


def _without_numbers(message: str) -> str:
    """Return the first line of a message without its numbers, and of a number that is explained, the explanation.

    >>> _without_numbers("the result for tensor(2.) is -4.5, expected 8")
    'the result for tensor(…) is …, expected …'
    """
    line = message.partition("\n")[0]
    explained = re.fullmatch(r".* is not right: (.+)", line)
    return re.sub(r"(?<![\w.])[-+]?\d+(\.\d*)?(e[-+]?\d+)?(?!\w)", "…", explained[1] if explained else line)


def _given_answer(answer: Any, line: str) -> str:
    """Return a wrong answer in short: a value, or a function's line with the mistake."""
    if callable(answer):
        return line
    try:
        words = " ".join(repr(answer.tolist() if hasattr(answer, "tolist") else answer).split())
    except Exception:  # a repr may fail, and a tensor under a transform has no numbers
        words = type(answer).__name__
    return words if len(words) <= GIVEN else f"{words[:GIVEN]}…"


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
shown: list[str] = []  # the exercises whose solutions were shown; a grader reports them


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

    Raises ValueError if there is no such exercise, and LookupError if its solution is not on this machine.

    >>> solution("three_uses")
    three_uses = 12.0
    """
    shown.append(name)
    if name in (bank := _bank()):
        found = bank[name].task(student).solution
    elif (one := _lesson(name)) is None:
        found = own.solution(name)
    else:
        found = instructor.solutions(one)[name].strip()
    if not found:
        raise LookupError(f"the solution of {name} is not on this machine: your teacher may have it")
    return Words(found)


def _exercise(name: str, student: str = "") -> Exercise:
    """Return an exercise of a lesson or a teacher, or one of the bank with a student's numbers; or raise ValueError."""
    if name not in (bank := _bank()):
        one = _lesson(name)
        return own.found()[name] if one is None else _exercises(one.path)[name]
    task = bank[name].task(student)
    return Exercise(task.judge, bank[name].hints, task.why)


def _lesson(name: str) -> Lesson | None:
    """Return the lesson with an exercise, or None if a teacher's file has it; raise ValueError if there is none."""
    if any(name in one.exercises for one in all_lessons()):
        return of_exercise(name)
    mine = own.found()
    return None if name in mine else of_exercise(name, [*_bank(), *mine])


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
