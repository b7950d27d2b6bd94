"""Medians, modes and quantiles: elements by their rank among the others.

Medians and modes are selections, as in order.py.  Quantiles sort, and interpolate between two neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import return_types
from ..arrays import dtypes
from ..arrays.kinds import on_device, to_device_of
from ..arrays.meta import has_numbers
from ..core.tensor import Tensor, wrap
from ..errors import error
from ..return_types import Selected
from .base.registry import op
from .dimensions import axis
from .order import Selection, Whole, choose
from .pointwise import where
from .reduce import count
from .transfer import placed


class MedianOfAll(Whole):
    """The lower median of all elements."""

    node = "Median"
    name = "median"
    impl = lambda x, dims, keepdim: take_last(x, dims, median_place)


class NanmedianOfAll(Whole):
    """The lower median of all elements that are not NaN."""

    node = "Nanmedian"
    name = "nanmedian"
    impl = lambda x, dims, keepdim: take_last(x, dims, nanmedian_place)


class Median(Selection):
    """Lower medians along a dimension, and their positions."""

    call = "x.{name}(dim, keepdim=keepdim)"
    node = "MedianBackward1"
    place = staticmethod(lambda x, dim: median_place(x, dim))


class Nanmedian(Selection):
    """Lower medians along a dimension of the elements that are not NaN, and their positions."""

    call = "x.{name}(dim, keepdim=keepdim)"
    node = "NanmedianBackward1"
    place = staticmethod(lambda x, dim: nanmedian_place(x, dim))


class Mode(Selection):
    """The most frequent values along a dimension, and their last positions."""

    call = "x.{name}(dim, keepdim=keepdim)"
    place = staticmethod(lambda x, dim: mode_place(x, dim))


def median_place(x: np.ndarray, dim: int) -> np.ndarray:
    """Return the position of the lower median, or of the first NaN."""
    middle = [(x.shape[dim] - 1) // 2]
    found = np.take(np.argpartition(x, middle[0], dim), middle, dim)
    nan = x != x
    return np.where(nan.any(dim, keepdims=True), np.argmax(nan, dim, keepdims=True), found)


def nanmedian_place(x: np.ndarray, dim: int) -> np.ndarray:
    """Return the position, in a stable order, of the lower median of elements that are not NaN; the first if all are NaN."""
    known = np.add.reduce(x == x, axis=dim, keepdims=True, dtype=dtypes.I8)
    rank = np.maximum(known - 1, 0) // 2
    if on_device(x):
        return np.take_along_axis(np.argsort(x, dim, kind="stable"), rank, dim)
    median = np.take_along_axis(np.partition(x, np.unique(rank), dim), rank, dim)  # a tenth of the time of a sort
    before = rank - np.add.reduce(x < median, axis=dim, keepdims=True, dtype=dtypes.I8)  # equal elements before it
    return np.argmax(np.cumsum(x == median, dim) > before, dim, keepdims=True)


def mode_place(x: np.ndarray, dim: int) -> np.ndarray:
    """Return the last position of the most frequent value; of equally frequent ones the smallest."""
    order = np.argsort(x, dim, kind="stable")
    row = np.moveaxis(np.take_along_axis(x, order, dim), dim, -1)
    places = to_device_of(np.arange(row.shape[-1]), row)
    fresh = np.ones_like(row, bool)
    fresh[..., 1:] = row[..., 1:] != row[..., :-1]
    length = places - np.maximum.accumulate(np.where(fresh, places, 0), axis=-1)  # so far, of the run of equal ones
    best = np.moveaxis(np.argmax(length, -1, keepdims=True), -1, dim)
    return np.take_along_axis(order, best, dim)


def take_last(x: np.ndarray, dims: tuple, place: Callable) -> np.ndarray:
    """Return the element at `place` of all elements in dims, the last dimensions; NaN if there are none."""
    rows = x.reshape((*x.shape[: x.ndim - len(dims)], count(x.shape, dims)))
    if rows.shape[-1] == 0:
        return np.full_like(rows, np.nan, np.float64, shape=rows.shape[:-1]).astype(x.dtype)
    return np.take_along_axis(rows, place(rows, rows.ndim - 1), -1)[..., 0]


MIDDLE = ("T(3, 4)", "T(2, 3, 4), 1", "T(2, 3, 4), -1, True", "T()", "T(), 0", "T(4, 3).mT, 0", "T(0, 3), 1", "T(5)")


@op(*MIDDLE, out=True)
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the median (the lower one of an even number); with `dim`, medians and positions along it: `(values, indices)`.

    NaN if an element is NaN, or if there are none.  Raises IndexError for a dimension of size 0.

    >>> import minigrad
    >>> minigrad.median(minigrad.tensor([4., 1., 3., 2.]))
    tensor(2.)
    """
    if dim is None:
        return MedianOfAll.apply(input, tuple(range(input.ndim)), False)
    return return_types.median(*choose(Median, input, dim, keepdim, "median"))


