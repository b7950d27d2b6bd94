"""Pooling on the device: the largest element or the sum of each window, and the gradient at the places of the windows.

Each thread processes the elements of one window, usually a few dozen. ops/nn/pool_operations.py has the definitions.
"""

import math

import numpy as np

from ..cache import by_dtype
from ..cpu.pool_cpu import as_images, in_dims, results_shape
from ..pool_windows import Windows
from . import kernel_modules
from .device_array import DeviceArray, empty

SOURCE = '''"""Windows of images of {real}: arrays are (images, height, width), for maxima (images, depth, height, width)."""

from math import inf

from numba import cuda
from numpy import floating, iinfo
from numpy import {real} as real

LOWEST = -inf if issubclass(real, floating) else iinfo(real).min


@cuda.jit(device=True, inline=True)
def bounds(i, step, begin, end, by, every, size):
    """Return the bounds of window i inside a dimension (kernels/pool_windows.py)."""
    first = (i * step + begin) // by
    return first if first >= 0 else first % every, max(min((i * step + end) // by, size), 0)


@cuda.jit
def max_pool(x, step_d, begin_d, end_d, by_d, every_d, step_h, begin_h, end_h, by_h, every_h,
             step_w, begin_w, end_w, by_w, every_w, out, place):
    """Find the largest element of each window: of equal ones the first, of several NaN the last; it may be all padding."""
    _, planes, rows, columns = out.shape
    _, depth, height, width = x.shape
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        image, plane = i // (planes * rows * columns), i // (rows * columns) % planes
        row, column = i // columns % rows, i % columns
        front, back = bounds(plane, step_d, begin_d, end_d, by_d, every_d, depth)
        top, bottom = bounds(row, step_h, begin_h, end_h, by_h, every_h, height)
        left, right = bounds(column, step_w, begin_w, end_w, by_w, every_w, width)
        best, found = real(LOWEST), (front * height + top) * width + left
        for d in range(front, back, every_d):
            for h in range(top, bottom, every_h):
                for w in range(left, right, every_w):
                    value = x[image, d, h, w]
                    if value > best or value != value:
                        best, found = value, (d * height + h) * width + w
        out[image, plane, row, column], place[image, plane, row, column] = best, found


@cuda.jit
def put(g, place, dx):
    """Add g[r, i] to dx[r, place[r, i]], which starts at 0: overlapping windows may share a place."""
    for i in range(cuda.grid(1), g.size, cuda.gridsize(1)):
        row, at = i // g.shape[1], place[i // g.shape[1], i % g.shape[1]]
        if at < dx.shape[1]:
            cuda.atomic.add(dx, (row, at), g[row, i % g.shape[1]])


@cuda.jit
def window_sum(x, step_h, begin_h, end_h, by_h, every_h, step_w, begin_w, end_w, by_w, every_w, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        image, row, column = i // (out.shape[1] * out.shape[2]), i // out.shape[2] % out.shape[1], i % out.shape[2]
        top, bottom = bounds(row, step_h, begin_h, end_h, by_h, every_h, x.shape[1])
        left, right = bounds(column, step_w, begin_w, end_w, by_w, every_w, x.shape[2])
        total = real(0)
        for h in range(top, bottom):
            for w in range(left, right):
                total += x[image, h, w]
        out[image, row, column] = total
'''


module = by_dtype("pool", SOURCE, kernel_modules.load)


def largest(x: DeviceArray, windows: tuple[Windows, ...]) -> tuple:
    """Return the largest element of each window over the last one to three dimensions, and its place in these, flattened."""
    shape = results_shape(x.shape, windows)
    out, place = empty(shape, x.dtype), empty(shape, np.dtype(np.int64))
    launch("max_pool", x, windows, 3, out, place)
    return out, place


def sums(x: DeviceArray, windows: tuple[Windows, ...]) -> DeviceArray:
    """Return the sum of each window over the last one or two dimensions."""
    out = empty(results_shape(x.shape, windows), x.dtype)
    launch("window_sum", x, windows, 2, out)
    return out


def put(g: DeviceArray, place: DeviceArray, shape: tuple, n: int) -> DeviceArray:
    """Return zeros of a shape with g added at the places in the last n dimensions."""
    dx, number = empty(shape, g.dtype), math.prod(g.shape[g.ndim - n :])
    dx.fill(0)
    if g.size and dx.size:
        rows = g.size // number
        given = [a.reshape(rows, number) for a in (g, place)]
        module(g.dtype).put[kernel_modules.threads(g.size)](*given, dx.reshape(rows, -1))
    return dx


def launch(name: str, x: DeviceArray, windows: tuple[Windows, ...], dims: int, *outs: DeviceArray) -> None:
    """Run a kernel on images of `dims` dimensions, with one thread per element of the results."""
    if outs[0].size and x.size:
        images = [as_images(a, len(windows), dims) for a in (x, *outs)]
        settings = [number for w in in_dims(windows, dims) for number in w[2:]]
        getattr(module(x.dtype), name)[kernel_modules.threads(outs[0].size)](images[0], *settings, *images[1:])
    else:
        outs[0].fill(0)
