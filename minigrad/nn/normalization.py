"""Normalizations as modules: their affine maps, and the running statistics of batch norm."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..ops.create import ones, zeros
from ..ops.from_data import tensor
from ..ops.nn import normalize
from . import init
from .module import Module
from .parameter import Parameter
from .settings import Functional, as_ntuple

SHAPES = {
    2: "(batch, channels)",
    3: "(batch, channels, length)",
    4: "(batch, channels, height, width)",
    5: "(batch, channels, depth, height, width)",
}


class Affine(Module):
    """Base class of the normalizations: a weight that begins with ones, and a bias that begins with zeros."""

    def _add_affine(self, shape: tuple, dtype: Any, device: Any, **wanted: bool) -> None:
        """Register the parameters by name; those whose value is False are None."""
        for name, present in wanted.items():
            start = ones if name == "weight" else zeros
            self.register_parameter(name, Parameter(start(*shape, dtype=dtype, device=device)) if present else None)

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        for name, start in (("weight", init.ones_), ("bias", init.zeros_)):
            if (p := self._parameters.get(name)) is not None:
                start(p)


class LayerNorm(Affine):
    """Mean 0 and variance 1 over the last dimensions, then an affine map.

    >>> import minigrad
    >>> minigrad.nn.LayerNorm(2)(minigrad.tensor([[1., 3.], [0., 4.]])).round(decimals=3)
    tensor([[-1.,  1.],
            [-1.,  1.]], grad_fn=<RoundBackward1>)
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        self.normalized_shape = as_ntuple(normalized_shape, 1)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._add_affine(
            self.normalized_shape, dtype, device, weight=elementwise_affine, bias=elementwise_affine and bias
        )
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return normalize.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        affine, bias = self.elementwise_affine, self.bias is not None
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={affine}, bias={bias}"


class RMSNorm(Affine):
    """The input divided by its root mean square over the last dimensions, times a weight.

    >>> import minigrad
    >>> minigrad.nn.RMSNorm(2)(minigrad.tensor([[3., 4.]]))
    tensor([[0.8485, 1.1314]], grad_fn=<MulBackward0>)
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        self.normalized_shape = as_ntuple(normalized_shape, 1)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._add_affine(self.normalized_shape, dtype, device, weight=elementwise_affine)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return normalize.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Affine):
    """Mean 0 and variance 1 over each group of channels, then an affine map per channel.

    >>> import minigrad
    >>> minigrad.nn.GroupNorm(2, 4)(minigrad.randn(3, 4, 5)).shape
    minigrad.Size([3, 4, 5])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ):
        super().__init__()
        if num_channels % num_groups:
            what = f"num_channels={num_channels} must be divisible by num_groups={num_groups}"
            raise error(ValueError, "GroupNorm", what, "choose num_groups as a divisor of num_channels")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._add_affine((num_channels,), dtype, device, weight=affine, bias=affine and bias)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return normalize.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        bias = self.bias is not None
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={bias}"


