"""Joining and cutting: stack, cat, split and their kin.

Joining makes a new tensor (`Stack`, `Cat`); the gradient of each part is its region of the result's.  Cutting gives
views, each one an Index: split and unbind are tuples of single views.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import dtypes
from ..arrays.kinds import contiguous, on_device, to_device_of, zeros
from ..core.tensor import Tensor
from ..errors import error
from ..tensors.printing import error_notes
from .base.families import Operation
from .base.registry import op
from .broadcast import atleast_1d, atleast_2d, atleast_3d, tensors_from
from .dimensions import axis
from .index import Index
from .index_places import WHOLE
from .shape import reshape


class Join(Operation):
    """Linear in each of any number of tensors."""

    dimensions = "concatenation"
    quiet = True

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        return cls.apply(
            *[
                p if not isinstance(p, Tensor) else outs[0].new_zeros(p.shape) if t is None else t
                for p, t in zip(primals, tangents)
            ]
        )


class Stack(Join):
    """Tensors of equal shape, stacked along a new dimension."""

    lowering = "join_new"
    dimensions = "stack"
    call = "stack(xs, dim)"
    impl = lambda dim, *xs: joined(dim, [x[(*(WHOLE,) * dim, None)] for x in xs])  # half the time of np.stack
    dxs = lambda g, dim, index: Index.apply(g, (WHOLE,) * dim + (index,))
    arrays = True
    batch = lambda dim, *xs: (dim + 1, *xs)

    @classmethod
    def partial_text(cls, i: int) -> str:
        """Return the formula for one of the tensors, which follow the dimension in the arguments."""
        return f"unbind(g, dim)[{i - 1}]" if i > 0 else ""


class Cat(Join):
    """Tensors concatenated along a dimension; `starts` holds where each begins, and where the last ends."""

    lowering = "join"
    call = "cat(xs, dim)"
    impl = lambda dim, starts, *xs: joined(dim, xs)
    dxs = lambda g, dim, starts, index: Index.apply(g, (WHOLE,) * dim + (slice(starts[index], starts[index + 1]),))
    batch = lambda dim, starts, *xs: (dim + 1, starts, *xs)
    arrays = True

    @classmethod
    def partial_text(cls, i: int) -> str:
        """Return the formula for one of the tensors, which follow the dimension and the starts in the arguments."""
        return f"split(g, sizes, dim)[{i - 2}]" if i > 1 else ""


class BlockDiag(Join):
    """Matrices along the diagonal of one; `rows` and `columns` hold where each begins, and where the last ends."""

    dimensions = "blocks"
    call = "block_diag(*xs)"
    dxs = lambda g, rows, columns, index: Index.apply(g, block(g, rows, columns, index))
    arrays = True
    batch = lambda rows, columns, *xs: (rows, columns, *xs)

    @staticmethod
    def impl(rows: tuple, columns: tuple, *xs: np.ndarray) -> np.ndarray:
        place = next((x for x in xs if on_device(x)), xs[0])  # a later check reports two devices by name
        out = zeros((*place.shape[:-2], rows[-1], columns[-1]), place, dtypes.common(xs))
        for i, x in enumerate(xs):
            out[block(out, rows, columns, i)] = to_device_of(x, out)
        return out


def block(whole: Any, rows: tuple, columns: tuple, i: int) -> tuple:
    """Return the index of a matrix on the diagonal of another, or of a batch."""
    lead = (WHOLE,) * (whole.ndim - 2)
    return (*lead, slice(rows[i], rows[i + 1]), slice(columns[i], columns[i + 1]))


# ---------------------------------------------------------------------- joining
def joined(dim: int, xs: Sequence) -> np.ndarray:
    """Concatenate arrays along a dimension, in their common dtype."""
    if len({x.dtype for x in xs}) > 1 or () in [x.shape for x in xs]:
        return contiguous(np.concatenate(xs, dim, dtype=dtypes.common(xs), casting="unsafe"))
    return contiguous(np.concatenate(xs, dim))


@op(
    "(T(2, 3), T(2, 3)), 0",
    "(T(2, 3), T(2, 3), T(2, 3)), -1",
    "(T(), T())",
    "(T(4, 3).mT, T(3, 4)), 1",
    "(T(0, 2),), 0",
    method=False,
    out=True,
)
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Stack tensors of equal shape along a new dimension."""
    xs = tensor_tuple("stack", tensors)
    for i, x in enumerate(xs):
        if x._sizes != xs[0]._sizes:
            raise error(
                RuntimeError,
                "stack",
                f"stack expects each tensor to be equal size, but got {tuple(xs[0].shape)} at entry 0 and "
                f"{tuple(x.shape)} at entry {i}",
                "give all the same shape with nn.functional.pad, or use cat(tensors, dim) if they differ in one dimension",
                notes=error_notes({"entry 0": xs[0], f"entry {i}": x}),
            )
    return Stack.apply(axis(dim, xs[0].ndim + 1, "stack"), *xs)


