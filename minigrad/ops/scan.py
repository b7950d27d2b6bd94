"""Scans: running sums, products and extremes along a dimension, and differences.

One idea keeps them short: the derivative of a running product, and of a running log-sum-exp, is a linear recurrence
y[i] = a[i] * y[i-1] + b[i] run backwards, and so are the recurrence's derivatives.  No formula divides, so zeros and
derivatives of any order are right.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import inf, nan
from typing import Any

import numpy as np

from .. import return_types
from ..arrays import dtypes
from ..arrays.kinds import on_device
from ..core.tensor import Tensor
from ..errors import error
from ..kernels import cuda_kernels, formula
from ..kernels.cpu import scans_cpu
from ..return_types import Selected
from .base.families import Linear, Operation, Pointwise
from .base.layouts import row_major
from .base.registry import op
from .compare import where
from .dimensions import axis
from .elementary import exp
from .gather import added_at
from .join import cat, part, stack
from .order import spread
from .pad import pad
from .reduce import result_dtype


def running(ufunc: np.ufunc, x: np.ndarray, dim: int, reverse: bool = False) -> np.ndarray:
    """Accumulate `ufunc` along dim, from the end if `reverse`; float32 through float64, as PyTorch does."""
    if (found := scans_cpu.running(ufunc, x, dim, reverse)) is not None:
        return found
    if reverse:
        back = (*[slice(None)] * dim, slice(None, None, -1))
        return running(ufunc, x[back], dim)[back]
    return ufunc.accumulate(x, dim, dtypes.F8 if x.dtype.kind == "f" else x.dtype).astype(x.dtype, copy=False)


class Cumsum(Linear):
    """Running sums along a dimension, from its end if `reverse`."""

    call = lambda reverse: "x.flip(dim).{name}(dim).flip(dim)" if reverse else "x.{name}(dim)"
    layout = row_major
    arrays = True
    impl = lambda x, dim, reverse: running(np.add, x, dim, reverse)
    dx = lambda g, dim, reverse: Cumsum.apply(g, dim, not reverse)
    batch = lambda x, dim, reverse: (x, dim + 1, reverse)


def can_divide(x: Tensor) -> bool:
    """Return True if all elements can be divisors."""
    return bool((abs(x) > 1e-18).all())


def behind(x: Tensor, dim: int) -> Tensor:
    """Return the sum of each element and all elements after it."""
    return x.flip(dim).cumsum(dim).flip(dim)


class Shift(Operation):
    """The elements moved by `by` positions along a dimension, with `fill` in the vacated positions."""

    @staticmethod
    def impl(x: np.ndarray, dim: int, by: int, fill: float) -> np.ndarray:
        out = np.full_like(x, fill, order="C")
        n = max(x.shape[dim] - abs(by), 0)
        before, first, last = (slice(None),) * dim, slice(0, n), slice(x.shape[dim] - n, None)
        out[(*before, last if by > 0 else first)] = x[(*before, first if by > 0 else last)]
        return out

    dx = lambda g, dim, by: Shift.apply(g, dim, -by, 0.0)
    batch = lambda x, dim, by, fill: (x, dim + 1, by, fill)

    @staticmethod
    def definition(x: Tensor, dim: int, by: int, fill: float) -> Tensor:
        if not x.shape[dim]:
            return x
        n = max(x.shape[dim] - abs(by), 0)
        widths = [0] * (2 * (x.ndim - dim - 1)) + ([by, 0] if by > 0 else [0, -by])
        return pad(x.narrow(dim, 0 if by > 0 else x.shape[dim] - n, n), widths, value=fill)


class Recurrence(Operation):
    """y[i] = a[i] * y[i-1] + b[i] along a dimension, with 0 before the first; from its end if `reverse`."""

    impl = lambda a, b, dim, reverse: recur(a, b, dim, reverse)
    da = lambda g, a, out, dim, reverse: (
        shifted(out, dim, reverse) * Recurrence.apply(shifted(a, dim, not reverse), g, dim, not reverse)
    )
    db = lambda g, a, dim, reverse: Recurrence.apply(shifted(a, dim, not reverse), g, dim, not reverse)
    batch = lambda a, b, dim, reverse: (a, b, dim + 1, reverse)

    @staticmethod
    def definition(a: Tensor, b: Tensor, dim: int, reverse: bool = False) -> Tensor:
        """Compute it by running products if they can be divisors, else step by step."""
        if reverse:
            return Recurrence.definition(a.flip(dim), b.flip(dim), dim).flip(dim)
        n = a.shape[dim]
        if not n:
            return b
        rest = a.narrow(dim, 1, n - 1)
        if bool((rest.isfinite() & (rest != 0)).all()):
            factors = cat([a.narrow(dim, 0, 1).new_ones(a.narrow(dim, 0, 1).shape), rest], dim).cumprod(dim)
            return factors * (b / factors).cumsum(dim)
        found = [b.select(dim, 0)]
        for i in range(1, n):
            found.append(a.select(dim, i) * found[-1] + b.select(dim, i))
        return stack(found, dim)


class Cumprod(Operation):
    """Running products along a dimension, from its end if `reverse`."""

    call = lambda reverse: "x.flip(dim).{name}(dim).flip(dim)" if reverse else "x.{name}(dim)"
    layout = row_major
    arrays = True
    impl = lambda x, dim, reverse: running(np.multiply, x, dim, reverse)
    dx = lambda g, x, out, dim, reverse: (
        shifted(out, dim, reverse, 1.0) * Recurrence.apply(shifted(x, dim, not reverse), g, dim, not reverse)
    )
    batch = lambda x, dim, reverse: (x, dim + 1, reverse)
    textbook = {
        "dx": lambda g, x, out, dim: behind(g * out, dim) / x,
        "when": lambda x, dim, reverse: can_divide(x) and not reverse,
    }


class Logcumsumexp(Operation):
    """log of the running sums of exp(x): a recurrence whose coefficients never exceed 1."""

    call = "x.{name}(dim)"
    layout = row_major
    arrays = True
    impl = lambda x, dim: running(np.logaddexp, x, dim)
    dx = lambda g, x, out, dim: Share.apply(
        x, out, Recurrence.apply(ratio(out, Shift.apply(out, dim, -1, inf)), g, dim, True)
    )
    batch = lambda x, dim: (x, dim + 1)
    textbook = {
        "dx": lambda g, x, out, dim: exp(x) * behind(g * exp(-out), dim),
        "when": lambda x, dim: bool((abs(x) < 30).all()),  # so that no power of e over- or underflows
    }


class Ratio(Pointwise):
    """exp(x - y); where both are the same infinity it is 1 and constant, since NaN would reach other elements."""

    call = "exp(x - y)"
    accepts = "f"
    kernel = lambda x, y: where(x == y, 1.0, exp(x - y))
    dx = lambda g, x, y, out: where((x == y) & (x - x != 0), 0.0, g * out)
    dy = lambda g, x, y, out: where((x == y) & (x - x != 0), 0.0, -g * out)


def ratio(x: Any, y: Any) -> Any:
    """Apply Ratio, in formulas."""
    return Ratio.apply(x, y)


formula.OPERATIONS["ratio"] = Ratio


class Share(Pointwise):
    """exp(x - y) * r, and NaN where x and y are the same infinity; tangents do not pass -inf, which adds nothing."""

    accepts = "f"
    kernel = lambda x, y, r: exp(x - y) * r
    dx = lambda g, x, y, out: where((x == y) & (x - x != 0), 0.0, g * out)
    dy = lambda g, x, y, out: where((x == y) & (x - x != 0), 0.0, -g * out)
    dr = lambda g, x, y: g * where((x == y) & (x - x != 0), where(x < 0, 0.0, nan), ratio(x, y))


class RunningExtreme(Operation):
    """Running maxima or minima, and the position of the latest of each."""

    layout = row_major
    dx = lambda g0, out1, shape, dim: spread(g0, shape, dim, out1)
    batch = lambda x, dim: (x, dim + 1)

    @staticmethod
    def arrays(gs: tuple, bound: tuple) -> tuple:
        """Return the same on arrays, without a copy of the zeros."""
        shape, dim, _, places = bound
        return added_at(shape, dim, places, gs[0]), None


class Cummax(RunningExtreme):
    """Running maxima, and the position of the latest of each."""

    call = "x.{name}(dim)"
    impl = lambda x, dim: running_extreme(np.maximum, x, dim)


class Cummin(RunningExtreme):
    """Running minima, and the position of the latest of each."""

    call = "x.{name}(dim)"
    impl = lambda x, dim: running_extreme(np.minimum, x, dim)


def shifted(x: Tensor, dim: int, reverse: bool, fill: float = 0.0) -> Tensor:
    """Return each element's predecessor in a scan's direction."""
    return Shift.apply(x, dim, -1 if reverse else 1, fill)


def recur(a: np.ndarray, b: np.ndarray, dim: int, reverse: bool) -> np.ndarray:
    """Run the recurrence on arrays: step by step over many rows at once, or row by row for few."""
    if (found := scans_cpu.recurrence(a, b, dim, reverse)) is not None:
        return found
    step = -1 if reverse else 1
    y = np.moveaxis(b, dim, 0).astype(dtypes.F8)
    a, run = np.moveaxis(a, dim, 0)[::step], y[::step]
    n, rows = len(y), y[:1].size
    if n and rows < 32:
        for i, (c, d) in enumerate(zip(a.reshape(n, rows).T.tolist(), run.reshape(n, rows).T.tolist())):
            steps = accumulate(zip(c[1:], d[1:]), lambda last, now: now[0] * last + now[1], initial=d[0])
            run[(slice(None), *np.unravel_index(i, run.shape[1:]))] = list(steps)
    else:
        for i in range(1, n):
            run[i] += a[i] * run[i - 1]
    return np.moveaxis(y, 0, dim).astype(b.dtype)


def running_extreme(ufunc: np.ufunc, x: np.ndarray, dim: int) -> tuple:
    """Return running extremes and their positions: the latest of equal ones, and from the first NaN on the latest NaN."""
    if on_device(x):
        return cuda_kernels("scans_cuda").running_extreme(ufunc, x, dim)
    values = ufunc.accumulate(x, axis=dim)
    places = np.arange(x.shape[dim]).reshape((-1,) + (1,) * (x.ndim - dim - 1))
    here = (x == values) | (x != x)
    return values, np.maximum.accumulate(np.where(here, places, 0), axis=dim)


def along(cls: Any, input: Tensor, dim: Any, who: str, *statics: Any) -> Any:
    """Run a scan along a dimension as the user named it; a 0-d tensor has one element along it."""
    d = axis(dim, input.ndim, who)
    if input.ndim:
        return cls.apply(input, d, *statics)
    out = cls.apply(input.reshape(1), d, *statics)
    return tuple([o.reshape(()) for o in out]) if isinstance(out, tuple) else out.reshape(())


@op("T(3, 4), 0", "T(2, 3, 4), -1", "T(), 0", "T(0, 3), 0", "I(3, 4, 9), 1", "B(3), 0", "T(4, 3).mT, 1",
    "T(3, 4), 0, dtype=torch.float64", inplace=True, out=True)  # fmt: skip
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Return the running sums along a dimension; integers and bools are summed as int64.

    >>> import minigrad
    >>> minigrad.cumsum(minigrad.tensor([1., 2., 3.]), 0)
    tensor([1., 3., 6.])
    """
    return along(Cumsum, result_dtype(input, dtype, "cumsum"), dim, "cumsum", False)


