"""A record from a tensor alone: its graph of nodes tells the operations, what they saved and how to run backward.

What no node has kept is not known any more: such values have an empty summary.  The forward-mode pass needs a recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays.kinds import near
from ..autograd.function import DelayedError
from ..core import engine
from ..core.context import Ctx
from ..core.engine import behind
from ..core.graph import Leaf, Node, OutputEdge, history
from ..core.saved import Freed, Saved
from ..core.tensor import Tensor, wrap
from ..errors import error
from ..fast.text_plan import is_pointwise
from ..ops.base.primitive import ShapeOf
from ..ops.nn.linear import Affine
from .recorder import Record
from .schema import Where
from .values import NOWHERE, UNKNOWN, Event, Group, Noted, bottom

FREED = "the program's own backward has freed what another one needs; call backward(retain_graph=True) to keep it"
REFUSED = "it is a gradient of a backward that is marked with @once_differentiable, and has no second derivative"


def record_of(what: Tensor | Node) -> Record:
    """The record of what has made a tensor, or of a node of the graph (`y.grad_fn`), with its backward pass if it has one.

    No `.grad` is touched.  Raises ValueError for a tensor that no recorded operation has made.

    >>> import minigrad
    >>> w = minigrad.tensor(3., requires_grad=True)
    >>> [op["name"] for op in record_of(w * w).to_dict()["ops"]]
    ['mul', 'mul']
    """
    if isinstance(what, Node):
        edge = what if len(what._meta) == 1 else OutputEdge(what, 0)
    else:
        edge = history(what)
    if edge is None or type(edge) is Leaf:
        raise error(
            ValueError,
            "record_of",
            f"a tensor of shape {tuple(what.shape)} that no recorded operation has made has no graph",
            "pass the result of operations on tensors that require grad",
        )
    rec = graph_of([edge])
    if isinstance(what, Tensor):
        rec.values[rec.outputs[0]].array = bottom(what)
    if any(type(g.nodes[0]._saved) is Freed for g in rec.groups):
        rec.notes.append(FREED)
    elif any(g.nodes[0]._fn is DelayedError for g in rec.groups):
        rec.notes.append(REFUSED)
    else:
        with rec:
            shape, dtype = edge._shape, edge._dtype
            known = [leaf.variable for leaf in rec.leaves] if isinstance(what, Node) else [what]
            there = next((bottom(t) for t in known if t is not None), None)
            seed = wrap(near(np.ones(shape, dtype), there))
            engine.run([edge], [seed], {(leaf, 0) for leaf in rec.leaves}, keep=True)
    return rec


def graph_of(edges: Sequence) -> Record:
    """A record of the operations behind some edges; a backward that runs under it belongs to it."""
    rec = Record()
    for node in older_first(edges):
        note_node(rec, node)
    rec.outputs = [value for e in edges if (value := rec.value_of(e)) is not None]
    return rec


def older_first(edges: Sequence) -> list:
    """All nodes behind some edges, by creation."""
    return sorted(behind(edges)[0], key=lambda n: n._seq)


def note_node(rec: Record, node: Any) -> None:
    """One operation: a value per argument and output, with what the node has saved of them."""
    cls = node._fn
    place = node._trace
    where = NOWHERE if place is None else Where(*place, place.code)
    group = Group("forward", cls.__name__ if isinstance(node, Ctx) else cls.name, where, [])
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
    """The value of one argument: that of its edge, an untracked tensor, or a constant."""
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
    """An argument that is not tracked."""
    if isinstance(node, Ctx):
        m = node._given[i] if i < len(node._given) else None
        return UNKNOWN if m is None else add(rec, "input", *m)
    s = node._saved[i] if type(node._saved) is tuple and i < len(node._saved) else None
    if type(s) is Saved and isinstance(s.tensor, Tensor):
        return add(rec, "input", tuple(s.tensor.shape), s.tensor._np_dtype)
    if type(s) is ShapeOf:
        return add(rec, "input", tuple(s), None)
    needless = is_pointwise(node._fn) or node._fn is Affine  # x + y needs neither, a bias nobody
    return UNKNOWN if s is None and needless else {"const": s}


def owner(rec: Record, node: Any, inputs: list, place: int) -> int:
    """The argument that a saved tensor is; a built-in's node has them at their places. A value of its own for any other."""
    at = node._places[place] if isinstance(node, Ctx) else place
    if at is not None and at < len(inputs) and not isinstance(inputs[at], dict):
        return inputs[at]
    kept = node._saved[place].tensor
    return add(rec, "computed", tuple(kept.shape), kept._np_dtype)


def add(rec: Record, kind: str, shape: tuple, dtype: Any) -> int:
    """A value of which only shape and dtype are known."""
    noted = Noted(len(rec.values), None, None, kind, shape, dtype)
    rec.values.append(noted)
    return noted.index
