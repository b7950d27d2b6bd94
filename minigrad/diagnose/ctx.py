"""Check the ctx after a user's forward, and report mistakes as soon as it returns; name methods that a Function lacks.

Nothing here runs for a ctx without attributes and marks.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ..arrays.dtypes import FLOATS
from ..core.context import Ctx, index_of_identical
from ..core.function import Function
from ..core.saved import plain_tensor, version
from ..core.tensor import Tensor, is_float
from ..errors import error, warn
from ..places import (
    READS,
    STORES,
    Place,
    attribute_at,
    defined_at,
    local_variables,
    noted,
    return_of,
    steps,
    user_frame,
)
from ..tensors.nested import tensors_in
from .inplace_writes import of_leaf
from .report import EXPLAINED, Notes, argument_names, explains

# public names of a ctx
PROTOCOL = ("mark_dirty", "mark_non_differentiable", "needs_input_grad", "save_for_backward", "save_for_forward",
            "saved_tensors", "set_materialize_grads")  # fmt: skip


checks = Notes()  # ctx -> functions without arguments to call before its backward


def check_before_backward(ctx: Any, check: Callable) -> None:
    """Call a check when the ctx's backward is about to run."""
    checks[ctx] = (*(checks.get(ctx) or ()), check)


@explains("saved on ctx")
def check_ctx(ctx: Any, given: tuple, returned: tuple, outs: tuple) -> None:
    """Check the attributes and marks of the ctx of a Function that is recorded with these arguments and outputs."""
    for name, value in ctx.__dict__.items():
        if name in PROTOCOL:
            raise assigned(ctx, name)
        for kept in tensors_in(value) if isinstance(value, (Tensor, list, tuple, dict)) else ():
            i, j = index_of_identical(kept, given), index_of_identical(kept, returned)
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
        if t is not None and index_of_identical(t, returned) is None:
            mark_without_effect(ctx, t)


def method_of(ctx: Any) -> Any:
    """Return the user's method that receives the ctx in the forward pass."""
    return ctx._fn.forward if ctx._fn.combined else ctx._fn.setup_context


def check_class(cls: Any, given: tuple, returned: tuple) -> None:
    """Warn after the first call about an input or output stored on the class, which all calls share."""
    for name, value in list(vars(cls).items()):
        for what, group in (("argument", given), ("output", returned)):
            i = index_of_identical(value, group) if isinstance(value, Tensor) else None
            if i is not None and any(step in STORES and which == name for step, which, _ in steps(cls.forward)):
                warn(
                    "class-attribute",
                    f"{cls.__name__}.forward",
                    f"stores {what} {i}, of shape {tuple(value.shape)}, as {cls.__name__}.{name}: all calls share the class, "
                    "so the next call overwrites it before backward reads it",
                    "store it on the ctx, which belongs to one call: ctx.save_for_backward(...)",
                    notes=noted("stored", attribute_at(cls.forward, STORES, name)),
                )


def changed(who: str, name: str, t: Tensor, before: int) -> None:
    """Warn before backward if an input stored as an attribute was modified."""
    if version(t) != before:
        wrote = plain_tensor(t)._ver
        warn(
            "ctx-attribute-changed",
            who,
            f"{wrote.writer} modifies ctx.{name}, an input of shape {tuple(t.shape)}, after forward: it is at version "
            f"{version(t)}, expected version {before}. backward uses the new values",
            f"save it with ctx.save_for_backward({name}), which detects this, and modify a clone()",
            notes=noted("modified", wrote.place),
        )


def leaks(ctx: Any, name: str, t: Tensor, i: int) -> None:
    """Warn about an output stored as an attribute."""
    warn(
        "ctx-attribute-leak",
        where(ctx),
        f"stores output {i}, of shape {tuple(t.shape)}, as ctx.{name}: the output holds its graph, the graph holds the ctx, "
        "and the ctx holds the output. This cycle delays the release of their memory",
        f"save it with ctx.save_for_backward({name}), which makes no cycle",
        notes=noted("stored", attribute_at(method_of(ctx), STORES, name)),
    )


def assigned(ctx: Any, name: str) -> Exception:
    """Return the error for assigning to one of the ctx's methods."""
    return error(
        AttributeError,
        type(ctx).__name__,
        f"ctx.{name} is a method; assigning to it saves and marks nothing",
        f"call it: ctx.{name}({'False' if name == 'set_materialize_grads' else 'x'})",
        attribute_at(method_of(ctx), STORES, name),
    )


def mark_without_effect(ctx: Any, t: Tensor) -> None:
    """Warn about a mark that has no effect."""
    warn(
        "mark-not-returned",
        where(ctx),
        f"calls mark_non_differentiable on a tensor of shape {tuple(t.shape)} that forward does not return: the mark has no "
        "effect, and the output has a gradient",
        "return the marked tensor itself, or mark the one that you return",
        notes=return_of(ctx._fn.forward),
    )


