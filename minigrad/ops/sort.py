"""Order: sorting, the largest elements, counts of values, and the positions of values in sorted rows.

The searches return indices, which have no derivative.  `gather` then reads the values, and supplies gradients of any order, jvp
and vmap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import return_types
from ..arrays import dtypes
from ..arrays.kinds import as_array, contiguous, on_device, zeros
from ..arrays.meta import has_numbers
from ..arrays.shapes import sketch
from ..core.tensor import Tensor, wrap
from ..errors import error
from ..kernels import cuda_kernels
from ..layers.batching import front
from ..return_types import Selected
from .base.families import NonDifferentiable
from .base.layouts import as_operand, wrap_near
from .base.registry import op
from .dimensions import axis
from .gather import Gather
from .index import data_dependent
from .join import select
from .order import nonempty

WIDE = (-900.0, 900.0)  # samples whose elements are distinct, as integers too

PARTITION_FROM = 128  # elements of a row; below, sorting all of them is as fast as partitioning first


class ArgSort(NonDifferentiable):
    """The indices that sort a dimension; NaN counts as larger than every number, equal elements keep their order."""

    call = "x.argsort(dim, descending=descending, stable=True)"
    layout = as_operand
    name = "argsort"

    @staticmethod
    def impl(x: np.ndarray, dim: int, descending: bool) -> np.ndarray:
        if not descending:
            return np.argsort(x, dim, kind="stable")
        if type(x) is not np.ndarray:
            return x.shape[dim] - 1 - np.flip(np.argsort(np.flip(x, dim), dim, kind="stable"), dim)
        backwards = (*(slice(None),) * dim, slice(None, None, -1))
        return x.shape[dim] - 1 - x[backwards].argsort(dim, kind="stable")[backwards]

    batch = lambda x, dim, descending: (x, dim + 1, descending)


class Sorted(Gather):
    """The elements at the indices that sort them."""

    name, node = "sort", "Sort"
    layout = as_operand


class First(NonDifferentiable):
    """The indices of the first k elements along a dimension in that order; ties at the end may fall either way."""

    call = lambda descending: f"x.topk(k, dim, largest={descending}).indices"

    @staticmethod
    def impl(x: np.ndarray, k: int, dim: int, descending: bool) -> np.ndarray:
        n, part = x.shape[dim], (slice(None),) * dim
        if on_device(x):
            return cuda_kernels("sorting").top(x, k, dim, descending)
        if n < PARTITION_FROM or k in (0, n):
            return contiguous(ArgSort.impl(x, dim, descending)[(*part, slice(k))])
        parted = np.argpartition(x, n - k if descending else k - 1, dim)
        some = np.sort(parted[(*part, slice(n - k, n) if descending else slice(k))], dim)
        return np.take_along_axis(some, ArgSort.impl(np.take_along_axis(x, some, dim), dim, descending), dim)

    batch = lambda x, k, dim, descending: (x, k, dim + 1, descending)


class Ranked(NonDifferentiable):
    """The index of the element that has k smaller ones before it in order; of equal elements any."""

    call = lambda k: f"x.kthvalue({k + 1}, dim, keepdim=True).indices"
    impl = lambda x, k, dim: np.take(np.argpartition(x, k, dim), [k], dim)
    batch = lambda x, k, dim: (x, k, dim + 1)


class SearchSorted(NonDifferentiable):
    """Insertion points of values in the last dimension of a sorted tensor, one row for all or a row for each row."""

    call = "searchsorted(rows, values, right=right)"
    name = "searchsorted"

    @staticmethod
    def impl(rows: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray:
        if rows.ndim == 1:
            return as_array(np.searchsorted(rows, values, "right" if right else "left"))
        if on_device(rows):
            return cuda_kernels("searching").insertion_positions(rows, values, right)
        low, n = np.zeros(values.shape, np.int64), rows.shape[-1]
        high = np.full(values.shape, n)
        for _ in range(n.bit_length()):  # bisection, all at once
            middle = (low + high) // 2
            there = np.take_along_axis(rows, np.minimum(middle, n - 1), -1)
            beyond = (low < high) & (there <= values if right else there < values)
            low, high = np.where(beyond, middle + 1, low), np.where(beyond, high, middle)
        return low

    def vmap(info: Any, in_dims: tuple, rows: Tensor, values: Tensor, right: bool) -> tuple:
        """Keep the values' shape if all examples share one sorted row."""
        values = front(values, in_dims[1], info.batch_size)
        if in_dims[0] is None and rows.ndim == 1:
            return SearchSorted.apply(rows, values, right), 0
        rows = front(rows, in_dims[0], info.batch_size)
        flat = values if rows.ndim > 2 else values.reshape(info.batch_size, -1)
        return SearchSorted.apply(rows, flat, right).reshape(values.shape), 0


