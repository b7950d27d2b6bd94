"""The incomplete gamma function, and draws from gamma distributions, with derivatives of any order.

F(a, x) is the probability that a gamma variable of shape a is below x, and p(a, x) its density.  A draw counts as the x at
which F equals a uniform number u, and so as a function of a: F(a, x) = u stays true if dx/da = -(dF/da) / p (implicit
reparameterisation: Figurnov, Mohamed, Mnih, "Implicit Reparameterization Gradients", 2018).  `slope` is this dx/da, or
its derivative with respect to a: programs of other operations, which are themselves differentiable.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ..arrays import dtypes
from ..arrays.kinds import on_device, to_device_of
from ..core.frames import OFF, use
from ..core.tensor import Tensor, wrap
from .base.families import Operation, Pointwise
from .compare import clamp, where
from .copy import detach
from .elementary import digamma, exp, expm1, lgamma, log, polygamma, special, sqrt, xlogy
from .from_data import as_tensor
from .generator import Generator, source
from .random import per_example

ORDER = 48  # points of the integral
TERMS = 20  # of the series for x <= 1: 1 / 20! is below the last digit
LOWEST = -40.0  # the integral ends where its integrand is exp(LOWEST) of its first value


class OfTwo(Operation):
    """Broadcast two operands as pointwise operations do; SciPy computes in double precision."""

    n_conditions, n_settings = 0, 0  # both are operands, as Pointwise.vmap requires

    def vmap(info: Any, in_dims: tuple, *args: Tensor) -> tuple:
        """Make the ranks behind the batch dimension equal, as for every operation that broadcasts."""
        return Pointwise.vmap(info, in_dims, *args)


class Gammainc(OfTwo):
    """F(a, x)."""

    impl = lambda a, x: by_scipy("gammainc", a, x)
    da = lambda g, a, x: -g * standard_gamma_grad(a, x) * density(a, x)
    dx = lambda g, a, x: g * density(a, x)


class StandardGammaGrad(OfTwo):
    """dx/da at constant F(a, x): the derivative of a draw with respect to its shape."""

    impl = lambda a, x: slope_of_arrays(a, x)
    da = lambda g, a, x: g * slope(a, x, by_a=True).to(g.dtype)
    # -(dF/da) / p, differentiated with respect to x: dF/da becomes dp/da, and the division by p enters twice
    dx = lambda g, a, x, out: g * (digamma(a) - log(x) - out * ((a - 1) / x - 1))


class StandardGamma(Operation):
    """A draw from the gamma distribution of each shape and rate 1, at least the smallest positive number."""

    impl = lambda a, generator: np.maximum(np.exp(LogStandardGamma.impl(a, generator)), dtypes.finfo(a.dtype).tiny)
    da = lambda g, a, out: g * standard_gamma_grad(a, out)
    batch = lambda a, generator: (a, generator)


class LogStandardGamma(Operation):
    """The logarithm of the draw, also where this is too small for a float: there F is x**a / Gamma(a + 1)."""

    impl = lambda a, generator: generator._rng.each("log_gammas", a).astype(a.dtype)
    da = lambda g, a, out: (
        g * where(out < -600, (digamma(a + 1) - out) / a, standard_gamma_grad(a, exp(out)) / exp(clamp(out, min=-600)))
    )
    batch = StandardGamma.batch


def gammainc(input: Tensor, other: Tensor) -> Tensor:
    """Return the probability that a gamma variable of shape `input` and rate 1 is below `other`.

    It is differentiable with respect to both; PyTorch's `special.gammainc` only with respect to `other`.

    >>> import minigrad
    >>> from minigrad.ops.incomplete_gamma import gammainc
    >>> gammainc(minigrad.tensor(1.), minigrad.tensor([0., 1., 2.]))  # 1 - exp(-x)
    tensor([0.0000, 0.6321, 0.8647])
    """
    return Gammainc.apply(input, other)


def standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw a number from each gamma distribution of shape `input` and rate 1; its gradient is the implicit one.

    >>> import minigrad
    >>> from minigrad.ops.incomplete_gamma import standard_gamma
    >>> minigrad.manual_seed(0).initial_seed()
    0
    >>> a = minigrad.full((20000,), 3.).requires_grad_()
    >>> x = standard_gamma(a)
    >>> x.sum().backward()
    >>> bool(abs(x.mean() - 3) < 0.05), bool(abs(a.grad.mean() - 1) < 0.05)  # as the mean is a
    (True, True)
    """
    return drawn_from(StandardGamma, input, generator)


