"""Gathering and scattering along a dimension by tensors of indices.

`gather` reads along one dimension, `Scatter` and `ScatterAdd` write; each is the transpose of the other, except at
repeated indices.  The public functions that write are in scattering.py, whole slices in slices.py.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays.dtypes import I8
from ..arrays.kinds import zeros
from ..arrays.shapes import apart, broadcast_shape
from ..core.tensor import Tensor
from ..errors import error
from ..kernels.cpu import index_cpu as kernels
from ..tensors.printing import error_notes
from .base.families import Linear
from .base.registry import op
from .dimensions import axis
from .index import Write, gradient_of_values
from .index_parts import check_real
from .index_places import add_at, take_at
from .shape import layout


class Gather(Linear):
    """out[i, j] = x[index[i, j], j], here along dimension 0."""

    call = "x.gather(dim, index)"
    integers = ("index",)
    quiet = True

    @staticmethod
    def impl(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
        if type(x) is np.ndarray and index.size < kernels.PLACES_FROM:  # in half of take_at's time
            return np.asarray(x[along(dim, index)], order="C")
        found = kernels.gather(x, dim, index)
        return take_at(x, tuple(range(x.ndim)), along(dim, index)) if found is None else found

    dx = lambda g, shape, dim, index: ScatterAdd.apply(g.new_zeros(shape), dim, index, g)
    batch = lambda x, dim, index: (x, dim + 1, index)

    @staticmethod
    def arrays(gs: tuple, bound: tuple) -> tuple:
        """Return the same on arrays, without a copy of the zeros."""
        return added_at(bound[0], bound[1], bound[2], gs[0]), None, None


class Scatter(Write):
    """x with out[index[i, j], j] = src[i, j], here along dimension 0."""

    call = "x.{name}(dim, index, src)"
    integers = ("index",)
    value, number_nodes = 3, {3: "ScatterBackward1"}

    @staticmethod
    def update(x: np.ndarray, dim: int, index: np.ndarray, src: Any) -> None:
        if not kernels.scatter(x, dim, index, src, "write"):
            x[along(dim, index)] = src

    dx = lambda g, dim, index: Scatter.apply(g, dim, index, 0)
    dsrc = lambda g, dim, index: gradient_of_values(
        g, lambda t: Gather.apply(t, dim, index), lambda t, order: Scatter.apply(t, dim, index, order)
    )
    batch = lambda x, dim, index, src: (x, dim + 1, index, src)


class ScatterAdd(Write):
    """x with out[index[i, j], j] += src[i, j], here along dimension 0."""

    lowering = "scatter"
    call = "x.{name}(dim, index, src)"
    integers = ("index",)
    value = 3

    @staticmethod
    def update(x: np.ndarray, dim: int, index: np.ndarray, src: Any) -> None:
        if not kernels.scatter(x, dim, index, src, "add"):
            add_at(x, src, tuple(range(x.ndim)), along(dim, index))

    dx = lambda g: g
    dsrc = lambda g, dim, index: Gather.apply(g, dim, index)
    batch = lambda x, dim, index, src: (x, dim + 1, index, src)


def added_at(shape: tuple, dim: int, index: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return zeros of a shape with g added at `index` along dim."""
    out = zeros(shape, g)
    ScatterAdd.update(out, dim, index, g)
    return out


def along(dim: int, index: np.ndarray) -> tuple:
    """Return NumPy's index: `index` itself at dimension `dim`, every position elsewhere."""
    found = (few_positions if index.size < kernels.PLACES_FROM else positions)(index.shape)
    return (*found[:dim], index, *found[dim + 1 :])


def positions(shape: tuple) -> tuple:
    """Return the positions in each dimension, as arrays that broadcast to the shape."""
    return tuple([np.arange(m).reshape((m,) + (1,) * (len(shape) - d - 1)) for d, m in enumerate(shape)])


few_positions = lru_cache(64)(positions)  # they take longer than reading at them