class IsIn(NonDifferentiable):
    """True where an element is among the tests."""

    name = "isin"
    impl = lambda x, tests: np.isin(x, tests)

    def vmap(info: Any, in_dims: tuple, x: Tensor, tests: Tensor) -> tuple:
        """Compare every element with each test if the examples have different tests."""
        x = front(x, in_dims[0], info.batch_size)
        if in_dims[1] is None:
            return IsIn.apply(x, tests), 0
        tests = front(tests, in_dims[1], info.batch_size).reshape(info.batch_size, *[1] * (x.ndim - 1), -1)
        return (x.unsqueeze(-1) == tests).any(-1), 0


class Histogram(NonDifferentiable):
    """Number of elements in each of `bins` equal parts of an interval, per row of the `lead` first dimensions."""

    @staticmethod
    def impl(x: np.ndarray, bins: int, low: float, high: float, lead: int) -> np.ndarray:
        rows = x.reshape(int(np.prod(x.shape[:lead])), -1)
        out = zeros((len(rows), bins), x)
        for row, counts in zip(rows, out):
            counts[...] = np.histogram(row, bins, interval(row, low, high))[0]
        return out.reshape((*x.shape[:lead], bins))

    batch = lambda x, bins, low, high, lead: (x, bins, low, high, lead + 1)


class DataDependent(NonDifferentiable):
    """An operation whose result has a shape that depends on values."""

    def vmap(info: Any, in_dims: tuple, *args: Any) -> tuple:
        """Raise an error: each example would have a result of another shape."""
        raise data_dependent(info.function.__name__.lower())


class BinCount(DataDependent):
    """Number of occurrences of each number from 0 on, or the sum of its weights."""

    name, takes_half = "bincount", True  # NumPy sums the weights in float64

    @staticmethod
    def impl(x: np.ndarray, weights: np.ndarray | None, n: int) -> np.ndarray:
        if x.size and has_numbers(x) and x.min() < 0:
            raise error(RuntimeError, "bincount", f"got a negative number, {int(x.min())}", "write x - x.min()")
        found = np.bincount(x, weights, n)
        return found if weights is None else found.astype(weights.dtype if weights.dtype == np.float32 else np.float64)


class Unique(DataDependent):
    """The distinct elements in order, or distinct slices; the index among them of each element, and their counts."""

    @staticmethod
    def impl(x: np.ndarray, dim: int | None) -> tuple:
        values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
        return values, inverse.reshape(x.shape if dim is None else -1), counts


class UniqueConsecutive(DataDependent):
    """Unique, but merging only equal neighbours."""

    @staticmethod
    def impl(x: np.ndarray, dim: int | None) -> tuple:
        rows = x.reshape(-1) if dim is None else np.moveaxis(x, dim, 0)
        new = np.ones_like(rows, bool, shape=(len(rows),))
        new[1:] = (rows[1:] != rows[:-1]).any(tuple(range(1, rows.ndim)))
        starts = np.flatnonzero(new)
        counts, inverse = np.diff(np.append(starts, len(rows))), np.cumsum(new) - 1
        values = rows[new] if dim is None else contiguous(np.moveaxis(rows[new], 0, dim))
        return values, inverse.reshape(x.shape) if dim is None else inverse, counts


# ---------------------------------------------------------------------- sorting
@op(
    "T(4, 3)",
    "T(4, 3), 0",
    "T(4, 3), -1, True",
    "T(4, 3).mT, dim=0, descending=True, stable=True",
    "T()",
    "T(0, 3), 0",
    "I(20, 3), stable=True",
    out=True,
)
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Selected:
    """Return (values, indices) of a sorted dimension.  NaN counts as the largest; equal elements always keep their order.

    >>> import minigrad
    >>> values, indices = minigrad.sort(minigrad.tensor([2., 3., 1.]), descending=True)
    >>> values, indices
    (tensor([3., 2., 1.]), tensor([1, 0, 2]))
    """
    x, d = row_of(input, dim, "sort")
    indices = ArgSort.apply(x, d, bool(descending))
    return return_types.sort(*shaped_as(input, Sorted.apply(x, d, indices), indices))


