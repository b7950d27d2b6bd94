"""Power-average pooling: the p-norm of each window of a signal or an image."""

from __future__ import annotations

import math
from typing import Any

from ...core.tensor import Tensor
from ..compare import where
from ..windows import per_dim
from .entry import functional
from .pool import avg_pool, max_pool


@functional("P(2, 3, 8), 2, 3", "P(1, 2, 7), 3.0, 2, 1, True")
def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """Return (sum of x**p)**(1/p) of each window of (n, c, length) or (c, length), for p = `norm_type`; see lp_pool2d."""
    return lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


@functional("P(2, 3, 4, 6), 2, 2", "P(1, 2, 5, 4), 3.0, (2, 3), 1", "P(1, 4, 4), 1, 2, None, True")
def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """Return (sum of x**p)**(1/p) of each window of (n, c, height, width) or (c, height, width), for p = `norm_type`.

    The sum is of the powers themselves, not of absolute values; for an infinite p it is the largest absolute value.
    `stride` defaults to the kernel's size.
    """
    return lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


@functional("P(2, 3, 4, 4, 6), 2, 2", "P(1, 1, 3, 5, 4), 3.0, (2, 1, 3), 1")
def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """Return (sum of x**p)**(1/p) of each window of (n, c, depth, height, width), or without n; see lp_pool2d."""
    return lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool(n: int, input: Tensor, p: float, kernel_size: Any, stride: Any, ceil: bool) -> Tensor:
    """Return means of powers over the last n dimensions, times the number of elements of a full window, as in PyTorch."""
    who = f"lp_pool{n}d"
    if math.isinf(p):
        x = input.abs() if p > 0 else -input.abs()
        largest = max_pool(n, x, kernel_size, stride, 0, 1, ceil, False)
        return largest if p > 0 else -largest
    number = math.prod(per_dim(kernel_size, n, who, "kernel_size"))
    mean = avg_pool(n, input**p, kernel_size, stride, 0, ceil, True, None)
    zero = mean == 0  # where the root's slope is infinite, and times 0 it is NaN
    return where(zero, 0.0 if p > 0 else math.inf, (where(zero, 1.0, mean) * number) ** (1 / p))
