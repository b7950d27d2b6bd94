"""Pooling: the largest element, or the mean, of each window, which slides over the input or is one of its even parts.

The gradient of a maximum goes to the place where it was found, which is the second result; that of a mean is spread over
its window.  The functions for even parts are in adaptive_pool.py.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ...arrays.dtypes import FLOATS
from ...arrays.kinds import near
from ...core.tensor import Tensor
from ...errors import error
from ...kernels.cpu import pool_cpu as kernels
from ...kernels.pool_windows import Windows, table
from ..base.families import Linear, Operation
from ..base.layouts import channels_last, wrap_near
from ..windows import count, per_dim, ranks
from .entry import expect_numbers, functional


class Sliding(NamedTuple):
    """Windows that slide over the last dimensions; each field has a value per dimension."""

    size: tuple
    number: tuple
    kernel: tuple
    stride: tuple
    padding: tuple
    dilation: tuple

    def along(self) -> tuple[Windows, ...]:
        """Return the windows along each dimension."""
        each = zip(*self)
        return tuple([Windows(m, w, s, -p, (k - 1) * d + 1 - p, 1, d) for m, w, k, s, p, d in each])


class EvenParts(NamedTuple):
    """Even parts of the last dimensions, from floor(i * size / number) to ceil((i + 1) * size / number) in each of them."""

    size: tuple
    number: tuple

    def along(self) -> tuple[Windows, ...]:
        """Return the windows along each dimension: they slide where they do not overlap."""
        return tuple([
            Windows(m, w, m, 0, m + w - 1, w) if w and m % w else Windows(m, w, m // (w or 1), 0, m // (w or 1))
            for m, w in zip(*self)
        ])  # fmt: skip


class MaxPool(Operation):
    """The largest element of each window over the last dimensions, and its place in the flattened input."""

    n_internal = 1
    layout = channels_last
    node = "MaxPool2DWithIndices"
    depends_on_operand = True

    @staticmethod
    def impl(x: np.ndarray, windows: Sliding | EvenParts) -> tuple:
        along = windows.along()
        if (found := kernels.largest(x, along)) is not None:
            return found
        places, inside = crossed(along)
        low = -np.inf if x.dtype in FLOATS else np.iinfo(x.dtype).min
        elements = x.reshape(*x.shape[: x.ndim - len(along)], math.prod(windows.size))
        values = np.where(inside, elements[..., np.where(inside, places, 0)], x.dtype.type(low))
        best = np.expand_dims(values.argmax(-1), -1)
        largest = np.take_along_axis(values, best, -1)
        if (largest != largest).any():  # PyTorch finds the last NaN, NumPy the first
            last = values.shape[-1] - 1 - np.isnan(values)[..., ::-1].argmax(-1)
            best = np.where(largest != largest, np.expand_dims(last, -1), best)
        return largest[..., 0], np.take_along_axis(np.broadcast_to(places, values.shape), best, -1)[..., 0]

    dx = lambda g0, x, out1, windows: put(g0, x._sizes, out1, len(windows.size))
    batch = lambda x, windows: (x, windows)

    arrays = lambda gs, bound: put_arrays(gs, bound)


class AdaptiveMaxPool(MaxPool):
    """The largest elements of even parts."""

    node = "AdaptiveMaxPool2D"


class AvgPool(Linear):
    """The mean of each window over the last dimensions: its sum divided by `divisor`, or else by how many elements it has.

    With `count_pad` those in the padding are elements, too.
    """

    layout = channels_last
    node = "AvgPool2D"
    depends_on_operand = True

    @staticmethod
    def impl(x: np.ndarray, windows: Sliding | EvenParts, count_pad: bool, divisor: int | None) -> np.ndarray:
        return divided(sums(x, windows.along()), windows, count_pad, divisor)

    dx = lambda g, x, windows, count_pad, divisor: SpreadAvg.apply(g, windows, count_pad, divisor)
    batch = lambda x, *settings: (x, *settings)


class AdaptiveAvgPool(AvgPool):
    """The means of even parts."""

    node = "AdaptiveAvgPool2D"
    depends_on_operand = False

    dx = lambda g, windows, count_pad, divisor: SpreadAvg.apply(g, windows, count_pad, divisor)


class SpreadAvg(Linear):
    """Each element divided among all places of its window: the transpose of AvgPool."""

    @staticmethod
    def impl(x: np.ndarray, windows: Sliding | EvenParts, count_pad: bool, divisor: int | None) -> np.ndarray:
        return sums(divided(x, windows, count_pad, divisor), tuple([w.transposed() for w in windows.along()]))

    dx = lambda g, windows, count_pad, divisor: AvgPool.apply(g, windows, count_pad, divisor)
    batch = lambda x, *settings: (x, *settings)


@functional(
    "T(2, 3, 8), 2",
    "T(2, 9), 3, 2, 1",
    "T(1, 2, 8), 2, 3, 0, 2, True",
    "T(2, 2, 7), 3, 2, 1, return_indices=True",
)
def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of (n, c, length) or (c, length); see max_pool2d."""
    return max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@functional(
    "T(2, 3, 4, 6), 2",
    "T(2, 5, 5), (3, 2), (2, 1), (1, 0)",
    "T(1, 2, 7, 8), 2, 3, 0, 2, True",
    "T(1, 2, 5, 5), 3, 2, 1, return_indices=True",
    "T(2, 6, 4, 3).permute(0, 3, 1, 2), 2, 1",
    "T(0, 2, 4, 4), 2",
)
def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of (n, c, height, width) or (c, height, width).

    `stride` is the kernel's size where it is None.  With `return_indices` also the places of these elements, as indices
    into the flattened last two dimensions.  Raises RuntimeError where the padding exceeds half a window.

    >>> import minigrad
    >>> max_pool2d(minigrad.tensor([[[1., 2.], [4., 3.]]]), 2)
    tensor([[[4.]]])
    """
    return max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@functional("T(2, 3, 8), 2", "T(2, 9), 3, 2, 1", "T(2, 2, 8), 3, 2, 1, True, False")
def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of (n, c, length) or (c, length); see avg_pool2d."""
    return avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@functional(
    "T(2, 3, 4, 6), 2",
    "T(2, 5, 5), (3, 2), (2, 1), (1, 0)",
    "T(1, 2, 6, 5), 3, 2, 1, True, False",
    "T(1, 2, 6, 5), 3, 2, 1, True",
    "T(2, 2, 4, 4), 2, divisor_override=3",
)
def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of (n, c, height, width) or (c, height, width).

    `stride` is the kernel's size where it is None.  The divisor counts the padding, too, unless `count_include_pad` is
    False; `divisor_override` replaces it.
    """
    return avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def max_pool(
    n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil: bool, return_indices: bool
) -> Any:
    """The maximum of windows over the last n dimensions."""
    who = f"max_pool{n}d"
    kernel, step, pad = window(who, n, input, kernel_size, stride, padding)
    gap = per_dim(dilation, n, who, "dilation")
    if min(gap) < 1:
        raise error(RuntimeError, who, f"dilation has to be positive, got {gap}", "write dilation=1")
    out = MaxPool.apply(input, sliding(who, input, kernel, step, pad, gap, ceil))
    return out if return_indices else out[0]


def avg_pool(
    n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil: bool, count_pad: bool, divisor: int | None
) -> Tensor:
    """The mean of windows over the last n dimensions, their padding counted or not."""
    who = f"avg_pool{n}d"
    windows = sliding(who, input, *window(who, n, input, kernel_size, stride, padding), (1,) * n, ceil)
    if divisor == 0:
        raise error(RuntimeError, who, "divisor must be not zero", "leave divisor_override away")
    if input.is_floating_point():
        return AvgPool.apply(input, windows, bool(count_pad), divisor)
    total, by = AvgPool.apply(input, windows, False, 1), divisor or counted(windows, count_pad)
    return total.div(by if type(by) is int else wrap_near(by, input).to(input.dtype), rounding_mode="trunc")


def window(who: str, n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any) -> tuple:
    """Checked kernel, stride and padding, one value per dimension."""
    expect_numbers(who, input)
    check_rank(who, n, input, channels=True)
    kernel, pad = per_dim(kernel_size, n, who, "kernel_size"), per_dim(padding, n, who, "padding")
    step = kernel if stride is None or stride == () or stride == [] else per_dim(stride, n, who, "stride")
    if min(kernel) < 1 or min(step) < 1:
        raise error(
            RuntimeError,
            who,
            f"kernel size {kernel} and stride {step} should be greater than zero",
            "pass a kernel_size and a stride from 1 on",
        )
    if any(p < 0 or 2 * p > k for p, k in zip(pad, kernel)):
        raise error(
            RuntimeError,
            who,
            f"pad should be at most half of effective kernel size, but got padding={pad} and kernel_size={kernel}",
            f"write padding={tuple(k // 2 for k in kernel)} at most",
        )
    return kernel, step, pad


def check_rank(who: str, n: int, input: Tensor, channels: bool = False) -> None:
    """A batch dimension may be missing; with `channels`, there have to be some then."""
    if input.ndim not in (n + 1, n + 2):
        raise error(
            RuntimeError,
            who,
            f"expected {n + 1}D or {n + 2}D tensor, but got input of shape {tuple(input.shape)}",
            ranks(input, n),
        )
    if 0 in input._sizes[-n:] or channels and input.ndim == n + 1 and not input._sizes[0]:
        what = f"expected an input with elements to pool, got shape {tuple(input.shape)}"
        raise error(RuntimeError, who, what, "pass a batch of 0 examples where there are none, of their usual sizes")


def sliding(
    who: str, input: Tensor, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, ceil: bool
) -> Sliding:
    """Return how windows slide over the input; RuntimeError where there is none in some direction."""
    size = input._sizes[-len(kernel) :]
    number = tuple([count(*settings, ceil) for settings in zip(size, kernel, stride, padding, dilation)])
    if min(number) < 1:
        raise error(
            RuntimeError,
            who,
            f"no window of size {kernel} fits into an input of shape {tuple(input.shape)}: output size {number} "
            "is too small",
            "use a smaller kernel_size, or a larger padding",
        )
    return Sliding(size, number, kernel, stride, padding, dilation)


def put(g: Tensor, shape: tuple, at: Tensor, n: int) -> Tensor:
    """Zeros of a shape with g added at flat places of its last n dimensions."""
    lead = tuple(shape[: len(shape) - n])
    number = math.prod(g.shape[len(lead) :])
    zeros = g.new_zeros((*lead, math.prod(shape[len(lead) :])))
    return zeros.scatter_add(-1, at.reshape(*lead, number), g.reshape(*lead, number)).reshape(shape)


def put_arrays(gs: tuple, bound: tuple) -> tuple | None:
    """The gradient of the largest elements, on arrays."""
    x, windows, _, place = bound
    dx = None if gs[0] is None else kernels.put(gs[0], place, x.shape, len(windows.size))
    return None if dx is None else (dx, None)


def sums(x: np.ndarray, windows: tuple[Windows, ...]) -> np.ndarray:
    """Return the sum of each window over the last dimensions."""
    if len(windows) > 2:  # the first dimension alone: what is behind it is one element after the other
        first, d = windows[0], x.ndim - len(windows)
        behind = math.prod(x.shape[d + 1 :])
        rows = sums(x.reshape(*x.shape[: d + 1], behind), (first, Windows(behind, behind, 1, 0, 1)))
        return sums(rows.reshape(*x.shape[:d], first.number, *x.shape[d + 1 :]), windows[1:])
    if (found := kernels.sums(x, windows)) is not None:
        return found
    for d, w in enumerate(windows, x.ndim - len(windows)):
        places, inside = table(w)
        there = inside.reshape(*inside.shape, *(1,) * (x.ndim - d - 1))
        x = np.where(there, x.take(np.where(inside, places, 0), d), x.dtype.type(0)).sum(d + 1, dtype=x.dtype)
    return x


def divided(x: np.ndarray, windows: Sliding | EvenParts, count_pad: bool, divisor: int | None) -> np.ndarray:
    """Return what there is of each window divided by `divisor`, or else by how many elements it has."""
    by = divisor or counted(windows, count_pad)
    if type(by) is int:
        return x if by == 1 else x / by
    return x / near(by.astype(x.dtype), x)


@functools.lru_cache(1024)
def counted(windows: Sliding | EvenParts, count_pad: bool) -> Any:
    """Return how many elements each window has, those in the padding with it or not: one number, where all have as many."""
    along = windows.along()
    margins = windows.padding if count_pad and isinstance(windows, Sliding) else (0,) * len(along)
    counts = math.prod(np.ix_(*[w.lengths(margin) for w, margin in zip(along, margins)]))
    return int(counts.flat[0]) if counts.size and (counts == counts.flat[0]).all() else counts


def crossed(windows: tuple[Windows, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the flat places of the elements of all windows, (*number, elements), and which of them there are."""
    (places, inside), *others = map(table, windows)
    for w, (more, there) in zip(windows[1:], others):
        places, inside = np.add.outer(places * w.size, more), np.logical_and.outer(inside, there)
    n = len(windows)
    order, number = (*range(0, 2 * n, 2), *range(1, 2 * n, 2)), [w.number for w in windows]
    elements = math.prod(places.shape[1::2])
    places, inside = [a.transpose(order).reshape(*number, elements) for a in (places, inside)]
    return places, inside
