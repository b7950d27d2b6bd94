"""What a user's forward has left on its ctx: faults that are named as soon as it has returned.

Nothing here runs for a ctx that has no attributes and no marks.
"""

from __future__ import annotations

import difflib
from functools import partial
from typing import Any

from ..arrays.dtypes import FLOATS
from ..core.tensor import Tensor, bottom, version
from ..errors import error, warn
from ..places import STORES, Place, attribute_at, noted, return_of, steps, user_frame

PROTOCOL = (  # what a user's methods find on their ctx
    "mark_dirty",
    "mark_non_differentiable",
    "needs_input_grad",
    "save_for_backward",
    "save_for_forward",
    "saved_tensors",
    "set_materialize_grads",
)


def look_at_ctx(ctx: Any, given: tuple, returned: tuple, outs: tuple) -> None:
    """Look at the attributes and marks of the ctx of a Function with these arguments and outputs, which is remembered."""
    for name, value in ctx.__dict__.items():
        if name in PROTOCOL:
            raise assigned(ctx, name)
        for kept in tensors_in(value) if isinstance(value, (Tensor, list, tuple, dict)) else ():
            i, j = place_among(kept, given), place_among(kept, returned)
            if i is not None and ctx._needs[i]:
                ctx._checks = (*ctx._checks, partial(changed, ctx._fn.__name__, name, kept, version(kept)))
            elif (
                j is not None
                and outs[j] is kept
                and kept._np_dtype in FLOATS
                and not any(kept is t for t in ctx._nondiff)
            ):
                leaks(ctx, name, kept, j)
    for t in ctx._nondiff:
        if t is not None and place_among(t, returned) is None:
            unmarked(ctx, t)


def tensors_in(tree: Any):
    """All tensors in nested tuples, lists, sets and dicts."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, (list, tuple, set, frozenset)):
        for part in tree:
            yield from tensors_in(part)
    elif isinstance(tree, dict):
        for part in tree.values():
            yield from tensors_in(part)


def place_among(t: Any, group: tuple) -> int | None:
    """Where t itself stands among others."""
    for i, s in enumerate(group):
        if s is t:
            return i
    return None


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
        ctx._where(),
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


def unmarked(ctx: Any, t: Tensor) -> None:
    """Warn of a mark that has no effect."""
    warn(
        "mark-not-returned",
        ctx._where(),
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


def not_a_tensor(ctx: Any, method: str, i: int, value: Any, kind: type[Exception]) -> Exception:
    """The error for something else among the tensors that a method of the ctx takes."""
    frame = user_frame(2)
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
        kind, ctx._where(), f"{method} only takes tensors, but argument {i} is of type {type(value).__name__}", fix
    )
