"""The first-order backward of plain eager code: the engine's loop once more, carrying arrays instead of Tensors.

A gradient that is not to be differentiated again needs no Tensor around it.  Nodes with a written-out `pull`
(fast/) compute on arrays, for 0-d tensors on NumPy's scalars, which are six times faster; all others get their
gradients as Tensors and run by the engine's own step.  engine.run says what a backward means; this is its fast lane.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from heapq import heappop, heappush
from typing import Any

import numpy as np

from ..arrays.devices import CPU, CUDA
from ..arrays.dtypes import F4
from ..arrays.errstate import restore
from ..arrays.halves import is_half, narrowed
from ..arrays.kinds import KINDS, as_array, on_device
from ..diagnose import nan
from ..errors import error
from . import hooks
from .edges import Leaf, Port, producer
from .frames import OFF, current, enter
from .node import passed_over
from .saved import Freed, Saved, unpack
from .tensor import Tensor, memory, wrap

UNWATCHED = nullcontext()


def sweep(pending: Any, roots: Any, grads: Any, keep: bool, step: Any, reach: Any, watch: Any = None) -> dict:
    """Push `grads` back from the edges `roots`, like engine.run, whose `step` and `reach` do what is out of the ordinary.

    `watch` is a recording, or None.  Its log gets a node, what has arrived there and what it gives on, as they are: so no
    array on its way back may ever be written.
    """
    outside, said = current(), nan.listening()
    enter(OFF)
    try:
        with pending, UNWATCHED if watch is None else watch.sweeping():
            found = walk(pending, roots, grads, keep, step, reach, watch)
        if pending.spoilers or nan.made.nan:
            nan.hint(pending.spoilers or {}, gradients(pending, found), pending.reaches())
        return found
    finally:
        enter(outside)
        restore(said)


def gradients(pending: Any, found: dict) -> list:
    """What a run has led to: shape and array of each gradient."""
    if pending.targets is None:
        tensors = [leaf._ref() for leaf in pending.reaches() if type(leaf) is Leaf]
        found = {t: t._grad for t in tensors if t is not None and t._grad is not None}
    return [(g._sizes, g._a) for g in found.values() if type(g) is Tensor]


def walk(pending: Any, roots: Any, grads: Any, keep: bool, step: Any, reach: Any, watch: Any) -> dict:
    """The loop: the youngest node's gradient goes through its pull, and on to its inputs."""
    note, end = (None, finish) if watch is None else (watch.log.append, watch.accumulating(finish))
    waiting: dict[Any, Any] = {}  # node -> its gradient, or a list of them where it has several outputs
    # older than what was computed from them, so their turn comes last; those that are roots or have hooks wait in the heap
    leaves: dict[Leaf, Any] = {}
    heap: list = []
    useful, targets, found = pending.useful, pending.targets, {}
    allowed = None if targets is None else useful | targets
    for edge, g in zip(roots, grads, strict=True):
        give(waiting, heap, edge, bare(g) if watch is None else stripped(g, watch))
    place = pending.place
    free = None if keep else Freed(place, -heap[0][0] if heap else 0)
    while heap:
        node = heappop(heap)[1]
        g = waiting.pop(node)
        if node._hooks is not None:
            g = hooked(node, g)
        if targets is not None:
            if node in targets:
                mine = kept(node, g, pending.wanted) if type(g) is list else {(node, 0): boxed(g)}
                found.update(mine)
                if watch is not None:
                    for (_, i), t in mine.items():
                        watch.note_same(g[i] if type(g) is list else g, t._a)
            if node not in useful:
                if note is not None:
                    note((node, g, None))
                continue
        elif type(node) is Leaf:
            end(node, g, reach, place)
            continue
        pairs = None
        if node.pull is not None and node._hooks is None and (note is None or node.places is not None):
            pairs = node.pull(g, free)  # None where arrays do not do
            if note is not None and pairs is not None:
                note((node, g, tuple([d for _, d in pairs])))
        if pairs is None:
            pairs = pull_aside(node, g, free, step, watch)
        for edge, g in pairs:
            if edge is None or g is None or allowed is not None and producer(edge) not in allowed:
                continue
            if type(edge) is Leaf and (edge in leaves or edge._hooks is None and edge not in waiting):
                leaves[edge] = leaves[edge] + g if edge in leaves else g
            elif edge in waiting:
                waiting[edge] = waiting[edge] + g
            elif type(edge) is Port:
                give(waiting, heap, edge, g)
            else:
                waiting[edge] = g
                heappush(heap, (-edge._seq, edge))
        pairs = None  # holds on to gradients that a leaf could else take as they are
    while leaves:
        leaf, g = leaves.popitem()
        g = g if leaf._hooks is None else hooked(leaf, g)
        if targets is None:
            end(leaf, g, reach, place)
            continue
        if note is not None:
            note((leaf, g, None))
        found[leaf, 0] = boxed(g)
        if watch is not None:
            watch.note_same(g, found[leaf, 0]._a)
    return found


nan.LOOPS.add(walk.__code__)


