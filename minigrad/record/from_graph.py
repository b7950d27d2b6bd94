"""Build a record from a tensor alone: the nodes of its graph give the operations and saved tensors, and run backward.

A value that no node has saved is lost, and its summary is empty. A jvp pass needs a recording.
"""

from collections.abc import Sequence
from typing import Any

from ..core.context import Ctx
from ..core.engine import reachable
from ..core.graph import Leaf, Node, history, producer
from ..core.saved import Saved
from ..core.tensor import Tensor
from ..errors import error
from ..fast.text_plan import is_pointwise
from ..ops.base.nodes import ShapeOf
from ..ops.nn.linear import Affine
from .recorder import Record
from .schema import Where
from .seeds import Seeds, names_of
from .unkept import fold_unseen
from .unseen import run_backward
from .values import NOWHERE, UNKNOWN, Event, OpEntry, ValueInfo, bottom


def record_of(what: Tensor | Node | Sequence[Tensor | Node], grad: Any = None) -> Record:
    """Return the record of a tensor's computation, or of a node's (`y.grad_fn`), with its backward pass if it has one.

    Several tensors have a backward pass each.

    It touches no `.grad` and calls no hook for gradients.  The pass begins with ones, or with the gradient `grad`, as in
    `record`.  Raise ValueError for a tensor that is not the result of a recorded operation.

    >>> import minigrad
    >>> w = minigrad.tensor(3., requires_grad=True)
    >>> [op["name"] for op in record_of(w * w).to_dict()["ops"]]
    ['mul', 'mul']
    """
    return recorded_graph(what, asked=True, grad=grad)


def recorded_graph(what: Any, asked: bool, grad: Any = None) -> Record:
    """Return the record of a graph, with the backward passes that `asked` allows (unseen.py)."""
    several = what if isinstance(what, (tuple, list)) else [what]
    edges = [edge_of(one) for one in several]
    for one, edge in zip(several, edges):
        if edge is None or type(edge) is Leaf:
            problem = f"a tensor of shape {tuple(one.shape)} has no graph: it is not the result of a recorded operation"
            raise error(ValueError, "record_of", problem, "pass the result of operations on tensors that require grad")
    rec, seeds = graph_of(edges, what), [None] * len(edges)
    if grad is not None:
        names = [list(names_of(one)) for one in several]
        seeds = Seeds(grad=grad).gradients([e._shape for e in edges], [e._dtype for e in edges], names)
    for edge, seed in zip(edges, seeds):
        run_backward(rec, [edge], asked, seed)
    return rec


def edge_of(what: Tensor | Node) -> Any:
    """Return the edge of a tensor, or of a node's first output."""
    return history(what) if isinstance(what, Tensor) else what._output(0)


def graph_of(edges: Sequence, result: Any = None) -> Record:
    """Return a record of the operations behind some edges; `result` is the tensor of a single one, if that is known."""
    rec = Record()
    for node in older_first(edges):
        note_node(rec, node)
    rec.outputs = [value for e in edges if (value := rec.value_of(e)) is not None]
    if isinstance(result, Tensor):
        rec.values[rec.outputs[0]].array = bottom(result)
    return rec


def older_first(edges: Sequence) -> list:
    """Return all nodes behind some edges, in order of creation."""
    return sorted(reachable(edges)[0], key=lambda n: n._seq)


def add_unseen(rec: Record, roots: Sequence) -> None:
    """Note the operations behind some edges that a recording has not seen, as far as their nodes know them.

    They ran before it, or in another thread, and have no tangents.
    """
    if rec.has_gap:
        return fold_unseen(rec, roots) if rec.folds else None
    rec.settle()
    unseen = [node for node in older_first([e for e in roots if e is not None]) if node not in rec._made_by]
    results = {producer(v.tensor._edge): v.index for v in rec.values if isinstance(v.tensor, Tensor) and v.tensor._edge}
    later, rec.groups = rec.groups, []
    for node in unseen:
        before = next((i for i, g in enumerate(later) if any(n._seq > node._seq for n in g.nodes)), len(later))
        rec.groups += later[:before]
        del later[:before]
        note_node(rec, node)
        event = rec._made_by[node]
        if len(event.outputs) == 1 and node in results:
            event.outputs[0] = results[node]
        if rec.level is not None:
            name = rec.groups[-1].name
            rec.notes.append(f"the jvp pass stops at {name}, which ran in another thread or before the recording")
    rec.groups += later


def note_node(rec: Record, node: Any) -> None:
    """Note the operation of a node: a value for each argument and output, with the tensors that the node saves."""
    cls = node._fn
    place = node._trace
    where = NOWHERE if place is None else Where(*place, place.code)
    group = OpEntry("forward", cls.__name__ if isinstance(node, Ctx) else cls.name, where, [])
    group.function = cls.__name__ if isinstance(node, Ctx) else None
    saved = node._saved if type(node._saved) is tuple else ()
    inputs = [argument(rec, node, i, e) for i, e in enumerate(node._edges)]
    event = Event(cls, group, inputs, [add(rec, "computed", *m) for m in node._meta if m is not None])
    group.events = (event,)
    group.nodes = (node,)
    rec.groups.append(group)
    rec._made_by[node] = event
    for place, s in enumerate(saved):
        if type(s) is Saved and isinstance(s.tensor, Tensor):
            index = rec.value_of(node._output(s.index)) if s.index is not None else owner(rec, node, inputs, place)
            rec.values[index].array = bottom(s.tensor)
            group.kept += ((index, bottom(s.tensor).nbytes, node),)


def argument(rec: Record, node: Any, i: int, edge: Any) -> Any:
    """Return the value of one argument: the value of its edge, an untracked tensor, or a constant."""
    if edge is None:
        return untracked(rec, node, i)
    index = rec.value_of(edge)
    if index is None:
        index = rec.leaves[edge] = add(rec, "parameter", *edge._meta[0])
        if (t := edge._ref()) is not None:
            noted, a = rec.values[index], bottom(t)
            noted.tensor, noted.array, noted.key = t, a, id(a)
            rec._ids[id(a)] = index
    return index


def untracked(rec: Record, node: Any, i: int) -> Any:
    """Return an argument that is not tracked."""
    if isinstance(node, Ctx):
        m = node._given[i] if i < len(node._given) else None
        return UNKNOWN if m is None else add(rec, "input", *m)
    s = node._saved[i] if type(node._saved) is tuple and i < len(node._saved) else None
    if type(s) is Saved and isinstance(s.tensor, Tensor):
        return add(rec, "input", tuple(s.tensor.shape), s.tensor._np_dtype)
    if type(s) is ShapeOf:
        return add(rec, "input", tuple(s), None)
    needless = is_pointwise(node._fn) or node._fn is Affine  # formulas of x + y read neither, no formula reads a bias
    return UNKNOWN if s is None and needless else {"const": s}


def owner(rec: Record, node: Any, inputs: list, place: int) -> int:
    """Return the argument that a saved tensor is, by the position where built-in nodes save it; else a new value."""
    at = node._places[place] if isinstance(node, Ctx) else place
    if at is not None and at < len(inputs) and not isinstance(inputs[at], dict):
        return inputs[at]
    kept = node._saved[place].tensor
    return add(rec, "computed", tuple(kept.shape), kept._np_dtype)


def add(rec: Record, kind: str, shape: tuple, dtype: Any) -> int:
    """Add a value with only its shape and dtype known."""
    noted = ValueInfo(len(rec.values), None, None, kind, shape, dtype)
    rec.values.append(noted)
    return noted.index
