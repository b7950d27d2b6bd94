"""The graph: nodes, the edges between them, and what a node keeps of tensors for its backward.

An edge is a Node, an OutputEdge (one output of a node that has several), a Leaf (a tensor that wants `.grad`) or None.  Inputs
are older than outputs and every node has a creation number, so descending numbers are a topological order: the engine needs
no recursion and no counting.  Edges are written once.  A node keeps a tensor with the version that its memory had; its own
output it keeps as a twin without history, for node -> tensor -> node would be a cycle.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from ..places import Place, user_place
from .events import slots
from .frames import current

if TYPE_CHECKING:
    from .frames import Layer
    from .tensor import Tensor

Edge: TypeAlias = "Node | OutputEdge | Leaf"
next_number = count().__next__  # creation numbers of nodes and leaves: what is older has the smaller one


# ---------------------------------------------------------------------- memory and its versions
class Version:
    """Counts the in-place writes to one memory, shared by all tensors on it, and remembers the last one.

    `at` is a creation number: nodes with a smaller one are older than the last write.
    """

    n, at, writer = 0, 0, ""
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


# ---------------------------------------------------------------------- edges
class Leaf:
    """The end of an edge at a tensor that wants `.grad`.  It holds the tensor weakly: a dead one needs no gradient."""

    __slots__ = ("__weakref__", "_dtype", "_hooks", "_ref", "_seq", "_shape")
    _hooks: Any
    _edges, _layer, _saved, _trace, next_functions = (), None, (), None, ()
    backward_on_arrays: Any = None

    def __init__(self, t: Tensor):
        self._ref, self._seq, self._hooks = weakref.ref(t), next_number(), None
        self._shape, self._dtype = tuple(t.shape), t._np_dtype

    _meta = property(lambda leaf: ((leaf._shape, leaf._dtype),))
    variable = property(lambda leaf: leaf._ref(), doc="The tensor whose `.grad` this end fills; None once it is gone.")

    def tensor_inputs(self) -> list:
        """Return nothing: here the graph ends."""
        return []

    def name(self) -> str:
        """Return PyTorch's name for the end of an edge."""
        return "AccumulateGrad"

    def __call__(self, *grads: Tensor | None) -> tuple:
        """Accumulate a gradient into the tensor's `.grad`."""
        return slots.called(self, grads)

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"


Leaf.__name__ = "AccumulateGrad"  # what programs that walk through a graph find by type(node).__name__


class OutputEdge:
    """One output of a node that has several."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int):
        self.node, self.index = node, index

    _shape = property(lambda edge: edge.node._meta[edge.index][0])
    _dtype = property(lambda edge: edge.node._meta[edge.index][1])


def producer(edge: Edge | None) -> Any:
    """Return the node at the other end of an edge."""
    return edge.node if type(edge) is OutputEdge else edge


def output_index(edge: Edge | None) -> int:
    """Return which of the node's outputs an edge leads to."""
    return edge.index if type(edge) is OutputEdge else 0


def key(edge: Edge) -> tuple:
    """Return an edge as a dictionary key: OutputEdges are made anew each time, their node is not."""
    return producer(edge), output_index(edge)


def output_edge(node: Node, index: int) -> Any:
    """Return the edge that leads to one output of a node."""
    return node if len(node._meta) == 1 else OutputEdge(node, index)


# ---------------------------------------------------------------------- nodes
_metadata: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


