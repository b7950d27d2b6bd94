"""Scattering along a dimension by tensors of indices: written, or reduced to a sum, mean, product or extreme."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS
from ..core.tensor import Tensor
from ..errors import error
from ..kernels.cpu import index_cpu as kernels
from .base.families import Operation
from .base.registry import check_fits, op
from .compare import where
from .copy import fitting
from .gather import Gather, Scatter, ScatterAdd, along, checked_operands
from .index import writes
from .scan import Shift, can_divide
from .slices import sliced
from .sort import ArgSort


class ScatterExtreme(Operation):
    """The largest, or smallest, of x and of all elements of `src` at the same index; equal ones share the gradient."""

    call = lambda largest: (
        f"x.scatter_reduce(dim, index, src, {'amax' if largest else 'amin'!r}, include_self=include_self)"
    )

    @staticmethod
    def impl(
        x: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray, largest: bool, include_self: bool
    ) -> np.ndarray:
        out = x.copy()
        ufunc = np.maximum if largest else np.minimum
        if not kernels.scatter(out, dim, index, src, ufunc.__name__):
            ufunc.at(out, along(dim, index), src)
        return out

    dx = lambda g, x, dim, index, src, include_self, out: where(
        x == out, share(g, x, dim, index, src, include_self, out), 0.0
    )
    dsrc = lambda g, x, dim, index, src, include_self, out: where(
        src == Gather.apply(out, dim, index),
        Gather.apply(share(g, x, dim, index, src, include_self, out), dim, index),
        0.0,
    )
    batch = lambda x, dim, index, src, *settings: (x, dim + 1, index, src, *settings)


class ScatterProd(Operation):
    """x times all elements of `src` at the same index.

    The derivative with respect to one factor is the product of the others, without a division.
    """

    call = 'x.scatter_reduce(dim, index, src, "prod")'

    @staticmethod
    def impl(x: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray) -> np.ndarray:
        out = x.copy()
        if not kernels.scatter(out, dim, index, src, "multiply"):
            np.multiply.at(out, along(dim, index), src)
        return out

    depends_on_operand = True
    dx = lambda g, x, dim, index, src: g * ScatterProd.apply(x.new_ones(x.shape), dim, index, src)
    dsrc = lambda g, x, dim, index, src: Gather.apply(g * x, dim, index) * others(dim, index, src)
    batch = lambda x, dim, index, src: (x, dim + 1, index, src)
    textbook = {
        "dsrc": lambda g, dim, index, src, out: Gather.apply(g * out, dim, index) / src,
        "when": lambda x, dim, index, src: can_divide(src),
    }


def share(g: Tensor, x: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool, out: Tensor) -> Tensor:
    """Return g divided by the number of extremes; where src is scattered, x counts only with `include_self`."""
    own = (x == out).to(g.dtype)
    own = own if include_self else Scatter.apply(own, dim, index, 0)
    return g / ScatterAdd.apply(own, dim, index, (src == Gather.apply(out, dim, index)).to(g.dtype))


def others(dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Return for each element of `src` the product of all others at the same index: those before it times those behind it."""
    order = ArgSort.apply(index, dim, False)
    places, rows = Gather.apply(index, dim, order), Gather.apply(src, dim, order)
    both = before(rows, places, dim, 1) * before(rows, places, dim, -1)
    return Gather.apply(both, dim, ArgSort.apply(order, dim, False))


def before(rows: Tensor, places: Tensor, dim: int, by: int) -> Tensor:
    """Return the product of the earlier elements at the same place, of rows sorted by place; of later ones for `by` -1.

    Each step doubles the number of factors (Hillis and Steele, "Data parallel algorithms", 1986).
    """
    near = lambda t, by: where(Shift.apply(places, dim, by, -1) == places, Shift.apply(t, dim, by, 1.0), 1.0)
    found = near(rows, by)
    while abs(by) < rows.shape[dim]:
        found, by = found * near(found, by), 2 * by
    return found


@writes(
    "T(3, 4), 0, torch.tensor([[2, 0, 1, 1]]), T(1, 4)",
    "T(3, 4), 1, torch.tensor([[3], [0], [1]]), 2.5",
    "T(3), 0, torch.tensor([2, 0]), T(2)",
    "T(3, 4), -1, torch.tensor([[0, 2]]), T(1, 2)",
    out=True,
)
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Any:
    """Write elements of `src`, or the number `value`, at `index` along `dim` of `input`.

    For dim=0 this is out[index[i, j], j] = src[i, j].  Of several elements with one index, one stays.
    `reduce` "add" or "multiply" combines them with the old value.  Raises RuntimeError for indices out of range.
    """
    src, writers = value if src is None else src, {None: Scatter, "add": ScatterAdd, "multiply": ScatterProd}
    if reduce not in writers:
        what = f"reduce argument must be either add or multiply, got {reduce!r}"
        raise error(RuntimeError, "scatter", what, "use scatter_reduce(dim, index, src, 'amax') for other reductions")
    if input._np_dtype.kind in "iu" and not isinstance(src, Tensor):
        src = fitting(src, input._np_dtype, "scatter").item()
    check_fits("scatter", input, src)
    if reduce is not None and not isinstance(src, Tensor):
        src = input.new_full(index.shape, src)
    return writers[reduce], checked_operands("scatter", input, dim, index, src)


