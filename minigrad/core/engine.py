"""Reverse mode: pop the youngest node, run its backward, add what it gives to its inputs.

Every input is older than its output, so a heap by descending creation number is a topological order: no recursion and no
counting, and a chain of a million nodes needs no more stack than one.  Gradients travel as Tensors; the formulas that
they pass through are the operations themselves, which makes derivatives of any order one mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from heapq import heappop, heappush
from typing import Any

from ..arrays import kinds
from ..arrays.dtypes import FLOATS
from ..config import GENERIC
from ..diagnose import debug, detached, gradient_checks, nan
from ..diagnose.debug import fingerprint
from ..diagnose.user_methods import call_user, counted, running_method
from ..errors import error
from ..places import Place, user_place
from . import hooks
from .edges import Leaf, Port, key, name_of, producer
from .frames import OFF, ON, current, running, use
from .node import Ctx, anomaly, passed_over, place_of_gradients
from .saved import Freed, Saved
from .sweep import bare, boxed, broadcast_axes, gradients, on_another_device, sweep
from .tensor import Tensor, bottom, history, version, wrap


class Pending:
    """The gradients that wait at each node, and the heap that says which node is next.  It is `running` while entered."""

    __slots__ = ("__weakref__", "grads", "heap", "place", "roots", "spoilers", "targets", "token", "useful", "wanted")

    def __init__(self, roots: Sequence, wanted: set | None, place: Place | None):
        self.grads: dict[Any, list] = {}
        self.heap: list = []
        self.roots, self.wanted, self.place = roots, wanted, place
        self.spoilers: dict | None = None  # the nodes that made the first infinity and the first NaN (invalid.py)
        self.targets = None if wanted is None else {node for node, _ in wanted}
        self.useful = None if wanted is None else on_paths(roots, wanted, self.targets)

    def __enter__(self) -> None:
        self.token = running.set(self)

    def __exit__(self, *_: object) -> None:
        running.reset(self.token)

    def reaches(self) -> set:
        """All nodes that get a gradient in this run."""
        if self.useful is None:
            nodes, leaves = behind(self.roots)
            return nodes | leaves
        return self.useful | self.targets

    def give(self, edge: Any, g: Any) -> None:
        """Add g to what the edge has got so far."""
        node, i = (edge.node, edge.index) if type(edge) is Port else (edge, 0)
        slots = self.grads.get(node)
        if slots is None:
            slots = self.grads[node] = [None] * len(node._meta)
            heappush(self.heap, (-node._seq, id(node), node))
        slots[i] = g if slots[i] is None else slots[i] + g

    def give_all(self, pairs: Iterable) -> None:
        """The same for pairs of edge and gradient, as far as the edges lead to something wanted."""
        useful, wanted = self.useful, self.wanted
        for edge, g in pairs:
            if (
                edge is not None
                and g is not None
                and (useful is None or producer(edge) in useful or key(edge) in wanted)
            ):
                self.give(edge, g)

    def take(self) -> tuple:
        """The youngest node and its gradients."""
        node = heappop(self.heap)[2]
        return node, self.grads.pop(node)


def run(
    roots: Sequence,
    grads: Sequence,
    wanted: set | None = None,
    keep: bool = False,
    create: bool = False,
    place: Place | None = None,
) -> dict:
    """Push `grads` back from the edges `roots`.

    Without `wanted` every leaf that is reached accumulates into its `.grad`.  With it, nothing is accumulated and the
    gradients at the wanted edges are returned, {edge key: gradient}; only nodes on a path to one of them run.  `place` is
    the user's line, where that is known already.
    """
    here = current()
    pending = Pending(roots, wanted, place or user_place())
    plain = here is ON or here is OFF
    watch, found = None if plain else watcher(here), {}
    end = reach if watch is None else watch.accumulating(reach)
    on_arrays = (plain or watch is not None and watch.lies_on_plain(here)) and not create and not GENERIC
    if on_arrays and all([type(g) is Tensor for g in grads]):
        return sweep(pending, roots, grads, keep, step, reach, watch)
    with (
        nullcontext() if watch is None else watch.running(),
        pending,
        use(here.but(grad=True) if create else here.all_grad(False)),
    ):
        push(pending, roots, grads, keep, watch, found, end)
    if pending.spoilers or nan.made.nan:
        nan.hint(pending.spoilers or {}, gradients(pending, found), pending.reaches())
    return found


def push(
    pending: Pending,
    roots: Sequence,
    grads: Sequence,
    keep: bool,
    watch: Any,
    found: dict,
    end: Any,
) -> None:
    """The loop: the youngest node's gradients go through its backward, and on to its inputs; `found` gets what is wanted."""
    wanted, useful = pending.wanted, pending.useful
    for edge, g in zip(roots, grads, strict=True):
        pending.give(edge, g)
    free = None if keep else Freed(pending.place, -pending.heap[0][0] if pending.heap else 0)
    while pending.heap:
        node, gs = pending.take()
        if node._hooks is not None:
            gs = hooks.before(node, gs)
        if watch is not None and (type(node) is not Leaf or wanted is not None):
            watch.note_arrived(node, gs)
        if wanted is not None:
            found.update({(node, i): g for i, g in enumerate(gs) if (node, i) in wanted and g is not None})
        if type(node) is Leaf:
            if wanted is None and gs[0] is not None:
                end(node, gs)
        elif useful is None or node in useful:
            outs = step(node, gs, free, watch)
            pairs: Any = zip(node._edges, outs, strict=True)
            if isinstance(node, Ctx):
                pairs = [*pairs, *[(edge, wrap(z)) for edge, z in passed_over(node, outs, gs)]]
            if watch is None:
                pending.give_all(pairs)
            else:
                with watch.backward_of(node):  # a sum of gradients belongs to the rule that gave the last of them
                    pending.give_all(pairs)


