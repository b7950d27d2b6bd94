"""Work along a dimension, or several that are neighbours: the threads that share it, and the beginning of kernels for it.

Arrays are seen as (outer, n, inner), the work along n.  A team of threads shares what belongs together: a part of a warp for
short rows, a warp, or for long ones a block; along a dimension that is not the last a team is one thread, whose neighbour has
the neighbouring column.  What a team has read once it reads a second time from the cache.  Sums are kept in float64, as in
reductions.py.  softmax.py and normalize.py have the kernels; kernels/rows.py and columns.py have the same for the processor.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import modules, simulator
from .array import DeviceArray, empty
from .reductions import F4, F8, WARP

LONG = 1024  # elements, from which a row is shared by a block
EACH = 16  # elements of such a row for each thread
MOST = 1024  # threads of a block
BLOCK = WARP if simulator.SMALL else 128

TEAM = '''"""Rows and columns of {dtype}: {title}."""

from math import inf, isinf, nan

from minigrad.kernels.cuda.functions import exp, log, sqrt
from numba import cuda
from numpy import float64
from numpy import {dtype} as real

ALL = 0xFFFFFFFF


@cuda.jit(device=True)
def place(x_, lanes):
    """What this thread works on: outer and inner number, its number in the team, and n: 0 for threads that are left over.

    They go on to the end all the same, since all threads of a warp have to meet where it adds up.
    """
    team, lane, inner = cuda.grid(1) // lanes, cuda.grid(1) % lanes, max(x_.shape[2], 1)
    o, j = team // inner, team % inner
    return o, j, lane, x_.shape[1] if o < x_.shape[0] else 0


@cuda.jit(device=True)
def sum_of(value, lanes):
    """The sum over the team, which each of its threads gets: by shuffles in a warp, by shared memory across warps."""
    distance = min(lanes, 32) // 2
    while distance:
        value += cuda.shfl_xor_sync(ALL, value, distance)
        distance //= 2
    if lanes > 32:
        each = cuda.shared.array(32, float64)
        cuda.syncthreads()  # until all have read what was there
        each[cuda.threadIdx.x // 32] = value
        cuda.syncthreads()
        value = float64(0)
        for w in range(lanes // 32):
            value += each[w]
    return value
'''


def load(title: str, source: str, dtype: np.dtype) -> Any:
    """The module of kernels that are made of teams, for a dtype."""
    return modules.load(f"{title}_{dtype.name}", TEAM.format(dtype=dtype.name, title=title) + source)


def middle(x: DeviceArray, dims: tuple) -> DeviceArray | None:
    """x as (outer, n, inner), where n are the dimensions `dims`; None where these are no neighbours."""
    first, end = (dims[0], dims[-1] + 1) if dims else (x.ndim, x.ndim)
    if dims != tuple(range(first, end)) or x.dtype not in (F4, F8):
        return None
    return x.reshape(math.prod(x.shape[:first]), math.prod(x.shape[first:end]), math.prod(x.shape[end:]))


def each(a: DeviceArray, t: DeviceArray) -> DeviceArray:
    """One value for each team of t."""
    return a.reshape(t.shape[0], 1, t.shape[2])


def kept(x: DeviceArray, dims: tuple) -> DeviceArray:
    """An array for one value for each team, `dims` as 1."""
    return empty([1 if d in dims else n for d, n in enumerate(x.shape)], x.dtype)


def launch(kernel: Any, t: DeviceArray, *args: Any) -> None:
    """Run a kernel with a team for each of the rows, or columns, of t."""
    outer, n, inner = t.shape
    lanes = 1 if inner > 1 else min(WARP, power_of_two(n)) if n <= LONG else min(MOST, power_of_two(n // EACH))
    block = BLOCK if lanes <= WARP else lanes  # a team that is no part of a warp is a block
    if outer * inner:
        kernel[-(-outer * inner * lanes // block), block](*args, lanes)


def power_of_two(n: int) -> int:
    """The smallest that is not below n."""
    return 1 << (n - 1).bit_length()