@op(*MIDDLE, "torch.cat((T(2, 2), torch.full((2, 1), float('nan'))), 1), 1", out=True)
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the median of the elements that are not NaN, otherwise like `median`."""
    if dim is None:
        return NanmedianOfAll.apply(input, tuple(range(input.ndim)), False)
    return return_types.nanmedian(*choose(Nanmedian, input, dim, keepdim, "nanmedian"))


@op("T(3, 4)", "I(4, 6, 3), 1", "I(4, 6, 3), 0, True", "T()", "T(4, 3).mT, 0", "T(0, 3), 1", out=True)
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Selected:
    """Return the most frequent values along a dimension, and their positions: `(values, indices)`.

    Of equally frequent values it is the smallest.  Raises IndexError for a dimension of size 0.
    """
    return return_types.mode(*choose(Mode, input, dim, keepdim, "mode"))


INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")
QUANTILES = ("T(7), 0.3", "T(3, 4), 0.5, 1", "T(3, 4).double(), torch.tensor([0.1, 0.9], dtype=torch.float64), 0, True",
             "T(), 0.5", "T(5, 2), 0.2, 0, interpolation='lower'", "T(6), 0.7, interpolation='nearest'",
             "T(6), 0.7, interpolation='midpoint'", "T(3, 4), 0.1, keepdim=True")  # fmt: skip


@op(*QUANTILES, out=True)
def quantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """Return the q-quantiles (0 <= q <= 1) of all elements or along a dimension; several q add a dimension in front.

    Between two elements `interpolation` decides: linear, lower, higher, midpoint, nearest.  NaN if an element is NaN.
    Raises RuntimeError for integers, empty tensors, and q out of range or of another dtype.

    >>> import minigrad
    >>> minigrad.quantile(minigrad.tensor([1., 2., 3., 4.]), 0.5)
    tensor(2.5000)
    """
    return quantiles(input, q, dim, keepdim, interpolation, False, "quantile")


@op(*QUANTILES, "torch.cat((T(2, 2), torch.full((2, 1), float('nan'))), 1), 0.5, 1", out=True)
def nanquantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """Return the q-quantiles of the elements that are not NaN, otherwise like `quantile`."""
    return quantiles(input, q, dim, keepdim, interpolation, True, "nanquantile")


def quantiles(input: Tensor, q: Any, dim: Any, keepdim: bool, interpolation: str, skip: bool, who: str) -> Tensor:
    """Sort, and interpolate between the two elements around rank q * (n - 1); with `skip`, n does not count NaN."""
    q = ranks(input, q, interpolation, who)
    d = None if dim is None else axis(dim, input.ndim, who)
    whole = d is None or not input.ndim
    x = (input.reshape(-1) if whole else input.movedim(d, -1)).sort(-1).values
    n, nan = x.shape[-1], x != x
    if skip:
        rank = q.reshape(-1) * (n - 1 - nan.sum(-1, True)).clamp(min=0).to(x.dtype)
    else:  # a NaN sorts last, and is the result of its row
        rank = where(nan[..., -1:], n - 1.0, q.reshape(-1) * (n - 1))
    found = between(x, rank, interpolation)
    if whole:
        return found.reshape((*q.shape, *[1] * (input.ndim if keepdim else 0)))
    found = found.movedim(-1, 0)
    found = found.unsqueeze(d + 1) if keepdim else found
    return found if q.ndim else found.squeeze(0)


def ranks(input: Tensor, q: Any, interpolation: str, who: str) -> Tensor:
    """Check the arguments of quantile, and return q as a tensor."""
    if input._np_dtype not in dtypes.FLOATS:
        raise error(RuntimeError, who, f"input tensor must be either float or double dtype, got {input.dtype.name}",
                    "convert it first: x.float()")  # fmt: skip
    if input.numel() == 0:
        what = f"input tensor must be non-empty, got shape {tuple(input.shape)}"
        raise error(RuntimeError, who, what, "check input.numel() > 0 first")
    if interpolation not in INTERPOLATIONS:
        what = f"interpolation must be one of {', '.join(INTERPOLATIONS)}, got {interpolation}"
        raise error(RuntimeError, who, what, "write interpolation='linear'")
    given = q if isinstance(q, Tensor) else wrap(placed(np.asarray(q, input._np_dtype), input.device))
    if given._np_dtype != input._np_dtype or given.ndim > 1:
        raise error(
            RuntimeError,
            who,
            f"q tensor must be same dtype as the input tensor and a scalar or 1D tensor, got {given.dtype.name} and "
            f"{input.dtype.name}, {given.ndim} dimensions",
            f"write q=minigrad.tensor([0.25, 0.75], dtype=minigrad.{input.dtype.name})",
        )
    if given._layer is None and has_numbers(given._a) and not ((given._a >= 0) & (given._a <= 1)).all():
        raise error(
            RuntimeError, who, f"q must be in the range [0, 1] but got {q}", "write q=0.95 for the 95th percentile"
        )
    return given


def between(x: Tensor, rank: Tensor, interpolation: str) -> Tensor:
    """Return the elements of sorted rows at fractional ranks."""
    if interpolation in ("lower", "higher", "nearest"):
        return at({"lower": rank.floor, "higher": rank.ceil, "nearest": rank.round}[interpolation](), x)
    low = rank.floor()
    weight = x.new_full(rank.shape, 0.5) if interpolation == "midpoint" else rank - low
    return at(low, x).lerp(at(rank.ceil(), x), weight)


def at(rank: Tensor, x: Tensor) -> Tensor:
    """Return the elements of rows at whole ranks."""
    return x.gather(-1, rank.to(dtypes.int64).expand((*x.shape[:-1], rank.shape[-1])))
