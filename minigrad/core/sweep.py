"""The first-order backward of plain eager code: the engine's loop once more, carrying arrays instead of Tensors.

A gradient that is not to be differentiated again needs no Tensor around it.  Nodes with a written-out `pull`
(ops/dispatch.py) compute on arrays, for 0-d tensors on NumPy's scalars, which are six times faster; all others get their
gradients as Tensors and run by the engine's own step.  engine.run says what a backward means; this is its fast lane.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from ..errors import user_place
from . import hooks
from .context import OFF, use
from .edges import Leaf, Port, producer
from .saved import Freed, Saved, unpack
from .tensor import Tensor, memory, wrap

GENERIC = bool(os.environ.get("MINIGRAD_GENERIC"))  # keep to the definitions: no fast lanes


def sweep(pending: Any, roots: Any, grads: Any, keep: bool, place: Any, step: Any, reach: Any) -> dict:
    """Push `grads` back from the edges `roots`, like engine.run, whose `step` and `reach` do what is out of the ordinary."""
    waiting: dict[Any, Any] = {}  # node -> its gradient, or a list of them where it has several outputs
    heap: list = []
    wanted, useful, found = pending.wanted, pending.useful, {}
    free = None if keep else Freed(place)
    for edge, g in zip(roots, grads, strict=True):
        give(waiting, heap, edge, bare(g))
    with pending, use(OFF), np.errstate(all="ignore"):
        while heap:
            node = heappop(heap)[1]
            g = waiting.pop(node)
            if node._hooks is not None or wanted is not None:
                g = look(node, g, wanted, found)
                if useful is not None and node not in useful:
                    continue
            if node.pull is not None and node._hooks is None:
                pairs = node.pull(g, free)
            elif type(node) is Leaf:
                finish(node, g, reach, place)
                continue
            elif node._hooks is not None or not node._fn.arrays or (pairs := on_arrays(node, g, keep, place)) is None:
                gs = [boxed(x) for x in g] if type(g) is list else [boxed(g)]
                pairs = [(e, bare(x)) for e, x in zip(node._edges, step(node, gs, keep, place, None), strict=True)]
            for edge, g in pairs:
                if edge is not None and g is not None:
                    if (
                        useful is not None
                        and producer(edge) not in useful
                        and (producer(edge), index(edge)) not in wanted
                    ):
                        continue
                    if edge in waiting and type(edge) is not Port:
                        waiting[edge] = waiting[edge] + g
                    else:
                        give(waiting, heap, edge, g)
            pairs = None  # holds on to gradients that a leaf could else take as they are
    return found


def on_arrays(node: Any, g: Any, keep: bool, place: Any) -> list | None:
    """One node's backward where the operation has one on arrays; None where it leaves that to its formulas on tensors."""
    fn, edges = node._fn, node._edges
    bound = tuple([bare(unpack(s, node)) if type(s) is Saved else s for s in node._alive()])
    gs = g if type(g) is list else (g,)
    if fn.arrays is True:
        outs = [None if e is None else fn.evaluate(i, bound, len(edges), gs) for i, e in enumerate(edges)]
    else:
        outs = fn.arrays(gs, bound)
        if outs is None:
            return None
    if not keep:
        node._free(place)
    return [(e, None if e is None or d is None else fitted(d, e)) for e, d in zip(edges, outs)]


def fitted(d: Any, edge: Any) -> Any:
    """A gradient in its input's shape (a broadcast one is summed down to it) and dtype."""
    if d.shape != edge._shape:
        d = sum_down(d, edge._shape)
    return d if d.dtype == edge._dtype else d.astype(edge._dtype)


def sum_down(g: Any, shape: tuple) -> Any:
    """A gradient summed down to the shape of an operand that was broadcast."""
    if g.shape == shape:
        return g
    axes = broadcast_axes(g.shape, shape)
    out = np.add.reduce(g, axes) if axes else g
    return out if out.shape == shape else np.reshape(out, shape)


def broadcast_axes(large: Sequence, small: Sequence) -> tuple:
    """The dimensions of `large` along which a tensor of shape `small` is repeated to fill it."""
    lead = len(large) - len(small)
    return (*range(lead), *[i + lead for i, n in enumerate(small) if n == 1 and large[i + lead] != 1])


def give(waiting: dict, heap: list, edge: Any, g: Any) -> None:
    """Add g to what the edge has got so far; one output of several waits in its node's list."""
    node = edge
    if type(edge) is Port or type(edge) is not Leaf and len(edge._meta) > 1:
        node, i = producer(edge), index(edge)
        slots = waiting.get(node)
        if slots is not None:
            slots[i] = g if slots[i] is None else slots[i] + g
            return
        slots = [None] * len(node._meta)
        slots[i], g = g, slots
    elif edge in waiting:
        waiting[edge] = waiting[edge] + g
        return
    waiting[node] = g
    heappush(heap, (-node._seq, node))


def index(edge: Any) -> int:
    """Which output of its node an edge leads to."""
    return edge.index if type(edge) is Port else 0


def bare(t: Tensor | None) -> Any:
    """A Tensor's array; of a 0-d one NumPy's scalar."""
    return None if t is None else t._a if t._a.ndim else t._a[()]


def boxed(g: Any) -> Tensor | None:
    """The Tensor of an array or scalar."""
    return None if g is None else wrap(g if type(g) is np.ndarray else np.asarray(g))


def look(node: Any, g: Any, wanted: set | None, found: dict) -> Any:
    """A node that somebody looks at: run its tensor hooks, and keep the gradients that were asked for."""
    gs = [boxed(x) for x in g] if type(g) is list else [boxed(g)]
    if node._hooks is not None:
        gs = hooks.before(node, gs)
    if wanted is not None:
        found.update({(node, i): x for i, x in enumerate(gs) if (node, i) in wanted and x is not None})
    return [bare(x) for x in gs] if type(g) is list else bare(gs[0])


def finish(leaf: Leaf, g: Any, reach: Any, place: Any) -> None:
    """Accumulate into a leaf's `.grad`, in memory of its own: nobody else may hold what a user may change."""
    t = leaf._ref()
    if leaf._hooks is not None or t is None or t._edge is not leaf:
        reach(leaf, [boxed(g)])
    elif t._grad is None:
        alone = type(g) is np.ndarray and g.base is None and sys.getrefcount(g) <= 3 and g.flags.c_contiguous
        t._grad = wrap(g if alone else np.array(g))
    elif t._grad._edge is None and t._grad._layer is None:
        t._grad._a += g
        memory(t._grad).bump("backward", place or user_place())
    else:
        reach(leaf, [boxed(g)])
