"""Expectations for the checks of exercises: each function returns if an answer meets it, and raises Wrong otherwise.

`number`, `tensor` and `choice` compare values.  `computes` calls the learner's function and the expected one and draws where
their graphs differ; `function` does the same for a custom Function.  `saves` limits the bytes saved for backward, and `keeps`
compares the saved tensors.  `raises` and `quiet` check errors and warnings.  `compiles` compiles a function, with no eager
part.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import minigrad
from minigrad import Tensor
from minigrad.places import PACKAGE
from viz import Drawing

from .difference import Difference, copies
from .exercise import Wrong

__all__ = [
    "choice",
    "compiles",
    "computes",
    "function",
    "holds",
    "number",
    "numbers",
    "quiet",
    "raises",
    "refused",
    "saves",
    "tensor",
]

NONE: Mapping = MappingProxyType({})  # no known mistakes


def number(answer: Any, value: float, mistakes: Mapping[float, str] = NONE, rtol: float = 1e-4) -> None:
    """Expect a number, or a tensor, array or list with one element; `mistakes` explains known wrong numbers.

    >>> number(minigrad.tensor(2.0), 2.0)
    """
    if isinstance(answer, bool):
        raise Wrong(f"expected a number, got {answer}")
    try:
        given = _array(answer).item()
    except (TypeError, ValueError, RuntimeError):
        raise Wrong(f"expected a number, got {_described(answer)}") from None
    if np.isclose(given, value, rtol=rtol, atol=1e-6, equal_nan=True):
        return
    for wrong, why in mistakes.items():
        if np.isclose(given, wrong, rtol=rtol, atol=1e-6, equal_nan=True):
            raise Wrong(f"{given:g} is not right: {why}")
    raise Wrong(f"{given:g} is not right")


def numbers(answer: Any, right: Iterable[float], mistakes: Mapping[tuple, str] = NONE) -> None:
    """Expect a short list of numbers in order, such as a shape; `mistakes` explains known wrong lists.

    >>> numbers(minigrad.ones(3, 5).shape, [3, 5])
    """
    wanted = tuple(right)
    try:
        given = () if answer is None else tuple(_array(answer).ravel().tolist())
    except (TypeError, ValueError):
        given = ()
    if not given:
        raise Wrong(f"expected a list of {len(wanted)} numbers, got {_described(answer)}")
    shown = f"[{', '.join(f'{one:g}' for one in given)}] is not right"
    for wrong, why in mistakes.items():
        if given == wrong:
            raise Wrong(f"{shown}: {why}")
    if len(given) != len(wanted):
        raise Wrong(f"{shown}: expected {len(wanted)} numbers")
    if not np.allclose(given, wanted):
        raise Wrong(shown)


def tensor(answer: Any, value: Any, what: str = "the answer", rtol: float = 1e-4, atol: float = 1e-6) -> None:
    """Expect the shape and numbers of `value` in a tensor, an array or nested lists; `what` names the answer in the message.

    >>> tensor([1.0, 2.0], minigrad.tensor([1.0, 2.0]))
    """
    try:
        given, wanted = _array(answer), _array(value)
    except (TypeError, ValueError):
        raise Wrong(f"{what}: expected numbers, got {_described(answer)}") from None
    if given.shape != wanted.shape:
        raise Wrong(f"{what} has the shape {list(given.shape)}, expected {list(wanted.shape)}")
    bad = ~np.isclose(given, wanted, rtol=rtol, atol=atol, equal_nan=True)
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        at = f" at {list(index)}" if index else ""
        raise Wrong(f"{what} is {given[index]:.6g}{at}, expected {wanted[index]:.6g}")


def choice(answer: Any, right: str | Iterable[Any], mistakes: Mapping[Any, str] = NONE) -> None:
    """Expect a word or value, or several in any order; case and surrounding spaces do not matter.

    >>> choice("Backward ", "backward"), choice(["b", "a"], {"a", "b"})
    (None, None)
    """
    if isinstance(right, str):
        if _word(answer) == _word(right):
            return
        known = {_word(wrong): why for wrong, why in mistakes.items()}
        why = known.get(_word(answer)) if isinstance(answer, (str, int, float, bool)) else None
        raise Wrong(f"{answer!r} is not right" + (f": {why}" if why else ""))
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        raise Wrong(f"expected several answers in a list, got {answer!r}")
    given, wanted = {_word(one) for one in answer}, {_word(one) for one in right}
    for wrong in sorted(given - wanted, key=str):
        why = {_word(one): why for one, why in mistakes.items()}.get(wrong)
        raise Wrong(f"{wrong!r} does not belong in the list" + (f": {why}" if why else ""))
    if missing := wanted - given:
        raise Wrong(f"{len(missing)} more {'is' if len(missing) == 1 else 'are'} missing")


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
        raise Wrong(f"expected a function, got {_described(answer)}")
    for args in calls:
        called = f"for {', '.join(_described(a) for a in args)}"
        given, wanted = answer(*copies(args)), expected(*copies(args))
        try:
            _same_results(given, wanted, called, rtol)
            if gradients:
                _same_gradients(answer, expected, args, called, rtol)
        except Wrong as wrong:
            raise Wrong(str(wrong), _drawn(answer, expected, args)) from None
        if graph and (difference := Difference.between(answer, expected, args)).changes:
            raise Wrong(
                f"the numbers are right, but the graph is not: {difference.words()}", difference.drawing(graph=True)
            )


def _drawn(answer: Callable, expected: Callable, args: tuple) -> Drawing | None:
    """Return a drawing of the difference, or None if the wrong function cannot be recorded."""
    try:
        return Difference.between(answer, expected, args).drawing()
    except Exception:
        return None


def function(answer: Any, expected: type, *calls: tuple, gradients: bool = True, rtol: float = 1e-4) -> None:
    """Expect a custom Function whose `apply` has the results and gradients of `expected.apply`.

    >>> function(float, minigrad.autograd.Function)
    Traceback (most recent call last):
    lessons.exercise.Wrong: expected a subclass of autograd.Function, got <class 'float'>
    """
    if not (isinstance(answer, type) and issubclass(answer, minigrad.autograd.Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {_described(answer)}")
    computes(answer.apply, expected.apply, *calls, gradients=gradients, rtol=rtol)


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
        raise Wrong(f"minigrad check finds a mistake ({failures[0].name}): {failures[0].message}")


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
        if not any(kept.shape == one.shape and np.allclose(_array(kept), _array(one)) for one in wanted):
            raise Wrong(f"{_described(kept)} is saved: {enough}")


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
        raise Wrong(f"expected a function, got {_described(answer)}")
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


def refused(name: str) -> None:
    """Expect that minigrad's function `name` is not among the callers.  Call this in a function that you pass to the answer.

    >>> minigrad.func.jacrev(lambda x: refused("jacrev") or x)(minigrad.ones(1))
    Traceback (most recent call last):
    lessons.exercise.Wrong: your code calls jacrev; solve the exercise without it
    """
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(PACKAGE) and code.co_qualname.split(".")[0] == name:
            raise Wrong(f"your code calls {name}; solve the exercise without it")
        frame = frame.f_back


def _leaves(args: tuple) -> list[Tensor]:
    """Return the tensors among arguments that require grad."""
    return [a for a in args if isinstance(a, Tensor) and a.requires_grad]


def _same_results(given: Any, wanted: Any, called: str, rtol: float) -> None:
    if given is None and wanted is not None:
        raise Wrong(f"{called} it returns None: is there a return?")
    if not isinstance(wanted, (tuple, list)):
        tensor(given, wanted, f"the result {called}", rtol)
    elif not isinstance(given, (tuple, list)) or len(given) != len(wanted):
        raise Wrong(f"{called} it returns {_described(given)}, expected {len(wanted)} results")
    else:
        for i, (a, b) in enumerate(zip(given, wanted)):
            tensor(a, b, f"result {i} {called}", rtol)


def _same_gradients(answer: Callable, expected: Callable, args: tuple, called: str, rtol: float) -> None:
    wanted = _gradients(expected, args)
    if wanted is None:
        return
    given = _gradients(answer, args)
    if given is None:
        raise Wrong(f"{called} the result does not require grad: something cut the graph")
    for i, (a, b) in enumerate(zip(given, wanted)):
        which = f"the gradient of argument {i} {called}" if len(wanted) > 1 else f"the gradient {called}"
        which += ", with incoming gradients 0.7, 1.4, ...,"
        if (a is None) != (b is None):
            raise Wrong(
                f"{which} is {'None' if a is None else 'a tensor'}, expected {'a tensor' if a is None else 'None'}"
            )
        if b is not None:
            tensor(a, b, which, rtol)


def _gradients(f: Callable, args: tuple) -> tuple | None:
    """Return the gradients of a weighted sum of all results: incoming gradients of ones could hide a mistake."""
    own = copies(args)
    results = f(*own)
    tracked = [
        r for r in (results if isinstance(results, (tuple, list)) else (results,)) if getattr(r, "grad_fn", None)
    ]
    if not tracked or not _leaves(own):
        return None
    weights = [minigrad.arange(1, r.numel() + 1).reshape(r.shape).to(r.dtype) * 0.7 for r in tracked]
    return minigrad.autograd.grad(tracked, _leaves(own), weights, allow_unused=True)


def _array(what: Any) -> np.ndarray:
    if isinstance(what, Tensor):
        return what.detach().numpy()
    if isinstance(what, (list, tuple)):
        return np.array([_array(one) for one in what])
    if what is None:
        raise TypeError("NumPy turns None into NaN")
    return np.asarray(what, dtype=float)


def _word(what: Any) -> Any:
    return what.strip().lower() if isinstance(what, str) else what


def _described(what: Any) -> str:
    """Return a short description of a value."""
    words = " ".join(repr(what.detach() if isinstance(what, Tensor) else what).split())
    kind = "" if isinstance(what, Tensor) else f"{type(what).__name__} "  # a Tensor's repr begins with its type
    return words if len(words) <= 60 else f"{kind}{words[:40]}…"
