"""Distributions of single real numbers, as in a textbook: one formula each for density, moments, entropy, divergence, draw.

A draw is a function of noise without parameters (`noise`: standard normal, exponential, ... numbers), so gradients flow to
the parameters.  In the formulas, `d` is the distribution and `x` a value.  Source of the formulas: Johnson, Kotz,
Balakrishnan, "Continuous Univariate Distributions", 1994.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.dtypes import finfo
from ..core.tensor import Tensor
from ..ops.compare import where
from ..ops.elementary import digamma, erfc, lgamma, log1p, xlogy
from ..ops.incomplete_gamma import LogStandardGamma, drawn_from, gammainc, standard_gamma
from ..ops.inverses import erfinv
from ..ops.join import stack
from ..ops.nn.softmax import softmax
from ..ops.random import exponentials, gaussian, uniform
from .constraints import greater_than, interval, nonnegative, positive, real, unit_interval
from .distribution import HALF_LOG_2PI, Parametric, formula

ROOT2 = math.sqrt(2)
EULER = float(np.euler_gamma)
# (shape, tensor of the dtype and the device) -> numbers of a distribution without parameters
NOISE: dict[str, Callable] = {
    "normal": lambda shape, like: gaussian(shape, like._np_dtype, None, "rsample", like.device),
    "uniform": lambda shape, like: uniform(shape, like._np_dtype, None, "rsample", like.device),
    "exponential": lambda shape, like: exponentials("rsample", shape, None, like.device).to(like.dtype),
    "laplace": lambda shape, like: -(u := between(eps(like) - 1, 1.0, shape, like)).sign() * log1p(-u.abs()),
    "gumbel": lambda shape, like: -between(finfo(like.dtype).tiny, 1 - eps(like), shape, like).log(),
}


def eps(like: Tensor) -> float:
    """Return the distance from 1 to the next number of a tensor's dtype."""
    return finfo(like.dtype).eps


def between(low: float, high: float, shape: Any, like: Tensor) -> Tensor:
    """Return uniform numbers in [low, high)."""
    return uniform(shape, like._np_dtype, None, "rsample", like.device, low, high)


def expanded(parameter: Tensor, shape: Any) -> Tensor:
    """Return a parameter expanded to the shape of the draws."""
    return parameter if tuple(parameter.shape) == tuple(shape) else parameter.expand(shape)


class Continuous(Parametric):
    """Base class for real numbers: the formulas are `_log_prob`, `_cdf`, `_icdf`, `_entropy`, `_draw` and `_kl`."""

    has_rsample = True
    _noise = ""  # the kind of NOISE for a draw
    _of_noise: Any
    _draw = lambda d, shape: d._of_noise(NOISE[d._noise](shape, d._like))


class LocationScale(Continuous):
    """loc + scale * noise."""

    arg_constraints = {"loc": real, "scale": positive}
    support = real
    mean = mode = formula(lambda d: d.loc)
    _z = lambda d, x: (x - d.loc) / d.scale
    _of_noise = lambda d, e: d.loc + d.scale * e

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None):
        super().__init__({"loc": loc, "scale": scale}, validate_args)


