"""Activations of neural networks: relu, gelu, softplus, glu, ...; PyTorch's nn.functional, some also at top level.

Each is one kernel with one derivative, so that forward and backward pass over memory once.  A formula that masks large
inputs keeps its hidden branch finite: otherwise the second derivative would be 0 * inf.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ...arrays.dtypes import FLOATS
from ...arrays.kinds import number
from ...core.tensor import Tensor
from ...errors import error
from ...kernels import select
from ..base.families import Operation, Pointwise
from ..base.layouts import row_major
from ..base.registry import check_fits, choice, functions
from ..compare import limited, minimum, where
from ..dimensions import axis
from ..elementary import erf, exp, expm1, log1p, sigmoid, tanh
from ..index_places import WHOLE
from ..join import cat
from .entry import functional

SHAPES = ("T(3, 4)", "T()", "T(0, 2)", "T(4, 3).mT")
ROOT_HALF = math.sqrt(0.5)
ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
ONE_OVER_ROOT_TWO_PI = 1 / math.sqrt(2 * math.pi)
CUBE = 0.044715


class Activation(Pointwise):
    """A function of floating-point numbers that PyTorch has only in nn.functional."""

    accepts, method, inplace = "f", False, False
    samples = SHAPES

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        if "torch" not in cls.__dict__:
            cls.torch = f"nn.functional.{cls.name}"


@cache
def from_zero(dtype: np.dtype) -> tuple:
    """Return 0 and the largest number of a dtype: the conversion of Python's 0 takes as long as a small relu."""
    return number(0, dtype), number(math.inf if dtype in FLOATS else np.iinfo(dtype).max, dtype)


class Relu(Pointwise):
    """x where positive, else 0; the derivative at 0 is 0."""

    depends_on_operand, numpy_is = True, "slower"
    accepts, takes_inplace, advice = "iuf", True, "Boolean inputs not supported for relu"
    ufunc = lambda x: limited(x, *from_zero(x.dtype))
    kernel = lambda x: where(x <= 0, 0.0, x)
    dx = lambda g, out: where(out <= 0, 0.0, g)
    samples = (*SHAPES, "I(3, 9) - 4")


class Hardtanh(Activation):
    """x clamped to [lo, hi]; the derivative at the bounds is 0."""

    call = lambda lo, hi: "relu6(x)" if (lo, hi) == (0, 6) else "hardtanh(x, lo, hi)"
    depends_on_operand = True
    accepts, advice = "iuf", "Bool inputs not supported for hardtanh"
    kernel = lambda x, lo, hi: where(x < lo, lo, where(x > hi, hi, x))
    dx = lambda g, x, lo, hi: where((x > lo) & (x < hi), g, 0.0)
    n_settings = 2


class LeakyRelu(Activation):
    """x where positive, else negative_slope * x."""

    depends_on_operand = True
    takes_inplace = True
    kernel = lambda x, negative_slope: where(x > 0, x, x * negative_slope)
    dx = lambda g, x, negative_slope: where(x > 0, g, g * negative_slope)
    n_settings, defaults = 1, (0.01,)
    samples = (*SHAPES, "T(3, 4), 0.2", "T(3), negative_slope=-1.0")


class Elu(Activation):
    """scale * x where x is positive, else scale * alpha * (exp(input_scale * x) - 1)."""

    call = lambda scale, input_scale: (
        "selu(x)" if scale != 1 else "celu(x, alpha)" if input_scale != 1 else "elu(x, alpha)"
    )
    kernel = lambda x, alpha, scale, input_scale: where(x > 0, scale * x, scale * alpha * expm1(x * input_scale))
    dx = lambda g, x, alpha, scale, input_scale: where(
        x > 0, g * scale, g * (scale * alpha * input_scale * exp(where(x >= 0, 0.0, x) * input_scale))
    )
    n_settings = 3
    textbook = {
        "dx": lambda g, x, alpha, scale, input_scale: where(
            x > 0, scale * g, scale * alpha * input_scale * g * exp(input_scale * x)
        )
    }


class Gelu(Activation):
    """x times the probability that a standard normal variable is below x."""

    kernel = lambda x: x * (0.5 * (1 + erf(x * ROOT_HALF)))
    dx = lambda x: 0.5 * (1 + erf(x * ROOT_HALF)) + x * (ONE_OVER_ROOT_TWO_PI * exp(-0.5 * x * x))


