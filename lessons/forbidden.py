"""Refuse an answer that uses what its exercise forbids: a function of minigrad, autograd, a loop over a batch.

They are part of `lessons.expect`.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import minigrad
from minigrad.autograd import forward_ad
from minigrad.core import engine
from minigrad.func import forward
from minigrad.places import PACKAGE

from .exercise import Wrong
from .incoming import called, copies

__all__ = ["by_hand", "methods_by_hand", "refused", "without_loop"]

AUTOGRAD = {
    one.__code__: words
    for words, functions in {
        "backward": [engine.run],
        "forward mode": [forward_ad.make_dual, forward.jvp, forward.linearize],
    }.items()
    for one in functions
}


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


def by_hand(answer: Any) -> Any:
    """Return a function that calls an answer, and raises Wrong if autograd computes derivatives in it.

    An answer that is no function is returned as it is.

    >>> by_hand(lambda x: 2 * x)(minigrad.tensor(3.0))
    tensor(6.)
    >>> by_hand(minigrad.func.grad(lambda x: x * x))(minigrad.tensor(3.0))
    Traceback (most recent call last):
    lessons.exercise.Wrong: your code runs autograd (backward): compute the derivative with formulas instead
    """
    if not callable(answer):
        return answer

    @functools.wraps(answer, assigned=())
    def call(*args: Any) -> Any:
        with _without_autograd():
            return answer(*args)

    return call


def methods_by_hand(answer: type, *args: Any) -> None:
    """Expect a custom Function whose methods do not run autograd, called with `args`.

    >>> class Double(minigrad.autograd.Function):
    ...     forward = staticmethod(lambda ctx, x: 2 * x)
    ...     backward = staticmethod(lambda ctx, g: 2 * g)
    >>> methods_by_hand(Double, minigrad.ones(2, requires_grad=True))
    """
    args = copies(args)
    with _without_autograd():
        answer.apply(*args)  # type: ignore[attr-defined]
    with _without_autograd(within=1):
        called(answer.apply, args)  # type: ignore[attr-defined]


@contextlib.contextmanager
def _without_autograd(within: int = 0) -> Iterator[None]:
    """Raise Wrong after the block if autograd ran in it, in more than `within` passes that are one inside the other."""
    before, running, ran = sys.getprofile(), [], []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if frame.f_code in AUTOGRAD and event == "call":
            running.append(frame)
            if len(running) > within:
                ran.append(AUTOGRAD[frame.f_code])
        elif event == "return" and running and running[-1] is frame:
            running.pop()

    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(before)
        if ran:
            raise Wrong(
                f"your code runs autograd ({ran[0]}): compute the derivative with formulas instead",
                mistake="runs autograd",
            )


def without_loop(f: Callable, small: tuple, large: tuple) -> None:
    """Expect a function that runs no more operations for a large batch than for a small one.

    >>> without_loop(lambda x: minigrad.stack([row.sum() for row in x]), (minigrad.ones(2, 3),), (minigrad.ones(5, 3),))
    Traceback (most recent call last):
    lessons.exercise.Wrong: the numbers are right, but a larger batch takes more operations, 7 instead of 4: a loop
    """
    few, many = (len(minigrad.record(f, *args, passes="forward").to_dict()["ops"]) for args in (small, large))
    if many > few:
        raise Wrong(f"the numbers are right, but a larger batch takes more operations, {many} instead of {few}: a loop")
