"""Distances of all points of one set from all of another, by the sum of absolute differences, and their gradient.

What is (n, m, d) in the definition (ops/norms.py) is never held.  None stands for "NumPy serves as well".
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ...arrays.kinds import kernels_there, on_device
from ...config import GENERIC
from .. import cache as modules
from ..threads import launch
from .reductions_cpu import pairwise

DISTANCES_FROM = 4096  # differences; below, a first lesson would wait for the compiler

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
    """Each point is pulled by g in the direction of each of the others: in short sums, added up in double precision."""
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


@cache
def module(dtype: np.dtype) -> Any:
    """The kernels for one dtype."""
    return modules.load(f"distances_{dtype.name}", SOURCE.format(real=dtype.name))


def tables(x: np.ndarray, y: np.ndarray) -> tuple | None:
    """x (..., n, d) as rows with their numbers, and y as (-1, m, d), if they are worth a kernel."""
    if x.size * y.shape[-2] < DISTANCES_FROM or GENERIC or modules.without.get() or x.dtype != y.dtype:
        return None
    rows = math.prod(x.shape[:-1])
    return (
        np.ascontiguousarray(y).reshape(-1, *y.shape[-2:]),
        np.arange(rows),
        np.ascontiguousarray(x).reshape(rows, -1),
    )


def distances(x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """The distances of all rows of x (..., n, d) from those of y (..., m, d)."""
    if on_device(x):
        return kernels_there("distances_cuda").distances(x, y)
    found = tables(x, y)
    if found is None:
        return None
    others, numbers, points = found
    out = np.empty((*x.shape[:-1], y.shape[-2]), x.dtype)
    kernel, height = module(x.dtype).distances, x.shape[-2]
    arrays = [numbers, points, out.reshape(len(points), -1)]
    launch(lambda *some: kernel(height, others, *some), arrays, x.size * y.shape[-2] // 8)
    return out


def pulls(g: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """The gradient by x."""
    if on_device(x):
        return kernels_there("distances_cuda").pulls(g, x, y)
    found = tables(x, y)
    if found is None or g.dtype != x.dtype:
        return None
    others, numbers, points = found
    dx, kernel, height = np.empty(x.shape, x.dtype), module(x.dtype).pulls, x.shape[-2]
    arrays = [numbers, points, np.ascontiguousarray(g).reshape(len(points), -1), dx.reshape(points.shape)]
    launch(lambda *some: kernel(height, others, *some), arrays, x.size * y.shape[-2] // 8)
    return dx
