"""Wiring a custom Function into the graph: its outputs get their history, what its forward did in place is checked, and so
is what its jvp returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..arrays.dtypes import FLOATS
from ..arrays.memory import storage
from ..diagnose import debug
from ..diagnose.ctx import method_of, place_among, tensors_in
from ..diagnose.user_methods import argument_names
from ..errors import error, warn
from ..places import READS, attribute_at, noted, return_of, returned_at, returns, user_place
from .edges import Leaf, Port, ViewOf
from .hooks import move_retained
from .inplace import of_leaf, rebase
from .node import Ctx, describe
from .tensor import Box, Tensor, bottom, history, memory, version, wrap

if TYPE_CHECKING:
    from .function import Function


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
    return isinstance(x, Tensor) and x._np_dtype in FLOATS


def wire(ctx: Ctx, args: tuple, before: tuple, given: tuple, needs: bool) -> tuple:
    """The outputs as the caller gets them: with the node as their history where a gradient is wanted."""
    if ctx._dirty:
        check_dirty(ctx, args, given, needs)
    if needs:  # an input that was changed in forward has to be marked: else its history is no longer true
        for a, need in zip(args, ctx._needs):
            if need and (v := a._ver) is not None and v.at > ctx._seq and not among(a, ctx._dirty):
                raise unmarked(ctx, args, a, f"by {v.writer}", v.place)
    outs: Any = []
    for i, o in enumerate(given):
        if not isinstance(o, Tensor):
            if needs:
                check_other_output(ctx, args, given, i)
        elif among(o, ctx._dirty):
            if history(o) is not None and not (needs and is_float(o) and not among(o, ctx._nondiff)):
                o = o.detach()  # written, but not by anything with a derivative: the result is not tracked
        elif among(o, args) or among(o, given[:i]):
            o = alias(o, ctx)  # an input, or the same tensor once more: another object on its memory
        outs.append(o)
    outs = tuple(outs)
    ctx._meta, ctx._given = describe(outs), describe(args)
    if needs:  # before the write is counted: a view of what was written would take its old history for the new one
        ctx._edges = tuple([history(a) if need else None for a, need in zip(before, ctx._needs)])
    for d in ctx._dirty:
        memory(d).bump(ctx._fn.__name__, user_place())
    if needs:
        ctx._keep(args, given, outs, before)
    for i, (r, o) in enumerate(zip(given, outs)):
        if isinstance(o, Tensor):
            tracked = needs and is_float(o) and not among(r, ctx._nondiff)
            edge = None if not tracked else ctx if len(outs) == 1 else Port(ctx, i)
            set_history(ctx, o, edge, dirty=among(r, ctx._dirty))
    return outs


def check_other_output(ctx: Ctx, args: tuple, given: tuple, i: int) -> None:
    """An output that is no tensor holds none either, and is not all that there is where a gradient is wanted."""
    o, who = given[i], f"{ctx._fn.__name__}.forward"
    check_structure(ctx._fn, o, i)
    if o is ctx:
        raise error(
            TypeError,
            who,
            f"returned the ctx as output {i}: minigrad keeps it itself, and hands it to backward",
            "return only the outputs",
            notes=return_of(ctx._fn.forward),
        )
    if i == 0 and not any(isinstance(t, Tensor) for t in given):
        wanting = ctx._needs.index(True)
        kinds = ", ".join(["None" if o is None else type(o).__name__ for o in given])
        warn(
            "no-tensor-output",
            who,
            f"returned {kinds} and no tensor, so that argument {wanting}, of shape {tuple(args[wanting].shape)}, can have no "
            "gradient through it",
            "return the result as a tensor; of a NumPy array, minigrad.from_numpy(...) of it",
            notes=return_of(ctx._fn.forward),
        )


def check_structure(cls: type[Function], o: Any, i: int, kind: Callable = is_float) -> None:
    """Output number i is no structure with tensors of that kind: nobody looks into it, so that they would lose their history.

    Objects are looked into, too.  What makes its tensors one by one is refused unseen.
    """
    if isinstance(o, (Tensor, Ctx, type)):
        return
    one_by_one = isinstance(o, Iterator)
    if one_by_one or any(map(kind, tensors_in(getattr(o, "__dict__", o)))):
        what = "may make tensors" if one_by_one else "contains tensors"
        raise error(
            TypeError,
            f"{cls.__name__}.forward",
            f"output {i} is a {type(o).__name__} that {what}, which cannot be tracked there",
            "return the tensors themselves, as a tuple, or use NestedIOFunction",
            notes=return_of(cls.forward),
        )


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


def prints(args: tuple, needs: tuple) -> list:
    """Fingerprints of the arguments that require grad."""
    return [debug.fingerprint(bottom(a)._a) if need else None for a, need in zip(args, needs)]


def check_prints(ctx: Ctx, args: tuple, before: Sequence) -> None:
    """The same in debug mode for writes that are not counted, by what the numbers were before."""
    for a, mark in zip(args, before):
        if mark is not None and debug.fingerprint(bottom(a)._a) != mark and not among(a, ctx._dirty):
            raise unmarked(ctx, args, a, "through NumPy or .data", None, debug.lent(storage(bottom(a)._a)))


def unmarked(ctx: Ctx, args: tuple, a: Tensor, how: str, where: Any, notes: Sequence[str] = ()) -> Exception:
    """The error for an input that forward has changed and not marked."""
    cls: Any = ctx._fn
    i = place_among(a, args)
    assert i is not None
    code = getattr(cls.forward, "__code__", None)
    names = () if code is None else code.co_varnames[cls.combined : code.co_argcount]
    name = names[i] if i < len(names) else "x"
    return error(
        RuntimeError,
        f"{cls.__name__}.forward",
        f"has changed argument {i} ({name}), a tensor of shape {tuple(a.shape)} that requires grad, in place {how}, and not "
        "said so: gradients would be computed as if it were what it was",
        f"call ctx.mark_dirty({name}) and return {name}, or work on a copy: {name}.clone(), {name}.numpy().copy()",
        where,
        notes,
    )


def check_dirty(ctx: Ctx, args: tuple, outs: tuple, needs: bool) -> None:
    """mark_dirty is for inputs that were changed in place, are returned, and are not leaves that require grad."""
    who = f"{ctx._fn.__name__}.forward"
    for d in ctx._dirty:
        if not among(d, args):
            raise error(
                RuntimeError,
                who,
                f"mark_dirty was given a tensor of shape {tuple(d.shape)} that is not one of its inputs",
                "give mark_dirty only inputs that forward has changed in place, and leave it out for new tensors",
                notes=noted("marked", attribute_at(method_of(ctx), READS, "mark_dirty")),
            )
        if not among(d, outs):
            raise error(
                RuntimeError,
                who,
                f"some elements marked as dirty during the forward method were not returned as output: mark_dirty was given "
                f"an input of shape {tuple(d.shape)}, and something else is returned",
                "return the input that was modified in place",
                notes=return_of(ctx._fn.forward),
            )
        root = d._base if d._base is not None else d
        if type(history(root)) is Leaf and needs:
            names = [f"{x}.clone()" if a is d else x for a, x in zip(args, argument_names(ctx._fn, len(args)))]
            raise error(
                RuntimeError,
                ctx._fn.__name__,
                f"{of_leaf(d, root)}, is being used in an in-place operation (mark_dirty); forward has changed it by now",
                f"pass a copy, {ctx._fn.__name__}.apply({', '.join(names)}), or work inside `with minigrad.no_grad():`",
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
