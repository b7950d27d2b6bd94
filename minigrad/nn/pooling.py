"""Pools as modules: the maximum or the mean of windows, or of equal parts."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ops.nn import adaptive_pool, pool, unpool
from .settings import Functional, as_ntuple


class _PoolNd(Functional):
    """Base class of the window pools; the stride defaults to the window's size."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0

    _shown = "kernel_size", "stride", "padding"

    def __post_init__(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size


class _MaxPoolNd(_PoolNd):
    """Base class of the max pools."""

    dilation: Any = 1
    return_indices: bool = False
    ceil_mode: bool = False

    _shown = *_PoolNd._shown, "dilation", "ceil_mode"


class _AvgPoolNd(_PoolNd):
    """Base class of the average pools."""

    ceil_mode: bool = False
    count_include_pad: bool = True


class AdaptivePool(Functional):
    """Base class of the adaptive pools."""

    output_size: Any

    _shown = ("output_size",)


class _AdaptiveMaxPoolNd(AdaptivePool):
    """Base class of the adaptive max pools."""

    return_indices: bool = False


class MaxPool1d(_MaxPoolNd, function=pool.max_pool1d):
    """The largest element of each window of (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.MaxPool1d(2)(minigrad.tensor([[1., 3., 5., 7.]]))
    tensor([[3., 7.]])
    """


class MaxPool2d(_MaxPoolNd, function=pool.max_pool2d):
    """The largest element of each window of (n, c, height, width).

    >>> import minigrad
    >>> minigrad.nn.MaxPool2d(2)(minigrad.ones(3, 8, 8)).shape
    minigrad.Size([3, 4, 4])
    """


class MaxPool3d(_MaxPoolNd, function=pool.max_pool3d):
    """The largest element of each window of (n, c, depth, height, width).

    >>> import minigrad
    >>> minigrad.nn.MaxPool3d(2)(minigrad.ones(3, 4, 8, 8)).shape
    minigrad.Size([3, 2, 4, 4])
    """


class _MaxUnpoolNd(_PoolNd):
    """Base class of the inverses of max pools, which take the pool's indices as well."""

    _ndim = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self._settings:
            setattr(self, name, as_ntuple(getattr(self, name), self._ndim))

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:  # type: ignore[override]
        return type(self)._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd, function=unpool.max_unpool1d):
    """The values of a MaxPool1d at the positions that they came from, and 0 elsewhere.

    >>> import minigrad
    >>> pooled, places = minigrad.nn.MaxPool1d(2, return_indices=True)(minigrad.tensor([[1., 3., 7., 5.]]))
    >>> minigrad.nn.MaxUnpool1d(2)(pooled, places)
    tensor([[0., 3., 7., 0.]])
    """

    _ndim = 1


class MaxUnpool2d(_MaxUnpoolNd, function=unpool.max_unpool2d):
    """The values of a MaxPool2d at the positions that they came from, and 0 elsewhere.

    >>> import minigrad
    >>> pooled, places = minigrad.nn.MaxPool2d(2, return_indices=True)(minigrad.ones(3, 8, 8))
    >>> minigrad.nn.MaxUnpool2d(2)(pooled, places).shape
    minigrad.Size([3, 8, 8])
    """

    _ndim = 2


class MaxUnpool3d(_MaxUnpoolNd, function=unpool.max_unpool3d):
    """The values of a MaxPool3d at the positions that they came from, and 0 elsewhere.

    >>> import minigrad
    >>> pooled, places = minigrad.nn.MaxPool3d(2, return_indices=True)(minigrad.ones(3, 4, 8, 8))
    >>> minigrad.nn.MaxUnpool3d(2)(pooled, places).shape
    minigrad.Size([3, 4, 8, 8])
    """

    _ndim = 3


class AvgPool1d(_AvgPoolNd, function=pool.avg_pool1d):
    """The mean of each window of (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.AvgPool1d(2)(minigrad.tensor([[1., 3., 5., 7.]]))
    tensor([[2., 6.]])
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self._shown:
            setattr(self, name, as_ntuple(getattr(self, name), 1))


class AvgPool2d(_AvgPoolNd, function=pool.avg_pool2d):
    """The mean of each window of (n, c, height, width).

    >>> import minigrad
    >>> minigrad.nn.AvgPool2d(2)(minigrad.ones(3, 8, 8)).shape
    minigrad.Size([3, 4, 4])
    """

    divisor_override: int | None = None


class AvgPool3d(_AvgPoolNd, function=pool.avg_pool3d):
    """The mean of each window of (n, c, depth, height, width).

    >>> import minigrad
    >>> minigrad.nn.AvgPool3d(2)(minigrad.ones(3, 4, 8, 8)).shape
    minigrad.Size([3, 2, 4, 4])
    """

    divisor_override: int | None = None


class AdaptiveAvgPool1d(AdaptivePool, function=adaptive_pool.adaptive_avg_pool1d):
    """The means of `output_size` equal parts of (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.AdaptiveAvgPool1d(2)(minigrad.tensor([[1., 3., 5., 7.]]))
    tensor([[2., 6.]])
    """


class AdaptiveAvgPool2d(AdaptivePool, function=adaptive_pool.adaptive_avg_pool2d):
    """The means of `output_size` equal parts of (n, c, height, width).

    >>> import minigrad
    >>> minigrad.nn.AdaptiveAvgPool2d(1)(minigrad.ones(2, 3, 8, 8)).shape
    minigrad.Size([2, 3, 1, 1])
    """


class AdaptiveAvgPool3d(AdaptivePool, function=adaptive_pool.adaptive_avg_pool3d):
    """The means of `output_size` equal parts of (n, c, depth, height, width).

    >>> import minigrad
    >>> minigrad.nn.AdaptiveAvgPool3d(1)(minigrad.ones(2, 3, 4, 8, 8)).shape
    minigrad.Size([2, 3, 1, 1, 1])
    """


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd, function=adaptive_pool.adaptive_max_pool1d):
    """The largest elements of `output_size` equal parts of (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.AdaptiveMaxPool1d(2)(minigrad.tensor([[1., 3., 5., 7.]]))
    tensor([[3., 7.]])
    """


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd, function=adaptive_pool.adaptive_max_pool2d):
    """The largest elements of `output_size` equal parts of (n, c, height, width).

    >>> import minigrad
    >>> minigrad.nn.AdaptiveMaxPool2d((2, 1))(minigrad.ones(3, 8, 8)).shape
    minigrad.Size([3, 2, 1])
    """


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd, function=adaptive_pool.adaptive_max_pool3d):
    """The largest elements of `output_size` equal parts of (n, c, depth, height, width).

    >>> import minigrad
    >>> minigrad.nn.AdaptiveMaxPool3d((2, 1, 1))(minigrad.ones(3, 4, 8, 8)).shape
    minigrad.Size([3, 2, 1, 1])
    """
