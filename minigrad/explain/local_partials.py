"""Local partials as numbers: the effect of one element of an operation's input on its results, from a recording.

A jvp through the operation's rules, seeded at one element, gives that element's column of the Jacobian; a pullback, seeded at
one element of the result, gives a row. No user code runs again, so custom Functions have neither. links.py compares the numbers
with the recorded ones before they are shown.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS
from ..core.backward import fit
from ..core.frames import OFF, use
from ..core.tensor import Tensor, wrap
from ..record.recorder import Record
from ..record.values import Event, OpEntry, ValueInfo, elements


def pushed(
    rec: Record, group: OpEntry, value: int, position: int | None, direction: np.ndarray
) -> dict[int, np.ndarray]:
    """Return how a group's values change with `value` as argument number `position` (None: in all positions)."""
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
                    outs = [masked_to([t for t in given if t is not None], outs[0])] if outs[0] is not None else outs
                moved.update({o: t for o, t in zip(event.outputs, outs) if t is not None})
    return {o: elements(t) for o, t in moved.items()}


def pulled(rec: Record, group: OpEntry, value: int, weights: np.ndarray) -> dict[tuple[int, int | None], np.ndarray]:
    """Return the derivative of a weighted sum of `value` by the group's inputs; the key includes the position in one event."""
    arrived: dict[tuple, Tensor] = {(value, None): wrap(np.array(weights, rec.values[value].dtype))}
    with use(OFF):
        for event in reversed(group.events):
            gs = tuple([arrived.get((o, None)) for o in event.outputs])
            if all(g is None for g in gs):
                continue
            for k, i in enumerate(event.inputs):
                if isinstance(i, int) and (d := gradient_of_argument(rec, event, k, gs)) is not None:
                    key = i, (k if len(group.events) == 1 else None)
                    arrived[key] = arrived[key] + d if key in arrived else d
    return {key: elements(t) for key, t in arrived.items()}


def gradient_of_argument(rec: Record, event: Event, k: int, gs: tuple) -> Tensor | None:
    """Return the gradient of argument number k of an event, or None."""
    noted = rec.values[event.inputs[k]]
    if noted.dtype is None or np.dtype(noted.dtype) not in FLOATS:
        return None
    primals = operands(rec, event)
    d = event.cls.evaluate(k, primals + tensors(rec, event.outputs), len(primals), gs)
    if d is not None and event.cls.elementwise and tuple(d.shape) == tuple(gs[0].shape):
        d = masked_to([gs[0]], d)
    edge = SimpleNamespace(_shape=tuple(noted.shape), _dtype=np.dtype(noted.dtype))  # all that `fit` needs
    return None if d is None else fit(d, edge, event.cls, k)


def operands(rec: Record, event: Event) -> tuple:
    """Return the recorded arguments of a primitive; raise NotImplementedError for a custom Function."""
    if not event.cls.primitive:
        raise NotImplementedError
    return tuple([i.get("const") if isinstance(i, dict) else tensor(rec.values[i]) for i in event.inputs])


def tensors(rec: Record, values: Any) -> tuple[Tensor, ...]:
    """Return recorded values as tensors without a history."""
    return tuple([tensor(rec.values[v]) for v in values])


def tensor(noted: ValueInfo) -> Tensor:
    """Return a recorded value as a tensor; if it is lost, all NaN, so that no number is derived from it unnoticed."""
    if (found := noted.content()) is not None:
        return wrap(np.array(found))
    dtype = np.dtype(noted.dtype or "f4")
    return wrap(np.full(noted.shape, np.nan if dtype in FLOATS else 0, dtype))


def masked_to(moved: list, t: Tensor) -> Tensor:
    """Return t with 0 wherever no input of a pointwise operation changes: an infinite partial would make it NaN."""
    there = np.zeros(t.shape, bool)
    for m in moved:
        there |= np.broadcast_to(elements(m) != 0, there.shape)
    return wrap(np.where(there, elements(t), 0).astype(t._np_dtype))
