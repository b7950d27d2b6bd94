"""Mistakes in a user's backward or jvp: its results, and writes to the gradients that it receives.

After each call the engine checks the number, kind and shape of the gradients and the version counters; the errors are
here.  Two checks go further: gradients returned for the wrong argument, and a backward or jvp that never
reads its incoming gradient or tangents.
"""

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
from ..core.saved import Saved, memory, plain_tensor
from ..core.tensor import Box, Tensor, levels
from ..errors import error, warn
from ..places import STORES, defined_at, noted, return_of, returned_at, returns, steps, user_place, users_code
from . import debug
from .report import argument_names, counted, explains, row


def check_gradients(node: Ctx, gs: list, outs: Any) -> None:
    """Check the results of a user's backward further than the engine does."""
    if outs is None:
        nothing(node)
    if outs is None or type(outs) is tuple and all([o is None for o in outs]):
        stored(node)
    for s in node._saved if type(node._saved) is tuple else ():
        if type(s) is Saved and s.unpack is None and (v := s.tensor._ver) is not None and v.n != s.version:
            check_private(node, s)
    if type(outs) is tuple and any([o is None for o in outs]):
        none_for_needed(node, gs, outs)
    names, again = unread(node._fn.backward), current().grad
    if not (names or again or debug.mode.on):
        return
    outs, n = as_tuple(outs), len(node._edges)
    if len(outs) < n or any([o is not None and not isinstance(o, Tensor) for o in outs]):
        return  # the engine raises
    if names:
        unused(node, gs, outs[:n], names)
    if again:
        check_history(node, gs, outs[:n])


def check_tangents(cls: Any, ctx: Ctx, tangents: tuple, result: Any) -> None:
    """Check the results of a user's jvp further than core does."""
    found = as_tuple(result)
    if (
        result is None
        and any([m is not None and m[1] in dtypes.FLOATS for m in ctx._meta or ()])
        and returns(cls.jvp) == []
    ):
        raise refused_tangents(
            cls,
            RuntimeError,
            "has no `return`, so the tangent of output 0 would be zero",
            "return the tangent of each output, or write `return None` if it is zero",
        )
    if all([t is None or isinstance(t, Tensor) for t in found]):
        unused_tangents(cls, list(tangents), found)


def who(node: Any) -> str:
    """Return the name of the method that computed the gradients, or of a built-in operation's node."""
    return f"{node._fn.__name__}.backward" if isinstance(node, Ctx) else type(node).__name__


def lines(node: Any) -> list[str]:
    """Return notes: the line of backward's only `return`, or else its `def`, and the forward call if known."""
    made = noted("the forward call was", node._trace)
    return [*return_of(node._fn.backward), *made] if isinstance(node, Ctx) else made


def names_of(node: Any) -> list[str]:
    """Return forward's names for its arguments."""
    return argument_names(node._fn, len(node._edges)) if isinstance(node, Ctx) else []


def of_argument(node: Any, i: int) -> str:
    """Return the name of the argument of gradient i."""
    return f"argument {names_of(node)[i]}" if isinstance(node, Ctx) else f"argument {i}"


def nothing(node: Ctx) -> None:
    """Warn about a backward without `return`; an explicit `return None` is a gradient of zero."""
    method = node._fn.backward
    if len(node._edges) != 1 or not node._needs[0] or users_code(method) is None or returns(method):
        return
    warn(
        "backward-returns-nothing",
        who(node),
        f"has no `return`, so {names_of(node)[0]}, of shape {node._given[0][0]}, gets no gradient",
        "return the gradient, or write `return None` if it is zero",
        notes=lines(node),
    )


def stored(node: Ctx) -> None:
    """Warn about a backward that returns no gradient, but assigns one to the attribute `grad` of a tensor."""
    place = next((p for step, name, p in steps(node._fn.backward) if step in STORES and name == "grad"), None)
    if place is not None and any(node._needs):
        warn(
            "gradient-stored",
            who(node),
            "assigns .grad itself and returns None, which stands for a gradient of zero: the tensors that the inputs were "
            "computed from get none",
            "return the gradient; the engine adds it to .grad of the leaves",
            place,
            lines(node),
        )


