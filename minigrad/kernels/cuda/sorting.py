"""Sorting along a dimension, and the first k: stable, with NaN after every number.

A block sorts a tile of a row in its shared memory by a bitonic network (Batcher, "Sorting networks and their applications",
1968): numbers together with their places, which decide between equal ones. Longer rows consist of several sorted tiles, which
are merged in pairs: an element's place in the merged run is its own plus the number of elements of the other run that come
before it, found by bisection. For the first k, only the first k of each tile are kept, and sorted again. radix.py sorts rows
for which that would take too many merges.
"""

import functools
from typing import Any

import numpy as np

from . import kernel_modules, radix, simulator
from .device_array import DeviceArray, empty
from .functions import of_arrays

TILE = 32 if simulator.SMALL else 1024  # elements that a block sorts
# rows from this number of elements on are sorted by digits, if there are this many in all: fewer take longer than merges
LONG, MANY = (256, 256) if simulator.SMALL else (1 << 14, 1 << 18)
SORTED_AS = {"bool": "uint8", "float16": "float32", "bfloat16": "float32"}  # dtypes that threads can exchange
THREADS = 16 if simulator.SMALL else 128  # of a block at least: short rows share one

SOURCE = '''"""Sorting {real}, {order} first."""

from numba import cuda
from numpy import int64
from numpy import {real} as real

TILE = {tile}
ROWS = {rows}  # tiles of a block
HALF = TILE // 2  # threads for each tile
FREE = 1 << 62  # the place of an element that fills up a tile


@cuda.jit(device=True)
def before(a, b):
    """Return True if a comes before b; NaN counts as larger than every number."""
    return a {operator} b or {odd}


@cuda.jit(device=True)
def exchange(x, place, i, j):
    """Put two elements in order: by value, then by place; fillers come last."""
    later = place[j] == FREE or place[i] != FREE and (
        before(x[i], x[j]) or not before(x[j], x[i]) and place[i] < place[j]
    )
    if not later:
        x[i], x[j] = x[j], x[i]
        place[i], place[j] = place[j], place[i]


@cuda.jit
def tiles(given, x_, places_, out_, out_places_):
    """Sort each tile and write as much of its start as fits. Places are those `given`, or the elements' numbers."""
    xs = cuda.shared.array((ROWS, TILE), real)
    ps = cuda.shared.array((ROWS, TILE), int64)
    n, kept = x_.shape[1], out_.shape[2]
    line, t = cuda.threadIdx.x // HALF, cuda.threadIdx.x % HALF
    number = int64(cuda.blockIdx.x) * ROWS + line  # of the tile
    row, tile = number // out_.shape[1], number % out_.shape[1]
    x, place = xs[line], ps[line]
    for k in range(t, TILE, HALF):
        i = tile * TILE + k
        place[k] = FREE
        if row < x_.shape[0] and i < n:
            x[k], place[k] = x_[row, i], places_[row, i] if given else i
    size = 2
    while size <= TILE:
        cuda.syncthreads()
        i = t // (size // 2) * size + t % (size // 2)
        exchange(x, place, i, i ^ (size - 1))  # the halves are sorted: the second one meets the first in reverse
        step = size // 4
        while step > 0:
            cuda.syncthreads()
            i = t // step * 2 * step + t % step
            exchange(x, place, i, i + step)
            step //= 2
        size *= 2
    cuda.syncthreads()
    if row < x_.shape[0]:
        for k in range(t, kept, HALF):
            out_places_[row, tile, k] = place[k]
            if place[k] != FREE:
                out_[row, tile, k] = x[k]


@cuda.jit
def merge(run, x_, places_, out_, out_places_):
    """Merge runs of this length in pairs."""
    n = x_.shape[1]
    for e in range(cuda.grid(1), x_.size, cuda.gridsize(1)):
        row, i = e // n, e % n
        first = i // (2 * run) * (2 * run)
        middle, v = min(first + run, n), x_[row, i]
        low, high = (middle, min(first + 2 * run, n)) if i < middle else (first, middle)
        while low < high:
            m = (low + high) // 2
            if before(x_[row, m], v) if i < middle else not before(v, x_[row, m]):
                low = m + 1
            else:
                high = m
        at = i + low - middle if i < middle else i - middle + low
        out_[row, at] = v
        out_places_[row, at] = places_[row, i]
'''


