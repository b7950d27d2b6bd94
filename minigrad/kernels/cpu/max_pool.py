"""Kernels for pooling: the largest element of each window with its place, and its gradient, put back there.

ops/nn/pool.py has the definitions, and does what is small.  None stands for "NumPy serves as well".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...arrays.kinds import kernels_there, on_device
from ..cache import by_dtype
from ..fallback import worth
from ..threads import launch

POOL_FROM = 2048  # comparisons; below, NumPy's dozen calls cost less than a first lesson's wait for the compiler

SOURCE = '''"""The largest elements of windows of {real}."""

from math import inf

from numba import njit
from numpy import {real} as real
from numpy import uint64 as at


@njit(nogil=True)
def max_pool(top, bottom, left, right, down, along, x_, place_, out_):
    """Windows from top to bottom and from left to right, in steps: unsigned, so that no index counts from the end.

    Of equal elements the first counts, of several NaN the last.  Choices without branches: data cannot be foreseen.  Each
    waits for the one before; with NaN in the same comparison a window takes twice the time.
    """
    width = at(x_.shape[2])
    for r in range(len(x_)):
        x, place, out, to = x_[r].reshape(-1), place_[r].reshape(-1), out_[r].reshape(-1), 0
        for i in range(out_.shape[1]):
            for j in range(out_.shape[2]):
                found = top[i] * width + left[j]
                best, odd = real(-inf), False  # a window may lie wholly in the padding
                h = top[i]
                while h < bottom[i]:  # a range with a step would divide to find its length, which takes longer than a window
                    k, end = h * width + left[j], h * width + right[j]
                    while k < end:
                        value = x[k]
                        better = value > best
                        best = value if better else best
                        found = k if better else found
                        odd |= value != value
                        k += along
                    h += down
                if odd:
                    for h in range(top[i], bottom[i], down):
                        for k in range(h * width + left[j], h * width + right[j], along):
                            if x[k] != x[k]:
                                best, found = x[k], k
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
    if not serves(x, math.prod(shape) * math.prod(kernel)):
        return None
    bare = kernel == stride and not any(padding) and all(k * w <= m for k, w, m in zip(kernel, number, size))
    if bare and kernel in ((2,), (2, 2)) and set(dilation) == {1}:
        out, place, images = results(x, shape, n)
        kernels = module(x.dtype)
        launch(*((kernels.max_pool_pairs, images) if n == 1 else (kernels.max_pool_two, [size[1], *images])))
        return out, place
    begin = [np.arange(w) * s - p for w, s, p in zip(number, stride, padding)]
    end = [np.minimum(b + k * d, m) for b, k, d, m in zip(begin, kernel, dilation, size)]
    return largest(x, [np.where(b < 0, b % d, b) for b, d in zip(begin, dilation)], end, dilation)


def largest(x: np.ndarray, begin: Sequence, end: Sequence, dilation: tuple) -> tuple:
    """The same for windows that begin and end there in each dimension."""
    n = len(begin)
    out, place, images = results(x, (*x.shape[: x.ndim - n], *[b.size for b in begin]), n)
    each = zip(two(begin, np.zeros(1)), two(end, np.ones(1)))  # one dimension is one row
    bounds = [a.astype(np.uint64, copy=False) for both in each for a in both]
    launch(partial(module(x.dtype).max_pool, *bounds, *map(np.uint64, two(dilation))), images, x.size)
    return out, place


def serves(x: np.ndarray, comparisons: int) -> bool:
    """Whether so many comparisons are worth a kernel."""
    return worth(x, comparisons, POOL_FROM)


def results(x: np.ndarray, shape: tuple, n: int) -> tuple:
    """Memory for the largest elements and their places, and the two behind x, all three as images."""
    out, place = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    return out, place, [np.ascontiguousarray(a).reshape(-1, *two(a.shape[x.ndim - n :])) for a in (x, place, out)]


def put(g: np.ndarray, place: np.ndarray, shape: tuple, n: int) -> np.ndarray | None:
    """Zeros of a shape with g added at the places in the last n dimensions."""
    if on_device(g):
        return kernels_there("pool_cuda").put(g, place, shape, n)
    if not worth(g, g.size, POOL_FROM // 4):
        return None
    dx, number = np.empty(shape, g.dtype), math.prod(g.shape[g.ndim - n :])
    given = [np.ascontiguousarray(a).reshape(-1, number) for a in (g, place)]
    launch(module(g.dtype).put, [*given, dx.reshape(-1, math.prod(shape[len(shape) - n :]))])
    return dx


def two(t: Sequence, fill: Any = 1) -> tuple:
    """Settings of one dimension as those of two."""
    return (fill,) * (2 - len(t)) + tuple(t)
