"""The operands of pointwise operations: the one dtype in which they meet, conditions, numbers, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes
from ..arrays.memory import unmasked
from ..errors import error

NUMERIC = (np.ndarray, int, float, np.generic)


def convert(op: Any, operands: tuple) -> tuple[list, np.dtype]:
    """The operands in the one dtype in which they meet, and that dtype; masks stay bools."""
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
