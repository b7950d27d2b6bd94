"""Activations as modules: each holds the settings of one function from nn.functional."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..ops import elementary
from ..ops.create import empty
from ..ops.nn import activation, dropout, softmax
from .init import constant_
from .module import Module
from .parameter import Parameter
from .settings import Functional


class ActivationModule(Functional):
    """Base class of activations: an elementwise function of floating-point numbers and its settings."""

    _no_tensor = "(input)", TypeError

    def extra_repr(self) -> str:
        return ", ".join(f"{n}={getattr(self, n)!r}" for n in self._settings if n != "inplace" or self.inplace)


class Shrink(ActivationModule):
    """Base class of the two shrinking activations; the repr shows `lambd` without its name."""

    lambd: float = 0.5

    def extra_repr(self) -> str:
        return str(self.lambd)


class ReLU(ActivationModule, function=activation.relu):
    """x where it is positive, else 0; the derivative at 0 is 0.

    >>> import minigrad
    >>> minigrad.nn.ReLU()(minigrad.tensor([-2., 0., 2.]))
    tensor([0., 0., 2.])
    """

    inplace: bool = False


class LeakyReLU(ActivationModule, function=activation.leaky_relu):
    """x where it is positive, else negative_slope * x.

    >>> import minigrad
    >>> minigrad.nn.LeakyReLU(0.1)(minigrad.tensor([-2., 0., 2.]))
    tensor([-0.2000,  0.0000,  2.0000])
    """

    negative_slope: float = 0.01
    inplace: bool = False


class RReLU(ActivationModule, function=dropout.rrelu):
    """x where it is positive; elsewhere x times a random slope in training, and (lower + upper) / 2 * x in evaluation.

    >>> import minigrad
    >>> minigrad.nn.RReLU(0.1, 0.3).eval()(minigrad.tensor([-2., 0., 2.]))
    tensor([-0.4000,  0.0000,  2.0000])
    """

    lower: float = 1 / 8
    upper: float = 1 / 3
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return dropout.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class ELU(ActivationModule, function=activation.elu):
    """x where it is positive, else alpha * (exp(x) - 1).

    >>> import minigrad
    >>> minigrad.nn.ELU()(minigrad.tensor([-2., 0., 2.]))
    tensor([-0.8647,  0.0000,  2.0000])
    """

    alpha: float = 1.0
    inplace: bool = False


class CELU(ActivationModule, function=activation.celu):
    """x where it is positive, else alpha * (exp(x / alpha) - 1).  Raises RuntimeError for alpha = 0.

    >>> import minigrad
    >>> minigrad.nn.CELU()(minigrad.tensor([-2., 0., 2.]))
    tensor([-0.8647,  0.0000,  2.0000])
    """

    alpha: float = 1.0
    inplace: bool = False


class SELU(ActivationModule, function=activation.selu):
    """elu with the scale and alpha that keep activations at mean 0 and variance 1.

    >>> import minigrad
    >>> minigrad.nn.SELU()(minigrad.tensor([-2., 0., 2.]))
    tensor([-1.5202,  0.0000,  2.1014])
    """

    inplace: bool = False


class GELU(ActivationModule, function=activation.gelu):
    """x times the probability that a standard normal number is below x; approximate="tanh" computes it approximately.

    >>> import minigrad
    >>> minigrad.nn.GELU()(minigrad.tensor([-2., 0., 2.]))
    tensor([-0.0455,  0.0000,  1.9545])
    """

    approximate: str = "none"


class SiLU(ActivationModule, function=activation.silu):
    """x * sigmoid(x), also called swish.

    >>> import minigrad
    >>> minigrad.nn.SiLU()(minigrad.tensor([-2., 0., 2.]))
    tensor([-0.2384,  0.0000,  1.7616])
    """

    inplace: bool = False


class Mish(ActivationModule, function=activation.mish):
    """x * tanh(log(1 + exp(x))).  Source: Misra, Mish (2019).

    >>> import minigrad
    >>> minigrad.nn.Mish()(minigrad.tensor([-2., 0., 2.]))
    tensor([-0.2525,  0.0000,  1.9440])
    """

    inplace: bool = False


class Softplus(ActivationModule, function=activation.softplus):
    """log(1 + exp(beta * x)) / beta, a smooth relu; where beta * x > threshold, x itself, which is nearly equal.

    >>> import minigrad
    >>> minigrad.nn.Softplus()(minigrad.tensor([-2., 0., 2.]))
    tensor([0.1269, 0.6931, 2.1269])
    """

    beta: float = 1.0
    threshold: float = 20.0


class Softsign(ActivationModule, function=activation.softsign):
    """x / (1 + |x|).

    >>> import minigrad
    >>> minigrad.nn.Softsign()(minigrad.tensor([-2., 0., 2.]))
    tensor([-0.6667,  0.0000,  0.6667])
    """


class Softshrink(Shrink, function=activation.softshrink):
    """x moved towards 0 by `lambd`, and 0 where |x| <= lambd.  Raises RuntimeError for a negative lambd.

    >>> import minigrad
    >>> minigrad.nn.Softshrink(0.5)(minigrad.tensor([-2., 0., 2.]))
    tensor([-1.5000,  0.0000,  1.5000])
    """


class Hardshrink(Shrink, function=activation.hardshrink):
    """x, but 0 where |x| <= lambd; the derivative is 0 there too.

    >>> import minigrad
    >>> minigrad.nn.Hardshrink(0.5)(minigrad.tensor([-2., 0.2, 2.]))
    tensor([-2.,  0.,  2.])
    """


class Hardtanh(ActivationModule, function=activation.hardtanh):
    """x clamped to the range from `min_val` to `max_val`.  Raises ValueError if min_val > max_val.

    >>> import minigrad
    >>> minigrad.nn.Hardtanh()(minigrad.tensor([-2., 0., 2.]))
    tensor([-1.,  0.,  1.])
    """

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False


class ReLU6(Hardtanh):
    """x clamped to the range from 0 to 6.

    >>> import minigrad
    >>> minigrad.nn.ReLU6()(minigrad.tensor([-2., 2., 8.]))
    tensor([0., 2., 6.])
    """

    _function, _settings = staticmethod(activation.relu6), ("inplace",)

    def __init__(self, inplace: bool = False):
        super().__init__(0.0, 6.0, inplace)


class Hardsigmoid(ActivationModule, function=activation.hardsigmoid):
    """x / 6 + 1/2 clamped to the range from 0 to 1; the derivative is 0 at both ends.

    >>> import minigrad
    >>> minigrad.nn.Hardsigmoid()(minigrad.tensor([-3., 0., 3.]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    inplace: bool = False


class Hardswish(ActivationModule, function=activation.hardswish):
    """x * hardsigmoid(x).

    >>> import minigrad
    >>> minigrad.nn.Hardswish()(minigrad.tensor([-3., 0., 3.]))
    tensor([0., 0., 3.])
    """

    inplace: bool = False


class Tanhshrink(ActivationModule, function=activation.tanhshrink):
    """x - tanh(x).

    >>> import minigrad
    >>> minigrad.nn.Tanhshrink()(minigrad.tensor([-2., 0., 2.]))
    tensor([-1.0360,  0.0000,  1.0360])
    """


class Tanh(ActivationModule, function=elementary.tanh):
    """Hyperbolic tangent.

    >>> import minigrad
    >>> minigrad.nn.Tanh()(minigrad.tensor([-2., 0., 2.]))
    tensor([-0.9640,  0.0000,  0.9640])
    """


class Sigmoid(ActivationModule, function=elementary.sigmoid):
    """1 / (1 + exp(-x)): from 0 to 1, 1/2 at 0.

    >>> import minigrad
    >>> minigrad.nn.Sigmoid()(minigrad.tensor([-2., 0., 2.]))
    tensor([0.1192, 0.5000, 0.8808])
    """


class LogSigmoid(ActivationModule, function=activation.logsigmoid):
    """log(sigmoid(x)), without overflow.

    >>> import minigrad
    >>> minigrad.nn.LogSigmoid()(minigrad.tensor([-2., 0., 2.]))
    tensor([-2.1269, -0.6931, -0.1269])
    """


class GLU(ActivationModule, function=activation.glu):
    """One half of the tensor, along `dim`, times the sigmoid of the other.  Raises RuntimeError for an odd size.

    >>> import minigrad
    >>> minigrad.nn.GLU()(minigrad.tensor([1., 2., 0., 0.]))
    tensor([0.5000, 1.0000])
    """

    dim: int = -1


class Softmax(ActivationModule, function=softmax.softmax):
    """exp(input) divided by its sum along a dimension: positive numbers that sum to 1.

    >>> import minigrad
    >>> minigrad.nn.Softmax(dim=0)(minigrad.tensor([0., 0.]))
    tensor([0.5000, 0.5000])
    """

    dim: int | None = None


class LogSoftmax(ActivationModule, function=softmax.log_softmax):
    """The logarithm of softmax, computed without forming softmax: finite even where softmax underflows to 0.

    >>> import minigrad
    >>> minigrad.nn.LogSoftmax(dim=0)(minigrad.tensor([0., 0.]))
    tensor([-0.6931, -0.6931])
    """

    dim: int | None = None


class Softmin(ActivationModule, function=softmax.softmin):
    """Softmax of the negative: the smallest element gets the largest share.

    >>> import minigrad
    >>> minigrad.nn.Softmin(dim=0)(minigrad.tensor([0., 0.]))
    tensor([0.5000, 0.5000])
    """

    dim: int | None = None


class Threshold(ActivationModule, function=activation.threshold):
    """x where it is above `threshold`, else `value`.

    >>> import minigrad
    >>> minigrad.nn.Threshold(1.0, 0.0)(minigrad.tensor([0.5, 2.]))
    tensor([0., 2.])
    """

    threshold: float
    value: float
    inplace: bool = False


class Softmax2d(Module):
    """Softmax over the channels of (n, c, height, width) or (c, height, width).

    >>> import minigrad
    >>> minigrad.nn.Softmax2d()(minigrad.zeros(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            what = f"expected a 3D or 4D input, got shape {tuple(input.shape)}"
            fix = "write input.unsqueeze(0) for a single image (h, w); nn.Softmax(dim) accepts any shape"
            raise error(ValueError, "Softmax2d", what, fix)
        return softmax.softmax(input, -3)


class PReLU(Module):
    """x where it is positive, else weight * x, with one learned weight for all channels or one per channel.

    >>> import minigrad
    >>> minigrad.nn.PReLU()(minigrad.tensor([-4., 2.]))
    tensor([-1.,  2.], grad_fn=<PreluKernelBackward0>)
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to `init`."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return activation.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
