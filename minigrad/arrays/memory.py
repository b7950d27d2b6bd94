"""Find addresses of arrays and the array that owns the memory, and copy arrays without changing their layout."""

from __future__ import annotations

import numpy as np

from .kinds import laid_out


def copied(a: np.ndarray, memo: dict) -> np.ndarray:
    """A deep copy of an array; those that share memory share it afterwards too."""
    whole = storage(a)
    if not whole.flags.c_contiguous:
        return a.copy(order="K")
    key = ("storage", id(whole))
    if key not in memo:
        memo[key] = whole.copy()
    return laid_out(memo[key], a.shape, a.dtype, address(a) - address(whole), a.strides)


def address(a: np.ndarray) -> int:
    """Return the address of an array's first element."""
    return a.__array_interface__["data"][0] if type(a) is np.ndarray else a.address


def storage(a: np.ndarray) -> np.ndarray:
    """The array that owns the memory."""
    while True:
        base = a.base
        if not isinstance(base, np.ndarray):  # as_strided puts an object between the array and what it is a view of
            base = getattr(base, "base", None)
        if not isinstance(base, np.ndarray):
            return a
        a = base
