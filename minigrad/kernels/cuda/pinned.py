"""Pinned memory: main memory that a GPU copies to and from at full speed.

Pinning is slow, so unused memory is kept for the next array of about its size.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np

from . import machine
from .allocator import rounded
from .device_array import DeviceArray

free: dict[int, list[np.ndarray]] = defaultdict(list)


def pinned(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an uninitialised array in pinned memory."""
    nbytes = math.prod(shape) * np.dtype(dtype).itemsize
    size = rounded(nbytes)
    try:
        memory = free[size].pop()
    except IndexError:
        memory = machine.current().shared(size)[1]
    give_back = lambda: free[size].append(memory)
    return machine.bytes_at(memory.ctypes.data, nbytes, give_back).view(dtype).reshape(shape)


def copy_to_pinned(a: DeviceArray) -> np.ndarray:
    """Return a copy of a device array in pinned memory, in C order."""
    whole, out = a if a.flags.c_contiguous else a.copy(), pinned(a.shape, a.dtype)
    if out.size:
        machine.current().download(whole.address, out)
    return out
