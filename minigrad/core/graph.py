"""The graph: nodes, the edges between them, and the history of a tensor, which is one edge.

An edge is a Node, an OutputEdge (one output of a node that has several), a Leaf (a tensor that requires grad) or None.
Inputs are older than outputs and every node has a creation number, so descending numbers are a topological order: the engine
needs no recursion and counts no dependencies.  Edges never change; only a view derives its edge again after its memory changes.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, TypeAlias

from ..events import services
from .saved import Freed, Saved, next_number, unpack, version, view_now

if TYPE_CHECKING:
    from .frames import Layer
    from .tensor import Tensor

Edge: TypeAlias = "Node | OutputEdge | Leaf"


# ---------------------------------------------------------------------- edges
class Leaf:
    """End of an edge at a tensor that requires grad.  Holds the tensor weakly: a dead tensor needs no gradient."""

    __slots__ = ("__weakref__", "_dtype", "_hooks", "_ref", "_replaced", "_seq", "_shape")
    _hooks: Any
    _edges, _layer, _saved, _trace, next_functions, _shown = (), None, (), None, (), lambda leaf: leaf
    backward_on_arrays: Any = None

    def __init__(self, t: Tensor):
        self._ref, self._seq, self._hooks, self._replaced = weakref.ref(t), next_number(), None, False
        self._shape, self._dtype = tuple(t.shape), t._np_dtype

    _meta = property(lambda leaf: ((leaf._shape, leaf._dtype),))
    variable = property(lambda leaf: leaf._ref(), doc="The tensor whose `.grad` this leaf fills; None once it is gone.")

    def tensor_inputs(self) -> list:
        """Return an empty list: the graph ends here."""
        return []

    def name(self) -> str:
        """Return PyTorch's name for a leaf's node."""
        return "AccumulateGrad"

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"


Leaf.__name__ = "AccumulateGrad"  # programs that walk a graph look for this type(node).__name__


class OutputEdge:
    """One output of a node that has several."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int):
        self.node, self.index = node, index

    _shape = property(lambda edge: edge.node._meta[edge.index][0])
    _dtype = property(lambda edge: edge.node._meta[edge.index][1])


def producer(edge: Edge | None) -> Any:
    """Return the node that an edge leads to."""
    return edge.node if type(edge) is OutputEdge else edge


def output_index(edge: Edge | None) -> int:
    """Return the number of the output, among the node's outputs, that an edge leads to."""
    return edge.index if type(edge) is OutputEdge else 0


def key(edge: Edge) -> tuple:
    """Return an edge as a dictionary key: each call creates a new OutputEdge, but not a new node."""
    return (edge.node, edge.index) if type(edge) is OutputEdge else (edge, 0)


# ---------------------------------------------------------------------- nodes
NO_GRAD = "it was made under no_grad"  # why the history of such a view must not be derived again
_metadata: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


class Node:
    """One executed operation: the `grad_fn` of its results, and the `ctx` of a Function's methods.

    Every Function has its own subclass, named like PyTorch's (MulBackward0).  minigrad's attributes are slots with a leading
    underscore, because users set arbitrary attributes on their ctx.

    >>> import minigrad
    >>> x = minigrad.tensor(2., requires_grad=True)
    >>> node = (x * x).grad_fn
    >>> isinstance(node, minigrad.autograd.graph.Node), node.name()
    (True, 'MulBackward0')
    """

    # _edges per input: Node, OutputEdge, Leaf or None | _seq creation number | _meta (shape, dtype) per output
    # _saved what backward needs: Saved tensors and plain values; Freed once a backward has freed them
    # _hooks the hooks that are called with its gradients (tensors/hooks.py), or None
    # _layer the Grad layer it belongs to (None: eager) | _trace the user's line, if an observer recorded it
    __slots__ = ("__weakref__", "_hooks", "_seq")
    _fn: Any = None  # the Function; set by each subclass
    _layer: Any = None
    _trace: Any = None
    _hooks: Any
    _edges: Any
    _saved: Any
    _meta: Any
    _shape: Any  # those of the result, if there is just one
    _dtype: Any
    backward_on_arrays: Any = None  # (node, gradient, freed) -> pairs of edge and gradient; written out by fast/
    _shown = lambda node: node  # the node as programs see it, which read type(node).__name__
    __lt__ = lambda node, other: False  # for the engine's heap: views of one parent may have equal numbers
    places: Any = None  # of a written-out node: positions of the arguments that the pairs belong to

    def name(self) -> str:
        """Return the name of the operation followed by `Backward`, as PyTorch prints it."""
        return self._fn.node_name(self)

    def __repr__(self) -> str:
        return f"<{name_of(self)} object at {id(self):#x}>"

    @property
    def next_functions(self) -> tuple:
        """For each input tensor, the node that made it (AccumulateGrad for a leaf) and the number of that node's output."""
        edges = [self._edges[i] for i in self.tensor_inputs()]
        return tuple([(None, 0) if e is None else (producer(e)._shown(), output_index(e)) for e in edges])

    def tensor_inputs(self) -> list:
        """Return the positions of the arguments that are tensors, or that could have a gradient."""
        fn = self._fn
        return [i for i, e in enumerate(self._edges) if e is not None or fn.parameter(i) in fn.formulas]

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        """Saved tensors.  Raises RuntimeError if one was modified in place or an earlier backward has freed them."""
        return tuple([unpack(s, self) for s in self._alive() if type(s) is Saved])

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """For each input of forward, True if it needs a gradient."""
        return tuple([e is not None for e in self._edges])

    @property
    def metadata(self) -> dict:
        """Dictionary for the user's notes on this node."""
        return _metadata.setdefault(self, {})

    def _output(self, index: int) -> Any:
        """Return the edge that leads to one of this node's outputs."""
        return self if len(self._meta) == 1 else OutputEdge(self, index)

    def _sequence_nr(self) -> int:
        return int(self._seq)

    def _alive(self) -> tuple:
        """Return the saved values.  Raises RuntimeError if an earlier backward has freed them."""
        if type(self._saved) is Freed:
            raise services.problem("an earlier backward has freed the saved tensors", node=self)
        return self._saved

    def _free(self, freed: Freed) -> None:
        """Free the saved tensors, and leave a note of this backward for a later one that comes here."""
        if type(self._saved) is tuple and (Saved in map(type, self._saved) or self._fn.keeps_number(self)):
            self._saved = freed


