"""Distributions of single real numbers, as in a textbook: one formula each for density, moments, entropy and draw.

A draw is a function of noise without parameters (`noise`: standard normal, exponential, ... numbers), so gradients flow to
the parameters.  In the formulas, `d` is the distribution and `x` a value.  Source of the formulas: Johnson, Kotz,
Balakrishnan, "Continuous Univariate Distributions", 1994.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..ops.compare import where
from ..ops.elementary import erfc, log1p
from ..ops.inverses import erfinv
from ..ops.random import draw, gaussian
from . import constraints
from .constraints import dependent, dependent_property, interval, positive, real
from .distribution import EULER, HALF_LOG_2PI, Parametric, formula

ROOT2 = math.sqrt(2)
NOISE: dict[str, Callable] = {  # (NumPy generator, shape) -> numbers in double precision
    "uniform": lambda rng, size: rng.random(size),
    "exponential": lambda rng, size: rng.standard_exponential(size),
    "gumbel": lambda rng, size: -np.log(rng.standard_exponential(size)),
    "laplace": lambda rng, size: rng.standard_exponential(size) - rng.standard_exponential(size),
    "cauchy": lambda rng, size: np.tan(math.pi * (rng.random(size) - 0.5)),
}


def noise(kind: str, shape: Any, like: Tensor) -> Tensor:
    """Return noise of a kind in NOISE, or "normal", in the dtype and on the device of a tensor."""
    if kind == "normal":
        return gaussian(shape, like._np_dtype, None, "rsample", like.device)
    return draw("rsample", shape, None, lambda rng, size: NOISE[kind](rng, size).astype(like._np_dtype), like.device)


def expanded(parameter: Tensor, shape: Any) -> Tensor:
    """Return a parameter expanded to the shape of the draws."""
    return parameter if tuple(parameter.shape) == tuple(shape) else parameter.expand(shape)


class Continuous(Parametric):
    """Base class for real numbers: `_log_prob`, `_cdf`, `_icdf` and `_draw` are the formulas, for valid values."""

    has_rsample = True
    noise = ""  # the kind of NOISE for a draw

    def _draw(self, e: Tensor) -> Tensor:
        raise NotImplementedError

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Return draws that are differentiable functions of the parameters."""
        return self._draw(noise(self.noise, self._extended_shape(sample_shape), self._like))


class LocationScale(Continuous):
    """loc + scale * noise."""

    arg_constraints = {"loc": real, "scale": positive}
    support = real
    mean = mode = formula(lambda d: d.loc)

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None):
        super().__init__({"loc": loc, "scale": scale}, validate_args)

    def _draw(self, e: Tensor) -> Tensor:
        return self.loc + self.scale * e

    def _z(self, x: Tensor) -> Tensor:
        """Return (x - loc) / scale."""
        return (x - self.loc) / self.scale


class Normal(LocationScale):
    """Normal distribution with mean `loc` and standard deviation `scale`: exp(-z**2 / 2) / (scale * sqrt(2 pi)),
    where z = (x - loc) / scale.

    >>> import minigrad
    >>> d = minigrad.distributions.Normal(0., 2.)
    >>> d.log_prob(minigrad.tensor(0.)), d.cdf(minigrad.tensor(0.)), d.entropy()
    (tensor(-1.6121), tensor(0.5000), tensor(2.1121))
    """

    noise = "normal"
    variance = formula(lambda d: d.scale**2)
    stddev = formula(lambda d: d.scale)

    def _log_prob(self, x: Tensor) -> Tensor:
        return -0.5 * self._z(x) ** 2 - self.scale.log() - HALF_LOG_2PI

    def _cdf(self, x: Tensor) -> Tensor:
        return 0.5 * erfc(-self._z(x) / ROOT2)

    def _icdf(self, p: Tensor) -> Tensor:
        return self.loc + self.scale * ROOT2 * erfinv(2 * p - 1)

    def entropy(self) -> Tensor:
        return self.scale.log() + HALF_LOG_2PI + 0.5


class Laplace(LocationScale):
    """Laplace distribution: exp(-|z|) / (2 * scale), where z = (x - loc) / scale.

    >>> import minigrad
    >>> minigrad.distributions.Laplace(0., 1.).log_prob(minigrad.tensor([0., 1.]))
    tensor([-0.6931, -1.6931])
    """

    noise = "laplace"
    variance = formula(lambda d: 2 * d.scale**2)

    def _log_prob(self, x: Tensor) -> Tensor:
        return -self._z(x).abs() - (2 * self.scale).log()

    def _cdf(self, x: Tensor) -> Tensor:
        z = self._z(x)
        tail = 0.5 * (-z.abs()).exp()
        return where(z < 0, tail, 1 - tail)

    def _icdf(self, p: Tensor) -> Tensor:
        side = p - 0.5
        return self.loc - self.scale * side.sign() * log1p(-2 * side.abs())

    def entropy(self) -> Tensor:
        return (2 * self.scale).log() + 1


