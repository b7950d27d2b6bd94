"""Distributions of 0 and 1, of numbers between them, and of classes, given by probabilities or by logits.

A draw of 0 and 1 or of a class is not a differentiable function of the probabilities, so of these only the straight-through
estimate has `rsample`.
continuous.py has the scheme.
"""

from __future__ import annotations

import math
from typing import Any

from ..arrays.dtypes import finfo, int64
from ..autograd import no_grad
from ..core.tensor import Tensor
from ..errors import error
from ..ops.broadcast import broadcast_shapes
from ..ops.compare import where
from ..ops.create import arange, eye
from ..ops.elementary import lgamma, log1p, xlogy
from ..ops.join import stack
from ..ops.masks import one_hot
from ..ops.nn.activation import softplus
from ..ops.nn.softmax import logsumexp
from ..ops.random import bernoulli, multinomial
from .constraints import Constraint, boolean, counts, integer_interval, real, real_vector, unit_interval
from .constraints import one_hot as one_hot_vector
from .continuous import NOISE, expanded
from .distribution import Parametric, either, formula, lazy_property, short_text

WEIGHTS = Constraint(
    "weights", "a vector of nonnegative numbers, not all 0", lambda x: (x >= 0).all(-1) & (x.sum(-1) > 0), 1
)


