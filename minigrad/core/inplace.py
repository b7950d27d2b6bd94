"""Views and in-place writes: several tensors share one memory, and the history of each stays correct.

A write happens once, at the bottom, where the memory is.  On the way up each layer renews the histories of its tensors.
The operation becomes the history of the written tensor.  If that tensor is a view, the history of each parent becomes "itself
with that region replaced" (the view's `scatter`).  Other views of the same base update theirs when next asked (graph.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..arrays.dtypes import FLOATS
from ..arrays.kinds import KINDS
from ..arrays.memory import order_in_memory
from ..events import events, intercept, services, unheard
from .frames import EAGER, Frame, Layer, current
from .graph import NO_GRAD, Leaf, ViewOf, history, move_retained
from .saved import INFERENCE, memory, plain_tensor, version
from .tensor import Box, Tensor, edges_of, wrap

if TYPE_CHECKING:
    from ..ops.base.primitive import Primitive


def link_view(frame: Frame, fn: type[Primitive], args: tuple, out: Tensor) -> None:
    """Record that `out` is the view `fn(*args)` of args[0]: out shares its version counter, and out's history follows."""
    parent = args[0]
    if type(out) is Tensor:
        out._ver = memory(parent)
    fixed = None if frame.grad else NO_GRAD
    out._view = ViewOf(parent, fn, args[1:], None if fixed else history(parent), version(parent), fixed)


def alias_with_history(t: Tensor) -> Tensor:
    """Return another tensor object with the same memory and history: the 'before' of a write."""
    out = Box(t._layer, t._value, t._extra) if type(t) is Box else wrap(t._a)
    out._edge, out._ver, out._tan = history(t), t._ver, t._tan
    return out


def inplace(fn: type[Primitive], x: Tensor, *others: object) -> Tensor:
    """Write fn(x, *others) into x's memory; x gets a new history at every layer.

    Raises RuntimeError for a leaf that requires grad, for expanded views and for tensors that a transform merely captured.
    """
    frame = current()
    if intercept.dual_level_of is unheard is events.writes and services.write(frame, fn, x, others):
        return x
    return inplace_at(frame, fn, x, others)


def inplace_at(frame: Frame, fn: type[Primitive], x: Tensor, others: tuple) -> Tensor:
    """Do the same as `inplace`, from a given frame outwards."""
    args = (x, *others)
    while frame.layer is not EAGER:
        if frame.layer.handles(fn, args):
            return frame.layer.inplace(frame, fn, x, others)
        frame = frame.parent  # type: ignore[assignment]
    if intercept.dual_level_of is not unheard and (level := intercept.dual_level_of(args)) is not None:
        return level.here(inplace_at, frame, fn, x, others)

    events.writes(x)

    def copy(before: Tensor) -> None:
        before._a, before._ver = x._a.copy(), None
        before._tan = None if frame.dual is None else frame.dual.copy(frame, x)

    return write(None, frame, fn, x, others, copy, lambda others: write_array(frame, fn, x, others))


def write(
    layer: Layer | None, frame: Frame, fn: type[Primitive], x: Tensor, others: tuple, copy: Callable, lower: Callable
) -> Tensor:
    """Write into x as `layer` sees it, and renew the histories there; `lower` writes one layer down.

    `copy` gives the 'before' of x its own value, if backward needs the value that is about to be overwritten.  `lower` may
    return the other operands as the history should have them.
    """
    tracked = frame.grad and fn.differentiable and any([e is not None for e in edges_of((x, *others), layer)])
    check_writable(frame, fn, x, tracked)
    before = alias_with_history(x)
    if tracked:
        others = tuple([a.clone() if isinstance(a, Tensor) and shares(a, x) else a for a in others])
        if 0 in fn.keeps:
            copy(before)
        services.notice("tracked write", fn=fn, before=before, others=others)
    others = lower(others) or others
    if tracked:
        fn.record(layer, (before, *others), x)
        if frame.dual is not None:
            frame.dual.follow(x)
        move_retained(before._edge, x._edge)
        rebase(layer, x)
    return x