class Normal(LocationScale):
    """Normal distribution with mean `loc` and standard deviation `scale`: exp(-z**2 / 2) / (scale * sqrt(2 pi)),
    where z = (x - loc) / scale.

    >>> import minigrad
    >>> d = minigrad.distributions.Normal(0., 2.)
    >>> d.log_prob(minigrad.tensor(0.)), d.cdf(minigrad.tensor(0.)), d.entropy()
    (tensor(-1.6121), tensor(0.5000), tensor(2.1121))
    """

    _noise = "normal"
    variance = formula(lambda d: d.stddev**2)
    stddev = formula(lambda d: d.scale)
    _log_prob = lambda d, x: -0.5 * d._z(x) ** 2 - d.scale.log() - HALF_LOG_2PI
    _cdf = lambda d, x: 0.5 * erfc(-d._z(x) / ROOT2)
    _icdf = lambda d, p: d.loc + d.scale * ROOT2 * erfinv(2 * p - 1)
    _entropy = lambda d: d.scale.log() + HALF_LOG_2PI + 0.5

    def _kl(self, q: Any) -> Tensor:
        ratio = (self.scale / q.scale) ** 2
        return 0.5 * (ratio + ((self.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


class Laplace(LocationScale):
    """Laplace distribution: exp(-|z|) / (2 * scale), where z = (x - loc) / scale.

    >>> import minigrad
    >>> minigrad.distributions.Laplace(0., 1.).log_prob(minigrad.tensor([0., 1.]))
    tensor([-0.6931, -1.6931])
    """

    _noise = "laplace"
    variance = formula(lambda d: 2 * d.scale**2)
    stddev = formula(lambda d: ROOT2 * d.scale)
    _log_prob = lambda d, x: -d._z(x).abs() - (2 * d.scale).log()
    _entropy = lambda d: (2 * d.scale).log() + 1

    def _cdf(self, x: Tensor) -> Tensor:
        z = self._z(x)
        tail = 0.5 * (-z.abs()).exp()
        return where(z < 0, tail, 1 - tail)

    def _icdf(self, p: Tensor) -> Tensor:
        side = p - 0.5
        return self.loc - self.scale * side.sign() * log1p(-2 * side.abs())

    def _kl(self, q: Any) -> Tensor:
        far = (self.loc - q.loc).abs()
        inside = far / q.scale + self.scale / q.scale * (-far / self.scale).exp()
        return (q.scale / self.scale).log() + inside - 1


class Gumbel(LocationScale):
    """Gumbel distribution, of the largest of many numbers: exp(-z - exp(-z)) / scale, where z = (x - loc) / scale.

    >>> import minigrad
    >>> d = minigrad.distributions.Gumbel(0., 1.)
    >>> d.mean, d.cdf(minigrad.tensor(0.))
    (tensor(0.5772), tensor(0.3679))
    """

    _noise = "gumbel"
    mean = formula(lambda d: d.loc + EULER * d.scale)
    stddev = formula(lambda d: math.pi / math.sqrt(6) * d.scale)
    variance = formula(lambda d: d.stddev**2)
    _of_noise = lambda d, e: d.loc - d.scale * e.log()
    _log_prob = lambda d, x: -d._z(x) - (-d._z(x)).exp() - d.scale.log()
    _cdf = lambda d, x: (-(-d._z(x)).exp()).exp()
    _icdf = lambda d, p: d.loc - d.scale * (-p.log()).log()
    _entropy = lambda d: d.scale.log() + 1 + EULER

    def _kl(self, q: Any) -> Tensor:
        ratio, apart = self.scale / q.scale, (self.loc - q.loc) / q.scale
        return apart + EULER * (ratio - 1) - 1 - ratio.log() + (lgamma(1 + ratio) - apart).exp()


class Uniform(Continuous):
    """Numbers in [low, high), with the constant density 1 / (high - low).

    >>> import minigrad
    >>> d = minigrad.distributions.Uniform(0., 4.)
    >>> d.mean, d.log_prob(minigrad.tensor(1.)), d.icdf(minigrad.tensor(0.25))
    (tensor(2.), tensor(-1.3863), tensor(1.))
    """

    _noise = "uniform"
    arg_constraints = {"low": real, "high": real}
    support = formula(lambda d: interval(d.low, d.high))
    mean = formula(lambda d: (d.low + d.high) / 2)
    mode = formula(lambda d: d.low * math.nan)
    variance = formula(lambda d: (d.high - d.low) ** 2 / 12)
    stddev = formula(lambda d: (d.high - d.low) / math.sqrt(12))
    _of_noise = lambda d, e: d.low + (d.high - d.low) * e
    _cdf = lambda d, x: ((x - d.low) / (d.high - d.low)).clamp(0, 1)
    _icdf = lambda d, p: d.low + (d.high - d.low) * p
    _entropy = lambda d: (d.high - d.low).log()

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None):
        super().__init__({"low": low, "high": high}, validate_args)
        if self._validate_args:
            self._check("high", greater_than(self.low), self.high)

    def _log_prob(self, x: Tensor) -> Tensor:
        inside = (x >= self.low) & (x < self.high)
        return where(inside, 0.0, -math.inf) - (self.high - self.low).log()

    def _kl(self, q: Any) -> Tensor:
        inside = ((q.high - q.low) / (self.high - self.low)).log()
        return where((q.low > self.low) | (q.high < self.high), math.inf, inside)


class Exponential(Continuous):
    """Exponential distribution: rate * exp(-rate * x).

    >>> import minigrad
    >>> d = minigrad.distributions.Exponential(2.)
    >>> d.mean, d.cdf(minigrad.tensor(1.))
    (tensor(0.5000), tensor(0.8647))
    """

    _noise = "exponential"
    arg_constraints = {"rate": positive}
    support = nonnegative
    mean = stddev = formula(lambda d: 1 / d.rate)
    mode = formula(lambda d: d.rate.new_zeros(d.rate.shape))
    variance = formula(lambda d: 1 / d.rate**2)
    _of_noise = lambda d, e: e / d.rate
    _log_prob = lambda d, x: d.rate.log() - d.rate * x
    _cdf = lambda d, x: -(-d.rate * x).expm1()
    _icdf = lambda d, p: -log1p(-p) / d.rate
    _entropy = lambda d: 1 - d.rate.log()

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None):
        super().__init__({"rate": rate}, validate_args)

    def _kl(self, q: Any) -> Tensor:
        ratio = q.rate / self.rate
        return ratio - 1 - ratio.log()


class Gamma(Continuous):
    """Gamma distribution with shape `concentration` a: rate**a * x**(a - 1) * exp(-rate * x) / Gamma(a).

    Draws are differentiable with respect to the concentration too (minigrad/ops/incomplete_gamma.py).

    >>> import minigrad
    >>> d = minigrad.distributions.Gamma(3., 2.)
    >>> d.mean, d.variance, d.log_prob(minigrad.tensor(1.))
    (tensor(1.5000), tensor(0.7500), tensor(-0.6137))
    """

    arg_constraints = {"concentration": positive, "rate": positive}
    support = nonnegative
    mean = formula(lambda d: d.concentration / d.rate)
    mode = formula(lambda d: ((d.concentration - 1) / d.rate).clamp(min=0))
    variance = formula(lambda d: d.concentration / d.rate**2)
    _draw = lambda d, shape: standard_gamma(expanded(d.concentration, shape)) / d.rate
    _cdf = lambda d, x: gammainc(d.concentration, d.rate * x)

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None):
        super().__init__({"concentration": concentration, "rate": rate}, validate_args)

    def _log_prob(self, x: Tensor) -> Tensor:
        a, rate = self.concentration, self.rate
        return xlogy(a, rate) + xlogy(a - 1, x) - rate * x - lgamma(a)

    def _entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + lgamma(a) + (1 - a) * digamma(a)

    def _kl(self, q: Any) -> Tensor:
        a, b = self.concentration, q.concentration
        known = lgamma(b) - lgamma(a) + (a - b) * digamma(a)
        return known + b * (self.rate / q.rate).log() + a * (q.rate / self.rate - 1)


