"""Errors for arguments that an operation cannot take.

Everything here runs after a call has failed, so checking arguments costs nothing.
"""

from __future__ import annotations

import inspect
import re
import reprlib
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import errors
from ..arrays.kinds import on_device, on_two_devices
from ..arrays.shapes import apart, meeting, sketch
from ..core.context import Ctx
from ..core.tensor import Tensor
from ..errors import InternalError, Interruption, MinigradError, error, no_room
from ..ops.base.registry import TABLE
from ..ops.public_functions import SPELLINGS
from ..places import through_users_code, user_frame, variables
from .report import explains
from .users_program import made_at, without_return
from .wrong_types import by_name, longest, misfit, number, operand

if TYPE_CHECKING:
    from ..ops.base.primitive import Primitive

# NumPy's words for an index, shapes that do not broadcast, a size or number of bytes beyond int64, and too many dimensions
OUT_OF_BOUNDS = re.compile(r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)")
APART = re.compile("broadcast|allowed by the axis remapping")
TOO_BIG = re.compile(r"array is too big|Maximum allowed (size|dimension)|larger than the maximum possible")
TOO_MANY = re.compile(r"(?:maximum supported dimension|number of dimensions must be within \[0,)\D*(\d+)\D+(\d+)")
PASSED = (Warning, OSError, UnicodeError, RecursionError, Interruption)  # these explain themselves
CONVERSIONS = "float int complex index bool item len iter".split()  # conversions that Python calls by itself


# ---------------------------------------------------------------------- impl failed
@explains("the operation cannot compute with these arrays")
def failed(cls: type[Primitive], arrays: tuple, cause: Exception) -> Exception:
    """Return the error to raise after `cls.impl(*arrays)` has raised `cause`."""
    if isinstance(cause, PASSED) or through_users_code(cause):
        return cause
    if isinstance(cause, MinigradError):
        devices = {on_device(a) for a in arrays if isinstance(a, np.ndarray)}
        if len(devices) < 2 or cause.operation != "numpy":  # else NumPy received an array on the device
            return cause
    explained = explanation(cls, arrays, cause)
    explained.below = True
    return explained


def explanation(cls: type[Primitive], arrays: tuple, cause: Exception) -> Any:
    """Return the error that explains an exception of NumPy or Python."""
    name, named = cls.function_name(), dict(zip(cls.known_as(), arrays))
    if cls.elementwise and (wrong := wrong_operand(cls, name, arrays, cause)):
        return wrong
    tensors = {k: a for k, a in named.items() if isinstance(a, np.ndarray)}
    shapes = {k: a.shape for k, a in tensors.items()}
    if mixed := on_two_devices(name, tensors):
        return mixed
    if isinstance(cause, ValueError) and APART.search(str(cause)) and len(shapes) > 1:
        return error(RuntimeError, name, apart(shapes.values()), meeting(shapes), notes=[sketch(shapes)])
    if full := out_of_memory(name, cause, named):
        return full
    if found := OUT_OF_BOUNDS.search(str(cause)):
        i, d, n = map(int, found.groups())
        fix = f"use indices from {-n} to {n - 1}" if n else "skip empty tensors: they have no valid index"
        return error(IndexError, "index", f"index {i} is out of bounds for dimension {d} with size {n}", fix)
    vague = internal(name, cause, described(named))
    vague.vague = True
    return vague


def wrong_operand(cls: type[Primitive], name: str, arrays: tuple, cause: Exception) -> Any:
    """Return the error for an operand or a setting of the wrong kind; None if all are right."""
    n = len(cls.names) - cls.n_settings
    defaults = dict(zip(cls.names[n:], getattr(cls, "defaults", ())))
    for i, (k, a) in enumerate(zip(cls.known_as(), arrays)):
        if i < n and not operand(a):
            return error(TypeError, name, *no_tensor(k, a, " or a number"))
        if number(defaults.get(k)) and not number(a):
            what = f"argument {k!r} must be a number, not {describe(a)}"
            return error(TypeError, name, what, f"write {k}={defaults[k]}")
    return too_long(name, dict(zip(cls.known_as(), arrays)), cause)


def too_long(name: str, named: dict[str, Any], cause: Exception) -> Any:
    """Return the error for an int that is too large for an array; None if that is not the cause."""
    k, n = longest(named)
    if not isinstance(cause, OverflowError) or abs(n) < 1 << 31:
        return None
    fits = "in 64 bits" if abs(n) >= 1 << 63 else "the dtype of this operation"
    shown = n if n.bit_length() <= 100 else f"an int of {n.bit_length()} bits"
    return error(RuntimeError, name, f"{k} is {shown}, which does not fit {fits}", "use a smaller number")


