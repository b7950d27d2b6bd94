"""Reductions: sum, mean and the like over dimensions.

Each states the partial of its result by one element (families.Reduce).  The product stands in prod.py, maxima in order.py,
medians in quantiles.py, spread in statistics.py, norms in norms.py, logsumexp in softmax.py, running sums in scan.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import dtypes, memory
from ..core.frames import current
from ..core.tensor import Tensor
from ..errors import error
from ..kernels import fallback
from ..kernels.cpu import reductions_cpu
from .base.families import NonDifferentiable, Reduce
from .base.registry import op
from .compare import where
from .dimensions import axes


def result_dtype(input: Tensor, dtype: Any, who: str) -> Tensor:
    """The input converted to the dtype in which it is to be summed: integers and bools to int64.

    Raises RuntimeError where that would end the graph of a tracked tensor.
    """
    if dtype is not None:
        found = input.to(dtype)
        if found._np_dtype not in dtypes.FLOATS and current().grad and input.requires_grad:
            what = f"autograd does not support the dtype {found.dtype} of its result: the input requires grad"
            raise error(RuntimeError, who, what, f"x.detach().{who}(...), or a floating-point dtype")
        return found
    return input if input._np_dtype in dtypes.FLOATS else input.to(dtypes.int64)


def as_floating(input: Tensor, dtype: Any, who: str) -> Tensor:
    """The input, converted to `dtype` if one is given; RuntimeError if that leaves integers."""
    found = input if dtype is None else input.to(dtype)
    if found._np_dtype not in dtypes.FLOATS:
        raise error(RuntimeError, who, f"input dtype should be floating point or complex, got {found.dtype.name}",
                    f"convert it first: {who}(x.float())")  # fmt: skip
    return found


def count(shape: Any, dims: tuple) -> int:
    """How many elements of a tensor of this shape are reduced to one."""
    return math.prod([shape[d] for d in dims])


def reduced(name: str, ufunc: np.ufunc, x: np.ndarray, dims: tuple, keepdim: bool) -> np.ndarray:
    """A reduction that needs no care: by a kernel where that serves, else by NumPy."""
    if x.size >= reductions_cpu.REDUCE_FROM and (found := reductions_cpu.reduce(name, x, dims, keepdim)) is not None:
        return found
    return ufunc.reduce(x, dims, x.dtype, None, keepdim)


def add_up(x: np.ndarray, dims: tuple, keepdim: bool) -> np.ndarray:
    """Sums as accurate as pairwise ones.

    Large arrays have kernels.  NumPy adds in pairs only along memory; where many float32 numbers do not lie so, they are
    added up as float64.
    """
    if x.size >= reductions_cpu.REDUCE_FROM and (found := reductions_cpu.reduce("sum", x, dims, keepdim)) is not None:
        return found
    if (
        x.size <= 64
        or x.dtype != dtypes.F4
        or x.flags.c_contiguous
        and dims == tuple(range(x.ndim - len(dims), x.ndim))
        or count(x.shape, dims) <= 64
    ):
        return np.add.reduce(x, dims, x.dtype, None, keepdim)
    return np.add.reduce(x, axis=dims, keepdims=keepdim, dtype=dtypes.F8).astype(dtypes.F4)


def add_up_anyway(x: np.ndarray, dims: tuple, keepdim: bool) -> np.ndarray:
    """Do the same where no operation stands around that would run once more without kernels."""
    try:
        return add_up(x, dims, keepdim)
    except Exception as e:
        return fallback.again(e, add_up, x, dims, keepdim)


memory.add_up = add_up_anyway


class OverAll(Reduce):
    """A reduction of which PyTorch has two: over all elements, and over dimensions."""

    @classmethod
    def node_name(cls, node: Any) -> str:
        _, dims, keepdim = node._saved[:3]
        return f"{cls.__name__}Backward{int(keepdim or len(dims) != len(node._edges[0]._shape))}"


class Sum(OverAll):
    """The sum over dimensions."""

    arrays = quiet = kernel_takes_half = True
    impl = lambda x, dims, keepdim: add_up(x, dims, keepdim)
    dx = lambda: 1


class Mean(OverAll):
    """The arithmetic mean over dimensions."""

    arrays = quiet = True
    impl = lambda x, dims, keepdim: add_up(x, dims, keepdim) / count(x.shape, dims)
    dx = lambda g, shape, dims: g / max(count(shape, dims), 1)

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        """The mean of the tangents, also NaN where there are none."""
        return cls.apply(tangents[0], *primals[1:])


class NanSum(Reduce):
    """The sum over dimensions of what is not NaN."""

    node = "Nansum"
    name, kernel_takes_half = "nansum", True

    @staticmethod
    def impl(x: np.ndarray, dims: tuple, keepdim: bool) -> np.ndarray:
        found = reductions_cpu.reduce("known", x, dims, keepdim)
        return add_up(np.where(np.isnan(x), x.dtype.type(0), x), dims, keepdim) if found is None else found

    dx = lambda g, x: where(x == x, g, 0.0)


class AnyOf(NonDifferentiable):
    """Whether any element over dimensions is not zero."""

    name, kernel_takes_half = "any", True
    impl = lambda x, dims, keepdim: np.logical_or.reduce(x, axis=dims, keepdims=keepdim)
    batch = Reduce.batch


class AllOf(NonDifferentiable):
    """Whether no element over dimensions is zero."""

    name, kernel_takes_half = "all", True
    impl = lambda x, dims, keepdim: np.logical_and.reduce(x, axis=dims, keepdims=keepdim)
    batch = Reduce.batch


class CountNonzero(NonDifferentiable):
    """How many elements over dimensions are not zero."""

    impl = lambda x, dims, keepdim: np.add.reduce(x != 0, axis=dims, keepdims=keepdim, dtype=dtypes.I8)
    batch = Reduce.batch


@op("T(3, 4)", "T(2, 3, 4), 1", "T(2, 3, 4), (0, -1), True", "T()", "T(0, 3), 0", "I(3, 4, 9)", "B(3), 0",
    "T(4, 3).mT, 1", "T(2, 3), dtype=torch.float64", "I(2, 3, 9), 0, dtype=torch.int32", out=True)  # fmt: skip
def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of all elements, or over the dimensions `dim`; integers and bools are summed as int64.

    >>> import minigrad
    >>> minigrad.sum(minigrad.tensor([[1, 2], [3, 4]]), dim=0)
    tensor([4, 6])
    """
    return Sum.apply(result_dtype(input, dtype, "sum"), axes(input, dim, "sum"), keepdim)


