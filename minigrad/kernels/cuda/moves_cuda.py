"""Kernels that move elements: copies, with transposition and conversion, triangles, rolls, repetition, concatenation.

A copy that exchanges the fastest dimension would read or write memory in large steps. So a block reads a tile along one
dimension into shared memory and writes it along the other.
"""

import functools
import itertools
from typing import Any

import numpy as np
from numpy import int8, int16, int32, int64, uint8

from ...arrays.kinds import strided, to_device_of
from . import kernel_modules, machine, pointwise_cuda, simulator
from .device_array import DeviceArray, empty, to_device
from .functions import of_arrays
from .numpy_protocol import WHERE, refuse_others

SIDE = 8 if simulator.SMALL else 32  # of a tile
LINES = 4 if simulator.SMALL else 8  # of the tile that a block moves at a time

TRANSPOSE = '''"""Matrices of {real} copied into transposed order."""

from numba import cuda
from numpy import {real} as real

SIDE = {side}
LINES = {lines}
WIDTH = SIDE + 1  # an extra column keeps the threads of a warp out of one bank


@cuda.jit
def transpose(x_, out_):
    """Copy out[k, i, j] = x[k, i, j], where x is contiguous along i, and out along j."""
    tile = cuda.shared.array((SIDE, WIDTH), real)
    down, across = (x_.shape[1] + SIDE - 1) // SIDE, (x_.shape[2] + SIDE - 1) // SIDE
    k, rest = cuda.blockIdx.x // (down * across), cuda.blockIdx.x % (down * across)
    top, left = rest // across * SIDE, rest % across * SIDE
    a, b = cuda.threadIdx.x, cuda.threadIdx.y
    for j in range(b, SIDE, LINES):
        if top + a < x_.shape[1] and left + j < x_.shape[2]:
            tile[j, a] = x_[k, top + a, left + j]
    cuda.syncthreads()
    for i in range(b, SIDE, LINES):
        if top + i < x_.shape[1] and left + a < x_.shape[2]:
            out_[k, top + i, left + a] = tile[a, i]
'''

TRIANGLE = '''"""Triangles of matrices."""

from numba import cuda


@cuda.jit
def triangle(upper, diagonal, x_, out_):
    """Copy the diagonal and the part above or below it; zeros elsewhere."""
    height, width = x_.shape[1], x_.shape[2]
    for e in range(cuda.grid(1), x_.size, cuda.gridsize(1)):
        k, i, j = e // (height * width), e // width % height, e % width
        if j - i >= diagonal if upper else j - i <= diagonal:
            out_[k, i, j] = x_[k, i, j]
        else:
            out_[k, i, j] = 0
'''


@functools.cache
def transposing(size: int) -> Any:
    """Return the kernel for elements of `size` bytes, whatever their dtype."""
    return kernel_modules.load("transpose", TRANSPOSE.format(real=f"uint{8 * size}", side=SIDE, lines=LINES)).transpose


