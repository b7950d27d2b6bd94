"""Look at what a user's forward has left on its ctx, and report mistakes as soon as it returns.

Nothing here runs for a ctx that has no attributes and no marks.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ..arrays.dtypes import FLOATS
from ..core.context import Ctx, place_among
from ..core.saved import bottom, version
from ..core.tensor import Tensor, is_float
from ..errors import error, warn
from ..places import READS, STORES, Place, attribute_at, noted, return_of, steps, user_frame
from ..tensors.nested import tensors_in
from .debug import Notes
from .inplace_writes import of_leaf
from .report import explains
from .wording import argument_names

# what a user's methods find on their ctx
PROTOCOL = ("mark_dirty", "mark_non_differentiable", "needs_input_grad", "save_for_backward", "save_for_forward",
            "saved_tensors", "set_materialize_grads")  # fmt: skip


checks = Notes()  # ctx -> what is to be looked at before its backward: functions without arguments


def check_before_backward(ctx: Any, check: Callable) -> None:
    """Have something looked at when the ctx's backward is about to run."""
    checks[ctx] = (*(checks.get(ctx) or ()), check)


@explains("saved on ctx")
def look_at_ctx(ctx: Any, given: tuple, returned: tuple, outs: tuple) -> None:
    """Look at the attributes and marks of the ctx of a Function with these arguments and outputs, which is remembered."""
    for name, value in ctx.__dict__.items():
        if name in PROTOCOL:
            raise assigned(ctx, name)
        for kept in tensors_in(value) if isinstance(value, (Tensor, list, tuple, dict)) else ():
            i, j = place_among(kept, given), place_among(kept, returned)
            if i is not None and ctx._needs[i]:
                check_before_backward(ctx, partial(changed, ctx._fn.__name__, name, kept, version(kept)))
            elif (
                j is not None
                and outs[j] is kept
                and kept._np_dtype in FLOATS
                and not any(kept is t for t in ctx._nondiff)
            ):
                leaks(ctx, name, kept, j)
    for t in ctx._nondiff:
        if t is not None and place_among(t, returned) is None:
            mark_without_effect(ctx, t)


def method_of(ctx: Any) -> Any:
    """The user's method that has the ctx in the forward pass."""
    return ctx._fn.forward if ctx._fn.combined else ctx._fn.setup_context


def look_at_class(cls: Any, given: tuple, returned: tuple) -> None:
    """After the first call: warn of an input or output that is kept on the class, which all calls share."""
    for name, value in list(vars(cls).items()):
        for what, group in (("argument", given), ("output", returned)):
            i = place_among(value, group) if isinstance(value, Tensor) else None
            if i is not None and any(step in STORES and which == name for step, which, _ in steps(cls.forward)):
                warn(
                    "class-attribute",
                    f"{cls.__name__}.forward",
                    f"keeps {what} {i}, of shape {tuple(value.shape)}, as {cls.__name__}.{name}: all calls share the class, so "
                    "that the next one replaces it before backward reads it",
                    "keep it on the ctx, which each call has of its own: ctx.save_for_backward(...)",
                    notes=noted("kept", attribute_at(cls.forward, STORES, name)),
                )


def changed(who: str, name: str, t: Tensor, before: int) -> None:
    """Before backward: warn if an input that is kept as an attribute has been written to."""
    if version(t) != before:
        wrote = bottom(t)._ver
        warn(
            "ctx-attribute-changed",
            who,
            f"ctx.{name}, an input of shape {tuple(t.shape)} that forward has kept, was changed by {wrote.writer}: it is at "
            f"version {version(t)}, and was at version {before}. backward computes with the new values, as if they had been "
            "there in forward",
            f"keep it with ctx.save_for_backward({name}), which notices such a change, and change a clone() of it",
            notes=noted("changed", wrote.place),
        )


def leaks(ctx: Any, name: str, t: Tensor, i: int) -> None:
    """Warn of an output that is kept as an attribute."""
    warn(
        "ctx-attribute-leak",
        where(ctx),
        f"keeps output {i}, of shape {tuple(t.shape)}, as ctx.{name}: the output holds its graph, the graph holds the ctx, and "
        "the ctx holds the output, so that their memory is given back late",
        f"ctx.save_for_backward({name}), which makes no such circle",
        notes=noted("kept", attribute_at(method_of(ctx), STORES, name)),
    )


