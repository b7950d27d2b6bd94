"""Distributions of positive numbers, and Student's t distribution, which is built from them.  See continuous.py."""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Tensor
from ..ops.compare import where
from ..ops.elementary import digamma, lgamma, log1p, xlogy
from ..ops.incomplete_gamma import gammainc, standard_gamma
from . import constraints
from .constraints import dependent_property, nonnegative, positive, real
from .continuous import Cauchy, Continuous, Normal, expanded, noise
from .distribution import EULER, Parametric, formula


class Exponential(Continuous):
    """Exponential distribution: rate * exp(-rate * x).

    >>> import minigrad
    >>> d = minigrad.distributions.Exponential(2.)
    >>> d.mean, d.cdf(minigrad.tensor(1.))
    (tensor(0.5000), tensor(0.8647))
    """

    noise = "exponential"
    arg_constraints = {"rate": positive}
    support = nonnegative
    mean = stddev = formula(lambda d: 1 / d.rate)
    mode = formula(lambda d: d.rate.new_zeros(d.batch_shape))
    variance = formula(lambda d: 1 / d.rate**2)

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None):
        super().__init__({"rate": rate}, validate_args)

    def _draw(self, e: Tensor) -> Tensor:
        return e / self.rate

    def _log_prob(self, x: Tensor) -> Tensor:
        return self.rate.log() - self.rate * x

    def _cdf(self, x: Tensor) -> Tensor:
        return -(-self.rate * x).expm1()

    def _icdf(self, p: Tensor) -> Tensor:
        return -log1p(-p) / self.rate

    def entropy(self) -> Tensor:
        return 1 - self.rate.log()


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

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None):
        super().__init__({"concentration": concentration, "rate": rate}, validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return standard_gamma(expanded(self.concentration, self._extended_shape(sample_shape))) / self.rate

    def _log_prob(self, x: Tensor) -> Tensor:
        a, rate = self.concentration, self.rate
        return xlogy(a, rate) + xlogy(a - 1, x) - rate * x - lgamma(a)

    def _cdf(self, x: Tensor) -> Tensor:
        return gammainc(self.concentration, self.rate * x)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + lgamma(a) + (1 - a) * digamma(a)


class Chi2(Gamma):
    """The sum of the squares of `df` standard normal numbers: Gamma(df / 2, 1 / 2).

    >>> import minigrad
    >>> minigrad.distributions.Chi2(3.).mean
    tensor(3.)
    """

    arg_constraints = {"df": positive}
    concentration = formula(lambda d: d.df / 2)
    rate = formula(lambda d: d.df.new_full(d.batch_shape, 0.5))

    def __init__(self, df: Tensor | float, validate_args: bool | None = None):
        Parametric.__init__(self, {"df": df}, validate_args)


class Weibull(Continuous):
    """Weibull distribution with shape `concentration` k: its cdf is 1 - exp(-(x / scale)**k).

    >>> import minigrad
    >>> minigrad.distributions.Weibull(2., 1.).cdf(minigrad.tensor(2.))
    tensor(0.6321)
    """

    noise = "exponential"
    arg_constraints = {"scale": positive, "concentration": positive}
    support = positive
    mean = formula(lambda d: d.scale * lgamma(1 + 1 / d.concentration).exp())
    # for a concentration below 1 the density decreases from 0 on; PyTorch returns nan there
    mode = formula(lambda d: d.scale * (1 - 1 / d.concentration).clamp(min=0) ** (1 / d.concentration))
    variance = formula(lambda d: d.scale**2 * lgamma(1 + 2 / d.concentration).exp() - d.mean**2)

    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None):
        super().__init__({"scale": scale, "concentration": concentration}, validate_args)

    def _draw(self, e: Tensor) -> Tensor:
        return self.scale * e ** (1 / self.concentration)

    def _log_prob(self, x: Tensor) -> Tensor:
        k, z = self.concentration, x / self.scale
        return (k / self.scale).log() + xlogy(k - 1, z) - z**k

    def _cdf(self, x: Tensor) -> Tensor:
        return -(-((x / self.scale) ** self.concentration)).expm1()

    def _icdf(self, p: Tensor) -> Tensor:
        return self.scale * (-log1p(-p)) ** (1 / self.concentration)

    def entropy(self) -> Tensor:
        k = self.concentration
        return EULER * (1 - 1 / k) + (self.scale / k).log() + 1