@explains("backward returns one gradient per argument")
def wrong_number(node: Ctx, outs: tuple) -> Exception:
    """Return the error for too few or too many gradients."""
    n, names = len(node._edges), names_of(node)
    given = f"({', '.join(names)})"
    got = f"returns {counted(len(outs), 'gradient')} for the {counted(n, 'argument')} of forward, {given}"
    if outs == (None,) and not returns(node._fn.backward):
        got = f"has no `return`, and forward has {counted(n, 'argument')}, {given}"
    extra = "; the ctx gets no gradient" if len(outs) == n + 1 and outs[0] is None else ""
    if len(outs) == 1 and isinstance(outs[0], Iterator):
        extra = f"; a {type(outs[0]).__name__} is not a tuple: wrap it in tuple(...)"
    others = [name for name, given in zip(names, node._given) if given is None]
    why = "" if all(node._needs) else ", with None for an argument without a gradient"
    if others:
        why = f": {row(others)} {'are not tensors and have' if len(others) > 1 else 'is not a tensor and has'} no gradient"
    return error(
        RuntimeError,
        who(node),
        f"{got}: an incorrect number of gradients (expected {n}, got {len(outs)}){extra}",
        f"return {', '.join(['None' if name in others else f'grad_{name}' for name in names])}{why}",
        notes=lines(node),
    )


@explains("backward returns tensors and None")
def not_a_gradient(node: Ctx, o: Any, i: int) -> Exception:
    """Return the error for a user's gradient i that is not a gradient."""
    if isinstance(o, Tensor):
        return error(
            RuntimeError,
            who(node),
            f"returned a gradient different from None for {of_argument(node, i)} (gradient {i}), which is not a tensor",
            "return None there, or pass a tensor to apply",
            notes=lines(node),
        )
    kind, row = f"of type {type(o).__name__}", ", ".join([f"grad_{name}" for name in names_of(node)])
    fix = "multiply the slope by the incoming gradient: slope * grad_output"
    if isinstance(o, np.ndarray):
        kind = f"as a NumPy array of shape {o.shape}"
        fix = "convert it with minigrad.from_numpy(...), and decorate backward with @once_differentiable"
    elif isinstance(o, (list, tuple, dict)):
        fix = f"return {row}, not in a {type(o).__name__}"
    return error(
        RuntimeError,
        who(node),
        f"returns gradient {i}, for {of_argument(node, i)}, {kind}: expected a tensor or None",
        fix,
        notes=lines(node),
    )


@explains("a gradient has its input's shape")
def wrong_shape(node: Any, i: int, got: tuple, shapes: Sequence) -> Exception:
    """Return the error for a gradient whose shape does not fit its argument; `shapes` lists those of all arguments."""
    expected = shapes[i]
    hint, fix = "", f"return a gradient of shape {expected}, the shape of the argument"
    owner = next((j for j, shape in enumerate(shapes) if got and j != i and shape == got), None)
    if isinstance(node, Ctx) and owner is not None:
        names = names_of(node)
        hint = f"; {got} is the shape of argument {owner}, {names[owner]}"
        row = ", ".join(["ctx"] * node._fn.combined + names)
        fix += f"; if the gradients are swapped, return them in the order of forward({row})"
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


@explains("gradient for an integer tensor")
def no_float(node: Any, i: int, g: Tensor, dtype: np.dtype) -> None:
    """Warn about a gradient of bools or integers before it is converted to floating point."""
    is_bool = g._np_dtype.kind == "b"
    why = "a mask only tells where the slope is 1" if is_bool else "its decimals are lost"
    warn(
        "gradient-dtype",
        who(node),
        f"returns gradient {i} in {g.dtype}, for {of_argument(node, i)} in {dtypes.of_numpy(dtype)}: {why}",
        "multiply it by the incoming gradient: mask * grad_output"
        if is_bool
        else "compute it in floating point: .to(grad_output.dtype) before dividing",
        notes=lines(node),
    )


def none_for_needed(node: Ctx, gs: list, outs: tuple) -> None:
    """Warn about None for a gradient that is needed, beside one that is not, or if a test of the ctx leaves out all."""
    if len(outs) != len(node._needs) or all(g is None for g in gs):
        return
    lacking = [i for i, need in enumerate(node._needs) if need and outs[i] is None]
    idle = [i for i, need in enumerate(node._needs) if not need and outs[i] is not None]
    if not lacking or not idle and any([o is not None for o in outs]):
        return
    if not tests_needs(node._fn.backward) and not (idle and debug.mode.on):  # without a test, None may be meant
        return
    i, names = lacking[0], names_of(node)
    fix = f"test ctx.needs_input_grad[{i}] for {names[i]}"
    what = "but returns no other gradient either"
    if idle:
        j = idle[0]
        what = f"but computes gradient {j}, for {of_argument(node, j)}, which does not"
        fix += f", and ctx.needs_input_grad[{j}] for {names[j]}"
    warn(
        "none-for-needed",
        who(node),
        f"returns None as gradient {i}, for {of_argument(node, i)} of shape {node._given[i][0]}, which requires grad, {what}",
        fix,
        notes=lines(node),
    )


