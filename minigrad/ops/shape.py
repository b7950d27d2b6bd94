"""Shapes: views that rearrange dimensions without copying, and the functions built on them.

Three views do nearly everything: Reshape (the same elements in the same order), Permute (another order of dimensions)
and Expand (repetition without memory).  Parts of a tensor are views too, by Index in index.py; diagonals and windows
have separate files (diagonal.py, windows.py), joining and cutting is in join.py, broadcasting to a common shape in
broadcast.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np

from ..arrays import dtypes
from ..arrays.kinds import strided
from ..core.backward import sum_to
from ..core.tensor import Tensor
from ..errors import error
from ..layers.batching import lift
from ..tensors.printing import error_notes
from .base.families import View
from .base.registry import op
from .copy import Alias, Contiguous
from .dimensions import axes, axis
from .public_functions import named_code


class Reshape(View):
    """The same elements in the same order under another shape, without copying."""

    spelling = "new_shape"
    lowering = "regroup"
    dimensions = "regrouped"
    arrays = True
    node = "View"
    impl = lambda x, size: x.reshape(size, copy=False)
    dx = lambda g, shape: g.reshape(shape)
    batch = lambda x, size: (x, (x.shape[0], *size))

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        """Reshape the tangent, whose memory layout may differ from its primal's and not allow the view."""
        return reshape(tangents[0], primals[1])


class Unsqueeze(Reshape):
    """A dimension of size 1 added: a Reshape with another name in PyTorch's graph, like the next two."""

    node = "Unsqueeze"


class Squeeze(Reshape):
    """All dimensions of size 1 removed."""

    node = "Squeeze"


class SqueezeDims(Reshape):
    """Some dimensions of size 1 removed."""

    name, node = "squeeze", "SqueezeBackward1"


class Permute(View):
    """Dimensions in another order."""

    spelling = "permutation"
    lowering = "reorder"
    impl = lambda x, order: x.transpose(order)
    dx = lambda g, order: Permute.apply(g, inverse_permutation(order))
    arrays = True
    batch = lambda x, order: (x, (0, *[i + 1 for i in order]))


class Transpose(Permute):
    """Two dimensions swapped: a Permute with another name in PyTorch's graph."""


class T(Permute):
    """A matrix transposed by t()."""


class Expand(View):
    """Dimensions of size 1, and new ones in front, repeated without copying."""

    spelling = "expansion"
    lowering = "repeat"
    dimensions = "repeated"
    impl = lambda x, size: strided(x, size, strides_of(x.strides, x.shape, size))
    dx = lambda g, shape: sum_to(g, shape)
    arrays = True

    @staticmethod
    def batch(x: Any, size: tuple) -> tuple:
        """Put new dimensions behind the batch dimension."""
        return lift(x, 0, len(size)), (x.shape[0], *size)


class ViewDtype(View):
    """The same bytes as elements of another dtype."""

    differentiable = False
    impl = lambda x, dtype: x.view(dtype)
    batch = lambda x, dtype: (x, dtype)


def inverse_permutation(order: tuple) -> tuple:
    """Return the inverse permutation of dimensions."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


@lru_cache(1024)
def strides_of(strides: tuple, shape: tuple, size: tuple) -> tuple:
    """Return the strides of an array of this shape that is expanded to a size: 0 where it repeats."""
    lead = len(size) - len(shape)
    return (0,) * lead + tuple([s if n == m else 0 for s, n, m in zip(strides, shape, size[lead:], strict=True)])


def shape_from(args: tuple) -> tuple:
    """Return the shape of `f(2, 3)` or `f((2, 3))`."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = tuple(args[0])
    return tuple(map(index, args))


