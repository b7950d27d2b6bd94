"""Pooling: the largest element, or the mean, of each window.

The gradient of a maximum goes to the place where it was found, which is the second result; that of a sum over windows
is spread over them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays.dtypes import FLOATS
from ...arrays.kinds import kernels_there, on_device
from ...core.tensor import Tensor
from ...errors import error
from ...kernels.cpu import max_pool as kernels
from ..base.families import Linear, Operation
from ..base.layouts import channels_last, wrap_near
from ..windows import add_windows, count, element, padded, per_dim, ranks, reach
from .entry import expect_numbers, functional


class MaxPool(Operation):
    """The largest element of each window over the last dimensions, and its place in the flattened input."""

    n_internal = 1
    layout = channels_last
    node = "MaxPool2DWithIndices"
    depends_on_operand = True

    @staticmethod
    def impl(x: np.ndarray, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, number: tuple) -> tuple:
        if (by_kernel := kernels.max_pool(x, kernel, stride, padding, dilation, number)) is not None:
            return by_kernel
        size = x.shape[x.ndim - len(kernel) :]
        low = -np.inf if x.dtype in FLOATS else np.iinfo(x.dtype).min
        x = padded(x, padding, reach(size, number, kernel, stride, padding, dilation), low)
        best = np.full((*x.shape[: x.ndim - len(kernel)], *number), low, x.dtype)
        found = np.empty(best.shape, np.int64)
        found[...] = flat(first_inside(number, stride, padding, dilation), size)
        for offset in np.ndindex(*kernel):
            values = x[element(offset, number, stride, dilation)]
            better = (values > best) | (values != values)
            np.copyto(best, values, where=better)
            np.copyto(found, flat(places(offset, number, stride, padding, dilation), size), where=better)
        return best, found

    dx = lambda g0, x, out1, kernel: put(g0, x._sizes, out1, len(kernel))
    batch = lambda x, *settings: (x, *settings)

    arrays = lambda gs, bound: put_arrays(gs, bound)


class WindowSum(Linear):
    """The sum of each window over the last dimensions."""

    layout = channels_last
    depends_on_operand = True

    @staticmethod
    def impl(x: np.ndarray, kernel: tuple, stride: tuple, padding: tuple, number: tuple) -> np.ndarray:
        if on_device(x):
            return kernels_there("pool_cuda").window_sum(x, kernel, stride, padding, number)
        size, ones = x.shape[x.ndim - len(kernel) :], (1,) * len(kernel)
        x = padded(x, padding, reach(size, number, kernel, stride, padding, ones))
        total = np.zeros((*x.shape[: x.ndim - len(kernel)], *number), x.dtype)
        for offset in np.ndindex(*kernel):
            total += x[element(offset, number, stride, ones)]
        return total

    dx = lambda g, x, kernel, stride, padding: SpreadWindows.apply(g, x._sizes[-len(kernel) :], kernel, stride, padding)
    batch = lambda x, *settings: (x, *settings)


class SpreadWindows(Linear):
    """Each element added to all places of its window: the transpose of WindowSum."""

    @staticmethod
    def impl(x: np.ndarray, size: tuple, kernel: tuple, stride: tuple, padding: tuple) -> np.ndarray:
        if on_device(x):
            return kernels_there("pool_cuda").spread_windows(x, size, kernel, stride, padding)
        n = len(kernel)
        lead, number = x.shape[: x.ndim - n], x.shape[x.ndim - n :]
        columns = np.broadcast_to(x.reshape(*lead, *(1,) * n, *number), (*lead, *kernel, *number))
        return add_windows(columns, size, stride, padding, (1,) * n)

    dx = lambda g, shape, kernel, stride, padding: WindowSum.apply(
        g, kernel, stride, padding, tuple(shape[-len(kernel) :])
    )
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
    out = MaxPool.apply(input, kernel, step, pad, gap, number_of(who, input, kernel, step, pad, gap, ceil))
    return out if return_indices else out[0]


def avg_pool(
    n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil: bool, count_pad: bool, divisor: int | None
) -> Tensor:
    """The mean of windows over the last n dimensions, their padding counted or not."""
    who = f"avg_pool{n}d"
    kernel, step, pad = window(who, n, input, kernel_size, stride, padding)
    number = number_of(who, input, kernel, step, pad, (1,) * n, ceil)
    total = WindowSum.apply(input, kernel, step, pad, number)
    if divisor == 0:
        raise error(RuntimeError, who, "divisor must be not zero", "leave divisor_override away")
    if divisor is None and not ceil and (count_pad or not any(pad)):
        divisor = math.prod(kernel)
    rounding = None if input.is_floating_point() else "trunc"
    if divisor is not None:
        return total.div(divisor, rounding_mode=rounding)
    margin = pad if count_pad else (0,) * n
    sizes = [covered(m, *settings) for m, *settings in zip(input.shape[-n:], kernel, step, pad, number, margin)]
    return total.div(wrap_near(math.prod(np.ix_(*sizes)).astype(input._np_dtype), input), rounding_mode=rounding)


def covered(m: int, kernel: int, stride: int, padding: int, number: int, margin: int) -> np.ndarray:
    """How many elements of the input, and of `margin` on both sides of it, lie in each window."""
    start = np.arange(number) * stride - padding
    return np.minimum(start + kernel, m + margin) - np.maximum(start, -margin)


def window(who: str, n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any) -> tuple:
    """Checked kernel, stride and padding, one value per dimension."""
    expect_numbers(who, input)
    check_rank(who, n, input)
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


def check_rank(who: str, n: int, input: Tensor) -> None:
    """A batch dimension may be missing."""
    if input.ndim not in (n + 1, n + 2):
        raise error(
            RuntimeError,
            who,
            f"expected {n + 1}D or {n + 2}D tensor, but got input of shape {tuple(input.shape)}",
            ranks(input, n),
        )


def number_of(
    who: str, input: Tensor, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, ceil: bool
) -> tuple:
    """How many windows there are in each direction; RuntimeError where there is none."""
    size = input.shape[-len(kernel) :]
    number = tuple([count(*settings, ceil) for settings in zip(size, kernel, stride, padding, dilation)])
    if min(number) < 1:
        raise error(
            RuntimeError,
            who,
            f"no window of size {kernel} fits into an input of shape {tuple(input.shape)}: output size {number} "
            "is too small",
            "use a smaller kernel_size, or a larger padding",
        )
    return number


def put(g: Tensor, shape: tuple, at: Tensor, n: int) -> Tensor:
    """Zeros of a shape with g added at flat places of its last n dimensions."""
    lead = tuple(shape[: len(shape) - n])
    number = math.prod(g.shape[len(lead) :])
    zeros = g.new_zeros((*lead, math.prod(shape[len(lead) :])))
    return zeros.scatter_add(-1, at.reshape(*lead, number), g.reshape(*lead, number)).reshape(shape)


def put_arrays(gs: tuple, bound: tuple) -> tuple | None:
    """The gradient of the largest elements, on arrays."""
    dx = None if gs[0] is None else kernels.put(gs[0], bound[-1], bound[0].shape, len(bound[1]))
    return None if dx is None else (dx, *[None] * (len(bound) - 3))


def places(offset: tuple, number: tuple, stride: tuple, padding: tuple, dilation: tuple) -> list:
    """Per dimension, where the element at `offset` of each window lies in the input."""
    return [np.arange(w) * s - p + o * d for o, w, s, p, d in zip(offset, number, stride, padding, dilation)]


def first_inside(number: tuple, stride: tuple, padding: tuple, dilation: tuple) -> list:
    """Per dimension, the first place of each window that does not lie in the padding."""
    begin = places((0,) * len(number), number, stride, padding, dilation)
    return [np.where(i < 0, i % d, i) for i, d in zip(begin, dilation)]


def flat(index: list, size: tuple) -> np.ndarray:
    """The places in the flattened array of shape `size` that lie at all combinations of one index per dimension."""
    total = np.zeros((), np.int64)
    for i, m in zip(index, size):
        total = total[..., None] * m + i
    return total
