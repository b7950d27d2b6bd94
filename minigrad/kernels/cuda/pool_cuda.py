"""Pooling on the device: the largest element or the sum of each window, and what goes back to the places of the windows.

A thread has a window, or a place, and looks at its at most few dozen elements.  One dimension is two, of which the first has
one row.  ops/nn/pool.py has the definitions.
"""

from __future__ import annotations

import math

import numpy as np

from ..cache import by_dtype
from ..cpu.max_pool import two
from . import kernel_modules
from .device_array import DeviceArray, empty

SOURCE = '''"""Windows of images of {real}: arrays are (images, height, width)."""

from math import inf

from numba import cuda
from numpy import floating, iinfo
from numpy import {real} as real

LOWEST = -inf if issubclass(real, floating) else iinfo(real).min


@cuda.jit
def max_pool(x, kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w, out, place):
    """Of equal elements the first counts, of several NaN the last; a window may lie wholly in the padding."""
    height, width = x.shape[1], x.shape[2]
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        image, row, column = i // (out.shape[1] * out.shape[2]), i // out.shape[2] % out.shape[1], i % out.shape[2]
        top, left = row * stride_h - padding_h, column * stride_w - padding_w
        bottom, right = min(top + kernel_h * dilation_h, height), min(left + kernel_w * dilation_w, width)
        top, left = top if top >= 0 else top % dilation_h, left if left >= 0 else left % dilation_w
        best, found = real(LOWEST), top * width + left
        for h in range(top, bottom, dilation_h):
            for w in range(left, right, dilation_w):
                value = x[image, h, w]
                if value > best or value != value:
                    best, found = value, h * width + w
        out[image, row, column], place[image, row, column] = best, found


@cuda.jit
def put(g, place, dx):
    """dx[r, place[r, i]] += g[r, i] for rows of dx, which are zeros: windows that overlap may have found the same place."""
    for i in range(cuda.grid(1), g.size, cuda.gridsize(1)):
        row, at = i // g.shape[1], place[i // g.shape[1], i % g.shape[1]]
        if at < dx.shape[1]:
            cuda.atomic.add(dx, (row, at), g[row, i % g.shape[1]])


@cuda.jit
def window_sum(x, kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        image, row, column = i // (out.shape[1] * out.shape[2]), i // out.shape[2] % out.shape[1], i % out.shape[2]
        top, left, total = row * stride_h - padding_h, column * stride_w - padding_w, real(0)
        for h in range(max(top, 0), min(top + kernel_h, x.shape[1])):
            for w in range(max(left, 0), min(left + kernel_w, x.shape[2])):
                total += x[image, h, w]
        out[image, row, column] = total


@cuda.jit
def spread_windows(g, kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w, dx):
    """Each place collects from the windows that hold it: those from `top` to `bottom`."""
    for i in range(cuda.grid(1), dx.size, cuda.gridsize(1)):
        image, row, column = i // (dx.shape[1] * dx.shape[2]), i // dx.shape[2] % dx.shape[1], i % dx.shape[2]
        h, w, total = row + padding_h, column + padding_w, real(0)
        top, left = max(h - kernel_h + stride_h, 0) // stride_h, max(w - kernel_w + stride_w, 0) // stride_w
        for r in range(top, min(h // stride_h + 1, g.shape[1])):
            for c in range(left, min(w // stride_w + 1, g.shape[2])):
                total += g[image, r, c]
        dx[image, row, column] = total
'''


module = by_dtype("pool", SOURCE, kernel_modules.load)


def max_pool(x: DeviceArray, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, number: tuple) -> tuple:
    """The largest element of each window over the last one or two dimensions, and its place in the flattened input."""
    shape = (*x.shape[: x.ndim - len(kernel)], *number)
    out, place = empty(shape, x.dtype), empty(shape, np.dtype(np.int64))
    settings = (*two(kernel), *two(stride), *two(padding, 0), *two(dilation))
    launch("max_pool", x, settings, number, out, place)
    return out, place


def put(g: DeviceArray, place: DeviceArray, shape: tuple, n: int) -> DeviceArray:
    """Zeros of a shape with g added at the places in the last n dimensions."""
    dx, number = empty(shape, g.dtype), math.prod(g.shape[g.ndim - n :])
    dx.fill(0)
    if g.size and dx.size:
        rows = g.size // number
        given = [a.reshape(rows, number) for a in (g, place)]
        module(g.dtype).put[kernel_modules.threads(g.size)](*given, dx.reshape(rows, -1))
    return dx


def window_sum(x: DeviceArray, kernel: tuple, stride: tuple, padding: tuple, number: tuple) -> DeviceArray:
    """The sum of each window over the last one or two dimensions."""
    out = empty((*x.shape[: x.ndim - len(kernel)], *number), x.dtype)
    launch("window_sum", x, (*two(kernel), *two(stride), *two(padding, 0)), number, out)
    return out


def spread_windows(g: DeviceArray, size: tuple, kernel: tuple, stride: tuple, padding: tuple) -> DeviceArray:
    """The transpose of window_sum: each element added to all places of its window."""
    out = empty((*g.shape[: g.ndim - len(kernel)], *size), g.dtype)
    launch("spread_windows", g, (*two(kernel), *two(stride), *two(padding, 0)), size, out)
    return out


def launch(name: str, x: DeviceArray, settings: tuple, number: tuple, *outs: DeviceArray) -> None:
    """Run a kernel with a thread for each element of the results, whose last dimensions have these sizes."""
    if outs[0].size and x.size:
        image = lambda a: a.reshape(-1, *two(a.shape[a.ndim - len(number) :]))
        getattr(module(x.dtype), name)[kernel_modules.threads(outs[0].size)](image(x), *settings, *map(image, outs))
    else:
        outs[0].fill(0)
