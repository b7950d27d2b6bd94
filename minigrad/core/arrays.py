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


def near(a: np.ndarray, other: Any) -> Any:
    """An array that was made beside a calculation, of indices say, in the memory where another one is."""
    if not on_device(other):
        return a
    from ..kernels.cuda.array import to_device

    return to_device(a)
