"""Constraints on the parameters and on the values of a distribution.

A constraint has `check(value)`, which returns True for each valid event; `event_dim`, the number of dimensions from the
right that belong to one event; `is_discrete`; and `text`, its description in error messages.  Plain constraints are in the
table at the end; those with bounds are classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..linalg import eigvalsh

__all__ = [
    "Constraint",
    "boolean",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """The values that a parameter or a draw may have.

    >>> import minigrad
    >>> minigrad.distributions.constraints.positive.check(minigrad.tensor([1., 0., -1.])).tolist()
    [True, False, False]
    """

    is_discrete = False
    event_dim = 0
    text = ""

    def check(self, value: Tensor) -> Tensor:
        """Return True for each event that satisfies the constraint."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__ + "()"


class Plain(Constraint):
    """A constraint without settings: a row of the table below."""

    def __init__(self, name: str, text: str, check: Callable, event_dim: int = 0, is_discrete: bool = False):
        self.name, self.text, self.check = name, text, check
        self.event_dim, self.is_discrete = event_dim, is_discrete

    def __repr__(self) -> str:
        return self.name


class Bounded(Constraint):
    """A constraint with bounds, which are numbers or tensors."""

    def __init__(self, **bounds: Any):
        self.__dict__.update(bounds)
        self.bounds = bounds

    @property
    def text(self) -> str:  # type: ignore[override]
        """The description, with the bounds filled in."""
        return self.words.format(*map(short, self.bounds.values()))

    words = ""
    lower_bound: Any
    upper_bound: Any

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={short(v)}' for k, v in self.bounds.items())})"


def short(bound: Any) -> str:
    """Return a bound as text: a number, or the shape of a tensor."""
    if isinstance(bound, Tensor):
        return f"{bound.item():g}" if bound.numel() == 1 else f"a tensor of shape {tuple(bound.shape)}"
    return f"{bound:g}"


class greater_than(Bounded):
    """Numbers above a bound."""

    words = "above {}"

    def __init__(self, lower_bound: Any):
        super().__init__(lower_bound=lower_bound)

    def check(self, value: Tensor) -> Tensor:
        """Return True for each valid number."""
        return value > self.lower_bound


class greater_than_eq(greater_than):
    """Numbers not below a bound."""

    words = "at least {}"

    def check(self, value: Tensor) -> Tensor:
        """Return True for each valid number."""
        return value >= self.lower_bound


class less_than(Bounded):
    """Numbers below a bound."""

    words = "below {}"

    def __init__(self, upper_bound: Any):
        super().__init__(upper_bound=upper_bound)

    def check(self, value: Tensor) -> Tensor:
        """Return True for each valid number."""
        return value < self.upper_bound


class interval(Bounded):
    """Numbers between two bounds, inclusive."""

    words = "between {} and {}"

    def __init__(self, lower_bound: Any, upper_bound: Any):
        super().__init__(lower_bound=lower_bound, upper_bound=upper_bound)

    def check(self, value: Tensor) -> Tensor:
        """Return True for each valid number."""
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class half_open_interval(interval):
    """Numbers between two bounds, without the upper one."""

    words = "at least {} and below {}"

    def check(self, value: Tensor) -> Tensor:
        """Return True for each valid number."""
        return (value >= self.lower_bound) & (value < self.upper_bound)


class integer_interval(interval):
    """Whole numbers between two bounds, inclusive."""

    is_discrete = True
    words = "a whole number between {} and {}"

    def check(self, value: Tensor) -> Tensor:
        """Return True for each valid number."""
        return (value.floor() == value) & super().check(value)


class integer_greater_than(greater_than_eq):
    """Whole numbers not below a bound."""

    is_discrete = True
    words = "a whole number, at least {}"

    def check(self, value: Tensor) -> Tensor:
        """Return True for each valid number."""
        return (value.floor() == value) & super().check(value)


class multinomial(Bounded):
    """Counts that add up to a number of trials."""

    is_discrete, event_dim = True, 1
    words = "counts that add up to {}"

    def __init__(self, upper_bound: Any):
        super().__init__(upper_bound=upper_bound)

    def check(self, value: Tensor) -> Tensor:
        """Return True for each vector of such counts."""
        return nonnegative_integer.check(value).all(-1) & (value.sum(-1) == self.upper_bound)


