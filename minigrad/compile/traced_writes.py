"""In-place writes in a capture: written memory becomes a new value of the program.

Writing to a view writes to a part of its parent: `y[1:3] = x` gives y a value in which that part is replaced. Other views of y
are created again when they are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..arrays.kinds import on_device
from ..core.frames import Frame, use
from ..core.graph import ViewOf
from ..core.inplace import inplace_at, write
from ..core.tensor import Box, Tensor
from ..ops.copy import Copy
from ..ops.replaced_parts import Replace
from ..places import Place
from .captured_steps import CapturedStep, CapturedValue
from .symbols import plain


def inplace(trace: Any, frame: Frame, fn: Any, x: Tensor, others: tuple) -> Tensor:
    """Write fn(x, *others) into x: its memory, and the memory of the parents of a view, get new values."""
    place, written = trace.look_around(), x
    x, others = trace.own(x), tuple([trace.own(o) for o in others])
    old: Any = trace.value(x)
    parents = [(view, trace.value(view.parent)) for view in views_above(x)]
    befores: list = []

    def lower(others: tuple) -> tuple:
        given = [trace.given(o) for o in others]
        with use(frame.parent):
            value = x._value.clone()
            for before in befores:
                before._value = value
            inplace_at(frame.parent, fn, x._value, tuple([trace.inner(plain(o)) for o in others]))
        trace._known[id(value._a)] = old
        trace._kept += [value, x._value, *befores]
        count = not parents and is_count(fn, x._value._a, others)
        new = trace.note("number" if count else "computed", x._value._a, others[0] if count else None)
        new.array = x._value._a.copy()
        trace._written.append((trace._clock, x._value._a))
        trace.write_places[new] = place
        if not count:
            trace.steps.append(CapturedStep(fn, [old, *given], [new], place, trace.phase, old))
        for view, whole in parents:
            new = replaced(trace, view, whole, new, place)
        return trace.as_tensors(fn, (x, *others))[1:]

    write(trace, frame, fn, x, others, befores.append, lower)
    return written


def replaced(trace: Any, view: ViewOf, whole: CapturedValue, part: CapturedValue, place: Place | None) -> CapturedValue:
    """Return the new value of a view's parent after a write to the view."""
    array = view.parent._value._a
    (new,) = trace.computed(Replace, [whole, part, view.fn, *view.args], [array], place)
    new.array, new.name = array.copy(), whole.name
    trace.write_places[new] = place
    return new


def viewed_again(trace: Any, b: Box) -> CapturedValue:
    """Create a view again, after its memory was written through another view; return its value."""
    if (view := b._view) is None:
        raise trace.refuse("it reads memory that was written through another tensor")
    (v,) = trace.computed(view.fn, [trace.value(view.parent), *view.args], [b._value._a], None)
    return v


def views_above(t: Tensor) -> Iterator[ViewOf]:
    """Yield the view record of a tensor, then of its parent, and so on."""
    while (view := t._view) is not None:
        yield view
        t = view.parent


def is_count(fn: type, a: Any, others: tuple) -> bool:
    """Return True if a write stores a number in a 0-d tensor, as a counter does, which needs no kernel."""
    if not issubclass(fn, Copy) or a.ndim or on_device(a) or isinstance(others[0], Tensor):
        return False
    return a.dtype.kind == "f" or a.dtype.kind == "i" and isinstance(others[0], int)
