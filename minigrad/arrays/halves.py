"""float16 and bfloat16 are dtypes to store numbers in: operations compute in float32, and round what comes out once.

So does PyTorch, and so the formulas, NumPy's functions and the kernels need to know nothing of them.  An operation's rules run
between `widened` and `narrowed`; those that only move elements take the halves as they stand (Primitive.takes_half).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .dtypes import F4, FLOATS, HALVES, is_half
from .kinds import KINDS


def computed(f: Callable, args: Sequence) -> Any:
    """f(*args) of arrays and plain values; in float32 where all floats among the arrays are of one half."""
    floats = {a.dtype for a in args if type(a) in KINDS and a.dtype in FLOATS}
    if len(floats) != 1 or not floats <= HALVES:
        return f(*args)
    (dtype,) = floats
    raw = f(*[widened(a) for a in args])
    return tuple([narrowed(r, dtype) for r in raw]) if type(raw) is tuple else narrowed(raw, dtype)


def widened(a: Any) -> Any:
    """An array, or scalar, of a half in float32; all else as it is."""
    return a.astype(F4) if is_half(a) else a


def narrowed(a: Any, dtype: np.dtype) -> Any:
    """A float32 array, or scalar, in a half; all else as it is."""
    return a.astype(dtype) if isinstance(a, (np.ndarray, np.float32)) and a.dtype == F4 else a
