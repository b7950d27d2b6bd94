"""Pinned memory: main memory that a GPU reads and writes itself, at full speed, while the program goes on.

Pinning is slow, so unused memory is kept for the next array of about its size. A copy in flight keeps its array
(in_flight.py), so no other array gets the memory before the copy is done.
"""

import math
from collections import defaultdict
from typing import Any

import numpy as np

from ..threads import GRAIN, launch
from . import machine
from .allocator import rounded

THREADS = 8  # that copy; more gain nothing, because memory is the limit
free: dict[int, list[np.ndarray]] = defaultdict(list)


def pinned(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an uninitialised array in pinned memory."""
    nbytes = math.prod(shape) * np.dtype(dtype).itemsize
    size = rounded(nbytes)
    machine.current().in_flight.drop_done()
    try:
        memory = free[size].pop()
    except IndexError:
        memory = fresh(size)
    give_back = lambda: free[size].append(memory)
    found = machine.bytes_at(memory.ctypes.data, nbytes, give_back)
    found.base.pinned = True  # which is_pinned in arrays/memory.py reads
    return found.view(dtype).reshape(shape)


def fresh(size: int) -> np.ndarray:
    """Return newly pinned bytes; if no more can be pinned, those that are free are released first."""
    place = machine.current()
    try:
        return place.shared(size)[1]
    except MemoryError:
        free.clear()
        return place.shared(size)[1]


def pinned_like(a: np.ndarray) -> np.ndarray:
    """Return an uninitialised array in pinned memory with a's shape, dtype and order in memory."""
    layout = np.empty_like(a)  # untouched memory costs nothing
    return np.ndarray(a.shape, a.dtype, pinned((layout.nbytes,), np.uint8), 0, layout.strides)


def copy_of(a: np.ndarray) -> np.ndarray:
    """Return a copy of a NumPy array in pinned memory."""
    out = pinned_like(a)
    if out.strides == a.strides:
        copy(flat_bytes(out), flat_bytes(a))
    else:
        np.copyto(out, a)
    return out


def flat_bytes(a: np.ndarray) -> np.ndarray:
    """Return the bytes of an array without gaps, in their order in memory."""
    return a.ravel("K").view(np.uint8)


def copy(target: np.ndarray, source: np.ndarray) -> None:
    """Copy bytes, with several threads: one alone has a fraction of the speed of memory."""
    launch(np.copyto, [target, source], min(source.size, THREADS * GRAIN))