def assigned(ctx: Any, name: str) -> Exception:
    """The error for an attribute in the place of one of the ctx's methods."""
    return error(
        AttributeError,
        type(ctx).__name__,
        f"ctx.{name} was assigned to, but it is a method: nothing was saved or marked",
        f"call it: ctx.{name}({'False' if name == 'set_materialize_grads' else 'x'})",
        attribute_at(method_of(ctx), STORES, name),
    )


def mark_without_effect(ctx: Any, t: Tensor) -> None:
    """Warn of a mark that has no effect."""
    warn(
        "mark-not-returned",
        where(ctx),
        f"mark_non_differentiable was given a tensor of shape {tuple(t.shape)} that is not returned: the mark has no effect, "
        "and what is returned has a gradient",
        "return the very tensor that is marked, or mark the one that is returned",
        notes=return_of(ctx._fn.forward),
    )


def no_attribute(ctx: Any, name: str, place: Place) -> Exception:
    """The error for an attribute that is not there: a misspelt one, or one that nobody has set."""
    near = difflib.get_close_matches(name, [*PROTOCOL, *ctx.__dict__], 1, 0.8)
    return error(
        AttributeError,
        type(ctx).__name__,
        f"the ctx has no attribute {name!r}",
        f"it is called ctx.{near[0]}"
        if near
        else f"set it in forward, ctx.{name} = ..., from an argument of {ctx._fn.__name__}.apply",
        place,
    )


def where(ctx: Any) -> str:
    """Return the name of the method that works on this ctx after or in forward."""
    return f"{ctx._fn.__name__}.{'forward' if ctx._fn.combined else 'setup_context'}"


@explains("the ctx takes tensors")
def not_a_tensor(ctx: Any, method: str, i: int, value: Any) -> Exception:
    """The error for something else among the tensors that a method of the ctx takes."""
    frame, kind = user_frame(2), RuntimeError if method.startswith("mark_") else TypeError
    names = {} if frame is None else frame.f_locals
    own = next((name for name, v in names.items() if v is value), None)
    if isinstance(value, (list, tuple)):
        fix = f"put a star before it: ctx.{method}(*{own or 'tensors'})"
    elif isinstance(value, set):  # C++ writes ctx->save_for_backward({a, b})
        fix = f"leave the braces out: ctx.{method}(a, b)"
    elif method.startswith("mark_"):
        fix = f"ctx.{method}(...) takes inputs or outputs of forward"
    else:
        fix = f"keep it as an attribute: ctx.{own or 'n'} = {own or 'n'}"
    return error(
        kind, where(ctx), f"{method} only takes tensors, but argument {i} is of type {type(value).__name__}", fix
    )


@explains("tensors are saved in one call")
def saved_twice(ctx: Any, method: str, before: tuple) -> Exception:
    """Return the error for saving a second time, which would replace what was saved before."""
    tensors = "1 tensor" if len(before) == 1 else f"{len(before)} tensors"
    return error(
        RuntimeError,
        where(ctx),
        f"{method} is called a second time; the first call has saved {tensors}",
        f"save all tensors in one call: ctx.{method}(a, b)",
    )


@explains("saved_tensors cannot be set")
def saved_tensors_assigned(ctx: Any) -> Exception:
    """Return the error for setting what save_for_backward sets."""
    return error(
        AttributeError,
        type(ctx).__name__,
        "ctx.saved_tensors cannot be set: backward reads there what save_for_backward was given",
        "ctx.save_for_backward(a, b)",
    )


@explains("forward modifies an input without mark_dirty")
def input_modified(ctx: Any, args: tuple, a: Tensor) -> Exception:
    """Return the error for an input that was written and not marked."""
    written: Any = bottom(a)._ver
    return unmarked(ctx, args, a, f"by {written.writer}", written.place)


