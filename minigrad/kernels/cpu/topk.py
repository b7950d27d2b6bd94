"""Kernels for the k largest or smallest elements along a dimension, in order.

A heap holds the best k elements so far, the worst of them on top, so that most elements cost one comparison (Williams,
"Algorithm 232: heapsort", 1964). ops/sort.py has the definition, a stable sort; None means that it is as fast.
"""

from __future__ import annotations

import math

import numpy as np

from ...arrays.kinds import on_device
from .. import cuda_kernels
from ..cache import by_dtype
from ..fallback import is_ready, only_definitions
from ..threads import launch

RANK_FROM = 512  # elements; NumPy sorts them in 30 microseconds
SHARE = 32  # k may be at most 1/32 of a row; beyond that, partitioning the row first is as fast

HEAD = '''"""The first of {real} in order."""

import numpy as np
from numba import njit
'''

TOP = '''

@njit(nogil=True, forceinline=True)
def {name}_before(a, b):
    """Return True if a comes before b; NaN counts as larger than every number."""
    return a {operator} b or {odd}


@njit(nogil=True)
def {name}_sift(values, places, size, at, value, place):
    """Put an element into a heap at a free place or below it; of equal elements the later one is worse."""
    while 2 * at + 1 < size:
        low = 2 * at + 1
        if low + 1 < size:
            a, b = values[low], values[low + 1]
            if {name}_before(a, b) or not {name}_before(b, a) and places[low] < places[low + 1]:
                low += 1
        if {name}_before(values[low], value) or not {name}_before(value, values[low]) and places[low] < place:
            break
        values[at], places[at] = values[low], places[low]
        at = low
    values[at], places[at] = value, place


@njit(nogil=True)
def {name}_top(x, values, places):
    k = values.size
    for i in range(k):
        values[i], places[i] = x[i], i
    for at in range(k // 2 - 1, -1, -1):
        {name}_sift(values, places, k, at, values[at], places[at])
    for i in range(k, x.size):
        if {name}_before(x[i], values[0]):
            {name}_sift(values, places, k, 0, x[i], i)
    for last in range(k - 1, 0, -1):
        value, place = values[last], places[last]
        values[last], places[last] = values[0], places[0]
        {name}_sift(values, places, last, 0, value, place)


@njit(nogil=True)
def {name}(x_, places_):
    """Fill in the places (outer, k, inner) of the first along the middle of x (outer, n, inner), copying columns in groups."""
    n, k, inner = x_.shape[1], places_.shape[1], x_.shape[2]
    values, places, columns = np.empty(k, x_.dtype), np.empty(k, np.int64), np.empty((min(inner, 16), n), x_.dtype)
    for r in range(len(x_)):
        if inner == 1:
            {name}_top(x_[r].reshape(-1), values, places_[r].reshape(-1))
        else:
            for first in range(0, inner, 16):
                some = min(16, inner - first)
                for i in range(n):
                    for j in range(some):
                        columns[j, i] = x_[r, i, first + j]
                for j in range(some):
                    {name}_top(columns[j], values, places)
                    for i in range(k):
                        places_[r, i, first + j] = places[i]
'''

SOURCE = (
    HEAD
    + TOP.replace("{name}", "largest").replace("{operator}", ">").replace("{odd}", "a != a and b == b")
    + TOP.replace("{name}", "smallest").replace("{operator}", "<").replace("{odd}", "b != b and a == a")
)


module = by_dtype("ranking", SOURCE)


def top(x: np.ndarray, k: int, dim: int, largest: bool) -> np.ndarray | None:
    """Return the places of the k largest or smallest along a dimension, in order; equal ones keep their order."""
    if on_device(x):
        return cuda_kernels("sorting").top(x, k, dim, largest)
    n = x.shape[dim]
    if x.size < RANK_FROM or x.dtype.kind not in "fiu" or not 0 < k <= n // SHARE:
        return None
    if only_definitions() or not is_ready(x.size):
        return None
    outer, inner = math.prod(x.shape[:dim]), math.prod(x.shape[dim + 1 :])
    places, kernels = np.empty((*x.shape[:dim], k, *x.shape[dim + 1 :]), np.int64), module(x.dtype)
    arrays = [np.ascontiguousarray(x).reshape(outer, n, inner), places.reshape(outer, k, inner)]
    launch(kernels.largest if largest else kernels.smallest, arrays, x.size)
    return places
