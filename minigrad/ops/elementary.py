"""Elementary and special functions: exponentials, logarithms, roots, trigonometry, hyperbolic functions, erf, lgamma.

Each is a class of a few lines: `kernel` for one number, `ufunc` for arrays, and the derivative.  Integers are converted
to the default dtype.  Formulas read what PyTorch's read: exp, tanh, sqrt save their result, the others their input.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..errors import error
from .base.families import Pointwise
from .base.registry import choice, functions
from .compare import where  # noqa: F401  (formulas use it)

POSITIVE = (0.1, 3.0)
LN2, LN10 = math.log(2), math.log(10)
TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
# coefficients of the series of sinc's derivative: (-1)**(k+1) * pi**(2k+2) / (2**k * k! * (2k+3)!!)
SINC = (3, 30, 840, 45360, 3991680, 518918400)
S0, S1, S2, S3, S4, S5 = [-((-1) ** k) * math.pi ** (2 * k + 2) / d for k, d in enumerate(SINC)]
PAIRS = ("T(3, 4), T(3, 4)", "T(3, 1), T(4)", "T(2, 3), T()", "T(), T()", "T(0, 2), T(2)", "T(4, 3).mT, T(1, 4)")


@cache
def special(name: str) -> Any:
    """Return a function of scipy.special, imported on first use, because the import takes a while."""
    import scipy.special

    return getattr(scipy.special, name)


class Elementary(Pointwise):
    """A smooth function of floating-point numbers."""

    kind = "float"


# ---------------------------------------------------------------------- exponentials, logarithms, roots
class Exp(Elementary):
    """e to the power of x."""

    spelling = "recognize_softmax"
    ufunc, numpy_is = np.exp, "vectorised"
    kernel = lambda x: math.exp(x)
    dx = lambda out: out


class Exp2(Elementary):
    """2 to the power of x."""

    ufunc, numpy_is = np.exp2, "vectorised"
    kernel = lambda x: 2.0**x
    dx = lambda out: out * LN2


class Expm1(Elementary):
    """exp(x) - 1, accurate for small x too."""

    ufunc, numpy_is = np.expm1, "vectorised"
    kernel = lambda x: math.expm1(x)
    dx = lambda out: out + 1


class Log(Elementary):
    """Natural logarithm."""

    ufunc, numpy_is = np.log, "quick"
    kernel = lambda x: math.log(x)
    dx = lambda x: 1 / x
    domain = POSITIVE


class Log1P(Elementary):
    """log(1 + x), accurate for small x too."""

    ufunc, numpy_is = np.log1p, "quick"
    kernel = lambda x: math.log1p(x)
    dx = lambda x: 1 / (x + 1)
    domain = (-0.8, 3.0)


class Log2(Elementary):
    """Logarithm to base 2."""

    ufunc, numpy_is = np.log2, "quick"
    kernel = lambda x: math.log2(x)
    dx = lambda x: 1 / (x * LN2)
    domain = POSITIVE


class Log10(Elementary):
    """Logarithm to base 10."""

    ufunc, numpy_is = np.log10, "quick"
    kernel = lambda x: math.log10(x)
    dx = lambda x: 1 / (x * LN10)
    domain = POSITIVE


class Sqrt(Elementary):
    """Square root; its derivative at 0 is infinite."""

    ufunc, numpy_is = np.sqrt, "vectorised"
    kernel = lambda x: math.sqrt(x)
    dx = lambda out: 1 / (2 * out)
    domain = POSITIVE


class Rsqrt(Elementary):
    """1 / sqrt(x)."""

    ufunc = lambda x: 1 / np.sqrt(x)
    kernel = lambda x: 1 / math.sqrt(x)
    dx = lambda out: -0.5 * (out * out * out)
    domain, numpy_is = POSITIVE, "vectorised"


class Hypot(Pointwise):
    """Length of the hypotenuse, sqrt(x*x + y*y), without intermediate overflow."""

    accepts = "f"
    ufunc, numpy_is = np.hypot, "slow"
    kernel = lambda x, y: math.hypot(x, y)
    dx = lambda x, out: x / out
    dy = lambda y, out: y / out
    samples = PAIRS


class Logaddexp(Pointwise):
    """log(exp(x) + exp(y)), without intermediate overflow."""

    accepts, inplace = "f", False
    ufunc, numpy_is = np.logaddexp, "slow"
    kernel = lambda x, y: where(x == y, x + LN2, where(x > y, x, y) + log1p(exp(-abs(x - y))))
    dx = lambda x, y: sigmoid(x - y)
    dy = lambda x, y: sigmoid(y - x)
    samples = PAIRS


class Xlogy(Elementary):
    """x * log(y); 0 where x is 0 (unless y is NaN)."""

    number_nodes = {0: "XlogyBackward1", 1: "XlogyBackward2"}
    kernel = lambda x, y: where((x == 0) & (y == y), 0.0, x * log(y))
    dx = lambda g, x, y: where((x == 0) & (y <= 0), 0.0, g * log(y))
    dy = lambda x, y: x / y
    domain = POSITIVE
    samples = (*PAIRS, "T(3, 4), 2.0", "2, T(3)", "I(2, 3, 3), T(3)")


# ---------------------------------------------------------------------- trigonometric
class Sin(Elementary):
    """Sine of x in radians."""

    ufunc, numpy_is = np.sin, "vectorised"
    kernel = lambda x: math.sin(x)
    dx = lambda x: cos(x)


class Cos(Elementary):
    """Cosine of x in radians."""

    ufunc, numpy_is = np.cos, "vectorised"
    kernel = lambda x: math.cos(x)
    dx = lambda x: -sin(x)


class Tan(Elementary):
    """Tangent of x in radians."""

    ufunc, numpy_is = np.tan, "quick"
    kernel = lambda x: math.tan(x)
    dx = lambda out: 1 + out * out
    domain = (-1.2, 1.2)


class Asin(Elementary):
    """The angle in [-pi/2, pi/2] whose sine is x; NaN outside [-1, 1]."""

    ufunc, numpy_is = np.arcsin, "quick"
    kernel = lambda x: math.asin(x)
    dx = lambda x: rsqrt(1 - x * x)
    domain = (-0.9, 0.9)
    aliases = ("arcsin",)


class Acos(Elementary):
    """The angle in [0, pi] whose cosine is x; NaN outside [-1, 1]."""

    ufunc, numpy_is = np.arccos, "quick"
    kernel = lambda x: math.acos(x)
    dx = lambda x: -rsqrt(1 - x * x)
    domain = (-0.9, 0.9)
    aliases = ("arccos",)


class Atan(Elementary):
    """The angle in (-pi/2, pi/2) whose tangent is x."""

    ufunc, numpy_is = np.arctan, "quick"
    kernel = lambda x: math.atan(x)
    dx = lambda x: 1 / (x * x + 1)
    aliases = ("arctan",)


class Atan2(Elementary):
    """The angle in [-pi, pi] of the point (other, input).  At (0, 0) its derivatives are 0."""

    ufunc, numpy_is = np.arctan2, "quick"
    kernel = lambda x, y: math.atan2(x, y)
    # divide by the length, not its square, which is 0 in float32 for points of 1e-23
    dx = lambda g, x, y: where((x == 0) & (y == 0), 0.0, g * (y / hypot(x, y) / hypot(x, y)))
    dy = lambda g, x, y: where((x == 0) & (y == 0), 0.0, g * (-x / hypot(x, y) / hypot(x, y)))
    aliases = ("arctan2",)
    samples = PAIRS
    textbook = {"dx": lambda g, x, y: g * y / (x**2 + y**2), "dy": lambda g, x, y: -g * x / (x**2 + y**2)}


class Sinc(Elementary):
    """sin(pi x) / (pi x); 1 at 0."""

    ufunc, numpy_is = np.sinc, "slower"
    kernel = lambda x: where(x == 0, 1.0, sin(math.pi * x) / (math.pi * x))
    # near 0 the difference loses all digits; the series is right to the last one, and so are its derivatives
    dx = lambda g, x: g * where(abs(x) < 0.1, x * (
        S0 + where(abs(x) < 0.1, x * x, 0.0) * (S1 + where(abs(x) < 0.1, x * x, 0.0) * (
        S2 + where(abs(x) < 0.1, x * x, 0.0) * (S3 + where(abs(x) < 0.1, x * x, 0.0) * (
        S4 + where(abs(x) < 0.1, x * x, 0.0) * S5
    ))))), (cos(math.pi * x) - sinc(x)) / where(abs(x) < 0.1, 1.0, x))  # fmt: skip
    textbook = {
        "dx": lambda g, x: g * (cos(math.pi * x) - sinc(x)) / x,
        "when": lambda x: bool((abs(x) >= 0.1).all()),
    }


class Deg2Rad(Elementary):
    """Degrees to radians."""

    ufunc = lambda x: x * (math.pi / 180)
    kernel = lambda x: x * (math.pi / 180)
    dx = lambda: math.pi / 180


class Rad2Deg(Elementary):
    """Radians to degrees."""

    ufunc = lambda x: x * (180 / math.pi)
    kernel = lambda x: x * (180 / math.pi)
    dx = lambda: 180 / math.pi


# ---------------------------------------------------------------------- hyperbolic
class Sinh(Elementary):
    """Hyperbolic sine."""

    ufunc, numpy_is = np.sinh, "vectorised"
    kernel = lambda x: math.sinh(x)
    dx = lambda x: cosh(x)


class Cosh(Elementary):
    """Hyperbolic cosine."""

    ufunc, numpy_is = np.cosh, "vectorised"
    kernel = lambda x: math.cosh(x)
    dx = lambda x: sinh(x)


class Tanh(Elementary):
    """Hyperbolic tangent."""

    ufunc, numpy_is = np.tanh, "quick"
    kernel = lambda x: math.tanh(x)
    dx = lambda out: 1 - out * out


class Asinh(Elementary):
    """Inverse hyperbolic sine."""

    ufunc, numpy_is = np.arcsinh, "quick"
    kernel = lambda x: math.asinh(x)
    dx = lambda x: 1 / hypot(x, 1.0)  # x * x overflows
    aliases = ("arcsinh",)


class Acosh(Elementary):
    """Inverse hyperbolic cosine; NaN below 1."""

    ufunc, numpy_is = np.arccosh, "quick"
    kernel = lambda x: math.acosh(x)
    dx = lambda x: rsqrt(x * x - 1)
    domain = (1.2, 3.0)
    aliases = ("arccosh",)


class Atanh(Elementary):
    """Inverse hyperbolic tangent; NaN outside [-1, 1]."""

    ufunc, numpy_is = np.arctanh, "quick"
    kernel = lambda x: math.atanh(x)
    dx = lambda x: 1 / (1 - x * x)
    domain = (-0.9, 0.9)
    aliases = ("arctanh",)


class Sigmoid(Elementary):
    """1 / (1 + exp(-x)): from 0 to 1, 1/2 at 0."""

    kernel = lambda x: 1 / (1 + exp(-x))
    dx = lambda out: (1 - out) * out


# ---------------------------------------------------------------------- special functions
class Erf(Elementary):
    """The error function: 2 / sqrt(pi) times the integral of exp(-t*t) from 0 to x."""

    ufunc, numpy_is = (lambda x: special("erf")(x)), "slow"
    kernel = lambda x: math.erf(x)
    dx = lambda x: TWO_OVER_ROOT_PI * exp(-x * x)


class Erfc(Elementary):
    """1 - erf(x), accurate where erf is close to 1 too."""

    ufunc, numpy_is = (lambda x: special("erfc")(x)), "slow"
    kernel = lambda x: math.erfc(x)
    dx = lambda x: -TWO_OVER_ROOT_PI * exp(-x * x)


class Lgamma(Elementary):
    """Logarithm of the absolute value of the gamma function; infinite at 0, -1, -2, ..."""

    ufunc = lambda x: np.where(np.isinf(x), np.inf, special("gammaln")(x))
    kernel = lambda x: math.lgamma(x)
    dx = lambda x: digamma(x)
    domain, numpy_is = POSITIVE, "slow"


class Digamma(Elementary):
    """Derivative of lgamma."""

    kernel = lambda x: special("psi")(x)
    dx = lambda x: trigamma(x)
    domain = POSITIVE


def trigamma(x: Any) -> Any:
    """Return the derivative of digamma, in formulas."""
    return polygamma(1, x)


class Trigamma(Elementary):
    """Derivative of digamma."""

    call = "polygamma(1, x)"
    name, node, numpy_is = "polygamma", "Polygamma", "slow"
    ufunc = lambda x: zeta(2, x)
    kernel = lambda x: trigamma(x)
    dx = lambda x: polygamma(2, x)


def zeta(s: Any, x: Any) -> Any:
    """Return Hurwitz's zeta function, in formulas on arrays; NaN at -inf, which is no pole."""
    return np.where(x == -math.inf, math.nan, special("zeta")(s, x)).astype(x.dtype)