class FullNode(Node):
    """A node with a slot for every attribute; the nodes that fast/ writes out have fewer."""

    __slots__ = ("_edges", "_layer", "_meta", "_saved", "_trace")

    def __init__(self, layer: Layer | None, edges: tuple):
        self._layer, self._edges, self._seq = layer, edges, next_number()
        self._saved, self._meta, self._hooks, self._trace = (), (), None, None

    _shape = property(lambda node: node._meta[0][0])
    _dtype = property(lambda node: node._meta[0][1])


def name_of(node: Node | Leaf) -> str:
    """Return a node's name, even if a user has set an attribute `name` on their ctx."""
    return type(node).name(node)  # type: ignore[arg-type]


def operation_of(node: Node) -> str:
    """Return the name, as programs call it, of the operation that made a node: `mul`, or the class of a Function."""
    fn: Any = node._fn
    return fn.function_name() if fn.primitive else fn.__name__


# ---------------------------------------------------------------------- the history of a view
class ViewOf:
    """Record that a view is `fn(parent, *args)`.

    `seen` and `version` are the parent's edge and the memory's version at the time when the view's history was last derived.
    Only an in-place write changes them, and then the history must be derived again.  `fixed`, if not None, says why that is
    impossible; in-place writes then raise.  Outputs of users' Functions have no `fn` (layers/outputs.py).
    """

    __slots__ = ("args", "fixed", "fn", "parent", "seen", "version")

    def __init__(self, parent: Tensor, fn: Any, args: tuple, seen: Edge | None, version: int, fixed: str | None = None):
        self.parent, self.fn, self.args, self.seen, self.version, self.fixed = parent, fn, args, seen, version, fixed


def history(t: Tensor) -> Any:
    """Return t's edge.  A view derives its history again from its parent if its memory has been modified since."""
    if (view := t._view) is not None and view.version != version(t) and view.fixed is not NO_GRAD:
        derive(t)
    return t._edge


def is_leaf(t: Tensor) -> bool:
    """Return True if no recorded operation made a tensor."""
    return (edge := history(t)) is None or type(edge) is Leaf


def derive(t: Tensor) -> None:
    """Update the history of a view, and of every view between it and its base, from the base downwards."""
    now, chain = version(t), []
    while (view := view_now(t)) is not None and view.version != now and view.fixed is not NO_GRAD:
        chain.append(t)
        t = view.parent
    for t in reversed(chain):
        view: Any = t._view
        view.version, edge = view.version if view.fn is None else now, view.parent._edge
        if view.fn is None:
            view.renew(t)
        elif edge is not view.seen:
            before, view.seen, t._edge = t._edge, edge, None
            if edge is not None:
                view.fn.record(t._layer, (view.parent, *view.args), t)
                producer(t._edge)._seq = producer(edge)._seq + 2**-20  # next to it, so that reading orders no sums
                move_retained(before, t._edge)


def retains(t: Tensor) -> bool:
    """Return True if retain_grad() was called on t."""
    hooks = producer(t._edge)._hooks if t._edge is not None else None
    return hooks is not None and output_index(t._edge) in hooks.retained


def move_retained(old: Edge | None, edge: Edge | None) -> None:
    """Make retain_grad follow a tensor that was modified in place, from its old history to the new one."""
    if old is not None and producer(old)._hooks is not None:
        producer(old)._hooks.move_retained(output_index(old), edge)
