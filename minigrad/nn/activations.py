"""Activations as modules: a function of nn.functional and its settings."""

from __future__ import annotations

import inspect
from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..ops import activation, elementary, softmax
from ..ops.create import full
from .misuse import made_of
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


def module(name: str, function: Any, base: type[Activation] = Activation, **settings: Any) -> type[Activation]:
    """The module of an activation."""
    return type(
        name,
        (base,),
        {
            "__doc__": function.__doc__.splitlines()[0],
            "__module__": __name__,
            "function": staticmethod(function),
            "settings": settings or base.settings,
        },
    )


ReLU = module("ReLU", activation.relu, inplace=False)
ReLU6 = module("ReLU6", activation.relu6, inplace=False)
LeakyReLU = module("LeakyReLU", activation.leaky_relu, negative_slope=0.01, inplace=False)
ELU = module("ELU", activation.elu, alpha=1.0, inplace=False)
CELU = module("CELU", activation.celu, alpha=1.0, inplace=False)
SELU = module("SELU", activation.selu, inplace=False)
GELU = module("GELU", activation.gelu, approximate="none")
SiLU = module("SiLU", activation.silu, inplace=False)
Mish = module("Mish", activation.mish, inplace=False)
Softplus = module("Softplus", activation.softplus, beta=1.0, threshold=20.0)
Softsign = module("Softsign", activation.softsign)
Softshrink = module("Softshrink", activation.softshrink, Shrink)
Hardshrink = module("Hardshrink", activation.hardshrink, Shrink)
Hardtanh = module("Hardtanh", activation.hardtanh, min_val=-1.0, max_val=1.0, inplace=False)
Hardsigmoid = module("Hardsigmoid", activation.hardsigmoid, inplace=False)
Hardswish = module("Hardswish", activation.hardswish, inplace=False)
Tanhshrink = module("Tanhshrink", activation.tanhshrink)
Tanh = module("Tanh", elementary.tanh)
Sigmoid = module("Sigmoid", elementary.sigmoid)
LogSigmoid = module("LogSigmoid", activation.logsigmoid)
GLU = module("GLU", activation.glu, dim=-1)
Softmax = module("Softmax", softmax.softmax, dim=None)
LogSoftmax = module("LogSoftmax", softmax.log_softmax, dim=None)
Softmin = module("Softmin", softmax.softmin, dim=None)


class Threshold(Module):
    """x where it is above `threshold`, else `value`."""

    def __init__(self, threshold: float, value: float, inplace: bool = False):
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        return activation.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class Softmax2d(Module):
    """softmax over the channels of (n, c, height, width) or (c, height, width)."""

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
    """x where it is positive, else weight * x, with a learned weight, or one per channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), init, dtype=dtype, device=device))

    def forward(self, input: Tensor) -> Tensor:
        return activation.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