class ChannelNorm(Affine):
    """Base class of the batch and instance norms: settings, parameters, running statistics."""

    _ranks: tuple = ()

    _version, _since = 2, {"num_batches_tracked": 2}

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self._add_affine((num_features,), dtype, device, weight=affine, bias=affine and bias)
        for name, make in (("running_mean", zeros), ("running_var", ones)):
            start = make(num_features, dtype=dtype, device=device) if track_running_stats else None
            self.register_buffer(name, start)
        self.register_buffer("num_batches_tracked", tensor(0, device=device) if track_running_stats else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Reset the running statistics, if the module has any: mean 0, variance 1, no batches."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros, and reset the running statistics."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        """Raise ValueError unless the input has a supported number of dimensions."""
        if input.ndim not in self._ranks:
            what = f"expected {' or '.join(f'{r}D' for r in self._ranks)} input (got {input.ndim}D input)"
            fix = f"pass {' or '.join(SHAPES[r] for r in self._ranks)}: input.unsqueeze(0) adds a dimension in front"
            raise error(ValueError, type(self).__name__, what, fix)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm(ChannelNorm):
    """Mean 0 and variance 1 per channel over the batch; evaluation uses the running statistics of training."""

    _over_batch = True  # replace_all_batch_norm_modules_ finds batch norms by it

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if momentum is None:  # a plain average over all batches
                momentum = 1 / self.num_batches_tracked.item()
        training = self.training or self.running_mean is None
        update = self.training and self.track_running_stats or not training
        mean, var = (self.running_mean, self.running_var) if update else (None, None)
        return normalize.batch_norm(
            input, mean, var, self.weight, self.bias, training, 0.0 if momentum is None else momentum, self.eps
        )


class BatchNorm1d(BatchNorm):
    """Batch norm of (n, c) or (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.BatchNorm1d(1)(minigrad.tensor([[1.], [3.]]))
    tensor([[-1.0000],
            [ 1.0000]], grad_fn=<NativeBatchNormBackward0>)
    """

    _ranks = (2, 3)


class BatchNorm2d(BatchNorm):
    """Batch norm of (n, c, height, width).

    >>> import minigrad
    >>> norm = minigrad.nn.BatchNorm2d(3)
    >>> norm(minigrad.randn(4, 3, 5, 5)).shape, norm.running_mean.shape
    (minigrad.Size([4, 3, 5, 5]), minigrad.Size([3]))
    """

    _ranks = (4,)


class BatchNorm3d(BatchNorm):
    """Batch norm of (n, c, depth, height, width).

    >>> import minigrad
    >>> minigrad.nn.BatchNorm3d(2)(minigrad.randn(4, 2, 3, 3, 3)).shape
    minigrad.Size([4, 2, 3, 3, 3])
    """

    _ranks = (5,)


class InstanceNorm(ChannelNorm):
    """Base class of the instance norms: statistics of each example separately."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        if input.ndim == self._get_no_batch_dim():
            return self._handle_no_batch_input(input)
        return self._apply_instance_norm(input)

    def _apply_instance_norm(self, input: Tensor) -> Tensor:
        running, affine = (self.running_mean, self.running_var), (self.weight, self.bias)
        own = self.training or not self.track_running_stats
        return normalize.instance_norm(input, *running, *affine, own, self.momentum or 0.0, self.eps)

    def _handle_no_batch_input(self, input: Tensor) -> Tensor:
        return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)

    def _get_no_batch_dim(self) -> int:
        """Return the number of dimensions of one example; subclasses of users replace it."""
        return self._ranks[0]


class InstanceNorm1d(InstanceNorm):
    """Mean 0 and variance 1 per channel of each example of (n, c, length).

    >>> import minigrad
    >>> minigrad.nn.InstanceNorm1d(1)(minigrad.tensor([[[1., 3.]]]))
    tensor([[[-1.0000,  1.0000]]])
    """

    _ranks = (2, 3)


class InstanceNorm2d(InstanceNorm):
    """Mean 0 and variance 1 per channel of each example of (n, c, height, width).

    >>> import minigrad
    >>> minigrad.nn.InstanceNorm2d(3)(minigrad.randn(4, 3, 5, 5)).shape
    minigrad.Size([4, 3, 5, 5])
    """

    _ranks = (3, 4)


class InstanceNorm3d(InstanceNorm):
    """Mean 0 and variance 1 per channel of each example of (n, c, depth, height, width).

    >>> import minigrad
    >>> minigrad.nn.InstanceNorm3d(2)(minigrad.randn(4, 2, 3, 3, 3)).shape
    minigrad.Size([4, 2, 3, 3, 3])
    """

    _ranks = (4, 5)


class LocalResponseNorm(Functional, function=normalize.local_response_norm):
    """Each channel divided by (k + alpha * mean of the squares of the `size` channels around it) ** beta.

    >>> import minigrad
    >>> minigrad.nn.LocalResponseNorm(2)(minigrad.ones(1, 4, 3)).shape
    minigrad.Size([1, 4, 3])
    """

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