class Binary(Parametric):
    """Base class: `probs` from 0 to 1, or `logits` = log(p / (1 - p)), for one number."""

    arg_constraints = {"probs": unit_interval, "logits": real}
    param_shape = formula(lambda d: d._param.shape)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        super().__init__(either(type(self).__name__, probs=probs, logits=logits), validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """Return the probabilities of 1."""
        return self.logits.sigmoid()

    @lazy_property
    def logits(self) -> Tensor:
        """Return the logits of the probabilities, which are first clamped by one rounding away from 0 and 1."""
        p = clamp_probs(self.probs)
        return p.log() - (-p).log1p()


class Bernoulli(Binary):
    """1 with probability p = `probs`, otherwise 0; or with `logits` = log(p / (1 - p)).

    >>> import minigrad
    >>> d = minigrad.distributions.Bernoulli(probs=0.25)
    >>> d.log_prob(minigrad.tensor([0., 1.])), d.entropy()
    (tensor([-0.2877, -1.3863]), tensor(0.5623))
    """

    has_enumerate_support = True
    support = boolean
    _enumerate_support = lambda d: arange(2, dtype=d._like.dtype, device=d._like.device)
    mean = formula(lambda d: d.probs)
    mode = formula(lambda d: where(d.probs == 0.5, math.nan, (d.probs > 0.5).to(d.probs.dtype)))
    variance = formula(lambda d: d.probs * (1 - d.probs))
    _log_prob = lambda d, x: x * d.logits - softplus(d.logits)
    _entropy = lambda d: softplus(d.logits) - d.probs * d.logits
    _draw = lambda d, shape: bernoulli(expanded(d.probs, shape))

    def _kl(self, q: Any) -> Tensor:
        p = self.probs
        one = xlogy(p, p) - where(p == 0, 0.0, p * -softplus(-q.logits))
        zero = xlogy(1 - p, 1 - p) + where(p == 1, 0.0, (1 - p) * softplus(q.logits))
        impossible = (q.probs == 0) & (p > 0) | (q.probs == 1) & (p < 1)
        return where(impossible, math.inf, one + zero)


class ContinuousBernoulli(Binary):
    """Numbers from 0 to 1, with a density in proportion to probs**x * (1 - probs)**(1 - x).

    Source: Loaiza-Ganem, Cunningham, "The continuous Bernoulli: fixing a pervasive error in variational autoencoders", 2019.

    >>> import minigrad
    >>> d = minigrad.distributions.ContinuousBernoulli(probs=0.25)
    >>> d.mean, d.log_prob(minigrad.tensor([0., 1.]))
    (tensor(0.4102), tensor([ 0.4995, -0.5991]))
    """

    has_rsample = True
    support = unit_interval
    # the formulas have 0 / 0 at probs = 1/2: there, series in `_off` take over, and `_far` is another number
    _off = formula(lambda d: d.probs - 0.5)
    _near = formula(lambda d: d._off.abs() < 1e-3)
    _far = formula(lambda d: where(d._near, 0.25, clamp_probs(d.probs)))
    _odds = formula(lambda d: d._far.log() - log1p(-d._far))
    mean = formula(
        lambda d: where(d._near, 0.5 + d._off / 3 + d._off**3 * (16 / 45), d._far / (2 * d._far - 1) - 1 / d._odds)
    )
    variance = formula(
        lambda d: where(
            d._near,
            1 / 12 - d._off**2 / 15 + d._off**4 * (128 / 945),
            1 / d._odds**2 - d._far * (1 - d._far) / (1 - 2 * d._far) ** 2,
        )
    )
    _log_norm = formula(
        lambda d: where(
            d._near,
            math.log(2) + d._off**2 * (4 / 3) + d._off**4 * (104 / 45),
            (d._odds / (2 * d._far - 1)).log(),
        )
    )
    _log_prob = lambda d, x: x * d.logits - softplus(d.logits) + d._log_norm
    _entropy = lambda d: softplus(d.logits) - d.mean * d.logits - d._log_norm
    _kl = lambda d, q: (
        d.mean * (d.logits - q.logits) - softplus(d.logits) + d._log_norm + softplus(q.logits) - q._log_norm
    )

    _draw = lambda d, shape: d.icdf(NOISE["uniform"](shape, d._like))

    def _cdf(self, x: Tensor) -> Tensor:
        far = (self._far**x * (1 - self._far) ** (1 - x) + self._far - 1) / (2 * self._far - 1)
        return where(x <= 0, 0.0, where(x >= 1, 1.0, where(self._near, x, far)))

    def _icdf(self, p: Tensor) -> Tensor:
        return where(self._near, p, log1p(p * (2 * self._far - 1) / (1 - self._far)) / self._odds)


class Classes(Parametric):
    """One of n classes; the last dimension of `probs` has a weight for each class, that of `logits` its logarithm."""

    arg_constraints = {"probs": WEIGHTS, "logits": real_vector}
    param_shape = formula(lambda d: d._param.shape)
    _num_events = formula(lambda d: d._param.shape[-1])
    _likeliest = formula(lambda d: d._param.argmax(-1))
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
        p = self.probs.reshape(-1, self._num_events)
        each = math.prod(shape) // max(len(p), 1)
        return multinomial(p, each, True).T.reshape(shape) if each else p.new_empty(shape, dtype=int64)

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

    mean = variance = formula(lambda d: d.probs.new_full(d._extended_shape(), math.nan))
    mode = formula(lambda d: d._likeliest)
    support = formula(lambda d: integer_interval(0, d._num_events - 1))
    has_enumerate_support = True
    _enumerate_support = lambda d: arange(d._num_events, device=d._like.device)
    _log_prob = lambda d, x: d._log_prob_of(x.long())
    _kl, _draw = Classes._divergence, Classes._drawn


class OneHotCategorical(Classes):
    """A class as a vector of n numbers, 1 at the class and otherwise 0; the arguments are those of Categorical.

    >>> import minigrad
    >>> d = minigrad.distributions.OneHotCategorical(probs=minigrad.tensor([1., 1., 2.]))
    >>> d.event_shape, d.mean, d.log_prob(minigrad.tensor([0., 0., 1.]))
    (minigrad.Size([3]), tensor([0.2500, 0.2500, 0.5000]), tensor(-0.6931))
    """

    has_enumerate_support = True
    support = one_hot_vector
    _enumerate_support = lambda d: eye(d._num_events, dtype=d._like.dtype, device=d._like.device)
    mean = formula(lambda d: d.probs)
    mode = formula(lambda d: one_hot(d._likeliest, d._num_events).to(d._like.dtype))
    variance = formula(lambda d: d.probs * (1 - d.probs))
    _log_prob = lambda d, x: d._log_prob_of(x.argmax(-1))
    _kl = Classes._divergence
    _one_hot = True
    _draw = lambda d, shape: one_hot(d._drawn(shape[:-1]), d._num_events).to(d._like.dtype)


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

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return self._draw(self._extended_shape(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(Classes):
    """The counts of the classes in `total_count` draws; the other arguments are those of Categorical.

    >>> import minigrad
    >>> d = minigrad.distributions.Multinomial(10, probs=minigrad.tensor([1., 1., 2.]))
    >>> d.mean, d.sample((3,)).sum(-1), d.log_prob(minigrad.tensor([2., 3., 5.]))
    (tensor([2.5000, 2.5000, 5.0000]), tensor([10., 10., 10.]), tensor(-2.5652))
    """

    mean = formula(lambda d: d.total_count * d.probs)
    variance = formula(lambda d: d.total_count * d.probs * (1 - d.probs))
    support = formula(lambda d: counts(d.total_count))
    _one_hot = True
    _constants = ("total_count",)
    _draw = lambda d, shape: one_hot(d._drawn((d.total_count, *shape[:-1])), d._num_events).sum(0).to(d._like.dtype)

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        if not isinstance(total_count, int) or total_count < 0:
            what = f"total_count has to be a number of draws, but is {short_text(total_count)}"
            raise error(NotImplementedError, "Multinomial", what, "pass an int, the same for all")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    def _log_prob(self, x: Tensor) -> Tensor:
        impossible = (x == 0) & (self.logits == -math.inf)
        return log_choices(x) + where(impossible, 0.0, x * self.logits).sum(-1)

    def _entropy(self) -> Tensor:
        n, p = self.total_count, self.probs.unsqueeze(-1)
        x = arange(n + 1, dtype=p.dtype, device=p.device)
        each = (log_choices(stack([x, n - x], -1)) + xlogy(x, p) + xlogy(n - x, 1 - p)).exp()  # binomial
        return n * super()._entropy() - math.lgamma(n + 1) + (each * lgamma(x + 1)).sum((-2, -1))


def log_choices(x: Tensor) -> Tensor:
    """Return the logarithm of the number of orders in which draws can have these counts."""
    return lgamma(x.sum(-1) + 1) - lgamma(x + 1).sum(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Clamp probabilities by one rounding away from 0 and 1, so that their logarithms are finite."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)
