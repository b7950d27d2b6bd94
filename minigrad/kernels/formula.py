"""The text of a formula.  A formula is written once, as a lambda, and read in three ways.

On Tensors it is simply called.  On arrays the same code runs with NumPy's functions in place of the operations
(`on_arrays`).  For Numba its source text is taken from the file and put into a generated module (`prelude`).
"""

from __future__ import annotations

import builtins
import linecache
import math
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

# Names that formulas may use on single numbers: what a generated module has to import or define for each.
SCALARS = {n: f"from math import {n}" for n in (
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "expm1",
    "log", "log1p", "log2", "log10", "sqrt", "erf", "erfc", "lgamma", "hypot", "copysign", "isnan", "isinf", "isfinite")}  # fmt: skip
SCALARS |= {
    n: f"from numpy import {n}" for n in ("floor", "ceil", "trunc", "fmod")
}  # math's give integers, or are unknown to Numba
SCALARS["where"] = "@njit(inline='always')\ndef where(c, x, y):\n    return x if c else y"
SCALARS["abs"] = ""

# The same names on arrays; each Pointwise class adds its own.
ARRAYS: dict[str, Any] = {"where": np.where, "abs": np.abs, "math": np}
OPERATIONS: dict[str, Any] = {}  # name -> Pointwise class


def parameters(f: Callable) -> tuple:
    """The names of a function's positional parameters."""
    return f.__code__.co_varnames[: f.__code__.co_argcount]


@cache
def text(f: Callable) -> str | None:
    """The source of a lambda's body, by the positions in its code object; None where there is no source."""
    spans = [p for p in f.__code__.co_positions() if p[0] and p[3] is not None and (p[0], p[2]) != (p[1], p[3])]
    lines = linecache.getlines(f.__code__.co_filename)
    if not lines or not spans:
        return None
    (row0, col0), (row1, col1) = min((p[0], p[2]) for p in spans), max((p[1], p[3]) for p in spans)
    body = lines[row0 - 1 : row1]
    body[-1] = body[-1].encode()[:col1].decode()
    body[0] = body[0].encode()[col0:].decode()
    return " ".join(s.split("#")[0].strip() for s in body)


def shown(f: Callable) -> str:
    """A formula as people read it."""
    return (text(f) or "").replace("math.", "")


@cache
def on_arrays(f: Callable) -> Callable:
    """The same formula for arrays: its code, with NumPy's functions where the operations stood."""
    scope = dict(f.__globals__)
    for name in f.__code__.co_names:
        found = array_function(name)
        if found is not None:
            scope[name] = found
    return FunctionType(f.__code__, scope, f.__name__, f.__defaults__, f.__closure__)


def runs_on_arrays(f: Callable) -> bool:
    """Whether every function that a formula calls has a form for arrays."""
    scope, names = f.__globals__, f.__code__.co_names
    return all(not callable(scope.get(n)) or array_function(n) is not None for n in names)


def array_function(name: str) -> Any:
    """What a name in a formula means on arrays."""
    if name in ARRAYS:
        return ARRAYS[name]
    op = OPERATIONS.get(name)
    return None if op is None else op.ufunc or on_arrays(op.kernel)


def prelude(formulas: list) -> str | None:
    """Imports, constants and helper functions for the names that the formulas use; None if one has no scalar form."""
    lines: dict[str, None] = {}
    for f in formulas:
        for name in f.__code__.co_names:
            need = scalar(name, f.__globals__)
            if need is None:
                return None
            lines.update(dict.fromkeys(need))
    return "\n".join(line for line in lines if line) + "\n"


def scalar(name: str, scope: dict) -> list | None:
    """The lines of a generated module that define one name."""
    value = scope.get(name)
    if isinstance(value, (int, float)):
        return [f"{name} = {value!r}"]
    if name == "math":
        return ["import math"]
    if name in SCALARS:
        return [SCALARS[name]]
    op = OPERATIONS.get(name)
    if op is not None:
        body, inner = text(op.kernel), prelude([op.kernel])
        if body is None or inner is None:
            return None
        return [
            *inner.rstrip("\n").split("\n\n"),
            f"@njit\ndef {name}({', '.join(parameters(op.kernel))}):\n    return {body}",
        ]
    return [] if hasattr(math, name) or hasattr(builtins, name) else None
