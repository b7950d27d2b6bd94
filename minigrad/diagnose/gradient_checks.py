"""What is wrong with the gradients that a user's backward has returned, or with what it has done to those it was given.

The engine looks at their number, kind and shape after each call, and at the tensors' counters; here is what it then says.
Two checks look further: in debug mode whether gradients stand in each other's place, and, for a backward that never reads
the gradient that it is given (or a jvp its tangent), whether it should have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import dtypes
from ..arrays.memory import storage
from ..core.context import Ctx
from ..core.frames import current
from ..core.function import as_tuple
from ..core.graph import history, name_of
from ..core.saved import Saved, bottom, memory
from ..core.tensor import Box, Tensor, levels
from ..errors import error, warn
from ..places import defined_at, noted, return_of, returned_at, returns, steps, user_place, users_code
from . import debug
from .report import explains
from .wording import argument_names, counted


def look_at_gradients(node: Ctx, gs: list, outs: Any) -> None:
    """Look at what a user's backward has returned, further than the engine does."""
    if outs is None:
        nothing(node)
    for s in node._saved if type(node._saved) is tuple else ():
        if type(s) is Saved and s.unpack is None and (v := s.tensor._ver) is not None and v.n != s.version:
            check_private(node, s)
    names, again = unread(node._fn.backward), current().grad
    if not (names or again or debug.mode.on):
        return
    outs, n = as_tuple(outs), len(node._edges)
    if len(outs) < n or any([o is not None and not isinstance(o, Tensor) for o in outs]):
        return  # the engine refuses it
    if debug.mode.on:
        exchanged(node, gs, outs)
    if names:
        unused(node, gs, outs[:n], names)
    if again:
        look_at_history(node, gs, outs[:n])


def look_at_tangents(cls: Any, ctx: Ctx, tangents: tuple, result: Any) -> None:
    """Look at what a user's jvp has returned, further than the nucleus does."""
    found = as_tuple(result)
    if (
        result is None
        and any([m is not None and m[1] in dtypes.FLOATS for m in ctx._meta or ()])
        and returns(cls.jvp) == []
    ):
        raise refused_tangents(
            cls,
            RuntimeError,
            "has no return, so output 0 would seem not to move",
            "return the tangent of each output, or write `return None` where that is zero",
        )
    if all([t is None or isinstance(t, Tensor) for t in found]):
        unused_tangents(cls, list(tangents), found)


def who(node: Any) -> str:
    """The method that returned the gradients; of a built-in operation its node."""
    return f"{node._fn.__name__}.backward" if isinstance(node, Ctx) else type(node).__name__


def lines(node: Any) -> list[str]:
    """Notes of the lines where backward returns, or begins if it returns at several, and of the forward call if known."""
    made = noted("the forward call was", node._trace)
    return [*return_of(node._fn.backward), *made] if isinstance(node, Ctx) else made


def names_of(node: Any) -> list[str]:
    """What forward calls its arguments."""
    return argument_names(node._fn, len(node._edges)) if isinstance(node, Ctx) else []


def of_argument(node: Any, i: int) -> str:
    """The argument that gradient i is for."""
    return f"argument {names_of(node)[i]}" if isinstance(node, Ctx) else f"argument {i}"


def nothing(node: Ctx) -> None:
    """backward has returned None: warn if it says `return` nowhere.  Written out, None is a gradient of zero."""
    method = node._fn.backward
    if len(node._edges) != 1 or not node._needs[0] or users_code(method) is None or returns(method):
        return
    warn(
        "backward-returns-nothing",
        who(node),
        f"has no return, and so gives None: {names_of(node)[0]}, of shape {node._given[0][0]}, gets no gradient",
        "return the gradient, or write `return None` where it is zero",
        notes=lines(node),
    )