def tests_needs(method: Any) -> bool:
    """Return True if a method reads ctx.needs_input_grad."""
    return any(name == "needs_input_grad" for _, name, _ in steps(method))


@lru_cache(maxsize=1024)
def unread(method: Any) -> Any:
    """Return the names of backward's gradients, or of jvp's tangents, if the method never reads any of them.

    Return False if it reads one, or if none has a name; a leading underscore marks one that is ignored on purpose.
    """
    code = users_code(method)
    if code is None or code.co_flags & 0x0C:  # *args or **kwargs
        return False
    names = code.co_varnames[1 : code.co_argcount]
    used = {name for _, name, _ in steps(method)}
    return False if not names or any(name in used or name.startswith("_") for name in names) else names


def regardless(given: list, made: Sequence) -> int | None:
    """Return the index of a nonzero result of a method that ignores its inputs, unless all inputs are 1; else None."""
    plain = all(t is None or type(t) is Tensor for t in (*given, *made))
    if not plain or all(t is None or (t._a == 1).all() for t in given):
        return None
    return next((i for i, t in enumerate(made) if t is not None and (t._a != 0).any()), None)


def unused(node: Ctx, gs: list, outs: tuple, names: tuple) -> None:
    """Warn about a backward that never reads its incoming gradient, if that makes its result wrong."""
    if (i := regardless(gs, outs)) is not None:
        warn(
            "gradient-unused",
            who(node),
            f"ignores the incoming gradient: gradient {i} does not depend on {', '.join(names)}",
            f"multiply the slope by it (the chain rule): slope * {names[0]}",
            notes=lines(node),
        )


def unused_tangents(cls: Any, tangents: list, outs: Sequence) -> None:
    """Warn about a jvp that never reads its tangents, if that makes its result wrong."""
    names = unread(cls.jvp)
    if names and (i := regardless(tangents, outs)) is not None:
        warn(
            "tangent-unused",
            f"{cls.__name__}.jvp",
            f"ignores the tangents of its inputs: tangent {i} does not depend on {', '.join(names)}",
            f"multiply the slope by it (the chain rule): slope * {names[0]}",
            notes=return_of(cls.jvp),
        )


@explains("backward modifies a gradient in place")
def written(node: Any, i: int, g: Tensor) -> Exception:
    """Return the error for a user's backward that modifies its incoming gradient."""
    counter = plain_tensor(g)._ver
    counted = counter is not None and counter.n
    how = f"in place ({counter.writer})" if counted else "through NumPy or .data"
    return error(
        RuntimeError,
        type(node).__name__,
        f"modifies incoming gradient {i}, of shape {tuple(g.shape)}, {how}; gradients of other tensors may share its memory",
        "make a new tensor, g = g * 2 instead of g *= 2, or work on a copy: g.clone(), g.numpy().copy()",
        counter.place if counted else None,
        [
            *noted("its backward is", defined_at(node._fn.backward)),
            *([] if counted else debug.lent(storage(plain_tensor(g)._a))),
        ],
    )


def check_private(node: Ctx, saved: Saved) -> None:
    """Raise if a user's backward modified a saved tensor that is an argument or the result of forward."""
    i, counter = node._saved.index(saved), saved.tensor._ver
    if saved.index is None and node._places[i] is None:
        return
    raise error(
        RuntimeError,
        type(node).__name__,
        f"modifies saved tensor {i}, of shape {tuple(saved.tensor.shape)}, in place ({counter.writer}), which changes "
        f"{'the result' if saved.index is not None else 'an argument'} of forward as well",
        "make a new tensor, x = x * 2 instead of x *= 2, or work on a copy: x.clone()",
        counter.place,
        noted("its backward is", defined_at(node._fn.backward)),
    )


