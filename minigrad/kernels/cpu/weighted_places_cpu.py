"""Weighted sums of elements at places along the last dimension, their two gradients, and the places.

The definitions are in ops/nn/weighted_gather.py; None leaves the work to NumPy.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..cache import by_dtype
from ..fallback import worth
from ..threads import launch

SUMS_FROM = 512  # terms; see index_cpu.PLACES_FROM

SOURCE = '''"""Weighted sums of {real} at places, where a negative place has no element."""

from numba import njit
from numpy import int64, uint64 as at
from numpy import {real} as real


@njit(nogil=True)
def gather(w_all, places_all, numbers_, x_, out_):
    for r in range(len(out_)):
        x, out = x_[r], out_[r]
        for k in range(w_all.shape[1]):
            w, places = w_all[numbers_[r], k], places_all[numbers_[r], k]
            for j in range(out.size):
                there = places[j] >= 0
                term = w[j] * x[at(places[j] if there else 0)]
                out[j] += term if there else real(0)


@njit(nogil=True)
def scatter(w_all, places_all, numbers_, g_, out_):
    for r in range(len(out_)):
        g, out = g_[r], out_[r]
        for k in range(w_all.shape[1]):
            w, places = w_all[numbers_[r], k], places_all[numbers_[r], k]
            for j in range(g.size):
                if places[j] >= 0:
                    out[at(places[j])] += w[j] * g[j]


@njit(nogil=True)
def products(places_, g_, x_, out_):
    for n in range(len(out_)):
        for c in range(g_.shape[1]):
            g, x = g_[n, c], x_[n, c]
            for k in range(out_.shape[1]):
                places, out = places_[n, k], out_[n, k]
                for j in range(out.size):
                    there = places[j] >= 0
                    term = g[j] * x[at(places[j] if there else 0)]
                    out[j] += term if there else real(0)


@njit(nogil=True)
def combined(sizes, taps_, out_):
    number = taps_.shape[2]
    for n in range(len(out_)):
        for k in range(out_.shape[1]):
            out, rest, step = out_[n, k], k, 1
            for d in range(len(sizes)):
                taps, size = taps_[n, d, rest % number], sizes[d]
                for j in range(out.size):
                    there = out[j] >= 0 and taps[j] >= 0 and taps[j] < size
                    out[j] = out[j] + step * int64(taps[j]) if there else -1
                rest, step = rest // number, step * size
'''

module = by_dtype("weighted_places", SOURCE)


def gather(x: np.ndarray, w: np.ndarray, places: np.ndarray) -> np.ndarray | None:
    """Return the sums for each channel: x (n, c, size), w and places (n, k, points), result (n, c, points)."""
    return run_by_channel("gather", x, w, places, places.shape[2])


def scatter(g: np.ndarray, w: np.ndarray, places: np.ndarray, size: int) -> np.ndarray | None:
    """Return for each element the sum of the terms that read it: g (n, c, points), result (n, c, size)."""
    return run_by_channel("scatter", g, w, places, size)


def run_by_channel(name: str, x: np.ndarray, w: np.ndarray, places: np.ndarray, size: int) -> np.ndarray | None:
    """Run a kernel over the rows of x, each with the weights and places of its example."""
    n, c = x.shape[:2]
    terms = c * places.size
    if not worth(x, terms, SUMS_FROM) or w.dtype != x.dtype:
        return None
    out, rows = np.zeros((n * c, size), x.dtype), np.ascontiguousarray(x).reshape(n * c, -1)
    kernel = partial(getattr(module(x.dtype), name), np.ascontiguousarray(w), np.ascontiguousarray(places))
    launch(kernel, [np.repeat(np.arange(n), c), rows, out], terms)
    return out.reshape(n, c, size)


def products(g: np.ndarray, x: np.ndarray, places: np.ndarray) -> np.ndarray | None:
    """Return the gradient of each weight: g (n, c, points), x (n, c, size), result (n, k, points)."""
    terms = g.shape[1] * places.size
    if not worth(g, terms, SUMS_FROM) or x.dtype != g.dtype:
        return None
    out = np.zeros(places.shape, g.dtype)
    launch(module(g.dtype).products, [*map(np.ascontiguousarray, (places, g, x)), out], terms)
    return out


def combined(taps: np.ndarray, sizes: tuple) -> np.ndarray | None:
    """Return the flat places of all combinations of one tap per dimension: taps (n, dimensions, k, points)."""
    n, dims, k, points = taps.shape
    if not worth(taps, n * k**dims * points, SUMS_FROM):
        return None
    out = np.zeros((n, k**dims, points), np.int64)
    launch(partial(module(taps.dtype).combined, np.array(sizes)), [np.ascontiguousarray(taps), out], out.size)
    return out
