"""Distributions built from others: batch dimensions as one event, transformed values, mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from ..arrays.devices import Size
from ..autograd import no_grad
from ..core.tensor import Tensor
from ..errors import error
from ..ops.nn.softmax import log_softmax, logsumexp
from . import constraints
from .categorical import Categorical
from .constraints import dependent_property
from .distribution import Distribution, formula
from .transform_base import Transform, compose


def sum_last(x: Tensor, n: int) -> Tensor:
    """Return x summed over its last n dimensions."""
    return x.sum(tuple(range(-n, 0))) if n else x


class Independent(Distribution):
    """A distribution whose last `reinterpreted_batch_ndims` batch dimensions belong to one event.

    >>> import minigrad
    >>> D = minigrad.distributions
    >>> d = D.Independent(D.Normal(minigrad.zeros(3), 1.), 1)
    >>> d.batch_shape, d.event_shape, d.log_prob(minigrad.zeros(3))
    (minigrad.Size([]), minigrad.Size([3]), tensor(-2.7568))
    """

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ):
        batch, n = base_distribution.batch_shape, reinterpreted_batch_ndims
        if n > len(batch):
            what = f"reinterpreted_batch_ndims is {n}, but the batch shape is {tuple(batch)}"
            raise error(ValueError, "Independent", what, f"pass at most {len(batch)}")
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, n
        shape = (*batch, *base_distribution.event_shape)
        super().__init__(shape[: len(batch) - n], shape[len(batch) - n :], validate_args)

    has_rsample = formula(lambda d: d.base_dist.has_rsample)
    mean = formula(lambda d: d.base_dist.mean)
    mode = formula(lambda d: d.base_dist.mode)
    variance = formula(lambda d: d.base_dist.variance)

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        """True if all values can be listed: the base can list them, and no dimension is reinterpreted."""
        return not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support

    @dependent_property
    def support(self) -> Any:
        n = self.reinterpreted_batch_ndims
        return constraints.independent(self.base_dist.support, n) if n else self.base_dist.support

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new, n = copy(self), self.reinterpreted_batch_ndims
        new.base_dist = self.base_dist.expand((*batch_shape, *self.event_shape[:n]))
        new._batch_shape = Size(batch_shape)
        return new

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if not self.has_enumerate_support:
            what = "the values of several dimensions together are too many to list"
            raise error(NotImplementedError, "Independent", what, "list the values of base_dist")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The draws of `base_distribution` after transforms; log_prob adds the logarithm of |dx/dy|.

    >>> import minigrad
    >>> D = minigrad.distributions
    >>> d = D.TransformedDistribution(D.Normal(0., 1.), D.ExpTransform())
    >>> d.log_prob(minigrad.tensor(2.)), D.LogNormal(0., 1.).log_prob(minigrad.tensor(2.))
    (tensor(-1.8523), tensor(-1.8523))
    """

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ):
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if wrong := [t for t in self.transforms if not isinstance(t, Transform)]:
            what = f"transforms have to be Transforms, got {type(wrong[0]).__name__}"
            raise error(ValueError, "TransformedDistribution", what, "pass a Transform, such as ExpTransform()")
        whole, base = compose(self.transforms), base_distribution
        before = (*base.batch_shape, *base.event_shape)
        more = whole.domain.event_dim - len(base.event_shape)
        self.base_dist = Independent(base, more) if more > 0 else base
        after = whole.forward_shape(before)
        event_dim = whole.codomain.event_dim + max(-more, 0)
        cut = len(after) - event_dim
        super().__init__(after[:cut], after[cut:], validate_args)

    has_rsample = formula(lambda d: d.base_dist.has_rsample)

    @dependent_property
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        region = self.transforms[-1].codomain
        n = len(self.event_shape) - region.event_dim
        return constraints.independent(region, n) if n > 0 else region

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        whole = compose(self.transforms)
        before = whole.inverse_shape((*batch_shape, *self.event_shape))
        base = self.base_dist.expand(before[: len(before) - len(self.base_dist.event_shape)])
        return TransformedDistribution(base, self.transforms, self._validate_args)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return compose(self.transforms)(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return compose(self.transforms)(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        y, event_dim, total = value, len(self.event_shape), 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            total = total - sum_last(transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim)
            y = x
        return total + sum_last(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        whole = compose(self.transforms)
        p = self.base_dist.cdf(whole.inv(value))
        return 0.5 + whole.sign * (p - 0.5)

    def icdf(self, value: Tensor) -> Tensor:
        whole = compose(self.transforms)
        return whole(self.base_dist.icdf(0.5 + whole.sign * (value - 0.5)))

    def __repr__(self) -> str:
        return f"TransformedDistribution({self.base_dist}, {self.transforms})"


class MixtureSameFamily(Distribution):
    """Mixture of distributions of the same kind, the last batch dimension; a Categorical chooses one for each draw.

    >>> import minigrad
    >>> D = minigrad.distributions
    >>> parts = D.Normal(minigrad.tensor([-1., 1.]), 0.5)
    >>> d = D.MixtureSameFamily(D.Categorical(minigrad.ones(2)), parts)
    >>> d.mean, d.variance
    (tensor(0.), tensor(1.2500))
    """

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ):
        who, parts = "MixtureSameFamily", component_distribution
        if not isinstance(mixture_distribution, Categorical):
            what = f"the mixture has to be a Categorical, got {type(mixture_distribution).__name__}"
            raise error(ValueError, who, what, "write Categorical(weights)")
        n = mixture_distribution._num_events
        if not parts.batch_shape or parts.batch_shape[-1] != n:
            what = f"there are weights for {n} components, but their batch shape is {tuple(parts.batch_shape)}"
            raise error(ValueError, who, what, f"make the last dimension of the components' batch shape {n}")
        self.mixture_distribution, self.component_distribution = mixture_distribution, parts
        super().__init__(parts.batch_shape[:-1], parts.event_shape, validate_args)

    @dependent_property
    def support(self) -> Any:
        return self.component_distribution.support

    @property
    def _weights(self) -> Tensor:
        """The probabilities of the components, with dimensions of size 1 for the event."""
        p = self.mixture_distribution.probs
        return p.reshape(*p.shape, *[1] * len(self.event_shape))

    @property
    def _dim(self) -> int:
        """The dimension of the components in their moments."""
        return -1 - len(self.event_shape)

    @property
    def mean(self) -> Tensor:
        return (self._weights * self.component_distribution.mean).sum(self._dim)

    @property
    def variance(self) -> Tensor:
        inside = (self._weights * self.component_distribution.variance).sum(self._dim)
        off = self.component_distribution.mean - self.mean.unsqueeze(self._dim)
        return inside + (self._weights * off**2).sum(self._dim)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        n = self.component_distribution.batch_shape[-1]
        parts = self.component_distribution.expand((*batch_shape, n))
        return MixtureSameFamily(self.mixture_distribution.expand(batch_shape), parts, self._validate_args)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return (self.mixture_distribution.probs * self.component_distribution.cdf(value.unsqueeze(self._dim))).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        inside = self.component_distribution.log_prob(value.unsqueeze(self._dim))
        return logsumexp(inside + log_softmax(self.mixture_distribution.logits, -1), -1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            drawn = self.component_distribution.sample(sample_shape)
            lead, event = len(drawn.shape) + self._dim, self.event_shape
            which = self.mixture_distribution.expand(self.batch_shape).sample(sample_shape)
            which = which.reshape(*which.shape, 1, *[1] * len(event)).expand((*drawn.shape[:lead], 1, *event))
            return drawn.gather(lead, which).squeeze(lead)

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self.mixture_distribution}, {self.component_distribution})"
