"""Operations as transforms see them: under vmap a single example, without the batch dimension of the operation below.

An operation comes to the innermost transform first, and each transform passes it, or operations made from it, one layer down.
A sight is the operation as one transform sees it. A Grad layer's nodes belong to the sights one layer down, and so do formulas.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ..core.frames import Layer
from ..core.graph import history
from ..core.saved import Saved
from ..core.tensor import Box, Tensor
from .callbacks import edges_of, passed
from .gradient_flow import GradientFlow
from .values import Event, bottom


def sight(layer: Layer, cls: Any, args: tuple, around: frozenset) -> tuple[Event, list, list, list, list]:
    """Return the sight of an operation that comes to a layer, and the arguments, edges, dims and tangents that the recording
    sees."""
    before = passed.get()
    event = Event(cls, above=before[-1] if before else None)
    plain = [below(a, around) for a in args]
    return event, plain, edges_of(tuple(plain)), [dims_of(a, around) for a in args], tangents_of(layer, args, around)


def tangents_of(layer: Layer, values: Any, around: frozenset) -> list[tuple[Any, tuple] | None]:
    """Return the tangents that a jvp gives to values, with the dimensions that vmaps hide; None for a value without one.

    The list is empty for other transforms, and if something around the jvp differentiates it: then tangents are values, too.
    """
    if layer.name != "jvp":
        return []
    found = [a._extra if type(a) is Box and a._layer is layer else None for a in values]
    chains = [boxed for a, t in zip(values, found) if t is not None for boxed in (*boxes(a._value), *boxes(t))]
    if any([box._layer.name != "vmap" for box in chains if box._layer not in around]):
        return []
    plain = [None if t is None else below(t, around) for t in found]
    if any([history(low) is not None for t, a in zip(plain, values) if t is not None for low in (t, below(a, around))]):
        return []
    return [None if low is None else (low, dims_of(t, around)) for low, t in zip(plain, found)]


def boxes(t: Tensor) -> Iterator[Box]:
    """Yield the boxes around a tensor, the innermost transform's first."""
    while type(t) is Box:
        yield t
        t = t._value


def below(t: Any, around: frozenset) -> Any:
    """Return a tensor as a recording inside the layers around sees it: without the boxes of inner layers."""
    while type(t) is Box and t._layer not in around:
        t = t._value
    return t


def dims_of(t: Any, around: frozenset) -> tuple:
    """Return the dimensions of a tensor that vmaps inside the recording hide, the outermost vmap's first."""
    dims: list[int] = []
    while type(t) is Box and t._layer not in around:
        if t._layer.name == "vmap":
            dims.insert(0, t._extra)
        t = t._value
    return tuple(dims)


class Sights(GradientFlow):
    """The sights that a ledger knows, and the node of each."""

    def __init__(self):
        super().__init__()
        self._seeing: list[Event] = []  # the sights of the running operation
        self._last: Event | None = None

    def sight_began(self, event: Event, args: list, edges: list, dims: list, tangents: list) -> None:
        """Note that an operation comes to a transform; it covers all that runs until the transform is done."""
        event.inputs = [self.ref(a, "", e) for a, e in zip(args, edges)]
        event.dims = {i: d for i, d in zip(event.inputs, dims) if isinstance(i, int)}
        self.pushed(event, event.inputs, tangents)
        self._seeing.append(event)

    def sight_ended(self, event: Event, outs: list, dims: list, tangents: list) -> None:
        """Note the results of a transform; there are none if it failed."""
        self._seeing.remove(event)
        event.outputs = [self.ref(o, "computed") for o in outs]
        event.dims = {**event.dims, **dict(zip(event.outputs, dims))}
        self.pushed(event, event.outputs, tangents)
        if event.group is not None and event.tangents:
            event.group.tangents = {**event.group.tangents, **event.tangents}

    def pushed(self, event: Event, values: Sequence, tangents: list) -> None:
        """Note the tangents that a jvp of the program has for the values of its sight."""
        for value, found in zip(values, tangents):
            if found is not None and isinstance(value, int):
                tangent, dims = found
                moved = self.ref(tangent, "tangent")
                if self.values[moved].kind == "computed":
                    self.values[moved].kind = "tangent"
                event.tangents = {**event.tangents, value: moved}
                event.dims = {**event.dims, moved: dims}

    def seen(self, event: Event) -> None:
        """Add the current sights to the group of an operation that ran at the bottom."""
        for sight in self._seeing:
            if sight.group is None and event.group is not None:
                sight.group = event.group
                event.group.sights += (sight,)

    def claimed(self, node: Any, saved: Any) -> None:
        """Note a node of a Grad layer inside this recording; it is created after its operation has run and was noted."""
        if self._last is None or self._last.group is None or node in self._made_by:
            return
        group, layer = self._last.group, node._layer
        same = [e for e in (*group.events, *group.sights) if e.cls is node._fn]
        for event in reversed([e for e in same if e.above is layer] or same):
            return self.note_node(event, node, saved)

    def note_node(self, event: Event, node: Any, saved: Any) -> None:
        """Note a node of the event's group, and the tensors it saves."""
        self._made_by[node] = event
        event.group.nodes += (node,)
        for s in saved if type(saved) is tuple else ():
            if type(s) is Saved and isinstance(s.tensor, Tensor):
                event.group.kept += ((self.ref(s.tensor, "computed"), bottom(s.tensor).nbytes, node),)
