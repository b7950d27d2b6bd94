"""Saved tensors: a node keeps them for its backward, with versions that tell whether their memory was written since.

A node's own output is kept as a twin without history: node -> tensor -> node would be a cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from ..places import Place, user_place
from .events import slots
from .frames import current

if TYPE_CHECKING:
    from .graph import Edge, Node
    from .tensor import Tensor

next_number = count().__next__  # creation numbers of nodes, leaves and writes: what is older has the smaller one


# ---------------------------------------------------------------------- memory and its versions
class Version:
    """Counts the in-place writes to one memory, shared by all tensors on it, and remembers the last one."""

    n, at, writer = 0, 0, ""  # at: a creation number; nodes with a smaller one are older than the last write
    place: Place | None = None

    def bump(self, writer: str, place: Place | None = None) -> None:
        """Note one more write, by which operation, at the user's line: the one that runs now, if no other is named."""
        self.n += 1
        self.at = next_number()
        self.writer, self.place = writer, place or user_place()


class InferenceVersion(Version):
    """Of tensors made under inference_mode: writes are not counted, so such a tensor can never be saved for backward."""

    def bump(self, writer: str, place: Place | None = None) -> None:
        """Do nothing: writes are free here."""


INFERENCE = InferenceVersion()


def bottom(t: Tensor) -> Any:
    """Return the plain tensor, with an array, under all transforms."""
    while t._layer is not None:
        t = t._value
    return t


def memory(t: Tensor) -> Version:
    """Return the version counter of t's memory, made when first needed (by views, detach and in-place writes)."""
    while t._layer is not None:
        t = t._value
    if t._ver is None:
        t._ver = Version()
    return t._ver


def version(t: Tensor) -> int:
    """Return how often t's memory has been written in place."""
    while t._layer is not None:
        t = t._value
    return 0 if t._ver is None else t._ver.n


# ---------------------------------------------------------------------- what a node keeps
class Freed:
    """In place of saved tensors once a backward has freed them: says which one did.

    `root` is the creation number of the youngest node that it began from; nodes with a number above `at` are younger.
    """

    __slots__ = ("at", "place", "root")

    def __init__(self, place: Place | None):
        self.place, self.root, self.at = place, 0, next_number()


class Saved:
    """One saved tensor, with the version it had.  `index` is the node's own output it is, or None.

    `unpack`, where an observer has packed the tensor, makes a tensor of what stands here in its place.
    """

    __slots__ = ("__weakref__", "edge", "index", "tensor", "unpack", "version")

    def __init__(self, tensor: Any, index: int | None = None, edge: Edge | None = None, unpack: Callable | None = None):
        self.tensor, self.index, self.edge, self.unpack, self.version = tensor, index, edge, unpack, 0
        if unpack is None and (tensor._ver is not None or tensor._layer is not None):
            self.version = version(tensor)


def save(t: Any, index: int | None = None) -> Any:
    """Return what to keep of `t`, which is the node's output number `index`, or an input or intermediate (None)."""
    if not hasattr(t, "_edge"):
        return t
    if t._ver is INFERENCE:
        raise slots.problem("inference tensors cannot be saved for backward", t=t)
    observers = current().observers
    for o in reversed(observers) if observers else ():
        if (packed := o.pack(t, index)) is not None:
            return packed
    if index is not None:
        t = t._alias() if t._layer is None else t._value
    saved = Saved(t, index)
    for o in observers:
        o.saved(saved)
    return saved


def unpack(saved: object, node: Node) -> Any:
    """Return the tensor that was saved, as the code that asks has to see it."""
    if type(saved) is not Saved:
        return saved
    t, layer = saved.tensor, node._layer
    if saved.unpack is not None:
        t = saved.unpack(saved, node)
        return with_edge(t, saved.edge if saved.index is None else node._output(saved.index))
    if version(t) != saved.version:
        raise slots.problem("a saved tensor was modified in place", node=node, saved=saved)
    for o in current().observers:
        o.unpacked(saved, node)
    if layer is not None and not current().has(layer):  # the transform has ended: values one layer down
        return t._value if saved.index is None and t._layer is layer else t
    if saved.index is None:
        return t
    return with_edge(t if layer is None else layer.box(t), node._output(saved.index))


def with_edge(t: Tensor, edge: Edge | None) -> Any:
    """Return a tensor on t's memory with the given history."""
    out = t._alias() if t._layer is None else t
    out._edge, out._tan = edge, t._tan
    return out