@op(
    "(T(2, 3), T(1, 3))",
    "(T(2, 3), T(2, 1), T(2, 0)), -1",
    "(T(0), T(2, 3)), 1",
    "(T(3, 2).mT, T(4, 3)), 0",
    "(T(3), I(2, 5))",
    method=False,
    out=True,
    aliases=("concat", "concatenate"),
)
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Concatenate tensors along a dimension; in all others they have the same size.

    1-d tensors of size 0 are skipped.

    >>> import minigrad
    >>> minigrad.cat([minigrad.tensor([1, 2]), minigrad.tensor([3])])
    tensor([1, 2, 3])
    """
    xs = tensor_tuple("cat", tensors)
    sizes = [x._sizes for x in xs]
    if () in sizes:
        what = f"zero-dimensional tensor (at position {sizes.index(())}) cannot be concatenated"
        raise error(RuntimeError, "cat", what, "write stack(tensors)")
    like = xs[0] if sizes[0] != (0,) else next((x for x in xs if x._sizes != (0,)), xs[0])
    d = axis(dim, like.ndim, "cat")
    xs = xs if sizes.count(like._sizes) == len(sizes) else fitting(xs, like, d)
    return Cat.apply(d, tuple(itertools.accumulate([x._sizes[d] for x in xs], initial=0)), *xs)


def fitting(xs: tuple, like: Tensor, d: int) -> list:
    """Return tensors that differ in more than their sizes along d.  Raises RuntimeError unless only empty vectors do."""
    # an empty 1-d tensor counts as one of size 0 along the dimension, so that its gradient and dtype count
    hollow = (*like.shape[:d], 0, *like.shape[d + 1 :])
    parts = [reshape(x, hollow) if x._sizes == (0,) and like.ndim > 1 else x for x in xs]
    for i, x in enumerate(parts):
        if x.ndim != like.ndim:
            raise error(
                RuntimeError,
                "cat",
                f"tensors must have same number of dimensions: got {like.ndim} and {x.ndim}",
                "write x.unsqueeze(d) for the missing dimension, or stack(tensors) for a new one",
                notes=error_notes({"first": like, f"number {i}": x}, marked=()),
            )
        for e, (n, m) in enumerate(zip(like._sizes, x._sizes)):
            if n != m and e != d:
                raise error(
                    RuntimeError,
                    "cat",
                    f"sizes of tensors must match except in dimension {d}. Expected size {n} but got size {m} for "
                    f"tensor number {i} in the list, at dimension {e}",
                    f"write dim={e} to join them there, or give them one size: narrow, nn.functional.pad",
                    notes=error_notes({"first": like, f"number {i}": x}, marked=[e - like.ndim]),
                )
    return parts


@op("(T(2, 3), T(2, 1))", "(T(3), T())", method=False, out=True)
def hstack(tensors: Any) -> Tensor:
    """Join tensors horizontally: along the second dimension, or the only one."""
    xs = [atleast_1d(x) for x in tensor_tuple("hstack", tensors)]
    return cat(xs, 0 if xs[0].ndim == 1 else 1)


@op("(T(2, 3), T(3))", "(T(), T())", method=False, out=True, aliases=("row_stack",))
def vstack(tensors: Any) -> Tensor:
    """Join tensors vertically: along the first dimension, with vectors as rows."""
    return cat([atleast_2d(x) for x in tensor_tuple("vstack", tensors)], 0)


@op("(T(2, 3), T(2, 3))", "(T(3), T(3))", method=False, out=True)
def dstack(tensors: Any) -> Tensor:
    """Join tensors in depth: along the third dimension."""
    return cat([atleast_3d(x) for x in tensor_tuple("dstack", tensors)], 2)


@op("(T(3), T(3, 2))", "(T(), T())", method=False, out=True)
def column_stack(tensors: Any) -> Tensor:
    """Join tensors horizontally, with vectors as columns."""
    return cat([reshape(x, x.numel(), 1) if x.ndim < 2 else x for x in tensor_tuple("column_stack", tensors)], 1)


@op("T(2, 3), T(1, 2)", "T(3), T(), T(2, 2)", method=False)
def block_diag(*tensors: Any) -> Tensor:
    """Return a matrix with the given matrices along its diagonal and zeros elsewhere; vectors count as rows."""
    xs = [atleast_2d(x) for x in tensor_tuple("block_diag", tensors_from(tensors))]
    for i, x in enumerate(xs):
        if x.ndim != 2:
            what = f"tensors must have 2 or fewer dimensions, input {i} has {x.ndim}"
            raise error(RuntimeError, "block_diag", what, "write x.reshape(rows, columns)")
    rows, columns = (tuple(itertools.accumulate([x._sizes[d] for x in xs], initial=0)) for d in (0, 1))
    return BlockDiag.apply(rows, columns, *xs)


def tensor_tuple(who: str, tensors: Any) -> tuple:
    """Return at least one tensor as a tuple; raise an error for anything else."""
    if isinstance(tensors, Tensor):
        what = f"argument 'tensors' must be a list or tuple of tensors, not a Tensor (of shape {tuple(tensors.shape)})"
        raise error(TypeError, who, what, f"pass a list: minigrad.{who}([a, b])")
    xs = tuple(tensors)
    if not xs:
        what = "expected a non-empty list of tensors"
        fix = "append the tensors to the list first, and skip the call if it stays empty"
        raise error(ValueError if who == "cat" else RuntimeError, who, what, fix)
    for i, x in enumerate(xs):
        if not isinstance(x, Tensor):
            what = f"expected tensors, but element {i} is a {type(x).__name__}"
            raise error(TypeError, who, what, "pass a list of tensors, [a, b]; minigrad.tensor(...) converts numbers")
    return xs


# ---------------------------------------------------------------------- cutting
@op("T(3, 4), 0, 1", "T(3, 4), -1, -2", "T(4, 3).mT, 1, 0", "T(3), 0, 2")
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Return the slice at one index of a dimension, as a view without that dimension."""
    d, i = place_in(input, dim, index, "select")
    return Index.apply(input, (WHOLE,) * d + (i,))