nan.LOOPS.add(push.__code__)


def step(node: Any, gs: list, free: Freed | None, watch: Any) -> tuple:
    """One node's backward with its hooks, and the memory of what it saved given up."""
    if node._hooks is not None:
        gs = hooks.pre(node, gs)
    if watch is None:
        outs = pull(node, gs)
    else:
        with watch.backward_of(node):
            outs = pull(node, gs)
        watch.note_edges(node, gs, outs)
    if node._hooks is not None:
        outs = hooks.post(node, outs, gs)
    if free is not None:
        node._free(free)
    return outs


def watcher(frame: Any) -> Any:
    """The recording, if there is one, that wants to know what flows along each edge."""
    while frame is not None:
        if hasattr(frame.layer, "note_edges"):
            return frame.layer
        frame = frame.parent
    return None


def pull(node: Any, gs: list) -> tuple:
    """One node's vector-Jacobian product, each gradient in the shape and dtype of its input."""
    before = [0 if g is None else version(g) for g in gs]
    watched = node._trace is not None and debug.mode.on
    marks = [fingerprint(bottom(g)._a) if g is not None else 0 for g in gs] if watched else ()
    try:
        outs = pull_custom(node, gs) if isinstance(node, Ctx) else node._fn.backward(node, *gs)
    except Exception as e:
        if node._trace is not None:
            e.add_note(f"The forward call that this backward belongs to ({type(node).__name__}) was at {node._trace}")
        raise
    for i, (g, n) in enumerate(zip(gs, before)):
        if g is not None and version(g) != n:
            raise gradient_checks.written(node, i, g)
    for i, (g, mark) in enumerate(zip(gs, marks)):
        if g is not None and fingerprint(bottom(g)._a) != mark:
            raise gradient_checks.written(node, i, g)
    fitted = tuple(
        [o if o is None or e is None else fit(o, e, node, i) for i, (o, e) in enumerate(zip(outs, node._edges))]
    )
    if isinstance(node, Ctx) and current().grad:
        gradient_checks.look_at_history(node, gs, fitted)
    if node._trace is not None and anomaly.nan:
        nan.check_nan(node, fitted)
    return fitted