@explains("backward returns one gradient per argument")
def wrong_number(node: Ctx, outs: tuple) -> Exception:
    """The error for too few or too many gradients."""
    n, names = len(node._edges), names_of(node)
    row = f"({', '.join(names)})"
    got = f"returned {counted(len(outs), 'gradient')} for the {counted(n, 'argument')} of forward, {row}"
    if outs == (None,) and not returns(node._fn.backward):
        got = (
            f"has no return, and so gives None in place of gradients for the {counted(n, 'argument')} of forward, {row}"
        )
    extra = "; the ctx has no place among them" if len(outs) == n + 1 and outs[0] is None else ""
    if len(outs) == 1 and isinstance(outs[0], Iterator):
        extra = f"; a {type(outs[0]).__name__} is no tuple: put tuple(...) around it"
    return error(
        RuntimeError,
        who(node),
        f"{got}: an incorrect number of gradients (expected {n}, got {len(outs)}){extra}",
        f"return {', '.join([f'grad_{name}' for name in names])}, with None for what has no gradient",
        notes=lines(node),
    )


@explains("backward returns tensors and None")
def not_a_gradient(node: Ctx, o: Any, i: int) -> Exception:
    """The error for what a user's backward returned in place number i."""
    if isinstance(o, Tensor):
        return error(
            RuntimeError,
            who(node),
            f"returned a gradient different from None for {of_argument(node, i)} (gradient {i}), which is no tensor",
            "return None there, or give apply a tensor",
            notes=lines(node),
        )
    kind, row = f"of type {type(o).__name__}", ", ".join([f"grad_{name}" for name in names_of(node)])
    fix = "return the slope times the gradient that arrives: slope * grad_output"
    if isinstance(o, np.ndarray):
        kind = f"as a NumPy array of shape {o.shape}"
        fix = "return minigrad.from_numpy(...) of it, and put @once_differentiable before backward"
    elif isinstance(o, (list, tuple, dict)):
        fix = f"return {row}" + (", side by side" if len(node._edges) > 1 else "")
    return error(
        RuntimeError,
        who(node),
        f"returned gradient {i}, for {of_argument(node, i)}, {kind}: expected a tensor or None",
        fix,
        notes=lines(node),
    )


@explains("a gradient has its input's shape")
def wrong_shape(node: Any, i: int, got: tuple, shapes: Sequence) -> Exception:
    """Return the error for a gradient that cannot be that of its argument; `shapes` has those of all arguments."""
    expected = shapes[i]
    hint, fix = "", f"return a gradient of shape {expected}, that of the argument"
    owner = next((j for j, shape in enumerate(shapes) if got and j != i and shape == got), None)
    if isinstance(node, Ctx) and owner is not None:
        names = names_of(node)
        hint = f"; {got} is the shape of argument {owner}, {names[owner]}"
        row = ", ".join(["ctx"] * node._fn.combined + names)
        fix += f"; if they are exchanged, return them in the same order as forward({row})"
    elif len(got) > 1 and got == expected[::-1]:
        hint, fix = "; it is transposed", f"return its .T, of shape {expected}"
    return error(
        RuntimeError,
        who(node),
        f"returned an invalid gradient at index {i} - got {list(got)} but expected shape compatible with {list(expected)}: "
        f"gradient {i} has shape {got}, and {of_argument(node, i)} has shape {expected}{hint}",
        fix,
        notes=lines(node),
    )


@explains("gradient of integers")
def no_float(node: Any, i: int, g: Tensor, dtype: np.dtype) -> None:
    """Warn of a gradient of bools or integers, before it is made one of floating point."""
    is_bool = g._np_dtype.kind == "b"
    why = "a condition says only where the slope is 1" if is_bool else "what stood behind the point is lost"
    warn(
        "gradient-dtype",
        who(node),
        f"returned gradient {i} in {g.dtype}, for {of_argument(node, i)} in {dtypes.of_numpy(dtype)}: {why}",
        "multiply it with the gradient that arrives: mask * grad_output"
        if is_bool
        else "compute it in floating point: .to(grad_output.dtype) before dividing",
        notes=lines(node),
    )