@functools.cache
def module(dtype: np.dtype, tile: int, descending: bool) -> Any:
    """Return the kernels for tiles of this size."""
    a, b, operator = ("a", "b", ">") if descending else ("b", "a", "<")
    odd = f"{a} != {a} and {b} == {b}" if dtype.kind == "f" else "False"
    rows = max(THREADS // (tile // 2), 1)
    order = "the largest" if descending else "the smallest"
    source = SOURCE.format(real=dtype.name, tile=tile, rows=rows, order=order, operator=operator, odd=odd)
    return kernel_modules.load("sorting", source)


def tile_for(n: int) -> int:
    """Return the number of elements that a block sorts of a row of n."""
    return min(max(1 << (n - 1).bit_length(), 2), TILE)


# ---------------------------------------------------------------------- rows
def first_of_tiles(x: DeviceArray, places: Any, k: int, descending: bool) -> tuple:
    """Return for rows (r, n) the first k of each tile in order: values and places (r, tiles, k)."""
    (r, n), tile, given = x.shape, tile_for(x.shape[1]), places is not None
    shape = (r, -(-n // tile), min(k, tile))
    out, found = empty(shape, x.dtype), empty(shape, np.int64)
    kernels = module(x.dtype, tile, descending)
    launch = kernels.tiles[-(-r * shape[1] // kernels.ROWS), kernels.ROWS * kernels.HALF]
    launch(given, x, places if given else found[:, 0], out, found)
    return out, found


def ordered(x: DeviceArray, descending: bool = False) -> tuple:
    """Return rows in order, and the places that their elements had."""
    r, n = x.shape
    if not x.size:
        return x, empty(x.shape, np.int64)
    if n >= LONG and x.size >= MANY:
        return radix.ordered(x, descending)
    values, places = [a.reshape(r, -1)[:, :n].copy() for a in first_of_tiles(x, None, n, descending)]
    run = tile_for(n)
    while run < n:
        merged = empty(x.shape, x.dtype), empty(x.shape, np.int64)
        module(x.dtype, tile_for(n), descending).merge[kernel_modules.threads(x.size)](run, values, places, *merged)
        (values, places), run = merged, 2 * run
    return values, places


def first(x: DeviceArray, k: int, descending: bool) -> tuple:
    """Return the first k of rows in order, and their places: tiles shrink to their first k until one tile is left."""
    if not 0 < k <= TILE // 2 or not x.size:
        return tuple([a[:, :k] for a in ordered(x, descending)])
    places = None
    while True:
        x, places = first_of_tiles(x, places, k, descending)
        if x.shape[1] == 1:
            return x[:, 0], places[:, 0]
        x, places = x.reshape(len(x), -1), places.reshape(len(x), -1)


# ---------------------------------------------------------------------- along a dimension
def rows_of(x: DeviceArray, dim: int) -> DeviceArray:
    """Return the lines along a dimension as contiguous rows, of a dtype that shared memory supports."""
    moved = np.moveaxis(x.astype(SORTED_AS.get(x.dtype.name, x.dtype), copy=False), dim, -1)
    return moved.copy().reshape(x.size // max(x.shape[dim], 1), x.shape[dim])


def lines(rows: DeviceArray, x: DeviceArray, dim: int) -> DeviceArray:
    """Return rows as lines along a dimension of x's shape, in C order."""
    found = rows.reshape(*x.shape[:dim], *x.shape[dim + 1 :], rows.shape[1])
    return found if dim == x.ndim - 1 and found.flags.c_contiguous else np.moveaxis(found, -1, dim).copy()


def top(x: DeviceArray, k: int, dim: int, largest: bool) -> DeviceArray:
    """Return the places of the k largest or smallest along a dimension, in order; equal ones keep their order."""
    return lines(first(rows_of(x, dim), k, largest)[1], x, dim)


@of_arrays(np.argsort)
def argsort(a: Any, axis: int = -1, kind: Any = None) -> DeviceArray:
    """Return the places that sort a dimension; equal elements keep their order."""
    return lines(ordered(rows_of(a, axis % a.ndim))[1], a, axis % a.ndim)


@of_arrays(np.sort)
def sort(a: Any, axis: int = -1) -> DeviceArray:
    return lines(ordered(rows_of(a, axis % a.ndim))[0].astype(a.dtype, copy=False), a, axis % a.ndim)


@of_arrays(np.argpartition)
def argpartition(a: Any, kth: Any, axis: int = -1) -> DeviceArray:
    """Return the sorted order, the simplest in which element kth is at its place."""
    return argsort(a, axis)