def write_array(frame: Frame, fn: type[Primitive], x: Tensor, others: tuple) -> None:
    """Compute on arrays, check the result, and write it."""
    arrays = [a._a if isinstance(a, Tensor) else a for a in others]
    if overlaps(x):
        raise services.problem("several elements share one place in memory", fn=fn, x=x)
    if type(x._a) is np.ndarray and not x._a.flags.writeable:
        raise services.problem("the memory is read-only", fn=fn, x=x)
    if len(KINDS) > 1:
        fn.check_devices((x, *others))
    result = fn.compute(x._a, *arrays) if fn.update is None else None
    if result is not None:
        check_result(fn, x, result)
    if frame.dual is not None:
        frame.dual.write(frame, fn, x, others)
    if result is not None:
        np.copyto(x._a, result, casting="unsafe")
    else:  # fn.update writes only the elements that change
        fn.compute(x._a, *arrays, into=fn.update)
    memory(x).bump(fn.function_name() + "_")


def shares(a: Tensor, x: Tensor) -> bool:
    """Return True if a write to x would change a, which the operation may have to save."""
    p, q = plain_tensor(a), plain_tensor(x)
    if p is q or p._ver is not None and p._ver is q._ver:  # also true for empty tensors
        return True
    return np.may_share_memory(p._a, q._a)


def check_writable(frame: Frame, fn: type[Primitive], x: Tensor, tracked: bool) -> None:
    """Raise if the write would make gradients wrong."""
    if x._ver is INFERENCE and not frame.inference:
        raise services.problem("inference tensors cannot be modified outside of inference_mode", fn=fn, x=x)
    root, leaf = x, type(history(x)) is Leaf
    while root._view is not None:
        if root._view.fixed is not None and (tracked or frame.grad and history(root._view.parent) is not None):
            raise services.problem("this view cannot be modified in place", fn=fn, x=root)
        root = root._view.parent
        leaf = leaf or type(history(root)) is Leaf
    if tracked and leaf:
        raise services.problem("a leaf that requires grad is modified in place", fn=fn, x=x, root=root)


def overlaps(t: Tensor) -> bool:
    """Return True if several elements share one place in memory, as after expand."""
    return all(t.shape) and any([s == 0 and n > 1 for s, n in zip(layout_of_example(t).strides, t.shape)])


def writable(t: Tensor) -> bool:
    """Return True if a write needs no checks: t is plain, has no history, and its elements do not overlap."""
    return t._edge is None and t._layer is None and t._ver is not INFERENCE and 0 not in t._a.strides


def check_result(fn: type[Primitive], x: Tensor, result: np.ndarray) -> None:
    """Raise if a result does not fit into x in shape or kind of dtype."""
    floats = result.dtype in FLOATS and x._a.dtype not in FLOATS
    if result.shape != x._a.shape or floats or x._a.dtype.kind == "b" and result.dtype.kind != "b":
        raise services.problem("the result does not fit into the tensor", fn=fn, x=x, result=result)


def rebase(layer: Layer | None, x: Tensor) -> None:
    """Give each parent of a modified view a new history: itself with that region replaced.

    The views (an expanded parent counts as one) derive their histories from their parents again when next asked.
    """
    while x._view is not None:
        parent, views = x, []
        while (view := parent._view) is not None and (not views or overlaps(parent)):
            views, parent = [(parent, view), *views], view.parent
        before, region = alias_with_history(parent), tuple([(view.fn, view.args) for _, view in views])
        region[-1][0].scatter.record(layer, (before, x, region, order_in_memory(layout_of_example(parent))), parent)
        move_retained(before._edge, parent._edge)
        for t, view in views:
            t._view = ViewOf(view.parent, view.fn, view.args, seen=None, version=-1)
        x = parent


def layout_of_example(t: Tensor) -> np.ndarray:
    """Return an array with t's memory layout; under vmap, the layout of a single example."""
    if type(t) is not Box:
        return t._a
    a = layout_of_example(t._value)
    if t.ndim == t._value.ndim:
        return a
    at = (slice(None),) * t._extra
    return a[(*at, 0)] if a.shape[t._extra] else np.empty(t.shape, a.dtype)
