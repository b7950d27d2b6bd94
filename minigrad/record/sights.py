"""What transforms see of operations: under vmap one example, without the batch dimension that the operation below has.

An operation comes to the innermost transform first, and each runs it, or what it makes of it, one layer down.  A sight is the
operation as it came to one of them.  A Grad layer's nodes are those of the sights one layer down; formulas are about these.
"""

from __future__ import annotations

from typing import Any

from ..core.frames import Layer
from ..core.saved import Saved
from ..core.tensor import Box, Tensor
from .callbacks import edges_of, passed
from .gradient_flow import Flows
from .values import Event, bottom


def sight(layer: Layer, cls: Any, args: tuple, around: frozenset) -> tuple[Event, list, list, list]:
    """The sight of an operation that comes to a layer, with the tensors that the recording has, their edges and dimensions."""
    before = passed.get()
    event = Event(cls, above=before[-1] if before else None)
    plain = [below(a, around) for a in args]
    return event, plain, edges_of(tuple(plain)), [dims_of(a, around) for a in args]


def below(t: Any, around: frozenset) -> Any:
    """What a tensor is to a recording that lies in the layers around: without the boxes of those inside."""
    while type(t) is Box and t._layer not in around:
        t = t._value
    return t


def dims_of(t: Any, around: frozenset) -> tuple:
    """The dimensions that the vmaps inside the recording hide of a tensor, the outermost one's first."""
    dims: list[int] = []
    while type(t) is Box and t._layer not in around:
        if t._layer.name == "vmap":
            dims.insert(0, t._extra)
        t = t._value
    return tuple(dims)


class Sights(Flows):
    """What a ledger knows of sights, and which node belongs to which."""

    def __init__(self):
        super().__init__()
        self._seeing: list[Event] = []  # the sights of the operation that is running
        self._last: Event | None = None

    def sight_began(self, event: Event, args: list, edges: list, dims: list) -> None:
        """An operation comes to a transform: what runs until it has left belongs to it."""
        event.inputs = [self.ref(a, "", e) for a, e in zip(args, edges)]
        event.dims = {i: d for i, d in zip(event.inputs, dims) if isinstance(i, int)}
        self._seeing.append(event)

    def sight_ended(self, event: Event, outs: list, dims: list) -> None:
        """The transform has given these results; none where it has failed."""
        self._seeing.remove(event)
        event.outputs = [self.ref(o, "computed") for o in outs]
        event.dims = {**event.dims, **dict(zip(event.outputs, dims))}

    def seen(self, event: Event) -> None:
        """An operation ran at the bottom: the sights that it ran for belong to its group."""
        for sight in self._seeing:
            if sight.group is None and event.group is not None:
                sight.group = event.group
                event.group.sights += (sight,)

    def claimed(self, node: Any, saved: Any) -> None:
        """A node of a Grad layer that runs inside this recording: it is made when its operation has run below, and noted."""
        if self._last is None or self._last.group is None or node in self._made_by:
            return
        group, layer = self._last.group, node._layer
        same = [e for e in (*group.events, *group.sights) if e.cls is node._fn]
        for event in reversed([e for e in same if e.above is layer] or same):
            return self.note_node(event, node, saved)

    def note_node(self, event: Event, node: Any, saved: Any) -> None:
        """A node that belongs to the event's group, and the tensors it keeps."""
        self._made_by[node] = event
        event.group.nodes += (node,)
        for s in saved if type(saved) is tuple else ():
            if type(s) is Saved and isinstance(s.tensor, Tensor):
                event.group.kept += ((self.ref(s.tensor, "computed"), bottom(s.tensor).nbytes, node),)
