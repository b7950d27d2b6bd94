"""Reductions: sum, mean and the like over dimensions.

Each gives the partial of its result by one element (families.Reduce).  The product is in prod.py, maxima in order.py,
medians in quantiles.py, spread in statistics.py, norms in norms.py, logsumexp in softmax.py, running sums in scan.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import dtypes, memory
from ..arrays.kinds import number
from ..core.frames import current
from ..core.tensor import Tensor
from ..errors import error
from ..kernels import fallback
from ..kernels.cpu import reductions_cpu
from .base.families import NonDifferentiable, OverDims, Reduce
from .base.registry import op
from .compare import where
from .dimensions import ALL, axes, shown_dims


def result_dtype(input: Tensor, dtype: Any, who: str) -> Tensor:
    """Return the input in the dtype of its sum: integers and bools become int64.

    Raises RuntimeError if the conversion would end the graph of a tracked tensor.
    """
    if dtype is not None:
        found = input.to(dtype)
        if found._np_dtype not in dtypes.FLOATS and current().grad and input.requires_grad:
            what = f"autograd does not support the result's dtype {found.dtype}: the input requires grad"
            raise error(RuntimeError, who, what, f"write x.detach().{who}(...), or use a floating-point dtype")
        return found
    return input if input._np_dtype in dtypes.FLOATS else input.to(dtypes.int64)


def as_floating(input: Tensor, dtype: Any, who: str) -> Tensor:
    """Return the input, converted to `dtype` if given; raise RuntimeError if it has integers."""
    found = input if dtype is None else input.to(dtype)
    if found._np_dtype not in dtypes.FLOATS:
        raise error(RuntimeError, who, f"input dtype should be floating point or complex, got {found.dtype.name}",
                    f"convert it first: {who}(x.float())")  # fmt: skip
    return found


def count(shape: Any, dims: tuple) -> int:
    """Return the number of elements, in a tensor of this shape, that are reduced to one."""
    if len(dims) == 1:
        return shape[dims[0]]
    return math.prod(shape if len(dims) == len(shape) else [shape[d] for d in dims])


def reduced(
    name: str, ufunc: np.ufunc, x: np.ndarray, dims: tuple, keepdim: bool, of_none: float | None = None
) -> np.ndarray:
    """Reduce an array where rounding needs no care: by a kernel if that is faster, else by NumPy."""
    if x.size >= reductions_cpu.LOOPS_FROM and (found := reductions_cpu.reduce(name, x, dims, keepdim)) is not None:
        return found
    if of_none is not None and not x.size and x.dtype in dtypes.FLOATS:
        return ufunc.reduce(x, axis=dims, keepdims=keepdim, initial=of_none)
    return ufunc.reduce(x, dims, x.dtype, keepdims=keepdim, out=...)


def add_up(x: np.ndarray, dims: tuple, keepdim: bool) -> np.ndarray:
    """Sum with the accuracy of pairwise summation.

    Large arrays have kernels.  NumPy sums pairwise only along contiguous memory; many float32 numbers in another layout are
    summed in float64.
    """
    if x.size >= reductions_cpu.REDUCE_FROM and (found := reductions_cpu.reduce("sum", x, dims, keepdim)) is not None:
        return found
    last = dims and dims[0] == x.ndim - len(dims) and x.flags.c_contiguous
    if last or x.size <= 64 or x.dtype is not dtypes.F4 or count(x.shape, dims) <= 64:
        return np.add.reduce(x, dims, x.dtype, keepdims=keepdim, out=...)
    return np.add.reduce(x, axis=dims, keepdims=keepdim, dtype=dtypes.F8).astype(dtypes.F4)


def add_up_anyway(x: np.ndarray, dims: tuple, keepdim: bool) -> np.ndarray:
    """Sum outside an operation, and retry without kernels, as an operation would."""
    try:
        return add_up(x, dims, keepdim)
    except Exception as e:
        return fallback.again(e, add_up, x, dims, keepdim)


memory.add_up = add_up_anyway


def average(x: np.ndarray, dims: tuple, keepdim: bool) -> np.ndarray:
    """Return the sum divided by its number of terms."""
    total, n = add_up(x, dims, keepdim), count(x.shape, dims)
    return np.divide(total, number(n, total.dtype), out=...) if type(total) is np.ndarray else total / n


class OverAll(Reduce):
    """A reduction that PyTorch has twice: over all elements, and over the dimensions that a call names."""

    @classmethod
    def node_name(cls, node: Any) -> str:
        dims, keepdim = node._constants.get(1, ()), node._constants.get(2)  # these stay when a backward frees the rest
        return f"{cls.__name__}Backward{int(bool(keepdim) or dims is not ALL[len(dims)])}"


class Sum(OverAll):
    """The sum over dimensions."""

    keeps_elements = True
    lowering = "total"
    arrays = quiet = kernel_takes_half = True
    impl = add_up
    dx = lambda: 1


class Mean(OverAll):
    """The arithmetic mean over dimensions."""

    keeps_elements = True
    lowering = "average"
    arrays = quiet = True
    impl = average
    dx = lambda g, shape, dims: g / max(count(shape, dims), 1)

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        """Return the mean of the tangents, which is NaN for no elements."""
        return cls.apply(tangents[0], *primals[1:])


class NanSum(Reduce):
    """The sum over dimensions of the elements that are not NaN."""

    node = "Nansum"
    name, arrays, kernel_takes_half = "nansum", True, True

    @staticmethod
    def impl(x: np.ndarray, dims: tuple, keepdim: bool) -> np.ndarray:
        found = reductions_cpu.reduce("known", x, dims, keepdim)
        return add_up(np.where(np.isnan(x), x.dtype.type(0), x), dims, keepdim) if found is None else found

    dx = lambda g, x: where(x == x, g, 0.0)


class AnyOf(OverDims, NonDifferentiable):
    """True if any element over the dimensions is not zero."""

    lowering = "some_nonzero"
    name, kernel_takes_half, quiet = "any", True, True
    impl = lambda x, dims, keepdim: np.logical_or.reduce(x, dims, keepdims=keepdim, out=...)


class AllOf(OverDims, NonDifferentiable):
    """True if no element over the dimensions is zero."""

    lowering = "none_zero"
    name, kernel_takes_half, quiet = "all", True, True
    impl = lambda x, dims, keepdim: np.logical_and.reduce(x, dims, keepdims=keepdim, out=...)


class CountNonzero(OverDims, NonDifferentiable):
    """Number of elements over dimensions that are not zero."""

    call = lambda x, dims, keepdim: f"(x != 0).sum({shown_dims(x, dims, keepdim)}, keepdim=keepdim)"
    impl = lambda x, dims, keepdim: np.add.reduce(x != 0, axis=dims, keepdims=keepdim, dtype=dtypes.I8)


@op("T(3, 4)", "T(2, 3, 4), 1", "T(2, 3, 4), (0, -1), True", "T()", "T(0, 3), 0", "I(3, 4, 9)", "B(3), 0",
    "T(4, 3).mT, 1", "T(2, 3), dtype=torch.float64", "I(2, 3, 9), 0, dtype=torch.int32", out=True)  # fmt: skip
def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return the sum of all elements, or over the dimensions `dim`; integers and bools are summed as int64.

    >>> import minigrad
    >>> minigrad.sum(minigrad.tensor([[1, 2], [3, 4]]), dim=0)
    tensor([4, 6])
    """
    x = input if dtype is None and input._np_dtype in dtypes.FLOATS else result_dtype(input, dtype, "sum")
    return Sum.apply(x, ALL[len(x._sizes)] if dim is None else axes(x, dim, "sum"), keepdim)  # most calls need neither