@op("T(3, 4)", "T(2, 3, 4), 1", "T(2, 3, 4), (0, -1), True", "T()", "I(3, 4, 9), 0, dtype=torch.float32", "T(6)[1::2]",
    out=True)  # fmt: skip
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of all elements, or over the dimensions `dim`; NaN where there are none.

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
    """The sum of the elements that are not NaN, of all or over the dimensions `dim`.

    >>> import minigrad
    >>> minigrad.nansum(minigrad.tensor([1., float("nan"), 2.]))
    tensor(3.)
    """
    source, dims = result_dtype(input, dtype, "nansum"), axes(input, dim, "nansum")
    return (NanSum if source._np_dtype in dtypes.FLOATS else Sum).apply(source, dims, keepdim)


@op("T(3, 4)", "T(2, 3, 4), 1", "T(2, 3, 4), (0, -1), True", "T()",
    "torch.cat((T(2, 2), torch.full((2, 1), float('nan'))), 1), 1", out=True)  # fmt: skip
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of the elements that are not NaN, of all or over the dimensions `dim`; NaN where there are none."""
    source, dims = as_floating(input, dtype, "nanmean"), axes(input, dim, "nanmean")
    known = CountNonzero.apply(source == source, dims, keepdim)
    return NanSum.apply(source, dims, keepdim) / known.to(source.dtype)


@op("B(3, 4)", "B(3, 4), 1", "T(2, 3, 4), (0, -1), True", "B(0)", "B(0, 3), 0", "I(3, 2), 0", "I(3, 2).to(torch.uint8)",
    "T()", differentiable=False, out=True)  # fmt: skip
def any(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether any element is not zero, of all or over the dimensions `dim`: bool (uint8 stays uint8)."""
    return truth(AnyOf, input, dim, keepdim, "any")


@op("B(3, 4)", "B(3, 4), 1", "T(2, 3, 4), (0, -1), True", "B(0)", "B(0, 3), 0", "I(3, 2), 0", "I(3, 2).to(torch.uint8)",
    "T()", differentiable=False, out=True)  # fmt: skip
def all(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether every element is not zero, of all or over the dimensions `dim`: bool (uint8 stays uint8)."""
    return truth(AllOf, input, dim, keepdim, "all")


def truth(cls: Any, input: Tensor, dim: Any, keepdim: bool, who: str) -> Tensor:
    """any and all: an empty tuple of dimensions reduces none, unlike elsewhere."""
    none = isinstance(dim, (tuple, list)) and not len(dim)
    out = cls.apply(input, () if none else axes(input, dim, who), keepdim)
    return out.to(dtypes.uint8) if input._np_dtype == dtypes.uint8.dtype else out


@op("I(3, 4, 2)", "I(3, 4, 2), 1", "I(2, 3, 4, 2), (0, -1)", "T(3)", "B(0)", "T()", differentiable=False)
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many elements are not zero, in all or over the dimensions `dim`, as int64."""
    return CountNonzero.apply(input, axes(input, dim, "count_nonzero"), False)
