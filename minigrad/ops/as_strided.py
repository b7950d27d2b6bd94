"""Views whose elements overlap: sliding windows (`unfold`) and views by strides (`as_strided`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays.kinds import laid_out, on_device, strided, zeros
from ..arrays.memory import begin, storage
from ..core.tensor import Tensor, wrap
from ..errors import error
from .base.families import Linear, View
from .base.registry import op
from .dimensions import axis
from .index import Index, Take, Untake
from .index_places import WHOLE
from .join import cat
from .shape import layout


class Unfold(View):
    """Windows of a dimension, `step` apart, with their elements last: a view."""

    call = "x.unfold(dim, size, step)"
    impl = lambda x, dim, size, step: windows_of(x, dim, size, step)
    dx = lambda g, shape, dim, size, step: Fold.apply(g, shape, dim, size, step)
    batch = lambda x, dim, size, step: (x, dim + 1, size, step)


class Fold(Linear):
    """Windows added up where they overlap: the transpose of Unfold."""

    @staticmethod
    def impl(x: np.ndarray, shape: tuple, dim: int, size: int, step: int) -> np.ndarray:
        out = zeros(shape, x)
        n = x.shape[dim]
        for k in range(size):  # element k of all windows at once: no two of them overlap
            np.moveaxis(out, dim, 0)[k : k + (n - 1) * step + 1 : step] += np.moveaxis(x[..., k], dim, 0)
        return out

    dx = lambda g, dim, size, step: Unfold.apply(g, dim, size, step)
    batch = lambda x, shape, dim, size, step: (x, (x.shape[0], *shape), dim + 1, size, step)

    @staticmethod
    def definition(x: Tensor, shape: tuple, dim: int, size: int, step: int) -> Tensor:
        """Add the windows at the positions they were taken from."""
        places = np.arange(x.shape[dim])[:, None] * step + np.arange(size)
        found = x.movedim(-1, dim + 1).flatten(dim, dim + 1)
        return x.new_zeros(shape).index_add(dim, wrap(places.reshape(-1)), found)


class AsStrided(View):
    """A view of x's memory by sizes and strides; `offset` counts from x's first element.

    The first `lead` dimensions are batches, which keep their strides; `steps` are x's strides without them.
    """

    call = lambda offset: f"x.as_strided(size, stride, {offset or None})"

    @staticmethod
    def impl(x: np.ndarray, size: tuple, stride: tuple, offset: int, steps: tuple, lead: int) -> np.ndarray:
        if any(n > 1 and s != m * x.itemsize for n, s, m in zip(x.shape[lead:], x.strides[lead:], steps)):
            what = f"the strides of its base, {steps}, have changed"
            fix = "use it on contiguous tensors, or write to the base by an index"
            raise error(RuntimeError, "as_strided", what, fix)
        whole = storage(x)
        start = begin(x, whole) + offset * x.itemsize
        shape, strides = (*x.shape[:lead], *size), (*x.strides[:lead], *[s * x.itemsize for s in stride])
        return laid_out(memory_of(whole), shape, x.dtype, start if 0 not in size else 0, strides)

    dx = lambda g, shape, size, stride, offset, steps, lead: spread(g, tuple(shape), size, stride, offset, steps, lead)
    batch = lambda x, size, stride, offset, steps, lead: (x, size, stride, offset, steps, lead + 1)

    @staticmethod
    def arrays(gs: tuple, bound: tuple) -> tuple | None:
        """Return zeros with g at the view's elements, if all of them are distinct elements of x; else None."""
        (g,), (shape, size, stride, offset, steps, lead, _) = gs, bound
        last = offset + sum([(n - 1) * s for n, s in zip(size, stride)])
        inside = 0 not in size and offset >= 0 and last < math.prod(shape)
        if (
            lead
            or on_device(g)
            or not inside
            or not row_by_row(shape, steps)
            or not has_distinct_elements(size, stride)
        ):
            return None
        out = zeros(shape, g)
        strided(out.reshape(-1)[offset:], size, tuple([s * g.itemsize for s in stride]))[...] = g
        return (out,)

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        t, (_, size, stride, offset, steps, lead) = tangents[0], primals
        index = sources(tuple(t.shape)[lead:], size, stride, offset, steps)
        a, inner = layout(t)
        same = tuple([s // a.itemsize for s in a.strides[lead + inner :]]) == steps
        if same and (index < math.prod(t.shape[lead:])).all():  # a tangent laid out like x: take a view of it
            return cls.apply(*[t, *primals[1:]])
        padded = cat([t.reshape((*t.shape[:lead], -1)), t.new_zeros((*t.shape[:lead], 1))], lead)
        return Take.apply(padded, (lead,), wrap(index))


def spread(g: Tensor, shape: tuple, size: tuple, stride: tuple, offset: int, steps: tuple, lead: int) -> Tensor:
    """Add each element of g to the element of x at its memory address; drop addresses outside x."""
    n = math.prod(shape[lead:])
    index = wrap(sources(shape[lead:], size, stride, offset, steps))
    flat = Untake.apply(g, (*shape[:lead], n + 1), (lead,), index)
    return Index.apply(flat, (WHOLE,) * lead + (slice(0, n),)).reshape(shape)


def sources(shape: tuple, size: tuple, stride: tuple, offset: int, steps: tuple) -> np.ndarray:
    """Return for each element of the strided view, in row-major order, its index among x's elements; x's size if outside."""
    n, theirs = math.prod(shape), memory_places(size, stride) + offset
    if not n or not theirs.size:
        return np.full(theirs.shape, n)
    if row_by_row(shape, steps):
        return np.where((theirs >= 0) & (theirs < n), theirs, n)
    ours = memory_places(shape, steps).reshape(-1)
    low, high = min(ours.min(), theirs.min()), max(ours.max(), theirs.max())
    owner = np.full(high - low + 1, n)
    owner[ours - low] = np.arange(n)
    return owner[theirs - low]


def row_by_row(shape: tuple, steps: tuple) -> bool:
    """Return True if elements with these strides are in row-major order."""
    return all([m == 1 or step == math.prod(shape[d + 1 :]) for d, (m, step) in enumerate(zip(shape, steps))])


def has_distinct_elements(size: tuple, stride: tuple) -> bool:
    """Return True if all elements of a strided view are distinct: each stride exceeds the reach of the shorter ones."""
    reach = 0
    for s, n in sorted(zip(stride, size)):
        if n > 1 and s <= reach:
            return False
        reach += (n - 1) * s
    return True


def memory_of(whole: np.ndarray) -> np.ndarray:
    """Return an array's whole memory as a plain row of bytes."""
    return strided(whole, (whole.size,), (whole.itemsize,)).view(np.uint8)


def memory_places(size: tuple, stride: tuple) -> np.ndarray:
    """Return the distance of each element from the first, in elements."""
    places = np.zeros((), np.int64)
    for n, s in zip(size, stride):
        places = places[..., None] + np.arange(n) * s
    return places


def windows_of(x: np.ndarray, dim: int, size: int, step: int) -> np.ndarray:
    """Return the windows as a writable view."""
    n = (x.shape[dim] - size) // step + 1
    shape, strides = list(x.shape), list(x.strides)
    shape[dim], strides[dim] = n, x.strides[dim] * step
    return strided(x, (*shape, size), (*strides, x.strides[dim]))


@op("T(7), 0, 3, 2", "T(2, 5), -1, 2, 1", "T(4, 3).mT, 1, 2, 2", "T(2, 5), 0, 2, 3", torch="Tensor.unfold")
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Return windows of `size` elements of a dimension, `step` apart, as a view with the elements of a window last.

    >>> import minigrad
    >>> minigrad.arange(5).unfold(0, 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    d, n = axis(dimension, input.ndim, "unfold"), input.shape[dimension] if input.ndim else 1
    if not 0 <= size <= n:
        what = f"maximum size for tensor at dimension {d} is {n} but size is {size}"
        raise error(RuntimeError, "unfold", what, f"write size={n}, or less")
    if step <= 0:
        raise error(RuntimeError, "unfold", f"step is {step} but must be > 0", "write step=1")
    if not input.ndim:
        return Index.apply(input.reshape(1), (slice(0, size),))
    return Unfold.apply(input, d, int(size), int(step))


@op(
    "T(6), (2, 3), (3, 1)",
    "T(6), (2, 2), (1, 2), 1",
    "T(3, 4), (3,), (5,)",
    "T(5), (3, 3), (1, 1)",
    "T(3), (), ()",
    vmap=False,
)  # the elements between examples depend on their memory layout
def as_strided(input: Tensor, size: Sequence, stride: Sequence, storage_offset: int | None = None) -> Tensor:
    """Return a view of the tensor's memory by sizes and strides, from `storage_offset` on (default: the tensor's offset).

    Raises RuntimeError if this leaves the memory.
    """
    size, stride = tuple([int(n) for n in size]), tuple([int(n) for n in stride])
    if len(size) != len(stride) or min(size + stride, default=0) < 0:
        what = f"needs as many strides as sizes, none negative, got {size} and {stride}"
        raise error(RuntimeError, "as_strided", what, "write one stride for each size: as_strided((2, 3), (3, 1))")
    a, lead = layout(input)
    whole, item = storage(a), a.itemsize
    start = begin(a, whole) // item
    offset = 0 if storage_offset is None else int(storage_offset) - start
    batches = sum([(n - 1) * s // item for n, s in zip(a.shape[:lead], a.strides[:lead])])
    last = start + offset + batches + sum([(n - 1) * s for n, s in zip(size, stride)])
    if 0 not in size and not 0 <= start + offset <= last < whole.nbytes // item:
        raise error(
            RuntimeError,
            "as_strided",
            f"sizes {size}, strides {stride}, storage offset {start + offset} need {last + 1} elements, out of "
            f"bounds for storage of {whole.nbytes // item}",
            "choose smaller sizes or strides; x.unfold(dim, size, step) makes windows without them",
        )
    return AsStrided.apply(input, size, stride, offset, tuple([s // item for s in a.strides[lead:]]), 0)
