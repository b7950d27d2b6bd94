"""Adaptive pooling: the largest element, or the mean, of even parts of the last dimensions, as many as are asked for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays.kinds import near
from ...core.tensor import Tensor
from ...errors import error
from ..base.families import Operation
from ..base.layouts import channels_last, wrap_near
from ..compare import where
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
        rows = [part(m, w) for m, w in zip(size, number)]
        table = flat([r.reshape(-1) for r in rows], size).reshape([k for r in rows for k in r.shape])
        table = near(table.transpose(*range(0, 2 * n, 2), *range(1, 2 * n, 2)).reshape(*number, -1), x)
        values = x.reshape(*x.shape[: x.ndim - n], math.prod(size))[..., table]
        best = np.expand_dims(values.argmax(-1), -1)
        largest = np.take_along_axis(values, best, -1)
        if (largest != largest).any():  # PyTorch finds the last NaN, NumPy the first
            last = values.shape[-1] - 1 - np.isnan(values)[..., ::-1].argmax(-1)
            best = np.where(largest != largest, np.expand_dims(last, -1), best)
        found = np.take_along_axis(np.broadcast_to(table, values.shape), best, -1)
        return largest[..., 0], found[..., 0]

    dx = lambda g0, x, out1, number: put(g0, x._sizes, out1, len(number))
    batch = lambda x, number: (x, number)

    arrays = lambda gs, bound: put_arrays(gs, bound)


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
    """The mean of even parts, one dimension after the other; of all elements at once."""
    expect_floats(who, input)
    numbers = part_numbers(who, n, input, output_size)
    if numbers == (1,) * n and input.numel():
        return input.mean(tuple(range(-n, 0)), True)
    for d, w in zip(range(-n, 0), numbers):
        m = input.shape[d]
        if w and m % w == 0:
            input = input.unflatten(d, (w, m // w)).mean(d)
            continue
        start, end = bounds(m, w)
        inside = part(m, w)
        taken = input.index_select(d, wrap_near(inside.reshape(-1), input)).unflatten(d, inside.shape)
        if (end - start == inside.shape[1]).all():
            input = taken.mean(d)
            continue
        shape = (*inside.shape, *[1] * (-1 - d))
        real = (np.arange(inside.shape[1]) < (end - start)[:, None]).reshape(shape)  # not a repeated last element
        lengths = wrap_near((end - start).astype(input._np_dtype).reshape(shape[:1] + shape[2:]), input)
        input = where(wrap_near(real, input), taken, 0.0).sum(d) / lengths
    return input


def adaptive_max_pool(who: str, n: int, input: Tensor, output_size: Any, return_indices: bool) -> Any:
    """The maximum of even parts."""
    expect_numbers(who, input)
    out = AdaptiveMaxPool.apply(input, part_numbers(who, n, input, output_size))
    return out if return_indices else out[0]


def part_numbers(who: str, n: int, input: Tensor, output_size: Any) -> tuple:
    """The number of parts in each direction."""
    check_rank(who, n, input)
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * n
    if len(given) != n or any(w is not None and w < 0 for w in given):
        raise error(
            RuntimeError,
            who,
            f"output_size={output_size} should be {n} sizes that are not negative",
            f"write output_size={(1,) * n if n > 1 else 1}",
        )
    return tuple([m if w is None else int(w) for m, w in zip(input.shape[-n:], given)])


def bounds(m: int, w: int) -> tuple:
    """Where each of w even parts of m elements begins and ends: at floor(i * m / w) and ceil((i + 1) * m / w)."""
    i = np.arange(w)
    return i * m // w, -(-(i + 1) * m // w)


def part(m: int, w: int) -> np.ndarray:
    """The elements of each of w even parts of m elements, (w, longest); shorter parts repeat their last element."""
    start, end = bounds(m, w)
    longest = int((end - start).max(initial=0))
    return np.minimum(start[:, None] + np.arange(longest), end[:, None] - 1)
