"""Saved tensors: a node saves them for its backward, with versions that reveal later in-place writes to their memory.

A node saves its own output as a twin without history: node -> tensor -> node would be a reference cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from ..events import Interceptor, services
from ..places import Place, user_place
from .frames import current

if TYPE_CHECKING:
    from .graph import Edge, Node
    from .tensor import Tensor

next_number = count().__next__  # creation numbers of nodes, leaves and writes; older means smaller


# ---------------------------------------------------------------------- memory and its versions
class Version:
    """Counts the in-place writes to one memory, for all tensors that share it, and remembers the last one."""

    n, at, writer = 0, 0, ""  # at: the creation number of the last write; nodes with a smaller number are older
    place: Place | None = None
    # n after the last in-place reshape of a tensor on this memory, and a function that describes an older view by its strides
    reshaped: tuple[int, Callable] | None = None

    def bump(self, writer: str, place: Place | None = None) -> None:
        """Count one more write by an operation, at `place` or, if None, at the user's current line."""
        self.n += 1
        self.at = next_number()
        self.writer, self.place = writer, place or user_place()


class InferenceVersion(Version):
    """Version of tensors made under inference_mode: it counts no writes, so such tensors cannot be saved for backward."""

    def bump(self, writer: str, place: Place | None = None) -> None:
        """Do nothing: writes are not counted here."""


INFERENCE = InferenceVersion()


def plain_tensor(t: Tensor) -> Any:
    """Return the plain tensor, the one with an array, below all transforms."""
    while t._layer is not None:
        t = t._value
    return t


def memory(t: Tensor) -> Version:
    """Return the version counter of t's memory, created when first needed (by views, detach and in-place writes)."""
    while t._layer is not None:
        t = t._value
    if t._ver is None:
        t._ver = Version()
    return t._ver


def version(t: Tensor) -> int:
    """Return the number of in-place writes to t's memory."""
    while t._layer is not None:
        t = t._value
    return 0 if t._ver is None else t._ver.n


# ---------------------------------------------------------------------- the saved tensors of a node
class Freed:
    """Replaces saved tensors that a backward has freed, and records where that backward was called.

    `root` is the creation number of the youngest node that it began from; nodes with a number above `at` are younger.
    """

    __slots__ = ("at", "place", "root")

    def __init__(self, place: Place | None):
        self.place, self.root, self.at = place, 0, next_number()


class Saved:
    """One saved tensor and its version when saved.  `index` is its number among the node's own outputs, or None.

    If an observer packed it, `tensor` holds the packed value, of which `unpack` makes a tensor, and `tangent` its tangent.
    """

    __slots__ = ("__weakref__", "edge", "index", "tangent", "tensor", "unpack", "version")

    def __init__(self, tensor: Any, index: int | None = None, edge: Edge | None = None, unpack: Callable | None = None):
        self.tensor, self.index, self.edge, self.unpack, self.version = tensor, index, edge, unpack, 0
        self.tangent: Any = None  # with its dual level
        if unpack is None and (tensor._ver is not None or tensor._layer is not None):
            self.version = version(tensor) if tensor._ver is None else tensor._ver.n


def save(t: Any, index: int | None = None) -> Any:
    """Return the entry to save for `t`: the node's output number `index`, or an input or intermediate (None)."""
    if not hasattr(t, "_edge"):
        return t
    if t._ver is INFERENCE:
        raise services.problem("inference tensors cannot be saved for backward", t=t)
    observers = current().observers
    for o in reversed(observers) if observers else ():
        if isinstance(o, Interceptor) and (packed := o.pack(t, index)) is not None:
            return packed
    if index is not None:
        t = t._alias() if t._layer is None else t._value
    saved = Saved(t, index)
    for o in observers:
        o.saved(saved)
    return saved


def unpack(saved: object, node: Node) -> Any:
    """Return the saved tensor as the calling code must see it."""
    if type(saved) is not Saved:
        return saved
    t, layer = saved.tensor, node._layer
    if saved.unpack is not None:
        t = saved.unpack(saved, node)
        return with_edge(t, saved.edge if saved.index is None else node._output(saved.index), saved.tangent)
    if version(t) != saved.version:
        raise services.problem("a saved tensor was modified in place", node=node, saved=saved)
    for o in current().observers:
        o.unpacked(saved, node)
    if layer is not None and not current().has(layer):  # the transform has ended: use values one layer down
        return t._value if saved.index is None and t._layer is layer else t
    if saved.index is None:
        return t
    return with_edge(t if layer is None else layer.box(t), node._output(saved.index))


def with_edge(t: Tensor, edge: Edge | None, tangent: tuple | None = None) -> Any:
    """Return a tensor on t's memory with the given history, and with the given tangent instead of t's."""
    out = t._alias() if t._layer is None else t
    out._edge, out._tan = edge, tangent or t._tan
    return out


def view_now(t: Tensor) -> Any:
    """Return t's ViewOf; after an in-place reshape, which may have been its parent's, it is by strides."""
    view = t._view
    if view is not None and view.fn is not None and (since := memory(t).reshaped) and view.version < since[0]:
        since[1](t)
    return view
