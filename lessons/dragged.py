"""Exercises that end when a number in a live picture has been dragged to the right place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .exercise import SIGNS, check, given_by_drag


def drag(name: str, page: Any, read: Callable[[], Any]) -> Any:
    """Return a live picture that says when a drag has reached the answer of an exercise, as it happens.

    `page` is of `viz.live`; `read` returns the present answer from its numbers, or None if there is none yet.  `check` accepts
    the dragged answer instead of dots.  Where Python does not hear of drags, the picture is as it was given.

    >>> import minigrad, viz
    >>> a = minigrad.tensor(3.0, requires_grad=True)
    >>> page = drag("leaf_dragged", viz.live(a * a, passes="forward"), lambda: page.values["a"])
    >>> page.values["a"] = -5.0
    >>> page.note
    '○ leaf_dragged: -5 now'
    """

    def follow(_: Any) -> None:
        try:
            now = read()
        except KeyError:  # the page has not computed it yet
            return
        if now is None or name in given_by_drag:
            return
        if verdict := check(name, now):
            given_by_drag[name] = now
        page.note = repr(verdict) if verdict else f"{SIGNS['open']} {name}: {now:.5g} now"

    if hasattr(page, "observe"):  # else anywidget is missing
        given_by_drag.pop(name, None)
        page.observe(follow, ["values", "grads"])
    return page
