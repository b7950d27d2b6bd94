"""Reductions in two steps: threads, or rows of threads, compute one part each, and a second kernel combines the parts.

Part p of result i is parts[p * number of results + i]. The order of additions depends on the sizes alone, so the same program
gives the same bits. Sums run in float64, even of float32: these kernels wait for memory, not for arithmetic.
"""

import functools
import math
from typing import Any

from . import kernel_modules, machine, simulator
from .device_array import DeviceArray, empty
from .machine import WIDEST

LEAST = 64  # terms that a thread should have before others share its sum
ENOUGH = 32 if simulator.SMALL else 4096  # rows that keep the GPU busy with one thread each
MOST_PARTS = 64 if simulator.SMALL else 4096  # of one result, for a single step
# threads of a block for one long row, and for several short ones
LONG, SHORT = (64, 32) if simulator.SMALL else (512, 256)

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
    lane, lanes = (cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x) % 32, min(cuda.blockDim.x, 32)
    row = (1 << lanes) - 1 << lane // lanes * lanes  # the lanes of this row: others may have none
    for distance in (16, 8, 4, 2, 1):
        if distance < lanes:
            other = cuda.shfl_xor_sync(row, x, distance)
            x = {together}
    if cuda.blockDim.x <= 32:
        return x
    of_warps = cuda.shared.array(32, np.{dtype})
    if lane == 0:
        of_warps[cuda.threadIdx.x // 32] = x
    cuda.syncthreads()
    x = of_warps[lane] if lane < cuda.blockDim.x // 32 else np.{dtype}({start})
    cuda.syncthreads()  # the next call overwrites it
    for distance in (16, 8, 4, 2, 1):
        other = cuda.shfl_xor_sync(row, x, distance)
        x = {together}
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
    text = BLOCK.format(kind=kind, dtype=dtype, start=STARTS[kind], together=TOGETHER[kind].format(dtype=dtype))
    return text if kind == "max" else text[text.index("@cuda.jit", 1) :]


def parts(count: int, size: int, dtype: Any, wide: Any) -> DeviceArray:
    """Return memory for `count` parts of each of `size` results; a single part is the result, and has its dtype."""
    return empty((count * size,), dtype if count == 1 else wide)


def joined(kind: str, parts: DeviceArray, shape: tuple, dtype: Any) -> DeviceArray:
    """Return the results combined from these parts: sums or maxima. Blocks share the work: many parts become fewer first."""
    size = math.prod(shape)
    if parts.size == size and parts.dtype == dtype:
        return parts.reshape(shape)
    if parts.size > MOST_PARTS * size > 0:
        parts = join(kind, parts, empty((MOST_PARTS // 16 * size,), parts.dtype))
    return join(kind, parts, empty((size,), dtype)).reshape(shape)


def join(kind: str, parts: DeviceArray, out: DeviceArray) -> DeviceArray:
    """Combine into each element of `out` every out.size-th part, and return `out`."""
    many = parts.size > 64 * out.size and not simulator.SMALL
    grid = min(out.size, 2 if simulator.SMALL else 32 * machine.current().processors)
    if out.size:
        module(kind, parts.dtype.name).join_parts[grid, 256 if many else 32](parts, out)
    return out


@functools.cache
def module(kind: str, wide: str) -> Any:
    """Return the kernel's module."""
    together = TOGETHER[kind].format(dtype=wide)
    block = block_function(kind, wide)
    source = SOURCE.format(kind=kind, wide=wide, start=STARTS[kind], together=together, block=block)
    return kernel_modules.load(f"join_{kind}", source)


# ---------------------------------------------------------------------- sizes of launches
def rows(count: int, width: int, own: int, x: DeviceArray | None = None) -> tuple[int, tuple[int, int], bool]:
    """Return blocks and threads for rows, and True if each row fits into the registers of its threads, `own` elements in each.

    A row has as many threads as it needs for that: some of a warp, if there are many rows, or some warps. Columns of `x`, whose
    neighbours are closer than their elements, have a thread each. If rows do not fit, a block processes several.
    """
    near = x is not None and x.strides[-1] > x.strides[-2]
    needed = -(-width // own) or 1
    if needed > 32:
        threads = min(-(-needed // 32) * 32, LONG)
    else:
        threads = 1 << (needed - 1).bit_length() if count >= ENOUGH else 32
    if near and count >= ENOUGH:
        threads = 1
    block = threads, SHORT // threads if threads <= 32 else 1
    fits, blocks = threads >= needed, -(-count // block[1]) or 1
    return blocks if fits else min(blocks, 2 if simulator.SMALL else 32 * machine.current().processors), block, fits


def by_four(width: int, *arrays: DeviceArray) -> bool:
    """Return True if all rows of these arrays are groups of four adjacent elements, each moved in one instruction."""
    if width % 4:
        return False
    apart = [(n, min(4 * a.itemsize, WIDEST)) for a in arrays for n in (a.address, *a.strides[:-1])]
    return all([a.strides[-1] == a.itemsize for a in arrays]) and not any([n % whole for n, whole in apart])


def shares(size: int, terms: int) -> int:
    """Return the number of parts into which to split each of `size` sums, so that the whole GPU has work."""
    if simulator.SMALL:
        return 2 if terms > 4 else 1
    wanted = 1024 * machine.current().processors // max(size, 1)
    return max(1, min(wanted, terms // LEAST))
