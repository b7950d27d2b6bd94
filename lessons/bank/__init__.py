"""The exercise bank: exercises by topic and difficulty, in which every student gets different numbers.

Each file here is a topic.  An exercise is a function that receives a random generator, draws its numbers and returns a Task
with the question, the check and a right answer.  The generator depends on the name of the exercise and of the student, so
the same student always gets the same numbers.  `number`, `numbers`, `choice` and `code` make the usual tasks.
"""

from __future__ import annotations

import functools
import importlib
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

TOPICS = {
    "chain_rule": "The chain rule",
    "graphs": "Graphs and leaves",
    "matrices": "Vectors, matrices and broadcasting",
    "functions": "Custom Functions",
    "forward_mode": "Forward mode",
    "memory": "Memory",
    "in_place": "In-place operations and views",
    "second_derivatives": "Derivatives of derivatives",
    "checking": "Checking derivatives",
    "transforms": "Function transforms",
    "training": "Training",
    "layers": "Layers and losses",
    "kernels": "Kernels and compilation",
}
LEVELS = {1: "one step", 2: "a few steps", 3: "a small program"}
NONE: Mapping = {}


@dataclass(frozen=True)
class Task:
    """An exercise with the numbers of one student.

    `text` is the question in Markdown, `start` the code of the cell with dots for the gap, and `solution` the code that
    replaces the last statement of `start`.  `judge` raises Wrong for a wrong answer, and `why` explains a right one.
    `wrong` has sources of wrong answers, each with words of the verdict: tests use them, and teachers read them.
    """

    text: str
    start: str
    solution: str
    judge: Callable[[Any], None]
    why: str
    wrong: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Entry:
    """An exercise of the bank: its name, topic, difficulty (1 to 3) and hints, and the function that makes a task."""

    name: str
    topic: str
    level: int
    hints: tuple[str, ...]
    make: Callable[[random.Random], Task]

    @property
    def title(self) -> str:
        """The first line of the function's docstring, without the full stop."""
        return (self.make.__doc__ or "").strip().partition("\n")[0].rstrip(".")

    def task(self, student: str = "") -> Task:
        """Return the exercise with a student's numbers.

        >>> entry("slope_of_a_power").task("ada").text
        'Let $y = 5x^2 + 2x$. What is the derivative of $y$ at $x = 3$?'
        """
        task = self.make(random.Random(f"{self.name} {student}"))
        return task if task.start else replace(task, start=f"{self.name} = ...")


def exercise(level: int, *hints: str) -> Callable[[Callable[[random.Random], Task]], Entry]:
    """Add a function to the bank as an exercise with its name; hints are shown one at a time."""

    def added(make: Callable[[random.Random], Task]) -> Entry:
        return Entry(make.__name__, make.__module__.rpartition(".")[2], level, hints, make)

    return added


@functools.cache
def entries() -> dict[str, Entry]:
    """Return all exercises of the bank by name, in the order of the topics and their files."""
    modules = [importlib.import_module(f"{__name__}.{topic}") for topic in TOPICS]
    return {one.name: one for module in modules for one in vars(module).values() if isinstance(one, Entry)}


def entry(name: str) -> Entry:
    """Return an exercise of the bank; raise KeyError if there is none with this name."""
    return entries()[name]


def number(text: str, right: float, solution: str, why: str, mistakes: Mapping[float, str] = NONE) -> Task:
    """Return a task whose answer is a number; `mistakes` explains known wrong ones.

    A mistake that equals the right number for the drawn numbers is left out, so generators need not avoid it.
    """
    wrong = {value: reason for value, reason in mistakes.items() if abs(value - right) > 1e-3 * (1 + abs(right))}
    return _value("number", text, right, solution, why, wrong)


def numbers(text: str, right: Iterable[float], solution: str, why: str, mistakes: Mapping[tuple, str] = NONE) -> Task:
    """Return a task whose answer is a list of numbers in order, such as a shape or a small gradient."""
    wanted = tuple(right)
    wrong = {value: reason for value, reason in mistakes.items() if value != wanted}
    return _value("numbers", text, wanted, solution, why, wrong)


def choice(text: str, right: Any, solution: str, why: str, mistakes: Mapping[Any, str] = NONE) -> Task:
    """Return a task whose answer is a word, or a list of words in any order.

    For a list, `mistakes` explains words that do not belong in it.
    """
    listed = not isinstance(right, str)
    wrong = {word: reason for word, reason in mistakes.items() if not (word in right if listed else word == right)}
    task = _value("choice", text, right, solution, why, wrong)
    return replace(task, wrong=tuple((f"[{word}]", reason) for word, reason in task.wrong)) if listed else task


def code(text: str, start: str, solution: str, judge: Callable[[Any], None], why: str, *wrong: tuple[str, str]) -> Task:
    """Return a task whose answer is a function or a class; `wrong` are sources of wrong answers, with words of the verdict."""
    return Task(text.strip(), start.strip(), solution.strip(), judge, why, wrong)


def fence(source: str) -> str:
    """Return a program as a code block of Markdown, with a blank line before and after it."""
    return f"\n\n```python\n{source.strip()}\n```\n\n"


def combined(name: str, arguments: str, forward: str, gradients: str, *backward: str, decorator: str = "") -> str:
    """Return the source of a Function in the combined form.

    `arguments` and `gradients` are the parameters of `forward` and `backward` after `ctx`.  The body of `forward` is one text,
    the body of `backward` one text per line; without any, it returns None.  `decorator` is for `backward`.
    """
    body, back = (lines.replace("\n", "\n        ") for lines in (forward, "\n".join(backward) or "return None"))
    mark = f"    @{decorator}\n" if decorator else ""
    return (
        f"class {name}(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, {arguments}):\n        {body}\n\n"
        f"    @staticmethod\n{mark}    def backward(ctx, {gradients}):\n        {back}\n"
    )


def applied(formula: Callable) -> type:
    """Return a class whose `apply` is a formula, to compare a student's Function with it."""
    return type("Formula", (), {"apply": staticmethod(formula)})


def _value(kind: str, text: str, right: Any, solution: str, why: str, mistakes: Mapping) -> Task:
    """Return a task whose answer is a value, with an empty start that stands for `name = ...`."""

    def judge(answer: Any) -> None:
        from lessons import expect  # not earlier: the list of topics needs no minigrad

        getattr(expect, kind)(answer, right, mistakes)

    shown = ((repr(list(value) if isinstance(value, tuple) else value), reason) for value, reason in mistakes.items())
    return Task(text.strip(), "", solution.strip(), judge, why, tuple(shown))