def exchanged(node: Ctx, gs: list, outs: tuple) -> None:
    """In debug mode: warn of None for a wanted gradient while one that nobody wants was computed."""
    lacking = [i for i, need in enumerate(node._needs) if need and outs[i] is None]
    idle = [i for i, need in enumerate(node._needs) if not need and outs[i] is not None]
    if lacking and idle and any(g is not None for g in gs):
        i, j = lacking[0], idle[0]
        warn(
            "none-for-needed",
            who(node),
            f"returned None as gradient {i}, for {of_argument(node, i)} of shape {node._given[i][0]}, which requires grad, and "
            f"computed gradient {j}, for {of_argument(node, j)}, which does not",
            f"ask ctx.needs_input_grad[{i}] for {names_of(node)[i]}, and ctx.needs_input_grad[{j}] for {names_of(node)[j]}",
            notes=lines(node),
        )


@lru_cache(maxsize=1024)
def unread(method: Any) -> Any:
    """The parameters of backward for gradients, or of jvp for tangents, if none of them is ever read there.

    False if one is, or none has a name; one that begins with an underscore says that it is not read on purpose.
    """
    code = users_code(method)
    if code is None or code.co_flags & 0x0C:  # *args or **kwargs
        return False
    names = code.co_varnames[1 : code.co_argcount]
    used = {name for _, name, _ in steps(method)}
    return False if not names or any(name in used or name.startswith("_") for name in names) else names


def regardless(given: list, made: Sequence) -> int | None:
    """Which result is not zero, though it comes from a method that read nothing of what it was given, where not all is 1."""
    plain = all(t is None or type(t) is Tensor for t in (*given, *made))
    if not plain or all(t is None or (t._a == 1).all() for t in given):
        return None
    return next((i for i, t in enumerate(made) if t is not None and (t._a != 0).any()), None)


def unused(node: Ctx, gs: list, outs: tuple, names: tuple) -> None:
    """Warn of a backward that never reads the gradient it is given, where that makes its result wrong."""
    if (i := regardless(gs, outs)) is not None:
        warn(
            "gradient-unused",
            who(node),
            f"never uses {', '.join(names)}, the gradient that arrives, so that gradient {i} is the same whatever comes "
            "after this operation",
            f"multiply the slope with it (the chain rule): slope * {names[0]}",
            notes=lines(node),
        )


def unused_tangents(cls: Any, tangents: list, outs: Sequence) -> None:
    """The same for a jvp that never reads the tangents."""
    names = unread(cls.jvp)
    if names and (i := regardless(tangents, outs)) is not None:
        warn(
            "tangent-unused",
            f"{cls.__name__}.jvp",
            f"never uses {', '.join(names)}, so that tangent {i} is the same however fast the inputs change",
            f"multiply the slope with it (the chain rule): slope * {names[0]}",
            notes=return_of(cls.jvp),
        )


@explains("backward modifies a gradient in place")
def written(node: Any, i: int, g: Tensor) -> Exception:
    """The error for a user's backward that has written to a gradient that it was given."""
    counter = bottom(g)._ver
    counted = counter is not None and counter.n
    how = f"in place by {counter.writer}" if counted else "through NumPy or .data"
    return error(
        RuntimeError,
        type(node).__name__,
        f"has modified gradient {i}, of shape {tuple(g.shape)}, which it was given, {how}; the same memory may be the "
        "gradient of other tensors",
        "make a new tensor, g = g * 2 for g *= 2, or work on a copy: g.clone(), g.numpy().copy()",
        counter.place if counted else None,
        [
            *noted("its backward is", defined_at(node._fn.backward)),
            *([] if counted else debug.lent(storage(bottom(g)._a))),
        ],
    )


def check_private(node: Ctx, saved: Saved) -> None:
    """A user's backward may have written to a saved tensor only if nobody else has it."""
    i, counter = node._saved.index(saved), saved.tensor._ver
    if saved.index is None and node._places[i] is None:
        return
    raise error(
        RuntimeError,
        type(node).__name__,
        f"has modified saved tensor {i}, of shape {tuple(saved.tensor.shape)}, in place by {counter.writer}; it is "
        f"{'the result' if saved.index is not None else 'an argument'} of forward, which now has other numbers",
        "make a new tensor, x = x * 2 for x *= 2, or work on a copy: x.clone()",
        counter.place,
        noted("its backward is", defined_at(node._fn.backward)),
    )


