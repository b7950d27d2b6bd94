"""Run one node's backward, on arrays or tensors, and fill the leaves.  Gradients get their input's shape and dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..arrays import halves, kinds
from ..arrays.dtypes import FLOATS, is_half
from ..arrays.kinds import KINDS, Array, as_array, on_device
from ..arrays.memory import broadcast_axes, copied_like, sum_down
from ..events import services
from .context import Ctx
from .frames import current
from .graph import Edge, Leaf, Node, output_index, producer
from .inplace import writable
from .saved import Freed, Saved, memory, next_number, plain_tensor, unpack
from .tensor import Gradient, Tensor, wrap

if TYPE_CHECKING:
    from .engine import BackwardRun


# ---------------------------------------------------------------------- one node
def step_on_tensors(node: Node, g: Gradient | list, this: BackwardRun) -> list:
    """Run one node's backward with its hooks, and free its saved tensors."""
    gs = g if type(g) is list else [g]
    if node._hooks is not None:
        gs = node._hooks.incoming(node, gs)
    outs = this.pull(node, gs)
    if node._hooks is not None:
        outs = node._hooks.outgoing(node, outs, gs)
    if this.freed is not None:
        node._free(this.freed)
    pairs = list(zip(node._edges, outs, strict=True))
    for e, o in pairs:
        if o is None and e is not None and isinstance(node, Ctx):
            return pairs + missing_gradients(node, outs, gs)
    return pairs


def step_on_arrays(node: Node, g: Gradient | list, this: BackwardRun) -> list:
    """Run one node's backward on arrays, by its written-out form or its formulas; otherwise on Tensors around them."""
    by_formulas = node._hooks is None and node._fn.arrays and node.backward_on_arrays is None
    if by_formulas and (pairs := formulas_on_arrays(node, g, this.freed)) is not None:
        return pairs
    gs = [to_tensor(x) for x in g] if type(g) is list else [to_tensor(g)]
    return [(e, to_array(x)) for e, x in step_on_tensors(node, gs, this)]


def formulas_on_arrays(node: Node, g: Gradient | list, freed: Freed | None) -> list | None:
    """Run a built-in operation's formulas on arrays; return None if only Tensors will do."""
    edges, gs, bound = node._edges, g if type(g) is list else (g,), []
    if any(map(is_half, gs)):
        return None
    for s in node._alive():
        if type(s) is Saved:
            if s.unpack is not None:
                return None  # a hook unpacks once, and the formulas may still ask for Tensors
            s = saved_array(s, node)
        bound.append(s)
    outs = node._fn.gradients_on_arrays(edges, tuple(gs), tuple(bound))
    if outs is None:
        return None
    if freed is not None:
        node._free(freed)
    return [(e, None if e is None or d is None else fit_array(d, e)) for e, d in zip(edges, outs)]


def saved_array(saved: Saved, node: Node) -> Any:
    """Return the array of a saved tensor, as `unpack` would, without wrapping it in a tensor where none is needed."""
    if saved.unpack is None and (t := saved.tensor)._layer is None and (t._ver is None or t._ver.n == saved.version):
        return to_array(t)
    return to_array(unpack(saved, node))


def vjp(node: Node, gs: list) -> tuple:
    """Return one node's vector-Jacobian product, each gradient with the shape and dtype of its input."""
    begun = next_number()
    try:
        outs = pull_user(node, gs) if isinstance(node, Ctx) else node._fn.backward(node, *gs)
    except Exception as e:
        if node._trace is not None:
            e.add_note(f"The forward call of this backward ({type(node).__name__}) is at {node._trace}")
        raise
    for i, g in enumerate(gs):
        if g is not None and (g._ver is not None or g._layer is not None) and memory(g).at > begun:
            raise services.problem("backward modifies a gradient in place", node=node, i=i, g=g)
    edges = node._edges
    outs = tuple([o if o is None or e is None else fit(o, e, node, i) for i, (o, e) in enumerate(zip(outs, edges))])
    for observer in current().observers:
        observer.flowed(node, outs)
    return outs


def pull_user(node: Ctx, gs: list) -> tuple:
    """Call a user's backward, with zeros for missing gradients if it asks for them, and check its result."""
    if node._materialize and (len(gs) > 1 or gs[0] is None):
        near = next((plain_tensor(g)._a for g in gs if g is not None), None)
        gs = [wrap(kinds.zeros(m[0], near, m[1])) if g is None and m is not None else g for g, m in zip(gs, node._meta)]
    outs = services.call_method(node._fn, "backward", node, *gs)
    outs = tuple(outs) if isinstance(outs, (tuple, list)) else (outs,)
    if len(outs) != (n := len(node._edges)):
        if len(outs) < n or any([o is not None for o in outs[n:]]):
            raise services.problem("backward returns one gradient per argument", node=node, outs=outs)
        outs = outs[:n]
    for i, o in enumerate(outs):
        if o is not None and (node._given[i] is None or not isinstance(o, Tensor)):
            raise services.problem("backward returns tensors and None", node=node, o=o, i=i)
    return outs


