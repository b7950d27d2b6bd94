"""Sums of even parts of a dimension, and their gradient: one pass over memory.

Written by hand, for NumPy gathers the parts, whose lengths differ: 250 to 400 microseconds for 100,000 elements, these 15
to 40.  ops/nn/adaptive_pool.py has the definitions.  None stands for "NumPy serves as well".
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..cache import by_dtype
from ..fallback import alone
from ..threads import launch

PARTS_FROM = 2048  # elements; below, NumPy's dozen calls cost less than a first lesson's wait for the compiler

SOURCE = '''"""Parts of the middle dimension of {real}: from start[i] to end[i], unsigned, so that none counts from the end."""

from numba import njit
from numpy import {real} as real


@njit(nogil=True)
def sums(start, end, x_, out_):
    for r in range(len(out_)):
        x, out, row = x_[r], out_[r], x_[r].reshape(-1)
        for i in range(len(out)):
            if out.shape[1] == 1:
                total = real(0)
                for k in range(start[i], end[i]):
                    total += row[k]
                out[i, 0] = total
                continue
            out[i] = 0
            for k in range(start[i], end[i]):
                for j in range(out.shape[1]):
                    out[i, j] += x[k, j]


@njit(nogil=True)
def spread(start, end, g_, out_):
    for r in range(len(out_)):
        g, out, row = g_[r], out_[r], out_[r].reshape(-1)
        row[:] = 0
        for i in range(len(g)):
            if g.shape[1] == 1:
                each = g[i, 0]
                for k in range(start[i], end[i]):
                    row[k] += each
                continue
            for k in range(start[i], end[i]):
                for j in range(out.shape[1]):
                    out[k, j] += g[i, j]
'''

module = by_dtype("even_parts", SOURCE)


def sums(x: np.ndarray, d: int, start: np.ndarray, end: np.ndarray) -> np.ndarray | None:
    """The sums of parts of dimension d."""
    return by_kernel("sums", x, d, start.size, start, end)


def spread(g: np.ndarray, d: int, m: int, start: np.ndarray, end: np.ndarray) -> np.ndarray | None:
    """The gradient by m elements of dimension d, whose parts' sums have the gradient g."""
    return by_kernel("spread", g, d, m, start, end)


def by_kernel(name: str, x: np.ndarray, d: int, n: int, start: np.ndarray, end: np.ndarray) -> np.ndarray | None:
    """Run a kernel that gives another number of elements along dimension d."""
    before, behind = math.prod(x.shape[:d]), math.prod(x.shape[d + 1 :])
    work = before * max(n, x.shape[d]) * behind
    if work < PARTS_FROM or type(x) is not np.ndarray or alone() or x.dtype.kind != "f":
        return None
    out = np.empty((*x.shape[:d], n, *x.shape[d + 1 :]), x.dtype)
    given = [np.ascontiguousarray(a).reshape(before, a.shape[d], behind) for a in (x, out)]
    launch(partial(getattr(module(x.dtype), name), start, end), given, work)
    return out