class Polygamma(Elementary):
    """The n-th derivative of digamma, for n >= 1; `factor` is n! with its sign."""

    call = "polygamma(n, x)"
    kernel = ufunc = lambda x, n, factor: factor * zeta(n + 1, x)
    dx = lambda x, n: polygamma(n + 1, x)
    n_settings = 2


(exp, exp2, expm1, log, log1p, log2, log10, sqrt, rsqrt, hypot, logaddexp, xlogy) = functions(
    Exp, Exp2, Expm1, Log, Log1P, Log2, Log10, Sqrt, Rsqrt, Hypot, Logaddexp, Xlogy
)
(sin, cos, tan, asin, acos, atan, atan2, sinc, deg2rad, rad2deg) = functions(
    Sin, Cos, Tan, Asin, Acos, Atan, Atan2, Sinc, Deg2Rad, Rad2Deg
)
(sinh, cosh, tanh, asinh, acosh, atanh, sigmoid, erf, erfc, lgamma, digamma) = functions(
    Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Sigmoid, Erf, Erfc, Lgamma, Digamma
)
arcsin, arccos, arctan, arctan2, arcsinh, arccosh, arctanh = asin, acos, atan, atan2, asinh, acosh, atanh


@choice(
    "1, T(3, 4)",
    "2, T(3)",
    "0, T()",
    "1, T(0)",
    "1, T(4, 3).mT",
    cls=Polygamma,
    domain=POSITIVE,
    inplace=False,
    in_formulas=False,
    method=lambda self, n: polygamma(n, self),
)
def polygamma(n: int, input: Tensor) -> Any:
    """Return the n-th derivative of digamma.  Raises RuntimeError for negative n.

    From n = 171 on its factor n! is infinite, as in PyTorch.

    >>> import minigrad
    >>> minigrad.polygamma(1, minigrad.tensor(1.))  # pi**2 / 6
    tensor(1.6449)
    """
    if n < 0:
        what = f"polygamma(n, x) does not support negative n, got {n}"
        raise error(RuntimeError, "polygamma", what, "use lgamma, whose derivative is n = 0")
    if n < 2:
        return (Digamma, Trigamma)[n], (input,)
    size = float(math.factorial(n)) if n <= 170 else math.inf
    return Polygamma, (input, n, size if n % 2 else -size)
