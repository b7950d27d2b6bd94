"""The graph: nodes, the edges between them, and the history of a tensor, which is one edge.

An edge is a Node, an OutputEdge (one output of a node that has several), a Leaf (a tensor that wants `.grad`) or None.  Inputs
are older than outputs and every node has a creation number, so descending numbers are a topological order: the engine needs
no recursion and no counting.  Edges are written once; a view derives its edge again when its memory has been written since.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, TypeAlias

from .events import slots
from .saved import Freed, Saved, next_number, unpack, version

if TYPE_CHECKING:
    from .frames import Layer
    from .tensor import Tensor

Edge: TypeAlias = "Node | OutputEdge | Leaf"


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
        """The tensors that were saved.  Raises RuntimeError if one was changed since, or an earlier backward has freed them."""
        return tuple([unpack(s, self) for s in self._alive() if type(s) is Saved])

    @property
    def needs_input_grad(self) -> tuple:
        """Per input of forward whether its gradient is wanted."""
        return tuple([e is not None for e in self._edges])

    @property
    def metadata(self) -> dict:
        """A dictionary for the user's own notes on this node."""
        return _metadata.setdefault(self, {})

    def _output(self, index: int) -> Any:
        """Return the edge that leads to one of its outputs."""
        return self if len(self._meta) == 1 else OutputEdge(self, index)

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


def operation_of(node: Node) -> str:
    """Return what the operation that a node goes back through is called in programs: `mul`, or the class of a Function."""
    fn: Any = node._fn
    return fn.function_name() if fn.primitive else fn.__name__


# ---------------------------------------------------------------------- the history of a view
class ViewOf:
    """Record that a view is `fn(parent, *args)`.

    `seen` and `version` are the parent's edge and the memory's version when the view's history was last derived. Only a
    write changes them, and then the history has to be derived again. `fixed`, if not None, says why that is impossible;
    in-place writes are then refused.
    """

    __slots__ = ("args", "fixed", "fn", "parent", "seen", "version")

    def __init__(self, parent: Tensor, fn: Any, args: tuple, seen: Edge | None, version: int, fixed: str | None = None):
        self.parent, self.fn, self.args, self.seen, self.version, self.fixed = parent, fn, args, seen, version, fixed


def history(t: Tensor) -> Any:
    """Return t's edge.  A view derives its history again from its parent when the memory has been written since."""
    view = t._view
    if view is not None and view.version != version(t) and view.fixed is None:
        derive(t)
    return t._edge


def is_leaf(t: Tensor) -> bool:
    """Return whether no recorded operation made a tensor."""
    edge = history(t)
    return edge is None or type(edge) is Leaf


def derive(t: Tensor) -> None:
    """Bring the histories of a view, and of all it is a view of, up to date, from the base downwards."""
    now, chain = version(t), []
    while (view := t._view) is not None and view.version != now and view.fixed is None:
        chain.append(t)
        t = view.parent
    for t in reversed(chain):
        view = t._view
        assert view is not None
        view.version, edge = now, view.parent._edge
        if edge is not view.seen:
            before, view.seen, t._edge = t._edge, edge, None
            if edge is not None:
                view.fn.record(t._layer, (view.parent, *view.args), t)
                move_retained(before, t._edge)


def retains(t: Tensor) -> bool:
    """Return whether retain_grad() was called on t."""
    hooks = producer(t._edge)._hooks if t._edge is not None else None
    return hooks is not None and output_index(t._edge) in hooks.retained


def move_retained(old: Edge | None, edge: Edge | None) -> None:
    """Let retain_grad follow a tensor that was written in place from its old history to the new one."""
    if old is not None and producer(old)._hooks is not None:
        producer(old)._hooks.move_retained(output_index(old), edge)
