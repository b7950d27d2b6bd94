"""Operands of pointwise operations: conversion to a common dtype, conditions, scalars, and refused dtypes."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import dtypes
from ..arrays.memory import unmasked
from ..errors import error

NUMERIC = (np.ndarray, int, float, np.generic)


def convert(op: Any, operands: tuple) -> tuple[list, np.dtype]:
    """Return the operands in their common dtype, and that dtype; masks stay bool."""
    kinds = tuple([(a.dtype, a.ndim > 0) if type(a) is np.ndarray else type(a) for a in operands])
    found = conversions(op, kinds, dtypes.default())
    if found is None:
        return converted(op, operands)
    changes, target = found
    return [a if change is None else change(a) for change, a in zip(changes, operands)], target


@lru_cache(4096)
def conversions(op: Any, kinds: tuple, default: Any) -> tuple | None:
    """Return a conversion for each operand, None where it needs none, and the common dtype.

    The kind of an operand is its dtype and whether it has dimensions, or the type of a Python number. Returns None if an
    operand has another type, or if all are numbers.
    """
    if tuple not in map(type, kinds) or any([type(k) is not tuple and k not in (int, float, bool) for k in kinds]):
        return None
    _, target = converted(op, tuple([np.ones((1,) * k[1], k[0]) if type(k) is tuple else k(1) for k in kinds]))
    wanted = [dtypes.BOOL] * op.n_conditions + [target] * (len(kinds) - op.n_conditions)
    return [change(k, dtype) for k, dtype in zip(kinds, wanted)], target


def change(kind: Any, dtype: np.dtype) -> Callable | None:
    """Return the function that converts an operand to a dtype."""
    if type(kind) is not tuple:
        return float if dtype in dtypes.FLOATS else lambda a: number(a, dtype)
    return None if kind[0] == dtype else lambda a: a.astype(dtype)


def converted(op: Any, operands: tuple) -> tuple[list, np.dtype]:
    """Do the same for operands of any type."""
    operands = tuple([a if type(a) is np.ndarray else operand(op, a) for a in operands])
    masks, values = [mask(op, a) for a in operands[: op.n_conditions]], operands[op.n_conditions :]
    first = values[0]
    alone = len(values) == 1 and isinstance(first, np.ndarray)
    target = first.dtype if alone else dtypes.common(values)
    if dtypes.kind(target) not in op.accepts:
        raise refused_dtype(op, target)
    if op.kind == "float" and target not in dtypes.FLOATS:
        target = dtypes.default()
    elif alone:
        return [*masks, first], target
    if not any([isinstance(a, np.ndarray) for a in values]):  # Python's numbers raise where arrays divide by zero
        values = tuple(map(np.asarray, values))
    return masks + [
        a.astype(target, copy=False) if isinstance(a, np.ndarray) else number(a, target) for a in values
    ], target


def operand(op: Any, a: Any) -> Any:
    """Return a number, or an array as a plain ndarray: np.matrix would multiply as matrices."""
    if not isinstance(a, NUMERIC):
        raise TypeError(f"no operand: {type(a).__name__}")  # diagnose/arguments.py names the argument
    return unmasked(a, op.name)


def mask(op: Any, a: Any) -> np.ndarray:
    """Return a condition as a bool array; uint8 counts as bool, as it did before PyTorch had bool."""
    if isinstance(a, np.ndarray) and a.dtype.kind == "b":
        return a
    if isinstance(a, np.ndarray) and a.dtype == np.uint8:
        return a.astype(np.bool_)
    if not isinstance(a, np.ndarray):
        what = f"expected condition to be a tensor, got {type(a).__name__}"
        raise error(TypeError, op.name, what, "use Python's own `input if condition else other`")
    what = f"expected condition to be a boolean tensor, but got a tensor with dtype {dtypes.of_numpy(a.dtype)}"
    raise error(RuntimeError, op.name, what, "compare first, as in condition != 0")


def refused_dtype(op: Any, target: np.dtype) -> Exception:
    """Return the error for a dtype that the operation does not support."""
    if op.advice:
        return error(RuntimeError, op.name, op.advice, "convert it first, as in x.float()")
    kinds = {"b": "bool", "i": "integers", "f": "floating-point numbers"}
    known = f"it computes with {' and '.join(kinds[k] for k in op.accepts if k in kinds)}: convert first"
    return error(NotImplementedError, op.name, f"not implemented for {dtypes.of_numpy(target)}", op.remedy or known)


def number(a: Any, target: np.dtype) -> Any:
    """Return a number in the dtype of the arrays it meets: NumPy does not widen Python's numbers, but rejects overflow."""
    if target in dtypes.FLOATS:
        return float(a)
    return np.array(a).astype(target)


def cast(out: Any, target: np.dtype) -> np.ndarray:
    """Return a result as an array of dtype `target`: float constants in formulas, and scalars alone, may have widened it."""
    out = out if type(out) is np.ndarray else np.asarray(out)
    return out if out.dtype == target else out.astype(target)


def plain(values: Any) -> bool:
    """Return True if a kernel can take all the values."""
    return all(isinstance(v, (np.ndarray, int, float, bool)) for v in values)


def scalar(v: Any, dtype: np.dtype) -> Any:
    """Return a Python number in the dtype of the arrays, because a float64 would widen the whole loop."""
    return dtype.type(v) if type(v) in (int, float) and dtype.kind == "f" else v
