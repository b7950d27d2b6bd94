"""Pools as modules: the largest element, or the mean, of windows or of even parts."""

from __future__ import annotations

from typing import Any

from ..ops.nn import adaptive_pool, lp_pool, pool
from .settings import Functional, many


class Pool(Functional):
    """What the pools of windows share; the stride is the size of the window where none is given."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0

    shown = "kernel_size", "stride", "padding"

    def __post_init__(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size


class MaxPool(Pool):
    """What the pools of maxima share."""

    dilation: Any = 1
    return_indices: bool = False
    ceil_mode: bool = False

    shown = *Pool.shown, "dilation", "ceil_mode"


class AvgPool(Pool):
    """What the pools of means share."""

    ceil_mode: bool = False
    count_include_pad: bool = True


class AdaptivePool(Functional):
    """What the adaptive pools share."""

    output_size: Any

    shown = ("output_size",)


class AdaptiveMaxPool(AdaptivePool):
    """What the adaptive pools of maxima share."""

    return_indices: bool = False


class MaxPool1d(MaxPool, function=pool.max_pool1d):
    """The largest element of each window of (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.MaxPool1d(2)(minigrad.tensor([[1., 3., 5., 7.]]))
    tensor([[3., 7.]])
    """


class MaxPool2d(MaxPool, function=pool.max_pool2d):
    """The largest element of each window of (n, c, height, width).

    >>> import minigrad
    >>> minigrad.nn.MaxPool2d(2)(minigrad.ones(3, 8, 8)).shape
    minigrad.Size([3, 4, 4])
    """


class AvgPool1d(AvgPool, function=pool.avg_pool1d):
    """The mean of each window of (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.AvgPool1d(2)(minigrad.tensor([[1., 3., 5., 7.]]))
    tensor([[2., 6.]])
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.shown:
            setattr(self, name, many(getattr(self, name), 1))


class AvgPool2d(AvgPool, function=pool.avg_pool2d):
    """The mean of each window of (n, c, height, width).

    >>> import minigrad
    >>> minigrad.nn.AvgPool2d(2)(minigrad.ones(3, 8, 8)).shape
    minigrad.Size([3, 4, 4])
    """

    divisor_override: int | None = None


class LPPool(Functional):
    """Hold the settings that the pools of powers share."""

    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False

    shown = "norm_type", "kernel_size", "stride", "ceil_mode"


class LPPool1d(LPPool, function=lp_pool.lp_pool1d):
    """(sum of x**p)**(1/p) of each window of (n, c, length), for p = `norm_type`.

    >>> import minigrad
    >>> minigrad.nn.LPPool1d(2, 2)(minigrad.tensor([[3., 4., 6., 8.]]))
    tensor([[ 5., 10.]])
    """


class LPPool2d(LPPool, function=lp_pool.lp_pool2d):
    """(sum of x**p)**(1/p) of each window of (n, c, height, width), for p = `norm_type`.

    >>> import minigrad
    >>> minigrad.nn.LPPool2d(2, 2)(minigrad.ones(3, 8, 8)).shape
    minigrad.Size([3, 4, 4])
    """


class AdaptiveAvgPool1d(AdaptivePool, function=adaptive_pool.adaptive_avg_pool1d):
    """The means of even parts of (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.AdaptiveAvgPool1d(2)(minigrad.tensor([[1., 3., 5., 7.]]))
    tensor([[2., 6.]])
    """


class AdaptiveAvgPool2d(AdaptivePool, function=adaptive_pool.adaptive_avg_pool2d):
    """The means of even parts of (n, c, height, width).

    >>> import minigrad
    >>> minigrad.nn.AdaptiveAvgPool2d(1)(minigrad.ones(2, 3, 8, 8)).shape
    minigrad.Size([2, 3, 1, 1])
    """


class AdaptiveMaxPool1d(AdaptiveMaxPool, function=adaptive_pool.adaptive_max_pool1d):
    """The largest elements of even parts of (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.AdaptiveMaxPool1d(2)(minigrad.tensor([[1., 3., 5., 7.]]))
    tensor([[3., 7.]])
    """


class AdaptiveMaxPool2d(AdaptiveMaxPool, function=adaptive_pool.adaptive_max_pool2d):
    """The largest elements of even parts of (n, c, height, width).

    >>> import minigrad
    >>> minigrad.nn.AdaptiveMaxPool2d((2, 1))(minigrad.ones(3, 8, 8)).shape
    minigrad.Size([3, 2, 1])
    """
