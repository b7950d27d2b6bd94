"""Gathering and scattering along a dimension by tensors of indices.

`gather` reads along one dimension, `scatter` and its kin write; each is the transpose of the other, up to what happens to
repeated places.  `index_select`, `index_add` and their kin take whole slices: they are Take and Put of index.py.  A form
with a trailing underscore differs from its function only in how the result is kept: `run` makes a new tensor, `inplace`
writes into self.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.inplace import inplace
from ..core.tensor import Tensor
from ..errors import error
from . import registry
from .families import Linear, Operation
from .index import Put, Take, Write, add_at, fitting, is_mask, where_true
from .reduce import axis
from .registry import op
from .shape import layout


class Gather(Linear):
    """out[i, j] = x[index[i, j], j], here along dimension 0."""

    impl = lambda x, dim, index: x[along(dim, index)]
    dx = lambda g, shape, dim, index: ScatterAdd.apply(g.new_zeros(shape), dim, index, g)
    batch = lambda x, dim, index: (x, dim + 1, index)


class Scatter(Write):
    """x with out[index[i, j], j] = src[i, j], here along dimension 0."""

    value = 3

    @staticmethod
    def update(x: np.ndarray, dim: int, index: np.ndarray, src: Any) -> None:
        x[along(dim, index)] = src

    dx = lambda g, dim, index: Scatter.apply(g, dim, index, 0)
    dsrc = lambda g, dim, index: Gather.apply(g, dim, index)
    batch = lambda x, dim, index, src: (x, dim + 1, index, src)


class ScatterAdd(Write):
    """x with out[index[i, j], j] += src[i, j], here along dimension 0."""

    value = 3

    @staticmethod
    def update(x: np.ndarray, dim: int, index: np.ndarray, src: Any) -> None:
        add_at(x, src, tuple(range(x.ndim)), along(dim, index))

    dx = lambda g: g
    dsrc = lambda g, dim, index: Gather.apply(g, dim, index)
    batch = lambda x, dim, index, src: (x, dim + 1, index, src)


class ScatterExtreme(Operation):
    """The largest, or smallest, of x and of all that `src` brings to the same place; equal ones share the gradient."""

    @staticmethod
    def impl(x: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray, largest: bool) -> np.ndarray:
        out = x.copy()
        (np.maximum if largest else np.minimum).at(out, along(dim, index), src)
        return out

    dx = lambda g, x, dim, index, src, out: share(g, x, dim, index, src, out) * (x == out)
    dsrc = lambda g, x, dim, index, src, out: Gather.apply(share(g, x, dim, index, src, out), dim, index) * (src == Gather.apply(out, dim, index))
    batch = lambda x, dim, index, src, largest: (x, dim + 1, index, src, largest)


class ScatterProd(Operation):
    """x times all that `src` brings to the same place.

    The derivative by one factor is the product of the others.  Zeros are left out of the quotients and counted instead, as
    PyTorch does (scatter_reduce in its derivatives.yaml).
    """

    @staticmethod
    def impl(x: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray) -> np.ndarray:
        out = x.copy()
        np.multiply.at(out, along(dim, index), src)
        return out

    dx = lambda g, x, dim, index, src: g * ScatterProd.apply(x.masked_fill(x == 0, 1.0), dim, index, src) / x.masked_fill(x == 0, 1.0)
    dsrc = lambda g, x, dim, index, src, out: others(g, x, dim, index, src, out)
    batch = lambda x, dim, index, src: (x, dim + 1, index, src)


def share(g: Tensor, x: Tensor, dim: int, index: Tensor, src: Tensor, out: Tensor) -> Tensor:
    """g divided by the number of those that are the extreme."""
    return g / ScatterAdd.apply((x == out).to(g.dtype), dim, index, (src == Gather.apply(out, dim, index)).to(g.dtype))


def others(g: Tensor, x: Tensor, dim: int, index: Tensor, src: Tensor, out: Tensor) -> Tensor:
    """g times the product of all factors but one's own."""
    zero = src == 0
    zeros = Gather.apply(ScatterAdd.apply(g.new_zeros(g.shape), dim, index, zero.to(g.dtype)), dim, index)
    single = zero & (zeros == 1)
    rest = ScatterProd.apply(x, dim, index, src.masked_fill(single, 1.0))
    usual = Gather.apply(g * out, dim, index) / src.masked_fill(zero, 1.0)
    return usual.masked_fill(single, 0.0) + Gather.apply(g * rest, dim, index).masked_fill(single == 0, 0.0)


