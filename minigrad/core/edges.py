"""What tensors and nodes hold on to: edges of the graph, version counters, and how a view came about.

An edge is a Node, a Port (one output of a node that has several), a Leaf (a tensor that wants `.grad`) or None.
"""

from __future__ import annotations

import weakref
from itertools import count
from typing import TYPE_CHECKING, Any

from ..places import Place

if TYPE_CHECKING:
    from .tensor import Tensor

next_number = count().__next__  # creation numbers of nodes and leaves: what is older has the smaller one


class Version:
    """Counts the in-place writes to one memory, shared by all tensors on it, and remembers the last one.

    `at` is a creation number: nodes with a smaller one are older than the last write.
    """

    __slots__ = ("at", "n", "place", "writer")

    def __init__(self):
        self.n, self.at, self.writer, self.place = 0, 0, "", None

    def bump(self, writer: str, place: Place | None) -> None:
        """Note one more write, by which operation and at which of the user's lines."""
        self.n += 1
        self.at = next_number()
        self.writer, self.place = writer, place


class InferenceVersion(Version):
    """Of tensors made under inference_mode: writes are not counted, so such a tensor can never be saved for backward."""

    def bump(self, writer: str, place: Place | None) -> None:
        """Writes are free here."""


INFERENCE = InferenceVersion()


class Lent(Version):
    """Of a gradient that an optimizer's step has used, when it had the version `used`.

    `exposed`: its memory was asked for since, so writes may have gone unnoticed.
    """

    __slots__ = ("exposed", "used")

    def __init__(self):
        super().__init__()
        self.exposed, self.used = False, 0


class Leaf:
    """The end of an edge at a tensor that wants `.grad`.  It holds the tensor weakly: a dead one needs no gradient."""

    __slots__ = ("__weakref__", "_dtype", "_hooks", "_ref", "_seq", "_shape")
    _edges, _layer, _saved, pull, next_functions = (), None, (), None, ()

    def __init__(self, t: Tensor):
        self._ref, self._seq, self._hooks = weakref.ref(t), next_number(), None
        self._shape, self._dtype = tuple(t.shape), t._np_dtype

    _meta = property(lambda leaf: ((leaf._shape, leaf._dtype),))

    def tensor_inputs(self) -> list:
        """None: here the graph ends."""
        return []

    @property
    def variable(self) -> Tensor | None:
        """The tensor whose `.grad` this end fills; None once it is gone."""
        return self._ref()

    def name(self) -> str:
        """PyTorch's name for the end of an edge."""
        return "AccumulateGrad"

    def __call__(self, *grads: Tensor | None) -> tuple:
        """Accumulate a gradient into the tensor's `.grad`."""
        from .engine import called

        return called(self, grads)

    def register_hook(self, fn: Any) -> Any:
        """Call `fn((), grad_outputs)` after the gradient was accumulated."""
        from .hooks import Handle, hooks_of

        return Handle(hooks_of(self).post, fn)

    def register_prehook(self, fn: Any) -> Any:
        """Call `fn(grad_outputs)` before the gradient is accumulated; a returned tuple replaces them."""
        from .hooks import Handle, hooks_of

        return Handle(hooks_of(self).pre, fn)

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"


class Port:
    """One output of a node that has several."""

    __slots__ = ("index", "node")

    def __init__(self, node: Any, index: int):
        self.node, self.index = node, index

    _shape = property(lambda port: port.node._meta[port.index][0])
    _dtype = property(lambda port: port.node._meta[port.index][1])


class ViewOf:
    """How a view came about: `fn(parent, *args)`, the parent's edge when the view's own history was derived, and the version
    of the memory then: only a write can make the history another.

    `fixed`, if not None, says why the view's history may not be derived again (and in-place writes are refused).
    """

    __slots__ = ("args", "fixed", "fn", "parent", "seen", "version")

    def __init__(self, parent: Tensor, fn: Any, args: tuple, seen: Any, version: int, fixed: str | None = None):
        self.parent, self.fn, self.args, self.seen, self.version, self.fixed = parent, fn, args, seen, version, fixed


Leaf.__name__ = "AccumulateGrad"  # what programs that walk through a graph find by type(node).__name__


def name_of(node: Any) -> str:
    """A node's name, also where a user has given their ctx an attribute `name`."""
    return type(node).name(node)


def producer(edge: Any) -> Any:
    """The node at the other end of an edge."""
    return edge.node if type(edge) is Port else edge


def place_of(edge: Any) -> int:
    """Which of the node's outputs an edge leads to."""
    return edge.index if type(edge) is Port else 0


def key(edge: Any) -> tuple:
    """An edge as a dictionary key: Ports are made anew each time, their node is not."""
    return (edge.node, edge.index) if type(edge) is Port else (edge, 0)


def meta(edge: Any) -> tuple:
    """Shape and NumPy dtype of the tensor at an edge."""
    return producer(edge)._meta[place_of(edge)]
