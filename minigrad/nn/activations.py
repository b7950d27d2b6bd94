"""Activations as modules: a function of nn.functional and its settings."""

from __future__ import annotations

import inspect
from typing import Any

from ..core.tensor import Tensor
from ..diagnose.modules import made_of
from ..errors import error
from ..ops import elementary
from ..ops.create import full
from ..ops.nn import activation, softmax
from .module import Module
from .parameter import Parameter


class Activation(Module):
    """`function(input, **settings)`.  A subclass names the function and its settings with their defaults."""

    function: Any = None
    settings: dict = {}

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()
        try:
            bound = self.__signature__.bind(*args, **kwargs)
        except TypeError as e:
            raise error(TypeError, type(self).__name__, str(e), f"its settings are {self.__signature__}") from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if isinstance(value, Tensor):
                raise made_of(self, value, "(input)", TypeError)
            setattr(self, name, value)

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        cls.__signature__ = inspect.Signature([inspect.Parameter(n, kind, default=v) for n, v in cls.settings.items()])

    def forward(self, input: Tensor) -> Tensor:
        return type(self).function(input, **{n: getattr(self, n) for n in self.settings})

    def extra_repr(self) -> str:
        return ", ".join(f"{n}={getattr(self, n)!r}" for n in self.settings if n != "inplace" or self.inplace)


class Shrink(Activation):
    """What the two shrinking activations share: a setting that their text gives without its name."""

    settings = {"lambd": 0.5}

    def extra_repr(self) -> str:
        return str(self.lambd)


class ReLU(Activation):
    """x where it is positive, else 0; the derivative at 0 is 0.

    >>> import minigrad
    >>> minigrad.nn.ReLU()(minigrad.tensor([-2., 0., 2.]))
    tensor([0., 0., 2.])
    """

    function = staticmethod(activation.relu)
    settings = {"inplace": False}


class ReLU6(Activation):
    """x limited to the range from 0 to 6.

    >>> import minigrad
    >>> minigrad.nn.ReLU6()(minigrad.tensor([-2., 2., 8.]))
    tensor([0., 2., 6.])
    """

    function = staticmethod(activation.relu6)
    settings = {"inplace": False}


class LeakyReLU(Activation):
    """x where it is positive, else negative_slope * x.

    >>> import minigrad
    >>> minigrad.nn.LeakyReLU(0.1)(minigrad.tensor([-2., 0., 2.]))
    tensor([-0.2000,  0.0000,  2.0000])
    """

    function = staticmethod(activation.leaky_relu)
    settings = {"negative_slope": 0.01, "inplace": False}


class ELU(Activation):
    """x where it is positive, else alpha * (exp(x) - 1).

    >>> import minigrad
    >>> minigrad.nn.ELU()(minigrad.tensor([-2., 0., 2.]))
    tensor([-0.8647,  0.0000,  2.0000])
    """

    function = staticmethod(activation.elu)
    settings = {"alpha": 1.0, "inplace": False}


class CELU(Activation):
    """x where it is positive, else alpha * (exp(x / alpha) - 1).  Raises RuntimeError for alpha = 0.

    >>> import minigrad
    >>> minigrad.nn.CELU()(minigrad.tensor([-2., 0., 2.]))
    tensor([-0.8647,  0.0000,  2.0000])
    """

    function = staticmethod(activation.celu)
    settings = {"alpha": 1.0, "inplace": False}


class SELU(Activation):
    """elu with the scale and alpha for which activations keep mean 0 and variance 1.

    >>> import minigrad
    >>> minigrad.nn.SELU()(minigrad.tensor([-2., 0., 2.]))
    tensor([-1.5202,  0.0000,  2.1014])
    """

    function = staticmethod(activation.selu)
    settings = {"inplace": False}


class GELU(Activation):
    """x times the probability that a standard normal number is below x; with approximate="tanh" close to it.

    >>> import minigrad
    >>> minigrad.nn.GELU()(minigrad.tensor([-2., 0., 2.]))
    tensor([-0.0455,  0.0000,  1.9545])
    """

    function = staticmethod(activation.gelu)
    settings = {"approximate": "none"}


class SiLU(Activation):
    """x * sigmoid(x), also called swish.

    >>> import minigrad
    >>> minigrad.nn.SiLU()(minigrad.tensor([-2., 0., 2.]))
    tensor([-0.2384,  0.0000,  1.7616])
    """

    function = staticmethod(activation.silu)
    settings = {"inplace": False}


class Mish(Activation):
    """x * tanh(log(1 + exp(x))).  Source: Misra, Mish (2019).

    >>> import minigrad
    >>> minigrad.nn.Mish()(minigrad.tensor([-2., 0., 2.]))
    tensor([-0.2525,  0.0000,  1.9440])
    """

    function = staticmethod(activation.mish)
    settings = {"inplace": False}


class Softplus(Activation):
    """log(1 + exp(beta * x)) / beta, a smooth relu; where beta * x > threshold x itself, as good as equal.

    >>> import minigrad
    >>> minigrad.nn.Softplus()(minigrad.tensor([-2., 0., 2.]))
    tensor([0.1269, 0.6931, 2.1269])
    """

    function = staticmethod(activation.softplus)
    settings = {"beta": 1.0, "threshold": 20.0}


class Softsign(Activation):
    """x / (1 + |x|).

    >>> import minigrad
    >>> minigrad.nn.Softsign()(minigrad.tensor([-2., 0., 2.]))
    tensor([-0.6667,  0.0000,  0.6667])
    """

    function = staticmethod(activation.softsign)


