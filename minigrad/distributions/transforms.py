"""The transforms of numbers, vectors and matrices.  transform_base.py has their base class."""

from __future__ import annotations

import math
from typing import Any

from ..arrays.devices import Size
from ..arrays.dtypes import finfo
from ..core.tensor import Tensor
from ..ops.broadcast import broadcast_shapes
from ..ops.create import arange
from ..ops.inverses import logit
from ..ops.nn.activation import softplus
from ..ops.nn.softmax import softmax
from ..ops.pad import pad
from . import constraints
from .distribution import formula
from .transform_base import ComposeTransform, IndependentTransform, Transform, widened

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "ComposeTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PowerTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]

identity_transform = ComposeTransform([])


def sign_of(factor: Any) -> Any:
    """Return the sign of a number or a tensor."""
    return factor.sign() if isinstance(factor, Tensor) else (factor > 0) - (factor < 0)


# ---------------------------------------------------------------------- number by number
class ExpTransform(Transform):
    """y = exp(x).

    >>> import minigrad
    >>> minigrad.distributions.ExpTransform()(minigrad.tensor(1.))
    tensor(2.7183)
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def _log_slope(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class AffineTransform(Transform):
    """y = loc + scale * x.  `event_dim` is the number of dimensions of one event.

    >>> import minigrad
    >>> minigrad.distributions.AffineTransform(1., 2.)(minigrad.tensor(3.))
    tensor(7.)
    """

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim

    domain = codomain = formula(lambda t: widened(constraints.real, t.event_dim))

    sign = formula(lambda t: sign_of(t.scale))

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def _log_slope(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale if isinstance(self.scale, Tensor) else x.new_full((), self.scale)
        slope = scale.abs().log().expand(y.shape)
        return slope.sum(tuple(range(-self.event_dim, 0))) if self.event_dim else slope

    def forward_shape(self, shape: Any) -> Size:
        return Size(broadcast_shapes(shape, *[v.shape for v in (self.loc, self.scale) if isinstance(v, Tensor)]))

    inverse_shape = forward_shape


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)).

    >>> import minigrad
    >>> minigrad.distributions.SigmoidTransform()(minigrad.tensor(0.))
    tensor(0.5000)
    """

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return x.sigmoid()

    def _inverse(self, y: Tensor) -> Tensor:
        return logit(y)

    def _log_slope(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class TanhTransform(Transform):
    """y = tanh(x).

    >>> import minigrad
    >>> t = minigrad.distributions.TanhTransform()
    >>> t.log_abs_det_jacobian(x := minigrad.tensor(20.), t(x))  # exact where 1 - y**2 is 0
    tensor(-38.6137)
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def _log_slope(self, x: Tensor, y: Tensor) -> Tensor:
        return 2 * (math.log(2) - x - softplus(-2 * x))


class SoftplusTransform(Transform):
    """y = log(1 + exp(x)).

    >>> import minigrad
    >>> minigrad.distributions.SoftplusTransform()(minigrad.tensor(0.))
    tensor(0.6931)
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-(-y).expm1()).log() + y

    def _log_slope(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class PowerTransform(Transform):
    """y = x ** exponent, for positive x.

    >>> import minigrad
    >>> minigrad.distributions.PowerTransform(2.)(minigrad.tensor(3.))
    tensor(9.)
    """

    domain = codomain = constraints.positive

    def __init__(self, exponent: Any, cache_size: int = 0):
        super().__init__(cache_size)
        self.exponent = exponent

    sign = formula(lambda t: sign_of(t.exponent))

    def _call(self, x: Tensor) -> Tensor:
        return x**self.exponent

    def _inverse(self, y: Tensor) -> Tensor:
        return y ** (1 / self.exponent)

    def _log_slope(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()


class AbsTransform(Transform):
    """y = |x|, which is not invertible; `inv` returns the positive solution.

    >>> import minigrad
    >>> minigrad.distributions.AbsTransform()(minigrad.tensor(-3.))
    tensor(3.)
    """

    bijective = False
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


# ---------------------------------------------------------------------- vectors and matrices
class SoftmaxTransform(Transform):
    """Vectors to nonnegative vectors with sum 1; it loses a dimension, so it gives no density.

    >>> import minigrad
    >>> minigrad.distributions.SoftmaxTransform()(minigrad.zeros(2))
    tensor([0.5000, 0.5000])
    """

    bijective = False
    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()


class StickBreakingTransform(Transform):
    """n - 1 numbers to n nonnegative numbers with sum 1: each takes a share of what the previous ones leave.

    >>> import minigrad
    >>> minigrad.distributions.StickBreakingTransform()(minigrad.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain, codomain = constraints.real_vector, constraints.simplex

    def _parts(self, x: Tensor) -> Tensor:
        """Return the logit of each share; 0 stands for an even share."""
        return x - arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Tensor) -> Tensor:
        z = self._parts(x).sigmoid()
        return pad(z, (0, 1), value=1.0) * pad((1 - z).cumprod(-1), (1, 0), value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        taken, left = y[..., :-1], 1 - y[..., :-1].cumsum(-1)
        tiny = finfo(y.dtype).tiny
        return taken.clamp(min=tiny).log() - left.clamp(min=tiny).log() - self._parts(taken * 0)

    def _log_slope(self, x: Tensor, y: Tensor) -> Tensor:
        z = self._parts(x)
        return (y[..., :-1].log() - softplus(z)).sum(-1)

    def forward_shape(self, shape: Any) -> Size:
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Size:
        return Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(Transform):
    """Square matrices to lower triangular matrices with a positive diagonal, by exp of the diagonal.

    >>> import minigrad
    >>> minigrad.distributions.LowerCholeskyTransform()(minigrad.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()
