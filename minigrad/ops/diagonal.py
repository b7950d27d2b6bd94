"""Diagonals and triangles of matrices, along any two dimensions."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays.kinds import strided, zeros
from ..core.tensor import Tensor
from ..errors import error
from .base.families import Linear, View
from .base.layouts import row_major
from .base.registry import op
from .copy import Clone
from .dimensions import axis
from .index_places import WHOLE


class Diagonal(View):
    """A diagonal of the planes of two dimensions, as the last dimension: a view."""

    call = "x.diagonal(offset, i, j)"
    impl = lambda x, offset, i, j: diagonal_of(x, offset, i, j)
    dx = lambda g, shape, offset, i, j: Undiagonal.apply(g, shape, offset, i, j)
    batch = lambda x, offset, i, j: (x, offset, i + 1, j + 1)


class Undiagonal(Linear):
    """Zeros of a shape with a diagonal filled in: the transpose of Diagonal."""

    spelling = "embedded_diagonal"
    node = "DiagEmbed"

    @staticmethod
    def impl(x: np.ndarray, size: tuple, offset: int, i: int, j: int) -> np.ndarray:
        out = zeros(size, x)
        diagonal_of(out, offset, i, j)[...] = x
        return out

    dx = lambda g, offset, i, j: Diagonal.apply(g, offset, i, j)
    batch = lambda x, size, offset, i, j: (x, (x.shape[0], *size), offset, i + 1, j + 1)


class Tril(Linear):
    """The lower triangles of matrices, zeros above diagonal number `diagonal`."""

    call = "x.{name}(diagonal)"
    layout = row_major
    impl = lambda x, diagonal: triangle(x, diagonal, False)
    dx = lambda g, diagonal: Tril.apply(g, diagonal)
    batch = lambda x, diagonal: (x, diagonal)


class Triu(Linear):
    """The upper triangles of matrices, zeros below diagonal number `diagonal`."""

    call = "x.{name}(diagonal)"
    layout = row_major
    impl = lambda x, diagonal: triangle(x, diagonal, True)
    dx = lambda g, diagonal: Triu.apply(g, diagonal)
    batch = lambda x, diagonal: (x, diagonal)


def triangle(x: np.ndarray, diagonal: int, upper: bool) -> np.ndarray:
    """Return the upper or the lower triangles of matrices."""
    if type(x) is np.ndarray:
        out = np.zeros(x.shape, x.dtype)
        np.copyto(out, x, where=kept(*x.shape[-2:], diagonal, upper))  # a third to two thirds of NumPy's
        return out
    return (np.triu if upper else np.tril)(x, diagonal)


@lru_cache(16)
def kept(n: int, m: int, diagonal: int, upper: bool) -> np.ndarray:
    """Return True in one triangle of a matrix (n, m), including a diagonal."""
    below = np.tri(n, m, diagonal - upper, bool)
    return ~below if upper else below


def diagonal_of(x: np.ndarray, offset: int, i: int, j: int) -> np.ndarray:
    """Return the diagonal as a writable view (NumPy's is read-only)."""
    rows, columns = max(-offset, 0), max(offset, 0)
    n = max(min(x.shape[i] - rows, x.shape[j] - columns), 0)
    if offset:
        first = {i: slice(rows, None), j: slice(columns, None)}
        x = x[tuple([first.get(d, WHOLE) for d in range(x.ndim)])]
    others = [d for d in range(x.ndim) if d not in (i, j)]
    shape, steps = [x.shape[d] for d in others], [x.strides[d] for d in others]
    return strided(x, (*shape, n), (*steps, x.strides[i] + x.strides[j]))


@op("T(3, 4)", "T(3, 4), 1", "T(3, 4), -2", "T(2, 3, 4), 0, 0, 2", "T(2, 3, 4), 1, -1, 0", "T(2, 2), 5", "T(4, 3).mT")
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return the diagonal of the planes of two dimensions, as a view with it last; offset > 0 is above the main one."""
    i, j = plane("diagonal", input.ndim, dim1, dim2)
    return Diagonal.apply(input, int(offset), i, j)


@op("T(3)", "T(2, 3), 1", "T(3), -1", "T(2, 3), 0, 0, 2", "T(2, 3), -1, 2, 0", "T(0)")
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return zeros with the last dimension of `input` as the diagonal of the planes of two new dimensions."""
    i, j = plane("diag_embed", input.ndim + 1, dim1, dim2)
    n = input.shape[-1] + abs(int(offset))
    size = list(input.shape[:-1])
    for d in sorted((i, j)):
        size.insert(d, n)
    return Undiagonal.apply(input, tuple(size), int(offset), i, j)


def of_diag(input: Tensor, diagonal: int = 0) -> str:
    """Return PyTorch's node of diag; for a vector, the node already has its name."""
    return "" if input.ndim == 1 else "DiagonalBackward0_copy"


@op("T(3)", "T(3), 1", "T(3, 4)", "T(3, 4), -1", out=True, node=of_diag)
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return a matrix with a vector as its diagonal, or the diagonal of a matrix as a vector (a copy)."""
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        what = f"supports 1D or 2D tensors, got {input.ndim}D"
        raise error(RuntimeError, "diag", what, "write input.diagonal(), or minigrad.diag_embed(input)")
    return Clone.apply(Diagonal.apply(input, int(diagonal), 0, 1))


@op("T(2, 3)", "T(3), 1")
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Return a matrix with all elements as its diagonal."""
    return diag_embed(input.reshape(-1), offset)


@op("T(3, 3)", "T(2, 4)", "I(3, 3, 9)", "T(0, 2)", node="Trace")
def trace(input: Tensor) -> Tensor:
    """Return the sum of a matrix's main diagonal."""
    if input.ndim != 2:
        what = f"expected a matrix, but got tensor with dim {input.ndim}"
        fix = "write input.diagonal(dim1=-2, dim2=-1).sum(-1) for batches of matrices"
        raise error(RuntimeError, "trace", what, fix)
    return Diagonal.apply(input, 0, 0, 1).sum()


@op("T(3, 4)", "T(3, 4), 1", "T(2, 3, 3), -1", "T(4, 3).mT", "T(0, 3)", "B(3, 3)", inplace=True, out=True)
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the lower triangles of matrices: zeros above diagonal number `diagonal`."""
    return Tril.apply(matrices("tril", input), int(diagonal))


@op("T(3, 4)", "T(3, 4), 1", "T(2, 3, 3), -1", "T(4, 3).mT", "T(0, 3)", "I(3, 3, 9)", inplace=True, out=True)
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the upper triangles of matrices: zeros below diagonal number `diagonal`."""
    return Triu.apply(matrices("triu", input), int(diagonal))


def matrices(who: str, x: Tensor) -> Tensor:
    """Return x; raise RuntimeError for fewer than two dimensions."""
    if x.ndim < 2:
        what = f"input tensor must have at least 2 dimensions, got shape {tuple(x.shape)}"
        raise error(RuntimeError, who, what, "write minigrad.diag(x) for a vector")
    return x


def plane(who: str, n: int, dim1: int, dim2: int) -> tuple[int, int]:
    """Return two different dimensions, counted from the front."""
    i, j = axis(dim1, n, who), axis(dim2, n, who)
    if i == j:
        what = f"diagonal dimensions cannot be identical {dim1}, {dim2}"
        raise error(RuntimeError, who, what, "name two dimensions: dim1=-2, dim2=-1")
    return i, j


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write one value into the main diagonal; `wrap` continues it after each square of a tall matrix.

    Raises RuntimeError for fewer than 2 dimensions, and for more unless all have the same size.
    """
    n = self.ndim
    if n < 2 or n > 2 and len(set(self.shape)) != 1:
        what = f"needs a matrix, or a tensor with dimensions of equal size, got shape {tuple(self.shape)}"
        fix = "write self.diagonal(dim1=-2, dim2=-1).fill_(value) for batches of matrices"
        raise error(RuntimeError, "fill_diagonal_", what, fix)
    count, width = min(self.shape), self.shape[-1]
    at = [np.arange(count)] * n
    if wrap and n == 2 and self.shape[0] > width:
        rows = np.arange(self.shape[0])
        rows = rows[rows % (width + 1) < width]
        at = [rows, rows % (width + 1)]
    self[tuple(at)] = fill_value
    return self


METHODS = {"fill_diagonal_": fill_diagonal_}
