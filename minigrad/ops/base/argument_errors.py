"""Say what is wrong with the arguments of an operation: which operation, which shapes, the user's line, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.dtypes import FLOATS
from ...arrays.kinds import on_device
from ...core.events import slots
from ...core.tensor import Tensor
from ...errors import MinigradError, error
from ...kernels.select import NUMERIC

if TYPE_CHECKING:
    from .primitive import Primitive

OUT_OF_BOUNDS = re.compile(r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)")  # as NumPy says it
KINDS = (IndexError, TypeError, NotImplementedError)


def failed(cls: type[Primitive], arrays: tuple, cause: Exception) -> Exception:
    """Return the error to raise when `cls.impl(*arrays)` has raised `cause`."""
    devices = {on_device(a) for a in arrays if isinstance(a, np.ndarray)}
    stranded = len(devices) > 1 and hasattr(cause, "stranded")
    if isinstance(cause, MinigradError) and not stranded:  # made by `error` already
        return cause
    told = explanation(cls, arrays, cause)
    told.below = True  # it goes by the class's name: a function that was called has one of its own (registry.explained)
    return told


def explanation(cls: type[Primitive], arrays: tuple, cause: Exception) -> Any:
    """Return what is told about an exception that NumPy or Python has raised."""
    name, named = cls.function_name(), dict(zip(cls.known_as(), arrays))
    if cls.elementwise and isinstance(cause, TypeError):
        for k, a in list(named.items())[: len(cls.names) - cls.n_settings]:
            if not isinstance(a, NUMERIC):
                return error(TypeError, name, *no_tensor(k, a, " or a number"))
    tensors = {k: a for k, a in named.items() if isinstance(a, np.ndarray)}
    shapes = {k: a.shape for k, a in tensors.items()}
    if mixed := on_two_devices(name, tensors):
        return mixed
    if isinstance(cause, ValueError) and "broadcast" in str(cause) and len(shapes) > 1:
        return error(RuntimeError, name, apart(shapes.values()), meeting(shapes), notes=[sketch(shapes)])
    if isinstance(cause, MemoryError):
        return error(RuntimeError, name, f"not enough memory for the result of {described(named)}", "use smaller sizes")
    if found := OUT_OF_BOUNDS.search(str(cause)):
        i, d, n = map(int, found.groups())
        fix = f"use indices from {-n} to {n - 1}" if n else "there is nothing to choose from: skip what is empty"
        return error(IndexError, "index", f"index {i} is out of bounds for dimension {d} with size {n}", fix)
    kind = next((k for k in KINDS if isinstance(cause, k)), RuntimeError)
    what = f"cannot compute with {described(named)}"
    unclear = error(kind, name, what, f"see help(minigrad.{name}) for what it takes")
    unclear.unclear = True  # the function that was called knows more (registry.explained)
    return unclear


def on_two_devices(who: str, arrays: dict[str, Any]) -> Any:
    """Return the error where arrays do not lie on one device; None where they do.  Numbers may lie anywhere."""
    first: dict = {}
    for name, a in arrays.items():
        if a.ndim:
            first.setdefault(on_device(a), f"{name} of shape {a.shape} on {'cuda:0' if on_device(a) else 'cpu'}")
    if len(first) < 2:
        return None
    other = next(name for name, a in arrays.items() if a.ndim and not on_device(a))
    what = f"expected all tensors to be on the same device, but found {' and '.join(first.values())}"
    return error(RuntimeError, who, what, f"move one of them: {other}.cuda(), or the other one with .cpu()")


def no_tensor(name: str, given: object, also: str = "") -> tuple[str, str]:
    """Return what is wrong, and what to do, where something else stands in a tensor's place."""
    what = f"argument {name!r} must be Tensor{also}, not {type(given).__name__}"
    if given is None:
        return what, "look for a function that lacks its `return`: what it gives is None"
    return what, f"make a tensor of it first: minigrad.tensor({name})"


def described(named: dict[str, Any]) -> str:
    """Return arguments in a few words."""
    return ", ".join(f"{name} {describe(a)}" for name, a in named.items())


def check_keepdim(cls: type[Primitive], arrays: tuple) -> None:
    """Raise TypeError where a second dimension has come in the place of keepdim: x.sum(0, 1)."""
    given = arrays[cls.names.index("keepdim")]
    if not isinstance(given, (bool, np.bool_)):
        name = cls.function_name()
        what = f"argument 'keepdim' must be bool, not {type(given).__name__}"
        raise error(TypeError, name, what, f"several dimensions are a tuple: {name}(x, (0, 1))")


OPERAND = (Tensor, int, float, np.ndarray, np.generic)  # what stands beside a tensor in `x + y`