def called(node: Any, grads: tuple) -> Any:
    """Return what a node that the user calls makes of the gradients of its outputs."""
    names = [type(g).__name__ for g in grads if g is not None and not isinstance(g, Tensor)]
    if names or len(grads) != len(node._meta):
        raise error(
            TypeError,
            name_of(node),
            f"is called with {f'a {names[0]}' if names else counted(len(grads), 'gradient')}, and takes {len(node._meta)}, "
            "a tensor or None for each of its outputs",
            f"pass tensors of the shapes {', '.join([str(m and m[0]) for m in node._meta])}",
        )
    if all(g is None for g in grads):
        outs: Any = (None,) * len(node._edges)
    elif type(node) is Leaf:
        accumulate(node, grads[0])
        return ()
    else:
        outs = node._fn.backward(node, *grads)
    pairs = [(outs[i], node._edges[i]) for i in node.tensor_inputs()]
    found = [o if o is None or e is None else o.to(e._dtype) for o, e in pairs]
    return found[0] if len(found) == 1 else tuple(found)


def pull_custom(node: Ctx, gs: list) -> tuple:
    """A user's backward, with zeros in place of missing gradients if it wants them, and its result checked."""
    if node._materialize and (len(gs) > 1 or gs[0] is None):
        near = place_of_gradients(gs)
        gs = [zeros(m, near) if g is None and m is not None else g for g, m in zip(gs, node._meta, strict=True)]
    for check in node._checks:
        check()
    outs = call_user(node._fn, "backward", node, *gs)
    if outs is None:
        gradient_checks.nothing(node)
    outs = tuple(outs) if isinstance(outs, (tuple, list)) else (outs,)
    n = len(node._edges)
    for s in node._saved:
        if type(s) is Saved and s.unpack is None and (v := s.tensor._ver) is not None and v.n != s.version:
            gradient_checks.check_private(node, s)
    if len(outs) < n or len(outs) > n and any(o is not None for o in outs[n:]):
        raise gradient_checks.wrong_number(node, outs)
    for i, o in enumerate(outs[:n]):
        if o is not None and (node._given[i] is None or not isinstance(o, Tensor)):
            raise gradient_checks.not_a_gradient(node, o, i)
    if debug.mode.on:
        gradient_checks.exchanged(node, gs, outs)
    if node._fn._unread is not False:
        gradient_checks.unused(node, gs, outs)
    return outs[:n]


def pull_user(node: Ctx, g: Any, free: Any) -> list:
    """A user's node in the sweep: pairs of edge and gradient."""
    gs = [boxed(x) for x in g] if type(g) is list else [boxed(g)]
    if node._trace is not None:  # made while anomalies were looked for
        outs = step(node, gs, free, None)
        return [(e, bare(o)) for e, o in zip(node._edges, outs)] + passed_over(node, outs, gs)
    outs, pairs = pull_custom(node, gs), []
    for i, t in enumerate(gs):
        if t is not None and t._ver is not None and t._ver.n:
            raise gradient_checks.written(node, i, t)
    if free is not None:
        node._free(free)
    for i, (o, e) in enumerate(zip(outs, node._edges)):
        if o is not None and e is not None:
            pairs.append((e, bare(fit(o, e, node, i))))
    return pairs if len(pairs) == len(outs) else pairs + passed_over(node, outs, gs)


Ctx.pull = pull_user


def fit(g: Tensor, edge: Any, node: Any, i: int) -> Tensor:
    """A gradient in its input's shape (a broadcast one is summed down to it) and dtype."""
    shape, dtype = edge._shape, edge._dtype
    if type(g) is Tensor and g._a.shape == shape and g._a.dtype == dtype:
        return g
    if g._sizes != shape:
        g = fit_shape(g, node, i, [None if e is None else e._shape for e in node._edges])
    if g._np_dtype == dtype:
        return g
    if g._np_dtype not in FLOATS:
        gradient_checks.no_float(node, i, g, dtype)
    return g.to(dtype)


def fit_shape(g: Tensor, node: Any, i: int, shapes: Sequence) -> Tensor:
    """The gradient of input i in its input's shape; `shapes` has those of all inputs."""
    if not broadcastable(shapes[i], g._sizes):
        raise gradient_checks.wrong_shape(node, i, g._sizes, shapes)
    return sum_to(g, shapes[i])


