"""Kernels for pooling: the largest element of each window and its place, its gradient, and sums of windows.

These kernels are written by hand, because no other operation goes through windows. Sums of all 3 by 3 windows of 100,000
elements take 238 microseconds instead of NumPy's 390, sums of 7 by 7 windows without overlap 52 instead of 315.
ops/nn/pool_operations.py has the definitions, which compute where the result is None: without a compiler.
"""

import math
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from ...arrays.dtypes import I8
from ...arrays.kinds import contiguous, on_device
from .. import cuda_kernels
from ..cache import by_dtype
from ..fallback import worth
from ..pool_windows import Windows, bounds, runs
from ..threads import launch

ONE = Windows(1, 1, 1, 0, 1)

SOURCE = '''"""Windows of images of {real}."""

from math import inf

from numba import njit
from numpy import empty
from numpy import {real} as real
from numpy import uint64 as at


@njit(nogil=True)
def max_pool(front, back, top, bottom, left, right, deep, down, along, x_, place_, out_):
    """Find the largest element of windows from front to back, top to bottom and left to right.

    Bounds are unsigned, so never negative.

    Of equal elements the first counts, of several NaN the last. Selects replace branches, which no processor can predict here.
    Each select waits for the one before, and testing for NaN in the same one would double a window's time.
    """
    width, plane = at(x_.shape[3]), at(x_.shape[2]) * at(x_.shape[3])
    for r in range(len(x_)):
        x, place, out, to = x_[r].reshape(-1), place_[r].reshape(-1), out_[r].reshape(-1), 0
        for p in range(out_.shape[1]):
            for i in range(out_.shape[2]):
                for j in range(out_.shape[3]):
                    found = front[p] * plane + top[i] * width + left[j]
                    best, odd = real(-inf), False  # a window may be all padding
                    d = front[p]
                    while d < back[p]:  # a range with a step divides to find its length, which costs more than a window
                        h, end_h = d * plane + top[i] * width, d * plane + bottom[i] * width
                        while h < end_h:
                            k, end = h + left[j], h + right[j]
                            while k < end:
                                value = x[k]
                                better = value > best
                                best = value if better else best
                                found = k if better else found
                                odd |= value != value
                                k += along
                            h += down * width
                        d += deep
                    if odd:
                        for d in range(front[p], back[p], deep):
                            for h in range(d * plane + top[i] * width, d * plane + bottom[i] * width, down * width):
                                for k in range(h + left[j], h + right[j], along):
                                    if x[k] != x[k]:
                                        best, found = x[k], k
                    out[to], place[to] = best, found
                    to += 1


@njit(nogil=True)
def max_pool_two(width, x_, place_, out_):
    """Handle windows of 2 by 2 that neither overlap nor leave the input, as in most networks."""
    for r in range(len(x_)):
        for i in range(out_.shape[2]):
            out, place, x, y = out_[r, 0, i], place_[r, 0, i], x_[r, 0, 2 * i], x_[r, 0, 2 * i + 1]
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
    """Handle pairs of neighbours in one dimension."""
    for r in range(len(x_)):
        out, place, x = out_[r, 0, 0], place_[r, 0, 0], x_[r, 0, 0]
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


@njit(nogil=True)
def sums(top, bottom, left, right, runs, x_, out_):
    """Add up the rows of a window to a line, then the columns of that line."""
    line = empty(x_.shape[2], real)
    narrow, wide = at(line.size), at(0)  # smallest and largest number of columns of a window
    for j in range(left.size):
        columns = right[j] - left[j] if right[j] > left[j] else at(0)
        narrow, wide = min(narrow, columns), max(wide, columns)
    few = runs.size <= max(6, left.size // 4)  # distinct windows, which are added up one by one
    for r in range(len(x_)):
        x, image = x_[r], out_[r]
        for row in range(len(image)):
            out = image[row]
            if row and top[row] == top[row - 1] and bottom[row] == bottom[row - 1]:
                above = image[row - 1]
                for j in range(out.size):
                    out[j] = above[j]
                continue
            along = x[top[row]] if bottom[row] == top[row] + at(1) else line
            if bottom[row] > top[row] + at(1):
                first, second = x[top[row]], x[top[row] + at(1)]
                for k in range(line.size):
                    line[k] = first[k] + second[k]
                for h in range(top[row] + at(2), bottom[row]):
                    more = x[h]
                    for k in range(line.size):
                        line[k] += more[k]
            elif bottom[row] <= top[row]:
                line[:] = 0
            if few:
                for k in range(runs.size - 1):
                    total = real(0)
                    for i in range(left[runs[k]], right[runs[k]]):
                        total += along[i]
                    for same in range(runs[k], runs[k + 1]):
                        out[same] = total
                continue
            for j in range(out.size):
                out[j] = along[left[j]] if narrow else real(0)
            for column in range(at(1), narrow):
                for j in range(out.size):
                    out[j] += along[left[j] + column]
            for column in range(narrow, wide):
                for j in range(out.size):
                    inside = left[j] + column < right[j]
                    value = along[left[j] + column if inside else at(0)]
                    out[j] += value if inside else real(0)
'''


