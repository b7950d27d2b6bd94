"""Adaptive pooling: the largest element, or the mean, of even parts of the last dimensions, as many as are asked for."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...arrays.kinds import contiguous, near
from ...core.tensor import Tensor
from ...errors import error
from ...kernels.cpu import even_parts, max_pool
from ..base.families import Linear, Operation
from ..base.layouts import channels_last
from ..index_places import take_at
from .entry import expect_floats, expect_numbers, functional
from .pool import check_rank, flat, put, put_arrays


class AdaptiveMaxPool(Operation):
    """The largest element of each of `number` even parts of the last dimensions, and its place when flattened."""

    n_internal = 1
    layout = channels_last
    depends_on_operand = True

    @staticmethod
    def impl(x: np.ndarray, number: tuple) -> tuple:
        n, size = len(number), x.shape[x.ndim - len(number) :]
        if 0 in number:
            shape = (*x.shape[: x.ndim - n], *number)
            return np.empty_like(x, shape=shape), np.empty_like(x, np.int64, shape=shape)
        if max_pool.serves(x, x.size):
            return max_pool.largest(x, *zip(*map(bounds, size, number)), (1,) * n)
        rows = [table(*bounds(m, w)) for m, w in zip(size, number)]
        places = flat([r.reshape(-1) for r in rows], size).reshape([k for r in rows for k in r.shape])
        places = near(places.transpose(*range(0, 2 * n, 2), *range(1, 2 * n, 2)).reshape(*number, -1), x)
        values = x.reshape(*x.shape[: x.ndim - n], math.prod(size))[..., places]
        best = np.expand_dims(values.argmax(-1), -1)
        largest = np.take_along_axis(values, best, -1)
        if (largest != largest).any():  # PyTorch finds the last NaN, NumPy the first
            last = values.shape[-1] - 1 - np.isnan(values)[..., ::-1].argmax(-1)
            best = np.where(largest != largest, np.expand_dims(last, -1), best)
        found = np.take_along_axis(np.broadcast_to(places, values.shape), best, -1)
        return largest[..., 0], found[..., 0]

    dx = lambda g0, x, out1, number: put(g0, x._sizes, out1, len(number))
    batch = lambda x, number: (x, number)

    arrays = lambda gs, bound: put_arrays(gs, bound)


class Means(Linear):
    """The mean of each of `number` even parts of the last dimensions, one dimension after the other."""

    node = "AdaptiveAvgPool2D"

    @staticmethod
    def impl(x: np.ndarray, number: tuple) -> np.ndarray:
        for d, w in enumerate(number, x.ndim - len(number)):
            x = means(x, d, w)
        return contiguous(x)

    dx = lambda g, x, number: SpreadMeans.apply(g, x._sizes[-len(number) :])
    batch = lambda x, number: (x, number)


class SpreadMeans(Linear):
    """Each element divided among all places of its part: the transpose of Means."""

    @staticmethod
    def impl(x: np.ndarray, size: tuple) -> np.ndarray:
        for d in range(-1, -1 - len(size), -1):  # the last one first, where there is least to go through
            x = spread_means(x, x.ndim + d, size[d])
        return contiguous(x)

    dx = lambda g, shape, size: Means.apply(g, tuple(shape[-len(size) :]))
    batch = lambda x, size: (x, size)


def means(x: np.ndarray, d: int, w: int) -> np.ndarray:
    """The means of w even parts of one dimension."""
    m = x.shape[d]
    return summed(x, d, of_even_parts(m, w)) / part_lengths(m, w, x, d)


def spread_means(g: np.ndarray, d: int, m: int) -> np.ndarray:
    """The transpose of means: what each element gets from the parts that it is in, which are neighbours."""
    w = g.shape[d]
    return summed(g / part_lengths(m, w, g, d), d, holding(m, w))


def summed(x: np.ndarray, d: int, ranges: even_parts.Ranges) -> np.ndarray:
    """The sums over ranges of one dimension."""
    if (found := even_parts.sums(x, d, ranges)) is not None:
        return found
    start, end, _ = ranges
    parts = table(start, end)
    inside = np.arange(parts.shape[1], dtype=np.uint64) < (end - start)[:, None]  # no repeated last element
    inside = near(inside.reshape(*parts.shape, *(1,) * (x.ndim - d - 1)), x)
    return np.where(inside, take_at(x, (d,), (near(parts, x),)), x.dtype.type(0)).sum(d + 1)


def part_lengths(m: int, w: int, x: np.ndarray, d: int) -> np.ndarray:
    """The numbers of elements of w even parts of m, as they divide an array that has the parts in dimension d."""
    start, end = bounds(m, w)
    return near((end - start).astype(x.dtype).reshape(-1, *(1,) * (x.ndim - d - 1)), x)


@functional("T(2, 3, 8), 4", "T(3, 7), 3", "T(2, 2, 3), (5,)")
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The means of `output_size` even parts of (n, c, length) or (c, length); parts overlap where they have to."""
    return adaptive_avg_pool("adaptive_avg_pool1d", 1, input, output_size)


