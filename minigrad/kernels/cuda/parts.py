"""Reductions in two steps: rows of threads, or threads, keep a part each, and a second kernel puts the parts together.

Part p of result i lies at parts[p * number of results + i].  In which order the terms are added depends on the sizes alone,
so the same program gives the same bits.  Sums run in float64, also of float32: these kernels wait for memory, and not for
arithmetic.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from . import kernel_modules, machine, simulator
from .device_array import DeviceArray, empty

LEAST = 64  # terms that a thread should have before others share its sum
SHORT = 1024  # elements of a row that a warp goes through alone
FEW = 8  # elements of a row that one thread does
ENOUGH = 32 if simulator.SMALL else 4096  # rows that make work enough if each has one thread
# threads for a long row, and in a block warps, or threads, that have a row each
LONG, WARPS, NEIGHBOURS = (64, 1, 32) if simulator.SMALL else (256, 8, 128)

SOURCE = '''\
"""Parts of a {kind} put together: out[i] = {kind} of parts[p * out.size + i] over all p."""

import numpy as np
from numba import cuda


@cuda.jit
def join_parts(parts, out):
    of_warps = cuda.shared.array(32, np.{wide})
    for i in range(cuda.blockIdx.x, out.size, cuda.gridDim.x):
        x = np.{wide}({start})
        for p in range(i + cuda.threadIdx.x * out.size, parts.size, cuda.blockDim.x * out.size):
            y = parts[p]
            x = {together}
        for lanes in (16, 8, 4, 2, 1):
            y = cuda.shfl_xor_sync(0xFFFFFFFF, x, lanes)
            x = {together}
        if cuda.threadIdx.x % 32 == 0:
            of_warps[cuda.threadIdx.x // 32] = x
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            for warp in range(1, cuda.blockDim.x // 32):
                y = of_warps[warp]
                x = {together}
            out[i] = x
        cuda.syncthreads()  # the next result's warps write there again
'''
TOGETHER = {"sum": ("0", "x + y"), "max": ("-np.inf", "x if x > y or x != x else y")}


def parts(count: int, size: int, dtype: Any, wide: Any) -> DeviceArray:
    """Memory for so many parts of each of `size` results; a single part is the result, and has its dtype."""
    return empty((count * size,), dtype if count == 1 else wide)


def joined(kind: str, parts: DeviceArray, shape: tuple, dtype: Any) -> DeviceArray:
    """The results that these are parts of: sums, or maxima."""
    size = math.prod(shape)
    if parts.size == size and parts.dtype == dtype:
        return parts.reshape(shape)
    out = empty(shape, dtype)
    many = parts.size > 64 * size and not simulator.SMALL
    grid = min(size, 2 if simulator.SMALL else 32 * machine.current().processors)
    if size:
        module(kind, parts.dtype.name).join_parts[grid, 256 if many else 32](parts, out.reshape(size))
    return out


@functools.cache
def module(kind: str, wide: str) -> Any:
    """The kernel's module."""
    start, together = TOGETHER[kind]
    return kernel_modules.load(f"join_{kind}", SOURCE.format(kind=kind, wide=wide, start=start, together=together))


# ---------------------------------------------------------------------- sizes of launches
def rows(count: int, width: int, x: DeviceArray | None = None) -> tuple[int, tuple[int, int]]:
    """Blocks and threads for rows: a warp for each short one, and some of those in a block; a block for each long one.

    Many rows that are very short, or nearer to each other than their elements are, as columns of `x` are, have a thread each.
    """
    near = x is not None and x.strides[-1] > x.strides[-2]
    if count >= ENOUGH and (width <= FEW or near):
        block = 1, NEIGHBOURS
    else:
        block = (32, WARPS) if width <= SHORT else (LONG, 1)
    most = 2 if simulator.SMALL else 32 * machine.current().processors
    return min(-(-count // block[1]), most) or 1, block


def shares(size: int, terms: int) -> int:
    """Into how many parts the terms of each of `size` sums are cut, so that there is work for all of the GPU."""
    if simulator.SMALL:
        return 2 if terms > 4 else 1
    wanted = 1024 * machine.current().processors // max(size, 1)
    return max(1, min(wanted, terms // LEAST))
