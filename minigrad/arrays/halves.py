"""float16 and bfloat16 are storage dtypes: operations compute in float32, and round their results once.

PyTorch does the same, so that formulas, NumPy's functions and kernels need no code for halves.  An operation's rules run
between `widened` and `narrowed`; rules that only move elements take halves unchanged (Primitive.takes_half).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .dtypes import F4, FLOATS, HALVES, is_half
from .kinds import KINDS


def computed(f: Callable, args: Sequence) -> Any:
    """Return f(*args) of arrays and plain values, computed in float32 if all float arrays share one half dtype."""
    floats = {a.dtype for a in args if type(a) in KINDS and a.dtype in FLOATS}
    if len(floats) != 1 or not floats <= HALVES:
        return f(*args)
    (dtype,) = floats
    raw = f(*[widened(a) for a in args])
    return tuple([narrowed(r, dtype) for r in raw]) if type(raw) is tuple else narrowed(raw, dtype)


def widened(a: Any) -> Any:
    """Return an array or scalar of a half dtype as float32; return anything else unchanged."""
    return cast(a, F4) if is_half(a) else a


def narrowed(a: Any, dtype: np.dtype) -> Any:
    """Return a float32 array or scalar in a half dtype; return anything else unchanged."""
    return cast(a, dtype) if isinstance(a, (np.ndarray, np.float32)) and a.dtype == F4 else a


def cast(a: Any, dtype: np.dtype) -> Any:
    """Return an array in another dtype; kernels/cpu/half_casts.py replaces this by its kernels."""
    return a.astype(dtype)
