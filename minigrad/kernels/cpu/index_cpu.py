"""Kernels that read and write at indices: gather, scatter, scatter_add, and whole rows.

Arrays are seen as (outer, n, inner), with indices along n. NumPy's np.add.at and its indexing with several arrays go through
a list of all places; these kernels go through memory. The definitions are in ops/gather.py, index.py and nn/embedding.py.
None or False leaves the work to NumPy: small arrays, other layouts, and indices out of range, for which NumPy has an error.
"""

import math
from functools import partial
from typing import Any

import numpy as np

from ...arrays.kinds import on_device
from ...errors import error
from .. import cuda_kernels
from ..cache import by_dtype
from ..fallback import worth
from ..threads import launch

PLACES_FROM = 512  # indices or elements; NumPy needs 20 microseconds for them

HOW = {
    "write": "new",
    "add": "old + new",
    "multiply": "old * new",
    "maximum": "new if new > old or new != new else old",
    "minimum": "new if new < old or new != new else old",
}
# How kernels see lines of indices and address an element, with and without dimensions after `dim`.
LINES = (
    {"along": "", "count": "index_.shape[1]", "line": "r, k", "place": "at(index[j]), j"},
    {"along": "_along", "count": "1", "line": "r", "place": "at(index[j])"},
)

HEAD = '''"""Reading, writing and adding {real} at places; wrong[0] becomes 1 where an index is out of range."""

from numba import njit
from numpy import uint64 as at  # unsigned: needs no check for negative indices


@njit(nogil=True)
def within(index, n):
    low, high = index[0], index[0]
    for i in range(index.size):
        low, high = min(low, index[i]), max(high, index[i])
    return low >= 0 and high < n
'''
ADD = """
@njit(nogil=True)
def add_rows(index, given_, made_):
    for r in range(len(made_)):
        for k in range(index.size):
            given, made = given_[r, k], made_[r, at(index[k])]
            for j in range(made.size):
                made[j] += given[j]

@njit(nogil=True)
def add_columns(index, given_, made_):
    for r in range(len(made_)):
        for k in range(index.size):
            made_[r, at(index[k])] += given_[r, k]
"""
MOVE = """
@njit(nogil=True)
def add_moved(source, target, x_, out_):
    for k in range(source.size):
        x, out = x_[at(source[k])], out_[at(target[k])]
        for j in range(out.size):
            out[j] += x[j]
"""
GATHER = """

@njit(nogil=True)
def gather{along}(wrong, x_, index_, out_):
    for r in range(len(x_)):
        for k in range({count}):
            x, index, out = x_[r], index_[{line}], out_[{line}]
            if not within(index, len(x)):
                wrong[0] = 1
                return
            for j in range(index.size):
                out[j] = x[{place}]
"""

SCATTER = """

@njit(nogil=True)
def scatter_{name}{along}(wrong, index_, src_, x_):
    for r in range(len(x_)):
        for k in range({count}):
            x, index, src = x_[r], index_[{line}], src_[{line}]
            if not within(index, len(x)):
                wrong[0] = 1
                return
            for j in range(index.size):
                old, new = x[{place}], src[j]
                x[{place}] = {how}
"""

SOURCE = (
    HEAD
    + ADD
    + MOVE
    + "".join(
        [
            GATHER.format(**words) + "".join([SCATTER.format(name=name, how=how, **words) for name, how in HOW.items()])
            for words in LINES
        ]
    )
)

module = by_dtype("places", SOURCE)


def worth_a_kernel(x: np.ndarray, number: int) -> bool:
    """Return True if an array, and `number` elements to read or write, are worth a kernel."""
    return worth(x, number, PLACES_FROM) and x.size > 0 and x.flags.c_contiguous


def fits(x: np.ndarray, dim: int, index: np.ndarray) -> bool:
    """Return True if `index` is int64 and has the size of x in all other dimensions."""
    same = x.shape[:dim] == index.shape[:dim] and x.shape[dim + 1 :] == index.shape[dim + 1 :]
    return same and index.dtype == np.int64


def out_of_range(index: int, dim: int, n: int) -> Exception:
    """Return the error for an index that may be negative."""
    e = error(
        IndexError,
        "index",
        f"index {index} is out of bounds for dimension {dim} with size {n}",
        f"use indices from {-n} to {n - 1}" if n else "skip the empty tensor",
    )
    e.below = True
    return e


def lines(x: np.ndarray, dim: int, end: int | None = None) -> np.ndarray:
    """Return x as (outer, n, inner), where n covers dimensions dim to end - 1; without inner if it is 1."""
    end = dim + 1 if end is None else end
    outer, n, inner = (math.prod(some) for some in (x.shape[:dim], x.shape[dim:end], x.shape[end:]))
    return np.ascontiguousarray(x).reshape((outer, n, inner) if inner > 1 else (outer, n))


