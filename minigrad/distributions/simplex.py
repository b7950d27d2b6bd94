"""Distributions of numbers between 0 and 1, and of vectors of such numbers with sum 1."""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Tensor
from ..ops.compare import where
from ..ops.elementary import digamma, lgamma, log1p, xlogy
from ..ops.incomplete_gamma import standard_gamma
from ..ops.nn.softmax import softmax
from .constraints import independent, positive, simplex, unit_interval
from .continuous import Continuous, expanded, noise
from .distribution import EULER, Parametric, formula


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
    variance = formula(lambda d: d.mean * (1 - d.mean) / (d._total + 1))

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ):
        super().__init__({"concentration1": concentration1, "concentration0": concentration0}, validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        a, b = (log_gamma_draw(expanded(c, shape)) for c in (self.concentration1, self.concentration0))
        return (a - b).sigmoid()

    def _log_prob(self, x: Tensor) -> Tensor:
        return xlogy(self.concentration1 - 1, x) + (self.concentration0 - 1) * log1p(-x) - self._log_beta()

    def _log_beta(self) -> Tensor:
        """Return the logarithm of B(a, b)."""
        return lgamma(self.concentration1) + lgamma(self.concentration0) - lgamma(self._total)

    def entropy(self) -> Tensor:
        a, b, total = self.concentration1, self.concentration0, self._total
        inner = (a - 1) * digamma(a) + (b - 1) * digamma(b) - (total - 2) * digamma(total)
        return self._log_beta() - inner


def log_gamma_draw(a: Tensor) -> Tensor:
    """Return the log of gamma draws of shape a, even if the draws are too small for a float.

    A draw of shape a + 1 times u**(1/a), with u uniform, is a draw of shape a (Marsaglia, Tsang, "A Simple Method for
    Generating Gamma Variables", 2000, section 6).
    """
    return standard_gamma(a + 1).log() - noise("exponential", a.shape, a) / a


class Kumaraswamy(Continuous):
    """Kumaraswamy's distribution: its cdf is 1 - (1 - x**a)**b, where a is `concentration1` and b `concentration0`.

    The mode exists if a and b are above 1; PyTorch 2.13 returns nan even there.

    >>> import minigrad
    >>> minigrad.distributions.Kumaraswamy(2., 2.).cdf(minigrad.tensor(0.5))
    tensor(0.4375)
    """

    noise = "exponential"
    arg_constraints = {"concentration1": positive, "concentration0": positive}
    support = unit_interval
    mean = formula(lambda d: d._moment(1))
    variance = formula(lambda d: d._moment(2) - d._moment(1) ** 2)

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ):
        super().__init__({"concentration1": concentration1, "concentration0": concentration0}, validate_args)

    def _moment(self, n: int) -> Tensor:
        """Return the mean of x**n, b * B(1 + n/a, b)."""
        k, b = 1 + n / self.concentration1, self.concentration0
        return b * (lgamma(k) + lgamma(b) - lgamma(k + b)).exp()

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        inside = (a >= 1) & (b >= 1) & (a * b > 1)
        return where(inside, ((a - 1) / (a * b - 1)).clamp(min=0) ** (1 / a), math.nan)

    def _draw(self, e: Tensor) -> Tensor:
        return (-(-e / self.concentration0).expm1()) ** (1 / self.concentration1)

    def _log_prob(self, x: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return (a * b).log() + xlogy(a - 1, x) + (b - 1) * log1p(-(x**a))

    def _cdf(self, x: Tensor) -> Tensor:
        return 1 - (1 - x**self.concentration1) ** self.concentration0

    def _icdf(self, p: Tensor) -> Tensor:
        return (-(log1p(-p) / self.concentration0).expm1()) ** (1 / self.concentration1)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return (1 - 1 / b) + (1 - 1 / a) * (digamma(b + 1) + EULER) - (a * b).log()


class Dirichlet(Parametric):
    """Dirichlet distribution of vectors: the product of x[i]**(a[i] - 1), divided by B(a), where a is `concentration`.

    >>> import minigrad
    >>> d = minigrad.distributions.Dirichlet(minigrad.tensor([1., 2., 3.]))
    >>> d.event_shape, d.mean
    (minigrad.Size([3]), tensor([0.1667, 0.3333, 0.5000]))
    """

    has_rsample = True
    arg_constraints = {"concentration": independent(positive, 1)}
    support = simplex
    _total = formula(lambda d: d.concentration.sum(-1))
    mean = formula(lambda d: d.concentration / d._total.unsqueeze(-1))
    # nan if no concentration is above 1: then the density is largest in all corners
    mode = formula(lambda d: (m := (d.concentration - 1).clamp(min=0)) / m.sum(-1, True))
    variance = formula(lambda d: d.mean * (1 - d.mean) / (d._total.unsqueeze(-1) + 1))

    def __init__(self, concentration: Tensor, validate_args: bool | None = None):
        super().__init__({"concentration": concentration}, validate_args, concentration.shape[-1:])

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return softmax(log_gamma_draw(expanded(self.concentration, self._extended_shape(sample_shape))), -1)

    def _log_prob(self, x: Tensor) -> Tensor:
        return xlogy(self.concentration - 1, x).sum(-1) - self._log_beta()

    def _log_beta(self) -> Tensor:
        """Return the logarithm of B(a), the product of Gamma(a[i]) over Gamma of the sum."""
        return lgamma(self.concentration).sum(-1) - lgamma(self._total)

    def entropy(self) -> Tensor:
        a, total = self.concentration, self._total
        inner = ((a - 1) * digamma(a)).sum(-1) - (total - a.shape[-1]) * digamma(total)
        return self._log_beta() - inner