class GeluTanh(Activation):
    """Approximation of gelu by tanh.  Source: Hendrycks and Gimpel, Gaussian Error Linear Units (2016)."""

    call = 'gelu(x, approximate="tanh")'
    node = "Gelu"
    name = "gelu"
    kernel = lambda x: 0.5 * x * (1 + tanh(ROOT_TWO_OVER_PI * (x + CUBE * x * x * x)))
    dx = lambda x: (
        0.5 * (1 + tanh(ROOT_TWO_OVER_PI * (x + CUBE * x * x * x)))
        + 0.5
        * x
        * (1 - tanh(ROOT_TWO_OVER_PI * (x + CUBE * x * x * x)) ** 2)
        * (ROOT_TWO_OVER_PI * (1 + 3 * CUBE * x * x))
    )


class Silu(Activation):
    """x * sigmoid(x), also called swish."""

    takes_inplace = True
    kernel = lambda x: x / (1 + exp(-x))
    dx = lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x)))


class Mish(Activation):
    """x * tanh(log(1 + exp(x))).  Source: Misra, Mish (2019)."""

    takes_inplace = True
    kernel = lambda x: x * tanh(log1p(exp(x)))
    dx = lambda x: tanh(softplus(x, 1.0, 20.0)) + x * sigmoid(x) * (1 - tanh(softplus(x, 1.0, 20.0)) ** 2)


class Softplus(Activation):
    """log(1 + exp(beta * x)) / beta, a smooth relu; x itself where beta * x > threshold and both agree up to rounding."""

    kernel = lambda x, beta, threshold: where(x * beta > threshold, x, log1p(exp(x * beta)) / beta)
    dx = lambda g, x, beta, threshold: where(x * beta > threshold, g, g * sigmoid(x * beta))
    n_settings, defaults = 2, (1.0, 20.0)
    samples = (*SHAPES, "T(3, 4), 2", "T(3, 4), 3.0, 1.0", "T(2), beta=0.5")
    textbook = {
        "dx": lambda g, x, beta: g * sigmoid(beta * x),
        "when": lambda x, beta, threshold: threshold >= 15,  # where the sigmoid is 1
    }


class Softsign(Activation):
    """x / (1 + |x|)."""

    node = "Div"
    kind = "float"
    accepts = "iuf"
    kernel = lambda x: x / (1 + abs(x))
    dx = lambda x: 1 / ((1 + abs(x)) * (1 + abs(x)))


class Logsigmoid(Activation):
    """log(sigmoid(x)), without overflow."""

    node = "LogSigmoid"
    layout = row_major
    kernel = lambda x: minimum(x, 0.0) - log1p(exp(-abs(x)))
    dx = lambda x: sigmoid(-x)


class Hardsigmoid(Activation):
    """x / 6 + 1/2 clamped to [0, 1]; the derivative at the bounds is 0."""

    takes_inplace = True
    kernel = lambda x: where(x <= -3, 0.0, where(x >= 3, 1.0, x / 6 + 0.5))
    dx = lambda g, x: where((x > -3) & (x < 3), g / 6, 0.0)
    samples = (*SHAPES, "3 * T(20)")
    differs = "it has a second derivative, and float64's gradient is exact (PyTorch multiplies by the 1/6 of float32)"


class Hardswish(Activation):
    """x * hardsigmoid(x)."""

    takes_inplace = True
    kernel = lambda x: where(x <= -3, 0.0, where(x >= 3, x, x * (x + 3) / 6))
    dx = lambda g, x: where(x <= -3, 0.0, where(x >= 3, g, g * (x / 3 + 0.5)))
    samples = (*SHAPES, "3 * T(20)")


class Hardshrink(Activation):
    """x, but 0 where |x| <= lambd; the derivative there is 0."""

    depends_on_operand = True
    torch, method = "", True
    kernel = lambda x, lambd: where((x >= -lambd) & (x <= lambd), 0.0, x)
    dx = lambda g, x, lambd: where((x < -lambd) | (x > lambd), g, 0.0)
    n_settings, defaults = 1, (0.5,)
    samples = (*SHAPES, "T(3, 4), 1.0", "T(3), lambd=0")


class Softshrink(Activation):
    """x moved towards 0 by lambd; 0 where |x| <= lambd."""

    depends_on_operand = True
    kernel = lambda x, lambd: where(x > lambd, x - lambd, where(x < -lambd, x + lambd, x * 0))
    dx = lambda g, x, lambd: where((x < -lambd) | (x > lambd), g, 0.0)
    n_settings = 1


class Threshold(Activation):
    """x where above the threshold, else value."""

    depends_on_operand = True
    accepts, takes_inplace, torch = "iuf", True, ""
    kernel = lambda x, threshold, value: where(x <= threshold, value, x)
    dx = lambda g, x, threshold: where(x <= threshold, 0.0, g)
    operands = ("input", "threshold", "value")
    n_settings = 2