def transpose(out: DeviceArray, x: DeviceArray) -> bool:
    """Copy x into out by tiles; return False, with nothing done, if both are contiguous along the same dimension.

    Also if tiles would stay nearly empty, or if the dimensions do not form a stack of matrices.
    """
    size = x.itemsize
    shape, (to, by) = pointwise_cuda.walked(out.shape, [out, x])
    if len(shape) not in (2, 3) or size not in to or size not in by:
        return False
    i, j = by.index(size), to.index(size)
    if i == j or min(shape[i], shape[j]) < SIDE // 2:
        return False
    order = [d for d in range(len(shape)) if d not in (i, j)] + [i, j]
    lead = [1] * (3 - len(order))
    k, m, n = sizes = [*lead, *[shape[d] for d in order]]
    laid = lambda a, steps: strided(a.view(f"u{size}"), sizes, [*[0] * len(lead), *[steps[d] for d in order]])
    transposing(size)[k * -(-m // SIDE) * -(-n // SIDE), (SIDE, LINES)](laid(x, by), laid(out, to))
    return True


# ---------------------------------------------------------------------- copies
def copy_into(out: DeviceArray, value: Any) -> None:
    """Write an array, converted and broadcast, or a number, into memory."""
    if isinstance(value, np.ndarray) and not isinstance(value, DeviceArray):
        value = value.reshape(())[()] if value.size == 1 else to_device(value)
    if not isinstance(value, DeviceArray):
        number = np.empty((), out.dtype)
        number[...] = value  # raises OverflowError if it does not fit
        value = number[()]
    elif value.ndim > out.ndim and set(value.shape[: value.ndim - out.ndim]) == {1}:  # NumPy ignores leading ones
        value = value.reshape(value.shape[value.ndim - out.ndim :])
    if isinstance(value, DeviceArray) and np.may_share_memory(value.shadow, out.shadow):
        value = value.copy()
    whole = isinstance(value, DeviceArray) and value.shape == out.shape and value.dtype == out.dtype
    if whole and value.flags.c_contiguous and out.flags.c_contiguous:
        machine.current().copy(out.address, value.address, out.nbytes)
        return
    if whole and out.ndim > 1 and transpose(out, value):
        return
    convert = SAME if value.dtype == out.dtype else INTO.get(out.dtype.name, SAME)
    pointwise_cuda.run("copy_elements", {"out": convert}, {"x": value}, out.dtype, [out])


SAME = lambda x: x
INTO = {  # integers wrap around; floats take every value
    "bool": lambda x: x != 0,
    "uint8": lambda x: uint8(x),
    "int8": lambda x: int8(x),
    "int16": lambda x: int16(x),
    "int32": lambda x: int32(x),
    "int64": lambda x: int64(x),
}


@of_arrays(np.copyto)
def copy_to(out: Any, value: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write a value over an array where `where` holds."""
    if where is True:
        copy_into(out, value)
        return
    refuse_others("copyto", (out, value, where))
    if isinstance(value, DeviceArray):
        value = value.astype(out.dtype, copy=False)
        value = value.copy() if np.may_share_memory(value, out) else value
    mask = where if where.dtype.kind == "b" else where != 0
    pointwise_cuda.run("copy_where", {"out": WHERE}, {"c": mask, "x": value, "y": out}, out.dtype, [out])


# ---------------------------------------------------------------------- triangles, rolls, repeated elements
def triangle(x: DeviceArray, diagonal: int, upper: bool) -> DeviceArray:
    """Return the upper or lower triangles of matrices, including a diagonal."""
    out = empty(x.shape, x.dtype)
    if x.size:
        flat = [a.view(f"u{x.itemsize}").reshape(-1, *x.shape[-2:]) for a in (x, out)]  # 0 is the same in all dtypes
        kernel_modules.load("triangle", TRIANGLE).triangle[kernel_modules.threads(x.size)](upper, int(diagonal), *flat)
    return out


of_arrays(np.tril)(lambda m, k=0: triangle(m, k, False))
of_arrays(np.triu)(lambda m, k=0: triangle(m, k, True))


@of_arrays(np.roll)
def roll(a: Any, shift: Any, axis: Any) -> DeviceArray:
    """Return a rolled copy: two parts change places in each dimension, so there are 2, 4, ... copies."""
    by = [0] * a.ndim
    for n, d in np.broadcast(shift, axis):
        by[d] += int(n)
    out, pairs = empty(a.shape, a.dtype), []
    for n, size in zip(by, a.shape):
        n = n % size if size else 0
        pairs.append([(slice(n, None), slice(None, size - n))] + [(slice(None, n), slice(size - n, None))] * (n > 0))
    for parts in itertools.product(*pairs):
        out[tuple([to for to, _ in parts])] = a[tuple([by for _, by in parts])]
    return out


@of_arrays(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Return each element, or slice along an axis, repeated by one number or by a number for each."""
    a = to_device_of(a, repeats)
    a, axis = (a.reshape(-1), 0) if axis is None else (a, axis % a.ndim)
    if np.ndim(repeats) == 0:
        n, shape = int(repeats), list(a.shape)
        copies = np.broadcast_to(np.expand_dims(a, axis + 1), (*shape[: axis + 1], n, *shape[axis + 1 :]))
        return copies.reshape(*shape[:axis], shape[axis] * n, *shape[axis + 1 :])
    ends = np.cumsum(to_device_of(repeats, a))
    places = to_device_of(np.arange(int(ends[-1]) if ends.size else 0), a)
    return np.take(a, np.searchsorted(ends, places, "right"), axis)


# ---------------------------------------------------------------------- joined arrays
@of_arrays(np.concatenate)
def concatenate(arrays: Any, axis: int = 0, dtype: Any = None, casting: str = "same_kind") -> DeviceArray:
    """Return the arrays, each copied into its part of the result."""
    arrays, axis = list(arrays), axis % arrays[0].ndim
    shape = list(arrays[0].shape)
    shape[axis] = sum([a.shape[axis] for a in arrays])
    out = empty(shape, np.result_type(*[a.dtype for a in arrays]) if dtype is None else dtype)
    begin = 0
    for a in arrays:
        out[(slice(None),) * axis + (slice(begin, begin + a.shape[axis]),)] = a
        begin += a.shape[axis]
    return out


@of_arrays(np.stack)
def stack(arrays: Any, axis: int = 0, dtype: Any = None, casting: str = "same_kind") -> DeviceArray:
    return concatenate([np.expand_dims(a, axis) for a in arrays], axis, dtype)


@of_arrays(np.append)
def append(arr: Any, values: Any) -> DeviceArray:
    """Return a one-dimensional array with values appended."""
    return concatenate([arr, to_device_of(np.atleast_1d(values), arr)])