def along(dim: int, index: np.ndarray) -> tuple:
    """NumPy's index of the places: `index` itself at dimension `dim`, every position elsewhere."""
    n = index.ndim
    return tuple([index if d == dim else np.arange(m).reshape((m,) + (1,) * (n - d - 1)) for d, m in enumerate(index.shape)])


def run(cls: Any, x: Tensor, *args: Any) -> Tensor:
    """The operation's result as a new tensor; with the same arguments `inplace` writes it into x."""
    return cls.apply(x, *args)


# ---------------------------------------------------------------------- one index per element
@op("T(3, 4), 0, I(2, 4, 3)", "T(3, 4), -1, I(3, 6, 4)", "T(4, 3).mT, 1, I(2, 2, 4)", "T(3), 0, I(5, 3)", "T(), 0, I(3, 1)",
    "T(3, 4), 1, I(3, 0, 4)", "T(2, 3, 4), 1, I(1, 5, 4, 3)", out=True)  # fmt: skip
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """The elements at `index` along `dim`, of index's shape: for dim=0, out[i, j] = input[index[i, j], j].

    Raises RuntimeError for indices out of range (negative ones are), or of another number of dimensions.

    >>> import minigrad
    >>> minigrad.gather(minigrad.tensor([[1, 2], [3, 4]]), 1, minigrad.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    scalar = index.ndim == 0
    x, d, index = lined_up("gather", input, dim, index)
    out = Gather.apply(x, d, index)
    return out.reshape(()) if scalar else out


@op("T(3, 4), torch.tensor([[1, 0, 2, 1]]), 0", "T(3, 4), I(3, 1, 4), 1", "T(12), I(5, 12)", "T(1, 4), I(3, 2, 4), 1", out=True)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """As `gather`, but `input` and `indices` are broadcast to each other in the other dimensions; flattened without `dim`."""
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    if input.ndim != indices.ndim:
        raise error(RuntimeError, "take_along_dim", f"input and indices should have the same number of dimensions, but got {input.ndim} "
                    f"dimensions for input, and {indices.ndim} dimensions for indices")
    d = axis(dim, input.ndim, "take_along_dim")
    size = list(np.broadcast_shapes(*[(*s[:d], 1, *s[d + 1 :]) for s in (tuple(input.shape), tuple(indices.shape))]))
    sizes = [size[:d] + [t.shape[d]] + size[d + 1 :] for t in (input, indices)]
    return gather(input.expand(sizes[0]), d, indices.expand(sizes[1]))


@op("T(3, 4), 0, torch.tensor([[2, 0, 1, 1]]), T(1, 4)", "T(3, 4), 1, torch.tensor([[3], [0], [1]]), 2.5", "T(3), 0, torch.tensor([2, 0]), T(2)",
    "T(3, 4), -1, torch.tensor([[0, 2]]), T(1, 2)", out=True)  # fmt: skip
def scatter(input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Tensor:
    """`input` with elements of `src` (or the number `value`) written along `dim`: for dim=0, out[index[i, j], j] = src[i, j].

    Where several meet, one of them stays.  `reduce` "add" or "multiply" combines them with what is there.  Raises
    RuntimeError for indices out of range.
    """
    return scattered(run, input, dim, index, value if src is None else src, reduce)


def scatter_(self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Tensor:
    """In-place form of scatter."""
    scattered(inplace, self, dim, index, value if src is None else src, reduce)
    return self


def scattered(do: Any, input: Tensor, dim: int, index: Tensor, src: Any, reduce: str | None) -> Tensor:
    """What the two forms of scatter do."""
    if reduce is None:
        return do(Scatter, *lined_up("scatter", input, dim, index, src))
    if reduce not in ("add", "multiply"):
        raise error(RuntimeError, "scatter", f"reduce argument must be either add or multiply, got {reduce!r}", "or use scatter_reduce")
    if not isinstance(src, Tensor):
        src = input.new_full(index.shape, src)
    return do(ScatterAdd if reduce == "add" else ScatterProd, *lined_up("scatter", input, dim, index, src))


@op("T(3, 4), 0, I(2, 4, 3), T(2, 4)", "T(3, 4), 1, I(3, 6, 4), T(3, 6)", "T(3), 0, I(5, 3), T(5)", "T(4, 3).mT, -1, I(1, 2, 4), T(1, 2)", out=True)
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """`input` with elements of `src` added along `dim`: for dim=0, out[index[i, j], j] += src[i, j]; repeated places add up."""
    return ScatterAdd.apply(*lined_up("scatter_add", input, dim, index, src))


def scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """In-place form of scatter_add."""
    inplace(ScatterAdd, *lined_up("scatter_add_", self, dim, index, src))
    return self


@op("T(3, 4), 0, I(2, 4, 3), T(2, 4), 'sum'", "T(3, 4), 0, I(2, 4, 3), T(2, 4), 'mean'", "T(3, 4), 1, I(3, 5, 4), T(3, 5), 'amax'",
    "T(3, 4), 1, I(3, 5, 4), T(3, 5), 'amin', include_self=False", "T(3, 4), 1, I(3, 5, 4), T(3, 5), 'prod'",
    "T(3), 0, I(5, 3), T(5), 'prod', include_self=False", "T(3), 0, I(5, 3), T(5), 'mean', include_self=False", out=True)  # fmt: skip
def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """`input` with elements of `src` combined at the places along `dim`, by reduce: "sum", "prod", "mean", "amax", "amin".

    With include_self=False what is at these places does not take part.
    """
    x, d, index, src = lined_up("scatter_reduce", input, dim, index, src)
    neutral = neutral_element(x, reduce)
    start = x if include_self else Scatter.apply(x, d, index, neutral)
    if reduce in ("amax", "amin"):
        out = ScatterExtreme.apply(start, d, index, src, reduce == "amax")
    elif reduce == "prod":
        out = ScatterProd.apply(start, d, index, src)
    else:
        out = ScatterAdd.apply(start, d, index, src)
        if reduce == "mean":
            ones = x.new_zeros(x.shape) + 1 if include_self else Scatter.apply(x.new_zeros(x.shape) + 1, d, index, 0)
            count = ScatterAdd.apply(ones, d, index, src.new_zeros(src.shape) + 1)
            out = out / count if x.is_floating_point() else out // count
    return out.reshape(input.shape)


def scatter_reduce_(self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """In-place form of scatter_reduce."""
    return self.copy_(scatter_reduce(self.clone(), dim, index, src, reduce, include_self=include_self))


def neutral_element(x: Tensor, reduce: str) -> Any:
    """What changes nothing when it takes part."""
    if reduce not in ("sum", "mean", "prod", "amax", "amin"):
        raise error(RuntimeError, "scatter_reduce", f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce!r}")
    if reduce in ("sum", "mean", "prod"):
        return int(reduce == "prod")
    d = x._np_dtype
    lowest, highest = (-np.inf, np.inf) if d.kind == "f" else (False, True) if d.kind == "b" else (np.iinfo(d).min, np.iinfo(d).max)
    return type(lowest)(lowest if reduce == "amax" else highest)


def lined_up(who: str, x: Tensor, dim: int, index: Tensor, *src: Any) -> tuple:
    """(x, dim from the front, index, and src cut to index's shape), 0-d tensors as ones of shape (1,), all of it checked."""
    d = axis(dim, x.ndim, who)
    check_index(who, index, RuntimeError)
    x, index, *src = [t.reshape(1) if isinstance(t, Tensor) and t.ndim == 0 else t for t in (x, index, *src)]
    if index.ndim != x.ndim:
        raise error(RuntimeError, who, f"index tensor must have the same number of dimensions as input tensor, got {index.ndim} and {x.ndim}")
    for t in (x, *src):
        wrong = [e for e, n in enumerate(index.shape) if isinstance(t, Tensor) and n > t.shape[e] and (e != d or t is not x)]
        if wrong and index.numel():
            raise error(RuntimeError, who, f"size does not match at dimension {wrong[0]}: expected index {list(index.shape)} to be no larger than "
                        f"{list(t.shape)}" + (f" apart from dimension {d}" if t is x else ""))
    check_range(who, index, x.shape[d], d, RuntimeError)
    if src and isinstance(src[0], Tensor):
        if src[0]._np_dtype != x._np_dtype:
            raise error(RuntimeError, who, f"expected self.dtype to be equal to src.dtype, got {x.dtype} and {src[0].dtype}", "convert src")
        if src[0].shape != index.shape:
            src = [src[0][tuple([slice(n) for n in index.shape])]]
    return x, d, index, *src


# ---------------------------------------------------------------------- one index per slice
@op("T(3, 4), 0, I(5, 3)", "T(3, 4), -1, I(2, 4)", "T(4, 3).mT, 1, torch.tensor([0, 0])", "T(3), 0, torch.tensor(1)", "T(3, 4), 0, I(0, 3)", out=True)
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of `input` at the indices along `dim`, as a copy.  Raises IndexError for indices out of range."""
    x, d, index = slices("index_select", input, dim, index, IndexError)
    return Take.apply(x, (d,), index if input.ndim else index.reshape(()))


@op("T(3, 4), 0, I(5, 3), T(5, 4)", "T(3, 4), 1, I(2, 4), T(3, 2), alpha=2", "T(3), 0, I(4, 3), T(4)", out=True)
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """`input` with alpha times the slices of `source` added at the indices along `dim`; repeated indices add up."""
    return sliced(run, "index_add", input, dim, index, source if alpha == 1 else source * alpha, True)


def index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """In-place form of index_add."""
    sliced(inplace, "index_add_", self, dim, index, source if alpha == 1 else source * alpha, True)
    return self


@op("T(3, 4), 0, torch.tensor([2, 0]), T(2, 4)", "T(3, 4), 1, torch.tensor([3]), T(3, 1)", out=True)
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """`input` with the slices of `source` written at the indices along `dim`."""
    return sliced(run, "index_copy", input, dim, index, source, False)


def index_copy_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """In-place form of index_copy."""
    sliced(inplace, "index_copy_", self, dim, index, source, False)
    return self


@op("T(3, 4), 0, torch.tensor([2, 0]), 1.5", "T(3, 4), 1, torch.tensor([3, 0]), T()")
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """`input` with one value, a number or a 0-d tensor, at the indices along `dim`."""
    return filled(run, input, dim, index, value)


def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """In-place form of index_fill."""
    filled(inplace, self, dim, index, value)
    return self


@op("T(6), I(2, 3, 6)", "T(2, 3), torch.tensor([0, -1, 5])", "T(4, 3).mT, I(2, 12)", "T(3), torch.tensor(2)", out=True)
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at `index` as if `input` had one dimension, in the shape of `index`."""
    check_index("take", index, RuntimeError, ("i8",))
    return Take.apply(input.reshape(-1), (0,), index)


@op("T(3, 4), (I(5, 3), I(5, 4)), T(5), True", "T(3, 4), (torch.tensor([2, 0]),), T(4)", "T(3, 4), (torch.tensor([[0], [2]]), torch.tensor([1, 2])), T(2)",
    "T(3, 4), (torch.tensor([True, False, True]),), T(2, 4)")  # fmt: skip
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """`input` with input[indices] = values; with `accumulate` added, where repeated places add up."""
    return placed(run, input, indices, values, accumulate)


def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """In-place form of index_put."""
    placed(inplace, self, indices, values, accumulate)
    return self


def slices(who: str, x: Tensor, dim: int, index: Tensor, kind: type, low: int = 0) -> tuple:
    """(x, dim from the front, index of one dimension), 0-d tensors as ones of shape (1,), all of it checked."""
    d = axis(dim, x.ndim, who)
    check_index(who, index, IndexError)
    if index.ndim > 1:
        raise error(IndexError, who, f"index is supposed to be a vector, got shape {tuple(index.shape)}")
    x, index = [t.reshape(1) if t.ndim == 0 else t for t in (x, index)]
    check_range(who, index, x.shape[d], d, kind, low)
    return x, d, index


def sliced(do: Any, who: str, x: Tensor, dim: int, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
    """What both forms of index_add and index_copy do."""
    x, d, index = slices(who, x, dim, index, RuntimeError if accumulate else IndexError)
    source = source.reshape(1) if source.ndim == 0 else source
    size = (*x.shape[:d], index.numel(), *x.shape[d + 1 :])
    if tuple(source.shape) != size:
        kind = RuntimeError if accumulate or source.ndim == x.ndim else IndexError
        raise error(kind, who, f"the source should have shape {size}, one slice for each of the {index.numel()} indices, got {tuple(source.shape)}")
    if source._np_dtype != x._np_dtype:
        raise error(RuntimeError, who, f"self ({x.dtype}) and source ({source.dtype}) must have the same dtype", "convert the source")
    return do(Put, x, source, (d,), accumulate, index)


def filled(do: Any, x: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """What both forms of index_fill do."""
    n = x.shape[axis(dim, x.ndim, "index_fill")] if x.ndim else 1
    x, d, index = slices("index_fill", x, dim, index, IndexError, -n)
    if isinstance(value, Tensor):
        if value.ndim:
            raise error(RuntimeError, "index_fill", f"only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)")
        value = value.to(x.dtype).expand((*x.shape[:d], index.numel(), *x.shape[d + 1 :]))
    return do(Put, x, value, (d,), False, index)


def placed(do: Any, x: Tensor, indices: Any, values: Tensor, accumulate: bool) -> Tensor:
    """What both forms of index_put do."""
    dims, found, d = [], [], 0
    for i in indices:
        columns = () if i is None else where_true(i) if is_mask(i) else (i,)
        dims += range(d, d + len(columns))
        found += columns
        d += len(columns) or 1
    if d > x.ndim:
        raise error(IndexError, "index_put", f"too many indices for tensor of dimension {x.ndim} (got {d})")
    return do(Put, x, fitting(x, values, tuple(dims), tuple(found)), tuple(dims), accumulate, *found)


# ---------------------------------------------------------------------- checks
def check_index(who: str, index: Tensor, kind: type, dtypes: tuple = ("i8", "i4")) -> None:
    """Whether a tensor can hold indices."""
    if index._np_dtype.str[1:] not in dtypes:
        raise error(kind, who, f"expected dtype {' or '.join('int' + str(8 * int(d[1])) for d in dtypes)} for index, got {index.dtype}",
                    "convert: index.long()")


def check_range(who: str, index: Tensor, n: int, dim: int, kind: type, low: int = 0) -> None:
    """Whether all indices lie between `low` and n - 1."""
    a, _ = layout(index)
    if a.size and (a.min() < low or a.max() >= n):
        worst = a.min() if a.min() < low else a.max()
        raise error(kind, who, f"index {worst} is out of bounds for dimension {dim} with size {n}")


METHODS = {f.__name__: f for f in (scatter_, scatter_add_, scatter_reduce_, index_add_, index_copy_, index_fill_, index_put_)}
registry.CODES.update({f.__code__: name for name, f in METHODS.items()})