def no_attribute(ctx: Any, name: str, place: Place) -> Exception:
    """Return the error for an attribute that does not exist: misspelt, never set, or a method of a dict."""
    if hasattr(dict, name):
        key = re.search(rf"\.{name}\(\s*['\"]([A-Za-z_]\w*)['\"]", place.code)
        n = key[1] if key else "n"
        what = f"the ctx has no attribute {name!r}: it is no dict"
        fix = f"keep values as attributes: write ctx.{n} = {n} in forward, and read ctx.{n} in backward"
        return error(AttributeError, type(ctx).__name__, what, fix, place)
    deleted = attribute_at(ctx._fn.backward, ("DELETE_ATTR",), name)
    if deleted is not None and re.search(rf"\bdel\b.*\b{name}\b", deleted.code):
        what = f"the ctx has no attribute {name!r} any more: backward deletes it, so it runs only once"
        fix = f"keep ctx.{name}, or run backward once, without retain_graph=True"
        return error(AttributeError, type(ctx).__name__, what, fix, place, noted("deleted", deleted))
    near = difflib.get_close_matches(name, [*PROTOCOL, *ctx.__dict__], 1, 0.8)
    return error(
        AttributeError,
        type(ctx).__name__,
        f"the ctx has no attribute {name!r}",
        f"write ctx.{near[0]}"
        if near
        else f"set it in forward: ctx.{name} = ..., and pass its value to {ctx._fn.__name__}.apply",
        place,
    )


def where(ctx: Any) -> str:
    """Return the name of the method that fills this ctx."""
    return f"{ctx._fn.__name__}.{'forward' if ctx._fn.combined else 'setup_context'}"


@explains("the methods of ctx take tensors")
def not_a_tensor(ctx: Any, method: str, i: int, value: Any) -> Exception:
    """Return the error for an argument of a ctx method that is not a tensor."""
    frame, kind = user_frame(2), RuntimeError if method.startswith("mark_") else TypeError
    own = next((name for name, v in local_variables(frame).items() if v is value), None)
    if isinstance(value, (list, tuple)):
        fix = f"unpack it: ctx.{method}(*{own or 'tensors'})"
    elif isinstance(value, set):  # C++ writes ctx->save_for_backward({a, b})
        fix = f"omit the braces: ctx.{method}(a, b)"
    elif method.startswith("mark_"):
        fix = f"pass inputs or outputs of forward to ctx.{method}(...)"
    else:
        fix = f"store it as an attribute: ctx.{own or 'n'} = {own or 'n'}"
    return error(
        kind, where(ctx), f"{method} only takes tensors, but argument {i} is of type {type(value).__name__}", fix
    )


@explains("tensors are saved in one call")
def saved_twice(ctx: Any, method: str, before: tuple) -> Exception:
    """Return the error for saving a second time, which would replace the tensors saved before."""
    tensors = "1 tensor" if len(before) == 1 else f"{len(before)} tensors"
    what = f"calls {method} a second time; the first call saved {tensors}"
    return error(RuntimeError, where(ctx), what, f"save all tensors in one call: ctx.{method}(a, b)")


EXPLAINED |= {
    "saved_tensors cannot be set": lambda ctx: error(
        AttributeError,
        type(ctx).__name__,
        "ctx.saved_tensors is read-only: it returns the tensors of save_for_backward",
        "call ctx.save_for_backward(a, b)",
    ),
    "mark_dirty takes inputs": lambda ctx, d: error(
        RuntimeError,
        f"{ctx._fn.__name__}.forward",
        f"calls mark_dirty on a tensor of shape {tuple(d.shape)} that is not one of its inputs",
        "mark only inputs that forward modifies in place, and no new tensors",
        notes=noted("marked", attribute_at(method_of(ctx), READS, "mark_dirty")),
    ),
    "forward returns the inputs that it marks dirty": lambda ctx, d: error(
        RuntimeError,
        f"{ctx._fn.__name__}.forward",
        "some elements marked as dirty during the forward method were not returned as output: mark_dirty received an input "
        f"of shape {tuple(d.shape)}, which forward does not return",
        "return the input that forward modifies in place",
        notes=return_of(ctx._fn.forward),
    ),
}


@explains("forward modifies an input without mark_dirty")
def input_modified(ctx: Any, args: tuple, a: Tensor) -> Exception:
    """Return the error for an input that an in-place operation modified without a mark."""
    written: Any = plain_tensor(a)._ver
    return unmarked(ctx, args, a, f"in place ({written.writer})", written.place)


def unmarked(ctx: Any, args: tuple, a: Tensor, how: str, where: Any, notes: Sequence[str] = ()) -> Exception:
    """Return the error for an input that forward modified without a mark."""
    cls: Any = ctx._fn
    i = index_of_identical(a, args)
    assert i is not None
    name = argument_names(cls, len(args))[i]
    return error(
        RuntimeError,
        f"{cls.__name__}.forward",
        f"modifies argument {i} ({name}), of shape {tuple(a.shape)}, {how} without ctx.mark_dirty({name}): the graph "
        "does not know of the change, so gradients may be wrong",
        f"call ctx.mark_dirty({name}) and return {name}, or work on a copy: {name}.clone(), or in NumPy {name}.numpy().copy()",
        where,
        notes,
    )


