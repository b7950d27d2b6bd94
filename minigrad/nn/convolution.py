"""Convolutions and transposed convolutions as modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..ops.create import empty
from ..ops.nn import conv, conv_transpose
from ..ops.pad import pad
from . import init
from .module import Module
from .parameter import Parameter
from .settings import as_ntuple, unusual


class Convolution(Module):
    """Base class of the convolutions: settings, parameters and repr."""

    _ndim, transposed = 0, False
    _function: Any = None

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
    ):
        super().__init__()
        who, n = type(self).__name__, self._ndim
        if groups < 1 or in_channels % groups or out_channels % groups:
            what = f"in_channels={in_channels} and out_channels={out_channels} must be divisible by groups={groups}"
            raise error(ValueError, who, what, "choose both as multiples of groups, or groups=1")
        modes = ("zeros",) if self.transposed else ("zeros", "reflect", "replicate", "circular")
        if padding_mode not in modes:
            what = f"padding_mode={padding_mode!r} is not supported"
            fix = "use 'zeros'" + ("" if self.transposed else ", 'reflect', 'replicate' or 'circular'")
            raise error(ValueError, who, what, fix)
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise error(ValueError, who, f"invalid padding string {padding!r}", "use 'same', 'valid' or numbers")
        if padding == "same" and any(s != 1 for s in as_ntuple(stride, n)):
            what = f"padding='same' is not supported for strided convolutions (stride={stride})"
            raise error(ValueError, who, what, "use stride=1, or numbers: padding=kernel_size // 2")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.groups, self.padding_mode = groups, padding_mode
        self.kernel_size, self.stride = as_ntuple(kernel_size, n), as_ntuple(stride, n)
        self.padding = padding if isinstance(padding, str) else as_ntuple(padding, n)
        self.dilation, self.output_padding = as_ntuple(dilation, n), as_ntuple(0, n)
        shape = (in_channels, out_channels // groups) if self.transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(empty(*shape, *self.kernel_size, dtype=dtype, device=device))
        self.register_parameter("bias", Parameter(empty(out_channels, dtype=dtype, device=device)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights and biases uniformly from -1 / sqrt(fan_in) to 1 / sqrt(fan_in)."""
        init.reset_(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Convolve the input; a padding mode other than zeros pads it first.

        Subclasses of users call it with a changed weight: quantized, masked, or normalized.
        """
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            if padding == "same":
                totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            else:
                totals = [0] * self._ndim if padding == "valid" else [2 * p for p in padding]
            sides = [n for t in reversed(totals) for n in (t // 2, t - t // 2)]
            input, padding = pad(input, sides, mode=self.padding_mode), 0
        return type(self)._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        zeros, ones = as_ntuple(0, self._ndim), as_ntuple(1, self._ndim)
        usual = {"padding": zeros, "dilation": ones, "output_padding": zeros, "groups": 1}
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        text += unusual(self, usual)
        text += "" if self.bias is not None else ", bias=False"
        return text + (f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "")


class Conv1d(Convolution):
    """Convolution of (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.Conv1d(3, 5, kernel_size=3, padding=1)(minigrad.ones(2, 3, 10)).shape
    minigrad.Size([2, 5, 10])
    """

    _ndim, _function = 1, staticmethod(conv.conv1d)


class Conv2d(Convolution):
    """Convolution of (n, c, height, width).

    >>> import minigrad
    >>> minigrad.nn.Conv2d(3, 5, kernel_size=3, stride=2)(minigrad.ones(2, 3, 9, 9)).shape
    minigrad.Size([2, 5, 4, 4])
    """

    _ndim, _function = 2, staticmethod(conv.conv2d)


class Conv3d(Convolution):
    """Convolution of (n, c, depth, height, width).

    >>> import minigrad
    >>> minigrad.nn.Conv3d(1, 2, kernel_size=2)(minigrad.ones(1, 4, 4, 4)).shape
    minigrad.Size([2, 3, 3, 3])
    """

    _ndim, _function = 3, staticmethod(conv.conv3d)


class TransposedConvolution(Convolution):
    """Base class of the transposed convolutions."""

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
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype
        )
        self.output_padding = as_ntuple(output_padding, self._ndim)

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """Convolve the input.  `output_size`, the spatial sizes or a whole shape, chooses among those that stride allows."""
        n, padding = self._ndim, as_ntuple(self.padding, self._ndim)
        extra = self._output_padding(input, output_size, self.stride, padding, self.kernel_size, n, self.dilation)
        return type(self)._function(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )

    def _output_padding(
        self,
        input: Tensor,
        output_size: Any,
        stride: Sequence[int],
        padding: Sequence[int],
        kernel_size: Sequence[int],
        num_spatial_dims: int,
        dilation: Sequence[int] | None = None,
    ) -> Sequence[int]:
        """Return the padding that gives the output these sizes.  Raises ValueError for sizes that no padding gives."""
        if output_size is None:
            return self.output_padding
        who, n, wanted = type(self).__name__, num_spatial_dims, tuple(output_size)
        if len(wanted) not in (n, input.ndim):
            what = (
                f"output_size has {len(wanted)} numbers, but the output has {n} spatial sizes and {input.ndim} in all"
            )
            raise error(ValueError, who, what, f"pass the last {n} sizes: output_size=x.shape[-{n}:]")
        sizes = zip(input.shape[-n:], stride, padding, kernel_size, dilation or (1,) * n)
        least = [(size - 1) * s - 2 * p + d * (k - 1) + 1 for size, s, p, k, d in sizes]
        extra = tuple(size - low for size, low in zip(wanted[-n:], least))
        if any(not 0 <= e < s for e, s in zip(extra, stride)):
            most = [low + s - 1 for low, s in zip(least, stride)]
            what = f"an input of shape {tuple(input.shape)} gives sizes from {least} to {most}, not {list(wanted[-n:])}"
            raise error(ValueError, who, what, "pass an output_size in this range: often the shape before the pooling")
        return extra


class ConvTranspose1d(TransposedConvolution):
    """Transposed convolution of (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.ConvTranspose1d(3, 5, kernel_size=2, stride=2)(minigrad.ones(2, 3, 10)).shape
    minigrad.Size([2, 5, 20])
    """

    _ndim, _function = 1, staticmethod(conv_transpose.conv_transpose1d)


class ConvTranspose2d(TransposedConvolution):
    """Transposed convolution of (n, c, height, width).

    >>> import minigrad
    >>> minigrad.nn.ConvTranspose2d(3, 5, kernel_size=2, stride=2)(minigrad.ones(2, 3, 4, 4)).shape
    minigrad.Size([2, 5, 8, 8])
    """

    _ndim, _function = 2, staticmethod(conv_transpose.conv_transpose2d)


class ConvTranspose3d(TransposedConvolution):
    """Transposed convolution of (n, c, depth, height, width).

    >>> import minigrad
    >>> minigrad.nn.ConvTranspose3d(3, 5, kernel_size=2, stride=2)(minigrad.ones(2, 3, 4, 4, 4)).shape
    minigrad.Size([2, 5, 8, 8, 8])
    """

    _ndim, _function = 3, staticmethod(conv_transpose.conv_transpose3d)
