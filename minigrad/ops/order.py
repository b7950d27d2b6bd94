"""Maxima and minima, and their positions.

The gradient follows one of two rules: a reduction (max(), amax, median()) shares it among all elements that equal the
result; a function that also returns the position (max(dim), median(dim), mode) gives it to that element alone.
Medians, modes and quantiles, which follow the same two rules, are in quantiles.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import return_types
from ..arrays import dtypes
from ..arrays.kinds import on_device
from ..core.tensor import Tensor
from ..errors import error
from ..kernels import pointwise_gradients
from ..kernels.cpu.reductions_cpu import REDUCE_FROM
from ..return_types import Extremes
from .base.families import NonDifferentiable, Operation, Reduce
from .base.layouts import row_major
from .base.registry import op
from .copy import To
from .dimensions import ALL, axes, axis
from .gather import ScatterAdd, added_at, along
from .pointwise import where
from .reduce import Sum, reduced


class Amax(Reduce):
    """The maximum over dimensions; of no elements, which only other operations ask for, it is -inf."""

    name_of_all = "max"
    keeps_elements = True
    lowering = "maximum"
    arrays = kernel_takes_half = quiet = True
    impl = lambda x, dims, keepdim: reduced("maximum", np.maximum, x, dims, keepdim, -np.inf)
    dx = lambda g, x, out, dims: shared(g, x == out, dims)


class Amin(Reduce):
    """The minimum over dimensions."""

    name_of_all = "min"
    keeps_elements = True
    arrays = kernel_takes_half = quiet = True
    impl = lambda x, dims, keepdim: reduced("minimum", np.minimum, x, dims, keepdim)
    dx = lambda g, x, out, dims: shared(g, x == out, dims)


class Whole(Reduce):
    """One element of the whole tensor; elements equal to it share the gradient, or if it is NaN the NaN elements do."""

    arrays = kernel_takes_half = quiet = True
    dx = lambda g, x, out, dims: evenly(g, (x == out) | ((x != x) & (out != out)), dims)


class MaxOfAll(Whole):
    """The maximum of all elements."""

    lowering = "maximum"
    node = "MaxBackward1"
    name = "max"
    impl = lambda x, dims, keepdim: element("maximum", np.maximum, np.ndarray.argmax, x, dims, keepdim)


class MinOfAll(Whole):
    """The minimum of all elements."""

    node = "MinBackward1"
    name = "min"
    impl = lambda x, dims, keepdim: element("minimum", np.minimum, np.ndarray.argmin, x, dims, keepdim)


def element(name: str, ufunc: np.ufunc, place: Callable, x: Any, dims: tuple, keepdim: bool) -> np.ndarray:
    """Return an extreme; of a small array by its place, which NumPy finds in a third of the time."""
    if type(x) is not np.ndarray or not 0 < x.size < REDUCE_FROM or x.itemsize == 2 or keepdim or len(dims) < x.ndim:
        return reduced(name, ufunc, x, dims, keepdim)
    return np.array(x.item(place(x)), x.dtype)


class Selection(Operation):
    """The element of each row along a dimension at the position that `place(x, dim)` finds: (values, indices)."""

    call = "x.{name}(dim, keepdim=keepdim)"
    layout = row_major
    place: Any = None

    @classmethod
    def impl(cls, x: np.ndarray, dim: int, keepdim: bool) -> tuple:
        index = cls.place(x, dim)
        found = x[along(dim, index)] if type(x) is np.ndarray else np.take_along_axis(x, index, dim)
        return (found, index) if keepdim else (found.squeeze(dim), index.squeeze(dim))

    @classmethod
    def signature(cls) -> Callable:
        return lambda x, dim, keepdim: None

    dx = lambda g0, out1, shape, dim, keepdim: (
        spread(g0, shape, dim, out1) if keepdim else spread(g0.unsqueeze(dim), shape, dim, out1.unsqueeze(dim))
    )
    batch = lambda x, dim, keepdim: (x, dim + 1, keepdim)

    @staticmethod
    def arrays(gs: tuple, bound: tuple) -> tuple:
        """Return the same on arrays, without a copy of the zeros; each line has one position, so nothing needs adding."""
        shape, dim, _, _, place = bound
        kept = (*shape[:dim], 1, *shape[dim + 1 :])
        g, place = gs[0].reshape(kept), place.reshape(kept)
        if on_device(g) or g.size >= pointwise_gradients.GRADIENTS_FROM:
            return added_at(shape, dim, place, g), None, None
        dx = np.zeros(shape, g.dtype)
        dx[along(dim, place)] = g
        return dx, None, None


class Max(Selection):
    """Maxima along a dimension, and the position of the first of each."""

    place = staticmethod(lambda x, dim: x.argmax(dim, keepdims=True))


class Min(Selection):
    """Minima along a dimension, and the position of the first of each."""

    place = staticmethod(lambda x, dim: x.argmin(dim, keepdims=True))


class Argmax(NonDifferentiable):
    """Position of the first maximum along a dimension."""

    call = "x.{name}(dim, keepdim=keepdim)"
    quiet = True
    impl = lambda x, dim, keepdim: x.argmax(dim, keepdims=keepdim)
    batch = Selection.batch


class Argmin(NonDifferentiable):
    """Position of the first minimum along a dimension."""

    call = "x.{name}(dim, keepdim=keepdim)"
    quiet = True
    impl = lambda x, dim, keepdim: x.argmin(dim, keepdims=keepdim)
    batch = Selection.batch


def spread(g: Tensor, shape: tuple, dim: int, places: Tensor) -> Tensor:
    """Return zeros of a shape with the elements of g added at their positions along a dimension."""
    return ScatterAdd.apply(g.new_zeros(shape), dim, places, g)


def tally(mask: Tensor, dims: tuple, like: Tensor) -> Tensor:
    """Count the true elements over dims, kept as size 1, in the dtype of `like`."""
    return To.apply(Sum.apply(To.apply(mask, dtypes.I8), dims, True), np.dtype(like.dtype))


def shared(g: Tensor, mask: Tensor, dims: tuple) -> Tensor:
    """Return g divided among the elements of the mask; as in PyTorch, NaN if the mask has none."""
    return where(mask, g, 0.0) / tally(mask, dims, g)


def evenly(g: Tensor, mask: Tensor, dims: tuple) -> Tensor:
    """Return the same, but 0 outside the mask for any g."""
    return where(mask, g / tally(mask, dims, g), 0.0)


def everything(cls: Any, input: Tensor, who: str) -> Tensor:
    """Reduce all elements; raise RuntimeError if there are none."""
    if 0 in input._sizes:
        shape = tuple(input.shape)
        raise error(RuntimeError, who, f"Expected reduction dim to be specified for input.numel() == 0, shape {shape}: "
                    "there is no element to choose", "pass the dimension: dim=")  # fmt: skip
    return cls.apply(input, ALL[len(input._sizes)], False)


def nonempty(input: Tensor, dims: Any, who: str) -> None:
    """Raise IndexError for a dimension of size 0, which has no element to choose."""
    sizes = input._sizes
    for d in dims if 0 in sizes else ():
        if sizes[d] == 0:
            shape = tuple(input.shape)
            what = f"Expected reduction dim {d} to have non-zero size, but the shape is {shape}"
            fix = "check input.numel() > 0 first, or name a dimension that is not empty: dim="
            raise error(IndexError, who, what, fix)


def choose(cls: Any, input: Tensor, dim: Any, keepdim: bool, who: str) -> Any:
    """Run a selection along a dimension as the user named it; a 0-d tensor has one element along it."""
    n = len(input._sizes)
    d = axis(dim, n, who)
    nonempty(input, (d,), who)
    if n:
        return cls.apply(input, d, keepdim)
    return cls.apply(input.reshape(1), 0, False)


REDUCED = ("T(3, 4)", "T(2, 3, 4), 1", "T(2, 3, 4), (0, -1), True", "T()", "I(3, 4, 3)", "B(3)", "T(4, 3).mT, 0",
           "T(0, 3), 1", "torch.cat((T(2), torch.ones(3, dtype=torch.float64) * 3)), 0")  # fmt: skip
CHOSEN = ("T(3, 4)", "T(2, 3, 4), 1", "T(2, 3, 4), -1, True", "T()", "T(), 0", "T(4, 3).mT, 0", "T(0, 3), 1",
          "T(3, 1), 1")  # fmt: skip


@op(*REDUCED, out=True)
def amax(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """Return the maximum of all elements, or over the dimensions `dim`; equal maxima share the gradient.

    Raises RuntimeError for an empty tensor without `dim`, IndexError for a dimension of size 0.
    """
    return extreme(Amax, input, dim, keepdim, "amax")


@op(*REDUCED, out=True)
def amin(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """Return the minimum of all elements, or over the dimensions `dim`; equal minima share the gradient.

    Raises RuntimeError for an empty tensor without `dim`, IndexError for a dimension of size 0.
    """
    return extreme(Amin, input, dim, keepdim, "amin")


def extreme(cls: Any, input: Tensor, dim: Any, keepdim: bool, who: str) -> Tensor:
    """Compute amax or amin."""
    if input.numel() == 0 and isinstance(dim, (tuple, list)) and not len(dim):
        return everything(cls, input, who)
    dims = axes(input, dim, who)
    nonempty(input, dims, who)
    return cls.apply(input, dims, keepdim)


@op(
    "T(3, 4)",
    "T(2, 3, 4), dim=1",
    "T(2, 3, 4), dim=-1, keepdim=True",
    "T()",
    "T(0, 3), dim=1",
    out=True,
    node="Aminmax",
)
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Extremes:
    """Return the minimum and the maximum, of all elements or along a dimension.

    >>> import minigrad
    >>> low, high = minigrad.aminmax(minigrad.tensor([3., 1., 2.]))
    >>> low, high
    (tensor(1.), tensor(3.))
    """
    dims = () if dim is None else axis(dim, input.ndim, "aminmax")
    low, high = (extreme(cls, input, dims, keepdim, "aminmax") for cls in (Amin, Amax))
    return return_types.aminmax(low, high)


@op(*CHOSEN, "T(3, 4), T(4)", "I(3, 4, 3), 1", "B(3, 2), 0", out=True)
def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """Return the maximum of all elements; with `dim` the maxima along it and their positions, `(values, indices)`.

    With another tensor, return the larger of each pair of elements.

    NaN counts as the largest.  Of several equal maxima `indices` has the first, which gets the gradient; without `dim` they
    share it evenly.  Raises RuntimeError for an empty tensor, IndexError for a dimension of size 0.

    >>> import minigrad
    >>> minigrad.max(minigrad.tensor([[1., 5.], [7., 2.]]), 1).values
    tensor([5., 7.])
    """
    other = dim if isinstance(dim, Tensor) else other
    if other is not None:
        return input.maximum(other)
    if dim is None:
        return everything(MaxOfAll, input, "max")
    return return_types.max(*choose(Max, input, dim, keepdim, "max"))


@op(*CHOSEN, "T(3, 4), T(4)", "I(3, 4, 3), 1", "B(3, 2), 0", out=True)
def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """Return the minimum of all elements; with `dim` the minima along it and their positions, `(values, indices)`.

    With another tensor, return the smaller of each pair of elements.  All else is as in `max`.
    """
    other = dim if isinstance(dim, Tensor) else other
    if other is not None:
        return input.minimum(other)
    if dim is None:
        return everything(MinOfAll, input, "min")
    return return_types.min(*choose(Min, input, dim, keepdim, "min"))


@op(*CHOSEN, "T(3, 4), None, True", "I(3, 4, 3), 1", differentiable=False, out=True)
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the position of the first maximum, in the flattened tensor or along a dimension, as int64.  NaN counts as it.

    Raises IndexError for an empty tensor or a dimension of size 0.
    """
    return place_of(Argmax, input, dim, keepdim, "argmax")


@op(*CHOSEN, "T(3, 4), None, True", "I(3, 4, 3), 1", differentiable=False, out=True)
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the position of the first minimum, in the flattened tensor or along a dimension, as int64.  NaN counts as it.

    Raises IndexError for an empty tensor or a dimension of size 0.
    """
    return place_of(Argmin, input, dim, keepdim, "argmin")


def place_of(cls: Any, input: Tensor, dim: int | None, keepdim: bool, who: str) -> Tensor:
    """Compute argmax or argmin."""
    if dim is not None:
        return choose(cls, input, dim, keepdim, who)
    if input.numel() == 0:
        what = f"Expected reduction dim to be specified for input.numel() == 0 (shape {tuple(input.shape)})"
        raise error(IndexError, who, what, "check input.numel() > 0 first, or name a dimension that is not empty: dim=")
    found = cls.apply(input.reshape(-1), 0, False)
    return found.reshape((1,) * input.ndim) if keepdim else found