@op("T(4, 3)", "T(4, 3), 0, True", "T()", "I(20, 3), stable=True", differentiable=False)
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Return the indices that sort a dimension."""
    x, d = row_of(input, dim, "argsort")
    return ArgSort.apply(x, d, bool(descending)).reshape(input.shape)


@op("T(4, 3)", "T(5)", "T()", out=True)
def msort(input: Tensor) -> Tensor:
    """Sort the first dimension."""
    return sort(input, 0).values


@op(
    "T(4, 5), 2",
    "T(4, 5), 3, 0, largest=False",
    "T(4, 5), 1, -1",
    "T(5), 5",
    "T(), 1",
    "T(4, 5), 0",
    domain=WIDE,
    out=True,
    node="Topk",
)
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Selected:
    """Return (values, indices) of the k largest, or smallest, elements of a dimension, in order."""
    x, d = row_of(input, dim, "topk")
    if not 0 <= k <= x.shape[d]:
        what = f"selected index k out of range: k is {k}, the dimension has {x.shape[d]} elements"
        raise error(RuntimeError, "topk", what, f"write k={x.shape[d]}, or less: min(k, x.shape[{d}])")
    indices = First.apply(x, int(k), d, bool(largest))
    values = Gather.apply(x, d, indices)
    return return_types.topk(*(shaped_as(input, values, indices) if k else (values, indices)))


@op("T(4, 5), 2", "T(4, 5), 3, 0", "T(4, 5), 1, -1, True", "T(5), 5", "T(), 1", domain=WIDE, out=True, node="Kthvalue")
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Selected:
    """Return (value, index) of the k-th smallest element of a dimension, counted from 1."""
    x, d = row_of(input, dim, "kthvalue")
    nonempty(x, (d,), "kthvalue")
    if not 1 <= k <= x.shape[d]:
        what = f"selected number k out of range for dimension {d}: k is {k}, there are {x.shape[d]}"
        raise error(RuntimeError, "kthvalue", what, f"write k from 1 to {x.shape[d]}")
    indices = Ranked.apply(x, int(k) - 1, d)
    values = Gather.apply(x, d, indices)
    if not input.ndim:
        values, indices = shaped_as(input, values, indices)
    elif not keepdim:
        values, indices = select(values, d, 0), select(indices, d, 0).contiguous()
    return return_types.kthvalue(values, indices)


def row_of(input: Tensor, dim: int, who: str) -> tuple:
    """Return the tensor, with shape (1,) if it is 0-d, and the dimension counted from the front."""
    return input if input.ndim else input.reshape(1), axis(dim, input.ndim, who)


def shaped_as(input: Tensor, values: Tensor, indices: Tensor) -> tuple:
    """Return both in the input's shape."""
    return (values, indices) if input.ndim else (values.reshape(()), indices.reshape(()))


# ---------------------------------------------------------------------- distinct elements
@op(
    "I(8, 4)",
    "I(3, 4, 5), return_inverse=True",
    "I(3, 4, 5), True, True, True",
    "I(6, 2, 2), dim=0, return_counts=True",
    "I(0, 3)",
    "T(3), return_inverse=True",
    differentiable=False,
)
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the distinct elements in order (with `dim`, the distinct slices); the length depends on the values.

    On request also return the index among them of each element, and their counts.
    """
    d = None if dim is None else axis(dim, input.ndim, "unique")
    return chosen(Unique.apply(input, d), return_inverse, return_counts)


@op("I(9, 2)", "I(3, 4, 2), True, True", "I(6, 2, 2), dim=0, return_counts=True", "I(0, 3)", differentiable=False)
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Merge only equal neighbours, and keep the order; otherwise like `unique`."""
    d = None if dim is None else axis(dim, input.ndim, "unique_consecutive")
    return chosen(UniqueConsecutive.apply(input, d), return_inverse, return_counts)


def chosen(found: tuple, inverse: bool, counts: bool) -> Any:
    """Return the requested parts of (values, inverse, counts)."""
    return found[0] if not inverse and not counts else (found[0], *found[1:2] * inverse, *found[2:] * counts)


@op(
    "T(3, 4), T(2)",
    "I(3, 4, 5), I(3, 5)",
    "I(6, 5), 2",
    "I(6, 5), I(3, 5), invert=True",
    "3, I(4, 5)",
    method=False,
    differentiable=False,
    out=True,
)
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Return True where an element is one of `test_elements`; one of the two may be a number."""
    found = IsIn.apply(as_tensor(elements, test_elements), as_tensor(test_elements, elements))
    return found == 0 if invert else found


# ---------------------------------------------------------------------- insertion points and counts
@op(
    "torch.tensor([1., 3., 5.]), T(2, 3)",
    "torch.tensor([1, 3, 3, 5]), I(4, 7), right=True",
    "torch.tensor([1, 3, 3]), 3",
    "torch.tensor([[1, 3, 5], [0, 1, 1]]), I(2, 4, 7)",
    "torch.tensor([[1, 3, 5], [0, 1, 1]]), I(2, 4, 7), side='right', out_int32=True",
    method=False,
    differentiable=False,
    out=True,
)
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Return the indices at which `input` belongs in a sorted sequence: before equal elements, or after them if `right`.

    A sequence of several dimensions has one row for each row of `input`.
    """
    if side not in (None, "left", "right") or side == "left" and right:
        what = f"side can only be 'left' or 'right' and must not contradict right={right}, got {side!r}"
        raise error(RuntimeError, "searchsorted", what, "write side='left', or only right=True")
    rows, values = sorted_sequence, as_tensor(input, sorted_sequence)
    if rows.ndim == 0 or rows.ndim > 1 and rows.shape[:-1] != values.shape[:-1]:
        raise error(
            RuntimeError,
            "searchsorted",
            "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
            f"input value tensor must match, but we got boundaries tensor {list(rows.shape)} and input value tensor "
            f"{list(values.shape)}",
            "pass one row of boundaries, sorted_sequence.flatten(), or one for each row of the values",
            notes=[sketch({"sorted_sequence": rows.shape, "values": values.shape})],
        )
    if sorter is not None:
        if sorter.shape != rows.shape or sorter.dtype != dtypes.int64:
            what = f"sorter must be an int64 tensor of shape {tuple(rows.shape)}, got {tuple(sorter.shape)}, {sorter.dtype}"
            raise error(RuntimeError, "searchsorted", what, "pass sorter=sorted_sequence.argsort()")
        rows = Gather.apply(rows, rows.ndim - 1, sorter)
    found = SearchSorted.apply(rows, values, right or side == "right")
    return found.to(dtypes.int32) if out_int32 else found


