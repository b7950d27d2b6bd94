"""Combining values at indices that may repeat: sums, products and extremes through atomic operations, and counting.

The GPU adds to memory atomically. Other functions use compare-and-swap: compute the new value, write it if no other thread
has changed the old one, else try again. It works on integers, so floats are seen as their bits. The order of threads is not
determined, and so neither are the last digits of a sum of floats.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays.dtypes import HALVES
from ..cpu.index_cpu import HOW
from . import indexing
from .device_array import DeviceArray, full
from .functions import of_arrays
from .indexing import Action, visit

ADD = Action("adding at indices", "cuda.atomic.add(x_, ({at}), {other})")

IMPORTS = """from numpy import {names}
from minigrad.kernels.cuda.device_functions import bits, of_bits

@cuda.jit(device=True)
def combine(old, new):
    return {dtype}({combine})

"""
SWAP = """old = INT(0)  # a guess: the first attempt returns the true value
while True:
    found = cuda.atomic.cas(x_, ({at}), old, NEW)
    if found == old:
        break
    old = found"""


@functools.cache
def combining(how: str, dtype: np.dtype) -> Action:
    """Return the action that combines x with a value at the same place."""
    if how == "add":
        return ADD
    integer = f"int{8 * dtype.itemsize}"
    names = ", ".join(sorted({dtype.name, integer}))
    new = "combine(old, {other})" if dtype.kind in "iu" else "bits(combine(of_bits(old), {other}))"
    swap = SWAP.replace("INT", integer).replace("NEW", new)
    return Action(f"{how} at indices", swap, IMPORTS.format(names=names, dtype=dtype.name, combine=HOW[how]))


def combine(how: str, x: DeviceArray, select: Callable, other: Any, checked: bool = True) -> None:
    """Combine the elements of x at the places `select(x)` with `other` by NumPy's function `how`."""
    if x.itemsize < 4:  # atomic operations need at least 4 bytes
        wide = x.astype(np.float32 if x.dtype in HALVES else np.int32)
        combine(how, wide, select, other, checked)
        x[...] = wide
        return
    places = select(x)
    other = indexing.partner(other, x, places)
    seen = x if how == "add" or x.dtype.kind != "f" else x.view(f"i{x.itemsize}")
    visit(combining(how, x.dtype), seen, places, other, checked)


def scatter(x: DeviceArray, dim: int, index: DeviceArray, src: Any, how: str) -> bool:
    """Write or combine elements of src at `index` along dim; the indices were checked before."""
    if how != "write":
        combine(how, x, lambda x: indexing.along(x, dim, index), src, checked=False)
    elif index.size:
        indexing.write(x, indexing.along(x, dim, index), src, checked=False)
    return True


def add(x: DeviceArray, dims: tuple, indices: tuple, rows: Any, known: bool) -> bool:
    """Add slices at indices along dims."""
    combine("add", x, lambda x: indexing.selected(x, dims, indices), rows, checked=not known)
    return True


# ---------------------------------------------------------------------- counting
@of_arrays(np.bincount)
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Return how often each number from 0 on occurs, or the sum of its weights."""
    out = full(max(int(x.max()) + 1 if x.size else 0, minlength), 0, np.int64 if weights is None else np.float64)
    combine("add", out, lambda a: indexing.selected(a, (0,), (x,)), 1 if weights is None else weights, False)
    return out


@of_arrays(np.histogram)
def histogram(a: Any, bins: int = 10, range: Any = None) -> tuple:
    """Return the number of elements in each of `bins` equal parts of a range, and the edges of the parts.

    The last edge belongs to its part. Elements outside of the range, NaN included, go to extra parts before and after.
    """
    low, high = range
    edges, flat = np.linspace(low, high, bins + 1, dtype=np.result_type(low, high, a.dtype)), a.reshape(-1)
    part = np.where(flat == edges[-1], bins, np.searchsorted(edges, flat, "right"))
    counts = full(bins + 2, 0, np.int64)
    combine("add", counts, lambda x: indexing.selected(x, (0,), (part,)), 1, False)
    return counts[1:-1], edges
