"""Errors of built-in operations: which operation, which shapes, the user's line, and what to do."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..errors import MinigradError, error

KINDS = {IndexError: IndexError, TypeError: TypeError, NotImplementedError: NotImplementedError}


def failed(cls: Any, arrays: tuple, cause: Exception) -> Exception:
    """The error to raise when `cls.impl(*arrays)` has raised `cause`."""
    if isinstance(cause, MinigradError):  # made by `error` already
        return cause
    name = cls.function_name()
    shapes = [a.shape for a in arrays if isinstance(a, np.ndarray)]
    described = ", ".join(describe(a) for a in arrays)
    if isinstance(cause, ValueError) and "broadcast" in str(cause) and len(shapes) > 1:
        return error(
            RuntimeError,
            name,
            f"the shapes {' and '.join(str(s) for s in shapes)} cannot be broadcast together: " + mismatch(shapes),
            "give both the same size there, or size 1 in one of them (unsqueeze, expand, transpose)",
            notes=[sketch(cls.names, shapes)],
        )
    kind = next((k for t, k in KINDS.items() if isinstance(cause, t)), RuntimeError)
    return error(kind, name, f"{cause} (called with {described})")


def check_keepdim(cls: Any, arrays: tuple) -> None:
    """Raise TypeError where a second dimension has come in the place of keepdim: x.sum(0, 1)."""
    given = arrays[cls.names.index("keepdim")]
    if not isinstance(given, (bool, np.bool_)):
        name = cls.function_name()
        what = f"argument 'keepdim' must be bool, not {type(given).__name__}"
        raise error(TypeError, name, what, f"several dimensions are a tuple: {name}(x, (0, 1))")


OPERAND = (Tensor, int, float, np.ndarray, np.generic)  # what stands beside a tensor in `x + y`


def refused(name: str, x: Tensor, other: Any) -> Any:
    """The answer to an operator beside something else: NotImplemented, so that Python asks there.

    Tuples and lists that hold tensors have nothing sensible to say, except that an integer may repeat them, so they are a
    TypeError here.
    """
    if not isinstance(other, (tuple, list)) or x._np_dtype.kind != "f" or not any(isinstance(t, Tensor) for t in other):
        return NotImplemented
    kind, one = type(other).__name__, len(other) == 1
    raise error(
        TypeError,
        name,
        f"a tensor of shape {tuple(x.shape)} stands beside a {kind} of {len(other)} tensor{'s' * (not one)}",
        f"take the {kind} apart first, {'(x,)' if one else 'a, b'} = ctx.saved_tensors, if that is where it comes from",
    )


def describe(a: Any) -> str:
    """An argument in a few words."""
    if isinstance(a, np.ndarray):
        return f"a tensor of shape {a.shape} and {a.dtype}"
    return repr(a) if len(repr(a)) < 40 else type(a).__name__


def mismatch(shapes: list) -> str:
    """The dimension, counted from the end, at which shapes cannot meet."""
    rank = max(len(s) for s in shapes)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    for d in range(rank - 1, -1, -1):
        sizes = {s[d] for s in padded} - {1}
        if len(sizes) > 1:
            return f"dimension {d - rank} has sizes {' and '.join(str(s[d]) for s in padded)}"
    return "the sizes differ"


def sketch(names: Any, shapes: list) -> str:
    """Shapes below each other as they are aligned for broadcasting, with a mark under the sizes that cannot meet.

    >>> print(sketch(["x", "y"], [(5, 3, 4), (4, 3)]))
    x   5 3 4
    y     4 3
          ^ ^
    """
    rank = max(len(s) for s in shapes)
    padded = [("",) * (rank - len(s)) + tuple(map(str, s)) for s in shapes]
    clash = ["^" if len({c[d] for c in padded} - {"", "1"}) > 1 else "" for d in range(rank)]
    widths = [max(len(row[d]) for row in padded) for d in range(rank)]
    first = max(len(n) for n in names[: len(shapes)])
    rows = zip([*names[: len(shapes)], ""], [*padded, clash])
    return "\n".join(f"{n:{first}}   " + " ".join(c.rjust(w) for c, w in zip(row, widths)) for n, row in rows).rstrip()
