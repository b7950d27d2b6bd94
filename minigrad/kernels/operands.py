"""The operands of pointwise operations: the one dtype in which they meet, conditions, numbers, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import dtypes
from ..arrays.memory import unmasked
from ..errors import error

NUMERIC = (np.ndarray, int, float, np.generic)


def convert(op: Any, operands: tuple) -> tuple[list, np.dtype]:
    """Return the operands in the one dtype in which they meet, and that dtype; masks stay bools."""
    kinds = tuple([(a.dtype, a.ndim > 0) if type(a) is np.ndarray else type(a) for a in operands])
    found = conversions(op, kinds, dtypes.default())
    if found is None:
        return converted(op, operands)
    changes, target = found
    return [a if change is None else change(a) for change, a in zip(changes, operands)], target


@lru_cache(4096)
def conversions(op: Any, kinds: tuple, default: Any) -> tuple | None:
    """Return what makes operands of some kinds meet, None where nothing is to be done, and the dtype in which they do.

    A kind is a dtype, and whether there are dimensions, or the type of a number; None for all if one is another type,
    or if there are numbers alone.
    """
    if tuple not in map(type, kinds) or any([type(k) is not tuple and k not in (int, float, bool) for k in kinds]):
        return None
    _, target = converted(op, tuple([np.ones((1,) * k[1], k[0]) if type(k) is tuple else k(1) for k in kinds]))
    wanted = [dtypes.BOOL] * op.n_conditions + [target] * (len(kinds) - op.n_conditions)
    return [change(k, dtype) for k, dtype in zip(kinds, wanted)], target


def change(kind: Any, dtype: np.dtype) -> Callable | None:
    """Return the function that brings an operand to a dtype."""
    if type(kind) is not tuple:
        return float if dtype in dtypes.FLOATS else lambda a: number(a, dtype)
    return None if kind[0] == dtype else lambda a: a.astype(dtype)


def converted(op: Any, operands: tuple) -> tuple[list, np.dtype]:
    """Do the same for operands of any kind."""
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
    if not any([isinstance(a, np.ndarray) for a in values]):  # Python's own numbers raise where arrays divide by zero
        values = tuple(map(np.asarray, values))
    return masks + [
        a.astype(target, copy=False) if isinstance(a, np.ndarray) else number(a, target) for a in values
    ], target


def operand(op: Any, a: Any) -> Any:
    """A number, or an array of another class as one of NumPy's own: matrices would be multiplied as such."""
    if not isinstance(a, NUMERIC):
        raise TypeError(f"no operand: {type(a).__name__}")  # diagnose/arguments.py says which
    return unmasked(a, op.name)


def mask(op: Any, a: Any) -> np.ndarray:
    """A condition; uint8 stands for bool, as it did before there were bools."""
    if isinstance(a, np.ndarray) and a.dtype.kind == "b":
        return a
    if isinstance(a, np.ndarray) and a.dtype == np.uint8:
        return a.astype(np.bool_)
    if not isinstance(a, np.ndarray):
        raise error(
            TypeError,
            op.name,
            f"expected condition to be a tensor, got {type(a).__name__}",
            "use Python's own `input if condition else other`",
        )
    raise error(
        RuntimeError,
        op.name,
        f"expected condition to be a boolean tensor, but got a tensor with dtype {dtypes.of_numpy(a.dtype)}",
        "compare first, as in condition != 0",
    )


def refused_dtype(op: Any, target: np.dtype) -> Exception:
    """The error for a dtype that the operation does not compute with."""
    if op.advice:
        return error(RuntimeError, op.name, op.advice, "convert it first, as in x.float()")
    kinds = {"b": "bool", "i": "integers", "f": "floating-point numbers"}
    return error(
        NotImplementedError,
        op.name,
        f"not implemented for {dtypes.of_numpy(target)}",
        f"it computes with {' and '.join(kinds[k] for k in op.accepts if k in kinds)}: convert first",
    )


def number(a: Any, target: np.dtype) -> Any:
    """A number beside arrays of dtype `target`: NumPy does not widen for Python's own, but refuses those out of range."""
    if target in dtypes.FLOATS:
        return float(a)
    return np.array(a).astype(target)


def cast(out: Any, target: np.dtype) -> np.ndarray:
    """A result as an array of its dtype: formulas with float constants, and numbers alone, may have widened."""
    out = out if type(out) is np.ndarray else np.asarray(out)
    return out if out.dtype == target else out.astype(target)


def plain(values: Any) -> bool:
    """Whether a kernel can take them all."""
    return all(isinstance(v, (np.ndarray, int, float, bool)) for v in values)


def scalar(v: Any, dtype: np.dtype) -> Any:
    """Numbers among a kernel's arguments in the dtype of the arrays: a float64 would widen the whole loop."""
    return dtype.type(v) if type(v) in (int, float) and dtype.kind == "f" else v