@lru_cache(1024)
def filled(old: tuple, shape: tuple) -> tuple | None:
    """Return a shape for the elements of another with its -1 replaced by the computed size; None if that cannot be."""
    n, known = math.prod(old), math.prod(shape)
    if -1 in shape and shape.count(-1) == 1 and known < 0 and n % known == 0:
        return tuple([n // -known if s == -1 else s for s in shape])
    return shape if known == n and min(shape, default=0) >= 0 else None


def inferred(input: Tensor, shape: tuple, who: str) -> tuple:
    """Return the shape with its -1 replaced by the computed size."""
    if (found := filled(input._sizes, shape)) is not None:
        return found
    n = math.prod(input._sizes)
    if shape.count(-1) > 1:
        what = f"only one dimension can be inferred, but shape {shape} has {shape.count(-1)} of -1"
        raise error(RuntimeError, who, what, "keep one -1 and write the other sizes as numbers")
    if -1 in shape and math.prod(shape) == n == 0:
        what = f"cannot reshape a tensor of 0 elements into shape {shape}: the -1 could be any size"
        raise error(RuntimeError, who, what, "write all its sizes as numbers")
    what = f"shape {shape} is invalid for input of size {n} (shape {tuple(input.shape)})"
    raise error(RuntimeError, who, what, f"choose sizes whose product is {n}; one of them may be -1, to be computed")


@op("T(2, 6), (3, 4)", "T(2, 6), (-1,)", "T(4, 3).mT, (2, 6)", "T(), (1, 1)", "T(0, 3), (3, 0)")
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """Return the same elements in row-major order under another shape: a view if the memory allows it, else a copy.

    One size may be -1, to be computed.  Raises RuntimeError if the number of elements does not fit.

    >>> import minigrad
    >>> minigrad.arange(6).reshape(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    size = inferred(input, shape_from(shape), "reshape")
    return Reshape.apply(input, size) if viewable(input, size) else unshared(input, size)


def unshared(input: Tensor, size: tuple) -> Tensor:
    """Return a copy under another shape; it is no view, because no other tensor shares the copy."""
    out = Reshape.apply(Contiguous.apply(input), size)
    out._view = None
    return out


@op(  # under vmap some memory layouts do not allow it
    "T(2, 6), (3, 4)",
    "T(2, 6), -1",
    "T(2, 1, 3).mT, (2, 3)",
    "T(), (1, 1)",
    "T(0, 3), (3, 0)",
    torch="Tensor.view",
    vmap=False,
)
def view(input: Tensor, *size: Any, dtype: Any = None) -> Tensor:
    """Return the same memory under another shape, or by `view(dtype)` as elements of another dtype.

    Raises RuntimeError if the memory does not allow it; `reshape` copies then.
    """
    if dtype is not None or len(size) == 1 and not isinstance(size[0], (int, tuple, list, Tensor)):
        return view_as_dtype(input, size[0] if dtype is None else dtype)
    shape = inferred(input, shape_from(size), "view")
    if not viewable(input, shape):
        raise error(
            RuntimeError,
            "view",
            f"view size {shape} is not compatible with the memory of a tensor of shape {tuple(input.shape)}: "
            "at least one dimension spans two subspaces that do not follow each other",
            "use .reshape(...), which copies if needed",
        )
    return Reshape.apply(input, shape)


def view_as_dtype(input: Tensor, dtype: Any) -> Tensor:
    """Return the bytes as elements of another dtype."""
    target = dtypes.numpy_dtype(dtype)
    if target == input._np_dtype:
        return Alias.apply(input)
    if target.itemsize != input.itemsize and (
        not input.shape or input.stride(-1) != 1 or input.shape[-1] * input.itemsize % target.itemsize
    ):
        raise error(
            RuntimeError,
            "view",
            f"a tensor of shape {tuple(input.shape)} and {input.dtype} cannot be viewed as {dtypes.of_numpy(target)}: its "
            f"last dimension must be contiguous and hold a multiple of {target.itemsize} bytes",
            "use .to(dtype), which converts the values",
        )
    return ViewDtype.apply(input, target)


def layout(t: Tensor) -> tuple:
    """Return the innermost array, with the batch dimensions of running vmaps in front, and their number."""
    if t._layer is None:
        return t._a, 0
    a, lead = layout(t._value)
    if len(t._sizes) == len(t._value._sizes):
        return a, lead
    return np.moveaxis(a, lead + t._extra, lead) if t._extra else a, lead + 1


def viewable(input: Tensor, size: tuple) -> bool:
    """Return True if the memory of `input` can be viewed under shape `size` without copying."""
    a, lead = layout(input)
    if a.flags.c_contiguous:
        return True
    try:
        a.reshape(a.shape[:lead] + size, copy=False)
    except ValueError:
        return False
    return True


@op("T(2, 3, 4)", "T(2, 3, 4), 1", "T(2, 3, 4), 0, -2", "T(4, 3).mT", "T()", "T(0, 3)")
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge the dimensions from `start_dim` to `end_dim`; a 0-d tensor gets shape (1,)."""
    shape = input._sizes or (1,)
    first, last = axis(start_dim, len(shape), "flatten"), axis(end_dim, len(shape), "flatten")
    if first > last:
        raise error(RuntimeError, "flatten", f"start_dim {start_dim} comes after end_dim {end_dim}", "swap them")
    size = (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])
    return input if size == input._sizes else reshape(input, size)


@op("T(2, 3)", "T(4, 3).mT", "T()")
def ravel(input: Tensor) -> Tensor:
    """Return all elements in one dimension, contiguous: a view if the memory allows it, else a copy."""
    return reshape(input, -1).contiguous()


@op("T(2, 6), 1, (2, 3)", "T(2, 6), -1, (-1, 3)", "T(0, 3), 0, (2, 0)")
def unflatten(input: Tensor, dim: int, sizes: Sequence) -> Tensor:
    """Split one dimension into several of the given sizes, one of which may be -1."""
    d, shape, sizes = axis(dim, input.ndim, "unflatten"), tuple(input.shape), tuple(sizes)
    known = math.prod([s for s in sizes if s != -1])
    if sizes.count(-1) > 1 or (known != shape[d] if -1 not in sizes else known == 0 or shape[d] % known):
        what = f"sizes {sizes} don't multiply up to the size of dimension {dim}, which is {shape[d]}"
        raise error(RuntimeError, "unflatten", what, f"choose sizes whose product is {shape[d]}; one of them may be -1")
    sizes = tuple([shape[d] // known if s == -1 else s for s in sizes])
    return view(input, (*shape[:d], *sizes, *shape[d + 1 :]))


@op("T(2, 3), 0", "T(2, 3), -1", "T(2, 3), 1", "T(), 0", "T(4, 3).mT, 1")
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Add a dimension of size 1 at position `dim`, as a view."""
    d = axis(dim, input.ndim + 1, "unsqueeze")
    sizes = input._sizes
    return Unsqueeze.apply(input, (*sizes[:d], 1, *sizes[d:]))


@op("T(1, 3, 1)", "T(1, 3, 1), 0", "T(1, 3, 1), (0, -1)", "T(1, 3, 1), 1", "T()", "T(1, 0)")
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Remove dimensions of size 1, all or those in `dim`, as a view; dimensions of other sizes stay."""
    if dim is None:
        out = tuple(range(input.ndim))
    else:
        out = () if isinstance(dim, (tuple, list)) and not len(dim) else axes(input, dim, "squeeze")
    size = tuple([n for d, n in enumerate(input._sizes) if n != 1 or d not in out])
    return (Squeeze if dim is None else SqueezeDims).apply(input, size)


# ---------------------------------------------------------------------- the order of dimensions
@op("T(2, 3, 4), (2, 0, 1)", "T(2, 3), (-1, 0)", "T(), ()")
def permute(input: Tensor, *dims: Any) -> Tensor:
    """Return the dimensions in the given order, as a view."""
    n, order = input.ndim, shape_from(dims)
    if len(order) != n:
        raise error(
            RuntimeError,
            "permute",
            f"the number of dimensions in the tensor input, {n}, does not match the length of the desired "
            f"order {order}, {len(order)}",
            "name every dimension once",
        )
    order = tuple([axis(d, n, "permute") for d in order])
    if len(set(order)) != n:
        what = f"duplicate dims are not allowed, got {shape_from(dims)}"
        raise error(RuntimeError, "permute", what, "name every dimension once")
    return Permute.apply(input, order)


@op("T(2, 3, 4), 0, 2", "T(2, 3), -1, 0", "T(), 0, 0", aliases=("swapaxes", "swapdims"))
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions, as a view."""
    i, j = axis(dim0, input.ndim, "transpose"), axis(dim1, input.ndim, "transpose")
    order = list(range(input.ndim))
    if order:
        order[i], order[j] = j, i
    return Transpose.apply(input, tuple(order))


@op("T(2, 3, 4), 0, -1", "T(2, 3, 4), (0, 1), (1, 0)", "T(2, 3, 4), (2,), (0,)", "T(), 0, 0", aliases=("moveaxis",))
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Move the dimensions `source` to the positions `destination`; the others keep their order.  A view."""
    n = input.ndim
    sources, places = [d if isinstance(d, (tuple, list)) else (d,) for d in (source, destination)]
    if len(sources) != len(places):
        what = f"source {sources} and destination {places} should have the same number of dims"
        raise error(RuntimeError, "movedim", what, "write movedim((0, 1), (2, 3)): one position for each dimension")
    sources, places = [[axis(d, n, "movedim") for d in ds] for ds in (sources, places)]
    if len(set(sources)) != len(sources) or len(set(places)) != len(places):
        what = f"repeated dim in source {sources} or destination {places}"
        raise error(RuntimeError, "movedim", what, "name every dimension once")
    order = [d for d in range(n) if d not in sources]
    for place, d in sorted(zip(places, sources)):
        order.insert(place, d)
    return Permute.apply(input, tuple(order[:n]))


@op("T(2, 3)", "T(3)", "T()")
def t(input: Tensor) -> Tensor:
    """Transpose a matrix; tensors of fewer dimensions stay unchanged.  A view."""
    if input.ndim > 2:
        what = f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D"
        raise error(RuntimeError, "t", what, "use .mT or transpose(d0, d1)")
    return T.apply(input, tuple(range(input.ndim))[::-1])


def reverse(self: Tensor) -> Tensor:
    """`.T`: all dimensions in reverse order, as a view."""
    return Permute.apply(self, tuple(range(self.ndim))[::-1])


def matrix_transpose(self: Tensor) -> Tensor:
    """`.mT`: the last two dimensions swapped, as a view."""
    if self.ndim == 1:
        what = "tensor.mT is only supported on matrices or batches of matrices, got a 1-D tensor"
        raise error(RuntimeError, "mT", what, "write x.unsqueeze(-1) for a column, x.unsqueeze(0) for a row")
    return transpose(self, -2, -1) if self.ndim else self


@op("T(2, 3, 4)", torch="adjoint")
def adjoint(input: Tensor) -> Tensor:
    """Swap the last two dimensions (minigrad has no complex numbers to conjugate)."""
    return matrix_transpose(input)


# ---------------------------------------------------------------------- repetition
@op("T(3, 1), (3, 4)", "T(3), (2, -1)", "T(), (2,)", "T(1, 3), 2, 3", "T(1, 3), (0, 3)", torch="Tensor.expand")
def expand(input: Tensor, *size: Any) -> Tensor:
    """Repeat dimensions of size 1 to the given size, and add new ones in front, without copying; -1 keeps a size."""
    size, old = shape_from(size), input._sizes
    lead = len(size) - len(old)
    if lead < 0 or min(size[:lead], default=0) < 0 or min(size, default=0) < -1:
        raise error(
            RuntimeError,
            "expand",
            f"cannot expand shape {old} to {size}: the new shape needs at least {len(old)} dimensions, "
            "and new ones cannot be -1",
            f"write x.expand(new, {', '.join(['-1'] * len(old))}) for new dimensions in front, x.sum(dim) for fewer",
        )
    new = size if -1 not in size else (*size[:lead], *[m if n == -1 else n for n, m in zip(size[lead:], old)])
    for d, (n, m) in enumerate(zip(new[lead:], old, strict=True)):
        if m != n and m != 1:
            raise error(
                RuntimeError,
                "expand",
                f"the expanded size ({n}) must match the existing size ({m}) at dimension {d} of shape {old}: "
                "only size 1 repeats",
                "write input.unsqueeze(d) first for a new dimension to repeat, or input.repeat(...) for copies",
                notes=error_notes({"input": input}, {"input": old, "size": new}, [d - len(old)]),
            )
    return Expand.apply(input, new)


METHODS = {"T": property(reverse)} | dict.fromkeys(("mT", "H", "mH"), property(matrix_transpose))
named_code(reverse.__code__, "permute")
