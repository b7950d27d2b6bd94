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

BLOCK = '''\
@cuda.jit(device=True)
def higher_{dtype}(x, y):
    """The larger of two numbers; NaN, if one is."""
    return x if x > y or x != x else y


@cuda.jit(device=True)
def block_{kind}_{dtype}(x):
    """The {kind} of x over the threads of a row: those of a warp exchange it, then, in a block of one row, its warps do."""
    if cuda.blockDim.x == 1:
        return x
    for lanes in (16, 8, 4, 2, 1):
        other = cuda.shfl_xor_sync(0xFFFFFFFF, x, lanes)
        x = {together}
    if cuda.blockDim.x == 32:
        return x
    of_warps = cuda.shared.array(32, np.{dtype})
    if cuda.threadIdx.x % 32 == 0:
        of_warps[cuda.threadIdx.x // 32] = x
    cuda.syncthreads()
    x = of_warps[0]
    for warp in range(1, cuda.blockDim.x // 32):
        other = of_warps[warp]
        x = {together}
    cuda.syncthreads()  # the next call writes there again
    return x
'''
TOGETHER = {"sum": "x + other", "max": "higher_{dtype}(x, other)"}
SOURCE = '''\
"""Parts of a {kind} put together: out[i] = {kind} of parts[p * out.size + i] over all p."""

import numpy as np
from numba import cuda


{block}

@cuda.jit
def join_parts(parts, out):
    for i in range(cuda.blockIdx.x, out.size, cuda.gridDim.x):
        x = np.{wide}({start})
        for p in range(i + cuda.threadIdx.x * out.size, parts.size, cuda.blockDim.x * out.size):
            other = parts[p]
            x = {together}
        x = block_{kind}_{wide}(x)
        if cuda.threadIdx.x == 0:
            out[i] = x
'''
STARTS = {"sum": "0", "max": "-np.inf"}


def block_function(kind: str, dtype: str) -> str:
    """The text of block_<kind>_<dtype>, with what it needs."""
    text = BLOCK.format(kind=kind, dtype=dtype, together=TOGETHER[kind].format(dtype=dtype))
    return text if kind == "max" else text[text.index("@cuda.jit", 1) :]


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
    together = TOGETHER[kind].format(dtype=wide)
    block = block_function(kind, wide)
    source = SOURCE.format(kind=kind, wide=wide, start=STARTS[kind], together=together, block=block)
    return kernel_modules.load(f"join_{kind}", source)


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
