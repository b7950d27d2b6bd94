"""Searching: the places of nonzero elements, the positions of values in sorted rows, and distinct elements."""

import functools
from typing import Any

import numpy as np

from ...arrays.halves import widened
from ...arrays.kinds import to_device_of
from ...arrays.meta import SIZE, inside, no_numbers
from . import flat, kernel_modules, pointwise_cuda
from .device_array import DeviceArray, empty
from .functions import of_arrays
from .scans_cuda import running

HEAD = '''"""The places of True elements, from a running count of them."""

from numba import cuda


@cuda.jit
def collect(mask_, until_, places_):
'''

BISECT = '''"""Positions of values in sorted rows."""

from numba import cuda


@cuda.jit(device=True)
def less(a, b):
    """Return True if a < b; NaN counts as larger than every number."""
    return a < b or b != b and a == a


@cuda.jit
def bisect(right, rows_, values_, out_):
    """Find positions before equal elements, or after them with `right`."""
    for e in range(cuda.grid(1), values_.size, cuda.gridsize(1)):
        r, i = e // values_.shape[1], e % values_.shape[1]
        v, low, high = values_[r, i], 0, rows_.shape[1]
        while low < high:
            m = (low + high) // 2
            if not less(v, rows_[r, m]) if right else less(rows_[r, m], v):
                low = m + 1
            else:
                high = m
        out_[r, i] = low
'''


@functools.cache
def collector(rank: int) -> Any:
    """Return the kernel for masks of `rank` dimensions."""
    at = ", ".join([f"i{d}" for d in range(rank)])
    lines = [*flat.coordinates("mask_", rank), f"if mask_[{at}]:"]
    lines += [f"    places_[until_[i] - 1, {d}] = i{d}" for d in range(rank)]
    return kernel_modules.load("collect", HEAD + flat.loop("mask_.size", lines)).collect


@of_arrays(np.argwhere)
def argwhere(a: Any) -> Any:
    """Return the places of nonzero elements, one row for each; reads their number back from the device."""
    if inside.active:
        raise no_numbers(a.shape, SIZE, who="nonzero")
    mask = a if a.dtype.kind == "b" else a != 0
    if not mask.ndim:
        return empty((int(bool(mask)), 0), np.int64)
    until = running(np.add, mask.reshape(-1), 0, dtype=np.int64)
    places = empty((int(until[-1]) if until.size else 0, mask.ndim), np.int64)
    if places.size:
        collector(mask.ndim)[kernel_modules.threads(mask.size)](mask, until, places)
    return places


@of_arrays(np.nonzero)
def nonzero(a: Any) -> tuple:
    places = argwhere(a)
    return tuple([places[:, d] for d in range(a.ndim)])


@of_arrays(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    return argwhere(a.reshape(-1))[:, 0]


# ---------------------------------------------------------------------- sorted sequences
def insertion_positions(rows: DeviceArray, values: DeviceArray, right: bool) -> DeviceArray:
    """Return the positions of values in the last dimension of sorted rows of the same rank, or of one row for all."""
    n = rows.shape[-1]
    if not n or not values.size:
        return np.zeros_like(values, np.int64)
    out, r = empty(values.shape, np.int64), 1 if rows.ndim == 1 else rows.size // n
    dtype = pointwise_cuda.computed_in(np.result_type(rows.dtype, values.dtype))
    given = [a.astype(dtype, copy=False).reshape(r, -1) for a in (rows, values)]
    bisect = kernel_modules.load("bisect", BISECT).bisect
    bisect[kernel_modules.threads(out.size)](right, *given, out.reshape(r, -1))
    return out


@of_arrays(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left") -> DeviceArray:
    return insertion_positions(to_device_of(a, v), to_device_of(v, a), side == "right")


@of_arrays(np.isin)
def isin(element: Any, test_elements: Any) -> DeviceArray:
    """Return a mask of elements that are among the tests, found by bisection in the sorted tests."""
    element, tests = to_device_of(element, test_elements), to_device_of(test_elements, element).reshape(-1)
    if not tests.size:
        return np.zeros_like(element, bool)
    element, tests = widened(element), widened(tests)  # NumPy has no common dtype of float16 and bfloat16
    dtype = np.result_type(element.dtype, tests.dtype)
    tests, element = np.sort(tests.astype(dtype, copy=False)), element.astype(dtype, copy=False)
    return tests[np.minimum(insertion_positions(tests, element, False), tests.size - 1)] == element


# ---------------------------------------------------------------------- distinct elements
@of_arrays(np.unique)
def unique(ar: Any, return_inverse: bool, return_counts: bool, axis: int | None, equal_nan: bool) -> tuple:
    """Return the distinct elements, or slices along an axis, in order, each element's index among them, and their counts.

    Neighbours in sorted order are compared, so no NaN is equal to another one.
    """
    assert return_inverse and return_counts and not equal_nan
    rows = ar.reshape(-1, 1) if axis is None else np.moveaxis(ar, axis, 0)
    flat = rows.reshape(len(rows), rows.size // max(len(rows), 1))
    order = lexical(flat)
    same = flat[order]
    new = np.ones_like(same, bool, shape=(len(rows),))
    new[1:] = (same[1:] != same[:-1]).any(1)
    starts = np.flatnonzero(new)
    values = rows[order[starts]]
    values = values.reshape(-1) if axis is None else np.moveaxis(values, 0, axis).copy()
    inverse = empty(len(rows), np.int64)
    inverse[order] = np.cumsum(new) - 1
    counts = np.diff(np.append(starts, len(rows)))
    return values, inverse.reshape(ar.shape) if axis is None else inverse, counts


def lexical(rows: DeviceArray) -> DeviceArray:
    """Return the order of rows by their first element, then by the second, ...: sorted by each, the last one first."""
    order = to_device_of(np.arange(len(rows)), rows)
    for column in range(rows.shape[1] - 1, -1, -1):
        order = order[np.argsort(rows[:, column][order], kind="stable")]
    return order
