"""Pointwise kernels for operands that meet by broadcasting, or are slices of larger arrays: nothing is copied.

The result is seen as rows.  An operand either has a number for each row (a column), or runs along memory in each, from one
row to the next by a step: the width of a row for a whole array, 0 for one row that all share, more for a slice.  NumPy calls
its loop anew for every row, which takes as long as 500 elements.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ...arrays.kinds import strided

NARROWEST = 8  # elements; shorter rows are not worth the way there


@lru_cache(4096)
def layout(kinds: tuple, shape: tuple) -> tuple | None:
    """Return the width of a row, which is as wide as can be, and for each operand its place there; None for other layouts.

    `kinds` has shapes, strides and sizes of elements, None for a number.  A place is (shape, strides, step), with the step
    None for a column.
    """
    for d in range(1, len(shape)):
        width = math.prod(shape[d:])
        if width < NARROWEST:
            return None
        places = [kind and place(*kind, shape, d) for kind in kinds]
        if () not in places:
            return width, places
    return None


def place(sizes: tuple, strides: tuple, itemsize: int, shape: tuple, d: int) -> tuple:
    """How an array is seen whose rows are the dimensions of `shape` from d on: (shape, strides, step); () if it cannot be."""
    lead = len(shape) - len(sizes)
    strides = (0,) * lead + tuple([0 if n == 1 else s for n, s in zip(sizes, strides)])
    inner, outer = merged(shape[d:], strides[d:]), merged(shape[:d], strides[:d])
    if inner == 0:
        return shape[:d], strides[:d], None
    if inner != itemsize or outer is None or outer < 0 or outer % itemsize:
        return ()
    step = outer // itemsize
    return (step * (math.prod(shape[:d]) - 1) + math.prod(shape[d:]),), (itemsize,), step


def in_rows(a: np.ndarray, shape: tuple, strides: tuple, step: int | None) -> tuple:
    """Return what a kernel takes for an array: flat memory and a step, or the numbers of its rows."""
    if step is not None:
        return (a if a.flags.c_contiguous else strided(a, shape, strides)).reshape(-1), step
    first = a[(..., *[0] * (a.ndim - len(shape)))]  # of each row; a fifth of the time of `strided`
    return ((first if first.shape == shape else strided(a, shape, strides)).reshape(-1),)


def merged(shape: tuple, strides: tuple) -> int | None:
    """The stride of these dimensions as a single one; None where they cannot be that."""
    found = expected = None
    for n, stride in zip(reversed(shape), reversed(strides)):
        if n == 1:
            continue
        if expected not in (None, stride):
            return None
        found, expected = stride if found is None else found, n * stride
    return 0 if found is None else found
