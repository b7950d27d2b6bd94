"""transform_to and biject_to: the transform from all real numbers to the values that a constraint allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import error
from . import constraints
from .constraints import Constraint
from .transform_base import ComposeTransform, IndependentTransform, Transform
from .transforms import (
    AffineTransform,
    ExpTransform,
    LowerCholeskyTransform,
    SigmoidTransform,
    SoftmaxTransform,
    StickBreakingTransform,
    identity_transform,
)


class ConstraintRegistry:
    """Constraints and the transforms to their values; `registry(constraint)` returns the transform.

    >>> import minigrad
    >>> D = minigrad.distributions
    >>> D.transform_to(D.constraints.positive)(minigrad.tensor(-1.))
    tensor(0.3679)
    """

    def __init__(self, name: str):
        self.name = name
        self._table: dict[Any, Callable] = {}

    def register(self, constraint: Any, factory: Callable | None = None) -> Any:
        """Register factory(constraint) for a class of constraints, or for an instance's class; without it, as a decorator."""
        if factory is None:
            return lambda f: self.register(constraint, f)
        key = constraint if isinstance(constraint, (type, constraints.Plain)) else type(constraint)
        self._table[key] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        factory = self._table.get(constraint) or self._table.get(type(constraint))
        if factory is None:
            what = f"there is no transform to {constraint!r}"
            raise error(NotImplementedError, self.name, what, f"register one with {self.name}.register")
        return factory(constraint)


transform_to = ConstraintRegistry("transform_to")
"""Return a transform from all real numbers to a region, such as softmax to the simplex; it may lose a dimension."""

biject_to = ConstraintRegistry("biject_to")
"""Return a transform from all real numbers to a region, with an inverse and a log_abs_det_jacobian."""


def above(constraint: Any) -> Transform:
    """Return x -> limit + exp(x)."""
    limit = constraint.lower_bound
    if isinstance(limit, (int, float)) and not limit:
        return ExpTransform()
    return ComposeTransform([ExpTransform(), AffineTransform(limit, 1)])


def below(constraint: Any) -> Transform:
    """Return x -> limit - exp(x)."""
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.upper_bound, -1)])


def between(constraint: Any) -> Transform:
    """Return x -> low + (high - low) * sigmoid(x)."""
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


for registry in (transform_to, biject_to):
    registry.register(constraints.real, lambda c: identity_transform)
    registry.register(constraints.greater_than, above)
    registry.register(constraints.greater_than_eq, above)
    registry.register(constraints.less_than, below)
    registry.register(constraints.interval, between)
    registry.register(constraints.half_open_interval, between)
    registry.register(
        constraints.independent,
        lambda c, to=registry: IndependentTransform(to(c.base_constraint), c.reinterpreted_batch_ndims),
    )
transform_to.register(constraints.lower_cholesky, lambda c: LowerCholeskyTransform())
transform_to.register(constraints.simplex, lambda c: SoftmaxTransform())
biject_to.register(constraints.simplex, lambda c: StickBreakingTransform())