# ---------------------------------------------------------------------- one index per element
@op(
    "T(3, 4), 0, I(2, 4, 3)",
    "T(3, 4), -1, I(3, 6, 4)",
    "T(4, 3).mT, 1, I(2, 2, 4)",
    "T(3), 0, I(5, 3)",
    "T(), 0, I(3, 1)",
    "T(3, 4), 1, I(3, 0, 4)",
    "T(2, 3, 4), 1, I(1, 5, 4, 3)",
    out=True,
)
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Return the elements at `index` along `dim`, in index's shape: for dim=0, out[i, j] = input[index[i, j], j].

    Raises RuntimeError for indices out of range (negative ones are), or with another number of dimensions.

    >>> import minigrad
    >>> minigrad.gather(minigrad.tensor([[1, 2], [3, 4]]), 1, minigrad.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    if not index.numel() and index.ndim != input.ndim:  # an empty result of index's shape, whatever the input
        axis(dim, input.ndim, "gather")
        return input.reshape(-1)[:0].reshape(index.shape)
    scalar = index.ndim == 0
    x, d, index = checked_operands("gather", input, dim, index)
    out = Gather.apply(x, d, index)
    return out.reshape(()) if scalar else out


@op(
    "T(3, 4), torch.tensor([[1, 0, 2, 1]]), 0",
    "T(3, 4), I(3, 1, 4), 1",
    "T(12), I(5, 12)",
    "T(1, 4), I(3, 2, 4), 1",
    out=True,
)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Gather with `input` and `indices` broadcast in the other dimensions; flattened without `dim`.

    With `dim`, negative indices count from the end.
    """
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    shapes = (input._sizes, indices._sizes)
    if len(shapes[0]) != len(shapes[1]):
        raise error(
            RuntimeError,
            "take_along_dim",
            f"input and indices should have the same number of dimensions, but got {input.ndim} "
            f"dimensions for input, and {indices.ndim} dimensions for indices",
            "write indices.unsqueeze(d) for a missing dimension; the others are broadcast",
        )
    d = axis(dim, input.ndim, "take_along_dim")
    others = [(*s[:d], 1, *s[d + 1 :]) for s in shapes]
    try:
        size = broadcast_shape(*others)
    except ValueError:
        fix = f"give both the same sizes, or 1, except in dimension {d}"
        raise error(RuntimeError, "take_along_dim", f"apart from dimension {d}, {apart(others)}", fix) from None
    sizes = [(*size[:d], s[d], *size[d + 1 :]) for s in shapes]
    x, index = [t if t._sizes == size else t.expand(size) for t, size in zip((input, indices), sizes)]
    index = nonnegative_indices("take_along_dim", index, x._sizes[d], d)
    return Gather.apply(x, d, index) if size and index._np_dtype is I8 and index.numel() else gather(x, d, index)


def nonnegative_indices(who: str, index: Tensor, n: int, dim: int) -> Tensor:
    """Return indices of a dimension of size n with negative ones counted from its end; raise RuntimeError out of range."""
    if kernels.in_range(layout(index)[0], n):
        return index
    check_index(who, index, RuntimeError)
    check_range(who, index, n, dim, RuntimeError, -n)
    return index + n * (index < 0)


def checked_operands(who: str, x: Tensor, dim: int, index: Tensor, *src: Any) -> tuple:
    """Return (x, dim from the front, index, and src cut to index's shape), checked, with 0-d tensors as shape (1,)."""
    d, own, sizes = axis(dim, x.ndim, who), x._sizes, index._sizes
    for s in src:
        check_real(who, s, "src")
    if (
        all([not isinstance(s, Tensor) or s._sizes == sizes and s._np_dtype == x._np_dtype for s in src])
        and len(sizes) == len(own)
        and sizes[:d] == own[:d]
        and sizes[d + 1 :] == own[d + 1 :]
        and index._np_dtype is I8
        and index.numel()
        and own
    ):
        check_range(who, index, own[d], d, RuntimeError)
        return x, d, index, *src
    if index.numel():
        check_index(who, index, RuntimeError)
    elif index._np_dtype is not I8:  # any dtype will do for an empty index
        index = index.long()
    x, index, *src = [t.reshape(1) if isinstance(t, Tensor) and not t._sizes else t for t in (x, index, *src)]
    tensors, sizes = [("input", x), *[("src", s) for s in src if isinstance(s, Tensor)]], index._sizes
    for name, t in tensors:
        if len(sizes) != len(t._sizes):
            raise error(
                RuntimeError,
                who,
                f"index tensor must have the same number of dimensions as {name} tensor, got {index.ndim} and {t.ndim}",
                "write index.unsqueeze(-1): index has one entry per element of the result",
                notes=error_notes({name: t, "index": index}, marked=()),
            )
    for _, t in tensors:
        wrong = [e for e, (n, m) in enumerate(zip(sizes, t._sizes)) if n > m and (e != d or t is not x)]
        if wrong and index.numel():
            raise error(
                RuntimeError,
                who,
                f"size does not match at dimension {wrong[0]}: expected index {list(index.shape)} to be no larger than "
                f"{list(t.shape)}" + (f" apart from dimension {d}" if t is x else ""),
                f"write index[{', '.join([':' + str(m) if e in wrong else ':' for e, m in enumerate(t.shape)])}]",
                notes=error_notes(
                    {"input": x, "index": index, **({} if t is x else {"src": t})}, marked=[wrong[0] - x.ndim]
                ),
            )
    check_range(who, index, x._sizes[d], d, RuntimeError)
    if src and isinstance(src[0], Tensor):
        if src[0]._np_dtype != x._np_dtype:
            what = f"expected self.dtype to be equal to src.dtype, got {x.dtype} and {src[0].dtype}"
            raise error(RuntimeError, who, what, "write src.to(input.dtype)")
        if src[0]._sizes != sizes:
            src = [src[0][tuple([slice(n) for n in sizes])]]
    return x, d, index, *src


# ---------------------------------------------------------------------- checks
def check_index(who: str, index: Tensor, kind: type, dtypes: tuple = ("i8", "i4")) -> None:
    """Raise an error of the given kind for a tensor that cannot hold indices."""
    if index._np_dtype is not I8 and index._np_dtype.str[1:] not in dtypes:
        what = f"expected dtype {' or '.join('int' + str(8 * int(d[1])) for d in dtypes)} for index, got {index.dtype}"
        raise error(kind, who, what, "convert: index.long()")


def check_range(who: str, index: Tensor, n: int, dim: int, kind: type, low: int = 0) -> None:
    """Raise an error unless all indices are between `low` and n - 1."""
    a, _ = layout(index)
    if kernels.in_range(a, n):
        return
    if a.size and (a.min() < low or a.max() >= n):
        worst = int(a.min() if a.min() < low else a.max())
        what = f"index {worst} is out of bounds for dimension {dim} with size {n}"
        fix = f"use indices from {low} to {n - 1}" if n else "there is nothing to choose from: skip the empty tensor"
        raise error(kind, who, what, fix)