def drawn_from(operation: Any, a: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw from each gamma distribution of shape a, by StandardGamma or LogStandardGamma."""
    who = "_standard_gamma"
    return operation.apply(per_example(who, generator, a), source(generator, a.device, who))


def by_scipy(name: str, a: Any, x: Any) -> Any:
    """Evaluate a function of scipy.special in the dtype of a."""
    if on_device(a):
        return to_device_of(by_scipy(name, a.to_host(), x.to_host()), a)
    return special(name)(a.astype(np.float64), x.astype(np.float64)).astype(a.dtype)


# ---------------------------------------------------------------------- derivatives
def density(a: Tensor, x: Tensor) -> Tensor:
    """Return p(a, x)."""
    return exp(xlogy(a - 1, x) - x - lgamma(a))


def standard_gamma_grad(a: Tensor, x: Tensor) -> Tensor:
    """Return dx/da at constant F(a, x)."""
    return StandardGammaGrad.apply(a, x)


def slope_of_arrays(a: Any, x: Any) -> Any:
    """Return `slope` of arrays, in the dtype of a."""
    with use(OFF):
        return slope(wrap(a), wrap(x)).to(dtypes.of_numpy(a.dtype))._a


def slope(a: Tensor, x: Tensor, by_a: bool = False) -> Tensor:
    """Return dx/da at constant F(a, x), or with `by_a` its partial with respect to a, in double precision.

    dF/da is the integral over t of p(a, t) * (log(t) - digamma(a)) from 0 to x, or minus the integral from x on, since the
    integral over all t is 0.
    """
    a, x = a.double(), clamp(x.double(), min=dtypes.finfo(np.float64).tiny)
    small = x <= 1  # each branch computes with harmless numbers where the other one is used
    one, two = x.new_ones(()), x.new_full((), 2.0)
    above = by_integral(where(small, two, a), where(small, two, x), by_a)
    return where(small, by_series(a, where(small, x, one), by_a), above)


def by_series(a: Tensor, x: Tensor, by_a: bool) -> Tensor:
    """Return the slope for x <= 1, from F = x**a / Gamma(a) * sum over n of (-x)**n / (n! * (a + n))."""
    a, x = a.unsqueeze(-1), x.unsqueeze(-1)
    n = np.arange(TERMS)
    signs = double_like(x, [(-1) ** k / math.factorial(k) for k in n])
    n = double_like(x, n)
    k, distance = a + n, log(x) - digamma(a)
    terms = (polygamma(1, a) - 1 / k**2 + (distance - 1 / k) / k) / k if by_a else (1 / k - distance) / k
    return (x * exp(x)).squeeze(-1) * (signs * x**n * terms).sum(-1)


def by_integral(a: Tensor, x: Tensor, by_a: bool) -> Tensor:
    """Return the slope for x > 1 by Gauss-Legendre quadrature.

    With t = x * exp(side * s) it is x times the integral over s > 0 of
    exp(side * a * s - x * expm1(side * s)) * (|log(x) - digamma(a)| + s): no number in it is negative on the side where
    log(t) stays away from digamma(a).
    """
    a, x = a.unsqueeze(-1), x.unsqueeze(-1)
    distance = log(x) - digamma(a)
    side = where(detach(distance) > 0, 1.0, -1.0)
    points, weights = (double_like(x, v) for v in rule())
    length = extent(detach(a), detach(x), side)
    s = side * points * length
    factor = s * (distance + s) - polygamma(1, a) if by_a else distance + s
    integrand = exp(a * s - x * expm1(s)) * factor * side
    return (x * length).squeeze(-1) * (integrand * weights).sum(-1)


def extent(a: Tensor, x: Tensor, side: Tensor) -> Tensor:
    """Return an s beyond which the integrand is below exp(LOWEST) of its first value, seldom more than twice too large.

    Above, expm1(s) > s + s*s/2; below, expm1(-s) > -s + s*s / (2 + s).  This leaves quadratic equations.
    """
    above = side > 0
    square, linear, constant = (
        where(above, p, q) for p, q in ((x / 2, a), (x - a, 2 * (a - x) + LOWEST), (x * 0 + LOWEST, x * 0 + 2 * LOWEST))
    )
    return (sqrt(linear * linear - 4 * square * constant) - linear) / (2 * square)


@cache
def rule() -> tuple:
    """Return the points and weights of Gauss-Legendre quadrature on [0, 1]."""
    points, weights = np.polynomial.legendre.leggauss(ORDER)
    return (points + 1) / 2, weights / 2


def double_like(x: Tensor, values: Any) -> Tensor:
    """Return numbers as a double-precision tensor on x's device."""
    return as_tensor(np.asarray(values, np.float64), device=x.device)