def place_in(input: Tensor, dim: int, index: int, who: str) -> tuple[int, int]:
    """Return a dimension, counted from the front, and an index of it; raise IndexError if it is out of range."""
    if not input.ndim:
        what = f"{who}() cannot be applied to a 0-dim tensor."
        raise error(IndexError, who, what, "use the tensor itself, or .item() for its value")
    d, i = axis(dim, input.ndim, who), int(index)
    n = input.shape[d]
    if not -n <= i < n:
        what = f"index {i} out of range for tensor of size {list(input.shape)} at dimension {d}"
        fix = f"use an index from {-n} to {n - 1}" if n else "skip the call for an empty dimension"
        raise error(IndexError, who, what, fix)
    return d, i


@op("T(3, 4), 0, 1, 2", "T(3, 4), -1, -3, 2", "T(3, 4), 1, 4, 0")
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return `length` slices of a dimension from `start` on, as a view."""
    if not input.ndim:
        raise error(RuntimeError, "narrow", "narrow() cannot be applied to a 0-dim tensor.", "write input.unsqueeze(0)")
    if isinstance(start, Tensor) and (start.ndim or start._np_dtype.kind not in "iu"):
        what = f"start must be a 0-dim integral Tensor, got shape {tuple(start.shape)} and {start.dtype}"
        raise error(RuntimeError, "narrow", what, "pass an int")
    d, i, m = axis(dim, input.ndim, "narrow"), int(start), operator.index(length)
    if isinstance(start, float):
        raise error(TypeError, "narrow", f"argument 'start' must be int, not float: {start}", f"write start={i}")
    n = input.shape[d]
    if not -n <= i <= n:
        what = f"start out of range (expected to be in range of [{-n}, {n}], but got {i})"
        raise error(IndexError, "narrow", what, f"use a start from {-n} to {n}")
    i = i + n if i < 0 else i
    if m < 0 or i + m > n:
        what = f"start ({i}) + length ({m}) exceeds dimension size ({n})" if m >= 0 else f"length is negative: {m}"
        raise error(RuntimeError, "narrow", what, f"use a length from 0 to {n - i}")
    return part(input, d, i, i + m)


def part(x: Tensor, dim: int, start: int, stop: int) -> Tensor:
    """Return the slices from start to stop, as a view."""
    return Index.apply(x, (WHOLE,) * dim + (slice(start, stop),))


def parts(x: Tensor, dim: int, ends: Any) -> tuple:
    """Cut a dimension at the given ends, into views."""
    lead = (WHOLE,) * dim
    return tuple([Index.apply(x, (*lead, slice(a, b))) for a, b in itertools.pairwise([0, *ends])])


def split_node(
    tensor: Tensor, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None, **_: Any
) -> str:
    """Return PyTorch's node of split; for a list of sizes, the node already has its name."""
    size = split_size_or_sections if split_size is None else split_size
    return "Split" if isinstance(size, (int, np.integer)) else ""


