"""Kernels for pooling: the largest element of each window with its place, and its gradient, put back there.

ops/nn/pool.py has the definitions, and does what is small.  None stands for "NumPy serves as well".
"""

from __future__ import annotations

import math

import numpy as np

from ...arrays.kinds import kernels_there, on_device
from ..cache import by_dtype
from ..fallback import alone
from ..threads import launch

POOL_FROM = 2048  # comparisons; below, NumPy's dozen calls cost less than a first lesson's wait for the compiler

SOURCE = '''"""The largest elements of windows of {real}."""

from math import inf

from numba import njit
from numpy import {real} as real


@njit(nogil=True)
def max_pool(size, kernel, stride, padding, dilation, x_, place_, out_):
    """Of equal elements the first counts, of several NaN the last.  Choices without branches: data cannot be foreseen."""
    for r in range(len(x_)):
        x, place, out, to = x_[r].reshape(-1), place_[r].reshape(-1), out_[r].reshape(-1), 0
        for i in range(out_.shape[1]):
            top = i * stride[0] - padding[0]
            high = min(top + kernel[0] * dilation[0], size[0])
            top = top if top >= 0 else top % dilation[0]
            for j in range(out_.shape[2]):
                left = j * stride[1] - padding[1]
                wide = min(left + kernel[1] * dilation[1], size[1])
                left = left if left >= 0 else left % dilation[1]
                found = top * size[1] + left
                best = real(-inf)  # a window may lie wholly in the padding
                h = top
                while h < high:  # a range with a step would divide to find its length, which takes longer than a window
                    at, end = h * size[1] + left, h * size[1] + wide
                    while at < end:
                        value = x[at]
                        better = (value > best) | (value != value)
                        best = value if better else best
                        found = at if better else found
                        at += dilation[1]
                    h += dilation[0]
                out[to], place[to] = best, found
                to += 1


@njit(nogil=True)
def max_pool_two(width, x_, place_, out_):
    """The same for windows of two by two that neither overlap nor leave the input, as in most networks."""
    for r in range(len(x_)):
        for i in range(out_.shape[1]):
            out, place, x, y = out_[r, i], place_[r, i], x_[r, 2 * i], x_[r, 2 * i + 1]
            for j in range(out.size):
                a, b, c, d = x[2 * j], x[2 * j + 1], y[2 * j], y[2 * j + 1]
                right = (b > a) | (b != b)
                a, at = b if right else a, 1 if right else 0
                right = (d > c) | (d != d)
                c, low = d if right else c, width + 1 if right else width
                below = (c > a) | (c != c)
                out[j] = c if below else a
                place[j] = 2 * (i * width + j) + (low if below else at)


@njit(nogil=True)
def max_pool_pairs(x_, place_, out_):
    """The same for neighbours in one dimension."""
    for r in range(len(x_)):
        out, place, x = out_[r, 0], place_[r, 0], x_[r, 0]
        for j in range(out.size):
            a, b = x[2 * j], x[2 * j + 1]
            right = (b > a) | (b != b)
            out[j] = b if right else a
            place[j] = 2 * j + (1 if right else 0)


@njit(nogil=True)
def put(g_, place_, dx_):
    for r in range(len(dx_)):
        g, place, dx = g_[r], place_[r], dx_[r]
        dx[:] = 0
        for i in range(g.size):
            if place[i] < dx.size:
                dx[place[i]] += g[i]
'''


module = by_dtype("windows", SOURCE)


def max_pool(
    x: np.ndarray, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, number: tuple
) -> tuple | None:
    """The largest element of each window over the last one or two dimensions, and its place in the flattened input."""
    if on_device(x):
        return kernels_there("pool_cuda").max_pool(x, kernel, stride, padding, dilation, number)
    n, size = len(kernel), x.shape[x.ndim - len(kernel) :]
    shape = (*x.shape[: x.ndim - n], *number)
    if math.prod(shape) * math.prod(kernel) < POOL_FROM or alone() or x.dtype.kind != "f" or n > 2:
        return None
    out, place = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    images = [np.ascontiguousarray(a).reshape(-1, *two(a.shape[x.ndim - n :])) for a in (x, place, out)]
    kernel, stride, padding, dilation = two(kernel), two(stride), two(padding, 0), two(dilation)
    kernels = module(x.dtype)
    whole = all(2 * w <= m for w, m in zip(two(number), two(size)))
    if kernel == stride == (2, 2) and padding == (0, 0) and dilation == (1, 1) and whole:
        launch(kernels.max_pool_two, [size[1], *images])
    elif n == 1 and kernel == stride == (1, 2) and padding == (0, 0) and dilation[1] == 1 and 2 * number[0] <= size[0]:
        launch(kernels.max_pool_pairs, images)
    else:
        launch(kernels.max_pool, [two(size), kernel, stride, padding, dilation, *images])
    return out, place


def put(g: np.ndarray, place: np.ndarray, shape: tuple, n: int) -> np.ndarray | None:
    """Zeros of a shape with g added at the places in the last n dimensions."""
    if on_device(g):
        return kernels_there("pool_cuda").put(g, place, shape, n)
    if g.size < POOL_FROM // 4 or alone() or g.dtype.kind != "f":
        return None
    dx, number = np.empty(shape, g.dtype), math.prod(g.shape[g.ndim - n :])
    given = [np.ascontiguousarray(a).reshape(-1, number) for a in (g, place)]
    launch(module(g.dtype).put, [*given, dx.reshape(-1, math.prod(shape[len(shape) - n :]))])
    return dx


def two(t: tuple, fill: int = 1) -> tuple:
    """Settings of one dimension as those of two."""
    return (fill,) * (2 - len(t)) + tuple(t)
