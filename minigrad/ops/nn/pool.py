"""Pooling: the largest element, or the mean, of each window that slides over the input.

adaptive_pool.py has the functions for even parts, pool_operations.py the operations.
"""

from __future__ import annotations

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
    kernel, step, pad = window(who, n, input, kernel_size, stride, padding)
    gap = per_dim(dilation, n, who, "dilation")
    if min(gap) < 1:
        raise error(RuntimeError, who, f"dilation must be positive, got {gap}", "write dilation=1")
    out = MaxPool.apply(input, sliding(who, input, kernel, step, pad, gap, ceil))
    return out if return_indices else out[0]


def avg_pool(
    n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil: bool, count_pad: bool, divisor: int | None
) -> Tensor:
    """Return the mean of each window over the last n dimensions, with the padding counted or not."""
    who = f"avg_pool{n}d"
    windows = sliding(who, input, *window(who, n, input, kernel_size, stride, padding), (1,) * n, ceil)
    if divisor == 0:
        raise error(RuntimeError, who, "divisor must be not zero", "leave divisor_override out")
    if input.is_floating_point():
        return AvgPool.apply(input, windows, bool(count_pad), divisor)
    total, by = AvgPool.apply(input, windows, False, 1), divisor or elements_per_window(windows, count_pad)
    return total.div(by if type(by) is int else wrap_near(by, input).to(input.dtype), rounding_mode="trunc")


def window(who: str, n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any) -> tuple:
    """Return checked kernel, stride and padding, one value per dimension."""
    expect_numbers(who, input)
    check_rank(who, n, input, channels=True)
    kernel, pad = per_dim(kernel_size, n, who, "kernel_size"), per_dim(padding, n, who, "padding")
    step = kernel if stride is None or stride == () or stride == [] else per_dim(stride, n, who, "stride")
    if min(kernel) < 1 or min(step) < 1:
        raise error(
            RuntimeError,
            who,
            f"kernel size {kernel} and stride {step} should be greater than zero",
            "pass a kernel_size and a stride of at least 1",
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
    """Check rank and sizes; the batch dimension is optional, and with `channels` an unbatched input must have channels."""
    if input.ndim not in (n + 1, n + 2):
        raise error(
            RuntimeError,
            who,
            f"expected {n + 1}D or {n + 2}D tensor, but got input of shape {tuple(input.shape)}",
            ranks(input, n),
        )
    if 0 in input._sizes[-n:] or channels and input.ndim == n + 1 and not input._sizes[0]:
        what = f"expected an input with elements to pool, got shape {tuple(input.shape)}"
        raise error(RuntimeError, who, what, "for no examples, pass a batch of size 0 with the usual other sizes")


def sliding(
    who: str, input: Tensor, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, ceil: bool
) -> Sliding:
    """Return the windows that slide over the input; raise RuntimeError if none fits in some direction."""
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
