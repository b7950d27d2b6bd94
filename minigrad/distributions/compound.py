"""Distributions built from others: batch dimensions as one event, transformed values, mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..arrays.devices import Size
from ..autograd import no_grad
from ..core.tensor import Tensor
from ..errors import error
from ..ops.nn.softmax import log_softmax, logsumexp
from . import constraints
from .discrete import Categorical
from .distribution import Distribution, formula
from .kl import kl_divergence
from .transforms import Transform


def sum_last(x: Tensor, n: int) -> Tensor:
    """Return x summed over its last n dimensions."""
    return x.sum(tuple(range(-n, 0))) if n else x


def widened(region: constraints.Constraint, event_dim: int) -> constraints.Constraint:
    """Return a constraint on events with at least this number of dimensions."""
    more = event_dim - region.event_dim
    return constraints.independent(region, more) if more > 0 else region


def before(transforms: Sequence[Transform], shape: Any) -> Size:
    """Return the shape that transforms turn into a shape."""
    for transform in reversed(transforms):
        shape = transform.inverse_shape(shape)
    return Size(shape)


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
    support = formula(lambda d: widened(d.base_dist.support, len(d.event_shape)))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new, n = self._get_checked_instance(Independent, _instance), self.reinterpreted_batch_ndims
        base = self.base_dist.expand((*batch_shape, *self.event_shape[:n]))
        Independent.__init__(new, base, n, self._validate_args)
        return new

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def _entropy(self) -> Tensor:
        return sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def _kl(self, q: Any) -> Tensor:
        n = self.reinterpreted_batch_ndims
        if n != q.reinterpreted_batch_ndims:
            what = f"{n} dimensions of p belong to one event, but {q.reinterpreted_batch_ndims} of q"
            raise error(NotImplementedError, "kl_divergence", what, "give both the same reinterpreted_batch_ndims")
        return sum_last(kl_divergence(self.base_dist, q.base_dist), n)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The draws of `base_distribution` after transforms; log_prob adds the logarithm of |dx/dy|.

    >>> import minigrad
    >>> D = minigrad.distributions
    >>> log_normal = D.TransformedDistribution(D.Normal(0., 1.), D.ExpTransform())
    >>> log_normal.log_prob(minigrad.tensor(2.))
    tensor(-1.8523)
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
        base = base_distribution
        own = shape = Size((*base.batch_shape, *base.event_shape))
        event_dim = max([len(base.event_shape), *[t.domain.event_dim for t in self.transforms]])
        if event_dim > len(own):
            what = f"the transforms map {event_dim} dimensions together, but a draw has shape {tuple(own)}"
            raise error(ValueError, "TransformedDistribution", what, "expand the base distribution")
        for transform in self.transforms:
            shape = transform.forward_shape(shape)
        if (needed := before(self.transforms, shape)) != own:  # each element of a draw has its own noise
            base = base.expand(needed[: len(needed) - len(base.event_shape)])
        more = event_dim - len(base.event_shape)
        self.base_dist = Independent(base, more) if more else base
        cut = len(shape) - event_dim
        super().__init__(shape[:cut], shape[cut:], validate_args)

    has_rsample = formula(lambda d: d.base_dist.has_rsample)
    support = formula(
        lambda d: widened(d.transforms[-1].codomain, len(d.event_shape)) if d.transforms else d.base_dist.support
    )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(TransformedDistribution, _instance)
        shape = before(self.transforms, (*batch_shape, *self.event_shape))
        base = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        TransformedDistribution.__init__(new, base, self.transforms, self._validate_args)
        return new

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def _forward(self, x: Tensor) -> Tensor:
        """Return x after all transforms."""
        for transform in self.transforms:
            x = transform(x)
        return x

    def _log_prob(self, y: Tensor) -> Tensor:
        total = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            slope = transform.log_abs_det_jacobian(x, y)
            total = total - sum_last(slope, len(self.event_shape) - transform.domain.event_dim)
            y = x
        return total + self.base_dist.log_prob(y)

    def _cdf(self, y: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            y = transform.inv(y)
        return self._monotonize_cdf(self.base_dist.cdf(y))

    def _icdf(self, p: Tensor) -> Tensor:
        return self._forward(self.base_dist.icdf(self._monotonize_cdf(p)))

    def _monotonize_cdf(self, p: Tensor) -> Tensor:
        """Return the probability of the other side, 1 - p, where the transforms decrease."""
        for transform in self.transforms:
            p = 0.5 + transform.sign * (p - 0.5)
        return p

    def _kl(self, q: Any) -> Tensor:  # equal transforms leave a divergence unchanged
        if self.transforms != q.transforms or self.event_shape != q.event_shape:
            what = f"p is transformed by {self.transforms}, q by {q.transforms}"
            raise error(
                NotImplementedError, "kl_divergence", what, "use the same transforms, or estimate it from draws"
            )
        return kl_divergence(self.base_dist, q.base_dist)

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
        self._dim = -1 - len(parts.event_shape)  # the dimension of the components in their moments and draws
        super().__init__(parts.batch_shape[:-1], parts.event_shape, validate_args)

    support = formula(lambda d: d.component_distribution.support)
    mean = formula(lambda d: d._average(d.component_distribution.mean))

    @property
    def variance(self) -> Tensor:
        off = self.component_distribution.mean - self.mean.unsqueeze(self._dim)
        return self._average(self.component_distribution.variance + off**2)

    def _average(self, x: Tensor) -> Tensor:
        """Return the mean over the components, with their probabilities as weights."""
        p = self.mixture_distribution.probs
        return (p.reshape(*p.shape, *[1] * len(self.event_shape)) * x).sum(self._dim)

    def _log_prob(self, x: Tensor) -> Tensor:
        inside = self.component_distribution.log_prob(x.unsqueeze(self._dim))
        return logsumexp(inside + log_softmax(self.mixture_distribution.logits, -1), -1)

    def _cdf(self, x: Tensor) -> Tensor:
        inside = self.component_distribution.cdf(x.unsqueeze(self._dim))
        return (inside * self.mixture_distribution.probs).sum(-1)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        parts = self.component_distribution.expand((*batch_shape, self.mixture_distribution._num_events))
        MixtureSameFamily.__init__(new, self.mixture_distribution.expand(batch_shape), parts, self._validate_args)
        return new

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            which = self.mixture_distribution.expand(self.batch_shape).sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            lead, event = len(drawn.shape) + self._dim, self.event_shape
            which = which.reshape(*which.shape, 1, *[1] * len(event)).expand((*drawn.shape[:lead], 1, *event))
            return drawn.gather(lead, which).squeeze(lead)

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self.mixture_distribution}, {self.component_distribution})"
