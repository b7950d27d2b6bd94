"""Which recording, or which living graph, knows the derivative that is asked for.

Recordings of this thread are looked through while they are alive (program/recent.py).  Without one, a graph that backward
has kept is found among the living objects of the process: that takes time when somebody asks, and none while programs run.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np

from ..core.edges import producer
from ..core.node import Node
from ..core.saved import Freed
from ..core.tensor import Tensor, bottom, history
from ..errors import error
from ..program.from_graph import older_first, record_of
from ..program.recent import alive
from ..program.recording import Record
from .names import value_of

RECORD = """record the program:
    with minigrad.record(passes=("forward", "backward")) as rec:
        ...  # forward and backward, as they are
    print(minigrad.explain(x.grad))"""
KEEP = "or ask for it while the graph is there: minigrad.explain(loss, x), before or instead of loss.backward()"


@dataclass
class Asked:
    """A derivative in a recording."""

    rec: Record
    kind: str  # gradient | tangent
    value: int
    label: str = ""
    owned: bool = False  # whether it is the .grad of the value's tensor
    notes: list[str] = field(default_factory=list)


def derivative(t: Tensor, frame: FrameType | None) -> Asked:
    """What a tensor is the derivative of, in a living recording or graph; an error where that is not known."""
    for rec in alive():
        if (asked := in_recording(rec, t)) is not None:
            return checked(asked, t)
    owner = next((o for o in gc.get_objects() if isinstance(o, Tensor) and o._grad is t), None)
    if owner is None:
        raise error(
            ValueError,
            "explain",
            f"nothing is known of where this tensor of shape {tuple(t.shape)} came from: it is nobody's .grad, and no "
            "recording that is alive has it as a gradient or a tangent",
            f"{RECORD}\n  {KEEP}",
        )
    name = name_in(frame, owner) or "x"
    root = youngest_root(history(owner))
    nodes = [] if root is None else older_first(root)
    freed = next((n._saved for n in nodes if type(n._saved) is Freed), None)
    if root is None or freed is not None:
        by = f", which {freed.place} has freed" if freed is not None and freed.place else ", which is gone"
        what = f"{name}.grad is known, but not how it came about: that stood in the graph{by}"
        again = "or keep the graph: loss.backward(retain_graph=True)"
        raise error(ValueError, "explain", what, f"{RECORD.replace('x.grad', name + '.grad')}\n  {KEEP}\n  {again}")
    rec = record_of(root)
    rec.settle()
    return checked(Asked(rec, "gradient", rec.leaves[history(owner)], owned=True), t)


def in_recording(rec: Record, t: Tensor) -> Asked | None:
    """A tensor as a derivative in a recording: some value's .grad, or a gradient or tangent that went through it."""
    rec.settle()
    for noted in reversed(rec.values):
        if noted.tensor is not None and noted.tensor._grad is t and noted.index in rec.gradients:
            return Asked(rec, "gradient", noted.index, owned=True)
    index = rec._ids.get(id(bottom(t)._a))
    for value, gradient in rec.gradients.items():
        if gradient == index is not None:
            return Asked(rec, "gradient", value)
    for group in rec.groups:
        for value, tangent in (group.tangents or {}).items():
            if tangent == index is not None:
                return Asked(rec, "tangent", value)
    return None


def checked(asked: Asked, t: Tensor) -> Asked:
    """A note where the tensor holds something else than what was recorded."""
    recorded = (
        np.asarray(asked.rec.values[asked.rec.gradients[asked.value]].held()) if asked.kind == "gradient" else None
    )
    if recorded is not None and not np.allclose(bottom(t)._a, recorded, rtol=1e-4, equal_nan=True):
        what = f"the tensor holds {short(bottom(t)._a)} by now, which is not what is explained here: "
        why = "other backward calls have added to it, or it was set to zero in between"
        asked.notes.append(what + why)
    return asked


def short(a: np.ndarray) -> str:
    """A few numbers, or how many there are."""
    return np.array2string(a, precision=4, separator=", ") if a.size <= 4 else f"other numbers, such as {a.flat[0]:.4g}"


def of_tensor(y: Tensor, x: Tensor, who: str = "explain") -> Asked:
    """The derivative of y by x, from y's graph."""
    if history(y) is None:
        raise error(
            ValueError,
            who,
            f"the first tensor, of shape {tuple(y.shape)}, has no graph: nothing that it depends on requires grad",
            "set requires_grad=True on what you differentiate by, before computing",
        )
    rec, edge = record_of(y), history(x)
    rec.settle()
    if rec.notes:
        raise error(ValueError, who, rec.notes[0], RECORD)
    value = value_of(rec, edge)
    if value is None or value not in rec.gradients:
        raise error(
            ValueError,
            who,
            f"the tensor of shape {tuple(y.shape)} does not depend on the one of shape {tuple(x.shape)}",
            "look for a detach, a no_grad, or an operation without a derivative between them",
        )
    return Asked(rec, "gradient", value)


def youngest_root(leaf: Any) -> Any:
    """Of all living nodes through which a gradient reaches a leaf, the last one that no other one reads."""
    nodes = [o for o in gc.get_objects() if isinstance(o, Node)]
    reach: set = {leaf}
    read: set = set()
    for node in sorted(nodes, key=lambda n: n._seq):
        inputs = {producer(e) for e in node._edges if e is not None}
        if inputs & reach:
            reach.add(node)
            read |= inputs
    roots = [node for node in reach - read if node is not leaf]
    return max(roots, key=lambda n: n._seq, default=None)


def name_in(frame: FrameType | None, t: Tensor) -> str:
    """The variable that holds a tensor."""
    seen = {} if frame is None else {**frame.f_globals, **frame.f_locals}
    return next((name for name, value in seen.items() if value is t), "")