def look_at_history(node: Ctx, gs: list, outs: tuple) -> None:
    """Under create_graph, warn of a gradient that has lost the history of the one it was computed from.

    A backward is linear in what it is given, so that its results, unless they are zero, are tracked where that is.
    """
    if not any(map(tracked, gs)):
        return
    for i, o in enumerate(outs):
        if o is not None and not tracked(o) and bottom(o)._a.any():
            warn(
                "untracked-backward",
                node.name(),
                f"is computed under create_graph=True, but gradient {i}, of shape {tuple(o.shape)}, that it returned has no "
                "history: second derivatives miss what goes through it",
                "compute it with minigrad's operations, without detach(), no_grad() and NumPy; or mark backward with "
                "@once_differentiable, which makes a second derivative an error",
                returned_at(node._fn.backward),
            )
            return


def tracked(t: Any) -> bool:
    """Whether somebody follows a tensor: it has a history, or a tangent, as some transform around sees it."""
    seen = () if t is None else levels(t)
    return any([history(v) is not None or type(v) is Box and isinstance(v._extra, Tensor) for v in seen])


def refused_tangents(cls: Any, kind: type[Exception], what: str, fix: str) -> Exception:
    """Return an error about what a jvp has returned, at the line where it did."""
    return error(kind, f"{cls.__name__}.jvp", what, fix, returned_at(cls.jvp), [f"applied at {user_place()}"])


@explains("jvp returns one tangent per output")
def bad_tangents(cls: Any, result: Any, outs: tuple, i: int) -> Exception:
    """Return the error for what is not one tangent per output, of its shape and dtype."""
    tangents = as_tuple(result)
    if len(tangents) != len(outs):
        what = f"returned {counted(len(tangents), 'tangent')}, but forward has {counted(len(outs), 'output')}"
        fix = f"return {', '.join(f'tangent_{i}' for i in range(len(outs)))}"
        return refused_tangents(cls, RuntimeError, what, fix)
    o, t = outs[i], tangents[i]
    if not isinstance(t, Tensor):
        what = f"tangent {i} is of type {type(t).__name__}, expected a tensor or None"
        fix = "return a tensor: minigrad.from_numpy(...) of an array, x_t.new_tensor(...) of a number"
        return refused_tangents(cls, TypeError, what, fix)
    given, own = (f"shape {tuple(x.shape)} and {x.dtype}" for x in (t, o))
    fix = "return a tangent of the output's shape and dtype"
    if t.shape == o.shape:
        fix = f"convert it: tangent.to({o.dtype})"
    return refused_tangents(cls, RuntimeError, f"tangent {i} has {given}, but its output has {own}", fix)


@explains("jvp has modified a tangent that it was given")
def tangent_modified(cls: Any, i: int, t: Tensor) -> Exception:
    """Return the error for a jvp that has written to a tangent that it was given."""
    return error(
        RuntimeError,
        f"{cls.__name__}.jvp",
        f"has modified tangent {i}, which it was given, in place; that is still the tangent of its input",
        "clone() it first, or use the out-of-place form of that operation",
        memory(t).place,
        [f"applied at {user_place()}"],
    )


@explains("a gradient is on its leaf's device")
def on_another_device(t: Tensor, g: Tensor) -> Exception:
    """Return the error for a gradient that has come from the wrong place: from a backward or a hook of the user's."""
    there, own = (x.device for x in (g, t))
    return error(
        RuntimeError,
        "backward",
        f"the gradient of a leaf of shape {tuple(t.shape)} on {own} has come on {there}",
        "let the backward of your Function return tensors on the device of its inputs, as grad_output.new_zeros(...) makes",
    )


@explains("a node takes one gradient per output")
def node_called(node: Any, grads: tuple) -> Exception:
    """Return the error for a node that is called with something else than one gradient per output."""
    names = [type(g).__name__ for g in grads if g is not None and not isinstance(g, Tensor)]
    return error(
        TypeError,
        name_of(node),
        f"is called with {f'a {names[0]}' if names else counted(len(grads), 'gradient')}, and takes {len(node._meta)}, "
        "a tensor or None for each of its outputs",
        f"pass tensors of the shapes {', '.join([str(m and m[0]) for m in node._meta])}",
    )
