"""Pooling: the largest element, or the mean, of each window that slides over the input.

adaptive_pool.py has the functions for even parts, pool_operations.py the operations.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ...core.tensor import Tensor
from ...errors import error
from ..base.layouts import wrap_near
from ..windows import count, per_dim, ranks
from .entry import expect_numbers, functional
from .pool_operations import AvgPool, MaxPool, Sliding, elements_per_window


@functional(
    "T(2, 3, 8), 2",
    "T(2, 9), 3, 2, 1",
    "T(1, 2, 8), 2, 3, 0, 2, True",
    "T(2, 2, 7), 3, 2, 1, return_indices=True",
    node="SqueezeBackward1",
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
    """Return the largest element of each window of (n, c, length) or (c, length); see max_pool2d."""
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
    """Return the largest element of each window of (n, c, height, width) or (c, height, width).

    `stride` defaults to the kernel's size.  With `return_indices` also return the positions of these elements, as indices
    into the flattened last two dimensions.  Raises RuntimeError if the padding exceeds half a window.

    >>> import minigrad
    >>> max_pool2d(minigrad.tensor([[[1., 2.], [4., 3.]]]), 2)
    tensor([[[4.]]])
    """
    return max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@functional(
    "T(2, 2, 4, 4, 6), 2",
    "T(1, 2, 5, 4, 5), (3, 2, 2), (2, 1, 1), (1, 0, 1)",
    "T(1, 2, 5, 5, 4), 2, 3, 0, 1, True",
    "T(1, 2, 5, 5, 4), 2, return_indices=True",
    node="MaxPool3DWithIndices",
)
def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest element of each window of (n, c, depth, height, width), or without n; see max_pool2d."""
    return max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@functional("T(2, 3, 8), 2", "T(2, 9), 3, 2, 1", "T(2, 2, 8), 3, 2, 1, True, False", node="SqueezeBackward1")
def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Return the mean of each window of (n, c, length) or (c, length); see avg_pool2d."""
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
    """Return the mean of each window of (n, c, height, width) or (c, height, width).

    `stride` defaults to the kernel's size.  The divisor counts padding too, unless `count_include_pad` is False;
    `divisor_override` replaces it.
    """
    return avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@functional(
    "T(2, 2, 4, 4, 6), 2",
    "T(1, 2, 5, 4, 5), (3, 2, 2), (2, 1, 1), (1, 0, 1)",
    "T(1, 2, 5, 5, 4), 2, 2, 1, True, False",
    "T(1, 2, 4, 4, 4), 2, divisor_override=3",
    node="AvgPool3D",
)
def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return the mean of each window of (n, c, depth, height, width), or without n; see avg_pool2d."""
    return avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def max_pool(
    n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil: bool, return_indices: bool
) -> Any:
    """Return the maximum of each window over the last n dimensions."""
    who = f"max_pool{n}d"
    expect_numbers(who, input)
    windows = sliding(n, who, input._sizes, kernel_size, stride, padding, dilation, ceil)
    out = MaxPool.apply(input, windows)
    return out if return_indices else out[0]


def avg_pool(
    n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil: bool, count_pad: bool, divisor: int | None
) -> Tensor:
    """Return the mean of each window over the last n dimensions, with the padding counted or not."""
    who = f"avg_pool{n}d"
    expect_numbers(who, input)
    windows = sliding(n, who, input._sizes, kernel_size, stride, padding, 1, ceil)
    if divisor == 0:
        raise error(RuntimeError, who, "divisor must be not zero", "leave divisor_override out")
    if input.is_floating_point():
        return AvgPool.apply(input, windows, bool(count_pad), divisor)
    total, by = AvgPool.apply(input, windows, False, 1), divisor or elements_per_window(windows, count_pad)
    return total.div(by if type(by) is int else wrap_near(by, input).to(input.dtype), rounding_mode="trunc")


def sliding(
    n: int, who: str, shape: tuple, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
) -> Sliding:
    """Return the windows over an input of a shape.  Raises RuntimeError for settings that do not fit it."""
    kernel, pad = per_dim(kernel_size, n, who, "kernel_size"), per_dim(padding, n, who, "padding")
    step = kernel if stride is None or stride == () or stride == [] else per_dim(stride, n, who, "stride")
    return planned(n, who, shape, kernel, step, pad, per_dim(dilation, n, who, "dilation"), ceil)


@lru_cache(1024)
def planned(
    n: int, who: str, shape: tuple, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, ceil: bool
) -> Sliding:
    """Return the windows over an input of a shape, after all checks; a program asks for the same ones again and again."""
    check_rank(who, n, shape, channels=True)
    if min(kernel) < 1 or min(stride) < 1:
        what = f"kernel size {kernel} and stride {stride} should be greater than zero"
        raise error(RuntimeError, who, what, "pass a kernel_size and a stride of at least 1")
    if any(p < 0 or 2 * p > k for p, k in zip(padding, kernel)):
        raise error(
            RuntimeError,
            who,
            f"pad should be at most half of effective kernel size, but got padding={padding} and kernel_size={kernel}",
            f"write padding={tuple(k // 2 for k in kernel)} at most",
        )
    if min(dilation) < 1:
        raise error(RuntimeError, who, f"dilation must be positive, got {dilation}", "write dilation=1")
    size = shape[-n:]
    number = tuple([count(*settings, ceil) for settings in zip(size, kernel, stride, padding, dilation)])
    if min(number) < 1:
        what = f"no window of size {kernel} fits into an input of shape {shape}: output size {number} is too small"
        raise error(RuntimeError, who, what, "use a smaller kernel_size, or a larger padding")
    return Sliding(size, number, kernel, stride, padding, dilation)


def check_rank(who: str, n: int, shape: tuple, channels: bool = False) -> None:
    """Check rank and sizes; the batch dimension is optional, and with `channels` an unbatched input must have channels."""
    if len(shape) not in (n + 1, n + 2):
        what = f"expected {n + 1}D or {n + 2}D tensor, but got input of shape {shape}"
        raise error(RuntimeError, who, what, ranks(len(shape), n))
    if 0 in shape[-n:] or channels and len(shape) == n + 1 and not shape[0]:
        what = f"expected an input with elements to pool, got shape {shape}"
        raise error(RuntimeError, who, what, "for no examples, pass a batch of size 0 with the usual other sizes")
