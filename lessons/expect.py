"""Expectations for the checks of exercises: each function returns if an answer meets it, and raises Wrong otherwise.

`number`, `numbers`, `tensor` and `choice` compare values (values.py).  `computes` calls the learner's function and the expected
one, names the mistake (mistakes.py) and draws where their graphs differ (difference.py); `function` does the same for a custom
Function, `calling` for a function around one, `tangents` for its jvp.  `saves` limits the bytes saved for backward, and `keeps`
compares the saved tensors.  `raises` and `quiet` check errors and warnings.  `compiles` compiles a function, with no eager
part.  `by_hand`, `methods_by_hand`, `refused` and `without_loop` refuse what an exercise forbids (forbidden.py).
"""

from __future__ import annotations

import contextlib
import functools
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import minigrad
from minigrad import Tensor

from .difference import Difference
from .exercise import Wrong
from .forbidden import by_hand, methods_by_hand, refused, without_loop
from .incoming import arguments_of, called, copies, pushed
from .mistakes import Mistake, Sample, of_gradients, of_tangent, of_value
from .values import array, choice, described, number, numbers, tensor

__all__ = [
    "by_hand",
    "calling",
    "choice",
    "compiles",
    "computes",
    "function",
    "holds",
    "methods_by_hand",
    "number",
    "numbers",
    "quiet",
    "raises",
    "refused",
    "saves",
    "tangents",
    "tensor",
    "without_loop",
]

SHORT = 12  # elements of a tensor that a message shows


def computes(
    answer: Callable,
    expected: Callable,
    *calls: tuple,
    gradients: bool = True,
    graph: bool = False,
    rtol: float = 1e-4,
) -> None:
    """Expect a function with the results of `expected` for the arguments of each call, and the same gradients.

    Gradients are taken with respect to the tensors that require grad.  With `graph`, the operations must be the same, too.
    Wrong describes a difference in words and draws it in the learner's graph.

    >>> computes(lambda x: x * x, lambda x: x**2, (minigrad.tensor(3.0, requires_grad=True),))
    """
    if not callable(answer):
        raise Wrong(f"expected a function, got {described(answer)}")
    for args in calls:
        try:
            _same_results(answer, expected, args, rtol)
            if gradients:
                _same_gradients(answer, expected, args, rtol)
        except Wrong as wrong:
            raise _drawn(wrong, answer, expected, args) from None
        if graph and (difference := Difference.between(answer, expected, args)).changes:
            raise Wrong(
                f"the numbers are right, but the graph is not: {difference.words()}",
                difference.drawing(graph=True),
                "the graph is not the expected one",
            )


def _drawn(wrong: Wrong, answer: Callable, expected: Callable, args: tuple, tangents: tuple = ()) -> Wrong:
    """Add a drawing of the difference and the learner's line, unless the wrong function cannot be recorded."""
    try:
        difference = Difference.between(answer, expected, args, tangents)
        wrong.line, wrong.drawing = difference.line(), difference.drawing()
    except Exception:  # showing never raises
        wrong.drawing = None
    return wrong


def function(answer: Any, expected: type, *calls: tuple, gradients: bool = True, rtol: float = 1e-4) -> None:
    """Expect a custom Function whose `apply` has the results and gradients of `expected.apply`.

    >>> function(float, minigrad.autograd.Function)
    Traceback (most recent call last):
    lessons.exercise.Wrong: expected a subclass of autograd.Function, got <class 'float'>
    """
    _is_function(answer)
    computes(answer.apply, expected.apply, *calls, gradients=gradients, rtol=rtol)


def calling(answer: Any) -> Callable:
    """Mark a function that calls a learner's Function once, so that a verdict names the arguments of that Function.

    Raises Wrong if the answer is no Function.

    >>> class Halved(minigrad.autograd.Function):
    ...     forward = staticmethod(lambda ctx, x: x / 2)
    >>> @calling(Halved)
    ... def on_a_copy(*args):
    ...     return Halved.apply(args[0].clone())
    >>> computes(on_a_copy, lambda x: x, (minigrad.tensor(4.0),))
    Traceback (most recent call last):
    lessons.exercise.Wrong: the result has to be 2 times as large: for x = 4, the result is 2, expected 4 ...
    """
    _is_function(answer)
    return functools.wraps(answer.apply)