class Cauchy(LocationScale):
    """Cauchy distribution: 1 / (pi * scale * (1 + z**2)), where z = (x - loc) / scale; it has no mean.

    >>> import minigrad
    >>> minigrad.distributions.Cauchy(0., 1.).cdf(minigrad.tensor([0., 1.]))
    tensor([0.5000, 0.7500])
    """

    noise = "cauchy"
    mode = formula(lambda d: d.loc)
    mean = formula(lambda d: d.loc.new_full(d.batch_shape, math.nan))
    variance = formula(lambda d: d.loc.new_full(d.batch_shape, math.inf))

    def _log_prob(self, x: Tensor) -> Tensor:
        return -(math.pi * self.scale).log() - log1p(self._z(x) ** 2)

    def _cdf(self, x: Tensor) -> Tensor:
        return self._z(x).atan() / math.pi + 0.5

    def _icdf(self, p: Tensor) -> Tensor:
        return self.loc + self.scale * (math.pi * (p - 0.5)).tan()

    def entropy(self) -> Tensor:
        return (4 * math.pi * self.scale).log()


class Gumbel(LocationScale):
    """Gumbel distribution, of maxima: exp(-z - exp(-z)) / scale, where z = (x - loc) / scale.

    >>> import minigrad
    >>> minigrad.distributions.Gumbel(0., 1.).mean
    tensor(0.5772)
    """

    noise = "gumbel"
    mode = formula(lambda d: d.loc)
    mean = formula(lambda d: d.loc + d.scale * EULER)
    variance = formula(lambda d: (math.pi * d.scale) ** 2 / 6)

    def _log_prob(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return -z - (-z).exp() - self.scale.log()

    def _cdf(self, x: Tensor) -> Tensor:
        return (-(-self._z(x)).exp()).exp()

    def _icdf(self, p: Tensor) -> Tensor:
        return self.loc - self.scale * (-p.log()).log()

    def entropy(self) -> Tensor:
        return self.scale.log() + 1 + EULER


class LogNormal(Normal):
    """exp of a draw from Normal(loc, scale).

    >>> import minigrad
    >>> d = minigrad.distributions.LogNormal(0., 1.)
    >>> d.mean, d.log_prob(minigrad.tensor(1.))
    (tensor(1.6487), tensor(-0.9189))
    """

    support = positive
    mean = formula(lambda d: (d.loc + d.scale**2 / 2).exp())
    mode = formula(lambda d: (d.loc - d.scale**2).exp())
    variance = formula(lambda d: (d.scale**2).expm1() * (2 * d.loc + d.scale**2).exp())
    stddev = formula(lambda d: d.variance.sqrt())

    def _draw(self, e: Tensor) -> Tensor:
        return super()._draw(e).exp()

    def _log_prob(self, x: Tensor) -> Tensor:
        return super()._log_prob(x.log()) - x.log()

    def _cdf(self, x: Tensor) -> Tensor:
        return super()._cdf(x.log())

    def _icdf(self, p: Tensor) -> Tensor:
        return super()._icdf(p).exp()

    def entropy(self) -> Tensor:
        return super().entropy() + self.loc


class Uniform(Continuous):
    """Numbers in [low, high), with the constant density 1 / (high - low).

    >>> import minigrad
    >>> d = minigrad.distributions.Uniform(0., 4.)
    >>> d.mean, d.log_prob(minigrad.tensor(1.)), d.icdf(minigrad.tensor(0.25))
    (tensor(2.), tensor(-1.3863), tensor(1.))
    """

    noise = "uniform"
    arg_constraints = {"low": dependent, "high": dependent}
    mean = formula(lambda d: (d.low + d.high) / 2)
    mode = formula(lambda d: d.low * math.nan)
    variance = formula(lambda d: (d.high - d.low) ** 2 / 12)

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None):
        super().__init__({"low": low, "high": high}, validate_args)
        if self._validate_args:
            self._check("high", constraints.greater_than(self.low), self.high)

    @dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return interval(self.low, self.high)

    def _draw(self, e: Tensor) -> Tensor:
        return self.low + (self.high - self.low) * e

    def _log_prob(self, x: Tensor) -> Tensor:
        inside = (x >= self.low) & (x < self.high)
        return where(inside, 0.0, -math.inf) - (self.high - self.low).log()

    def _cdf(self, x: Tensor) -> Tensor:
        return ((x - self.low) / (self.high - self.low)).clamp(0, 1)

    def _icdf(self, p: Tensor) -> Tensor:
        return self.low + (self.high - self.low) * p

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()