class Node:
    """One executed operation: the `grad_fn` of its results, and the `ctx` of a Function's methods.

    Every Function has a subclass of its own, named like PyTorch's (MulBackward0).  What belongs to minigrad stands in slots
    with a leading underscore, because users write any attribute on their ctx.

    >>> import minigrad
    >>> x = minigrad.tensor(2., requires_grad=True)
    >>> node = (x * x).grad_fn
    >>> isinstance(node, minigrad.autograd.graph.Node), node.name()
    (True, 'MulBackward0')
    """

    # _edges per input: Node, OutputEdge, Leaf or None | _seq creation number | _meta (shape, dtype) per output
    # _saved what backward needs: Saved tensors and plain values; Freed after a backward that does not keep them
    # _hooks who is called with its gradients (tensors/hooks.py), or None
    # _layer the Grad layer it belongs to (None: eager) | _trace the user's line, if an observer has noted it
    __slots__ = ("__weakref__", "_hooks", "_seq")
    _fn: Any = None  # the Function; set by each subclass
    _layer: Any = None
    _trace: Any = None
    _hooks: Any
    _edges: Any
    _saved: Any
    _meta: Any
    _shape: Any  # those of the result where there is one
    _dtype: Any
    backward_on_arrays: Any = None  # (node, gradient, freed) -> pairs of edge and gradient; written out by fast/
    places: Any = None  # of a written-out node: the positions among the arguments of those that the pairs are for

    def name(self) -> str:
        """Return the name of the operation with `Backward` behind it, as PyTorch prints it."""
        return self._fn.node_name(self)

    def __repr__(self) -> str:
        return f"<{name_of(self)} object at {id(self):#x}>"

    @property
    def next_functions(self) -> tuple:
        """Per input tensor the node that made it (AccumulateGrad for a leaf) and which of its outputs it was."""
        edges = [self._edges[i] for i in self.tensor_inputs()]
        return tuple([(None, 0) if e is None else key(e) for e in edges])

    def tensor_inputs(self) -> list:
        """Return the positions of the arguments that are tensors, or stand where one may have a gradient."""
        fn = self._fn
        return [i for i, e in enumerate(self._edges) if e is not None or fn.parameter(i) in fn.formulas]

    @property
    def saved_tensors(self) -> tuple:
        """The tensors that were saved, checked for in-place changes.

        Raises RuntimeError if one was changed, or if an earlier backward has freed them.
        """
        return tuple([unpack(s, self) for s in self._alive() if type(s) is Saved])

    @property
    def needs_input_grad(self) -> tuple:
        """Per input of forward whether its gradient is wanted."""
        return tuple([e is not None for e in self._edges])

    @property
    def metadata(self) -> dict:
        """A dictionary for the user's own notes on this node."""
        return _metadata.setdefault(self, {})

    def _sequence_nr(self) -> int:
        return self._seq

    def _alive(self) -> tuple:
        """Return what was saved; RuntimeError if an earlier backward has freed it."""
        if type(self._saved) is Freed:
            raise slots.problem("an earlier backward has freed the saved tensors", node=self)
        return self._saved

    def _free(self, freed: Freed) -> None:
        """Drop saved tensors; a later backward through here finds a note of this one."""
        if type(self._saved) is tuple and (any([type(s) is Saved for s in self._saved]) or self._fn.keeps_number(self)):
            self._saved = freed


class FullNode(Node):
    """A node with a slot for everything; those that fast/ writes out are flatter."""

    __slots__ = ("_edges", "_layer", "_meta", "_saved", "_trace")

    def __init__(self, layer: Layer | None, edges: tuple):
        self._layer, self._edges, self._seq = layer, edges, next_number()
        self._saved, self._meta, self._hooks, self._trace = (), (), None, None

    _shape = property(lambda node: node._meta[0][0])
    _dtype = property(lambda node: node._meta[0][1])


def name_of(node: Node | Leaf) -> str:
    """Return a node's name, also where a user has given their ctx an attribute `name`."""
    return type(node).name(node)  # type: ignore[arg-type]


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
        return with_edge(t, saved.edge if saved.index is None else output_edge(node, saved.index))
    if version(t) != saved.version:
        raise slots.problem("a saved tensor was modified in place", node=node, saved=saved)
    for o in current().observers:
        o.unpacked(saved, node)
    if layer is not None and not current().has(layer):  # the transform has ended: values one layer down
        return t._value if saved.index is None and t._layer is layer else t
    if saved.index is None:
        return t
    return with_edge(t if layer is None else layer.box(t), output_edge(node, saved.index))


def with_edge(t: Tensor, edge: Edge | None) -> Any:
    """Return a tensor on t's memory with the given history."""
    out = t._alias() if t._layer is None else t
    out._edge, out._tan = edge, t._tan
    return out


# ---------------------------------------------------------------------- walks
def behind(roots: Sequence) -> tuple[set, set]:
    """Return all computed nodes behind the edges `roots`, and all leaves."""
    nodes: set = set()
    leaves: set = set()
    stack = list(roots)
    while stack:
        node = producer(stack.pop())
        if type(node) is Leaf:
            leaves.add(node)
        elif node is not None and node not in nodes:
            nodes.add(node)
            stack += node._edges
    return nodes, leaves


def on_paths(roots: Sequence, wanted: set) -> set:
    """Return the nodes from which a wanted edge can be reached, so that nothing else has to run."""
    targets = {node for node, _ in wanted}
    nodes, leaves = behind(roots)
    if leaves == targets:  # all leaves are wanted, and nothing else
        return nodes
    useful: set = set()
    for node in sorted(nodes, key=lambda n: n._seq):
        for e in node._edges:
            if e is not None and ((p := producer(e)) in useful or p in targets and key(e) in wanted):
                useful.add(node)
                break
    return useful