def tangents(answer: Any, expected: Callable, point: tuple, *directions: tuple) -> None:
    """Expect a custom Function with the results and tangents of `expected`, for tensors at a point and in each direction.

    >>> class Halved(minigrad.autograd.Function):
    ...     forward = staticmethod(lambda ctx, x: x / 2)
    ...     jvp = staticmethod(lambda ctx, x_tangent: x_tangent)
    >>> tangents(Halved, lambda x: x / 2, (minigrad.tensor(3.0),), (minigrad.tensor(10.0),))
    Traceback (most recent call last):
    lessons.exercise.Wrong: the tangent is 2 times as large as it should be: for x = 3 and x's tangent = 10, the tangent ...
    """
    _is_function(answer)
    for direction in directions:
        try:
            _same_results(answer.apply, expected, point, 1e-4)
            _same_tangents(answer.apply, expected, point, direction)
        except Wrong as wrong:
            raise _drawn(wrong, answer.apply, expected, point, direction) from None


def holds(answer: type, *args: Any, skip: Iterable[str] = ()) -> None:
    """Expect a custom Function that passes `minigrad check` when called with `args`.

    >>> class Halved(minigrad.autograd.Function):
    ...     forward = staticmethod(lambda ctx, x: x / 2)
    ...     backward = staticmethod(lambda ctx, g: g)
    >>> holds(Halved, minigrad.tensor([1.0, 2.0]))
    Traceback (most recent call last):
    lessons.exercise.Wrong: minigrad check finds a mistake (gradients): ...
    """
    failures = minigrad.testing.check(answer, *args, skip=skip).failures
    if failures:
        first = failures[0]
        fix = f"\nTo fix: {first.remedy}" if first.remedy else ""
        cause = (first.disagreement or {}).get("cause") or first.name
        message = f"minigrad check finds a mistake ({first.name}): {first.message}{fix}"
        raise Wrong(message, mistake=cause, line=first.line.partition(": ")[2])


def saves(f: Callable, args: tuple, most: int) -> None:
    """Expect a function that saves at most `most` bytes for backward, including leaves.

    >>> saves(lambda x: x * 2, (minigrad.ones(3, requires_grad=True),), most=0)
    """
    ops = minigrad.record(f, *copies(args), inside=True).to_dict()["ops"]
    kept = {entry["value"]: entry["bytes"] for op in ops for entry in op["saved"]}
    if sum(kept.values()) > most:
        raise Wrong(f"{sum(kept.values())} bytes are saved for backward; {most} are enough")


def keeps(result: Tensor, *wanted: Tensor, what: str) -> None:
    """Expect a custom Function's result whose ctx saves only the tensors `wanted`, by save_for_backward; `what` names them.

    >>> x = minigrad.tensor(2.0, requires_grad=True)
    >>> keeps(x.exp(), x.exp(), what="the result")
    """
    node: Any = result.grad_fn
    enough = f"{what} {'is' if len(wanted) == 1 else 'are'} enough"
    saved = [t for t in node.saved_tensors if t is not None]
    attributes = [name for name, value in getattr(node, "__dict__", {}).items() if isinstance(value, Tensor)]
    if not saved:
        raise Wrong(f"the numbers are right, but save_for_backward saves no tensor: {enough}")
    if attributes:
        raise Wrong(f"a tensor is kept as ctx.{attributes[0]} besides those of save_for_backward: {enough}")
    if len(saved) > len(wanted):
        raise Wrong(f"{len(saved)} tensors are saved: {enough}")
    for kept in saved:
        if not any(kept.shape == one.shape and np.allclose(array(kept), array(one)) for one in wanted):
            raise Wrong(f"{described(kept)} is saved: {enough}")


def raises(f: Callable[[], Any], kind: type[Exception], words: str = "") -> None:
    """Expect a call to raise an error of type `kind` whose message contains `words`.

    >>> raises(lambda: minigrad.ones(2) + minigrad.ones(3), RuntimeError, "must match")
    """
    try:
        f()
    except kind as e:
        if words in str(e):
            return
        raise Wrong(f"your code raises a different {kind.__name__}: {e}") from None
    raise Wrong(f"your code raises no error, expected a {kind.__name__}")