class independent(Constraint):
    """A constraint with `reinterpreted_batch_ndims` more dimensions in an event, all of which must be valid."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int):
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        self.is_discrete, self.text = base_constraint.is_discrete, f"everywhere {base_constraint.text}"
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        """Return True for each event whose parts are all valid."""
        valid = self.base_constraint.check(value)
        return valid.reshape(*valid.shape[: valid.ndim - self.reinterpreted_batch_ndims], -1).all(-1)

    def __repr__(self) -> str:
        return f"independent({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class Dependent(Constraint):
    """A placeholder for a constraint that depends on other parameters and cannot be checked alone.

    >>> import minigrad
    >>> minigrad.distributions.constraints.is_dependent(minigrad.distributions.constraints.dependent)
    True
    """

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0):
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, *, is_discrete: bool = False, event_dim: int = 0) -> Dependent:
        """Return a placeholder with these settings."""
        return Dependent(is_discrete=is_discrete, event_dim=event_dim)


class dependent_property(property, Dependent):
    """A property that returns the constraint once the other parameters are known.

    `dependent_property(f)`, or `@dependent_property(is_discrete=True, event_dim=1)`.
    """

    def __init__(self, fget: Callable | None = None, *, is_discrete: bool = False, event_dim: int = 0):
        property.__init__(self, fget)
        Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fget: Callable) -> dependent_property:  # type: ignore[override]
        """Decorate the function."""
        return dependent_property(fget, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint: object) -> bool:
    """Return True if a constraint depends on other parameters.

    >>> import minigrad
    >>> minigrad.distributions.constraints.is_dependent(minigrad.distributions.constraints.real)
    False
    """
    return isinstance(constraint, Dependent)


TOLERANCE = 1e-6  # PyTorch's, for computed values: sums of probabilities, symmetry


def symmetric_matrices(value: Tensor) -> Tensor:
    """Return True for each matrix that is symmetric up to rounding."""
    return ((value - value.mT).abs() <= TOLERANCE * (1 + value.abs())).all(-1).all(-1)


def lower_triangular_matrices(value: Tensor) -> Tensor:
    """Return True for each matrix that is zero above its diagonal."""
    return (value.tril() == value).all(-1).all(-1)


def positive_diagonals(value: Tensor) -> Tensor:
    """Return True for each matrix with a positive diagonal."""
    return (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


dependent = Dependent()
real = Plain("real", "a real number", lambda x: x == x)
boolean = Plain("boolean", "0 or 1", lambda x: (x == 0) | (x == 1), 0, True)
positive, nonnegative = greater_than(0.0), greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
nonnegative_integer, positive_integer = integer_greater_than(0), integer_greater_than(1)
real_vector = independent(real, 1)
one_hot = Plain(
    "one_hot", "a vector with one 1 and zeros", lambda x: boolean.check(x).all(-1) & (x.sum(-1) == 1), 1, True
)
simplex = Plain(
    "simplex",
    "a vector of nonnegative numbers with sum 1",
    lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < TOLERANCE),
    1,
)
square = Plain(
    "square", "a square matrix", lambda x: x.new_full(x.shape[:-2], x.shape[-1] == x.shape[-2]).bool(), event_dim=2
)
symmetric = Plain("symmetric", "a symmetric matrix", symmetric_matrices, 2)
lower_triangular = Plain("lower_triangular", "a lower triangular matrix", lower_triangular_matrices, 2)
lower_cholesky = Plain(
    "lower_cholesky",
    "a lower triangular matrix with a positive diagonal",
    lambda x: lower_triangular_matrices(x) & positive_diagonals(x),
    2,
)
positive_semidefinite = Plain(
    "positive_semidefinite",
    "a symmetric matrix without negative eigenvalues",
    lambda x: symmetric_matrices(x) & (eigvalsh(x) >= -TOLERANCE).all(-1),
    2,
)
positive_definite = Plain(
    "positive_definite",
    "a symmetric matrix with positive eigenvalues",
    lambda x: symmetric_matrices(x) & (eigvalsh(x) > 0).all(-1),
    2,
)
