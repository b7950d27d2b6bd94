"""Kernels for scans along a dimension: running sums and products, and the recurrence behind their gradients.

Arrays are seen as (outer, n, inner), with the scan along n. The carried value is float64: one number, or a row of them if
inner is more than 1. ops/scan.py has the definitions; None means that NumPy is as fast.
"""

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
STEPS_FROM = 1  # the same for recurrences: NumPy needs 10 microseconds for a few

HEAD = '''"""Scans of {real}."""

import numpy as np
from numba import njit
from numpy import {real} as real
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


SOURCE = (
    HEAD
    + scan("running_add", "x_", "-0.0", "{total} + x_[{at}]")
    + scan("running_multiply", "x_", "1.0", "{total} * x_[{at}]")
    + scan("recurrence", "a_, b_", "-0.0", "(a_[{at}] * {total} if i else -0.0) + b_[{at}]")
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


def recurrence(a: np.ndarray, b: np.ndarray, dim: int, reverse: bool) -> np.ndarray | None:
    """Return y[i] = a[i] * y[i-1] + b[i] along a dimension, from its end if `reverse`."""
    if on_device(b):
        return cuda_kernels("scans_cuda").recurrence(a, b, dim, reverse)
    if not worth(b, b.size, STEPS_FROM) or a.dtype != b.dtype or a.shape != b.shape:
        return None
    out = np.empty(b.shape, b.dtype)
    launch(kernel_of("recurrence", b.dtype), [reverse, *[lines(x, dim) for x in (a, b, out)]], b.size)
    return None if is_spoilt(out) else out