def check_history(node: Ctx, gs: list, outs: tuple) -> None:
    """Warn under create_graph about a gradient that has lost the history of the incoming gradient.

    A backward is linear in its incoming gradient, so nonzero results are tracked if that is tracked.
    """
    if not any(map(tracked, gs)):
        return
    for i, o in enumerate(outs):
        if o is not None and not tracked(o) and plain_tensor(o)._a.any():
            warn(
                "untracked-backward",
                node.name(),
                f"returns gradient {i}, of shape {tuple(o.shape)}, without history under create_graph=True: second "
                "derivatives miss the part that goes through it",
                "compute it with minigrad's operations, without detach(), no_grad() and NumPy; or decorate backward with "
                "@once_differentiable, which makes a second derivative an error",
                returned_at(node._fn.backward),
            )
            return


def tracked(t: Any) -> bool:
    """Return True if a tensor has a history or a tangent at some level."""
    seen = () if t is None else levels(t)
    return any([history(v) is not None or type(v) is Box and isinstance(v._extra, Tensor) for v in seen])


def refused_tangents(cls: Any, kind: type[Exception], what: str, fix: str) -> Exception:
    """Return an error about the result of a jvp, at the line that returns it."""
    return error(kind, f"{cls.__name__}.jvp", what, fix, returned_at(cls.jvp), [f"applied at {user_place()}"])


@explains("jvp returns one tangent per output")
def bad_tangents(cls: Any, result: Any, outs: tuple, i: int) -> Exception:
    """Return the error for tangents that do not match the outputs in number, type, shape or dtype."""
    tangents = as_tuple(result)
    if len(tangents) != len(outs):
        what = f"returns {counted(len(tangents), 'tangent')}, but forward has {counted(len(outs), 'output')}"
        fix = f"return {', '.join(f'tangent_{i}' for i in range(len(outs)))}"
        return refused_tangents(cls, RuntimeError, what, fix)
    o, t = outs[i], tangents[i]
    if not isinstance(t, Tensor):
        what = f"tangent {i} is of type {type(t).__name__}, expected a tensor or None"
        fix = "return a tensor: minigrad.from_numpy(array), or x_t.new_tensor(number)"
        return refused_tangents(cls, TypeError, what, fix)
    given, own = (f"shape {tuple(x.shape)} and {x.dtype}" for x in (t, o))
    fix = "return a tangent of the output's shape and dtype"
    if t.shape == o.shape:
        fix = f"convert it: tangent.to({o.dtype})"
    return refused_tangents(cls, RuntimeError, f"tangent {i} has {given}, but its output has {own}", fix)


@explains("jvp modifies a tangent in place")
def tangent_modified(cls: Any, i: int, t: Tensor) -> Exception:
    """Return the error for a jvp that modifies an incoming tangent."""
    return error(
        RuntimeError,
        f"{cls.__name__}.jvp",
        f"modifies incoming tangent {i} in place, which is still the tangent of its input",
        "clone() it first, or use the out-of-place form of the operation",
        memory(t).place,
        [f"applied at {user_place()}"],
    )


@explains("a gradient is on its leaf's device")
def on_another_device(t: Tensor, g: Tensor) -> Exception:
    """Return the error for a gradient from a user's backward or hook that is on the wrong device."""
    there, own = (x.device for x in (g, t))
    what = f"the gradient of a leaf of shape {tuple(t.shape)} on {own} is on {there}"
    fix = "return tensors on the device of the inputs from your Function's backward, as grad_output.new_zeros(...) does"
    return error(RuntimeError, "backward", what, fix)


@explains("a node takes one gradient per output")
def node_called(node: Any, grads: tuple) -> Exception:
    """Return the error for calling a node with other arguments than one gradient per output."""
    names = [type(g).__name__ for g in grads if g is not None and not isinstance(g, Tensor)]
    return error(
        TypeError,
        name_of(node),
        f"takes {counted(len(node._meta), 'gradient')}, a tensor or None for each output, but got "
        f"{f'a {names[0]}' if names else len(grads)}",
        f"pass tensors of the shapes {', '.join([str(m and m[0]) for m in node._meta])}",
    )


@explains("a node's gradients have the shapes of its outputs")
def misshapen(node: Any, grads: tuple, i: int) -> Exception:
    """Return the error for calling a node with a gradient that its backward cannot use because of its shape."""
    shape = tuple(node._meta[i][0])
    what = f"gradient {i} has shape {tuple(grads[i].shape)}, but output {i} has shape {shape}"
    return error(RuntimeError, name_of(node), what, f"pass a gradient of shape {shape}")