class Gated(Activation):
    """x times the sigmoid of a gate."""

    kind = "float"
    accepts = "iuf"
    kernel = lambda x, gate: x * sigmoid(gate)
    dx = lambda gate: sigmoid(gate)
    dgate = lambda x, gate: x * ((1 - sigmoid(gate)) * sigmoid(gate))


class GateSlope(Activation):
    """Gradient of Gated by the gate."""

    call = "up * x * (1 - sigmoid(gate)) * sigmoid(gate)"
    kernel = lambda up, x, gate: up * x * ((1 - sigmoid(gate)) * sigmoid(gate))
    dup = lambda x, gate: x * ((1 - sigmoid(gate)) * sigmoid(gate))
    dx = lambda up, gate: up * ((1 - sigmoid(gate)) * sigmoid(gate))
    dgate = lambda up, x, gate: up * x * ((1 - sigmoid(gate)) * sigmoid(gate) * (1 - 2 * sigmoid(gate)))


class Glu(Operation):
    """The first half along a dimension, times the sigmoid of the second."""

    dx = lambda g, x, dim: glu_gradient(g, x, dim)
    batch = lambda x, dim: (x, dim + 1)

    @staticmethod
    def impl(x: np.ndarray, dim: int) -> np.ndarray:
        lead, half = (WHOLE,) * dim, x.shape[dim] // 2  # np.split takes as long as the work
        return select.forward(Gated, (x[(*lead, slice(half))], x[(*lead, slice(half, None))]))


class Prelu(Activation):
    """x where positive, else weight * x."""

    autocast = "half"
    node, operands = "PreluKernel", ("input", "weight")
    depends_on_operand = True
    kernel = lambda x, weight: where(x > 0, x, weight * x)
    dx = lambda g, x, weight: where(x > 0, g, weight * g)
    dweight = lambda g, x, weight: where(x > 0, 0.0, x * g)


relu, leaky_relu, silu, mish, softplus, softsign, logsigmoid, hardsigmoid, hardswish, hardshrink = functions(
    Relu, LeakyRelu, Silu, Mish, Softplus, Softsign, Logsigmoid, Hardsigmoid, Hardswish, Hardshrink
)
# PyTorch's constants of selu, which keep activations at mean 0 and variance 1.  Source: Klambauer et al. (2017).
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def bounded(*samples: str, **options: Any) -> Any:
    """Enter an activation of nn.functional that chooses its class, without a method."""
    return choice(*samples, inplace=False, **{"method": False, **options})


@bounded(*SHAPES, "T(3, 4), 0.5", "T(3), alpha=2.0", cls=Elu, torch="nn.functional.elu")
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Any:
    """Return x where positive, else alpha * (exp(x) - 1)."""
    check_fits("elu", input, alpha)
    return Elu, (input, alpha, 1.0, 1.0), inplace


@bounded(*SHAPES, cls=Elu)
def selu(input: Tensor, inplace: bool = False) -> Any:
    """Apply elu with the scale and alpha that keep activations at mean 0 and variance 1."""
    return Elu, (input, SELU_ALPHA, SELU_SCALE, 1.0), inplace


class Celu(Elu):
    """elu with exp(x / alpha), whose slope is 1 on both sides of 0."""

    name = "celu"


@bounded(*SHAPES, "T(3, 4), 0.5", "T(3), alpha=2.0", cls=Celu)
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Any:
    """Return x where positive, else alpha * (exp(x / alpha) - 1).  Raises RuntimeError for alpha = 0."""
    if alpha == 0:
        raise error(RuntimeError, "celu", "ZeroDivisionError: alpha cannot be 0 for CELU", "use relu, its limit")
    check_fits("celu", input, alpha)
    return Celu, (input, alpha, 1.0, 1.0 / alpha), inplace