def pull_aside(node: Any, g: Any, free: Freed | None, step: Any, watch: Any) -> list:
    """The backward of a node that has none written out, or has hooks, or runs a user's method under a recording."""
    if watch is not None and node.pull is not None and node.places is None and node._hooks is None and type(g) in KINDS:
        return watch.pull(node, g, free)
    if node._hooks is None and node._fn.arrays:
        pairs = on_arrays(node, g, free)
        if pairs is not None:
            if watch is not None:
                watch.note_pairs(node, g, pairs)
            return pairs
    gs = [boxed(x) for x in g] if type(g) is list else [boxed(g)]
    if watch is not None:
        watch.note_boxed(node, g, gs)
    outs = step(node, gs, free, watch)
    pairs = [(e, bare(x) if watch is None else stripped(x, watch)) for e, x in zip(node._edges, outs, strict=True)]
    return pairs + passed_over(node, outs, gs)


def on_arrays(node: Any, g: Any, free: Freed | None) -> list | None:
    """One node's backward where the operation has one on arrays; None where it leaves that to its formulas on tensors."""
    fn, edges, gs = node._fn, node._edges, g if type(g) is list else (g,)
    if any([is_half(x) for x in gs]):
        return None
    bound = tuple([bare(unpack(s, node)) if type(s) is Saved else s for s in node._alive()])
    if fn.arrays is True:
        outs = [None if e is None else fn.evaluate(i, bound, len(edges), gs) for i, e in enumerate(edges)]
    else:
        outs = fn.arrays(gs, bound)
        if outs is None:
            return None
    if free is not None:
        node._free(free)
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
    out = (narrowed(np.add.reduce(g, axes, F4), g.dtype) if is_half(g) else np.add.reduce(g, axes)) if axes else g
    return out if out.shape == shape else np.reshape(out, shape)


def broadcast_axes(large: Sequence, small: Sequence) -> tuple:
    """The dimensions of `large` along which a tensor of shape `small` is repeated to fill it."""
    lead = len(large) - len(small)
    return (*range(lead), *[i + lead for i, n in enumerate(small) if n == 1 and large[i + lead] != 1])


def give(waiting: dict, heap: list, edge: Any, g: Any) -> None:
    """Add g to what the edge has got so far; one output of several waits in its node's list."""
    node = edge
    if type(edge) is Port:
        node, i = edge.node, edge.index
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


def bare(t: Tensor | None) -> Any:
    """A Tensor's array; of a 0-d one NumPy's scalar."""
    return None if t is None else t._a if t._a.ndim or on_device(t._a) else t._a[()]


def stripped(t: Tensor | None, watch: Any) -> Any:
    """The same, of which a recording learns that it is the tensor's."""
    g = bare(t)
    if t is not None and g is not t._a:
        watch.note_same(t._a, g)
    return g


def boxed(g: Any) -> Tensor | None:
    """The Tensor of an array or scalar."""
    return None if g is None else wrap(as_array(g))


def hooked(node: Any, g: Any) -> Any:
    """A node's gradients after its tensor hooks."""
    if type(g) is list:
        return [bare(x) for x in hooks.before(node, [boxed(x) for x in g])]
    before = boxed(g)
    after = hooks.before(node, [before])[0]
    return g if after is before else bare(after)


def kept(node: Any, gs: list, wanted: set) -> dict:
    """The gradients at a node of several outputs that were asked for."""
    return {(node, i): boxed(x) for i, x in enumerate(gs) if x is not None and (node, i) in wanted}


def on_another_device(g: Any, a: Any) -> Exception:
    """The error for a gradient that has come from the wrong place: from a backward or a hook of the user's."""
    there, own = (CUDA if on_device(x) else CPU for x in (g, a))
    return error(
        RuntimeError,
        "backward",
        f"the gradient of a leaf of shape {a.shape} on {own} has come on {there}",
        "let the backward of your Function return tensors on the device of its inputs, as grad_output.new_zeros(...) makes",
    )


def finish(leaf: Leaf, g: Any, reach: Any, place: Any) -> None:
    """Accumulate into a leaf's `.grad`, in memory of its own: nobody else may hold what a user may change."""
    t = leaf._ref()
    if leaf._hooks is not None or t is None or t._edge is not leaf:
        reach(leaf, [boxed(g)])
    elif len(KINDS) > 1 and on_device(g) != on_device(t._a):
        raise on_another_device(g, t._a)
    elif t._grad is None:
        alone = type(g) in KINDS and g.base is None and sys.getrefcount(g) <= 3 and g.strides == t._a.strides
        t._grad = wrap(g if alone else laid_out(g, t._a))
    elif t._grad._edge is None and t._grad._layer is None:
        t._grad._a += g
        memory(t._grad).bump("backward", place)
    else:
        reach(leaf, [boxed(g)])


def laid_out(g: Any, like: np.ndarray) -> np.ndarray:
    """A copy of a gradient that lies in memory as its leaf does."""
    if type(g) in KINDS and g.strides == like.strides:
        return g.copy("K")
    out = np.empty_like(like)
    out[...] = g
    return out
