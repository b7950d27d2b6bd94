"""Views and writes in place: one memory, several tensors on it, and the history of each kept true.

A write is done once, at the bottom, where the memory is.  On the way up each layer renews the history of its own tensors:
the written tensor's past is the operation; if it is a view, each parent's past becomes "itself with that region replaced"
(ViewScatter); other views of the same base notice when they are next asked (tensor.history).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS
from ..arrays.errstate import restore, silence
from ..arrays.kinds import KINDS
from ..config import GENERIC
from ..diagnose.retained_graphs import spent
from ..errors import error, warn
from ..places import user_place
from .edges import INFERENCE, Leaf, ViewOf, name_of
from .frames import EAGER, OFF, ON, Frame, current, use
from .hooks import move_retained
from .tensor import Box, Tensor, bottom, history, memory, version, wrap

NO_GRAD = "it was made under no_grad"  # why the history of such a view may not be derived again
ANEW = {  # what makes a new tensor instead
    **{"add_": "x = x + ...", "sub_": "x = x - ...", "mul_": "x = x * ...", "div_": "x = x / ..."},
    **dict.fromkeys(("masked_fill_", "index_put_", "copy_"), "x = minigrad.where(mask, value, x)"),
}


def link_view(frame: Frame, fn: Any, args: tuple, out: Tensor) -> None:
    """`out` is the view `fn(*args)` of args[0]: they share the version counter, and out's history follows its parent's."""
    parent = args[0]
    if type(out) is Tensor:
        out._ver = memory(parent)
    fixed = None if frame.grad else NO_GRAD
    out._view = ViewOf(parent, fn, args[1:], None if fixed else history(parent), version(parent), fixed)


def twin(t: Tensor) -> Tensor:
    """Same memory and history as another object: the 'before' of a write."""
    out = Box(t._layer, t._value, t._extra) if type(t) is Box else wrap(t._a)
    out._edge, out._ver, out._tan = history(t), t._ver, t._tan
    return out


def inplace(fn: Any, x: Tensor, *others: Any) -> Tensor:
    """x <- fn(x, *others), written into x's memory; at every layer x gets a new history.

    Raises RuntimeError for a leaf that requires grad, for expanded views and for tensors that a transform only captured.
    """
    frame = current()
    if (frame is OFF or frame is ON and untracked(x, *others)) and not GENERIC and write_plain(fn, x, others):
        return x
    return inplace_at(frame, fn, x, others)


def untracked(*args: Any) -> bool:
    """Whether there is no history that a write could change."""
    return all([not isinstance(a, Tensor) or a._edge is None and a._view is None for a in args])


def write_plain(fn: Any, x: Tensor, others: tuple) -> bool:
    """The write among plain tensors of one float dtype where no history changes; False where it is not that simple."""
    if x._layer is not None or x._ver is INFERENCE or fn.update is not None:
        return False
    a, values = x._a, []
    for o in others:
        v = o._a if isinstance(o, Tensor) and o._layer is None else o
        if type(v) in KINDS and v.dtype is a.dtype or type(v) is float or type(v) is int:
            values.append(v)
        else:
            return False
    said = silence()
    try:
        if 0 in a.strides or not fn.write_short(a, *values):
            return False
    except Exception:  # the general way knows what to say
        return False
    finally:
        restore(said)
    (x._ver or memory(x)).bump(fn.name + "_", user_place())
    return True


def inplace_at(frame: Frame, fn: Any, x: Tensor, others: tuple) -> Tensor:
    """The same from a given frame outwards."""
    args = (x, *others)
    while frame.layer is not EAGER:
        if frame.layer.handles(fn, args):
            return frame.layer.inplace(frame, fn, x, others)
        frame = frame.parent
    return eager_inplace(frame, fn, x, others)


def eager_inplace(frame: Frame, fn: Any, x: Tensor, others: tuple) -> Tensor:
    """Compute, check, write, and renew the histories."""
    tracked = (
        frame.grad and fn.differentiable and any(isinstance(a, Tensor) and history(a) is not None for a in (x, *others))
    )
    name = fn.function_name() + "_"
    check_writable(frame, x, tracked, name)
    before = twin(x)
    with_memory = [a.clone() if isinstance(a, Tensor) and tracked and shares(a, x) else a for a in others]
    arrays = [a._a if isinstance(a, Tensor) else a for a in with_memory]
    check_places(x, name)
    if len(KINDS) > 1:
        fn.check_devices((x, *others))
    if fn.update is None:
        result = fn.compute(x._a, *arrays)
        check_result(x, result, name)
    if tracked and 0 in fn.keeps:  # backward needs the value that is about to be overwritten, and its tangent
        before._a, before._ver = x._a.copy(), None
        before._tan = None if frame.dual is None else copied_tangent(frame, x)
    if tracked and x._a.size == 1 and len(others) == 1:  # before the write is counted: views renew their histories then
        warn_if_kept(name, before, others[0])
    if frame.dual is not None:
        from ..layers.dual import write_tangent

        write_tangent(frame, fn, x, tuple(with_memory))
    if fn.update is None:
        np.copyto(x._a, result, casting="unsafe")
    else:  # writes only where something changes
        fn.compute(x._a, *arrays, into=fn.update)
    memory(x).bump(name, user_place())
    if tracked:
        regraph(None, fn, before, x, tuple(with_memory))
    return x


def warn_if_kept(name: str, total: Tensor, loss: Any) -> None:
    """Warn if a running total of tracked losses holds graphs through which backward has gone already."""
    if not isinstance(loss, Tensor) or history(loss) is None:
        return
    node = spent(total._edge) or spent(loss._edge)
    if node is not None:
        place = node._saved.place
        warn(
            "kept-graph",
            name,
            f"a result of shape {tuple(loss.shape)} that requires grad is added to a running total, which keeps the graphs "
            f"of all rounds and cannot be differentiated, for what {name_of(node)} saved there is freed",
            "add the number: total += loss.item(), or total += loss.detach()",
            notes=[f"freed by backward at {place}"] if place else [],
        )


def copied_tangent(frame: Frame, x: Tensor) -> tuple | None:
    """The tangent of x in memory of its own, as tensors carry it."""
    from ..layers.dual import tangent_of

    t = tangent_of(x, frame.dual)
    with use(frame.but(dual=None)):
        return None if t is None else (frame.dual, t.clone())


def shares(a: Tensor, x: Tensor) -> bool:
    """Whether a write to x would change a, which the operation may have to keep."""
    p, q = bottom(a), bottom(x)
    if p is q or p._ver is not None and p._ver is q._ver:  # also where there are no elements
        return True
    return np.may_share_memory(p._a, q._a)


def check_writable(frame: Frame, x: Tensor, tracked: bool, name: str) -> None:
    """Refuse what would make gradients wrong."""
    if x._ver is INFERENCE and not frame.inference:
        raise error(
            RuntimeError,
            name,
            f"an in-place update of an inference tensor of shape {tuple(x.shape)} outside inference_mode is not allowed",
            "clone() it first",
        )
    root, leaf = x, type(history(x)) is Leaf
    while root._view is not None:
        if root._view.fixed is not None and (tracked or frame.grad and history(root._view.parent) is not None):
            raise of_fixed_view(root, name)
        root = root._view.parent
        leaf = leaf or type(history(root)) is Leaf
    if tracked and leaf:
        raise error(
            RuntimeError,
            name,
            f"{of_leaf(x, root)}, is being used in an in-place operation",
            "change its numbers inside `with minigrad.no_grad():`"
            + (f"; in a calculation make a new tensor, {ANEW[name]}" if name in ANEW else ""),
        )


def of_leaf(x: Tensor, root: Tensor) -> str:
    """A leaf, or a view of one, in words."""
    if root is x:
        return f"a leaf Variable that requires grad, of shape {tuple(x.shape)}"
    return f"a view of a leaf Variable that requires grad, of shape {tuple(x.shape)} of {tuple(root.shape)}"


def of_fixed_view(x: Tensor, name: str) -> Exception:
    """The error for a write to a view whose base cannot be told of it."""
    assert x._view is not None
    return error(
        RuntimeError,
        name,
        f"a view of shape {tuple(x.shape)} is being modified in place, but {x._view.fixed}, so its base would not know",
        "make the view outside, or clone() it first",
    )


def check_places(x: Tensor, name: str) -> None:
    """Only memory where each element has a place of its own can be written."""
    if x._a.size and any(s == 0 and n > 1 for s, n in zip(x._a.strides, x._a.shape, strict=True)):
        raise error(
            RuntimeError,
            name,
            f"unsupported operation: several elements of the expanded tensor of shape {tuple(x.shape)} refer "
            "to a single memory location",
            "clone() the tensor before writing to it",
        )


def check_result(x: Tensor, result: np.ndarray, name: str) -> None:
    """The result has to fit into x: its shape and its kind of dtype."""
    if result.shape != x._a.shape:
        raise error(
            RuntimeError,
            name,
            f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(result.shape)}",
            "write x = x + ... for x += ..., whose result may be larger",
        )
    if result.dtype in FLOATS and x._a.dtype not in FLOATS or x._a.dtype.kind == "b" and result.dtype.kind != "b":
        raise error(
            RuntimeError,
            name,
            f"result type {result.dtype} can't be cast to the desired output type {x._a.dtype}",
            "convert the tensor first, x = x.float(), or write x = x + ... for x += ...",
        )


def regraph(layer: Any, fn: Any, before: Tensor, x: Tensor, others: tuple) -> None:
    """x has been written: its history is now the operation on what it was before."""
    from .function import record

    old = before._edge
    record(layer, fn, (before, *others), x)
    move_retained(old, x._edge)
    rebase(layer, x)


def rebase(layer: Any, x: Tensor) -> None:
    """A view was written: up the chain, each parent's history becomes 'itself with that region replaced'.

    The views' own histories then begin at the parents again, as those of all other views, when somebody asks for them.
    """
    from ..ops.base.families import ViewScatter
    from ..ops.copy import order_in_memory
    from .function import record

    while x._view is not None:
        view, parent = x._view, x._view.parent
        before = twin(parent)
        record(layer, ViewScatter, (before, x, view.fn, view.args, order_in_memory(parent)), parent)
        move_retained(before._edge, parent._edge)
        x._view = ViewOf(parent, view.fn, view.args, seen=None, version=-1)
        x = parent
