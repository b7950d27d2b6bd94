"""Transforms: smooth functions with an inverse, and the factor by which they stretch volumes.

`t(x)` and `t.inv(y)` map forward and back; `t.log_abs_det_jacobian(x, y)` is log|dy/dx|.  `domain` and `codomain` are the
constraints of x and y; their `event_dim` is the number of dimensions that the transform maps together.
"""

from __future__ import annotations

import math
from copy import copy
from typing import Any

from ..arrays.devices import Size
from ..core.tensor import Tensor
from ..diagnose.boundary import guard as _guard
from ..errors import error
from ..ops.broadcast import broadcast_shapes
from ..ops.compare import equal
from ..ops.inverses import logit
from ..ops.nn.activation import softplus
from . import constraints
from .distribution import formula

__all__ = ["AffineTransform", "ExpTransform", "SigmoidTransform", "TanhTransform", "Transform"]


class Transform:
    """Base class of transforms.  A subclass defines `_call`, `_inverse` and `log_abs_det_jacobian`; y has the shape of x.

    With `cache_size=1`, the inverse of the latest y is the x that it was computed from, without rounding errors and also
    where the inverse has none, as where tanh(x) rounds to 1.  Raises ValueError for another size than 0 and 1.

    >>> import minigrad
    >>> class Cube(minigrad.distributions.Transform):
    ...     def _call(self, x):
    ...         return x**3
    ...     def _inverse(self, y):
    ...         return y.sign() * y.abs() ** (1 / 3)
    ...     def log_abs_det_jacobian(self, x, y):
    ...         return (3 * x**2).log()
    >>> t, x = Cube(), minigrad.tensor([-2., 1.])
    >>> t(x), t.inv(t(x)), t.log_abs_det_jacobian(x, t(x))
    (tensor([-8.,  1.]), tensor([-2.,  1.]), tensor([2.4849, 1.0986]))
    """

    sign: Any = 1  # of the derivative, for transforms of single numbers
    domain: Any = constraints.real
    codomain: Any = constraints.real
    bijective: Any = False
    _cache_size = 0
    _latest: tuple = (None, None)  # x and y

    def __init__(self, cache_size: int = 0):
        if cache_size not in (0, 1):
            what = f"cache_size must be 0 or 1, but got {cache_size}"
            raise error(ValueError, type(self).__name__, what, "pass cache_size=1 to keep the latest pair of x and y")
        self._cache_size = cache_size

    def __call__(self, x: Tensor) -> Tensor:
        return self._cached(0, x, self._call)

    def _cached(self, place: int, given: Tensor, compute: Any) -> Tensor:
        """Return the counterpart of an x (place 0) or a y (place 1): the cached one, or a new one."""
        if self._latest[place] is given:
            return self._latest[1 - place]
        found = compute(given)
        if self._cache_size:
            self._latest = (found, given) if place else (given, found)
        return found

    def _inv_call(self, y: Tensor) -> Tensor:
        """Return the x of which y is the image, from the cache if it has it."""
        return self._cached(1, y, self._inverse)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return the transform with a cache of this size.  A subclass with other arguments defines it too."""
        if cache_size == self._cache_size:
            return self
        other = copy(self)
        Transform.__init__(other, cache_size)
        return other

    event_dim = formula(lambda t: t.domain.event_dim)

    def __getstate__(self) -> dict:
        """Return the settings for a copy or a pickle, without the cache."""
        return {**vars(self), "_latest": (None, None)}

    inv = formula(lambda t: Inverse(t))  # the inverse transform

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, /) -> Tensor:
        """Return log|dy/dx|, or the log of the determinant's absolute value if events are vectors."""
        raise self._has_no("log_abs_det_jacobian(self, x, y)")

    def forward_shape(self, shape: Any) -> Size:
        """Return the shape of t(x) for the shape of x."""
        return Size(shape)

    def inverse_shape(self, shape: Any) -> Size:
        """Return the shape of x for the shape of t(x)."""
        return Size(shape)

    def _call(self, x: Tensor, /) -> Tensor:
        raise self._has_no("_call(self, x)")

    def _inverse(self, y: Tensor, /) -> Tensor:
        raise self._has_no("_inverse(self, y)")

    def _has_no(self, method: str) -> Exception:
        """Return the error for a missing formula."""
        return error(NotImplementedError, type(self).__name__, f"defines no {method}", f"write `def {method}`")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(map(same, settings(self), settings(other)))

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def settings(t: object) -> list:
    """Return the settings of a transform that determine its values."""
    return [value for name, value in vars(t).items() if not name.startswith("_")]


