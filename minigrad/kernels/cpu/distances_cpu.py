"""Distances between all points of two sets, as sums of absolute differences, and their gradient.

The (n, m, d) array of the definition (ops/norms.py) is never allocated. None means that NumPy is as fast.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...arrays.kinds import on_device
from .. import cuda_kernels
from ..cache import by_dtype
from ..fallback import worth
from ..threads import launch
from .reductions_cpu import pairwise

DISTANCES_FROM = 512  # differences

SOURCE = (
    '''"""Sums of absolute differences of {real}."""

import numpy as np
from numba import njit
from numpy import {real} as real
'''
    + pairwise("apart", "abs(x[i] - y[i])", "xy")
    + '''

@njit(nogil=True)
def distances(height, y_, numbers_, x_, out_):
    for k in range(len(out_)):
        x, y, out = x_[k], y_[numbers_[k] // height], out_[k]
        for j in range(out.size):
            out[j] = apart_of(x, y[j])


@njit(nogil=True)
def pulls(height, y_, numbers_, x_, g_, dx_):
    """Pull each point by g towards each of the others: in short sums, added up in double precision."""
    few, total = np.empty(dx_.shape[1], np.{real}), np.empty(dx_.shape[1], np.float64)
    for k in range(len(dx_)):
        x, others, gs = x_[k], y_[numbers_[k] // height], g_[k]
        total[:] = 0
        for first in range(0, gs.size, 64):
            few[:] = 0
            for j in range(first, min(first + 64, gs.size)):
                y, g = others[j], gs[j]
                for i in range(few.size):
                    few[i] += g * (real(x[i] > y[i]) - real(x[i] < y[i]))
            for i in range(few.size):
                total[i] += few[i]
        for i in range(few.size):
            dx_[k, i] = total[i]
'''
)


module = by_dtype("distances", SOURCE)


def worth_a_kernel(x: np.ndarray, y: np.ndarray) -> bool:
    """Return True if the differences of x and y are worth a kernel."""
    return worth(x, x.size * y.shape[-2], DISTANCES_FROM) and x.dtype == y.dtype


def distances(x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Return the distances between all rows of x (..., n, d) and y (..., m, d)."""
    if on_device(x):
        return cuda_kernels("distances_cuda").distances(x, y)
    return run("distances", x, y, [np.empty((*x.shape[:-1], y.shape[-2]), x.dtype)]) if worth_a_kernel(x, y) else None


def pulls(g: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Return the gradient of x."""
    if on_device(x):
        return cuda_kernels("distances_cuda").pulls(g, x, y)
    return run("pulls", x, y, [g, np.empty(x.shape, x.dtype)]) if worth_a_kernel(x, y) and g.dtype == x.dtype else None


def run(name: str, x: np.ndarray, y: np.ndarray, more: list) -> np.ndarray:
    """Run a kernel on the points of x with their numbers, and on all of y; the last array is the result."""
    n, others = math.prod(x.shape[:-1]), np.ascontiguousarray(y).reshape(-1, *y.shape[-2:])
    tables = [np.ascontiguousarray(a).reshape(n, -1) for a in (x, *more)]
    kernel = partial(getattr(module(x.dtype), name), x.shape[-2], others)
    launch(kernel, [np.arange(n), *tables], x.size * y.shape[-2] // 8)
    return more[-1]