class Beta(Continuous):
    """Beta distribution: x**(a - 1) * (1 - x)**(b - 1) / B(a, b), where a is `concentration1` and b `concentration0`.

    >>> import minigrad
    >>> d = minigrad.distributions.Beta(2., 3.)
    >>> d.mean, d.mode, d.log_prob(minigrad.tensor(0.5))
    (tensor(0.4000), tensor(0.3333), tensor(0.4055))
    """

    arg_constraints = {"concentration1": positive, "concentration0": positive}
    support = unit_interval
    _total = formula(lambda d: d.concentration1 + d.concentration0)
    mean = formula(lambda d: d.concentration1 / d._total)
    mode = formula(lambda d: (m := (d.concentration1 - 1).clamp(min=0)) / (m + (d.concentration0 - 1).clamp(min=0)))
    variance = formula(lambda d: d.concentration1 * d.concentration0 / (d._total**2 * (d._total + 1)))
    _log_beta = formula(lambda d: lgamma(d.concentration1) + lgamma(d.concentration0) - lgamma(d._total))  # log B(a, b)
    _log_prob = lambda d, x: xlogy(d.concentration1 - 1, x) + (d.concentration0 - 1) * log1p(-x) - d._log_beta

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ):
        super().__init__({"concentration1": concentration1, "concentration0": concentration0}, validate_args)

    def _draw(self, shape: Any) -> Tensor:
        both = stack([expanded(c, shape) for c in (self.concentration1, self.concentration0)], -1)
        return dirichlet(both)[..., 0]

    def _entropy(self) -> Tensor:
        a, b, total = self.concentration1, self.concentration0, self._total
        inner = (a - 1) * digamma(a) + (b - 1) * digamma(b) - (total - 2) * digamma(total)
        return self._log_beta - inner

    def _kl(self, q: Any) -> Tensor:
        a, b, total = self.concentration1, self.concentration0, self._total
        inner = (a - q.concentration1) * digamma(a) + (b - q.concentration0) * digamma(b)
        return q._log_beta - self._log_beta + inner + (q._total - total) * digamma(total)


def dirichlet(a: Tensor) -> Tensor:
    """Return draws of Dirichlet distributions: gamma draws, in double precision for small ones, divided by their sum."""
    return softmax(drawn_from(LogStandardGamma, a.double()), -1).to(a.dtype)
