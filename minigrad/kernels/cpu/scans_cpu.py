"""Kernels for scans along a dimension: running sums, products and extremes, the recurrence behind their gradients, and the
gradient of a product.

Arrays are seen as (outer, n, inner), with the scan along n. The carried value is float64: one number, or a row of them if
inner is more than 1. ops/scan.py has the definitions; None means that NumPy is as fast.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ...arrays.kinds import contiguous, on_device
from .. import cuda_kernels
from ..cache import by_dtype
from ..fallback import is_spoilt, worth
from ..threads import launch

SCAN_FROM = 512  # elements; NumPy needs 2 microseconds for them
STEPS_FROM = 1  # the same for recurrences, products of others and extremes: NumPy needs 10 microseconds for a few

HEAD = '''"""Scans of {real}."""

import numpy as np
from numba import njit
from numpy import {real} as real

LANES = 32
'''

SCAN = """

@njit(nogil=True)
def {name}(reverse, {arrays}, out_):
    n, width = out_.shape[1], out_.shape[2]
    totals = np.empty(width)
    for r in range(len(out_)):
        totals[:] = total = {start}
        for i in range(n):
            k = n - 1 - i if reverse else i
            if width == 1:
                total = {one}
                out_[r, k, 0] = total
            else:
                for j in range(width):
                    totals[j] = {each}
                    out_[r, k, j] = totals[j]
