"""Convolutions and poolings as modules."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..ops.create import empty
from ..ops.nn import adaptive_pool, conv, conv_transpose, pool
from ..ops.pad import pad
from . import init
from .module import Module
from .parameter import Parameter


class Convolution(Module):
    """What the convolutions share: settings, parameters and their text."""

    ndim, transposed = 0, False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        output_padding: Any = 0,
    ):
        super().__init__()
        who, n = type(self).__name__, self.ndim
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise error(
                ValueError,
                who,
                f"in_channels={in_channels} and out_channels={out_channels} must be divisible by groups={groups}",
                "choose both as multiples of groups, or groups=1",
            )
        if (
            padding_mode not in ("zeros", "reflect", "replicate", "circular")
            or self.transposed
            and padding_mode != "zeros"
        ):
            raise error(
                ValueError,
                who,
                f"padding_mode={padding_mode!r} is not supported",
                "use 'zeros'" + ("" if self.transposed else ", 'reflect', 'replicate' or 'circular'"),
            )
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise error(ValueError, who, f"invalid padding string {padding!r}", "use 'same', 'valid' or numbers")
        if padding == "same" and any(s != 1 for s in many(stride, n)):
            raise error(
                ValueError,
                who,
                f"padding='same' is not supported for strided convolutions (stride={stride})",
                "use stride=1, or numbers: padding=kernel_size // 2",
            )
        self.in_channels, self.out_channels, self.groups, self.padding_mode = (
            in_channels,
            out_channels,
            groups,
            padding_mode,
        )
        self.kernel_size, self.stride = many(kernel_size, n), many(stride, n)
        self.padding = padding if isinstance(padding, str) else many(padding, n)
        self.dilation, self.output_padding = many(dilation, n), many(output_padding, n)
        shape = (in_channels, out_channels // groups) if self.transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(empty(*shape, *self.kernel_size, dtype=dtype, device=device))
        self.register_parameter("bias", Parameter(empty(out_channels, dtype=dtype, device=device)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform weights and biases up to 1 / sqrt(fan_in)."""
        init.reset_(self.weight, self.bias)

    def convolve(self, function: Any, input: Tensor) -> Tensor:
        """The convolution, with padding that is not zeros done first."""
        padding = self.padding
        if self.padding_mode != "zeros":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            sides = (
                [(t // 2, t - t // 2) for t in totals]
                if padding == "same"
                else [(0, 0)] * self.ndim
                if padding == "valid"
                else [(p, p) for p in padding]
            )
            input, padding = pad(input, [v for side in reversed(sides) for v in side], mode=self.padding_mode), 0
        return function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        n = self.ndim
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        for name, usual in (("padding", (0,) * n), ("dilation", (1,) * n), ("output_padding", (0,) * n), ("groups", 1)):
            value = getattr(self, name)
            text += f", {name}={value}" if value != usual else ""
        text += "" if self.bias is not None else ", bias=False"
        return text + (f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "")


class Conv1d(Convolution):
    """Convolution of (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.Conv1d(3, 5, kernel_size=3, padding=1)(minigrad.ones(2, 3, 10)).shape
    minigrad.Size([2, 5, 10])
    """

    ndim = 1

    def forward(self, input: Tensor) -> Tensor:
        return self.convolve(conv.conv1d, input)


class Conv2d(Convolution):
    """Convolution of (n, c, height, width).

    >>> import minigrad
    >>> minigrad.nn.Conv2d(3, 5, kernel_size=3, stride=2)(minigrad.ones(2, 3, 9, 9)).shape
    minigrad.Size([2, 5, 4, 4])
    """

    ndim = 2

    def forward(self, input: Tensor) -> Tensor:
        return self.convolve(conv.conv2d, input)


class Conv3d(Convolution):
    """Convolution of (n, c, depth, height, width).

    >>> import minigrad
    >>> minigrad.nn.Conv3d(1, 2, kernel_size=2)(minigrad.ones(1, 4, 4, 4)).shape
    minigrad.Size([2, 3, 3, 3])
    """

    ndim = 3

    def forward(self, input: Tensor) -> Tensor:
        return self.convolve(conv.conv3d, input)


class TransposedConvolution(Convolution):
    """What the transposed convolutions share."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
            output_padding,
        )

    def spread(self, function: Any, input: Tensor) -> Tensor:
        """The transposed convolution."""
        return function(
            input, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation
        )


class ConvTranspose1d(TransposedConvolution):
    """Transposed convolution of (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.ConvTranspose1d(3, 5, kernel_size=2, stride=2)(minigrad.ones(2, 3, 10)).shape
    minigrad.Size([2, 5, 20])
    """

    ndim = 1

    def forward(self, input: Tensor) -> Tensor:
        return self.spread(conv_transpose.conv_transpose1d, input)


class ConvTranspose2d(TransposedConvolution):
    """Transposed convolution of (n, c, height, width).

    >>> import minigrad
    >>> minigrad.nn.ConvTranspose2d(3, 5, kernel_size=2, stride=2)(minigrad.ones(2, 3, 4, 4)).shape
    minigrad.Size([2, 5, 8, 8])
    """

    ndim = 2

    def forward(self, input: Tensor) -> Tensor:
        return self.spread(conv_transpose.conv_transpose2d, input)


class MaxPool1d(Module):
    """The largest element of each window of (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.MaxPool1d(2)(minigrad.tensor([[1., 3., 5., 7.]]))
    tensor([[3., 7.]])
    """

    function = staticmethod(pool.max_pool1d)

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        return self.function(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool2d(MaxPool1d):
    """The largest element of each window of (n, c, height, width).

    >>> import minigrad
    >>> minigrad.nn.MaxPool2d(2)(minigrad.ones(3, 8, 8)).shape
    minigrad.Size([3, 4, 4])
    """

    function = staticmethod(pool.max_pool2d)


class AvgPool1d(Module):
    """The mean of each window of (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.AvgPool1d(2)(minigrad.tensor([[1., 3., 5., 7.]]))
    tensor([[2., 6.]])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ):
        super().__init__()
        self.kernel_size, self.stride, self.padding = (
            many(kernel_size, 1),
            many(kernel_size if stride is None else stride, 1),
            many(padding, 1),
        )
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return pool.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(Module):
    """The mean of each window of (n, c, height, width).

    >>> import minigrad
    >>> minigrad.nn.AvgPool2d(2)(minigrad.ones(3, 8, 8)).shape
    minigrad.Size([3, 4, 4])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return pool.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AdaptivePool(Module):
    """What the adaptive poolings share."""

    function: Any = None

    def __init__(self, output_size: Any):
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Any:
        return type(self).function(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool(AdaptivePool):
    """What the adaptive poolings of maxima share."""

    def __init__(self, output_size: Any, return_indices: bool = False):
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return type(self).function(input, self.output_size, self.return_indices)


class AdaptiveAvgPool1d(AdaptivePool):
    """The means of even parts of (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.AdaptiveAvgPool1d(2)(minigrad.tensor([[1., 3., 5., 7.]]))
    tensor([[2., 6.]])
    """

    function = staticmethod(adaptive_pool.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(AdaptivePool):
    """The means of even parts of (n, c, height, width).

    >>> import minigrad
    >>> minigrad.nn.AdaptiveAvgPool2d(1)(minigrad.ones(2, 3, 8, 8)).shape
    minigrad.Size([2, 3, 1, 1])
    """

    function = staticmethod(adaptive_pool.adaptive_avg_pool2d)


class AdaptiveMaxPool1d(AdaptiveMaxPool):
    """The largest elements of even parts of (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.AdaptiveMaxPool1d(2)(minigrad.tensor([[1., 3., 5., 7.]]))
    tensor([[3., 7.]])
    """

    function = staticmethod(adaptive_pool.adaptive_max_pool1d)


class AdaptiveMaxPool2d(AdaptiveMaxPool):
    """The largest elements of even parts of (n, c, height, width).

    >>> import minigrad
    >>> minigrad.nn.AdaptiveMaxPool2d((2, 1))(minigrad.ones(3, 8, 8)).shape
    minigrad.Size([3, 2, 1])
    """

    function = staticmethod(adaptive_pool.adaptive_max_pool2d)


def many(value: Any, n: int) -> tuple:
    """A setting as one value per dimension."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * n