class Softshrink(Shrink):
    """x moved towards 0 by `lambd`, and 0 where |x| <= lambd.  Raises RuntimeError for a negative lambd.

    >>> import minigrad
    >>> minigrad.nn.Softshrink(0.5)(minigrad.tensor([-2., 0., 2.]))
    tensor([-1.5000,  0.0000,  1.5000])
    """

    function = staticmethod(activation.softshrink)


class Hardshrink(Shrink):
    """x, but 0 where |x| <= lambd; the derivative there is 0.

    >>> import minigrad
    >>> minigrad.nn.Hardshrink(0.5)(minigrad.tensor([-2., 0.2, 2.]))
    tensor([-2.,  0.,  2.])
    """

    function = staticmethod(activation.hardshrink)


class Hardtanh(Activation):
    """x limited to the range from `min_val` to `max_val`.  Raises ValueError if they are the wrong way round.

    >>> import minigrad
    >>> minigrad.nn.Hardtanh()(minigrad.tensor([-2., 0., 2.]))
    tensor([-1.,  0.,  1.])
    """

    function = staticmethod(activation.hardtanh)
    settings = {"min_val": -1.0, "max_val": 1.0, "inplace": False}


class Hardsigmoid(Activation):
    """x / 6 + 1/2 limited to the range from 0 to 1; the derivative on its border is 0.

    >>> import minigrad
    >>> minigrad.nn.Hardsigmoid()(minigrad.tensor([-3., 0., 3.]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    function = staticmethod(activation.hardsigmoid)
    settings = {"inplace": False}


class Hardswish(Activation):
    """x * hardsigmoid(x).

    >>> import minigrad
    >>> minigrad.nn.Hardswish()(minigrad.tensor([-3., 0., 3.]))
    tensor([0., 0., 3.])
    """

    function = staticmethod(activation.hardswish)
    settings = {"inplace": False}


class Tanhshrink(Activation):
    """x - tanh(x).

    >>> import minigrad
    >>> minigrad.nn.Tanhshrink()(minigrad.tensor([-2., 0., 2.]))
    tensor([-1.0360,  0.0000,  1.0360])
    """

    function = staticmethod(activation.tanhshrink)


class Tanh(Activation):
    """Hyperbolic tangent.

    >>> import minigrad
    >>> minigrad.nn.Tanh()(minigrad.tensor([-2., 0., 2.]))
    tensor([-0.9640,  0.0000,  0.9640])
    """

    function = staticmethod(elementary.tanh)


class Sigmoid(Activation):
    """1 / (1 + exp(-x)): from 0 to 1, 1/2 at 0.

    >>> import minigrad
    >>> minigrad.nn.Sigmoid()(minigrad.tensor([-2., 0., 2.]))
    tensor([0.1192, 0.5000, 0.8808])
    """

    function = staticmethod(elementary.sigmoid)


class LogSigmoid(Activation):
    """log(sigmoid(x)), without overflow.

    >>> import minigrad
    >>> minigrad.nn.LogSigmoid()(minigrad.tensor([-2., 0., 2.]))
    tensor([-2.1269, -0.6931, -0.1269])
    """

    function = staticmethod(activation.logsigmoid)


class GLU(Activation):
    """One half of the tensor, along `dim`, times the sigmoid of the other.  Raises RuntimeError for an odd size.

    >>> import minigrad
    >>> minigrad.nn.GLU()(minigrad.tensor([1., 2., 0., 0.]))
    tensor([0.5000, 1.0000])
    """

    function = staticmethod(activation.glu)
    settings = {"dim": -1}


class Softmax(Activation):
    """exp(input) divided by its sum along a dimension: positive numbers that sum to 1.

    >>> import minigrad
    >>> minigrad.nn.Softmax(dim=0)(minigrad.tensor([0., 0.]))
    tensor([0.5000, 0.5000])
    """

    function = staticmethod(softmax.softmax)
    settings = {"dim": None}


class LogSoftmax(Activation):
    """The logarithm of softmax, computed without ever forming it: finite where softmax has become 0.

    >>> import minigrad
    >>> minigrad.nn.LogSoftmax(dim=0)(minigrad.tensor([0., 0.]))
    tensor([-0.6931, -0.6931])
    """

    function = staticmethod(softmax.log_softmax)
    settings = {"dim": None}


class Softmin(Activation):
    """Softmax of the negative: the smallest element gets the largest share.

    >>> import minigrad
    >>> minigrad.nn.Softmin(dim=0)(minigrad.tensor([0., 0.]))
    tensor([0.5000, 0.5000])
    """

    function = staticmethod(softmax.softmin)
    settings = {"dim": None}


class Threshold(Module):
    """x where it is above `threshold`, else `value`.

    >>> import minigrad
    >>> minigrad.nn.Threshold(1.0, 0.0)(minigrad.tensor([0.5, 2.]))
    tensor([0., 2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False):
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        return activation.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class Softmax2d(Module):
    """softmax over the channels of (n, c, height, width) or (c, height, width).

    >>> import minigrad
    >>> minigrad.nn.Softmax2d()(minigrad.zeros(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise error(
                ValueError,
                "Softmax2d",
                f"expected a 3D or 4D input, got shape {tuple(input.shape)}",
                "write input.unsqueeze(0) for a single image, (c, h, w); nn.Softmax(dim) takes every shape",
            )
        return softmax.softmax(input, -3)


class PReLU(Module):
    """x where it is positive, else weight * x, with a learned weight, or one per channel.

    >>> import minigrad
    >>> minigrad.nn.PReLU()(minigrad.tensor([-4., 2.]))
    tensor([-1.,  2.], grad_fn=<PreluKernelBackward0>)
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), init, dtype=dtype, device=device))

    def forward(self, input: Tensor) -> Tensor:
        return activation.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
