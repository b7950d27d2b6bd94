"""Sums of even parts of a dimension: one pass over memory.

Written by hand, for NumPy gathers the parts, whose lengths differ: 250 to 400 microseconds for 100,000 elements, these 15
to 40.  ops/nn/adaptive_pool.py has the definitions.  None stands for "NumPy serves as well".
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from ..cache import by_dtype
from ..fallback import worth
from ..threads import launch

PARTS_FROM = 2048  # elements; below, NumPy's dozen calls cost less than a first lesson's wait for the compiler

SOURCE = '''"""Sums over ranges of the middle dimension of {real}: from start[i] to end[i], unsigned: none counts from the end.

first[i] is where the i-th of the different ranges stands; those that follow it up to the next are the same.
"""

from numba import njit
from numpy import {real} as real
from numpy import uint64 as at


@njit(nogil=True)
def of_line(start, end, x, out):
    for i in range(out.size):
        total = real(0)
        for k in range(start[i], end[i]):
            total += x[k]
        out[i] = total


@njit(nogil=True)
def repeated(start, end, first, x, out):
    for i in range(first.size - 1):
        here, total = first[i], real(0)
        for k in range(start[here], end[here]):
            total += x[k]
        for same in range(here, first[i + 1]):
            out[same] = total


@njit(nogil=True)
def of_rows(start, end, x, out):
    for i in range(len(out)):
        total, same = out[i], i and start[i] == start[i - 1] and end[i] == end[i - 1]
        first = out[i - 1] if same else x[start[i]]
        for j in range(total.size):
            total[j] = first[j]
        if not same:
            for k in range(start[i] + at(1), end[i]):
                added = x[k]
                for j in range(total.size):
                    total[j] += added[j]


@njit(nogil=True)
def sums(start, end, first, x_, out_):
    for r in range(len(out_)):
        if out_.shape[2] > 1:
            of_rows(start, end, x_[r], out_[r])
        elif first.size > start.size:  # each range is another one
            of_line(start, end, x_[r].reshape(-1), out_[r].reshape(-1))
        else:
            repeated(start, end, first, x_[r].reshape(-1), out_[r].reshape(-1))
'''

module = by_dtype("even_parts", SOURCE)


class Ranges(NamedTuple):
    """Where ranges begin and end, and at which of them others than before begin."""

    start: np.ndarray
    end: np.ndarray
    first: np.ndarray


def ranges(start: np.ndarray, end: np.ndarray) -> Ranges:
    """Return ranges as kernels take them."""
    others = np.flatnonzero((start[1:] != start[:-1]) | (end[1:] != end[:-1])) + 1
    first = np.concatenate([[0] * bool(start.size), others, [start.size]])
    return Ranges(*[a.astype(np.uint64) for a in (start, end, first)])


def sums(x: np.ndarray, d: int, over: Ranges) -> np.ndarray | None:
    """The sums over ranges of dimension d."""
    n, before, behind = over.start.size, math.prod(x.shape[:d]), math.prod(x.shape[d + 1 :])
    work = before * max(n, x.shape[d]) * behind
    if not x.size or not worth(x, work, PARTS_FROM):
        return None
    out = np.empty((*x.shape[:d], n, *x.shape[d + 1 :]), x.dtype)
    given = [np.ascontiguousarray(a).reshape(before, a.shape[d], behind) for a in (x, out)]
    launch(partial(module(x.dtype).sums, *over), given, work)
    return out
