"""Spread of data: variance, standard deviation, covariance and correlation.

Variance takes two passes, the mean first, so that a large offset costs no precision, and is computed in float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import dtypes
from ..arrays.kinds import on_device
from ..arrays.meta import has_numbers
from ..core.saved import plain_tensor
from ..core.tensor import Tensor
from ..errors import error, warn
from ..kernels import cuda_kernels
from ..kernels.cpu import reductions_cpu
from .base.families import Reduce
from .base.registry import op
from .dimensions import ALL, axes, shown_dims
from .pointwise import where
from .reduce import Mean, add_up, average, count, number


class Var(Reduce):
    """The variance over dimensions: the sum of squared distances from the mean, divided by their number less `correction`."""

    call = lambda x, dims, keepdim: f"x.var({shown_dims(x, dims, keepdim)}, correction=correction, keepdim=keepdim)"

    @staticmethod
    def impl(x: np.ndarray, dims: tuple, keepdim: bool, correction: float) -> np.ndarray:
        if on_device(x):
            return cuda_kernels("reductions_cuda").spread(x, dims, keepdims=keepdim, correction=correction)
        return spread(x, dims, keepdim, correction).astype(x.dtype, copy=False)

    dx = lambda g, x, dims, correction: g * slope(x, dims, correction) * (x - Mean.apply(x, dims, True))
    arrays = True


class Std(Reduce):
    """The standard deviation over dimensions, the root of the variance.  Where it is 0 the gradient is 0 too."""

    call = lambda x, dims, keepdim: f"x.std({shown_dims(x, dims, keepdim)}, correction=correction, keepdim=keepdim)"

    @staticmethod
    def impl(x: np.ndarray, dims: tuple, keepdim: bool, correction: float) -> np.ndarray:
        if on_device(x):
            return cuda_kernels("reductions_cuda").spread(x, dims, keepdims=keepdim, correction=correction, root=True)
        return np.sqrt(spread(x, dims, keepdim, correction), out=...).astype(x.dtype, copy=False)

    dx = lambda g, x, out, dims, correction: (
        where(out == 0, 0.0, g / (out * 2)) * slope(x, dims, correction) * (x - Mean.apply(x, dims, True))
    )
    arrays = True


def spread(x: np.ndarray, dims: tuple, keepdim: bool, correction: float) -> np.ndarray:
    """Return the variance in float64; the kernel needs adjacent dimensions."""
    if dims and dims[-1] - dims[0] >= len(dims):
        rest = [d for d in range(x.ndim) if d not in dims]
        found = spread(x.transpose(*rest, *dims), ALL[x.ndim][len(rest) :], False, correction)
        return np.expand_dims(found, dims) if keepdim else found
    found = reductions_cpu.deviations(x, dims, keepdim)
    if found is None:
        x = x.astype(dtypes.F8, copy=False)
        away = x - average(x, dims, True)
        away *= away
        found = add_up(away, dims, keepdim)
    return np.divide(found, number(max(count(x.shape, dims) - correction, 0), dtypes.F8), out=...)


def slope(x: Tensor, dims: tuple, correction: float) -> float:
    """Return the factor of a deviation from the mean in the gradient of the variance."""
    free = count(x.shape, dims) - correction
    return 2 / free if free else math.inf


SPREAD = ("T(3, 4)", "T(2, 3, 4), 1", "T(2, 3, 4), (0, -1), keepdim=True", "T(2, 3, 4), 1, False, True",
          "T(3, 4), False", "T(3, 4), 0, correction=0", "T(3, 4), correction=1.5", "T(3, 4), unbiased=False",
          "T(4, 3).mT, 0", "T(0, 3), 1")  # fmt: skip


def prepared(input: Tensor, dim: Any, unbiased: Any, correction: Any, who: str) -> tuple:
    """Return (dimensions, correction) for PyTorch's three forms: var(x, False), var(x, 0, False), var(x, correction=0)."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None and correction is not None:
        raise error(TypeError, who, "got both unbiased and correction", "pass one of them: unbiased is correction=1")
    if input._np_dtype not in dtypes.FLOATS:
        raise error(RuntimeError, who, f"only support for floating point and complex dtypes, got {input.dtype.name}",
                    "convert it first: x.float()")  # fmt: skip
    dims = axes(input, dim, who)
    correction = correction if correction is not None else 1 if unbiased is None else int(unbiased)
    n = count(input._sizes, dims)
    if n <= correction:
        warn(
            "degrees-of-freedom",
            who,
            f"degrees of freedom is <= 0: {n} elements less the correction {correction}, so the result is not finite",
            "pass correction=0, or reduce over more elements",
        )
    return dims, correction


@op(*SPREAD, out=True)
def var(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: float | None = None
) -> Tensor:
    """Return the variance of all elements, or over the dimensions `dim`: squared distances from the mean over n - correction.

    `correction` defaults to 1 (Bessel's); `unbiased=False` means 0.  One element with correction 1 gives 0/0, NaN, and a
    warning.  Raises RuntimeError for integers.

    >>> import minigrad
    >>> minigrad.var(minigrad.tensor([1., 2., 3.])), minigrad.var(minigrad.tensor([1., 3.]), correction=0)
    (tensor(1.), tensor(1.))
    """
    dims, correction = prepared(input, dim, unbiased, correction, "var")
    return Var.apply(input, dims, keepdim, correction)


