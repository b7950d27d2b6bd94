"""Wiring a custom Function into the graph: its outputs get their history, what its forward did in place is checked, and so
is what its jvp returns.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ..errors import error, raised_at, returned_at, returns, user_place
from .edges import Leaf, Port, ViewOf
from .hooks import move_retained
from .inplace import rebase
from .node import Ctx, describe
from .tensor import Box, Tensor, history, memory, version, wrap

if TYPE_CHECKING:
    from .function import Function


def tensors_in(tree: Any):
    """All tensors in nested tuples, lists and dicts."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, (list, tuple)):
        for part in tree:
            yield from tensors_in(part)
    elif isinstance(tree, dict):
        for part in tree.values():
            yield from tensors_in(part)


def as_tuple(x: Any) -> tuple:
    """What a user's method returned, as a tuple of outputs."""
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def among(t: Any, group: Any) -> bool:
    """Membership by identity."""
    for s in group:  # noqa: SIM110 (any() of a generator takes four times as long)
        if s is t:
            return True
    return False


def is_float(x: Any) -> bool:
    """Whether x is a tensor that can have a derivative."""
    return isinstance(x, Tensor) and x._np_dtype.kind == "f"


def wire(ctx: Ctx, args: tuple, before: tuple, given: tuple, needs: bool) -> tuple:
    """The outputs as the caller gets them: with the node as their history where a gradient is wanted."""
    if ctx._dirty:
        check_dirty(ctx, args, given, needs)
    outs: Any = []
    for i, o in enumerate(given):
        if not isinstance(o, Tensor):
            if needs and any(is_float(t) for t in tensors_in(o)):
                raise error(
                    TypeError,
                    ctx._fn.__name__,
                    f"output {i} of forward is a {type(o).__name__} that contains tensors, which "
                    "cannot be tracked there",
                    "return the tensors themselves, as a tuple, or use NestedIOFunction",
                )
        elif among(o, ctx._dirty):
            if history(o) is not None and not (needs and is_float(o) and not among(o, ctx._nondiff)):
                o = o.detach()  # written, but not by anything with a derivative: the result is not tracked
        elif among(o, args) or among(o, given[:i]):
            o = alias(o, ctx)  # an input, or the same tensor once more: another object on its memory
        outs.append(o)
    outs = tuple(outs)
    ctx._meta, ctx._given = describe(outs), describe(args)
    for d in ctx._dirty:
        memory(d).bump(ctx._fn.__name__, user_place())
    if needs:
        ctx._edges = tuple([history(a) if need else None for a, need in zip(before, ctx._needs)])
        ctx._keep(args, given, outs, before)
    for i, (r, o) in enumerate(zip(given, outs)):
        if isinstance(o, Tensor):
            tracked = needs and is_float(o) and not among(r, ctx._nondiff)
            edge = None if not tracked else ctx if len(outs) == 1 else Port(ctx, i)
            set_history(ctx, o, edge, dirty=among(r, ctx._dirty))
    return outs


def set_history(ctx: Ctx, o: Tensor, edge: Any, dirty: bool) -> None:
    """Make the custom node the past of one of its outputs."""
    if dirty:
        if edge is not None:
            move_retained(history(o), edge)
            o._edge = edge
            rebase(None, o)
        return
    if o._view is not None:  # forward returned a view: its own backward must not be bypassed by deriving it again
        o._view = ViewOf(
            o._view.parent, o._view.fn, o._view.args, None, 0, fixed=f"it was made inside {ctx._fn.__name__}"
        )
    if edge is not None or type(o._edge) is not Leaf:
        o._edge = edge


def alias(t: Tensor, ctx: Ctx) -> Tensor:
    """Another tensor on the same memory, for an input that forward returned as it is."""
    if type(t) is Box:
        return Box(t._layer, t._value, t._extra)
    out = wrap(t._a)
    out._ver = memory(t)
    out._view = ViewOf(t, None, (), None, 0, fixed=f"it is an input that {ctx._fn.__name__} returned as it is")
    return out


