"""Reductions in two steps: threads, or rows of threads, compute one part each, and a second kernel combines the parts.

Part p of result i is parts[p * number of results + i]. The order of additions depends on the sizes alone, so the same program
gives the same bits. Sums run in float64, even of float32: these kernels wait for memory, not for arithmetic.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from . import kernel_modules, machine, simulator
from .device_array import DeviceArray, empty

LEAST = 64  # terms that a thread should have before others share its sum
SHORT = 1024  # elements of a row that one warp processes
FEW = 8  # elements of a row that one thread processes
ENOUGH = 32 if simulator.SMALL else 4096  # rows that keep the GPU busy with one thread each
# threads for a long row; warps, or threads, in a block where each has a row
LONG, WARPS, NEIGHBOURS = (64, 1, 32) if simulator.SMALL else (256, 8, 128)

BLOCK = '''\
@cuda.jit(device=True)
def higher_{dtype}(x, y):
    """Return the larger of two numbers; NaN if one is NaN."""
    return x if x > y or x != x else y


@cuda.jit(device=True)
def block_{kind}_{dtype}(x):
    """Return the {kind} of x over the threads of a row: within a warp by shuffles, then over the warps of a block."""
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
    cuda.syncthreads()  # the next call overwrites it
    return x
'''
TOGETHER = {"sum": "x + other", "max": "higher_{dtype}(x, other)"}
SOURCE = '''\
"""Parts of a {kind} combined: out[i] = {kind} of parts[p * out.size + i] over all p."""

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
    """Return the text of block_<kind>_<dtype>, with the functions it needs."""
    text = BLOCK.format(kind=kind, dtype=dtype, together=TOGETHER[kind].format(dtype=dtype))
    return text if kind == "max" else text[text.index("@cuda.jit", 1) :]


def parts(count: int, size: int, dtype: Any, wide: Any) -> DeviceArray:
    """Return memory for `count` parts of each of `size` results; a single part is the result, and has its dtype."""
    return empty((count * size,), dtype if count == 1 else wide)


def joined(kind: str, parts: DeviceArray, shape: tuple, dtype: Any) -> DeviceArray:
    """Return the results combined from these parts: sums or maxima."""
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
    """Return the kernel's module."""
    together = TOGETHER[kind].format(dtype=wide)
    block = block_function(kind, wide)
    source = SOURCE.format(kind=kind, wide=wide, start=STARTS[kind], together=together, block=block)
    return kernel_modules.load(f"join_{kind}", source)


# ---------------------------------------------------------------------- sizes of launches
def rows(count: int, width: int, x: DeviceArray | None = None) -> tuple[int, tuple[int, int]]:
    """Return blocks and threads for rows: a warp for each short one, with several in a block, or a block for each long one.

    Many rows have a thread each if they are very short, or closer to each other than their elements, like columns of `x`.
    """
    near = x is not None and x.strides[-1] > x.strides[-2]
    if count >= ENOUGH and (width <= FEW or near):
        block = 1, NEIGHBOURS
    else:
        block = (32, WARPS) if width <= SHORT else (LONG, 1)
    most = 2 if simulator.SMALL else 32 * machine.current().processors
    return min(-(-count // block[1]), most) or 1, block


def shares(size: int, terms: int) -> int:
    """Return the number of parts into which to split each of `size` sums, so that the whole GPU has work."""
    if simulator.SMALL:
        return 2 if terms > 4 else 1
    wanted = 1024 * machine.current().processors // max(size, 1)
    return max(1, min(wanted, terms // LEAST))