def missing_gradients(node: Ctx, grads: Sequence, gs: list) -> list:
    """Return edges and zeros for the users' Functions behind a None that a user's backward returned.

    PyTorch still calls the backward of these Functions, with zeros; built-in operations between them pass the None on.
    """
    edges = [e for g, e in zip(grads, node._edges) if g is None and e is not None]
    near = next((plain_tensor(g)._a for g in gs if g is not None), None)
    found, seen = [], set()
    while edges:
        edge = edges.pop()
        behind = producer(edge)
        if not isinstance(behind, Ctx):
            edges += [] if behind in seen else [e for e in behind._edges if e is not None]
        elif behind._materialize and behind not in seen:
            shape, dtype = behind._meta[output_index(edge)]
            found.append((edge, wrap(kinds.zeros(shape, near, dtype))))
        seen.add(behind)
    return found


# ---------------------------------------------------------------------- the shape and dtype of a gradient
def fit(g: Tensor, edge: Edge, node: Node, i: int) -> Tensor:
    """Return a gradient with its input's dtype and shape (summed over the dimensions along which the input was broadcast)."""
    shape, dtype = edge._shape, edge._dtype
    if type(g) is Tensor and g._a.shape == shape and g._a.dtype == dtype:
        return g
    if g._sizes != shape:
        g = fit_shape(g, node, i, [None if e is None else e._shape for e in node._edges])
    if g._np_dtype == dtype:
        return g
    if g._np_dtype not in FLOATS:
        services.notice("gradient for an integer tensor", node=node, i=i, g=g, dtype=dtype)
    return g.to(dtype)


def fit_shape(g: Tensor, node: Node, i: int, shapes: Sequence) -> Tensor:
    """Return the gradient of input i with that input's shape; `shapes` has the shapes of all inputs."""
    sizes, shape = g._sizes, tuple(shapes[i])
    lead = len(sizes) - len(shape)
    if lead < 0 or not all(n in (1, m) for n, m in zip(shape, sizes[lead:], strict=True)):
        raise services.problem("a gradient has its input's shape", node=node, i=i, got=sizes, shapes=shapes)
    return sum_to(g, shape)


def sum_to(g: Tensor, shape: tuple) -> Tensor:
    """Return g summed over the dimensions along which a tensor of `shape` was broadcast."""
    sizes = g._sizes
    if sizes == tuple(shape):
        return g
    dims = broadcast_axes(sizes, shape)
    if any([sizes[d] != 1 for d in dims]):
        g = g.sum(dims, len(sizes) - len(shape) != len(dims))
    return g if g._sizes == tuple(shape) else g.reshape(shape)


def fit_array(d: Array, edge: Edge) -> Any:
    """Do the same as `fit` with an array."""
    if d.shape != edge._shape:
        d = sum_down(d, edge._shape)
    return d if d.dtype == edge._dtype else halves.cast(d, edge._dtype)


def to_array(t: Tensor | None) -> Any:
    """Return a Tensor's array; for a 0-d one NumPy's scalar, which computes six times faster."""
    return None if t is None else t._a if t._a.ndim or len(KINDS) > 1 and on_device(t._a) else t._a[()]


def to_tensor(g: object) -> Any:
    """Return an array or scalar wrapped in a Tensor."""
    return g if g is None or isinstance(g, Tensor) else wrap(as_array(g))


# ---------------------------------------------------------------------- leaves
def accumulate(leaf: Leaf, g: Gradient, this: BackwardRun | None = None) -> None:
    """Add to a leaf's `.grad`, in its own memory (the user may modify it, so no other code may hold it), and call the hooks."""
    (grad,) = [to_tensor(g)] if leaf._hooks is None else leaf._hooks.incoming(leaf, [to_tensor(g)])
    t = leaf._ref()
    # else it is gone, or no longer requires grad; a replaced leaf is the one of a shape or dtype that t had before
    if t is not None and (t._edge is leaf or leaf._replaced and type(t._edge) is Leaf):
        add_grad(t, grad)
        if leaf._hooks is not None:
            leaf._hooks.accumulated(t)
    if leaf._hooks is not None:
        leaf._hooks.outgoing(leaf, (), [grad])


def add_grad(t: Tensor, g: Tensor) -> None:
    """Add g to `t.grad`; out of place if the sum must be differentiable.  Without dimensions, g moves to the device of t."""
    if len(KINDS) > 1 and g.device != t.device and (g := g if g.ndim else g.to(t.device)).ndim:
        raise services.problem("a gradient is on its leaf's device", t=t, g=g)
    if (before := t.grad) is None:
        t._grad = g.clone()
    elif current().grad or before._layer is not g._layer:
        t._grad = before + g
    else:
        try:
            memory(before.add_(g)).writer = "backward"
        except RuntimeError as e:
            e.add_note("This tensor is the .grad into which backward accumulates; set x.grad = None to get a new one.")
            raise


def accumulate_array(leaf: Leaf, g: Array, this: BackwardRun) -> None:
    """Do the same as `accumulate` with an array; the leaf takes the array itself if the run made it for this leaf alone."""
    t, hooks = leaf._ref(), leaf._hooks
    moved = len(KINDS) > 1 and t is not None and on_device(g) != on_device(t._a)
    seen = hooks is not None and (hooks.before or hooks.after)  # hooks take Tensors
    other = t is not None and t._grad is not None and (t._grad._a.shape != g.shape or not writable(t._grad))
    if seen or t is None or t._edge is not leaf or moved or other:
        return accumulate(leaf, g, this)
    if t._grad is None:
        owned = leaf in this.owned and hooks is None and type(g) in KINDS and g.base is None
        t._grad = wrap(g if owned and g.strides == t._a.strides else copied_like(g, t._a))
    else:
        t._grad._a += g
        memory(t._grad).bump("backward", this.place)
    if hooks is not None:
        hooks.accumulated(t)