@writes(
    "T(3, 4), 0, I(2, 4, 3), T(2, 4)",
    "T(3, 4), 1, I(3, 6, 4), T(3, 6)",
    "T(3), 0, I(5, 3), T(5)",
    "T(4, 3).mT, -1, I(1, 2, 4), T(1, 2)",
    "T(), 0, torch.tensor(0), T()",
    out=True,
)
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Any:
    """Add elements of `src` to `input` along `dim`; repeated indices add up.

    For dim=0 this is out[index[i, j], j] += src[i, j].
    """
    return ScatterAdd, checked_operands("scatter_add", input, dim, index, src)


@op(
    "T(3, 4), 0, I(2, 4, 3), T(2, 4), 'sum'",
    "T(3, 4), 0, I(2, 4, 3), T(2, 4), 'mean'",
    "T(3, 4), 1, I(3, 5, 4), T(3, 5), 'amax'",
    "T(3, 4), 1, I(3, 5, 4), T(3, 5), 'amin', include_self=False",
    "T(3, 4), 1, I(3, 5, 4), T(3, 5), 'prod'",
    "T(3), 0, I(5, 3), T(5), 'prod', include_self=False",
    "T(3), 0, I(5, 3), T(5), 'mean', include_self=False",
    inplace=True,
    out=True,
    node="ScatterReduce",
)
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Combine elements of `src` with `input` at the indices along `dim`.

    `reduce` is "sum", "prod", "mean", "amax" or "amin".  With include_self=False the old values do not
    take part.
    """
    x, d, index, src = checked_operands("scatter_reduce", input, dim, index, src)
    neutral = neutral_element(x, reduce)
    start = x if include_self else Scatter.apply(x, d, index, neutral)
    if reduce in ("amax", "amin"):
        out = ScatterExtreme.apply(start, d, index, src, reduce == "amax", include_self)
    elif reduce == "prod":
        out = ScatterProd.apply(start, d, index, src)
    else:
        out = ScatterAdd.apply(start, d, index, src)
        if reduce == "mean":
            ones = x.new_zeros(x.shape) + 1 if include_self else Scatter.apply(x.new_zeros(x.shape) + 1, d, index, 0)
            count = ScatterAdd.apply(ones, d, index, src.new_zeros(src.shape) + 1)
            out = out / count if x.is_floating_point() else out // count
    return out.reshape(input.shape)


@op("T(3, 4), 0, torch.tensor([2, 0]), T(2, 4), 'prod'", "T(3, 4), -1, I(5, 4), T(3, 5), 'amax'",
    "T(3, 4), 1, I(5, 4), T(3, 5), 'mean', include_self=False", "T(3), 0, I(4, 3), T(4), 'amin'",
    inplace=True, out=True, node="IndexReduce")  # fmt: skip
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Combine the slices of `source` with `input` at the indices along `dim`, by "prod", "mean", "amax" or "amin".

    With include_self=False the old values do not take part.
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        what = f"expected reduce to be one of prod, mean, amax or amin but got {reduce}"
        raise error(RuntimeError, "index_reduce", what, "write reduce='mean', or use index_add for sums")
    x, source, (d,), _, index = sliced("index_reduce", input, dim, index, source, False)[1]
    places = index.reshape(-1, *[1] * (x.ndim - 1 - d)).expand(source.shape)
    return scatter_reduce(x, d, places, source, reduce, include_self=include_self).reshape(input.shape)


def neutral_element(x: Tensor, reduce: str) -> Any:
    """Return the neutral element of a reduction."""
    if reduce not in ("sum", "mean", "prod", "amax", "amin"):
        what = f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce!r}"
        raise error(RuntimeError, "scatter_reduce", what, "write reduce='sum'")
    if reduce in ("sum", "mean", "prod"):
        return int(reduce == "prod")
    d = x._np_dtype
    lowest, highest = (
        (-np.inf, np.inf) if d in FLOATS else (False, True) if d.kind == "b" else (np.iinfo(d).min, np.iinfo(d).max)
    )
    return type(lowest)(lowest if reduce == "amax" else highest)
