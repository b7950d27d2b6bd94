"""Find an array's address, the owner of its memory and the order of its dimensions there; copy arrays with their layout."""

import math
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from ..errors import error
from .dtypes import F4, is_half
from .halves import narrowed
from .kinds import KINDS, Array, laid_out


def copied(a: np.ndarray, memo: dict) -> np.ndarray:
    """Return a deep copy of an array; arrays that share memory still do after the copy."""
    whole = storage(a)
    if not whole.flags.c_contiguous:
        return a.copy(order="K")
    key = ("storage", id(whole))
    if key not in memo:
        memo[key] = whole.copy()
    return laid_out(memo[key], a.shape, a.dtype, begin(a, whole), a.strides)


def address(a: np.ndarray) -> int:
    """Return the address of an array's first element."""
    return a.__array_interface__["data"][0] if type(a) is np.ndarray else a.address


def begin(a: np.ndarray, whole: np.ndarray) -> int:
    """Return the offset in bytes of an array from the beginning of the array that owns the memory."""
    return 0 if a is whole else address(a) - address(whole)


def storage(a: np.ndarray) -> np.ndarray:
    """Return the array that owns the memory."""
    while True:
        base = a.base
        if not isinstance(base, np.ndarray):  # as_strided puts an object between the array and its base
            base = getattr(base, "base", None)
        if not isinstance(base, np.ndarray):
            return a
        a = base


def is_pinned(a: np.ndarray) -> bool:
    """Return True if minigrad pinned an array's memory (kernels/cuda/pinned.py), so that a GPU copies it at full speed."""
    return getattr(storage(a).base, "pinned", False)


def order_in_memory(*arrays: Array) -> tuple:
    """Return the dimensions of arrays of one rank in the order of their memory, the outermost first.

    Where the arrays disagree, they count as row-major.  The strides of broadcast dimensions and dimensions of size 1 do not
    count.  This is the order of NumPy's results (its "K").
    """
    strides = [[0 if n == 1 else s for n, s in zip(a.shape, a.strides)] for a in arrays]
    found: list[int] = []  # the innermost first
    for d in reversed(range(arrays[0].ndim)):
        place = len(found)
        for i in reversed(range(len(found))):
            closer = [abs(s[d]) < abs(s[found[i]]) for s in strides if s[d] and s[found[i]]]
            if closer and not all(closer):
                break
            place = i if closer else place
        found.insert(place, d)
    return tuple(found[::-1])


def copied_like(g: Array, like: Array) -> Array:
    """Return a copy of g with the memory layout of `like`."""
    if type(g) in KINDS and g.strides == like.strides:
        return g.copy("K")
    out = np.empty_like(like)
    out[...] = g
    return out


def add_up(x: Array, dims: tuple, keepdim: bool) -> Array:
    """Return the sum over dimensions; ops/reduce.py replaces this with a function with kernels for large arrays."""
    return np.add.reduce(x, dims, keepdims=keepdim)


def sum_down(g: Array, shape: tuple) -> Array:
    """Return g summed over the dimensions along which an array of `shape` was broadcast."""
    if g.shape == shape:
        return g
    if g.size == math.prod(shape):
        return g.reshape(shape)
    axes = broadcast_axes(g.shape, shape)
    out = (narrowed(np.add.reduce(g, axes, F4), g.dtype) if is_half(g) else add_up(g, axes, False)) if axes else g
    return out if out.shape == shape else np.reshape(out, shape)


def broadcast_axes(large: Sequence, small: Sequence) -> tuple:
    """Return the dimensions of `large` along which a tensor of shape `small` is broadcast."""
    lead = len(large) - len(small)
    return (*range(lead), *[i + lead for i, n in enumerate(small) if n == 1 and large[i + lead] != 1])


def unmasked(array: Any, who: str) -> Any:
    """Return the array as a plain ndarray on the same memory.  Raises ValueError if elements are masked."""
    if type(array) in KINDS or not isinstance(array, np.ndarray):
        return array
    if isinstance(array, np.ma.MaskedArray) and (hidden := np.ma.count_masked(array)):
        what = f"{hidden} of the array's {array.size} elements are masked, and a tensor has no mask"
        fix = "pass array.filled(0.0), or pass array.data and keep minigrad.tensor(array.mask) as a mask"
        raise error(ValueError, who, what, fix)
    return array.view(np.ndarray)


def same_layout(a: np.ndarray) -> np.ndarray:
    """Return a copy with the same memory layout."""
    if a.flags.c_contiguous:
        return a.copy()
    if not a.size:
        return np.empty_like(a)
    low = sum(min(0, (n - 1) * s) for n, s in zip(a.shape, a.strides))
    high = sum(max(0, (n - 1) * s) for n, s in zip(a.shape, a.strides)) + a.itemsize
    whole = np.zeros_like(a, np.uint8, shape=(high - low,))
    out = laid_out(whole, a.shape, a.dtype, -low, a.strides)
    if 0 not in a.strides:
        out[...] = a
        return out
    inner = tuple([slice(0, 1) if s == 0 else slice(None) for s in a.strides])
    out[inner] = a[inner]
    return out


def is_new(d: Array, g: Array | list, pairs: Sequence) -> bool:
    """Return True if a written-out backward made an array for one edge alone: not what arrived, nor a view, nor of two."""
    alone = [*map(id, map(itemgetter(1), pairs))].count(id(d)) == 1
    return alone and d is not g and d.base is None and type(g) is not list