@op("T(3, 4)", "T(2, 3, 4), 1", "T(2, 3, 4), (0, -1), True", "T()", "I(3, 4, 9), 0, dtype=torch.float32", "T(6)[1::2]",
    out=True)  # fmt: skip
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return the mean of all elements, or over the dimensions `dim`; NaN for no elements.

    Raises RuntimeError for integers and bools, unless `dtype` is a floating-point one.

    >>> import minigrad
    >>> minigrad.mean(minigrad.tensor([[1., 2.], [3., 4.]]), dim=1)
    tensor([1.5000, 3.5000])
    """
    source = input if dtype is None else input.to(dtype)
    if source._np_dtype not in dtypes.FLOATS:
        raise error(RuntimeError, "mean", "could not infer output dtype. Input dtype must be either a floating point "
                    f"or complex dtype. Got: {source.dtype.name}",
                    "convert first, x.float().mean(), or pass dtype=minigrad.float32")  # fmt: skip
    return Mean.apply(source, axes(input, dim, "mean"), keepdim)


@op("T(3, 4)", "T(2, 3, 4), 1", "T(2, 3, 4), (0, -1), True", "T()", "T(0, 3), 0", "I(3, 9)",
    "torch.cat((T(2, 2), torch.full((2, 1), float('nan'))), 1), 1", out=True)  # fmt: skip
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return the sum of the elements that are not NaN, of all or over the dimensions `dim`.

    >>> import minigrad
    >>> minigrad.nansum(minigrad.tensor([1., float("nan"), 2.]))
    tensor(3.)
    """
    source, dims = result_dtype(input, dtype, "nansum"), axes(input, dim, "nansum")
    return (NanSum if source._np_dtype in dtypes.FLOATS else Sum).apply(source, dims, keepdim)