"""


def scan(name: str, arrays: str, start: str, step: str) -> str:
    """Return the text of a scan: `start` is the first {total}, `step` its value after the place {at} of the arrays."""
    one, each = step.format(total="total", at="r, k, 0"), step.format(total="totals[j]", at="r, k, j")
    return SCAN.format(name=name, arrays=arrays, start=start, one=one, each=each)


EXTREME = '''

@njit(nogil=True)
def running_{name}(x_, place_, out_):
    """Of equal elements the last counts, and of several NaN the last."""
    n, width = x_.shape[1], x_.shape[2]
    for r in range(len(x_)):
        if width == 1:
            best, found = x_[r, 0, 0], 0
            for i in range(n):
                value = x_[r, i, 0]
                if not (value {worse} best):  # most are worse, and skip the rest
                    if value {operator} best or value != value:
                        best, found = value, i
                out_[r, i, 0], place_[r, i, 0] = best, found
        else:
            out_[r, 0] = x_[r, 0]
            place_[r, 0] = 0
            for i in range(1, n):
                for j in range(width):
                    value, best = x_[r, i, j], out_[r, i - 1, j]
                    better = (value {operator} best) | (value != value)
                    out_[r, i, j] = value if better else best
                    place_[r, i, j] = i if better else place_[r, i - 1, j]
'''

OTHERS = '''

@njit(nogil=True)
def others(x_, g_, out_):
    """Compute g times the product of all others along the middle dimension: those before, then those after."""
    n, width = x_.shape[1], x_.shape[2]
    totals = np.empty(width)
    for r in range(len(x_)):
        totals[:] = g_[r]
        for i in range(n):
            for j in range(width):
                out_[r, i, j] = totals[j]
                totals[j] = totals[j] * x_[r, i, j]
        totals[:] = 1
        for i in range(n - 1, -1, -1):
            for j in range(width):
                out_[r, i, j] = out_[r, i, j] * totals[j]
                totals[j] = totals[j] * x_[r, i, j]


@njit(nogil=True)
def others_along(x_, g_, out_):
    """Do the same along rows, in LANES products at once: the others in a lane, times the product of the other lanes."""
    totals, rest = np.empty(LANES), np.empty(LANES)
    for r in range(len(x_)):
        x_row, out_row = x_[r], out_[r]
        totals[:] = 1
        for first in range(0, x_row.size, LANES):
            x, out = x_row[first : first + LANES], out_row[first : first + LANES]
            for j in range(out.size):
                out[j] = totals[j]
                totals[j] = totals[j] * x[j]
        before = behind = 1.0
        for j in range(LANES):
            rest[j] = before
            before = before * totals[j]
        for j in range(LANES - 1, -1, -1):
            rest[j] = rest[j] * behind * g_[r]
            behind = behind * totals[j]
        for first in range((x_row.size - 1) // LANES * LANES, -1, -LANES):
            x, out = x_row[first : first + LANES], out_row[first : first + LANES]
            for j in range(out.size):
                out[j] = out[j] * rest[j]
                rest[j] = rest[j] * x[j]
'''

SOURCE = (
    HEAD
    + scan("running_add", "x_", "-0.0", "{total} + x_[{at}]")
    + scan("running_multiply", "x_", "1.0", "{total} * x_[{at}]")
    + scan("recurrence", "a_, b_", "-0.0", "(a_[{at}] * {total} if i else -0.0) + b_[{at}]")
    + EXTREME.replace("{name}", "maximum").replace("{operator}", ">=").replace("{worse}", "<")
    + EXTREME.replace("{name}", "minimum").replace("{operator}", "<=").replace("{worse}", ">")
    + OTHERS
)


module = by_dtype("scans", SOURCE)


@cache
def kernel_of(name: str, dtype: np.dtype) -> Any:
    """Return the kernel of this name, or None."""
    return getattr(module(dtype), name, None)


def lines(x: np.ndarray, dim: int) -> np.ndarray:
    """Return x as (outer, n, inner)."""
    return contiguous(x).reshape(sizes(x.shape, dim, dim))


@lru_cache(256)
def sizes(shape: tuple, first: int, last: int) -> tuple:
    """Return the sizes before, along and behind adjacent dimensions."""
    return math.prod(shape[:first]), math.prod(shape[first : last + 1]), math.prod(shape[last + 1 :])


def running(ufunc: np.ufunc, x: np.ndarray, dim: int, reverse: bool) -> np.ndarray | None:
    """Return `ufunc` accumulated along dim, from the end if `reverse`."""
    if on_device(x):
        return cuda_kernels("scans_cuda").running(ufunc, x, dim, reverse)
    kernel = kernel_of(f"running_{ufunc.__name__}", x.dtype) if worth(x, x.size, SCAN_FROM) else None
    if kernel is None:
        return None
    x, shape = lines(x, dim), x.shape
    out = np.empty(x.shape, x.dtype)
    launch(kernel, [reverse, x, out], x.size)
    return out.reshape(shape)


def running_extreme(ufunc: np.ufunc, x: np.ndarray, dim: int) -> tuple | None:
    """Return running extremes and their places."""
    if on_device(x):
        return cuda_kernels("scans_cuda").running_extreme(ufunc, x, dim)
    if not worth(x, x.size, STEPS_FROM):
        return None
    out, place = np.empty(x.shape, x.dtype), np.empty(x.shape, np.int64)
    kernel = kernel_of(f"running_{ufunc.__name__}", x.dtype)
    launch(kernel, [lines(a, dim) for a in (x, place, out)], x.size)
    return out, place


def recurrence(a: np.ndarray, b: np.ndarray, dim: int, reverse: bool) -> np.ndarray | None:
    """Return y[i] = a[i] * y[i-1] + b[i] along a dimension, from its end if `reverse`."""
    if on_device(b):
        return cuda_kernels("scans_cuda").recurrence(a, b, dim, reverse)
    if not worth(b, b.size, STEPS_FROM) or a.dtype != b.dtype or a.shape != b.shape:
        return None
    out = np.empty(b.shape, b.dtype)
    launch(kernel_of("recurrence", b.dtype), [reverse, *[lines(x, dim) for x in (a, b, out)]], b.size)
    return None if is_spoilt(out) else out


def others(x: np.ndarray, g: np.ndarray, dims: tuple) -> np.ndarray | None:
    """Return the gradient of the product of x over adjacent dimensions: g times the other elements."""
    if not worth(x, x.size, STEPS_FROM) or not x.flags.c_contiguous or not dims:
        return None
    outer, n, inner = sizes(x.shape, dims[0], dims[-1])
    rows, name = ((outer, n, inner), "others") if inner > 1 else ((outer, n), "others_along")
    out = np.empty(rows, x.dtype)
    g = np.ascontiguousarray(g).reshape((outer, inner)[: out.ndim - 1])
    launch(kernel_of(name, x.dtype), [x.reshape(rows), g, out], x.size)
    return None if is_spoilt(out) else out.reshape(x.shape)
