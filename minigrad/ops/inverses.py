"""Inverses of the sigmoid and of the error function, and powers in double precision."""

from __future__ import annotations

import math
from typing import Any

from ..arrays import dtypes
from ..core.inplace import inplace
from ..core.tensor import Tensor
from ..errors import error
from .base.registry import TABLE, functions, op
from .compare import clamp, where
from .elementary import Elementary, exp, log, special  # noqa: F401  (formulas use them)
from .pointwise import Pow, pow

HALF_ROOT_PI = math.sqrt(math.pi) / 2


class Logit(Elementary):
    """log(x / (1 - x)), the inverse of sigmoid."""

    call = "logit(x)"
    kernel = lambda x: log(x / (1 - x))
    dx = lambda g, x: where((x >= 0) & (x <= 1), g / ((x + 0.0) * (1 - x)), math.nan)  # -0.0 + 0.0 is 0.0


class Erfinv(Elementary):
    """The inverse of the error function; infinite at -1 and 1, NaN beyond."""

    ufunc = lambda x: special("erfinv")(x)
    kernel = lambda x: erfinv(x)
    dx = lambda out: HALF_ROOT_PI * exp(out * out)
    domain, numpy_is = (-0.9, 0.9), "slow"


(erfinv,) = functions(Erfinv)


@op(
    "T(3, 4)",
    "T()",
    "T(0, 2)",
    "T(4, 3).mT",
    "T(3, 4), 0.3",
    "T(3), eps=0.2",
    domain=(0.1, 0.9),
    inplace=True,
    out=True,
)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """Return log(x / (1 - x)), the inverse of sigmoid: NaN outside [0, 1], unless `eps` clamps x to [eps, 1 - eps] first.

    >>> import minigrad
    >>> minigrad.logit(minigrad.tensor([0.5, 0.75]))
    tensor([0.0000, 1.0986])
    """
    return Logit.apply(input if eps is None else clamp(input, eps, 1 - eps))


@op("P(3, 4), 2", "P(3, 4), P(4)", "2.0, T(3)", "I(3, 5), I(3, 5)", "I(3, 5) + 1, -2", out=True)
def float_power(input: Any, exponent: Any) -> Tensor:
    """Raise input to the power of exponent in float64, whatever their dtypes.

    >>> import minigrad
    >>> minigrad.float_power(minigrad.tensor([2, 4]), -1)
    tensor([0.5000, 0.2500], dtype=minigrad.float64)
    """
    x, y = (a.to(dtypes.float64) if isinstance(a, Tensor) else float(a) for a in (input, exponent))
    return pow(x, y)


def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """In-place form of float_power, for tensors of float64."""
    if self.dtype != dtypes.float64:
        what = f"the base has dtype {self.dtype.name}, but the result has dtype float64"
        raise error(RuntimeError, "float_power_", what, "write x = x.float_power(exponent)")
    return inplace(Pow, self, exponent.to(dtypes.float64) if isinstance(exponent, Tensor) else float(exponent))


def polygamma_(self: Tensor, n: int) -> Tensor:
    """In-place form of polygamma."""
    cls, operands = TABLE["polygamma"].choose(n, self)
    return inplace(cls, *operands)


METHODS = {"float_power_": float_power_, "polygamma_": polygamma_}