@op("T(3, 4)", "T(2, 3, 4), 1", "T(2, 3, 4), (0, -1), True", "T()",
    "torch.cat((T(2, 2), torch.full((2, 1), float('nan'))), 1), 1", out=True)  # fmt: skip
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return the mean of the elements that are not NaN, of all or over the dimensions `dim`; NaN if all are NaN."""
    source, dims = as_floating(input, dtype, "nanmean"), axes(input, dim, "nanmean")
    known = CountNonzero.apply(source == source, dims, keepdim)
    return NanSum.apply(source, dims, keepdim) / known.to(source.dtype)


@op("B(3, 4)", "B(3, 4), 1", "T(2, 3, 4), (0, -1), True", "B(0)", "B(0, 3), 0", "I(3, 2), 0", "I(3, 2).to(torch.uint8)",
    "T()", differentiable=False, out=True)  # fmt: skip
def any(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return True if any element is not zero, of all or over the dimensions `dim`, as bool (uint8 stays uint8)."""
    return truth(AnyOf, input, dim, keepdim, "any")


@op("B(3, 4)", "B(3, 4), 1", "T(2, 3, 4), (0, -1), True", "B(0)", "B(0, 3), 0", "I(3, 2), 0", "I(3, 2).to(torch.uint8)",
    "T()", differentiable=False, out=True)  # fmt: skip
def all(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return True if no element is zero, of all or over the dimensions `dim`, as bool (uint8 stays uint8)."""
    return truth(AllOf, input, dim, keepdim, "all")


def truth(cls: Any, input: Tensor, dim: Any, keepdim: bool, who: str) -> Tensor:
    """Compute any or all: an empty tuple of dimensions reduces none, unlike elsewhere."""
    none = isinstance(dim, (tuple, list)) and not len(dim)
    out = cls.apply(input, () if none else axes(input, dim, who), keepdim)
    return out.to(dtypes.uint8) if input._np_dtype == dtypes.uint8.dtype else out


@op("I(3, 4, 2)", "I(3, 4, 2), 1", "I(2, 3, 4, 2), (0, -1)", "T(3)", "B(0)", "T()", differentiable=False)
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """Return the number of elements that are not zero, in all or over the dimensions `dim`, as int64."""
    return CountNonzero.apply(input, axes(input, dim, "count_nonzero"), False)
