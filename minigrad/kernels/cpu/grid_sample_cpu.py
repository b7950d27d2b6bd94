"""Samples of images and volumes at the points of a grid, and the gradients of both.

The definition is GridSample.program in ops/nn/grid_sampling.py; None leaves the work to it.  Points are treated in blocks, with
one loop for each step, which the compiler vectorizes; a loop that looked at the padding or the mode would not be.
"""

from functools import partial

import numpy as np

from ..cache import by_dtype
from ..fallback import worth
from ..threads import launch

SUMS_FROM = 256  # terms; the definition takes thirty operations

SOURCE = '''"""Samples of {real} images and volumes, (n, c, size), at points, (n, points, dimensions), x first.

A neighbour is `offsets[t]` from the one below; its weight is a polynomial of the distance from there, with `factors[t]`.
"""

import numpy as np
from numba import njit
from numpy import int32, uint64 as at
from numpy import {real} as real

BLOCK = 512
ZEROS, BORDER, REFLECTION = range(3)


@njit(nogil=True, error_model="numpy", inline="always")
def inside(x, size, corners, padding):
    """Return a coordinate moved inside, and its derivative."""
    zero, slope = real(0), real(1)
    if padding == REFLECTION:
        low, span = (zero, size - real(1)) if corners else (real(-0.5), size)
        far = abs(x - low) % (real(2) * span if span > zero else real(1))
        slope = (slope if x > low else -slope) * (real(1) if far < span else real(-1))
        x = span - abs(far - span) + low
    if padding != ZEROS:
        slope = slope if x > zero and x < size - real(1) else zero
        x = zero if x < zero else size - real(1) if x > size - real(1) else x
    return x, slope


@njit(nogil=True, error_model="numpy")
def find(grid, sizes, corners, padding, offsets, factors, places, weights, slopes):
    """Compute the places along each dimension, -1 for none, the weights of all neighbours, and the weights' derivatives."""
    one, two, zero, m = real(1), real(2), real(0), len(grid)
    late = padding if offsets.size > 2 else ZEROS  # neighbours are moved inside, not the point
    soon = padding if offsets.size <= 2 else ZEROS
    x, base, near, per_unit = np.empty(m, real), np.empty(m, real), np.empty(m, real), np.empty(m, real)
    for d in range(len(sizes)):
        size = real(sizes[d])
        scale, shift = ((size - one) / two, zero) if corners else (size / two, real(0.5))
        for j in range(m):
            x[j], per_unit[j] = (grid[j, d] + one) * scale - shift, scale
        if soon != ZEROS:
            for j in range(m):
                x[j], moved = inside(x[j], size, corners, soon)
                per_unit[j] *= moved
        if offsets.size > 1:
            for j in range(m):
                base[j] = np.floor(x[j])
        else:
            for j in range(m):
                base[j] = np.rint(x[j])
        for t in range(offsets.size):
            place, weight, slope = places[d, t], weights[d, t], slopes[d, t]
            offset, f0, f1, f2, f3 = offsets[t], factors[t, 0], factors[t, 1], factors[t, 2], factors[t, 3]
            for j in range(m):
                near[j] = base[j] + offset
            if late != ZEROS:
                for j in range(m):
                    near[j], _ = inside(near[j], size, corners, late)
            for j in range(m):
                place[j] = int32(near[j]) if near[j] >= zero and near[j] < size else -1
            for j in range(m):
                distance = x[j] - base[j]
                weight[j] = ((f0 * distance + f1) * distance + f2) * distance + f3
                slope[j] = ((real(3) * f0 * distance + two * f1) * distance + f2) * per_unit[j]


@njit(nogil=True, error_model="numpy")
def combine(k, m, sizes, places, weights, place, weight):
    """Compute the places and weights of the k-th combination of neighbours, one for each dimension."""
    number, step = places.shape[1], 1
    for d in range(len(sizes)):
        along, w = places[d, k % number], weights[d, k % number]
        for j in range(m):
            if d == 0:
                place[j], weight[j] = along[j], w[j]
            else:
                place[j] = place[j] + step * along[j] if place[j] >= 0 and along[j] >= 0 else -1
                weight[j] = w[j] * weight[j]
        k, step = k // number, step * sizes[d]


@njit(nogil=True, error_model="numpy")
def sample(sizes, corners, padding, offsets, factors, x_, grid_, out_):
    dims = len(sizes)
    places, place = np.empty((dims, offsets.size, BLOCK), int32), np.empty(BLOCK, int32)
    weights, weight = np.empty((2, dims, offsets.size, BLOCK), real), np.empty(BLOCK, real)
    for n in range(len(out_)):
        for start in range(0, grid_.shape[1], BLOCK):
            grid = grid_[n, start : start + BLOCK]
            find(grid, sizes, corners, padding, offsets, factors, places, weights[0], weights[1])
            for k in range(offsets.size**dims):
                combine(k, len(grid), sizes, places, weights[0], place, weight)
                for c in range(x_.shape[1]):
                    x, out = x_[n, c], out_[n, c, start : start + BLOCK]
                    for j in range(out.size):
                        there = place[j] >= 0
                        term = weight[j] * x[at(max(place[j], 0))]
                        out[j] += term if there else real(0)


@njit(nogil=True, error_model="numpy")
def gradients(sizes, corners, padding, offsets, factors, g_, x_, grid_, dx_, dgrid_):
    dims = len(sizes)
    places, place = np.empty((dims, offsets.size, BLOCK), int32), np.empty(BLOCK, int32)
    weights, weight = np.empty((2, dims, offsets.size, BLOCK), real), np.empty(BLOCK, real)
    product = np.empty(BLOCK, real)
    for n in range(len(dgrid_)):
        for start in range(0, grid_.shape[1], BLOCK):
            grid, dgrid = grid_[n, start : start + BLOCK], dgrid_[n, start : start + BLOCK]
            find(grid, sizes, corners, padding, offsets, factors, places, weights[0], weights[1])
            for k in range(offsets.size**dims):
                combine(k, len(grid), sizes, places, weights[0], place, weight)
                product[:] = real(0)
                for c in range(x_.shape[1]):
                    x, dx, g = x_[n, c], dx_[n, c], g_[n, c, start : start + BLOCK]
                    for j in range(len(grid)):
                        if place[j] >= 0:
                            dx[at(place[j])] += weight[j] * g[j]
                            product[j] += x[at(place[j])] * g[j]
                for d in range(dims):
                    rest = k
                    for other in range(dims):
                        t = rest % offsets.size
                        factor = weights[1 if other == d else 0, other, t]
                        for j in range(len(grid)):
                            weight[j] = factor[j] * (weight[j] if other else product[j])
                        rest //= offsets.size
                    for j in range(len(grid)):
                        dgrid[j, d] += weight[j] if place[j] >= 0 else real(0)
'''