@op(*SPREAD, out=True)
def std(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: float | None = None
) -> Tensor:
    """Return the standard deviation of all elements, or over the dimensions `dim`: the root of `var`, with its arguments."""
    dims, correction = prepared(input, dim, unbiased, correction, "std")
    return Std.apply(input, dims, keepdim, correction)


@op(*SPREAD, method=False, node="VarMean")
def var_mean(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: float | None = None
) -> tuple:
    """Return `(var, mean)` of all elements, or over the dimensions `dim`."""
    dims, correction = prepared(input, dim, unbiased, correction, "var_mean")
    return Var.apply(input, dims, keepdim, correction), Mean.apply(input, dims, keepdim)


@op(*SPREAD, method=False, node="StdMean")
def std_mean(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: float | None = None
) -> tuple:
    """Return `(std, mean)` of all elements, or over the dimensions `dim`."""
    dims, correction = prepared(input, dim, unbiased, correction, "std_mean")
    return Std.apply(input, dims, keepdim, correction), Mean.apply(input, dims, keepdim)


@op("T(3, 5)", "T(5)", "T(3, 5), correction=0", "T(2, 3), fweights=I(3, 4) + 1", "T(2, 3), aweights=P(3)",
    "T(2, 3), fweights=I(3, 4) + 1, aweights=P(3)",  "I(3, 5)", node="Squeeze")  # fmt: skip
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """Return the covariances of variables, the rows, over observations, the columns; for a vector its variance.

    `fweights` are integers, the number of times each observation counts, `aweights` its importance.  Squared distances from
    the mean are divided by the number of observations less `correction`.  Raises RuntimeError for more than two dimensions,
    bools, and weights of another dtype, of another number or below 0.

    >>> import minigrad
    >>> minigrad.cov(minigrad.tensor([[0., 1., 2.], [2., 1., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    x = input if input.ndim == 2 else rows_of("cov", input)
    if input._np_dtype.kind == "b":
        raise error(RuntimeError, "cov", "bool dtype is not supported for input", "convert it first: input.int()")
    weight = None
    for name, given, integers in (("fweights", fweights, True), ("aweights", aweights, False)):
        if given is not None:
            check_weights(name, given, integers, x.shape[1])
            given = given.to(x.dtype) if x.is_floating_point() else given
            weight = given if weight is None else weight * given
    total = x.shape[1] if weight is None else weight.sum()
    mean = (x if weight is None else x * weight).sum(1, True) / total
    free = total - correction
    if aweights is not None and correction:
        free = total - correction * (weight * aweights.to(weight.dtype)).sum() / total
    if not isinstance(free, Tensor) and free <= 0:
        what = f"degrees of freedom is <= 0: {total} observations less the correction {correction}, so the result is not finite"
        warn("degrees-of-freedom", "cov", what, "pass correction=0, or more observations")
    free = free.clamp(min=0) if isinstance(free, Tensor) else max(free, 0)
    away = x - mean
    return (away @ (away if weight is None else away * weight).mT / free).squeeze()


def rows_of(who: str, x: Tensor) -> Tensor:
    """Return a vector, or a number, as a matrix of one row; raise RuntimeError for more than two dimensions."""
    if x.ndim > 2:
        what = f"expected input to have two or fewer dimensions but got an input with {x.ndim} dimensions"
        raise error(RuntimeError, who, what, "pass a matrix with a row for each variable: input.flatten(1)")
    return x.reshape(1, -1)


def check_weights(name: str, weights: Tensor, integers: bool, n: int) -> None:
    """Raise RuntimeError unless there is one weight of the right kind for each of n observations."""
    if (weights._np_dtype in dtypes.FLOATS) is integers:
        kind = "integral" if integers else "floating point"
        what = f"expected {name} to have {kind} dtype but got {weights.dtype.name}"
        raise error(RuntimeError, "cov", what, f"write {name}.{'long' if integers else 'float'}()")
    if tuple(weights.shape) != (n,):
        what = f"expected {name} to hold one weight for each of {n} observations, got shape {tuple(weights.shape)}"
        raise error(RuntimeError, "cov", what, "pass a weight for each column of the input")
    found = plain_tensor(weights)._a
    if has_numbers(found) and (found < 0).any():
        raise error(RuntimeError, "cov", f"{name} cannot be negative", "leave such observations out")


@op("T(3, 5)", "T(5)", "I(3, 5)")
def corrcoef(input: Tensor) -> Tensor:
    """Return Pearson's correlations of variables, the rows, over observations: covariances over both standard deviations.

    >>> import minigrad
    >>> minigrad.corrcoef(minigrad.tensor([[0., 1., 2.], [4., 2., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    c = cov(input if input.ndim == 2 else rows_of("corrcoef", input))
    if not c.ndim:
        return c / c
    deviation = c.diagonal().sqrt()
    return (c / deviation.unsqueeze(-1) / deviation).clamp(-1, 1)