def internal(name: str, cause: Exception, given: str) -> Any:
    """Return the error for a failure that no argument explains: a fault of minigrad."""
    what = f"minigrad failed internally, which is not your mistake, with {given}: {type(cause).__name__}: {cause}"
    e = error(InternalError, name, what, "run `minigrad doctor --fix`, and report the error if that does not help")
    e.__cause__ = cause
    return e


def out_of_memory(name: str, cause: Exception, named: dict[str, Any]) -> Any:
    """Return the error for a failed allocation, with its bytes if NumPy gives them; None for other causes."""
    if isinstance(cause, MemoryError):
        shape, dtype = getattr(cause, "shape", None), getattr(cause, "dtype", None)
        if shape is not None and dtype is not None:
            return no_room(name, shape, dtype)
        return error(MemoryError, name, f"not enough memory for the result of {described(named)}", "use smaller sizes")
    if found := TOO_MANY.search(str(cause)):
        what = f"a tensor has at most {found[1]} dimensions, but the result of {described(named)} would have {found[2]}"
        return error(RuntimeError, name, what, "reshape it to fewer dimensions first")
    if isinstance(cause, (ValueError, OverflowError)) and TOO_BIG.search(str(cause)):
        what = f"not enough memory: the result of {described(named)} would have more than {2**63 - 1} bytes"
        return error(MemoryError, name, what, "use smaller sizes")
    return None


@explains("keepdim is True or False")
def wrong_keepdim(cls: type[Primitive], given: object) -> Exception:
    """Return the error for a second dimension passed as keepdim: x.sum(0, 1)."""
    name = cls.function_name()
    what = f"argument 'keepdim' must be bool, not {type(given).__name__}"
    return error(TypeError, name, what, f"pass several dimensions as a tuple: {name}(x, (0, 1))")


@explains("an operand is a tensor or a number")
def tensors_in_a_list(name: str, x: Tensor, other: tuple | list) -> Exception:
    """Return the error for an operator between a tensor and tensors in a tuple or list."""
    kind, one = type(other).__name__, len(other) == 1
    what = f"combines a tensor of shape {tuple(x.shape)} with a {kind} of {len(other)} tensor{'s' * (not one)}"
    names = variables(user_frame())
    if any(isinstance(v, Ctx) for v in names.values()):
        fix = f"unpack the {kind} first, as in {'(x,)' if one else 'a, b'} = ctx.saved_tensors"
    else:
        held = next((n for n, v in names.items() if v is other), "values")
        fix = (
            f"take the tensor out of the {kind}: {held}[0]"
            if one
            else f"make one tensor of them: minigrad.stack({held})"
        )
    return error(TypeError, name, what, fix, notes=made_at(other, f"the {kind} is bound"))


# ---------------------------------------------------------------------- a function of the table failed
@explains("the function cannot be called like this")
def call_failed(cause: Exception, f: Callable, name: str, args: tuple, kwargs: dict) -> Exception:
    """Return the exception to raise after f(*args, **kwargs) has raised `cause`: the cause itself if it is clear."""
    if isinstance(cause, PASSED) or through_users_code(cause):
        return cause
    for i, p in tensor_parameters(f):
        given = args[i] if i < len(args) else kwargs.get(p, kwargs.get(SPELLINGS.get(p)))
        if not isinstance(given, Tensor) and (i < len(args) or given is not None):
            return error(TypeError, name, *no_tensor(p, given), notes=without_return() if given is None else ())
    if isinstance(cause, MinigradError) and not vague(cause):
        # name the function that was called, not the one inside it; linalg.inv, also called inverse, keeps its own name
        if cause.below or cause.operation in TABLE and "." not in cause.operation:
            cause.operation = name
        return cause
    if errors.full_traceback():
        return cause
    trace = cause.__traceback__
    if trace is not None and trace.tb_next is None:  # Python itself could not bind the arguments
        return error(TypeError, name, str(cause).partition("() ")[2] or str(cause), usage(f, name))
    if found := misfit(f, args, kwargs):
        p, given, wanted = found
        return error(TypeError, name, f"argument {p!r} must be {wanted}, not {describe(given)}", usage(f, name))
    return unforeseen(cause, f, name, args, kwargs)


