"""`attach` makes a ctx the history of what the user's forward returned: in eager mode, under transforms and in captures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

from ..arrays.dtypes import FLOATS
from .context import Ctx
from .events import slots
from .frames import current, node_made
from .graph import Edge, Leaf, OutputEdge, memory
from .history import ViewOf, history, move_retained
from .inplace import rebase, twin
from .tensor import Box, Tensor, describe


def attach(ctx: Ctx, args: tuple, given: tuple, returned: tuple, outs: tuple | None = None) -> tuple:
    """Make the ctx the history of what forward returned, if it has edges; return the outputs as the caller gets them.

    `given` are the arguments as forward had them, one layer down under a transform, and `returned` is what it made of them;
    `outs` has the results as the transform sees them.
    """
    tracked = bool(ctx._edges)
    before = args if not ctx._dirty else as_before(ctx, args, returned if outs is None else outs)
    if outs is None:
        outs = outputs(ctx, args, returned)
        for d in ctx._dirty:  # from now on: what else lies in this memory was looked at before
            memory(d).bump(ctx._fn.__name__)
    ctx._meta = describe(outs)
    if tracked:
        if None in ctx._meta:
            slots.notice("output no tensor", ctx=ctx, args=args, returned=returned)
        ctx._keep(given, returned, outs, before)
        if ctx.__dict__ or ctx._nondiff:
            slots.notice("saved on ctx", ctx=ctx, given=given, returned=returned, outs=outs)
    for i, o in enumerate(outs):
        if isinstance(o, Tensor):
            smooth = tracked and ctx._meta[i][1] in FLOATS and not (ctx._nondiff and among(returned[i], ctx._nondiff))
            set_history(ctx, o, None if not smooth else ctx if len(outs) == 1 else OutputEdge(ctx, i))
    if slots.node_made is not None or current().observers:
        node_made(ctx)
    if ctx._layer is not None:
        ctx._forget()  # as Function.eager does, which pushes tangents before
    return outs


def as_before(ctx: Ctx, args: tuple, outs: tuple) -> tuple:
    """Return the arguments with the history that they had before forward has written to some.

    Refuses mark_dirty for all but inputs that are returned, and are not leaves that require grad.
    """
    for d in ctx._dirty:
        root = d._base if d._base is not None else d
        if not among(d, args):
            raise slots.problem("mark_dirty takes inputs", ctx=ctx, d=d)
        if not among(d, outs):
            raise slots.problem("what is marked dirty has to be returned", ctx=ctx, d=d)
        if ctx._edges and type(history(root)) is Leaf:
            raise slots.problem("forward writes to a leaf that requires grad", ctx=ctx, args=args, d=d, root=root)
    return tuple([twin(a) if among(a, ctx._dirty) else a for a in args])


def outputs(ctx: Ctx, args: tuple, returned: tuple) -> tuple:
    """Return the outputs of a forward in eager mode; an input that it returned as it is becomes another object."""
    if ctx._edges:  # an input that was changed in forward has to be marked: else its history is no longer true
        for a, need in zip(args, ctx._needs):
            if need and (v := a._ver) is not None and v.at > ctx._seq and not among(a, ctx._dirty):
                raise slots.problem("forward modifies an input without mark_dirty", ctx=ctx, args=args, a=a)
    outs: list = []
    for i, o in enumerate(returned):
        if ctx._dirty and among(o, ctx._dirty):
            if history(o) is not None and not (ctx._edges and is_float(o) and not among(o, ctx._nondiff)):
                o = o.detach()  # written, but not by anything with a derivative: the result is not tracked
        elif isinstance(o, Tensor) and (among(o, args) or i and among(o, returned[:i])):
            o = alias(o)  # an input, or the same tensor once more
        outs.append(o)
    return tuple(outs)


def alias(t: Tensor) -> Tensor:
    """Return another object on the same memory."""
    if type(t) is Box:
        return Box(t._layer, t._value, t._extra)
    out = t._alias()
    out._view = ViewOf(t, None, (), None, 0)
    return out


def set_history(ctx: Ctx, o: Tensor, edge: Edge | None) -> None:
    """Make the user's node the past of one of its outputs."""
    if ctx._dirty and among(o, ctx._dirty):
        if edge is not None:
            move_retained(history(o), edge)
            o._edge = edge
            rebase(ctx._layer, o)
        return
    if o._view is not None and ctx._layer is None:  # its own backward must not be bypassed by deriving the view again
        o._view.fixed = f"it was made inside {ctx._fn.__name__}"
    if edge is not None or type(o._edge) is not Leaf:
        o._edge = edge


# ---------------------------------------------------------------------- small questions
def among(t: object, group: Iterable) -> bool:
    """Return whether t itself is one of the group."""
    for s in group:  # noqa: SIM110 (any() of a generator takes four times as long)
        if s is t:
            return True
    return False


def is_float(x: object) -> TypeGuard[Tensor]:
    """Return whether x is a tensor that can have a derivative."""
    return isinstance(x, Tensor) and x._np_dtype in FLOATS