module = by_dtype("grid_sample", SOURCE)
PADDINGS = ("zeros", "border", "reflection")  # in the order of the constants


def sample(x: np.ndarray, grid: np.ndarray, table: dict, padding: str, corners: bool) -> np.ndarray | None:
    """Return the values of x, (n, c, ...), at the points of a grid, (n, ..., dimensions), by a table like WEIGHTS's."""
    if not ready(x, grid, table):
        return None
    rows, points = flat(x, grid)
    out = np.zeros((*x.shape[:2], points.shape[1]), x.dtype)
    kernel = partial(module(x.dtype).sample, *settings(x, table, padding, corners))
    launch(kernel, [rows, points, out], out.size * len(table) ** grid.shape[-1])
    return out.reshape(*x.shape[:2], *grid.shape[1:-1])


def gradients(
    g: np.ndarray, x: np.ndarray, grid: np.ndarray, table: dict, padding: str, corners: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the gradients of x and of the grid."""
    if not ready(x, grid, table) or g.dtype != x.dtype:
        return None
    rows, points = flat(x, grid)
    dx, dgrid = np.zeros_like(rows), np.zeros_like(points)
    kernel = partial(module(x.dtype).gradients, *settings(x, table, padding, corners))
    given = np.ascontiguousarray(g).reshape(*x.shape[:2], -1)
    launch(kernel, [given, rows, points, dx, dgrid], 3 * g.size * len(table) ** grid.shape[-1])
    return dx.reshape(x.shape), dgrid.reshape(grid.shape)


def ready(x: np.ndarray, grid: np.ndarray, table: dict) -> bool:
    """Return True if the kernels can take these arrays, and are worth it."""
    terms = x.shape[1] * grid.size * len(table) ** grid.shape[-1]
    return worth(x, terms, SUMS_FROM) and type(grid) is np.ndarray and x.size < 2**31


def flat(x: np.ndarray, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the elements and the points, each in a row."""
    n, dims = len(x), grid.shape[-1]
    return np.ascontiguousarray(x).reshape(*x.shape[:2], -1), np.ascontiguousarray(grid).reshape(n, -1, dims)


def settings(x: np.ndarray, table: dict, padding: str, corners: bool) -> tuple:
    """Return the leading arguments of the kernels."""
    factors = np.array([[0.0] * (4 - len(numbers)) + [*numbers] for numbers in table.values()], x.dtype)
    return tuple(x.shape[:1:-1]), corners, PADDINGS.index(padding), np.array([*table], x.dtype), factors