@op("T(5, 2), 2", "T(2, 5), [1, 4], 1", "T(2, 5), 5, -1", "T(0, 2), 0", "T(4, 3).mT, 1", node=split_node)
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple:
    """Cut a dimension into parts of one size (the last may be smaller), or of the given sizes; return a tuple of views."""
    if not isinstance(split_size_or_sections, (int, np.integer)):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    d, m = axis(dim, tensor.ndim, "split"), int(split_size_or_sections)
    n = sizes_of("split", tensor)[d]
    if m < 0 or m == 0 and n:
        what = f"split_size can only be 0 if dimension size is 0, but got split_size {m} and dimension size of {n}"
        fix = f"write split(tensor, {max(n // 2, 1)}) for parts of that size, chunk(tensor, 2) for a number of parts"
        raise error(RuntimeError, "split", what, fix)
    room_for("split", n // max(m, 1))
    return parts(tensor, d, [min(end, n) for end in range(m, n + m, m)] if n else [0])


@op("T(2, 5), [1, 4], 1", "T(3), (0, 3)", node="SplitWithSizes")
def split_with_sizes(input: Tensor, split_sizes: Sequence, dim: int = 0) -> tuple:
    """Cut a dimension into parts of the given sizes, which must add up to its size; return a tuple of views."""
    d, sizes = axis(dim, input.ndim, "split"), [int(n) for n in split_sizes]
    n = sizes_of("split", input)[d]
    if sum(sizes) != n or min(sizes, default=0) < 0:
        raise error(
            RuntimeError,
            "split_with_sizes",
            f"expects split_sizes to sum exactly to {n} (input tensor's size at dimension {d}), but got "
            f"split_sizes={sizes}",
            f"write split_sizes={[*sizes[:-1], n - sum(sizes[:-1])]}"
            if sizes and 0 <= sum(sizes[:-1]) <= n and min(sizes) >= 0
            else f"write split_sizes=[{n}]",
        )
    return parts(input, d, itertools.accumulate(sizes))


@op("T(5, 2), 3", "T(2, 5), 2, -1", "T(3), 7", "T(0, 2), 3")
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple:
    """Cut a dimension into `chunks` parts of equal size, the last smaller, or into fewer; return a tuple of views."""
    if chunks <= 0:
        what = f"chunk expects `chunks` to be greater than 0, got: {chunks}"
        raise error(RuntimeError, "chunk", what, "write chunks=1 for one part")
    n = sizes_of("chunk", input)[axis(dim, input.ndim, "chunk")]
    room_for("chunk", min(chunks, n) if n else chunks)
    return split(input, -(-n // chunks), dim) if n else split_with_sizes(input, [0] * chunks, dim)


@op("T(7, 2), 3", "T(2, 7), (1, 4), 1", "T(2, 3), (2, 1), -1", "T(2), 3")
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple:
    """Cut a dimension into a number of nearly equal parts, or at the given indices; return a tuple of views."""
    d = axis(dim, input.ndim, "tensor_split")
    n = sizes_of("tensor_split", input)[d]
    cuts = indices_or_sections.tolist() if isinstance(indices_or_sections, Tensor) else indices_or_sections
    if isinstance(cuts, int):
        if cuts <= 0:
            what = f"number of sections must be larger than 0, got {cuts}"
            raise error(RuntimeError, "tensor_split", what, "write tensor_split(input, 2)")
        room_for("tensor_split", cuts)
        small, larger = divmod(n, cuts)
        return parts(input, d, itertools.accumulate([small + (i < larger) for i in range(cuts)]))
    starts = [0, *cuts]
    return tuple([part(input, d, a, b) for a, b in zip(starts, [*cuts, n])])


@op("T(3, 2)", "T(2, 3), -1", "T(3)", node="Unbind")
def unbind(input: Tensor, dim: int = 0) -> tuple:
    """Return all slices along a dimension, without it, as a tuple of views."""
    d = axis(dim, input.ndim, "unbind")
    n, lead = sizes_of("unbind", input)[d], (WHOLE,) * d
    room_for("unbind", n)
    return tuple([Index.apply(input, (*lead, i)) for i in range(n)])


MOST_PARTS = 1 << 24  # tensors in a tuple, which take a minute to make
PART = 500  # approximate size in bytes of a tensor without its elements


def room_for(who: str, n: int, things: str = "tensors") -> None:
    """Raise OutOfMemoryError for more tensors than any computer holds, before making the first."""
    if n > MOST_PARTS:
        what = f"not enough memory: {n} {things} take about {n * PART} bytes without their elements"
        raise error(MemoryError, who, what, f"make {MOST_PARTS} {things} at most")


def sizes_of(who: str, x: Tensor) -> tuple:
    """Return the shape of the tensor to cut; raise an error for a 0-d tensor."""
    if not x.ndim:
        kind = IndexError if who == "unbind" else RuntimeError
        raise error(kind, who, f"{who} expects at least a 1-dimensional tensor", "write x.unsqueeze(0)")
    return x._sizes
