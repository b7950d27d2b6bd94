"""Spread of data: variance and standard deviation.

Variance is computed in two passes, the mean first, so that a large offset costs no digits.  That of float32
is computed in float64, but for many numbers only where it has to be.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import dtypes
from ..arrays.kinds import kernels_there, on_device
from ..core.tensor import Tensor
from ..errors import error, warn
from ..kernels.cpu.reductions_cpu import REDUCE_FROM
from .base.families import Reduce
from .base.registry import op
from .dimensions import axes
from .pointwise import where
from .reduce import Mean, add_up, count

TINY = float(np.finfo(np.float32).tiny)
LOST = 1e-7  # below this share of the squared mean, float32 has less than three digits of a variance


class Var(Reduce):
    """The variance over dimensions: squared distances from the mean, over their number less `correction`."""

    @staticmethod
    def impl(x: np.ndarray, dims: tuple, keepdim: bool, correction: float) -> np.ndarray:
        if on_device(x):
            return kernels_there("reductions_cuda").spread(x, dims, keepdims=keepdim, correction=correction)
        return spread(x, dims, keepdim, correction).astype(x.dtype, copy=False)

    dx = lambda g, x, dims, correction: g * slope(x, dims, correction) * (x - Mean.apply(x, dims, True))

    @staticmethod
    def arrays(gs: tuple, bound: tuple) -> tuple | None:
        """Pull back on arrays."""
        return None if on_device(gs[0]) else (deviations(gs[0], *bound[:4]),)


class Std(Reduce):
    """The standard deviation over dimensions, the root of the variance.  Where it is 0 the gradient is too."""

    @staticmethod
    def impl(x: np.ndarray, dims: tuple, keepdim: bool, correction: float) -> np.ndarray:
        if on_device(x):
            return kernels_there("reductions_cuda").spread(x, dims, keepdims=keepdim, correction=correction, root=True)
        return np.sqrt(spread(x, dims, keepdim, correction)).astype(x.dtype, copy=False)

    dx = lambda g, x, out, dims, correction: (
        where(out == 0, 0.0, g / (out * 2)) * slope(x, dims, correction) * (x - Mean.apply(x, dims, True))
    )

    @staticmethod
    def arrays(gs: tuple, bound: tuple) -> tuple | None:
        """Pull back on arrays."""
        (g,), (*given, out) = gs, bound
        if on_device(g):
            return None
        return (deviations(np.divide(g, out * 2, out=np.zeros_like(out), where=out != 0), *given),)


def deviations(g: np.ndarray, x: np.ndarray, dims: tuple, keepdim: bool, correction: float) -> np.ndarray:
    """The deviations from the mean, times the gradient of the variance and its slope."""
    if not keepdim and g.ndim:
        g = np.expand_dims(g, dims)
    out = x - add_up(x, dims, True) / count(x.shape, dims)
    out *= g * x.dtype.type(slope(x, dims, correction))
    return out


def spread(x: np.ndarray, dims: tuple, keepdim: bool, correction: float) -> np.ndarray:
    """The variance; as float64 where float32 is too narrow for its squares, or its mean."""
    if x.dtype != dtypes.F4:
        return two_passes(x, dims, keepdim, correction)[0]
    if x.size >= REDUCE_FROM:
        found, mean = two_passes(x, dims, keepdim, correction)
        doubted = LOST * mean * mean + TINY  # the square of the mean's rounding error is in the result
        if ((found > doubted.reshape(found.shape)) & (found < np.inf)).all():
            return found
    return two_passes(x.astype(dtypes.F8), dims, keepdim, correction)[0]


def two_passes(x: np.ndarray, dims: tuple, keepdim: bool, correction: float) -> tuple:
    """The variance and the mean, whose dimensions are kept."""
    n = count(x.shape, dims)
    mean = add_up(x, dims, True) / n
    distance = x - mean
    return np.divide(add_up(distance * distance, dims, keepdim), x.dtype.type(max(n - correction, 0))), mean


def slope(x: Tensor, dims: tuple, correction: float) -> float:
    """The factor of a deviation from the mean in the gradient of the variance."""
    free = count(x.shape, dims) - correction
    return 2 / free if free else math.inf


SPREAD = ("T(3, 4)", "T(2, 3, 4), 1", "T(2, 3, 4), (0, -1), keepdim=True", "T(2, 3, 4), 1, False, True",
          "T(3, 4), False", "T(3, 4), 0, correction=0", "T(3, 4), correction=1.5", "T(3, 4), unbiased=False",
          "T(4, 3).mT, 0", "T(0, 3), 1")  # fmt: skip


def prepared(input: Tensor, dim: Any, unbiased: Any, correction: Any, who: str) -> tuple:
    """(dimensions, correction) from PyTorch's ways to ask: var(x, False), var(x, 0, False), var(x, correction=0)."""
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
    """The variance of all elements, or over the dimensions `dim`: squared distances from the mean over n - correction.

    `correction` is 1 unless given (Bessel's); `unbiased=False` means 0.  One element with correction 1 gives 0/0, NaN,
    and a warning.  Raises RuntimeError for integers.

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
    """The standard deviation of all elements, or over the dimensions `dim`: the root of `var`, with its arguments."""
    dims, correction = prepared(input, dim, unbiased, correction, "std")
    return Std.apply(input, dims, keepdim, correction)


@op(*SPREAD, method=False, node="VarMean")
def var_mean(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: float | None = None
) -> tuple:
    """`(var, mean)` of all elements, or over the dimensions `dim`."""
    dims, correction = prepared(input, dim, unbiased, correction, "var_mean")
    return Var.apply(input, dims, keepdim, correction), Mean.apply(input, dims, keepdim)


@op(*SPREAD, method=False, node="StdMean")
def std_mean(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: float | None = None
) -> tuple:
    """`(std, mean)` of all elements, or over the dimensions `dim`."""
    dims, correction = prepared(input, dim, unbiased, correction, "std_mean")
    return Std.apply(input, dims, keepdim, correction), Mean.apply(input, dims, keepdim)