def refused(name: str, x: Tensor, other: object) -> Any:
    """Return the answer to an operator beside something else: NotImplemented, so that Python asks there.

    Tuples and lists that hold tensors have nothing sensible to say, except that an integer may repeat them, so they are a
    TypeError here.
    """
    if not isinstance(other, (tuple, list)) or x._np_dtype not in FLOATS:
        return NotImplemented
    if not any(isinstance(t, Tensor) for t in other):
        return NotImplemented
    kind, one = type(other).__name__, len(other) == 1
    what = f"a tensor of shape {tuple(x.shape)} stands beside a {kind} of {len(other)} tensor{'s' * (not one)}"
    parts = "(x,)" if one else "a, b"
    fix = f"take the {kind} apart first, {parts} = ctx.saved_tensors, if that is where it comes from"
    raise error(TypeError, name, what, fix)


def describe(a: Any) -> str:
    """Return an argument in a few words."""
    if hasattr(a, "shape") and hasattr(a, "dtype"):
        return f"a tensor of shape {tuple(a.shape)} and {getattr(a.dtype, 'name', a.dtype)}"
    if isinstance(a, (tuple, list)) and 0 < len(a) < 5 and any(hasattr(v, "shape") for v in a):
        return f"a {type(a).__name__} of {', '.join(map(describe, a))}"
    return repr(a) if len(repr(a)) < 40 else f"a {type(a).__name__}"


# ---------------------------------------------------------------------- shapes that do not meet
def apart(shapes: Iterable) -> str:
    """Say which shapes cannot be broadcast, and why."""
    shapes = [tuple(s) for s in shapes]
    columns = enumerate(zip_longest(*[s[::-1] for s in shapes], fillvalue=1), 1)  # from the last dimension on
    why = (f"dimension -{d} has sizes {' and '.join(map(str, sizes))}" for d, sizes in columns if len({1, *sizes}) > 2)
    return f"the shapes {' and '.join(map(str, shapes))} cannot be broadcast together: {next(why, 'the sizes differ')}"


def meeting(shapes: dict[str, tuple]) -> str:
    """Return what to write so that shapes can be broadcast: a dimension of size 1, or a transposed matrix.

    Where both do it, the result has no more dimensions than it needs.
    """
    rank = max(map(len, shapes.values()))
    others = {name: [s for n, s in shapes.items() if n != name] for name in shapes}
    for most in (rank, rank + 1):
        for name, shape in shapes.items():
            for d in range(-1, -len(shape) - 1, -1):
                place = len(shape) + 1 + d
                if len(shape) < most and alike((*shape[:place], 1, *shape[place:]), others[name]):
                    return f"write {name}.unsqueeze({d}), whose new dimension of size 1 is repeated"
        for name, shape in shapes.items():
            if len(shape) > 1 and alike((*shape[:-2], shape[-1], shape[-2]), others[name]):
                return f"write {name}.{'T' if len(shape) == 2 else 'mT'}, which exchanges its last two dimensions"
    return f"give {' and '.join(shapes)} the same size there; x.unsqueeze(d) makes a dimension of size 1, which is repeated"


def alike(shape: tuple, others: list) -> bool:
    """Return whether a shape can be broadcast with others and has a size in common with one of them."""
    return meet(shape, *others) and any(n == m > 1 for s in others for n, m in zip(shape[::-1], s[::-1]))


def meet(*shapes: tuple) -> bool:
    """Return whether shapes can be broadcast together."""
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True


def sketch(shapes: dict[str, Sequence], marked: Iterable[int] | None = None) -> str:
    """Draw shapes below each other, aligned at their ends as for broadcasting, with a mark under the sizes that cannot meet.

    "" stands for a gap.  `marked` says which columns get the mark, counted from the end, where broadcasting does not.

    >>> print(sketch({"input": (5, 3, 4), "other": (4, 3)}))
    input   5 3 4
    other     4 3
              ^ ^
    >>> print(sketch({"input": (2, 3, ""), "other": ("", 4, 5)}, [-2]))
    input   2 3
    other     4 5
              ^
    """
    rank = max(len(s) for s in shapes.values())
    rows = [("",) * (rank - len(s)) + tuple(map(str, s)) for s in shapes.values()]
    if marked is None:
        marked = [d - rank for d in range(rank) if len({row[d] for row in rows} - {"", "1"}) > 1]
    places = {d % rank for d in marked} if rank else ()
    marks = tuple("^" if d in places else "" for d in range(rank))
    columns = [c for c in zip(*rows, marks) if any(c[:-1])]
    widths = [max(map(len, c)) for c in columns]
    first = max(map(len, shapes))
    lines = zip([*shapes, ""], zip(*columns) if columns else [()] * (len(rows) + 1))
    drawn = [f"{n:{first}}   " + " ".join(c.rjust(w) for c, w in zip(row, widths)) for n, row in lines]
    return "\n".join(line.rstrip() for line in drawn).rstrip()


def about(tensors: dict[str, Any], shapes: dict[str, Sequence] | None = None, marked: Any = None) -> list[str]:
    """Return notes for an error: the shapes of the tensors drawn below each other, and how they came about."""
    return [sketch(shapes or {n: tuple(t.shape) for n, t in tensors.items()}, marked), *slots.origins(tensors)]