@op("T(3, 4), 0", "T(2, 3, 4), -1", "T(), 0", "T(0, 3), 0", "I(3, 4, 9), 1", "T(4, 3).mT, 1",
    "T(2, 4) * torch.tensor([[1., 0., 1., 1.], [0., 1., 0., 1.]], dtype=torch.float64), 1",
    inplace=True, out=True)  # fmt: skip
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Return the running products along a dimension; integers and bools are multiplied as int64.

    >>> import minigrad
    >>> minigrad.cumprod(minigrad.tensor([1., 2., 3.]), 0)
    tensor([1., 2., 6.])
    """
    return along(Cumprod, result_dtype(input, dtype, "cumprod"), dim, "cumprod", False)


@op("T(3, 4), 0", "T(2, 3, 4), -1", "T(), 0", "T(0, 3), 0", "100 * T(5), 0", "T(4, 3).mT, 1", out=True)
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """Return log(cumsum(exp(input))) along a dimension, without overflow.

    Raises NotImplementedError for integers, as PyTorch does.
    """
    if input._np_dtype not in dtypes.FLOATS:
        what = f"not implemented for {input.dtype.name}"
        raise error(NotImplementedError, "logcumsumexp", what, "convert it first: x.float()")
    return along(Logcumsumexp, input, dim, "logcumsumexp")


@op("T(3, 4), 0", "T(2, 3, 4), -1", "T(), 0", "T(0, 3), 0", "I(3, 4, 3), 1", "T(4, 3).mT, 1", out=True)
def cummax(input: Tensor, dim: int) -> Selected:
    """Return the running maxima along a dimension, `values`, and their positions, `indices`: the latest of equal ones.

    >>> import minigrad
    >>> minigrad.cummax(minigrad.tensor([1., 3., 2.]), 0).indices
    tensor([0, 1, 1])
    """
    return return_types.cummax(*along(Cummax, input, dim, "cummax"))


@op("T(3, 4), 0", "T(2, 3, 4), -1", "T(), 0", "T(0, 3), 0", "I(3, 4, 3), 1", "T(4, 3).mT, 1", out=True)
def cummin(input: Tensor, dim: int) -> Selected:
    """Return the running minima along a dimension, `values`, and their positions, `indices`: the latest of equal ones."""
    return return_types.cummin(*along(Cummin, input, dim, "cummin"))


@op("T(5)", "T(3, 4), 1, 0", "T(3, 4), 2", "T(3, 4), 1, -1, T(3, 1), T(3, 2)", "T(2), 5", "I(5, 9)", "B(4)",
    "T(4, 3).mT, dim=0", "T(0)", out=True)  # fmt: skip
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Return the n-th differences of neighbours along a dimension, after joining `prepend` before it and `append` after it.

    For bools the result is True where neighbours differ.  Raises RuntimeError for 0-d tensors and negative n.

    >>> import minigrad
    >>> minigrad.diff(minigrad.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    d = axis(dim, input.ndim, "diff")
    if not input.ndim:
        what = "expects input to be at least one-dimensional, got a 0-d tensor"
        raise error(RuntimeError, "diff", what, "write input.unsqueeze(0)")
    if n < 0:
        raise error(RuntimeError, "diff", f"order must be non-negative but got {n}", "write n=1")
    ends = [t for t in (prepend, input, append) if t is not None]
    x = cat(ends, d) if n and len(ends) > 1 else input
    for m in range(x.shape[d], max(x.shape[d] - n, 0), -1):
        later, earlier = part(x, d, 1, m), part(x, d, 0, m - 1)
        x = later ^ earlier if x._np_dtype.kind == "b" else later - earlier
    return x


TRAPEZOIDS = ("T(5)", "T(3, 4)", "T(3, 4), T(4)", "T(3, 4), T(3, 4), dim=0", "T(3, 4), dx=2.5, dim=0",
              "T(2, 3, 4), T(3), dim=1", "T(2, 3, 4), T(3, 4), dim=-2", "T(2, 0)", "I(5, 9)", "T(1)")  # fmt: skip


@op(*TRAPEZOIDS, method=False)
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """Integrate over a dimension by the trapezoidal rule, for values y at points x, or at distances dx (default 1).

    x is a vector, or broadcast to y.  Raises RuntimeError for bools and for another number of points.

    >>> import minigrad
    >>> minigrad.trapezoid(minigrad.tensor([1., 2., 4.]), minigrad.tensor([0., 1., 3.]))
    tensor(7.5000)
    """
    out = trapezoids("trapezoid", y, x, dx, dim, Tensor.sum)
    return out if y.shape[dim] else y.sum(dim)  # an integer for no integers


@op(*TRAPEZOIDS, method=False)
def trapz(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """Integrate by the trapezoidal rule (see trapezoid)."""
    return trapezoid(y, x, dx=dx, dim=dim)


@op(*TRAPEZOIDS, method=False)
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """Return the integrals from the first point to each of the others (see trapezoid)."""
    return trapezoids("cumulative_trapezoid", y, x, dx, dim, Tensor.cumsum)


def trapezoids(who: str, y: Tensor, x: Tensor | None, dx: float | None, dim: int, total: Callable) -> Tensor:
    """Return the areas between neighbours, added up by `total`."""
    if any([t is not None and t._np_dtype.kind == "b" for t in (x, y)]):
        raise error(
            RuntimeError, who, "received a bool input, but bool is not supported", "convert it first: y.float()"
        )
    if x is not None and dx is not None:
        raise error(TypeError, who, "got both points x and a distance dx", "pass one of them")
    if not y.ndim:
        raise error(
            IndexError, who, f"dimension specified as {dim} but tensor has no dimensions", "write y.unsqueeze(0)"
        )
    d = axis(dim, y.ndim, who)
    n = y.shape[d]
    m = max(n - 1, 0)
    both = part(y, d, 0, m) + part(y, d, n - m, n)
    if x is None:
        return total(both, d) * ((1 if dx is None else float(dx)) / 2)
    if x.ndim == 1:
        if len(x) != n:
            what = f"there must be one x value for each sample point, got {len(x)} for {n}"
            raise error(RuntimeError, who, what, f"pass {n} points, or their distance dx=")
        x = x.reshape(-1, *[1] * (y.ndim - 1 - d))
    along = d - y.ndim + x.ndim
    return total(both * diff(x, dim=along), d) / 2