@op(
    "T(2, 3), torch.tensor([-1., 0., 1.])",
    "I(5, 7), torch.tensor([1, 3]), right=True",
    "3, torch.tensor([1, 3])",
    method=False,
    differentiable=False,
    out=True,
)
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """Return the index of each element's bucket between sorted `boundaries`."""
    if boundaries.ndim != 1:
        what = f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})"
        raise error(RuntimeError, "bucketize", what, "write boundaries.flatten()")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@op("I(9, 4)", "I(9, 4), minlength=6", "I(9, 4), T(9)", "I(0, 4)", differentiable=False)
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Count each number from 0 on in a vector, or sum its weights; the result has at least `minlength` elements."""
    if input.ndim != 1 or input._np_dtype.kind not in "iu":
        raise error(
            NotImplementedError if input._np_dtype in dtypes.FLOATS else RuntimeError,
            "bincount",
            f"bincount only supports 1-d non-negative integral inputs, got shape {tuple(input.shape)} and "
            f"{input.dtype}",
            "write input.flatten().long(), with no negative numbers",
        )
    if weights is not None and weights.shape != input.shape:
        what = f"weights should be 1-d and have the same length as input, got {tuple(weights.shape)}"
        raise error(RuntimeError, "bincount", what, f"pass weights of shape {tuple(input.shape)}")
    if minlength < 0:
        raise error(RuntimeError, "bincount", f"minlength should be >= 0, got {minlength}", "write minlength=0")
    return BinCount.apply(input, weights, int(minlength))


@op(
    "T(20), 5",
    "T(4, 5), 4, -1, 1",
    "torch.tensor([1., 2., 1.]), bins=4, min=0, max=3",
    "torch.tensor([2., 2.]), 3",
    differentiable=False,
    out=True,
)
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Count the elements in each of `bins` equal parts of [min, max], or of the input's range if both are 0."""
    if input._np_dtype not in dtypes.FLOATS:
        raise error(
            NotImplementedError, "histc", f"not implemented for {input.dtype}", "write bincount(x) or x.float()"
        )
    if bins <= 0:
        raise error(RuntimeError, "histc", f"bins must be > 0, got {bins}", "write bins=100")
    if max < min:
        raise error(
            RuntimeError, "histc", f"max must be larger than min, got {min} and {max}", f"write min={max}, max={min}"
        )
    limit = dtypes.finfo(input.dtype).max
    if not -limit <= min <= max <= limit:
        raise error(
            RuntimeError, "histc", f"range of [{min}, {max}] is not finite in {input.dtype}", "write min=0, max=1"
        )
    return Histogram.apply(input, int(bins), float(min), float(max), 0)


def interval(row: np.ndarray, low: float, high: float) -> tuple:
    """Return the range of a histogram: by default the row's, and never empty."""
    if low == high and row.size:
        low, high = [v.item() if on_device(v) else v for v in (row.min(), row.max())]
    if not np.isfinite([low, high, high - low]).all():
        what = f"range of [{low}, {high}] or its width is not finite"
        fix = "leave infinities out, histc(input[input.isfinite()]), and scale large numbers down, histc(input / 4)"
        raise error(RuntimeError, "histc", what, fix)
    return (low, high) if low < high else (low - 1, high + 1)


def as_tensor(value: Any, other: Any) -> Tensor:
    """Return a number as a 0-d tensor on the device of the other operand."""
    if isinstance(value, Tensor):
        return value
    number = np.asarray(value, dtypes.number_dtype(value))
    return wrap_near(number, other) if isinstance(other, Tensor) else wrap(number)
