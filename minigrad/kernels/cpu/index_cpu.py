"""Kernels for reading and writing at places: gather, scatter and adding, and whole rows by index.

Arrays are seen as (outer, n, inner), the indices along n.  NumPy's np.add.at and its indexing with several arrays go
through a list of all places; these go through memory.  The definitions are in ops/gather.py, index_cpu.py and embedding.py;
None, or False, stands for "NumPy does that": small arrays, other layouts, and indices out of range, for which it has words.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from ...arrays.kinds import kernels_there, on_device
from ...errors import error
from ..cache import by_dtype
from ..fallback import worth
from ..threads import launch

PLACES_FROM = 2048  # indices or elements; NumPy needs 20 microseconds for them, and a first lesson would wait

HOW = {
    "write": "new",
    "add": "old + new",
    "multiply": "old * new",
    "maximum": "new if new > old or new != new else old",
    "minimum": "new if new < old or new != new else old",
}
# The lines of indices, and where an element stands: with something behind the dimension, and without.
LINES = (
    {"along": "", "count": "index_.shape[1]", "line": "r, k", "place": "at(index[j]), j"},
    {"along": "_along", "count": "1", "line": "r", "place": "at(index[j])"},
)

HEAD = '''"""Reading, writing and adding {real} at places; wrong[0] becomes 1 where an index is out of range."""

from numba import njit
from numpy import uint64 as at  # an index that needs no check whether it counts from the end


@njit(nogil=True)
def within(index, n):
    low, high = index[0], index[0]
    for i in range(index.size):
        low, high = min(low, index[i]), max(high, index[i])
    return low >= 0 and high < n
'''
SLICES = """
@njit(nogil=True)
def {name}_rows(index, given_, made_):
    for r in range(len(made_)):
        for k in range(index.size):
            given, made = given_[r, {source}], made_[r, {target}]
            for j in range(made.size):
                made[j] {does} given[j]

@njit(nogil=True)
def {name}_columns(index, given_, made_):
    for r in range(len(made_)):
        for k in range(index.size):
            made_[r, {target}] {does} given_[r, {source}]
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

TAKE = SLICES.format(name="take", source="at(index[k])", target="k", does="=")
ADD = SLICES.format(name="add", source="k", target="at(index[k])", does="+=")
SOURCE = (
    HEAD
    + TAKE
    + ADD
    + "".join(
        [
            GATHER.format(**words) + "".join([SCATTER.format(name=name, how=how, **words) for name, how in HOW.items()])
            for words in LINES
        ]
    )
)

module = by_dtype("places", SOURCE)


def serves(x: np.ndarray, number: int) -> bool:
    """Whether an array, and so many elements to be read or written, are worth a kernel."""
    return worth(x, number, PLACES_FROM) and x.size > 0 and x.flags.c_contiguous


def fits(x: np.ndarray, dim: int, index: np.ndarray) -> bool:
    """Whether `index`, of int64, is as large as x in all other dimensions."""
    same = all(n == m for d, (n, m) in enumerate(zip(x.shape, index.shape)) if d != dim)
    return same and x.ndim == index.ndim and index.dtype == np.int64


def out_of_range(index: int, dim: int, n: int) -> Exception:
    """The error for an index that may count from the end."""
    told = error(
        IndexError,
        "index",
        f"index {index} is out of bounds for dimension {dim} with size {n}",
        f"use indices from {-n} to {n - 1}" if n else "there is nothing to choose from: skip what is empty",
    )
    told.below = True
    return told


def lines(x: np.ndarray, dim: int, end: int | None = None) -> np.ndarray:
    """(outer, n, inner), where n is what dimensions dim to end - 1 have; without the last where it is 1."""
    end = dim + 1 if end is None else end
    outer, n, inner = (math.prod(some) for some in (x.shape[:dim], x.shape[dim:end], x.shape[end:]))
    return np.ascontiguousarray(x).reshape((outer, n, inner) if inner > 1 else (outer, n))


