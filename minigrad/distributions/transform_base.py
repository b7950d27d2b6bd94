"""Transforms: smooth functions with an inverse, and the factor by which they stretch volumes.

`t(x)` and `t.inv(y)` map forward and back; `t.log_abs_det_jacobian(x, y)` is log|dy/dx|.  A transform defines three formulas,
`_call`, `_inverse` and `_log_slope`, and the regions that it maps from and to, `domain` and `codomain`.
The transforms themselves are in transforms.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..arrays.devices import Size
from ..core.tensor import Tensor
from ..errors import error
from . import constraints
from .constraints import Constraint
from .distribution import formula


class Transform:
    """Base class of transforms, functions with an inverse.

    >>> import minigrad
    >>> t = minigrad.distributions.ExpTransform()
    >>> x = minigrad.tensor([0., 1.])
    >>> t(x), t.inv(t(x)), t.log_abs_det_jacobian(x, t(x))
    (tensor([1.0000, 2.7183]), tensor([0.0000, 1.0000]), tensor([0., 1.]))
    """

    bijective = True
    sign: Any = 1  # of the derivative, for transforms of single numbers
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: int = 0):
        self._cache_size = cache_size  # PyTorch's; minigrad caches nothing

    def __call__(self, x: Tensor) -> Tensor:
        return self._call(x)

    inv = formula(lambda t: Inverse(t))  # the inverse transform

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return log|dy/dx|, or the log of the determinant's absolute value if events are vectors."""
        return self._log_slope(x, y)

    def forward_shape(self, shape: Any) -> Size:
        """Return the shape of t(x) for the shape of x."""
        return Size(shape)

    def inverse_shape(self, shape: Any) -> Size:
        """Return the shape of x for the shape of t(x)."""
        return Size(shape)

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        what = "has no inverse"
        raise error(NotImplementedError, type(self).__name__, what, "use a bijective transform")

    def _log_slope(self, x: Tensor, y: Tensor) -> Tensor:
        what = "has no log_abs_det_jacobian"
        raise error(NotImplementedError, type(self).__name__, what, "use a bijective transform")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Inverse(Transform):
    """The inverse of a transform: the same formulas, read backwards."""

    def __init__(self, of: Transform):
        super().__init__()
        self.of = of

    bijective = formula(lambda t: t.of.bijective)
    sign = formula(lambda t: t.of.sign)
    domain = formula(lambda t: t.of.codomain)
    codomain = formula(lambda t: t.of.domain)
    inv = formula(lambda t: t.of)

    def _call(self, x: Tensor) -> Tensor:
        return self.of._inverse(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.of._call(y)

    def _log_slope(self, x: Tensor, y: Tensor) -> Tensor:
        return -self.of.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Size:
        return self.of.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Size:
        return self.of.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{self.of}.inv"


class ComposeTransform(Transform):
    """Several transforms, applied one after the other.

    >>> import minigrad
    >>> D = minigrad.distributions
    >>> t = D.ComposeTransform([D.AffineTransform(1., 2.), D.ExpTransform()])
    >>> t(minigrad.tensor(0.))
    tensor(2.7183)
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0):
        super().__init__(cache_size)
        self.parts = list(parts)

    bijective = formula(lambda t: all(p.bijective for p in t.parts))

    @property
    def sign(self) -> Any:
        """The sign of the derivative."""
        sign = 1
        for p in self.parts:
            sign = sign * p.sign
        return sign

    @property
    def domain(self) -> Any:
        """The region that the first part maps from, with as many event dimensions as any part needs."""
        if not self.parts:
            return constraints.real
        need = 0
        for p in reversed(self.parts):
            need = max(p.domain.event_dim, need + p.domain.event_dim - p.codomain.event_dim)
        return widened(self.parts[0].domain, need)

    @property
    def codomain(self) -> Any:
        """The region that the last part maps to, with as many event dimensions as any part needs."""
        if not self.parts:
            return constraints.real
        need = 0
        for p in self.parts:
            need = max(p.codomain.event_dim, need + p.codomain.event_dim - p.domain.event_dim)
        return widened(self.parts[-1].codomain, need)

    def _call(self, x: Tensor) -> Tensor:
        for p in self.parts:
            x = p(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for p in reversed(self.parts):
            y = p.inv(y)
        return y

    def _log_slope(self, x: Tensor, y: Tensor) -> Tensor:
        total, event_dim = x.new_zeros(() if self.parts else x.shape), self.domain.event_dim
        for p in self.parts:
            after = p(x)
            slope, more = p.log_abs_det_jacobian(x, after), event_dim - p.domain.event_dim
            total = total + (slope.sum(tuple(range(-more, 0))) if more else slope)
            event_dim, x = event_dim + p.codomain.event_dim - p.domain.event_dim, after
        return total

    def forward_shape(self, shape: Any) -> Size:
        for p in self.parts:
            shape = p.forward_shape(shape)
        return Size(shape)

    def inverse_shape(self, shape: Any) -> Size:
        for p in reversed(self.parts):
            shape = p.inverse_shape(shape)
        return Size(shape)

    def __repr__(self) -> str:
        return f"ComposeTransform({self.parts})"


class IndependentTransform(Transform):
    """A transform with more dimensions per event: log_abs_det_jacobian sums over them.

    >>> import minigrad
    >>> D = minigrad.distributions
    >>> t = D.IndependentTransform(D.ExpTransform(), 1)
    >>> t.log_abs_det_jacobian(x := minigrad.ones(3), t(x))
    tensor(3.)
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0):
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform, reinterpreted_batch_ndims

    bijective = formula(lambda t: t.base_transform.bijective)
    sign = formula(lambda t: t.base_transform.sign)
    domain = formula(lambda t: constraints.independent(t.base_transform.domain, t.reinterpreted_batch_ndims))
    codomain = formula(lambda t: constraints.independent(t.base_transform.codomain, t.reinterpreted_batch_ndims))

    def _call(self, x: Tensor) -> Tensor:
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.base_transform.inv(y)

    def _log_slope(self, x: Tensor, y: Tensor) -> Tensor:
        slope, n = self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims
        return slope.sum(tuple(range(-n, 0))) if n else slope

    def forward_shape(self, shape: Any) -> Size:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Size:
        return self.base_transform.inverse_shape(shape)


def compose(parts: Sequence[Transform]) -> Transform:
    """Return several transforms as one."""
    return parts[0] if len(parts) == 1 else ComposeTransform(parts)


def widened(region: Constraint, event_dim: int) -> Constraint:
    """Return a region with more dimensions per event."""
    more = event_dim - region.event_dim
    return constraints.independent(region, more) if more > 0 else region
