"""Constraints on the parameters and on the values of a distribution: names such as `positive`, and functions of bounds.

A constraint has `check(value)`, which returns True for each valid event; `event_dim`, the number of dimensions from the
right that belong to one event; `is_discrete`; and `text`, its description in error messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..diagnose.boundary import guard as _guard
from ..linalg import eigvalsh

__all__ = [
    "Constraint",
    "boolean",
    "greater_than",
    "independent",
    "integer_interval",
    "interval",
    "lower_cholesky",
    "nonnegative",
    "positive",
    "positive_definite",
    "real",
    "real_vector",
    "simplex",
    "unit_interval",
]
TOLERANCE = 1e-6  # PyTorch's, for computed values: sums of probabilities, symmetry


class Constraint:
    """The values that a parameter or a draw may have.

    >>> import minigrad
    >>> minigrad.distributions.constraints.positive.check(minigrad.tensor([1., 0., -1.])).tolist()
    [True, False, False]
    """

    def __init__(self, name: str, text: str, check: Callable, event_dim: int = 0, is_discrete: bool = False):
        self.name, self.text, self.check = name, text, check
        self.event_dim, self.is_discrete = event_dim, is_discrete

    def __repr__(self) -> str:
        return self.name


def greater_than(lower_bound: Any) -> Constraint:
    """Return the constraint for numbers above a bound, which is a number or a tensor."""
    low = short(lower_bound)
    return Constraint(f"greater_than({low})", f"above {low}", lambda x: x > lower_bound)


def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Return the constraint for numbers between two bounds, inclusive."""
    low, high = short(lower_bound), short(upper_bound)
    check = lambda x: (x >= lower_bound) & (x <= upper_bound)
    return Constraint(f"interval({low}, {high})", f"between {low} and {high}", check)


def integer_interval(lower_bound: int, upper_bound: int) -> Constraint:
    """Return the constraint for whole numbers between two bounds, inclusive."""
    inside = interval(lower_bound, upper_bound)
    check = lambda x: (x.floor() == x) & inside.check(x)
    return Constraint(f"integer_{inside}", f"a whole number {inside.text}", check, 0, True)


def counts(total: int) -> Constraint:
    """Return the constraint for vectors of whole numbers with a sum."""
    check = lambda x: ((x >= 0) & (x.floor() == x)).all(-1) & (x.sum(-1) == total)
    return Constraint(f"multinomial({total})", f"a vector of whole numbers with the sum {total}", check, 1, True)


def independent(base_constraint: Constraint, reinterpreted_batch_ndims: int) -> Constraint:
    """Return a constraint with more dimensions in an event, all of which must be valid."""
    base, n = base_constraint, reinterpreted_batch_ndims

    def check(x: Tensor) -> Tensor:
        valid = base.check(x)
        return valid.reshape(*valid.shape[: valid.ndim - n], -1).all(-1)

    return Constraint(
        f"independent({base}, {n})", f"everywhere {base.text}", check, base.event_dim + n, base.is_discrete
    )


def short(bound: Any) -> str:
    """Return a bound as text: a number, or the shape of a tensor."""
    if isinstance(bound, Tensor):
        return f"{bound.item():g}" if bound.numel() == 1 else f"a tensor of shape {tuple(bound.shape)}"
    return f"{bound:g}"


def is_symmetric(x: Tensor) -> Tensor:
    """Return True for each matrix that is symmetric up to rounding."""
    return ((x - x.mT).abs() <= TOLERANCE * (1 + x.abs())).all(-1).all(-1)


real = Constraint("real", "a real number", lambda x: x == x)
real_vector = independent(real, 1)
positive = greater_than(0.0)
nonnegative = Constraint("nonnegative", "at least 0", lambda x: x >= 0)
unit_interval = interval(0.0, 1.0)
boolean = Constraint("boolean", "0 or 1", lambda x: (x == 0) | (x == 1), 0, True)
one_hot = Constraint(
    "one_hot",
    "a vector with one 1 and otherwise 0",
    lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1),
    1,
    True,
)
simplex = Constraint(
    "simplex",
    "a vector of nonnegative numbers with sum 1",
    lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < TOLERANCE),
    1,
)
lower_cholesky = Constraint(
    "lower_cholesky",
    "a lower triangular matrix with a positive diagonal",
    lambda x: (x.tril() == x).all(-1).all(-1) & (x.diagonal(dim1=-2, dim2=-1) > 0).all(-1),
    2,
)
positive_definite = Constraint(
    "positive_definite",
    "a symmetric matrix with positive eigenvalues",
    lambda x: is_symmetric(x) & (eigvalsh(x) > 0).all(-1),
    2,
)

_guard(__name__)
