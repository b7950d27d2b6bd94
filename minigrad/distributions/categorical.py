"""Distributions of classes: as numbers, as one-hot vectors, and as counts of each class."""

from __future__ import annotations

import math
from typing import Any

from ..arrays.devices import Size
from ..autograd import no_grad
from ..core.tensor import Tensor
from ..errors import error
from ..ops.broadcast import broadcast_shapes
from ..ops.compare import where
from ..ops.create import arange
from ..ops.elementary import lgamma
from ..ops.nn.softmax import logsumexp
from ..ops.random import multinomial
from . import constraints
from .constraints import dependent_property, integer_interval
from .discrete import Binomial, all_values
from .distribution import Parametric, either, formula
from .utils import lazy_property, probs_to_logits


class OfClasses(Parametric):
    """A distribution over classes: `probs` are their probabilities (normalized here), `logits` the logarithms of these."""

    arg_constraints = {
        "probs": constraints.Plain("simplex", "a vector of nonnegative numbers, not all 0", lambda x: classes(x), 1),
        "logits": constraints.real_vector,
    }
    _param = formula(lambda d: getattr(d, next(k for k in d._given if k in ("probs", "logits"))))

    def _set_up(self, given: dict, validate_args: bool | None, events: bool, **more: Any) -> None:
        """Normalize the given parameter; with `events` a draw is a vector over the classes."""
        (name, v), who = next(iter(given.items())), type(self).__name__
        if not isinstance(v, Tensor) or v.ndim < 1:
            what = f"{name} needs a dimension of classes, but got {'a number' if v.ndim == 0 else type(v).__name__}"
            raise error(ValueError, who, what, "write minigrad.tensor([0.2, 0.8])")
        if validate_args is not False and self._validate_args:
            self._check(name, self.arg_constraints[name], v)
        v = v / v.sum(-1, True) if name == "probs" else v - logsumexp(v, -1, True)
        Parametric.__init__(self, {**more, name: v}, False, v.shape[-1:] if events else ())
        if validate_args is not None:
            self._validate_args = validate_args
        elif self._validate_args is False:
            del self._validate_args

    _like = formula(lambda d: d._param)

    @lazy_property
    def probs(self) -> Tensor:
        """Return the probabilities of the classes."""
        return self.logits.exp()

    @lazy_property
    def logits(self) -> Tensor:
        """Return the logarithms of the probabilities, which are first clamped by one rounding away from 0 and 1."""
        return probs_to_logits(self.probs)

    @property
    def param_shape(self) -> Size:
        """The shape of probs and of logits."""
        return Size(self._param.shape)

    def _entropy(self) -> Tensor:
        """Return the entropy of a single choice."""
        logits = self.logits.clamp(min=-3e38 if self.logits.dtype.itemsize < 8 else -1e300)
        return -(logits * self.probs).sum(-1)

    def _choices(self, shape: Any, n: int) -> Tensor:
        """Return n classes for each position of a shape that ends in the batch shape, along a new last dimension."""
        with no_grad():
            p = self.probs.expand((*shape, self.probs.shape[-1]))
            return multinomial(p.reshape(-1, p.shape[-1]), n, True).reshape(*shape, n)


def classes(x: Tensor) -> Tensor:
    """Return True for each vector of weights: nonnegative numbers, not all 0."""
    return (x >= 0).all(-1) & (x.sum(-1) > 0)


