"""Relaxed classes: points near the corners of a simplex that are differentiable functions of the probabilities.

Sources: Maddison, Mnih, Teh, "The Concrete Distribution", 2017; Jang, Gu, Poole, "Categorical Reparameterization with
Gumbel-Softmax", 2017.  The lower the temperature, the closer to draws of OneHotCategorical and Bernoulli.
"""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Tensor
from ..ops.inverses import logit
from ..ops.nn.activation import softplus
from ..ops.nn.softmax import logsumexp, softmax
from . import constraints
from .categorical import OfClasses
from .continuous import noise
from .discrete import OfLogits
from .distribution import either, number


class RelaxedBernoulli(OfLogits):
    """A number between 0 and 1, near 1 with probability p = `probs`: sigmoid((logits + logistic noise) / temperature).

    >>> import minigrad
    >>> d = minigrad.distributions.RelaxedBernoulli(minigrad.tensor(0.5), probs=0.5)
    >>> d.log_prob(minigrad.tensor(0.5))
    tensor(-0.6931)
    """

    has_rsample = True
    support = constraints.unit_interval
    _settings = ("temperature",)

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        super().__init__(either("RelaxedBernoulli", probs=probs, logits=logits), validate_args)
        self.temperature = temperature if isinstance(temperature, Tensor) else number(temperature, self._like)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        logistic = noise("gumbel", shape, self._like) - noise("gumbel", shape, self._like)
        return ((self.logits + logistic) / self.temperature).sigmoid()

    def _log_prob(self, y: Tensor) -> Tensor:
        x, t = logit(y), self.temperature
        off = self.logits - x * t  # for the logistic density of x * t, and dx/dy
        return t.log() + off - 2 * softplus(off) + softplus(x) + softplus(-x)


class RelaxedOneHotCategorical(OfClasses):
    """A nonnegative vector with sum 1, near a corner: softmax((logits + Gumbel noise) / temperature).

    >>> import minigrad
    >>> d = minigrad.distributions.RelaxedOneHotCategorical(minigrad.tensor(0.5), probs=minigrad.ones(3))
    >>> round(d.rsample().sum().item(), 4)
    1.0
    """

    has_rsample = True
    support = constraints.simplex
    _settings = ("temperature",)

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._set_up(either("RelaxedOneHotCategorical", probs=probs, logits=logits), validate_args, True)
        self.temperature = temperature if isinstance(temperature, Tensor) else number(temperature, self._like)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        scores = self.logits + noise("gumbel", self._extended_shape(sample_shape), self._like)
        return softmax(scores / self.temperature, -1)

    def _log_prob(self, y: Tensor) -> Tensor:
        n, t = self.event_shape.numel(), self.temperature
        score = self.logits - t * y.log()
        return math.lgamma(n) + (n - 1) * t.log() + (score - logsumexp(score, -1, True)).sum(-1) - y.log().sum(-1)