def sum_to(g: Tensor, shape: tuple) -> Tensor:
    """g summed over the dimensions along which a tensor of `shape` was broadcast."""
    sizes = g._sizes
    if sizes == tuple(shape):
        return g
    dims = broadcast_axes(sizes, shape)
    if any([sizes[d] != 1 for d in dims]):
        g = g.sum(dims, len(sizes) - len(shape) != len(dims))
    return g if g._sizes == tuple(shape) else g.reshape(shape)


def broadcastable(small: tuple, large: tuple) -> bool:
    """Whether a tensor of shape `small` is broadcast to `large` when the two meet."""
    lead = len(large) - len(small)
    return lead >= 0 and all(n in (1, m) for n, m in zip(small, large[lead:], strict=True))


def zeros(spec: tuple, near: Any) -> Tensor:
    """A gradient of nothing, of that shape and dtype, where another one is."""
    return wrap(kinds.zeros(spec[0], near, spec[1]))


def reach(leaf: Leaf, gs: list) -> None:
    """The end of an edge: accumulate, with the hooks that a user has put on the leaf as a node."""
    if leaf._hooks is None:
        return accumulate(leaf, gs[0])
    gs = hooks.pre(leaf, gs)
    accumulate(leaf, gs[0])
    hooks.post(leaf, (), gs)


def accumulate(leaf: Leaf, g: Tensor) -> None:
    """Add to a leaf's `.grad`, in memory of its own: nobody else may hold what a user may change."""
    t = leaf._ref()
    if t is None or t._edge is not leaf:  # gone, or no longer wants a gradient
        return
    add_grad(t, g)
    if leaf._hooks is not None and leaf._hooks.accumulated:
        hooks.accumulated(leaf, t)


def add_grad(t: Tensor, g: Tensor) -> None:
    """t.grad += g; out of place where the sum has to be differentiable itself."""
    if len(kinds.KINDS) > 1 and g.device != t.device:
        raise on_another_device(bottom(g)._a, bottom(t)._a)
    if t._grad is None:
        t._grad = g.clone()
    elif current().grad or t._grad._layer is not None or g._layer is not None:
        t._grad = t._grad + g
    else:
        t._grad.add_(g)


def behind(roots: Sequence) -> tuple[set, set]:
    """All computed nodes behind the edges `roots`, and all leaves."""
    nodes: set = set()
    leaves: set = set()
    stack = list(roots)
    while stack:
        edge = stack.pop()
        node = edge.node if type(edge) is Port else edge
        if type(node) is Leaf:
            leaves.add(node)
        elif node is not None and node not in nodes:
            nodes.add(node)
            stack += node._edges
    return nodes, leaves


def on_paths(roots: Sequence, wanted: set, targets: set) -> set:
    """The nodes from which a wanted edge, at one of the targets, can be reached, so that nothing else has to run."""
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


def edge_or_none(t: Any, what: str, i: int) -> Any:
    """The edge of a tensor or GradientEdge; None for a tensor that does not require grad."""
    if isinstance(t, Tensor):
        return history(t)
    if not hasattr(t, "edge"):
        raise error(
            RuntimeError,
            what,
            f"all inputs and outputs have to be tensors or GradientEdges, but got {type(t).__name__} at position {i}",
            "pass the tensors themselves",
        )
    return t.edge()


def edge_of(t: Any, what: str, i: int) -> Any:
    """The edge of a tensor (or GradientEdge) that is to be differentiated."""
    edge = edge_or_none(t, what, i)
    if edge is None and (end := detached.end_of(t)) is not None:
        raise error(
            RuntimeError,
            what,
            f"element {i} of tensors does not require grad and does not have a grad_fn: {end.name} {end.why}",
            end.fix,
            end.place,
            notes=[f"{what} was called at {place}"] if (place := user_place()) else [],
        )
    if edge is None:
        said, fix = f"element {i} of tensors does not require grad and does not have a grad_fn", ""
        if (method := running_method()) and not current().grad:
            said += f"; inside {method} gradients are off"
            fix = "compute it inside `with minigrad.enable_grad():`, from x = x.detach().requires_grad_()"
        raise error(
            RuntimeError,
            what,
            said,
            fix
            or "set requires_grad=True on an input before computing, and do not compute under no_grad(); if it is a gradient, "
            "or was computed from one, pass create_graph=True where that was computed",
        )
    return edge