def unmarked(ctx: Any, args: tuple, a: Tensor, how: str, where: Any, notes: Sequence[str] = ()) -> Exception:
    """The error for an input that forward has changed and not marked."""
    cls: Any = ctx._fn
    i = place_among(a, args)
    assert i is not None
    name = argument_names(cls, len(args))[i]
    return error(
        RuntimeError,
        f"{cls.__name__}.forward",
        f"has changed argument {i} ({name}), a tensor of shape {tuple(a.shape)} that requires grad, in place {how}, and not "
        "said so: gradients would be computed as if it were what it was",
        f"call ctx.mark_dirty({name}) and return {name}, or work on a copy: {name}.clone(), {name}.numpy().copy()",
        where,
        notes,
    )


@explains("mark_dirty takes inputs")
def dirty_no_input(ctx: Any, d: Tensor) -> Exception:
    """Return the error for marking something else than an input."""
    return error(
        RuntimeError,
        f"{ctx._fn.__name__}.forward",
        f"mark_dirty was given a tensor of shape {tuple(d.shape)} that is not one of its inputs",
        "give mark_dirty only inputs that forward has changed in place, and leave it out for new tensors",
        notes=noted("marked", attribute_at(method_of(ctx), READS, "mark_dirty")),
    )


@explains("what is marked dirty has to be returned")
def dirty_not_returned(ctx: Any, d: Tensor) -> Exception:
    """Return the error for an input that is marked and not returned."""
    return error(
        RuntimeError,
        f"{ctx._fn.__name__}.forward",
        f"some elements marked as dirty during the forward method were not returned as output: mark_dirty was given "
        f"an input of shape {tuple(d.shape)}, and something else is returned",
        "return the input that was modified in place",
        notes=return_of(ctx._fn.forward),
    )


@explains("forward writes to a leaf that requires grad")
def dirty_leaf(ctx: Any, args: tuple, d: Tensor, root: Tensor) -> Exception:
    """Return the error for writing to a leaf that requires grad."""
    names = [f"{x}.clone()" if a is d else x for a, x in zip(args, argument_names(ctx._fn, len(args)))]
    return error(
        RuntimeError,
        ctx._fn.__name__,
        f"{of_leaf(d, root)}, is being used in an in-place operation (mark_dirty); forward has changed it by now",
        f"pass a copy, {ctx._fn.__name__}.apply({', '.join(names)}), or work inside `with minigrad.no_grad():`",
    )


@explains("structure returned")
def structure_returned(cls: Any, o: Any, i: int, kind: Callable = is_float) -> None:
    """Refuse a structure with tensors (of that kind: floats) as output number i: nobody looks into it for their history.

    Objects are looked into, too.  What makes its tensors one by one is refused unseen.
    """
    unseen = isinstance(o, Iterator)
    if isinstance(o, (Tensor, Ctx, type)) or not (unseen or any(map(kind, tensors_in(getattr(o, "__dict__", o))))):
        return
    what = "may make tensors" if unseen else "contains tensors"
    raise error(
        TypeError,
        f"{cls.__name__}.forward",
        f"output {i} is a {type(o).__name__} that {what}, which cannot be tracked there",
        "return the tensors themselves, as a tuple, or use NestedIOFunction",
        notes=return_of(cls.forward),
    )


@explains("output no tensor")
def output_no_tensor(ctx: Any, args: tuple, returned: tuple) -> None:
    """Refuse structures and the ctx as outputs; warn where there is no tensor at all, though a gradient is wanted."""
    who = f"{ctx._fn.__name__}.forward"
    for i, o in enumerate(returned):
        structure_returned(ctx._fn, o, i)
        if o is ctx:
            raise error(
                TypeError,
                who,
                f"returned the ctx as output {i}: minigrad keeps it itself, and hands it to backward",
                "return only the outputs",
                notes=return_of(ctx._fn.forward),
            )
    if not any(isinstance(t, Tensor) for t in returned):
        wanting = ctx._needs.index(True)
        kinds = ", ".join(["None" if o is None else type(o).__name__ for o in returned])
        warn(
            "no-tensor-output",
            who,
            f"returned {kinds} and no tensor, so that argument {wanting}, of shape {tuple(args[wanting].shape)}, can have no "
            "gradient through it",
            "return the result as a tensor; of a NumPy array, minigrad.from_numpy(...) of it",
            notes=return_of(ctx._fn.forward),
        )