def gather(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray | None:
    """Return the elements at `index` along dim."""
    if on_device(x):
        return cuda_kernels("indexing").gather(x, dim, index)
    if not worth_a_kernel(x, index.size) or not fits(x, dim, index):
        return None
    out = np.empty(index.shape, x.dtype)
    return out if run_at_places("gather", x, dim, [x, index, out]) else None


def scatter(x: np.ndarray, dim: int, index: np.ndarray, src: Any, how: str) -> bool:
    """Write elements of src at `index` along dim of x, or combine them with x by the NumPy function `how`."""
    if on_device(x):
        return cuda_kernels("scatter").scatter(x, dim, index, src, how)
    if not worth_a_kernel(x, index.size) or not fits(x, dim, index):
        return False
    src = np.full(index.shape, src, x.dtype) if isinstance(src, (int, float)) else src
    if not like(src, index.shape, x):
        return False
    return run_at_places(f"scatter_{how}", x, dim, [index, src, x])


def run_at_places(name: str, x: np.ndarray, dim: int, arrays: list) -> bool:
    """Run a kernel on x and arrays that have its size in all dimensions but dim; return False if an index is out of range."""
    outer, inner = math.prod(x.shape[:dim]), math.prod(x.shape[dim + 1 :])
    size = (outer, -1, inner) if inner > 1 else (outer, -1)
    wrong, seen = np.zeros(1, np.int64), [np.ascontiguousarray(a).reshape(size) for a in arrays]
    kernel = getattr(module(x.dtype), name if seen[0].ndim == 3 else f"{name}_along")
    launch(partial(kernel, wrong), seen, arrays[1].size)
    return not wrong[0]


def like(a: Any, shape: tuple, x: np.ndarray) -> bool:
    """Return True if `a` is an array of this shape and x's dtype, and shares no memory with x."""
    return isinstance(a, np.ndarray) and a.shape == shape and a.dtype == x.dtype and not np.may_share_memory(a, x)


def in_range(index: np.ndarray, n: int) -> bool:
    """Return True if all indices are between 0 and n - 1; False also if another function has to check them."""
    if on_device(index):
        return cuda_kernels("indexing").in_range(index, n)
    if 0 < index.size < PLACES_FROM:  # NumPy finds a place three times as quickly as a value
        return index.item(index.argmin()) >= 0 and index.item(index.argmax()) < n
    index = index.astype(np.int64, copy=False)
    return not index.size or bool(index.view(np.uint64).max() < n)  # as unsigned, a negative number is very large


def nonnegative_indices(index: np.ndarray, dim: int, n: int) -> np.ndarray:
    """Return the indices as int64 with negative ones counted from the front; raise IndexError if one is out of range."""
    if not in_range(index, n):
        low, high = index.min(), index.max()
        if low < -n or high >= n:
            raise out_of_range(low if low < -n else high, dim, n)
        index = np.where(index < 0, index + n, index)
    return index.astype(np.int64, copy=False)


def positive(index: np.ndarray, n: int, signed: bool) -> np.ndarray | None:
    """Return flat int64 indices, with negative ones (if `signed`) counted from the front; None if one is out of range."""
    flat = np.ascontiguousarray(index, np.int64).reshape(-1)
    if in_range(flat, n):
        return flat
    flat = np.where(flat < 0, flat + n, flat)
    return flat if signed and in_range(flat, n) else None


def take(x: np.ndarray, dim: int, index: np.ndarray, signed: bool = True) -> np.ndarray | None:
    """Return the slices of x at indices along dim on a GPU; `signed` ones may be negative. In main memory NumPy does."""
    return cuda_kernels("indexing").slices(x, dim, index, signed) if on_device(x) else None


def add(x: np.ndarray, dims: tuple, indices: tuple, rows: Any, known: bool = False) -> bool:
    """Add slices to x at indices along dims, in place; rows has the shape that indexing gives.

    `known` indices were checked before: on a device, a check would have to wait for the result.
    """
    if on_device(x):
        return cuda_kernels("scatter").add(x, dims, indices, rows, known)
    if len(dims) > 1:
        return False
    (dim,), (index,) = dims, indices
    shape = x.shape[:dim] + index.shape + x.shape[dim + 1 :]
    if not worth_a_kernel(x, math.prod(shape)) or index.dtype.kind != "i" or not like(rows, shape, x):
        return False
    if (where := positive(index, x.shape[dim], True)) is None:
        return False
    arrays = [lines(rows, dim, dim + index.ndim), lines(x, dim)]
    kernel = module(x.dtype).add_rows if arrays[0].ndim == 3 else module(x.dtype).add_columns
    launch(partial(kernel, where), arrays, rows.size)
    return True


def add_moved(out: np.ndarray, target: np.ndarray, x: np.ndarray, source: np.ndarray) -> bool:
    """Add row source[i] of x to row target[i] of out, for all i, without a copy of the rows."""
    if not worth_a_kernel(x, source.size * math.prod(x.shape[1:])):
        return False
    places = [positive(index, len(a), False) for index, a in ((source, x), (target, out))]
    if places[0] is None or places[1] is None:
        return False
    module(x.dtype).add_moved(*places, x.reshape(len(x), -1), out.reshape(len(out), -1))
    return True
