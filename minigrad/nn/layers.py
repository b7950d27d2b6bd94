"""Layers: modules with parameters, initialised as PyTorch initialises them, around the functions of nn.functional."""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..ops import conv, linear, normalize, pool
from ..ops.create import empty, ones, tensor, zeros
from . import init
from .module import Module
from .parameter import Parameter


class Identity(Module):
    """Gives back what it gets; it takes any arguments."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Module):
    """input @ weight.T + bias."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, dtype=dtype, device=device))
        self.register_parameter("bias", Parameter(empty(out_features, dtype=dtype, device=device)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform weights and biases up to 1 / sqrt(in_features)."""
        reset(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return linear.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """input1 @ weight[o] @ input2 + bias[o] for each output o."""

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(empty(out_features, in1_features, in2_features, dtype=dtype, device=device))
        self.register_parameter("bias", Parameter(empty(out_features, dtype=dtype, device=device)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform weights and biases up to 1 / sqrt(in1_features)."""
        bound = 1 / math.sqrt(self.in1_features)
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return linear.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}")  # fmt: skip


class Convolution(Module):
    """What the convolutions share: settings, parameters and their text."""

    ndim, transposed = 0, False

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                 groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
                 output_padding: Any = 0):  # fmt: skip
        super().__init__()
        who, n = type(self).__name__, self.ndim
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise error(ValueError, who, f"in_channels={in_channels} and out_channels={out_channels} must be divisible by groups={groups}")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular") or self.transposed and padding_mode != "zeros":
            raise error(ValueError, who, f"padding_mode={padding_mode!r} is not supported",
                        "use 'zeros'" + ("" if self.transposed else ", 'reflect', 'replicate' or 'circular'"))
        self.in_channels, self.out_channels, self.groups, self.padding_mode = in_channels, out_channels, groups, padding_mode
        self.kernel_size, self.stride = many(kernel_size, n), many(stride, n)
        self.padding = padding if isinstance(padding, str) else many(padding, n)
        self.dilation, self.output_padding = many(dilation, n), many(output_padding, n)
        shape = (in_channels, out_channels // groups) if self.transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(empty(*shape, *self.kernel_size, dtype=dtype, device=device))
        self.register_parameter("bias", Parameter(empty(out_channels, dtype=dtype, device=device)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform weights and biases up to 1 / sqrt(fan_in)."""
        reset(self.weight, self.bias)

    def convolve(self, function: Any, input: Tensor) -> Tensor:
        """The convolution, with padding that is not zeros done first."""
        padding = self.padding
        if self.padding_mode != "zeros":
            from ..ops.pad import pad

            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            sides = ([(t // 2, t - t // 2) for t in totals] if padding == "same" else [(0, 0)] * self.ndim if padding == "valid"
                     else [(p, p) for p in padding])  # fmt: skip
            input, padding = pad(input, [v for side in reversed(sides) for v in side], mode=self.padding_mode), 0
        return function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        n = self.ndim
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        for name, usual in (("padding", (0,) * n), ("dilation", (1,) * n), ("output_padding", (0,) * n), ("groups", 1)):
            value = getattr(self, name)
            text += f", {name}={value!r}" if value != usual else ""
        text += "" if self.bias is not None else ", bias=False"
        return text + (f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "")


class Conv1d(Convolution):
    """Convolution of (n, c, length)."""

    ndim = 1

    def forward(self, input: Tensor) -> Tensor:
        return self.convolve(conv.conv1d, input)


class Conv2d(Convolution):
    """Convolution of (n, c, height, width)."""

    ndim = 2

    def forward(self, input: Tensor) -> Tensor:
        return self.convolve(conv.conv2d, input)


class Conv3d(Convolution):
    """Convolution of (n, c, depth, height, width)."""

    ndim = 3

    def forward(self, input: Tensor) -> Tensor:
        return self.convolve(conv.conv3d, input)


class TransposedConvolution(Convolution):
    """What the transposed convolutions share."""

    transposed = True

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
                 groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None):  # fmt: skip
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype,
                         output_padding)  # fmt: skip

    def spread(self, function: Any, input: Tensor) -> Tensor:
        """The transposed convolution."""
        return function(input, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation)


class ConvTranspose1d(TransposedConvolution):
    """Transposed convolution of (n, c, length)."""

    ndim = 1

    def forward(self, input: Tensor) -> Tensor:
        return self.spread(conv.conv_transpose1d, input)


class ConvTranspose2d(TransposedConvolution):
    """Transposed convolution of (n, c, height, width)."""

    ndim = 2

    def forward(self, input: Tensor) -> Tensor:
        return self.spread(conv.conv_transpose2d, input)


class MaxPool1d(Module):
    """The largest element of each window of (n, c, length)."""

    function = staticmethod(pool.max_pool1d)

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
                 ceil_mode: bool = False):  # fmt: skip
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        return self.function(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)

    def extra_repr(self) -> str:
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
                f"ceil_mode={self.ceil_mode}")  # fmt: skip


class MaxPool2d(MaxPool1d):
    """The largest element of each window of (n, c, height, width)."""

    function = staticmethod(pool.max_pool2d)


class AvgPool1d(Module):
    """The mean of each window of (n, c, length)."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True):
        super().__init__()
        self.kernel_size, self.stride, self.padding = many(kernel_size, 1), many(kernel_size if stride is None else stride, 1), many(padding, 1)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return pool.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(Module):
    """The mean of each window of (n, c, height, width)."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override: int | None = None):  # fmt: skip
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return pool.avg_pool2d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                               self.divisor_override)  # fmt: skip

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


class AdaptiveAvgPool1d(AdaptivePool):
    """The means of even parts of (n, c, length)."""

    function = staticmethod(pool.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(AdaptivePool):
    """The means of even parts of (n, c, height, width)."""

    function = staticmethod(pool.adaptive_avg_pool2d)


class AdaptiveMaxPool2d(AdaptivePool):
    """The largest elements of even parts of (n, c, height, width)."""

    function = staticmethod(pool.adaptive_max_pool2d)


class Flatten(Module):
    """The dimensions from start_dim to end_dim as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension as several."""

    def __init__(self, dim: int, unflattened_size: Any):
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class LayerNorm(Module):
    """Mean 0 and variance 1 over the last dimensions, then an affine map."""

    def __init__(self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True, device: Any = None,
                 dtype: Any = None):  # fmt: skip
        super().__init__()
        self.normalized_shape = tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        with_affine(self, self.normalized_shape, elementwise_affine, elementwise_affine and bias, dtype, device)

    def forward(self, input: Tensor) -> Tensor:
        return normalize.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class RMSNorm(Module):
    """Divided by the root of the mean square over the last dimensions, then times a weight."""

    def __init__(self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, device: Any = None, dtype: Any = None):
        super().__init__()
        self.normalized_shape = tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_parameter("weight", Parameter(ones(*self.normalized_shape, dtype=dtype, device=device)) if elementwise_affine else None)

    def forward(self, input: Tensor) -> Tensor:
        return normalize.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Mean 0 and variance 1 over each group of channels, then an affine map per channel."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None, dtype: Any = None):
        super().__init__()
        if num_channels % num_groups:
            raise error(ValueError, "GroupNorm", f"num_channels={num_channels} must be divisible by num_groups={num_groups}")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        with_affine(self, (num_channels,), affine, affine, dtype, device)

    def forward(self, input: Tensor) -> Tensor:
        return normalize.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class ChannelNorm(Module):
    """What the batch and instance norms share: settings, parameters, running statistics."""

    ranks: tuple = ()

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None):  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        with_affine(self, (num_features,), affine, affine, dtype, device)
        self.register_buffer("running_mean", zeros(num_features, dtype=dtype, device=device) if track_running_stats else None)
        self.register_buffer("running_var", ones(num_features, dtype=dtype, device=device) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", tensor(0) if track_running_stats else None)

    def check(self, input: Tensor) -> None:
        """The input has one of the right ranks."""
        if input.ndim not in self.ranks:
            raise error(ValueError, type(self).__name__, f"expected {' or '.join(f'{r}D' for r in self.ranks)} input (got {input.ndim}D input)")

    def extra_repr(self) -> str:
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"track_running_stats={self.track_running_stats}")  # fmt: skip


class BatchNorm(ChannelNorm):
    """Mean 0 and variance 1 per channel over the batch; running statistics are kept for evaluation."""

    def forward(self, input: Tensor) -> Tensor:
        self.check(input)
        momentum = self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if momentum is None:  # a plain average over all batches
                momentum = 1 / self.num_batches_tracked.item()
        training = self.training or self.running_mean is None
        update = self.training and self.track_running_stats or not training
        mean, var = (self.running_mean, self.running_var) if update else (None, None)
        return normalize.batch_norm(input, mean, var, self.weight, self.bias, training, 0.0 if momentum is None else momentum, self.eps)


class BatchNorm1d(BatchNorm):
    """Batch norm of (n, c) or (n, c, length)."""

    ranks = (2, 3)


class BatchNorm2d(BatchNorm):
    """Batch norm of (n, c, height, width)."""

    ranks = (4,)


class InstanceNorm1d(ChannelNorm):
    """Mean 0 and variance 1 per channel of each example of (n, c, length)."""

    ranks = (2, 3)

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False,
                 device: Any = None, dtype: Any = None):  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        self.check(input)
        single = input.ndim == self.ranks[0]
        out = normalize.instance_norm(input.unsqueeze(0) if single else input, self.running_mean, self.running_var, self.weight, self.bias,
                                      self.training or not self.track_running_stats, self.momentum, self.eps)  # fmt: skip
        return out[0] if single else out


class InstanceNorm2d(InstanceNorm1d):
    """Mean 0 and variance 1 per channel of each example of (n, c, height, width)."""

    ranks = (3, 4)


class Embedding(Module):
    """A table of rows, read by index."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, device: Any = None, dtype: Any = None):
        super().__init__()
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise error(AssertionError, "Embedding", f"padding_idx={padding_idx} must be within num_embeddings={num_embeddings}")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.weight = Parameter(empty(num_embeddings, embedding_dim, dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Normal rows; zeros in the padding row."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            init.zeros_(self.weight.data[self.padding_idx])

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """An Embedding with the given table."""
        module = cls(*embeddings.shape, padding_idx=padding_idx)
        module.weight = Parameter(embeddings, requires_grad=not freeze)
        return module

    def forward(self, input: Tensor) -> Tensor:
        return normalize.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}" + (f", padding_idx={self.padding_idx}" if self.padding_idx is not None else "")


class Dropout(Module):
    """In training, each element is zero with probability p, and the others are divided by 1 - p."""

    function = staticmethod(normalize.dropout)

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        if not 0 <= p <= 1:
            raise error(ValueError, type(self).__name__, f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        return type(self).function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(Dropout):
    """Dropout of whole channels of (n, c, length)."""

    function = staticmethod(normalize.dropout1d)


class Dropout2d(Dropout):
    """Dropout of whole channels of (n, c, height, width)."""

    function = staticmethod(normalize.dropout2d)


class AlphaDropout(Dropout):
    """Dropout that keeps mean 0 and variance 1 behind selu."""

    function = staticmethod(normalize.alpha_dropout)


def many(value: Any, n: int) -> tuple:
    """A setting as one value per dimension."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * n


def reset(weight: Parameter, bias: Parameter | None) -> None:
    """PyTorch's default of linear and convolution layers: uniform up to 1 / sqrt(fan_in)."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in = init.fans(weight)[0]
        bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
        init.uniform_(bias, -bound, bound)


def with_affine(module: Module, shape: tuple, weight: bool, bias: bool, dtype: Any, device: Any) -> None:
    """Give a normalisation its weight of ones and bias of zeros."""
    module.register_parameter("weight", Parameter(ones(*shape, dtype=dtype, device=device)) if weight else None)
    module.register_parameter("bias", Parameter(zeros(*shape, dtype=dtype, device=device)) if bias else None)