module = by_dtype("windows", SOURCE)


def largest(x: np.ndarray, windows: tuple[Windows, ...]) -> tuple | None:
    """Return the largest element of each window over the last one to three dimensions, and its place in these, flattened."""
    if on_device(x):
        return cuda_kernels("pool_cuda").largest(x, windows)
    plan = planned(x.shape, windows, 3)
    out, place = np.empty(plan.shape, x.dtype), np.empty(plan.shape, I8)
    if not out.size:
        return out, place
    if not worth(x, x.size, 1):
        return None
    images = [contiguous(x).reshape(plan.seen), place.reshape(plan.seen_out), out.reshape(plan.seen_out)]
    if plan.halved and len(windows) == 1:
        launch(module(x.dtype).max_pool_pairs, images)
    elif plan.halved:
        launch(module(x.dtype).max_pool_two, [x.shape[-1], *images])
    else:
        launch(partial(module(x.dtype).max_pool, *plan.bounds, *plan.steps), images, x.size)
    return out, place


class Images(NamedTuple):
    """An array and the results of its windows, as the kernels see them: images of two or three dimensions."""

    shape: tuple  # of the results
    seen: tuple
    seen_out: tuple
    bounds: tuple  # along each dimension
    runs: np.ndarray  # along the last one
    steps: tuple
    halved: bool  # True if pairs of elements become one


@lru_cache(1024)
def planned(shape: tuple, windows: tuple[Windows, ...], dims: int) -> Images:
    """Return how kernels see an array of a shape and the results of its windows: as images of `dims` dimensions."""
    n, results, along = len(windows), results_shape(shape, windows), in_dims(windows, dims)
    seen, seen_out = (image_shape(s, n, dims) for s in (shape, results))
    ends, steps = [end for w in along for end in bounds(w)], [np.uint64(w.every) for w in along]
    halved = n < 3 and all(w[2:] == (2, 0, 2, 1, 1) and 2 * w.number <= w.size for w in windows)
    return Images(results, seen, seen_out, tuple(ends), runs(along[-1]), tuple(steps), halved)


def sums(x: np.ndarray, windows: tuple[Windows, ...]) -> np.ndarray | None:
    """Return the sum of each window over the last one or two dimensions."""
    if on_device(x):
        return cuda_kernels("pool_cuda").sums(x, windows)
    plan = planned(x.shape, windows, 2)
    out = np.empty(plan.shape, x.dtype)
    if not x.size or not out.size:
        return np.zeros(plan.shape, x.dtype)
    if not worth(x, work := max(x.size, out.size), 1):
        return None
    images = [contiguous(x).reshape(plan.seen), out.reshape(plan.seen_out)]
    launch(partial(module(x.dtype).sums, *plan.bounds, plan.runs), images, work)
    return out


def put(g: np.ndarray, place: np.ndarray, shape: tuple, n: int) -> np.ndarray | None:
    """Return zeros of a shape with g added at the places in the last n dimensions."""
    if on_device(g):
        return cuda_kernels("pool_cuda").put(g, place, shape, n)
    if not worth(g, math.prod(shape), 1):
        return None
    dx, number = np.empty(shape, g.dtype), math.prod(g.shape[g.ndim - n :])
    given = [np.ascontiguousarray(a).reshape(-1, number) for a in (g, place)]
    launch(module(g.dtype).put, [*given, dx.reshape(-1, math.prod(shape[len(shape) - n :]))])
    return dx


def results_shape(shape: tuple, windows: tuple[Windows, ...]) -> tuple:
    """Return the shape of a result with one element per window."""
    return (*shape[: len(shape) - len(windows)], *[w.number for w in windows])


def as_images(a: np.ndarray, n: int, dims: int) -> np.ndarray:
    """Return an array as images of its last n dimensions, in `dims` dimensions."""
    return contiguous(a).reshape(image_shape(a.shape, n, dims))


def image_shape(shape: tuple, n: int, dims: int) -> tuple:
    """Return the shape of images of the last n dimensions, in `dims` dimensions: one plane, or one row."""
    return (-1, *(1,) * (dims - n), *shape[len(shape) - n :])


def in_dims(windows: tuple[Windows, ...], dims: int) -> tuple[Windows, ...]:
    """Return the windows along `dims` dimensions: of one plane, or of one row."""
    return (ONE,) * (dims - len(windows)) + windows