def unforeseen(cause: Exception, f: Callable, name: str, args: tuple, kwargs: dict) -> Exception:
    """Return the exception to raise if each argument is of the right kind."""
    named = by_name(f, args, kwargs)
    below = cause.__cause__ if isinstance(cause, InternalError) else cause
    if isinstance(below, MinigradError) or not isinstance(below, Exception):
        return cause
    if full := out_of_memory(name, below, named):
        return full
    if long := too_long(name, named, below):
        return long
    return internal(name, below, described(named))


def tensor_parameters(f: Callable) -> list[tuple[int, str]]:
    """Return the position and name of each parameter that takes a tensor."""
    parameters = enumerate(inspect.signature(f).parameters.values())
    return [(i, p.name) for i, p in parameters if p.annotation in ("Tensor", Tensor) and p.kind is not p.VAR_POSITIONAL]


def vague(e: MinigradError) -> bool:
    """Return True if an error names a conversion or an array inside the operation instead of the operation.

    Under a transform, where conversions are refused, it is clear enough.
    """
    return e.vague or e.operation in CONVERSIONS and not isinstance(e, IndexError) and not e.transforms


def usage(f: Callable, name: str) -> str:
    """Return a fix: the function with its parameters and their defaults."""
    named = [p for p in inspect.signature(f).parameters.values() if p.name != "self" and p.name[0] != "_"]
    parameters = [p.replace(annotation=p.empty) for p in named]
    return f"write {name}{inspect.Signature(parameters)}"


@explains("out= takes one tensor for each result")
def wrong_out(name: str, wanted: int, out: object) -> Exception:
    """Return the error for an `out=` that is not a tensor, or not a tuple with one tensor per result."""
    if wanted > 1:
        got = f"one of {len(out)}" if isinstance(out, (tuple, list)) else describe(out)
        fix = f"pass out=({', '.join('abc'[:wanted])})"
        return error(TypeError, name, f"out= needs a tuple of {wanted} tensors, got {got}", fix)
    what = f"out= must be a tensor, got {type(out).__name__}"
    return error(TypeError, name, what, "pass out=minigrad.empty(0), or omit out= for a new tensor")


# ---------------------------------------------------------------------- wording
def no_tensor(name: str, given: object, also: str = "") -> tuple[str, str]:
    """Return the problem and the fix for an argument that should be a tensor."""
    what = f"argument {name!r} must be Tensor{also}, not {type(given).__name__}"
    if given is None:
        return what, "check whether a function lacks its `return`: its result is None"
    return what, f"convert it first: minigrad.tensor({name})"


def described(named: dict[str, Any]) -> str:
    """Return a short description of named arguments."""
    return ", ".join(f"{name} {describe(a)}" for name, a in named.items())


def describe(a: Any) -> str:
    """Return a short description of an argument."""
    if hasattr(a, "shape") and hasattr(a, "dtype"):
        return f"a tensor of shape {tuple(a.shape)} and {getattr(a.dtype, 'name', a.dtype)}"
    if isinstance(a, (tuple, list)) and 0 < len(a) < 5 and any(hasattr(v, "shape") for v in a):
        return f"a {type(a).__name__} of {', '.join(map(describe, a))}"
    try:
        text = LIMITED.repr(a)
    except Exception:  # the user's __repr__ fails
        text = ""
    return text if 0 < len(text) < 40 and "..." not in text else f"a {type(a).__name__}"


LIMITED = reprlib.Repr()  # a list of a million numbers takes a second to write out
LIMITED.maxother = LIMITED.maxlong = LIMITED.maxstring = 40


@cache
def keywords_of(function: Callable) -> set[str] | None:
    """Return the keywords that a function or class takes, those that its signature leaves out included; None if any.

    >>> keywords_of(TABLE["amax"].function) == {"input", "dim", "keepdim", "axis", "keepdims", "out"}
    True
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # it has no signature
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return None
    entry = next((e for e in TABLE.values() if e.function is function), None)
    named = {p.name for p in parameters.values() if p.kind is not p.POSITIONAL_ONLY}
    spelled = {SPELLINGS[name] for name in named & SPELLINGS.keys()} if entry else set()
    added = {"out"} if entry and entry.out else set()
    made = {"pin_memory"} if {"layout", "requires_grad"} <= named else set()  # by a function that creates tensors
    return named | spelled | added | made