@functional("T(2, 3, 4, 6), 2", "T(3, 7, 5), (3, None)", "T(2, 2, 3, 4), (5, 1)")
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means of even parts, `output_size` in each direction (None: as many as elements); see adaptive_avg_pool1d."""
    return adaptive_avg_pool("adaptive_avg_pool2d", 2, input, output_size)


@functional("T(2, 3, 8), 4", "T(3, 7), 3", "T(2, 2, 3), 5, True")
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of `output_size` even parts of (n, c, length) or (c, length)."""
    return adaptive_max_pool("adaptive_max_pool1d", 1, input, output_size, return_indices)


@functional("T(2, 3, 4, 6), 2", "T(3, 7, 5), (3, None)", "T(2, 2, 3, 4), (5, 1), True")
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of even parts, `output_size` in each direction; with `return_indices` also their places."""
    return adaptive_max_pool("adaptive_max_pool2d", 2, input, output_size, return_indices)


def adaptive_avg_pool(who: str, n: int, input: Tensor, output_size: Any) -> Tensor:
    """The mean of even parts; of all elements, where there is one part."""
    expect_floats(who, input)
    numbers = part_numbers(who, n, input, output_size)
    if numbers == (1,) * n and input.numel():
        return input.mean(tuple(range(-n, 0)), True)
    return Means.apply(input, numbers)


def adaptive_max_pool(who: str, n: int, input: Tensor, output_size: Any, return_indices: bool) -> Any:
    """The maximum of even parts."""
    expect_numbers(who, input)
    out = AdaptiveMaxPool.apply(input, part_numbers(who, n, input, output_size))
    return out if return_indices else out[0]


def part_numbers(who: str, n: int, input: Tensor, output_size: Any) -> tuple:
    """The number of parts in each direction.  Raises RuntimeError where there is nothing to divide."""
    check_rank(who, n, input)
    if 0 in input._sizes[-n:]:
        what = f"expected an input with elements to pool, got shape {tuple(input.shape)}"
        raise error(RuntimeError, who, what, "pass a batch of 0 examples where there are none, of their usual sizes")
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * n
    if len(given) != n or any(w is not None and w < 0 for w in given):
        raise error(
            RuntimeError,
            who,
            f"output_size={output_size} should be {n} sizes that are not negative",
            f"write output_size={(1,) * n if n > 1 else 1}",
        )
    return tuple([m if w is None else int(w) for m, w in zip(input.shape[-n:], given)])


@functools.lru_cache(256)
def bounds(m: int, w: int) -> tuple:
    """Where each of w even parts of m elements begins and ends: at floor(i * m / w) and ceil((i + 1) * m / w)."""
    i = np.arange(w, dtype=np.uint64)  # unsigned, as kernels take them: no index counts from the end
    return i * m // max(w, 1), ((i + 1) * m + max(w - 1, 0)) // max(w, 1)


@functools.lru_cache(256)
def of_even_parts(m: int, w: int) -> even_parts.Ranges:
    """The ranges of m elements that are w even parts."""
    return even_parts.ranges(*bounds(m, w))


@functools.lru_cache(256)
def holding(m: int, w: int) -> even_parts.Ranges:
    """For each of m elements the range of the parts that it is in, of w even ones."""
    (start, end), k = bounds(m, w), np.arange(m)
    return even_parts.ranges(np.searchsorted(end, k, "right"), np.searchsorted(start, k, "right"))


def table(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The elements of each of some parts, (parts, longest); shorter parts repeat their last element."""
    longest = (end - start).max(initial=0)
    return np.minimum(start[:, None] + np.arange(longest, dtype=np.uint64), end[:, None] - 1).astype(np.int64)
