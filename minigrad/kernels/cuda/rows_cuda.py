"""Work along a dimension, or several that are neighbours: the threads that share it, and the beginning of kernels for it.

Arrays are seen as (outer, inner, n), the work along n, whether or not that is the last dimension in memory.  A team of
threads shares what belongs together: a part of a warp for short rows, a warp, or for long ones a block; along a dimension
that is not the last a team is one thread, whose neighbour has the neighbouring column.  A team has all that it reads of a
row in its registers, so that the memory is read once: each of its threads a few elements, which it asks for before it uses
the first. Only what is too long for that is read again, in parts, for each pass over it.  Sums are kept in float64, as in
reductions_cuda.py.  softmax_cuda.py and normalize_cuda.py have the kernels, lines_cuda.py says which operation has which.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from . import kernel_modules, simulator
from .device_array import DeviceArray, empty
from .reductions_cuda import F4, F8, WARP

# elements of a row that a thread has in registers: of a short row, so that more threads share it, and of others
FEW, MANY = 4, 16
MOST = 1024  # threads of a block
BLOCK = WARP if simulator.SMALL else 128

TEAM = '''"""Rows and columns of {dtype}: {title}."""

from math import inf, isinf, nan

from minigrad.kernels.cuda.device_functions import exp, log, sqrt
from numba import cuda
from numpy import float64, int32, uint64
from numpy import {dtype} as real

ALL = 0xFFFFFFFF
LANES = {lanes}  # threads of a team
HELD = {held}  # elements that a thread has at once
LONG = {long}  # whether a row has more than its team has at once


@cuda.jit(device=True)
def place(x_):
    """What this thread works on: outer and inner number, its number in the team, and n: 0 for threads that are left over.

    They go on to the end all the same, since all threads of a warp have to meet where it adds up.
    """
    team, inner = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y, max(x_.shape[1], 1)
    o, j = team // inner, team % inner
    return o, j, cuda.threadIdx.x, x_.shape[2] if o < x_.shape[0] else 0


@cuda.jit(device=True)
def left(first, n):
    """How far a row goes beyond `first`, as a number that is quick to compare: the steps of a thread are below it."""
    return int32(min(n - first, HELD * LANES))


@cuda.jit(device=True)
def hold(x_, o, first, j, n, beyond, row):
    """Read the elements first, first + LANES, ... of a row; `beyond` stands for those beyond its end."""
    end = left(first, n)
    for k in range(HELD):
        row[k] = x_[o, j, uint64(first + k * LANES)] if k * LANES < end else beyond


@cuda.jit(device=True)
def put(out_, o, first, j, n, row):
    """Write them."""
    end = left(first, n)
    for k in range(HELD):
        if k * LANES < end:
            out_[o, j, uint64(first + k * LANES)] = row[k]


@cuda.jit(device=True)
def sum_of(value):
    """The sum over the team, which each of its threads gets: by shuffles in a warp, by shared memory across warps."""
    distance = min(LANES, 32) // 2
    while distance:
        value += cuda.shfl_xor_sync(ALL, value, distance)
        distance //= 2
    if LANES > 32:
        each = cuda.shared.array(32, float64)
        cuda.syncthreads()  # until all have read what was there
        each[cuda.threadIdx.x // 32] = value
        cuda.syncthreads()
        value = float64(0)
        for w in range(LANES // 32):
            value += each[w]
    return value
'''


def along_row(does: str, *reads: str, put: str = "", beyond: str = "real(0)", inside: bool = False) -> str:
    """The lines of a kernel that take a thread from `first` on through its elements of a row, as many at a time as it has.

    Of element k it `does` this, `inside` of the row alone if so said.  "g" among the `reads` is read from g_ before, and
    "g if LONG" where it is not there from a pass before; a call is one that reads.  `put` is "g to dx": what is written to
    dx_ then.
    """
    lines = ["while first < n:"]
    for read in reads:
        row, _, condition = read.partition(" if ")
        lines += [f"    if {condition}:"] * bool(condition)
        call = row if "(" in row else f"hold({row}_, o, first, j, n, {beyond}, {row})"
        lines.append(f"    {'    ' * bool(condition)}{call}")
    if inside:
        lines.append("    end = left(first, n)")
    lines.append("    for k in range(HELD):")
    lines += ["        if k * LANES < end:"] * inside
    lines += [f"        {'    ' * inside}{line}" for line in does.split("; ")]
    if put:
        row, _, out = put.partition(" to ")
        lines.append(f"    put({out}_, o, first, j, n, {row})")
    return "\n    ".join([*lines, "    first += HELD * LANES"])


class Team(NamedTuple):
    """The threads that share a row, the elements that each has at once, and whether the row has more than all of them."""

    lanes: int
    held: int
    long: bool


def team(t: DeviceArray) -> Team:
    """The team for each row, or column, of t."""
    _, inner, n = t.shape
    most = MOST if inner == 1 else 1
    held = FEW if n <= FEW * min(most, WARP) else MANY
    lanes = min(most, power_of_two(-(-n // held)))
    return Team(lanes, held, n > lanes * held)


@cache
def load(title: str, source: str, dtype: np.dtype, team: Team) -> Any:
    """The module of kernels for teams of a size and a dtype; the compiler knows all steps of a thread then."""
    text = TEAM.format(dtype=dtype.name, title=title, **team._asdict()) + source
    return kernel_modules.load(f"{title}_{dtype.name}", text)


def middle(x: DeviceArray, dims: tuple) -> DeviceArray | None:
    """x as (outer, inner, n), where n are the dimensions `dims`; None where these are no neighbours."""
    first, end = (dims[0], dims[-1] + 1) if dims else (x.ndim, x.ndim)
    if dims != tuple(range(first, end)) or x.dtype not in (F4, F8):
        return None
    sizes = math.prod(x.shape[:first]), math.prod(x.shape[first:end]), math.prod(x.shape[end:])
    return x.reshape(sizes).swapaxes(1, 2)


def seen(a: DeviceArray, t: DeviceArray) -> DeviceArray:
    """An array of as many elements, in their order, as t is."""
    outer, inner, n = t.shape
    return a.reshape(outer, n, inner).swapaxes(1, 2)


def each(a: DeviceArray, t: DeviceArray) -> DeviceArray:
    """One value for each team of t."""
    return a.reshape(*t.shape[:2], 1)


def kept(x: DeviceArray, dims: tuple) -> DeviceArray:
    """An array for one value for each team, `dims` as 1."""
    return empty([1 if d in dims else n for d, n in enumerate(x.shape)], x.dtype)


def launch(title: str, source: str, kernel: str, t: DeviceArray, *args: Any) -> Any:
    """Run a kernel of a text with a team for each of the rows, or columns, of t; the module that has the kernel."""
    own = team(t)
    found = load(title, source, t.dtype, own)
    teams = max(BLOCK // own.lanes, 1) if own.lanes <= WARP else 1  # a team that is no part of a warp is a block
    if count := t.shape[0] * t.shape[1]:
        getattr(found, kernel)[-(-count // teams), (own.lanes, teams)](*args)
    return found


def power_of_two(n: int) -> int:
    """The smallest that is not below n."""
    return 1 << max(n - 1, 0).bit_length()
