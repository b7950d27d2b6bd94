"""Layers around functions of nn.functional: affine maps, dropout, shapes."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..ops.create import empty
from ..ops.nn import dropout, linear
from ..ops.shape import flatten
from . import init
from .module import Module
from .parameter import Parameter
from .settings import Functional


class Identity(Module):
    """The identity; its constructor accepts and ignores any arguments.

    >>> import minigrad
    >>> minigrad.nn.Identity()(minigrad.tensor([1., 2.]))
    tensor([1., 2.])
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Module):
    """input @ weight.T + bias.

    >>> import minigrad
    >>> layer = minigrad.nn.Linear(3, 2)
    >>> layer(minigrad.ones(4, 3)).shape
    minigrad.Size([4, 2])
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, dtype=dtype, device=device))
        self.register_parameter("bias", Parameter(empty(out_features, dtype=dtype, device=device)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights and biases uniformly from -1 / sqrt(in_features) to 1 / sqrt(in_features)."""
        init.reset_(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return linear.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """input1 @ weight[o] @ input2 + bias[o] for each output o.

    >>> import minigrad
    >>> minigrad.nn.Bilinear(2, 3, 4)(minigrad.ones(5, 2), minigrad.ones(5, 3)).shape
    minigrad.Size([5, 4])
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(empty(out_features, in1_features, in2_features, dtype=dtype, device=device))
        self.register_parameter("bias", Parameter(empty(out_features, dtype=dtype, device=device)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights and biases uniformly from -1 / sqrt(in1_features) to 1 / sqrt(in1_features)."""
        init.reset_all_([p for p in (self.weight, self.bias) if p is not None], self.in1_features)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return linear.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Flatten(Functional, function=flatten):
    """Merges the dimensions from start_dim to end_dim into one.

    >>> import minigrad
    >>> minigrad.nn.Flatten()(minigrad.ones(2, 3, 4)).shape
    minigrad.Size([2, 12])
    """

    start_dim: int = 1
    end_dim: int = -1


class Unflatten(Module):
    """Splits one dimension into several.

    >>> import minigrad
    >>> minigrad.nn.Unflatten(1, (3, 4))(minigrad.ones(2, 12)).shape
    minigrad.Size([2, 3, 4])
    """

    def __init__(self, dim: int, unflattened_size: Any):
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Dropping(Functional):
    """Base class of the dropouts: they have a probability `p` and act in training only."""

    p: float = 0.5
    inplace: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.p <= 1:
            what = f"dropout probability has to be between 0 and 1, but got {self.p}"
            raise error(ValueError, type(self).__name__, what, f"write {type(self).__name__}(p=0.5)")

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(input, self.p, self.training, self.inplace)


class Dropout(Dropping, function=dropout.dropout):
    """In training, zeroes each element with probability p and divides the others by 1 - p.

    >>> import minigrad
    >>> drop = minigrad.nn.Dropout(0.5)
    >>> sorted(set(drop(minigrad.ones(100)).tolist()))
    [0.0, 2.0]
    >>> drop.eval()(minigrad.ones(3))
    tensor([1., 1., 1.])
    """


class Dropout1d(Dropping, function=dropout.dropout1d):
    """Dropout of whole channels of (n, c, length) or (c, length).

    >>> import minigrad
    >>> minigrad.nn.Dropout1d(0.5).eval()(minigrad.ones(1, 3))
    tensor([[1., 1., 1.]])
    """


class Dropout2d(Dropping, function=dropout.dropout2d):
    """Dropout of whole channels of (n, c, height, width); other shapes count as (n, c, ...), with a warning.

    >>> import minigrad
    >>> channels = minigrad.nn.Dropout2d(0.5)(minigrad.ones(1, 8, 2, 2)).flatten(2)
    >>> bool((channels == channels[..., :1]).all())
    True
    """


class Dropout3d(Dropping, function=dropout.dropout3d):
    """Dropout of whole channels of (n, c, depth, height, width) or (c, depth, height, width).

    >>> import minigrad
    >>> minigrad.nn.Dropout3d(0.5).eval()(minigrad.ones(3, 2, 2, 2)).shape
    minigrad.Size([3, 2, 2, 2])
    """


class AlphaDropout(Dropping, function=dropout.alpha_dropout):
    """Dropout that keeps mean 0 and variance 1 after selu.

    >>> import minigrad
    >>> minigrad.nn.AlphaDropout(0.5).eval()(minigrad.ones(3))
    tensor([1., 1., 1.])
    """


class FeatureAlphaDropout(Dropping, function=dropout.feature_alpha_dropout):
    """AlphaDropout of whole channels.

    >>> import minigrad
    >>> minigrad.nn.FeatureAlphaDropout(0.5).eval()(minigrad.ones(1, 3))
    tensor([[1., 1., 1.]])
    """