def gather(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray | None:
    """The elements at `index` along dim."""
    if on_device(x):
        return kernels_there("indexing").gather(x, dim, index)
    if not serves(x, index.size) or not fits(x, dim, index):
        return None
    out = np.empty(index.shape, x.dtype)
    return out if at_places("gather", x, dim, [x, index, out]) else None


def scatter(x: np.ndarray, dim: int, index: np.ndarray, src: Any, how: str) -> bool:
    """Elements of src written at `index` along dim of x, or combined with what is there by NumPy's function of that name."""
    if on_device(x):
        return kernels_there("scatter").scatter(x, dim, index, src, how)
    if not serves(x, index.size) or not fits(x, dim, index):
        return False
    src = np.full(index.shape, src, x.dtype) if isinstance(src, (int, float)) else src
    if not like(src, index.shape, x):
        return False
    return at_places(f"scatter_{how}", x, dim, [index, src, x])


def at_places(name: str, x: np.ndarray, dim: int, arrays: list) -> bool:
    """Run a kernel on x and arrays that are as large in all dimensions but dim; False if an index was out of range."""
    wrong, seen = np.zeros(1, np.int64), [lines(a, dim) for a in arrays]
    kernel = getattr(module(x.dtype), name if seen[0].ndim == 3 else f"{name}_along")
    launch(partial(kernel, wrong), seen, arrays[1].size)
    return not wrong[0]


def like(a: Any, shape: tuple, x: np.ndarray) -> bool:
    """Whether that is an array of this shape and x's dtype, in memory of its own."""
    return isinstance(a, np.ndarray) and a.shape == shape and a.dtype == x.dtype and not np.may_share_memory(a, x)


def in_range(index: np.ndarray, n: int) -> bool:
    """Whether all indices lie between 0 and n - 1; False also where somebody else has to look."""
    if on_device(index):
        return kernels_there("indexing").in_range(index, n)
    index = index.astype(np.int64, copy=False)
    return not index.size or bool(index.view(np.uint64).max() < n)  # there a negative number is a very large one


def from_the_front(index: np.ndarray, dim: int, n: int) -> np.ndarray:
    """Indices of int64 with those from the end counted from the front; IndexError where one is out of range."""
    if not in_range(index, n):
        low, high = index.min(), index.max()
        if low < -n or high >= n:
            raise out_of_range(low if low < -n else high, dim, n)
        index = np.where(index < 0, index + n, index)
    return index.astype(np.int64, copy=False)


def positive(index: np.ndarray, n: int, signed: bool) -> np.ndarray | None:
    """Indices of int64, flat, those from the end (if `signed`) counted from the front; None where one is out of range."""
    flat = np.ascontiguousarray(index, np.int64).reshape(-1)
    if in_range(flat, n):
        return flat
    flat = np.where(flat < 0, flat + n, flat)
    return flat if signed and in_range(flat, n) else None


def take(x: np.ndarray, dim: int, index: np.ndarray, signed: bool = True) -> np.ndarray | None:
    """The slices of x at indices along dim; `signed` ones may count from the end."""
    if on_device(x):
        return kernels_there("indexing").slices(x, dim, index, signed)
    shape = x.shape[:dim] + index.shape + x.shape[dim + 1 :]
    if not serves(x, math.prod(shape)) or index.dtype.kind != "i":
        return None
    out = np.empty(shape, x.dtype)
    arrays = [lines(x, dim), lines(out, dim, dim + index.ndim)]
    return out if by_slices("take", x, dim, index, signed, arrays, out.size) else None


def add(x: np.ndarray, dims: tuple, indices: tuple, rows: Any, known: bool = False) -> bool:
    """Slices added to x at indices along dims, in place; rows has the shape that indexing gives.

    `known` indices have been looked at before: on a device, asking would mean to wait for it.
    """
    if on_device(x):
        return kernels_there("scatter").add(x, dims, indices, rows, known)
    if len(dims) > 1:
        return False
    (dim,), (index,) = dims, indices
    shape = x.shape[:dim] + index.shape + x.shape[dim + 1 :]
    if not serves(x, math.prod(shape)) or index.dtype.kind != "i" or not like(rows, shape, x):
        return False
    return by_slices("add", x, dim, index, True, [lines(rows, dim, dim + index.ndim), lines(x, dim)], rows.size)


def by_slices(name: str, x: np.ndarray, dim: int, index: np.ndarray, signed: bool, arrays: list, work: int) -> bool:
    """Run a kernel on slices of x and of an array with those at the indices; False if one is out of range."""
    if (where := positive(index, x.shape[dim], signed)) is None:
        return False
    kernel = getattr(module(x.dtype), f"{name}_rows" if arrays[0].ndim == 3 else f"{name}_columns")
    launch(partial(kernel, where), arrays, work)
    return True
