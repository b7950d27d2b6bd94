"""Expectations for answers that are values: numbers, tensors, words.  They are part of `lessons.expect`."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from minigrad import Tensor

from .exercise import Wrong

__all__ = ["array", "choice", "described", "number", "numbers", "tensor"]

NONE: Mapping = MappingProxyType({})  # no known mistakes


def number(answer: Any, value: float, mistakes: Mapping[float, str] = NONE, rtol: float = 1e-4) -> None:
    """Expect a number, or a tensor, array or list with one element; `mistakes` explains known wrong numbers.

    >>> import minigrad
    >>> number(minigrad.tensor(2.0), 2.0)
    """
    if isinstance(answer, bool):
        raise Wrong(f"expected a number, got {answer}")
    try:
        given = array(answer).item()
    except (TypeError, ValueError, RuntimeError):
        raise Wrong(f"expected a number, got {described(answer)}") from None
    if np.isclose(given, value, rtol=rtol, atol=1e-6, equal_nan=True):
        return
    for wrong, why in mistakes.items():
        if np.isclose(given, wrong, rtol=rtol, atol=1e-6, equal_nan=True):
            raise Wrong(f"{given:g} is not right: {why}")
    raise Wrong(f"{given:g} is not right")


def numbers(answer: Any, right: Iterable[float], mistakes: Mapping[tuple, str] = NONE) -> None:
    """Expect a short list of numbers in order, such as a shape; `mistakes` explains known wrong lists.

    >>> import minigrad
    >>> numbers(minigrad.ones(3, 5).shape, [3, 5])
    """
    wanted = tuple(right)
    try:
        given = () if answer is None else tuple(array(answer).ravel().tolist())
    except (TypeError, ValueError):
        given = ()
    if not given:
        raise Wrong(f"expected a list of {len(wanted)} numbers, got {described(answer)}")
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

    >>> import minigrad
    >>> tensor([1.0, 2.0], minigrad.tensor([1.0, 2.0]))
    """
    try:
        given, wanted = array(answer), array(value)
    except (TypeError, ValueError):
        raise Wrong(f"{what}: expected numbers, got {described(answer)}") from None
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
        if word(answer) == word(right):
            return
        known = {word(wrong): why for wrong, why in mistakes.items()}
        why = known.get(word(answer)) if isinstance(answer, (str, int, float, bool)) else None
        raise Wrong(f"{answer!r} is not right" + (f": {why}" if why else ""))
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        raise Wrong(f"expected several answers in a list, got {answer!r}")
    given, wanted = {word(one) for one in answer}, {word(one) for one in right}
    for wrong in sorted(given - wanted, key=str):
        why = {word(one): why for one, why in mistakes.items()}.get(wrong)
        raise Wrong(f"{wrong!r} does not belong in the list" + (f": {why}" if why else ""))
    if missing := wanted - given:
        raise Wrong(f"{len(missing)} more {'is' if len(missing) == 1 else 'are'} missing")


def array(what: Any) -> np.ndarray:
    if isinstance(what, Tensor):
        return what.detach().numpy()
    if isinstance(what, (list, tuple)):
        return np.array([array(one) for one in what])
    if what is None:
        raise TypeError("NumPy turns None into NaN")
    return np.asarray(what, dtype=float)


def word(what: Any) -> Any:
    return what.strip().lower() if isinstance(what, str) else what


def described(what: Any) -> str:
    """Return a short description of a value."""
    words = " ".join(repr(what.detach() if isinstance(what, Tensor) else what).split())
    kind = "" if isinstance(what, Tensor) else f"{type(what).__name__} "  # a Tensor's repr begins with its type
    return words if len(words) <= 60 else f"{kind}{words[:40]}…"