class Categorical(OfClasses):
    """A class from 0 to n - 1; the last dimension of `probs` has the probability of each class.

    >>> import minigrad
    >>> d = minigrad.distributions.Categorical(probs=minigrad.tensor([1., 1., 2.]))
    >>> d.log_prob(minigrad.tensor([0, 2])), d.entropy()
    (tensor([-1.3863, -0.6931]), tensor(1.0397))
    """

    has_enumerate_support = True
    mean = variance = formula(lambda d: d.probs.new_full(d.batch_shape, math.nan))
    mode = formula(lambda d: d._param.argmax(-1))
    _num_events = formula(lambda d: d._param.shape[-1])

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._set_up(either("Categorical", probs=probs, logits=logits), validate_args, False)

    @dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return integer_interval(0, self._num_events - 1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._choices(self._extended_shape(sample_shape), 1).squeeze(-1)

    def _log_prob(self, x: Tensor) -> Tensor:
        shape = (*self.logits.shape[:-1], 1)
        x = x.long().unsqueeze(-1)
        shape = broadcast_shapes(x.shape, shape)
        return self.logits.expand((*shape[:-1], self._num_events)).gather(-1, x.expand(shape)).squeeze(-1)

    def entropy(self) -> Tensor:
        return self._entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return all_values(self, self._num_events, expand).long()


class OneHotCategorical(OfClasses):
    """A class as in Categorical, but as a one-hot vector.

    >>> import minigrad
    >>> d = minigrad.distributions.OneHotCategorical(probs=minigrad.tensor([1., 1., 2.]))
    >>> d.event_shape, d.log_prob(minigrad.tensor([0., 0., 1.]))
    (minigrad.Size([3]), tensor(-0.6931))
    """

    support = constraints.one_hot
    has_enumerate_support = True
    mean = formula(lambda d: d.probs)
    mode = formula(lambda d: in_place(d.probs.argmax(-1), d.probs))
    variance = formula(lambda d: d.probs * (1 - d.probs))

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._set_up(either(type(self).__name__, probs=probs, logits=logits), validate_args, True)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)[:-1]
        return in_place(self._choices(shape, 1).squeeze(-1), self.probs)

    def _log_prob(self, x: Tensor) -> Tensor:
        return where(x.eq(0), 0.0, self.logits).sum(-1)

    def entropy(self) -> Tensor:
        return self._entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n, rank = self.event_shape[0], len(self.batch_shape)
        values = in_place(arange(n, device=self.probs.device), self.probs).reshape(n, *[1] * rank, n)
        return values.expand((n, *self.batch_shape, n)) if expand else values


def in_place(index: Tensor, probs: Tensor) -> Tensor:
    """Return one-hot vectors with 1 at an index, in the dtype of the probabilities."""
    return (arange(probs.shape[-1], device=probs.device) == index.unsqueeze(-1)).to(probs.dtype)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose draws pass gradients to `probs` as if the draws were the probabilities (Bengio et al., 2013).

    >>> import minigrad
    >>> p = minigrad.tensor([0.2, 0.8]).requires_grad_()
    >>> d = minigrad.distributions.OneHotCategoricalStraightThrough(probs=p)
    >>> d.rsample().requires_grad
    True
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(OfClasses):
    """The number of times that each class occurs in `total_count` draws.

    >>> import minigrad
    >>> d = minigrad.distributions.Multinomial(2, probs=minigrad.tensor([0.5, 0.5]))
    >>> d.mean, d.log_prob(minigrad.tensor([1., 1.])).exp()
    (tensor([1., 1.]), tensor(0.5000))
    """

    mean = formula(lambda d: d.probs * d.total_count)
    variance = formula(lambda d: d.total_count * d.probs * (1 - d.probs))
    _settings = ("total_count",)

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        if not isinstance(total_count, int):
            what = f"total_count has to be one whole number, got {type(total_count).__name__}"
            raise error(NotImplementedError, "Multinomial", what, "use one distribution for each count")
        self.total_count = total_count
        self._set_up(either("Multinomial", probs=probs, logits=logits), validate_args, True)

    @dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)[:-1]
        return in_place(self._choices(shape, self.total_count), self.probs).sum(-2)

    def _log_prob(self, x: Tensor) -> Tensor:
        ways = lgamma(x.sum(-1) + 1) - lgamma(x + 1).sum(-1)
        return ways + where(x.eq(0) & self.logits.eq(-math.inf), 0.0, self.logits * x).sum(-1)

    def entropy(self) -> Tensor:
        n = self.total_count
        each = Binomial(n, probs=self.probs, validate_args=False)
        x = all_values(each, n + 1, False)[1:]
        spread = (each._log_prob(x).exp() * lgamma(x + 1)).sum((0, -1))
        return n * self._entropy() - math.lgamma(n + 1) + spread
