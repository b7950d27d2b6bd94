"""Special functions of torch.special: Bessel functions, the normal distribution, entropy, zeta, the multivariate lgamma.

SciPy computes those without a formula; derivatives are formulas in each other.  Elementary ones: elementary.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from ..arrays.kinds import on_host
from ..core.tensor import Tensor
from ..errors import error
from .base.families import Pointwise
from .base.registry import functions, op
from .compare import where
from .elementary import (
    PAIRS,
    POSITIVE,
    TWO_OVER_ROOT_PI,
    Elementary,
    erfc,
    exp,
    exp2,
    lgamma,
    log,
    log1p,
    special,
)
from .join import room_for
from .pointwise import sign

ROOT_HALF, LOG2_E = math.sqrt(0.5), 1 / math.log(2)
ROOT_TWO_PI, ROOT_TWO_OVER_PI = math.sqrt(2 * math.pi), math.sqrt(2 / math.pi)


def by_scipy(name: str, *operands: Any) -> Any:
    """Evaluate a function of scipy.special for arrays on any device, and numbers."""
    return on_host(special(name), *operands)


def slope_of_i1(x: Any) -> Any:
    """Return the series of i1's derivative near 0, where the difference of two functions loses all digits."""
    return series((1 / 2, 3 / 16, 5 / 384, 7 / 18432, 1 / 163840, 11 / 176947200, 13 / 29727129600), x * x)


def far_slope_of_erfcx(x: Any) -> Any:
    """Return the asymptotic series of erfcx's derivative for large x, (2n+1)!! / (-2 x*x)**n over n."""
    u = 1 / (x * x)
    terms = [math.prod(range(1, 2 * n + 2, 2)) / (-2) ** n for n in range(13)]
    return -0.5 * TWO_OVER_ROOT_PI * u * series(terms, u)


def series(coefficients: Sequence[float], x: Any) -> Any:
    """Return a polynomial by Horner's rule, for tensors and arrays."""
    *rest, found = coefficients
    for c in reversed(rest):
        found = c + x * found
    return found


class Special(Elementary):
    """A function that PyTorch has only in torch.special."""

    method, inplace = False, False

    def __init_subclass__(cls, **options: Any):
        cls.node = f"Special{cls.__name__}"
        super().__init_subclass__(**options)
        cls.torch = f"special.{cls.name}"


# ---------------------------------------------------------------------- Bessel functions
class I0(Elementary):
    """The modified Bessel function of the first kind and order 0."""

    kernel = lambda x: by_scipy("i0", x)
    dx = lambda x: i1(x)


class I0E(Special):
    """exp(-|x|) times i0, which does not overflow."""

    kernel = lambda x: by_scipy("i0e", x)
    dx = lambda x, out: i1e(x) - sign(x) * out


class I1(Special):
    """The modified Bessel function of the first kind and order 1."""

    kernel = lambda x: by_scipy("i1", x)
    dx = lambda x, out: where(
        abs(x) > 0.5, i0(x) - out / where(abs(x) > 0.5, x, 1.0), slope_of_i1(where(abs(x) > 0.5, 0.0, x))
    )
    textbook = {"dx": lambda x, out: i0(x) - out / x, "when": lambda x: bool((abs(x) > 0.5).all())}


class I1E(Special):
    """exp(-|x|) times i1, which does not overflow."""

    kernel = lambda x: by_scipy("i1e", x)
    dx = lambda x, out: where(
        abs(x) > 0.5,
        i0e(x) - out * (sign(x) + 1 / where(abs(x) > 0.5, x, 1.0)),
        exp(-abs(x)) * slope_of_i1(where(abs(x) > 0.5, 0.0, x)) - sign(x) * out,
    )


# ---------------------------------------------------------------------- the normal distribution
class Erfcx(Special):
    """exp(x*x) times erfc(x), which does not underflow."""

    kernel = lambda x: by_scipy("erfcx", x)
    dx = lambda x, out: where(x > 8, far_slope_of_erfcx(where(x > 8, x, 8.0)), 2 * x * out - TWO_OVER_ROOT_PI)
    textbook = {"dx": lambda x, out: 2 * x * out - TWO_OVER_ROOT_PI, "when": lambda x: bool((x <= 8).all())}


class Ndtri(Special):
    """The quantile of the standard normal distribution at probability x: the inverse of ndtr."""

    kernel = lambda x: by_scipy("ndtri", x)
    dx = lambda out: ROOT_TWO_PI * exp(0.5 * out * out)
    domain = (0.05, 0.95)


