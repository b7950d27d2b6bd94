"""Pointwise kernels for operands that broadcast or are slices of larger arrays, without copies.

A kernel sees the result as rows. An operand has either one number per row (a column), or contiguous rows that are `step`
elements apart: the width of a row for a whole array, 0 for a row that all share, more for a slice. NumPy restarts its loop
for every row, which costs as much as 500 elements.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ...arrays.kinds import strided

NARROWEST = 8  # elements; shorter rows do not pay for the call


@lru_cache(4096)
def layout(kinds: tuple, shape: tuple) -> tuple | None:
    """Return the largest possible width of a row, and for each operand its place; None for other layouts.

    `kinds` has shape, strides and itemsize of each array, None for a number. A place is (shape, strides, step), where step is
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
    """Return an array's place if rows are the dimensions of `shape` from d on: (shape, strides, step), or () if impossible."""
    lead = len(shape) - len(sizes)
    strides = (0,) * lead + tuple([0 if n == 1 else s for n, s in zip(sizes, strides)])
    inner, outer = merged(shape[d:], strides[d:]), merged(shape[:d], strides[:d])
    if inner == 0:
        return shape[:d], strides[:d], None
    if inner != itemsize or outer is None or outer < 0 or outer % itemsize:
        return ()
    step = outer // itemsize
    return (step * (math.prod(shape[:d]) - 1) + math.prod(shape[d:]),), (itemsize,), step


def row_arguments(a: np.ndarray, shape: tuple, strides: tuple, step: int | None) -> tuple:
    """Return the arguments of a kernel for an array: flat memory and a step, or the numbers of its rows."""
    if step is not None:
        return (a if a.flags.c_contiguous else strided(a, shape, strides)).reshape(-1), step
    first = a[(..., *[0] * (a.ndim - len(shape)))]  # the first of each row, in a fifth of the time of `strided`
    return ((first if first.shape == shape else strided(a, shape, strides)).reshape(-1),)


def merged(shape: tuple, strides: tuple) -> int | None:
    """Return the stride of these dimensions merged into one; None if they cannot be merged."""
    found = expected = None
    for n, stride in zip(reversed(shape), reversed(strides)):
        if n == 1:
            continue
        if expected not in (None, stride):
            return None
        found, expected = stride if found is None else found, n * stride
    return 0 if found is None else found