def check_dirty(ctx: Ctx, args: tuple, outs: tuple, needs: bool) -> None:
    """mark_dirty is for inputs that were changed in place, are returned, and are not leaves that require grad."""
    for d in ctx._dirty:
        if not among(d, args):
            raise error(
                RuntimeError,
                ctx._fn.__name__,
                "mark_dirty was given a tensor that is not an input",
                "mark only inputs that forward has changed in place",
            )
        if not among(d, outs):
            raise error(
                RuntimeError,
                ctx._fn.__name__,
                "some elements marked as dirty during the forward method were not returned as output",
                "return the input that was modified in place",
            )
        root = d._base if d._base is not None else d
        if type(history(root)) is Leaf and needs:
            what = "a leaf Variable" if root is d else "a view of a leaf Variable"
            raise error(
                RuntimeError,
                ctx._fn.__name__,
                f"{what} that requires grad is being used in an in-place operation (mark_dirty)",
                "pass a clone(), or work under no_grad()",
            )


def check_tangents(cls: type[Function], ctx: Ctx, result: Any, outs: tuple) -> list:
    """One tangent per output, of its shape and dtype; None for outputs without a derivative."""

    def refused(kind: type[Exception], what: str, fix: str) -> Exception:
        return error(kind, f"{cls.__name__}.jvp", what, fix, returned_at(cls.jvp), [f"applied at {user_place()}"])

    tangents = as_tuple(result)
    if result is None and any(map(is_float, outs)) and returns(cls.jvp) == []:
        raise refused(
            RuntimeError,
            "has no return, so output 0 would seem not to move",
            "return the tangent of each output, or write `return None` where that is zero",
        )
    if len(tangents) != len(outs):
        given = f"{len(tangents)} tangent{'s' * (len(tangents) != 1)}"
        raise refused(
            RuntimeError,
            f"returned {given}, but forward has {len(outs)} output{'s' * (len(outs) != 1)}",
            f"return {', '.join([f'tangent_{i}' for i in range(len(outs))])}",
        )
    found: list = []
    for i, (o, t) in enumerate(zip(outs, tangents, strict=True)):
        if t is not None and not isinstance(t, Tensor):
            raise refused(
                TypeError,
                f"tangent {i} is of type {type(t).__name__}, expected a tensor or None",
                "return a tensor: minigrad.from_numpy(...) of an array, x_t.new_tensor(...) of a number",
            )
        if t is not None and is_float(o) and (t.shape != o.shape or t._np_dtype != o._np_dtype):
            same = t.shape == o.shape
            raise refused(
                RuntimeError,
                f"tangent {i} has shape {tuple(t.shape)} and {t.dtype}, but its output has shape "
                f"{tuple(o.shape)} and {o.dtype}",
                f"convert it: tangent.to({o.dtype})" if same else "return a tangent of the output's shape and dtype",
            )
        found.append(t if is_float(o) and not among(o, ctx._nondiff) else None)
    return found


def check_unwritten(cls: type[Function], ctx: Ctx, primals: tuple, tangents: list, before: list) -> None:
    """jvp must not write to the tangents that it is given, but for inputs that forward has written to as well."""
    for i, (p, t, n) in enumerate(zip(primals, tangents, before)):
        if t is not None and version(t) != n and not among(p, ctx._dirty):
            raise error(
                RuntimeError,
                f"{cls.__name__}.jvp",
                f"has modified tangent {i}, which it was given, in place; that is still the tangent of its input",
                "clone() it first, or use the out-of-place form of that operation",
                memory(t).place,
                [f"applied at {user_place()}"],
            )


def none_used(cls: type[Function], ctx: Ctx, primals: tuple, tangents: list, e: Exception) -> Exception:
    """The error for a jvp that has computed with a tangent that is None."""
    i = next(i for i, t in enumerate(tangents) if t is None)
    name = [*inspect.signature(cls.jvp).parameters][i + 1 : i + 2] or ["tangent"]
    kind = f"argument {i} of forward is a {type(primals[i]).__name__}"
    why = "set_materialize_grads(False) asks for None in place of zeros" if is_float(primals[i]) else kind
    return error(
        type(e),
        f"{cls.__name__}.jvp",
        f"tangent {i} is None, because {why}; {e}",
        f"compute that part only `if {name[0]} is not None`",
        raised_at(e),
        [f"applied at {user_place()}"],
    )
