"""The kinds of arrays that tensors hold: NumPy's, and, once minigrad/kernels/cuda is loaded, those in a GPU's memory."""

from __future__ import annotations

from typing import Any

import numpy as np

KINDS: set[type] = {np.ndarray}


def as_array(raw: Any) -> Any:
    """What a calculation gave as an array: NumPy's scalars become 0-d ones."""
    return raw if type(raw) in KINDS else np.asarray(raw)


def on_device(a: Any) -> bool:
    """Whether it is an array in a GPU's memory."""
    return type(a) is not np.ndarray and type(a) in KINDS


def near(a: Any, like: Any) -> Any:
    """What was made beside a calculation, indices say, as an array where `like` is."""
    if type(like) is np.ndarray or on_device(a) or not on_device(like):
        return a
    from ..kernels.cuda.array import to_device

    return to_device(a)


def zeros(shape: tuple, like: Any, dtype: Any = None) -> Any:
    """Zeros where `like` is, of its dtype if no other is named."""
    dtype = like.dtype if dtype is None else dtype
    return np.zeros(shape, dtype) if type(like) is np.ndarray else np.zeros_like(like, dtype, shape=shape)


def contiguous(a: Any) -> Any:
    """The array in C order: itself where it is."""
    if type(a) is np.ndarray:
        return np.ascontiguousarray(a)
    return a if a.flags.c_contiguous else a.copy()