def quiet(f: Callable[[], Any]) -> Any:
    """Return the result of a call; expect no warning from it.

    >>> quiet(lambda: 2 + 2)
    4
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)  # not NumPy's RuntimeWarnings, which minigrad silences
        result = f()
    if caught:
        raise Wrong(f"your code warns: {str(caught[0].message).splitlines()[0]}")
    return result


def compiles(answer: Any) -> Callable:
    """Compile a function; expect that no call of it would run a part eagerly.

    >>> compiles(lambda x: 2 * x)(minigrad.ones(2))
    tensor([2., 2.])
    >>> compiles(lambda x: x if x.sum() > 0 else -x)(minigrad.ones(2))
    Traceback (most recent call last):
    lessons.exercise.Wrong: it runs, but not compiled: compile(<lambda>): cannot be compiled: it needs the value of a tensor ...
    """
    if not callable(answer):
        raise Wrong(f"expected a function, got {described(answer)}")
    fast = minigrad.compile(getattr(answer, "function", answer), fullgraph=True)  # a compiled one has its function

    def called(*args: Any) -> Any:
        try:
            return fast(*args)
        except RuntimeError as e:
            if "cannot be compiled" not in str(e):
                raise
            words = "\n".join(line for line in str(e).splitlines() if __file__ not in line)
            raise Wrong(f"it runs, but not compiled: {words}") from None

    return called


def _same_results(answer: Callable, expected: Callable, args: tuple, rtol: float) -> None:
    given: Any = answer(*copies(args))
    wanted: Any = expected(*copies(args))
    names = arguments_of(answer, len(args))
    at = f"for {_told(names, args)}"
    if given is None and wanted is not None:
        raise Wrong(f"{at}, it returns None: is there a return?", mistake="returns None")
    several = isinstance(wanted, (tuple, list))
    if several and not (isinstance(given, (tuple, list)) and len(given) == len(wanted)):
        raise Wrong(f"{at}, it returns {described(given)}, expected {len(wanted)} results", mistake="number of results")

    def sample(args: tuple) -> Sample:
        both = answer(*copies(args)), expected(*copies(args))
        given, wanted = ([_numbers(r) for r in (one if several else (one,))] for one in both)
        return Sample(_arguments(names, args), given, wanted)

    for i, (a, b) in enumerate(zip(given, wanted) if several and given is not None else [(given, wanted)]):
        which = f"result {i}" if several else "the result"
        try:
            tensor(a, b, f"{at}, {which}", rtol)
        except Wrong as wrong:
            raise _explained(
                wrong, which, lambda i=i, which=which: of_value(which, _samples(sample, args), i)
            ) from None


def _is_function(answer: Any) -> None:
    """Raise Wrong for an answer that is no custom Function."""
    if not (isinstance(answer, type) and issubclass(answer, minigrad.autograd.Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {described(answer)}")


def _same_tangents(answer: Callable, expected: Callable, point: tuple, direction: tuple) -> None:
    names = arguments_of(answer, len(point))
    moving = [f"{name}'s tangent" for name in names]
    at = f"for {_told([*names, *moving], [*point, *direction])}"

    def sample(point: tuple, direction: tuple = direction) -> Sample:
        mine, right = ([_numbers(t) for t in pushed(f, copies(point), direction)] for f in (answer, expected))
        return Sample(_arguments(names, point), mine, right)

    given, wanted = (pushed(f, copies(point), direction) for f in (answer, expected))
    for i, (a, b) in enumerate(zip(given, wanted)):
        which = f"the tangent of result {i}" if len(wanted) > 1 else "the tangent"
        if a is None:
            raise Wrong(f"{at}, {which} is None: is there a return in jvp?", mistake=f"{which} is None")

        def mistake(i: int = i, which: str = which) -> Mistake | None:
            along = lambda direction: sample(point, direction)
            return of_tangent(which, names, _samples(sample, point), i, along, direction)

        try:
            tensor(a, b, f"{at}, {which}")
        except Wrong as wrong:
            raise _explained(wrong, which, mistake) from None


def _same_gradients(answer: Callable, expected: Callable, args: tuple, rtol: float) -> None:
    wanted = called(expected, copies(args))
    if wanted.gradients is None:
        return
    given = called(answer, copies(args))
    names = arguments_of(answer, len(args))
    if given.gradients is None:
        raise Wrong(
            f"for {_told(names, args)}, the result does not require grad: something cut the graph", mistake="cut graph"
        )
    of = [name for name, a in zip(names, args) if isinstance(a, Tensor) and a.requires_grad]
    incoming = list(given.incoming)
    at = f"for {_told([*names, *incoming], [*args, *given.incoming.values()])}"

    def sample(args: tuple) -> Sample:
        def both(*scales: float) -> list[list[np.ndarray | None]]:
            calls = (called(f, copies(args), scales) for f in (answer, expected))
            return [[_numbers(g) for g in one.gradients or ()] for one in calls]

        seeds = {name: array(g) for name, g in called(answer, copies(args)).incoming.items()}
        doubled = [both(*[1.0] * k, 2.0) for k in range(len(seeds))]
        given, wanted = both()
        return Sample(_arguments(names, args), given, wanted, seeds, doubled)

    def mistake(i: int) -> Mistake | None:
        return of_gradients(of, _samples(sample, args), i, incoming)

    for i, (a, b) in enumerate(zip(given.gradients, wanted.gradients)):
        which = f"the gradient of {of[i]}"
        if (a is None) != (b is None):
            states = ("None", "a tensor") if a is None else ("a tensor", "None")
            raise Wrong(f"{at}, {which} is {states[0]}, expected {states[1]}", mistake=f"{which} is {states[0]}")
        if b is not None:
            try:
                tensor(a, b, f"{at}, {which}", rtol)
            except Wrong as wrong:
                raise _explained(wrong, which, lambda i=i: mistake(i)) from None


def _explained(wrong: Wrong, which: str, mistake: Callable[[], Mistake | None]) -> Wrong:
    """Return a Wrong that says the mistake before the numbers, and how to fix it after them."""
    try:
        found = mistake()
    except Exception:  # the learner's code may fail for other arguments
        found = None
    if found is None:
        return Wrong(str(wrong), mistake=f"{which} is wrong")
    fix = f"\nTo fix: {found.hint}" if found.hint else ""
    return Wrong(f"{found.words}: {wrong}{fix}", mistake=found.name)


def _samples(sample: Callable, args: tuple) -> list[Sample]:
    """Return samples for the arguments, and for others if the functions accept these."""
    others = tuple(
        (a.detach() * 1.25 + 0.375).requires_grad_(a.requires_grad)
        if isinstance(a, Tensor) and a.dtype.is_floating_point
        else a
        for a in args
    )
    found = [sample(args)]
    with contextlib.suppress(Exception):
        found.append(sample(others))
    return found


def _numbers(what: Any) -> np.ndarray | None:
    """Return a result or gradient as an array, None if it has no numbers."""
    try:
        return array(what)
    except (TypeError, ValueError, RuntimeError):
        return None


def _arguments(names: list[str], args: tuple) -> dict[str, np.ndarray]:
    """Return the arguments that are numbers or tensors of numbers, by name."""
    known = {name: _numbers(a) for name, a in zip(names, args) if not isinstance(a, (bool, str))}
    return {name: a for name, a in known.items() if a is not None}


def _told(names: Iterable[str], values: Iterable[Any]) -> str:
    """Return named values as words: x = 2, y = [1, 3] and grad_output = 0.7."""
    parts = [f"{name} = {_short(value)}" for name, value in zip(names, values)] or ["no arguments"]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _short(value: Any) -> str:
    if isinstance(value, Tensor) and value.numel() > SHORT:
        return f"a tensor of shape {list(value.shape)}"
    if isinstance(value, Tensor) and value.numel():
        return re.sub(r"(?<=\d)\.0\b", "", str(np.round(value.detach().numpy().astype(float), 4).tolist()))
    return "a function" if callable(value) else described(value)
