"""Local partials as numbers: how one element of an operation's input moves its results, read off a recording.

A jvp through the operation's own rules, seeded at one element, gives the column of its Jacobian that belongs to that
element; the pull-backs, seeded at one element of the result, give a row.  Nothing of the user's runs again, so a custom
Function has neither.  What the numbers give is compared with what was recorded before it is shown (derive.py).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS
from ..core.backward import fit
from ..core.frames import OFF, use
from ..core.tensor import Tensor, wrap
from ..record.recorder import Record
from ..record.values import Event, Group, Noted


def pushed(rec: Record, group: Group, value: int, position: int | None, direction: np.ndarray) -> dict[int, np.ndarray]:
    """How a group's values move with `value`, where that is argument number `position` (None: wherever it stands)."""
    moved: dict[int, Tensor] = {}
    seed = wrap(np.array(direction, rec.values[value].dtype))
    with use(OFF):
        for event in group.events:
            given = [moved.get(i) if isinstance(i, int) else None for i in event.inputs]
            for k, i in enumerate(event.inputs):
                if i == value and position in (None, k):
                    given[k] = seed
            if any(t is not None for t in given):
                outs = event.cls.tangents(operands(rec, event), given, tensors(rec, event.outputs))
                if event.cls.elementwise:
                    outs = [only_where([t for t in given if t is not None], outs[0])] if outs[0] is not None else outs
                moved.update({o: t for o, t in zip(event.outputs, outs) if t is not None})
    return {o: t.numpy() for o, t in moved.items()}


def pulled(rec: Record, group: Group, value: int, weights: np.ndarray) -> dict[tuple[int, int | None], np.ndarray]:
    """The slope of a weighted sum of `value` by all that goes into the group: by value and, in a single event, position."""
    arrived: dict[tuple, Tensor] = {(value, None): wrap(np.array(weights, rec.values[value].dtype))}
    with use(OFF):
        for event in reversed(group.events):
            gs = tuple([arrived.get((o, None)) for o in event.outputs])
            if all(g is None for g in gs):
                continue
            for k, i in enumerate(event.inputs):
                if isinstance(i, int) and (d := pulled_to(rec, event, k, gs)) is not None:
                    key = i, (k if len(group.events) == 1 else None)
                    arrived[key] = arrived[key] + d if key in arrived else d
    return {key: t.numpy() for key, t in arrived.items()}


def pulled_to(rec: Record, event: Event, k: int, gs: tuple) -> Tensor | None:
    """What flows back to argument number k of an event; None where nothing does."""
    noted = rec.values[event.inputs[k]]
    if noted.dtype is None or np.dtype(noted.dtype) not in FLOATS:
        return None
    primals = operands(rec, event)
    d = event.cls.evaluate(k, primals + tensors(rec, event.outputs), len(primals), gs)
    if d is not None and event.cls.elementwise and tuple(d.shape) == tuple(gs[0].shape):
        d = only_where([gs[0]], d)
    edge = SimpleNamespace(_shape=tuple(noted.shape), _dtype=np.dtype(noted.dtype))  # as far as fit asks
    return None if d is None else fit(d, edge, event.cls, k)


def operands(rec: Record, event: Event) -> tuple:
    """The arguments of a primitive as they were; no rule tells the local partials of a custom Function."""
    if not event.cls.primitive:
        raise NotImplementedError
    return tuple([i.get("const") if isinstance(i, dict) else tensor(rec.values[i]) for i in event.inputs])


def tensors(rec: Record, values: Any) -> tuple[Tensor, ...]:
    """Recorded values as tensors without a history."""
    return tuple([tensor(rec.values[v]) for v in values])


def tensor(noted: Noted) -> Tensor:
    """A recorded value; NaN in every element where nothing kept it, so that no number is made from it unseen."""
    if noted.array is not None and not noted.lost:
        return wrap(np.array(noted.numbers()))
    dtype = np.dtype(noted.dtype or "f4")
    if noted.lost and "values" in (noted.summary or {}):
        return wrap(np.array(noted.summary["values"], dtype))
    return wrap(np.full(noted.shape, np.nan if dtype in FLOATS else 0, dtype))


def only_where(moved: list, t: Tensor) -> Tensor:
    """0 wherever nothing moves an element of a pointwise operation: there an infinite partial would make it NaN."""
    there = np.zeros(t.shape, bool)
    for m in moved:
        there |= np.broadcast_to(m.numpy() != 0, there.shape)
    return wrap(np.where(there, t.numpy(), 0).astype(t._np_dtype))
