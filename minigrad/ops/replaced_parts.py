"""A tensor with one of its views replaced: select_scatter, slice_scatter, diagonal_scatter."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.shapes import sketch
from ..core.tensor import Tensor
from ..errors import error
from ..layers.batching import front
from .base.registry import op
from .copy import written
from .diagonal import Diagonal, plane
from .dimensions import axis
from .index import Index, Write
from .index_places import WHOLE
from .join import place_in


class Replace(Write):
    """x with its view `fn(x, *args)` replaced by value, which has the view's shape."""

    spelling = "replaced_part"
    lowering = "replace_part"

    @staticmethod
    def update(x: np.ndarray, value: Any, fn: Any, *args: Any) -> None:
        fn.impl(x, *args)[...] = written(value, x)

    dx = lambda g, fn, args: Replace.apply(g, 0, fn, *args)
    dvalue = lambda g, fn, args: fn.apply(g, *args)

    def vmap(info: Any, in_dims: tuple, x: Tensor, value: Any, fn: Any, *args: Any) -> tuple:
        """Take the view of the whole batch."""
        x, value = (front(t, d, info.batch_size) for t, d in zip((x, value), in_dims))
        return Replace.apply(x, value, fn, *fn.batch(x, *args)[1:]), 0


def replace(who: str, x: Tensor, src: Tensor, fn: Any, *args: Any) -> Tensor:
    """Return x with a view replaced by src, which must have the view's shape."""
    size = tuple(fn.apply(x, *args).shape)
    if tuple(src.shape) != size:
        raise error(
            RuntimeError,
            who,
            f"expected src to have a size equal to the part of input, {size}, got {tuple(src.shape)}",
            f"pass a src of that shape: src.expand({', '.join(map(str, size))}) repeats a smaller one",
            notes=[sketch({"part": size, "src": tuple(src.shape)})],
        )
    return Replace.apply(x, src.to(x.dtype), fn, *args)


@op("T(3, 4), T(3), 1, 2", "T(2, 3, 4), T(2, 4), -2, -1", "T(4, 3).mT, T(4), 0, 0", node="SelectScatter")
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """Return a copy of `input` with its slice at one index of a dimension replaced by `src`.

    Raises RuntimeError if `src` does not have the slice's shape, IndexError for an index out of range.

    >>> import minigrad
    >>> minigrad.select_scatter(minigrad.zeros(2, 2), minigrad.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    d, i = place_in(input, dim, index, "select_scatter")
    return replace("select_scatter", input, src, Index, (*(WHOLE,) * d, i))


@op(
    "T(5, 3), T(2, 3), 0, 1, 3",
    "T(3, 4), T(3, 2), 1, None, None, 2",
    "T(4, 3).mT, T(3, 1), -1, -1",
    "T(3, 4), T(0, 4), 0, 3",
    node="SliceScatter",
)
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """Return a copy of `input` with its slice from `start` to `end` along a dimension replaced by `src`.

    Raises RuntimeError if `src` does not have the slice's shape, and for a step below 1, IndexError for an
    input without dimensions.

    >>> import minigrad
    >>> minigrad.slice_scatter(minigrad.zeros(4), minigrad.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.])
    """
    d = axis(dim, input.ndim, "slice_scatter")
    if not input.ndim:
        what = "slice() cannot be applied to a 0-dim tensor: input has no dimensions"
        raise error(IndexError, "slice_scatter", what, "pass input.reshape(1)")
    if step < 1:
        what = f"step must be greater than zero, got {step}"
        raise error(RuntimeError, "slice_scatter", what, "write src.flip(dim) and a step above 0")
    return replace("slice_scatter", input, src, Index, (*(WHOLE,) * d, slice(start, end, step)))


@op("T(3, 3), T(3)", "T(3, 4), T(2), -1", "T(2, 3, 4), T(3, 2), 1, 0, 2", node="DiagonalScatter")
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return a copy of `input` with a diagonal of two dimensions replaced by `src`.

    Raises RuntimeError if `src` does not have the diagonal's shape.

    >>> import minigrad
    >>> minigrad.diagonal_scatter(minigrad.zeros(2, 2), minigrad.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    i, j = plane("diagonal_scatter", input.ndim, dim1, dim2)
    return replace("diagonal_scatter", input, src, Diagonal, int(offset), i, j)
