"""float16 is a dtype to store numbers in: operations compute with it in float32, and round what comes out once.

So does PyTorch, and so the formulas, NumPy's functions and the kernels need to know nothing of it.  An operation's rules run
between `widened` and `narrowed`; those that only move elements take float16 as it stands (Primitive.takes_half).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .arrays import KINDS
from .dtypes import F2, F4, float16, float32
from .tensor import Tensor


def computed(f: Callable, args: Sequence) -> Any:
    """f(*args) of arrays and plain values; in float32 where all floats among the arrays are float16."""
    floats = [a.dtype for a in args if type(a) in KINDS and a.dtype.kind == "f"]
    if not floats or any([d != F2 for d in floats]):
        return f(*args)
    raw = f(*[widened(a) for a in args])
    return tuple([narrowed(r) for r in raw]) if type(raw) is tuple else narrowed(raw)


def is_half(a: Any) -> bool:
    """Whether it is an array, or a scalar of NumPy's, of float16."""
    return isinstance(a, (np.ndarray, np.float16)) and a.dtype == F2


def widened(a: Any) -> Any:
    """A float16 array, or scalar, in float32; all else as it is."""
    return a.astype(F4) if is_half(a) else a


def narrowed(a: Any) -> Any:
    """A float32 array, or scalar, in float16; all else as it is."""
    return a.astype(F2) if isinstance(a, (np.ndarray, np.float32)) and a.dtype == F4 else a


def widened_tensors(values: Sequence) -> tuple:
    """The same for tensors, on which it is an operation like any other."""
    return tuple([v.to(float32) if isinstance(v, Tensor) and v._np_dtype == F2 else v for v in values])


def narrowed_tensors(values: Sequence) -> tuple:
    """Tensors of float32 in float16; all else as it is."""
    return tuple([v.to(float16) if isinstance(v, Tensor) and v._np_dtype == F4 else v for v in values])