class Pareto(Continuous):
    """Pareto distribution with shape `alpha`: alpha * scale**alpha / x**(alpha + 1) for x >= `scale`.

    >>> import minigrad
    >>> minigrad.distributions.Pareto(1., 3.).mean
    tensor(1.5000)
    """

    noise = "exponential"
    arg_constraints = {"scale": positive, "alpha": positive}
    mean = formula(lambda d: d.scale * (a := d.alpha.clamp(min=1)) / (a - 1))
    mode = formula(lambda d: d.scale)
    variance = formula(lambda d: d.scale**2 * (a := d.alpha.clamp(min=2)) / ((a - 1) ** 2 * (a - 2)))

    def __init__(self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None):
        super().__init__({"scale": scale, "alpha": alpha}, validate_args)

    @dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    def _draw(self, e: Tensor) -> Tensor:
        return self.scale * (e / self.alpha).exp()

    def _log_prob(self, x: Tensor) -> Tensor:
        return self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * x.log()

    def _cdf(self, x: Tensor) -> Tensor:
        return 1 - (self.scale / x) ** self.alpha

    def _icdf(self, p: Tensor) -> Tensor:
        return self.scale * (-log1p(-p) / self.alpha).exp()

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + 1 / self.alpha + 1


class HalfOf(Continuous):
    """The absolute values of a symmetric distribution around 0, `whole`."""

    arg_constraints = {"scale": positive}
    support = nonnegative
    whole: Any
    mode = formula(lambda d: d.scale.new_zeros(d.batch_shape))

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None):
        super().__init__({"scale": scale}, validate_args)

    @property
    def _both(self) -> Any:
        """The distribution with both signs."""
        return self.whole(self.scale.new_zeros(()), self.scale, False)

    def _draw(self, e: Tensor) -> Tensor:
        return self.scale * e.abs()

    def _log_prob(self, x: Tensor) -> Tensor:
        return where(x >= 0, self._both._log_prob(x) + math.log(2), -math.inf)

    def _cdf(self, x: Tensor) -> Tensor:
        return 2 * self._both._cdf(x) - 1

    def _icdf(self, p: Tensor) -> Tensor:
        return self._both._icdf((p + 1) / 2)

    def entropy(self) -> Tensor:
        return self._both.entropy() - math.log(2)


class HalfNormal(HalfOf):
    """The absolute value of a draw from Normal(0, scale).

    >>> import minigrad
    >>> minigrad.distributions.HalfNormal(1.).mean
    tensor(0.7979)
    """

    noise, whole = "normal", Normal
    mean = formula(lambda d: d.scale * math.sqrt(2 / math.pi))
    variance = formula(lambda d: d.scale**2 * (1 - 2 / math.pi))


class HalfCauchy(HalfOf):
    """The absolute value of a draw from Cauchy(0, scale); its mean is infinite.

    >>> import minigrad
    >>> minigrad.distributions.HalfCauchy(1.).cdf(minigrad.tensor(1.))
    tensor(0.5000)
    """

    noise, whole = "cauchy", Cauchy
    mean = variance = formula(lambda d: d.scale.new_full(d.batch_shape, math.inf))


class StudentT(Continuous):
    """Student's t distribution with `df` degrees of freedom, shifted by `loc` and scaled by `scale`.

    >>> import minigrad
    >>> minigrad.distributions.StudentT(4., 0., 1.).variance
    tensor(2.)
    """

    arg_constraints = {"df": positive, "loc": real, "scale": positive}
    support = real
    mean = formula(lambda d: where(d.df > 1, d.loc, math.nan))
    mode = formula(lambda d: d.loc)
    variance = formula(
        lambda d: where(d.df > 2, d.scale**2 * d.df / (d.df - 2).clamp(min=1e-30), where(d.df > 1, math.inf, math.nan))
    )

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ):
        super().__init__({"df": df, "loc": loc, "scale": scale}, validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        chi2 = Chi2(self.df, False).rsample(sample_shape)
        return self.loc + self.scale * noise("normal", shape, self._like) * (self.df / chi2).sqrt()

    def _log_prob(self, x: Tensor) -> Tensor:
        df, z = self.df, (x - self.loc) / self.scale
        return -0.5 * (df + 1) * log1p(z**2 / df) - self._log_norm() - self.scale.log()

    def _log_norm(self) -> Tensor:
        """Return the logarithm of sqrt(df) * B(1/2, df/2)."""
        df = self.df
        return 0.5 * (df.log() + math.log(math.pi)) + lgamma(df / 2) - lgamma((df + 1) / 2)

    def entropy(self) -> Tensor:
        df = self.df
        return self.scale.log() + (df + 1) / 2 * (digamma((df + 1) / 2) - digamma(df / 2)) + self._log_norm()
