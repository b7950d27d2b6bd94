"""Distributions of 0 and 1, and of counts: the scheme of continuous.py for whole numbers.

You give probabilities as `probs` or as `logits`; the other follows.  A draw is not a differentiable function of them, so there
is only `sample`, except in relaxed.py.  categorical.py has the distributions of classes.
"""

from __future__ import annotations

import math
from typing import Any

from ..autograd import no_grad
from ..core.tensor import Tensor
from ..errors import error
from ..ops.compare import where
from ..ops.create import arange
from ..ops.elementary import lgamma, xlogy
from ..ops.nn.activation import softplus
from ..ops.random import bernoulli, poisson
from . import constraints
from .constraints import boolean, dependent_property, integer_interval, nonnegative, nonnegative_integer, unit_interval
from .continuous import expanded, noise
from .distribution import Parametric, either, formula
from .utils import lazy_property, logits_to_probs, probs_to_logits


class OfLogits(Parametric):
    """A distribution whose probability is given directly, as `probs`, or as `logits` = log(p / (1 - p))."""

    arg_constraints = {"probs": unit_interval, "logits": constraints.real}
    _param = formula(lambda d: getattr(d, next(k for k in d._given if k in ("probs", "logits"))))

    @lazy_property
    def probs(self) -> Tensor:
        """Return the probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    @lazy_property
    def logits(self) -> Tensor:
        """Return the logits of the probabilities, which are first clamped by one rounding away from 0 and 1."""
        return probs_to_logits(self.probs, is_binary=True)


class Bernoulli(OfLogits):
    """1 with probability p = `probs`, otherwise 0.

    >>> import minigrad
    >>> d = minigrad.distributions.Bernoulli(probs=0.25)
    >>> d.log_prob(minigrad.tensor([0., 1.])), d.entropy()
    (tensor([-0.2877, -1.3863]), tensor(0.5623))
    """

    support = boolean
    has_enumerate_support = True
    mean = formula(lambda d: d.probs)
    mode = formula(lambda d: where(d.probs == 0.5, math.nan, (d.probs > 0.5).to(d.probs.dtype)))
    variance = formula(lambda d: d.probs * (1 - d.probs))

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        super().__init__(either("Bernoulli", probs=probs, logits=logits), validate_args)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return bernoulli(expanded(self.probs, self._extended_shape(sample_shape)))

    def _log_prob(self, x: Tensor) -> Tensor:
        return x * self.logits - softplus(self.logits)

    def entropy(self) -> Tensor:
        return softplus(self.logits) - self.probs * self.logits

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return all_values(self, 2, expand)


def all_values(d: Parametric, n: int, expand: bool) -> Tensor:
    """Return 0 to n - 1 along dimension 0, in the dtype of the parameters."""
    rank = len(d.batch_shape)
    values = arange(n, dtype=d._like.dtype, device=d._like.device).reshape(n, *[1] * rank)
    return values.expand((n, *d.batch_shape)) if expand else values


class Geometric(OfLogits):
    """The number of failures before the first success, which has probability p: p * (1 - p)**x.

    >>> import minigrad
    >>> minigrad.distributions.Geometric(probs=0.25).mean
    tensor(3.)
    """

    support = nonnegative_integer
    mean = formula(lambda d: (1 - d.probs) / d.probs)
    mode = formula(lambda d: d.probs.new_zeros(d.batch_shape))
    variance = formula(lambda d: (1 - d.probs) / d.probs**2)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        super().__init__(either("Geometric", probs=probs, logits=logits), validate_args)
        if self._validate_args and "probs" in self._given:
            self._check("probs", constraints.greater_than(0.0), self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return (
                noise("exponential", self._extended_shape(sample_shape), self._like) / softplus(self.logits)
            ).floor()

    def _log_prob(self, x: Tensor) -> Tensor:
        return -softplus(-self.logits) - x * softplus(self.logits)

    def entropy(self) -> Tensor:
        return (softplus(self.logits) - self.probs * self.logits) / self.probs


class Binomial(OfLogits):
    """The number of successes in `total_count` trials with probability p.

    >>> import minigrad
    >>> minigrad.distributions.Binomial(2, probs=0.5).log_prob(minigrad.tensor([0., 1.])).exp()
    tensor([0.2500, 0.5000])
    """

    arg_constraints = {"total_count": nonnegative_integer, "probs": unit_interval, "logits": constraints.real}
    has_enumerate_support = True
    mean = formula(lambda d: d.total_count * d.probs)
    mode = formula(lambda d: ((d.total_count + 1) * d.probs).floor().clamp(max=d.total_count))
    variance = formula(lambda d: d.total_count * d.probs * (1 - d.probs))
    _like = formula(lambda d: d._param)

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        given = either("Binomial", probs=probs, logits=logits)
        super().__init__({**given, "total_count": total_count}, validate_args)

    @dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return integer_interval(0, self.total_count)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape, most = self._extended_shape(sample_shape), int(self.total_count.max())
        with no_grad():
            p = expanded(self.probs, shape).unsqueeze(-1).expand((*shape, most))
            trials = arange(most, device=p.device) < expanded(self.total_count, shape).unsqueeze(-1)
            return (bernoulli(p) * trials).sum(-1)

    def _log_prob(self, x: Tensor) -> Tensor:
        n = self.total_count
        ways = lgamma(n + 1) - lgamma(x + 1) - lgamma(n - x + 1)
        return ways + x * self.logits - n * softplus(self.logits)

    def entropy(self) -> Tensor:
        if bool((self.total_count != (n := self.total_count.max())).any()):
            what = "has no formula for the entropy of different total_counts"
            raise error(NotImplementedError, "Binomial", what, "take the entropy of one distribution for each count")
        log_prob = self._log_prob(all_values(self, int(n) + 1, False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if bool((self.total_count != (n := self.total_count.max())).any()):
            what = "the distributions have different numbers of values, because total_count differs"
            raise error(NotImplementedError, "Binomial", what, "use one distribution for each count")
        return all_values(self, int(n) + 1, expand)


class Poisson(Parametric):
    """The number of independent events if `rate` are expected: rate**x * exp(-rate) / x!.

    >>> import minigrad
    >>> minigrad.distributions.Poisson(2.).log_prob(minigrad.tensor([0., 2.]))
    tensor([-2.0000, -1.3069])
    """

    arg_constraints = {"rate": nonnegative}
    support = nonnegative_integer
    mean = variance = formula(lambda d: d.rate)
    mode = formula(lambda d: d.rate.floor())

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None):
        super().__init__({"rate": rate}, validate_args)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return poisson(expanded(self.rate, self._extended_shape(sample_shape)))

    def _log_prob(self, x: Tensor) -> Tensor:
        return xlogy(x, self.rate) - self.rate - lgamma(x + 1)
