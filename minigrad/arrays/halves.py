"""float16 and bfloat16 are dtypes to store numbers in: operations compute in float32, and round what comes out once.

So does PyTorch, and so the formulas, NumPy's functions and the kernels need to know nothing of them.  An operation's rules run
between `widened` and `narrowed`; those that only move elements take the halves as they stand (Primitive.takes_half).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from .dtypes import F4, FLOATS, HALVES, float32, of_numpy
from .kinds import KINDS


def computed(f: Callable, args: Sequence) -> Any:
    """f(*args) of arrays and plain values; in float32 where all floats among the arrays are of one half."""
    floats = {a.dtype for a in args if type(a) in KINDS and a.dtype in FLOATS}
    if len(floats) != 1 or not floats <= HALVES:
        return f(*args)
    (dtype,) = floats
    raw = f(*[widened(a) for a in args])
    return tuple([narrowed(r, dtype) for r in raw]) if type(raw) is tuple else narrowed(raw, dtype)


def is_half(a: Any) -> bool:
    """Whether it is an array, or a scalar of NumPy's, of float16 or bfloat16."""
    return isinstance(a, (np.ndarray, np.generic)) and a.dtype in HALVES


def half_among(tensors: Sequence) -> np.dtype | None:
    """The dtype of the first tensor of float16 or bfloat16; None where there is none."""
    return next((t._np_dtype for t in tensors if isinstance(t, Tensor) and t._np_dtype in HALVES), None)


def widened(a: Any) -> Any:
    """An array, or scalar, of a half in float32; all else as it is."""
    return a.astype(F4) if is_half(a) else a


def narrowed(a: Any, dtype: np.dtype) -> Any:
    """A float32 array, or scalar, in a half; all else as it is."""
    return a.astype(dtype) if isinstance(a, (np.ndarray, np.float32)) and a.dtype == F4 else a


def widened_tensors(values: Sequence) -> tuple:
    """The same for tensors, on which it is an operation like any other."""
    return tuple([v.to(float32) if isinstance(v, Tensor) and v._np_dtype in HALVES else v for v in values])


def narrowed_tensors(values: Sequence, dtype: np.dtype) -> tuple:
    """Tensors of float32 in a half; all else as it is."""
    return tuple([v.to(of_numpy(dtype)) if isinstance(v, Tensor) and v._np_dtype == F4 else v for v in values])