def same(a: Any, b: Any) -> bool:
    """Return True for equal settings of two transforms, which may be tensors."""
    return type(a) is type(b) and (equal(a, b) if isinstance(a, Tensor) else a == b)


class Inverse(Transform):
    """The inverse of a transform: the same formulas, read backwards."""

    def __init__(self, of: Transform):
        super().__init__()
        self.of = of

    sign = formula(lambda t: t.of.sign)
    domain = formula(lambda t: t.of.codomain)
    codomain = formula(lambda t: t.of.domain)
    bijective = formula(lambda t: t.of.bijective)
    inv = formula(lambda t: t.of)
    forward_shape = formula(lambda t: t.of.inverse_shape)
    inverse_shape = formula(lambda t: t.of.forward_shape)

    def __call__(self, x: Tensor) -> Tensor:
        return self.of._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self.of(y)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self.of.with_cache(cache_size).inv

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self.of.log_abs_det_jacobian(y, x)

    def __repr__(self) -> str:
        return f"{self.of}.inv"


class AffineTransform(Transform):
    """y = loc + scale * x.

    >>> import minigrad
    >>> minigrad.distributions.AffineTransform(1., 2.)(minigrad.tensor(3.))
    tensor(7.)
    """

    bijective = True
    sign = formula(lambda t: t.scale.sign() if isinstance(t.scale, Tensor) else math.copysign(1, t.scale))

    def __init__(self, loc: Tensor | float, scale: Tensor | float, cache_size: int = 0):
        super().__init__(cache_size)
        self.loc, self.scale = loc, scale

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale if isinstance(self.scale, Tensor) else x.new_full((), self.scale)
        return scale.abs().log().expand(y.shape)

    def forward_shape(self, shape: Any) -> Size:
        return Size(broadcast_shapes(shape, *[v.shape for v in (self.loc, self.scale) if isinstance(v, Tensor)]))

    inverse_shape = forward_shape


class ExpTransform(Transform):
    """y = exp(x).

    >>> import minigrad
    >>> minigrad.distributions.ExpTransform()(minigrad.tensor(1.))
    tensor(2.7183)
    """

    codomain, bijective = constraints.positive, True
    _call = lambda t, x: x.exp()
    _inverse = lambda t, y: y.log()
    log_abs_det_jacobian = lambda t, x, y: x


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)).

    >>> import minigrad
    >>> minigrad.distributions.SigmoidTransform()(minigrad.tensor(0.))
    tensor(0.5000)
    """

    codomain, bijective = constraints.unit_interval, True
    _call = lambda t, x: x.sigmoid()
    _inverse = lambda t, y: logit(y)
    log_abs_det_jacobian = lambda t, x, y: -softplus(-x) - softplus(x)


class TanhTransform(Transform):
    """y = tanh(x).

    >>> import minigrad
    >>> t = minigrad.distributions.TanhTransform()
    >>> t.log_abs_det_jacobian(x := minigrad.tensor(20.), t(x))  # exact where 1 - y**2 is 0
    tensor(-38.6137)
    """

    codomain, bijective = constraints.interval(-1.0, 1.0), True
    _call = lambda t, x: x.tanh()
    _inverse = lambda t, y: y.atanh()
    log_abs_det_jacobian = lambda t, x, y: 2 * (math.log(2) - x - softplus(-2 * x))


_guard(__name__)