@explains("forward modifies a leaf that requires grad")
def dirty_leaf(ctx: Any, args: tuple, d: Tensor, root: Tensor) -> Exception:
    """Return the error for writing to a leaf that requires grad."""
    names = [f"{x}.clone()" if a is d else x for a, x in zip(args, argument_names(ctx._fn, len(args)))]
    what = f"{of_leaf(d, root)}, is being used in an in-place operation (mark_dirty); forward has already modified it"
    fix = f"pass a copy, {ctx._fn.__name__}.apply({', '.join(names)}), or work inside `with minigrad.no_grad():`"
    return error(RuntimeError, ctx._fn.__name__, what, fix)


@explains("output is a structure")
def structure_returned(cls: Any, o: Any, i: int, kind: Callable = is_float) -> None:
    """Raise if output i is a structure with tensors (of that kind: floats), whose history would be lost.

    Attributes of objects count, too.  An iterator always raises, as looking into it would use it up.
    """
    unseen = isinstance(o, Iterator)
    if isinstance(o, (Tensor, Ctx, type)) or not (unseen or any(map(kind, tensors_in(getattr(o, "__dict__", o))))):
        return
    what = "may yield tensors" if unseen else "contains tensors"
    raise error(
        TypeError,
        f"{cls.__name__}.forward",
        f"returns a {type(o).__name__} that {what} as output {i}; minigrad cannot track them there",
        "return the tensors themselves as a tuple, or use NestedIOFunction",
        notes=return_of(cls.forward),
    )


@explains("output is not a tensor")
def output_no_tensor(ctx: Any, args: tuple, returned: tuple) -> None:
    """Raise if an output is a structure or the ctx; warn if no output is a tensor although a gradient is needed."""
    who = f"{ctx._fn.__name__}.forward"
    for i, o in enumerate(returned):
        structure_returned(ctx._fn, o, i)
        if o is ctx:
            raise error(
                TypeError,
                who,
                f"returns the ctx as output {i}; minigrad passes it to backward by itself",
                "return only the outputs",
                notes=return_of(ctx._fn.forward),
            )
    if not any(isinstance(t, Tensor) for t in returned):
        wanting = ctx._needs.index(True)
        kinds = ", ".join(["None" if o is None else type(o).__name__ for o in returned])
        warn(
            "no-tensor-output",
            who,
            f"returns {kinds} and no tensor, so argument {wanting}, of shape {tuple(args[wanting].shape)}, gets no gradient",
            "return a tensor; convert a NumPy array with minigrad.from_numpy(...)",
            notes=return_of(ctx._fn.forward),
        )


METHODS = ("forward", "setup_context", "backward", "jvp", "vmap")


def misspelt(cls: type[Function], name: str) -> tuple[str, list[str]] | None:
    """Return a method of the class whose name is almost `name`, and a note with its line; None if there is none."""
    found = [m for m in vars(cls) if m not in METHODS and callable(getattr(cls, m)) and not m.startswith("_")]
    near = difflib.get_close_matches(name, found, 1, 0.85)
    return (near[0], noted(f"`{near[0]}` is", defined_at(getattr(cls, near[0])))) if near else None


@explains("the Function has no backward")
def no_backward(cls: type[Function]) -> Exception:
    """Return the error for differentiating a Function without backward."""
    what = "you must implement either the backward or vjp method for your custom autograd.Function to use it with "
    return missing(cls, "backward", what + "backward mode AD")


@explains("the Function has no jvp")
def no_jvp(cls: type[Function]) -> Exception:
    """Return the error for passing tangents to a Function without jvp."""
    what = "you must implement the jvp function for custom autograd.Function to use it with forward mode AD"
    return missing(cls, "jvp", what)


def missing(cls: type[Function], name: str, what: str) -> Exception:
    """Return the error for a missing method."""
    fix = f"add a @staticmethod def {name}(ctx, {'*args)' if name == 'forward' else WRITTEN[name]}"
    if (near := misspelt(cls, name)) is None:
        return error(
            NotImplementedError, cls.__name__, what, fix, notes=noted("its forward is", defined_at(cls.forward))
        )
    return error(
        NotImplementedError,
        cls.__name__,
        f"{what}; the class has a method `{near[0]}`",
        f"rename {near[0]} to {name}",
        notes=near[1],
    )


WRITTEN = {
    "backward": "grad_output)",
    "jvp": "*tangents) that returns a tangent for each output; for second derivatives without jvp use jacrev(jacrev(f)) "
    "instead of hessian(f)",
}


def check_names(cls: type[Function]) -> None:
    """Check at a Function's first call that it has a forward and no misspelt setup_context."""
    if cls.forward is Function.forward:
        raise missing(cls, "forward", "you must implement the forward function for custom autograd.Function")
    if cls.combined and (near := misspelt(cls, "setup_context")) is not None:
        warn(
            "misspelt-method",
            cls.__name__,
            f"has a method `{near[0]}` but no setup_context: minigrad never calls it",
            f"rename {near[0]} to setup_context",
            notes=near[1],
        )