class LogNdtr(Special):
    """The logarithm of ndtr, accurate for small probabilities too."""

    kernel = lambda x: by_scipy("log_ndtr", x)
    # above 9 ndtr is 1, and erfcx overflows
    dx = lambda x: where(
        x > 9, exp(-0.5 * x * x) / ROOT_TWO_PI, ROOT_TWO_OVER_PI / erfcx(-ROOT_HALF * where(x > 9, 0.0, x))
    )


# ---------------------------------------------------------------------- logarithms
class Entr(Special):
    """The entropy -x * log(x): 0 at 0, and -inf for negative x."""

    kernel = lambda x: where(x > 0, -x * log(x), where(x == 0, 0.0, where(x < 0, -math.inf, x)))
    dx = lambda x: -log(x) - 1
    domain = POSITIVE


class Xlog1Py(Special):
    """x * log1p(y); 0 where x is 0 (unless y is NaN)."""

    number_nodes = {0: "SpecialXlog1PyBackward1", 1: "SpecialXlog1PyBackward2"}
    kernel = lambda x, y: where((x == 0) & (y == y), 0.0, x * log1p(y))
    dx = lambda g, x, y: where((x == 0) & (y <= -1), 0.0, g * log1p(y))
    dy = lambda x, y: x / (y + 1)
    domain = (-0.8, 3.0)
    samples = (*PAIRS, "T(3, 4), 2.0", "2, T(3)", "I(2, 3, 3), T(3)")


class Logaddexp2(Pointwise):
    """log2(2**x + 2**y), without intermediate overflow."""

    accepts, inplace = "f", False
    ufunc, numpy_is = np.logaddexp2, "slow"
    kernel = lambda x, y: where(x == y, x + 1, where(x > y, x, y) + LOG2_E * log1p(exp2(-abs(x - y))))
    dx = lambda x, y: 1 / (1 + exp2(y - x))
    dy = lambda x, y: 1 / (1 + exp2(x - y))
    samples = PAIRS


# ---------------------------------------------------------------------- zeta and gamma
class Zeta(Special):
    """Hurwitz's zeta function, the sum of (k + q)**-x over k = 0, 1, ...; only q has a derivative."""

    number_nodes = {0: "SpecialZetaBackward1", 1: "SpecialZetaBackward2"}
    operands = ("input", "other")
    kernel = lambda x, q: by_scipy("zeta", x, q)
    dx = lambda g: no_derivative("special.zeta", "input")
    dq = lambda x, q: -x * zeta(x + 1, q)
    samples = ("2.5, P(3, 4)", "3, P(2)", "2.0, P()")


def no_derivative(who: str, operand: str) -> NoReturn:
    """Raise NotImplementedError for an operand whose derivative has no closed form."""
    what = f"the derivative with respect to {operand} is not implemented: it has no closed form"
    raise error(NotImplementedError, who, what, f"write {operand}.detach()")


(i0, i0e, i1, i1e, erfcx, ndtri, log_ndtr) = functions(I0, I0E, I1, I1E, Erfcx, Ndtri, LogNdtr)
(entr, xlog1py, logaddexp2, zeta) = functions(Entr, Xlog1Py, Logaddexp2, Zeta)


@op("T(3, 4)", "T()", "T(0, 2)", "I(3, 4)", torch="special.ndtr", method=False, out=True, node="MulBackward1")
def ndtr(input: Tensor) -> Tensor:
    """Return the probability that a standard normal variable is below x.

    >>> import minigrad
    >>> minigrad.special.ndtr(minigrad.tensor([0., 1.96]))
    tensor([0.5000, 0.9750])
    """
    return erfc(input * -ROOT_HALF) * 0.5


@op("T(3, 4), 2", "T(), 3", "T(0, 2), 1", "I(3, 4) + 2, 2", domain=(1.5, 4.0), inplace=True, out=True, node="Mvlgamma")
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """Return the logarithm of the gamma function of p dimensions, which normalizes Wishart's distribution: the sum over
    i < p of lgamma(x - i/2), plus p * (p-1) / 4 * log(pi).

    Raises RuntimeError for p < 1.
    """
    if p < 1:
        raise error(RuntimeError, "mvlgamma", f"p must be greater than or equal to 1, got {p}", "write p=1 for lgamma")
    room_for("mvlgamma", p, "terms")
    x = input.contiguous()  # the memory order of PyTorch's result
    total = lgamma(x)
    for i in range(1, p):
        total = total + lgamma(x - i / 2)
    return total + p * (p - 1) / 4 * math.log(math.pi)