@bounded(*SHAPES, "T(3, 4), approximate='tanh'", "T(), approximate='tanh'", cls=Gelu, torch="nn.functional.gelu")
def gelu(input: Tensor, approximate: str = "none") -> Any:
    """Return x times the probability that a standard normal variable is below x; approximate="tanh" estimates it.

    Raises RuntimeError for other values of `approximate`.

    >>> import minigrad
    >>> gelu(minigrad.tensor([-1., 0., 1.]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    if approximate not in ("none", "tanh"):
        what = f"approximate argument must be either none or tanh, got {approximate!r}"
        raise error(RuntimeError, "gelu", what, "write approximate='none' or approximate='tanh'")
    return (GeluTanh if approximate == "tanh" else Gelu), (input,)


@functional(*SHAPES)
def tanhshrink(input: Tensor) -> Tensor:
    """Return x - tanh(x)."""
    return input - tanh(input)


@bounded(*SHAPES, "T(3, 4), -0.5, 0.7", "T(4), min_val=-2", "I(3, 9) - 4", cls=Hardtanh, torch="nn.functional.hardtanh")
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """Clamp x to [`min_val`, `max_val`].  Raises ValueError if min_val is greater."""
    if min_val > max_val:
        raise error(
            ValueError, "hardtanh", f"min_val cannot be greater than max_val, got {min_val} and {max_val}", "swap them"
        )
    check_fits("hardtanh", input, min_val, max_val)
    return Hardtanh, (input, min_val, max_val), inplace


@bounded(*SHAPES, "5 * T(20)", "I(3, 9)", cls=Hardtanh, torch="nn.functional.relu6")
def relu6(input: Tensor, inplace: bool = False) -> Any:
    """Clamp x to [0, 6]."""
    return Hardtanh, (input, 0.0, 6.0), inplace


@bounded(*SHAPES, "T(3, 4), 1.0", "T(3), lambd=0", cls=Softshrink, torch="nn.functional.softshrink")
def softshrink(input: Tensor, lambd: float = 0.5) -> Any:
    """Move x towards 0 by `lambd`; the result is 0 where |x| <= lambd.  Raises RuntimeError for a negative lambd."""
    if lambd < 0:
        what = f"lambda must be greater or equal to 0, but found to be {lambd}"
        raise error(RuntimeError, "softshrink", what, "pass a lambd of at least 0: 0.5")
    check_fits("softshrink", input, lambd)
    return Softshrink, (input, lambd)


@bounded("T(3, 4), 0.1, 20.0", "T(), 0, 1", "T(0), 0.5, 2", "I(3, 9), 4, 7", cls=Threshold)
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Any:
    """Return x where above `threshold`, else `value`."""
    check_fits("threshold", input, threshold, value)
    return Threshold, (input, threshold, value), inplace


@bounded(
    "T(2, 3, 4), T(3)",
    "T(2, 3), T(1)",
    "T(3), T(1)",
    "T(), T(1)",
    "T(2, 3), T()",
    "T(0, 3), T(3)",
    cls=Prelu,
    method=True,
)
def prelu(input: Tensor, weight: Tensor) -> Any:
    """Return x where positive, else weight * x, with one weight, or one for each index of dimension 1.

    Raises RuntimeError for another number of weights, or weights of another dtype.
    """
    if weight.ndim > 1:
        what = f"Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}"
        raise error(RuntimeError, "prelu", what, "write weight.flatten(): one weight, or one for each channel")
    if weight.dtype != input.dtype:
        what = f"Type promoting not supported. Got {input.dtype} and {weight.dtype}"
        raise error(RuntimeError, "prelu", what, "convert one: weight.to(input.dtype)")
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.numel() not in (1, channels):
        found = f"Found parameter numbers = {weight.numel()} and channel size = {channels}"
        what = f"Mismatch of parameter numbers and input channel size. {found}"
        raise error(RuntimeError, "prelu", what, "give one weight, or one for each index of dimension 1")
    if input.ndim > 1:
        weight = weight.reshape((weight.numel(), *(1,) * (input.ndim - 2)))
    return Prelu, (input, weight.reshape(()) if input.ndim == 0 else weight)


@functional("T(3, 4)", "T(4, 3), 0", "T(2, 6, 3), dim=-2", "T(0, 2)", "T(4, 6).mT, 0")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return the first half along `dim` times the sigmoid of the second.  Raises RuntimeError for an odd size.

    >>> import minigrad
    >>> glu(minigrad.tensor([1., 2., 0., 0.]))
    tensor([0.5000, 1.0000])
    """
    if input.ndim == 0:
        what = "does not support scalars because halving size must be even"
        raise error(RuntimeError, "glu", what, "give it a dimension of even size")
    d = axis(dim, input.ndim, "glu")
    if input.shape[d] % 2:
        what = f"Halving dimension must be even, but dimension {d} is size {input.shape[d]}"
        fix = "choose a dimension of even size with dim=: glu gates one half by the other"
        raise error(RuntimeError, "glu", what, fix)
    return Glu.apply(input, d)


def glu_gradient(g: Tensor, x: Tensor, dim: int) -> Tensor:
    """Return the gradient of both halves, the gated one and the gate."""
    half, gate = x.tensor_split(2, dim)
    return cat([Gated.apply(g, gate), GateSlope.apply(g, half, gate)], dim)
