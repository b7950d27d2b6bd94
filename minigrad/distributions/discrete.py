"""Distributions of 0 and 1, and of classes, given by probabilities or by logits.

A draw is not a differentiable function of the probabilities, so only the straight-through estimate has `rsample`.
continuous.py has the scheme.
"""

from __future__ import annotations

import math
from typing import Any

from ..arrays.dtypes import finfo
from ..autograd import no_grad
from ..core.tensor import Tensor
from ..errors import error
from ..ops.broadcast import broadcast_shapes
from ..ops.compare import where
from ..ops.elementary import xlogy
from ..ops.masks import one_hot
from ..ops.nn.activation import softplus
from ..ops.nn.softmax import logsumexp
from ..ops.random import bernoulli, multinomial
from .constraints import Constraint, boolean, integer_interval, real, real_vector, unit_interval
from .constraints import one_hot as one_hot_vector
from .continuous import expanded
from .distribution import Parametric, either, formula, lazy_property

WEIGHTS = Constraint(
    "weights", "a vector of nonnegative numbers, not all 0", lambda x: (x >= 0).all(-1) & (x.sum(-1) > 0), 1
)


class Bernoulli(Parametric):
    """1 with probability p = `probs`, otherwise 0; or with `logits` = log(p / (1 - p)).

    >>> import minigrad
    >>> d = minigrad.distributions.Bernoulli(probs=0.25)
    >>> d.log_prob(minigrad.tensor([0., 1.])), d.entropy()
    (tensor([-0.2877, -1.3863]), tensor(0.5623))
    """

    arg_constraints = {"probs": unit_interval, "logits": real}
    support = boolean
    mean = formula(lambda d: d.probs)
    mode = formula(lambda d: where(d.probs == 0.5, math.nan, (d.probs > 0.5).to(d.probs.dtype)))
    variance = formula(lambda d: d.probs * (1 - d.probs))
    _log_prob = lambda d, x: x * d.logits - softplus(d.logits)
    _entropy = lambda d: softplus(d.logits) - d.probs * d.logits

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        super().__init__(either("Bernoulli", probs=probs, logits=logits), validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """Return the probabilities of 1."""
        return self.logits.sigmoid()

    @lazy_property
    def logits(self) -> Tensor:
        """Return the logits of the probabilities, which are first clamped by one rounding away from 0 and 1."""
        p = clamp_probs(self.probs)
        return p.log() - (-p).log1p()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return bernoulli(expanded(self.probs, self._extended_shape(sample_shape)))

    def _kl(self, q: Any) -> Tensor:
        p = self.probs
        one = xlogy(p, p) - where(p == 0, 0.0, p * -softplus(-q.logits))
        zero = xlogy(1 - p, 1 - p) + where(p == 1, 0.0, (1 - p) * softplus(q.logits))
        impossible = (q.probs == 0) & (p > 0) | (q.probs == 1) & (p < 1)
        return where(impossible, math.inf, one + zero)


class Classes(Parametric):
    """One of n classes; the last dimension of `probs` has a weight for each class, that of `logits` its logarithm."""

    arg_constraints = {"probs": WEIGHTS, "logits": real_vector}
    _num_events = formula(lambda d: getattr(d, *d._given).shape[-1])
    _likeliest = formula(lambda d: getattr(d, *d._given).argmax(-1))
    _one_hot = False

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        who = type(self).__name__
        given = either(who, probs=probs, logits=logits)
        ((name, v),) = given.items()
        if not isinstance(v, Tensor) or v.ndim < 1:
            got = "a number" if isinstance(v, (Tensor, int, float)) else type(v).__name__
            what = f"{name} needs a dimension of classes, but got {got}"
            raise error(ValueError, who, what, "write minigrad.tensor([0.2, 0.8])")
        super().__init__(given, validate_args, v.shape[-1:] if self._one_hot else ())
        setattr(self, name, v / v.sum(-1, True) if name == "probs" else v - logsumexp(v, -1, True))

    @lazy_property
    def probs(self) -> Tensor:
        """Return the probabilities of the classes."""
        return self.logits.exp()

    @lazy_property
    def logits(self) -> Tensor:
        """Return the logarithms of the probabilities, which are first clamped by one rounding away from 0 and 1."""
        return clamp_probs(self.probs).log()

    def _drawn(self, shape: Any) -> Tensor:
        """Return numbers of classes."""
        with no_grad():
            p = self.probs.expand((*shape, self._num_events))
            return multinomial(p.reshape(-1, self._num_events), 1, True).reshape(shape)

    def _log_prob_of(self, x: Tensor) -> Tensor:
        """Return the logarithms of the probabilities of numbers of classes."""
        x, n = x.unsqueeze(-1), self._num_events
        shape = broadcast_shapes(x.shape, (*self.logits.shape[:-1], 1))
        return self.logits.expand((*shape[:-1], n)).gather(-1, x.expand(shape)).squeeze(-1)

    def _entropy(self) -> Tensor:
        logits = self.logits.clamp(min=-3e38 if self.logits.dtype.itemsize < 8 else -1e300)
        return -(logits * self.probs).sum(-1)

    def _divergence(self, q: Any) -> Tensor:
        terms = where(self.probs == 0, 0.0, self.probs * (self.logits - q.logits))
        return where((q.probs == 0) & (self.probs > 0), math.inf, terms).sum(-1)


class Categorical(Classes):
    """A class from 0 to n - 1; the last dimension of `probs` has a weight for each class, that of `logits` its logarithm.

    The weights need not have the sum 1: the attributes `probs` and `logits` are normalized.

    >>> import minigrad
    >>> d = minigrad.distributions.Categorical(probs=minigrad.tensor([1., 1., 2.]))
    >>> d.log_prob(minigrad.tensor([0, 2])), d.entropy()
    (tensor([-1.3863, -0.6931]), tensor(1.0397))
    """

    mean = variance = formula(lambda d: d.probs.new_full(d.batch_shape, math.nan))
    mode = formula(lambda d: d._likeliest)
    support = formula(lambda d: integer_interval(0, d._num_events - 1))
    _log_prob = lambda d, x: d._log_prob_of(x.long())
    _kl = Classes._divergence

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._drawn(self._extended_shape(sample_shape))


class OneHotCategorical(Classes):
    """A class as a vector of n numbers, 1 at the class and otherwise 0; the arguments are those of Categorical.

    >>> import minigrad
    >>> d = minigrad.distributions.OneHotCategorical(probs=minigrad.tensor([1., 1., 2.]))
    >>> d.event_shape, d.mean, d.log_prob(minigrad.tensor([0., 0., 1.]))
    (minigrad.Size([3]), tensor([0.2500, 0.2500, 0.5000]), tensor(-0.6931))
    """

    support = one_hot_vector
    mean = formula(lambda d: d.probs)
    mode = formula(lambda d: one_hot(d._likeliest, d._num_events).to(d._like.dtype))
    variance = formula(lambda d: d.probs * (1 - d.probs))
    _log_prob = lambda d, x: d._log_prob_of(x.argmax(-1))
    _kl = Classes._divergence
    _one_hot = True

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return one_hot(self._drawn(self._extended_shape(sample_shape)[:-1]), self._num_events).to(self._like.dtype)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose `rsample` has gradients: those of the probabilities stand for those of the draw.

    Bengio, Leonard and Courville, "Estimating or propagating gradients through stochastic neurons", 2013.

    >>> import minigrad
    >>> p = minigrad.tensor([0.5, 0.5], requires_grad=True)
    >>> d = minigrad.distributions.OneHotCategoricalStraightThrough(probs=p)
    >>> minigrad.autograd.grad((d.rsample() * minigrad.tensor([1., 3.])).sum(), p)
    (tensor([-1.,  1.]),)
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


def clamp_probs(probs: Tensor) -> Tensor:
    """Clamp probabilities by one rounding away from 0 and 1, so that their logarithms are finite."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)
