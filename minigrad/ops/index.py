"""Indexing, x[...] read and written, with PyTorch's meaning.

An index is taken apart (`parse`) into a basic part, integers, slices, None and Ellipsis, which is one view (`Index`),
and what is left of it, integer tensors at some of the view's dimensions: those are read by `Take` and written by
`Put`. Integers belong to the basic part and act first, as in PyTorch (NumPy counts them among the tensors).  Index
tensors at neighbouring dimensions leave their result there, separated ones in front.  Masks become the places where
they hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS
from ..arrays.kinds import on_device, zeros
from ..core.inplace import inplace
from ..core.tensor import Box, Tensor, wrap
from ..errors import error, warn
from ..layers.batching import front
from .base import registry
from .base.argument_errors import about, expands, sketch
from .base.families import Linear, NonDifferentiable, Operation, View
from .copy import Copy, brought, written
from .index_places import WHOLE, add_at, adjacent, batch_places, batch_values, moved, place, selected_shape, take_at


class Index(View):
    """A part of a tensor by integers, slices and None: a view."""

    impl = lambda x, index: x[(*index, ...)]
    dx = lambda g, shape, index: Unindex.apply(g, shape, index)
    batch = lambda x, index: (x, (WHOLE, *index))

    @classmethod
    def node_name(cls, node: Any) -> str:
        """By the last member that does something, for PyTorch applies them one after the other."""
        kinds = [
            "Unsqueeze" if i is None else "Slice" if isinstance(i, slice) else "Select"
            for i in node._saved[1]
            if i != WHOLE
        ]
        return f"{kinds[-1] if kinds else 'Alias'}Backward0"


class Unindex(Linear):
    """Zeros of a shape with a part of it filled in: the transpose of Index."""

    @staticmethod
    def impl(x: np.ndarray, size: tuple, index: tuple) -> np.ndarray:
        out = zeros(size, x)
        out[index] = x
        return out

    dx = lambda g, index: Index.apply(g, index)
    batch = lambda x, size, index: (x, (x.shape[0], *size), (WHOLE, *index))


class Take(Linear):
    """The elements at places: index tensors, broadcast together, for some dimensions, and all of the others."""

    node = "Index"
    anywhere = ("indices",)
    impl = lambda x, dims, *indices: take_at(x, dims, indices)
    dx = lambda g, shape, dims, indices: Untake.apply(g, shape, dims, *indices)

    def vmap(info: Any, in_dims: tuple, x: Tensor, dims: tuple, *indices: Tensor) -> tuple:
        """Batched indices pick from their own example, which is one more index."""
        x = front(x, in_dims[0], info.batch_size)
        batched = any(d is not None for d in in_dims[2:])
        rank, (dims_, indices_) = batch_places(info.batch_size, dims, indices, in_dims[2:])
        out = Take.apply(x, dims_, *indices_)
        if not batched:
            return out, 0 if adjacent(dims) else rank
        return (out.movedim(*moved(dims, rank)), 0) if adjacent(dims) and dims[0] else (out, 0)


class Untake(Linear):
    """Zeros of a shape with values added at places, repeated ones more than once: the transpose of Take."""

    anywhere = ("indices",)

    @staticmethod
    def impl(x: np.ndarray, size: tuple, dims: tuple, *indices: np.ndarray) -> np.ndarray:
        out = zeros(size, x)
        add_at(out, x, dims, indices, known=True)
        return out

    dx = lambda g, dims, indices: Take.apply(g, dims, *indices)

    def vmap(info: Any, in_dims: tuple, x: Tensor, size: tuple, dims: tuple, *indices: Tensor) -> tuple:
        """As in Take."""
        rank, (dims_, indices_) = batch_places(info.batch_size, dims, indices, in_dims[3:])
        x = batch_values(x, in_dims[0], info.batch_size, dims, rank, in_dims[3:])
        return Untake.apply(x, (info.batch_size, *size), dims_, *indices_), 0


class Write(Operation):
    """A write into x: linear in x and in its argument number `value`.  `update` does it on an array, in place."""

    value = 1

    @classmethod
    def signature(cls) -> Any:
        return cls.update

    @classmethod
    def impl(cls, x: np.ndarray, *args: Any) -> np.ndarray:
        out = x.copy()
        cls.update(out, *args)
        return out

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        args = list(primals)
        args[0] = outs[0].new_zeros(outs[0].shape) if tangents[0] is None else tangents[0]
        args[cls.value] = 0 if tangents[cls.value] is None else tangents[cls.value]
        return cls.apply(*args)


class Put(Write):
    """x with values written to places (of repeated ones the last stays), or with `accumulate` added there."""

    anywhere = ("indices",)

    @staticmethod
    def update(x: np.ndarray, value: Any, dims: tuple, accumulate: bool, *indices: np.ndarray) -> None:
        if accumulate:
            add_at(x, value, dims, indices)
        else:
            x[place(x.ndim, dims, indices)] = written(value, x)

    dx = lambda g, dims, accumulate, indices: g if accumulate else Put.apply(g, 0, dims, False, *indices)
    dvalue = lambda g, dims, indices: Take.apply(g, dims, *indices)

    def vmap(
        info: Any, in_dims: tuple, x: Tensor, value: Any, dims: tuple, accumulate: bool, *indices: Tensor
    ) -> tuple:
        """As in Take."""
        rank, (dims_, indices_) = batch_places(info.batch_size, dims, indices, in_dims[4:])
        if isinstance(value, Tensor):
            value = batch_values(value, in_dims[1], info.batch_size, dims, rank, in_dims[4:])
        return Put.apply(front(x, in_dims[0], info.batch_size), value, dims_, accumulate, *indices_), 0


class NonZero(NonDifferentiable):
    """The places where x is not zero, one row each."""

    name = "nonzero"
    impl = lambda x: np.argwhere(x) if x.ndim else zeros((int(x != 0), 0), x, np.int64)

    def vmap(info: Any, in_dims: tuple, *args: Any) -> tuple:
        """Every example would have a result of its own length."""
        shape = tuple([n for d, n in enumerate(args[0]._sizes) if d != in_dims[0]])
        raise data_dependent("nonzero", f"of shape {shape} for each of {info.batch_size} examples, ")


def data_dependent(who: str, what: str = "") -> Exception:
    """The error where the shape of a result depends on values, which differ from example to example."""
    return error(
        RuntimeError,
        who,
        f"the shape of its result depends on the values of its input, {what}so vmap cannot batch it; indexing with a mask "
        "does the same",
        "use minigrad.where(mask, a, b), or compute it outside of vmap",
    )


# ---------------------------------------------------------------------- x[index], x[index] = value
def getitem(self: Tensor, index: Any) -> Tensor:
    """`x[index]`: a view for integers, slices, None and Ellipsis, a copy where tensors, lists or masks take part.

    Raises IndexError for what is out of range or too many, ValueError for slices with negative steps.
    """
    basic, advanced = parse(self, index)
    if not advanced:
        return Index.apply(self, basic)
    dims, indices = places(advanced)
    return Take.apply(self if trivial(basic) else Index.apply(self, basic), dims, *indices)


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`: value, a number or a tensor, is broadcast to the part and written in place."""
    if not isinstance(value, (Tensor, int, float, np.generic)):
        raise error(
            TypeError,
            "setitem",
            f"can't assign a {type(value).__name__} to a tensor",
            "assign a number or a tensor: minigrad.tensor(...)",
        )
    if self._np_dtype.kind in "iu" and not isinstance(value, int):
        warn_fraction(self, value)
    basic, advanced = parse(self, index)
    part = self if trivial(basic) and advanced else Index.apply(self, basic)
    if not advanced:
        try:
            inplace(Copy, part, brought(trimmed(value, part.ndim), part))
        except RuntimeError:
            if isinstance(value, Tensor) and not expands(tuple(value.shape), tuple(part.shape)):
                raise unfit(value, tuple(part.shape)) from None
            raise
    elif len(advanced) == 1 and is_mask(advanced[0][1]) and (not isinstance(value, Tensor) or value.numel() == 1):
        from .masks import MaskedFill

        d, mask = advanced[0]
        wide = mask.reshape((*mask.shape, *[1] * (part.ndim - d - mask.ndim)))
        inplace(MaskedFill, part, wide, value.reshape(()) if isinstance(value, Tensor) else value)
    else:
        dims, indices = places(advanced)
        inplace(Put, part, fitting(part, value, dims, indices), dims, False, *indices)


def warn_fraction(x: Tensor, value: Any) -> None:
    """Warn where numbers that are not whole are written into integers."""
    a = value._a if isinstance(value, Tensor) and value._layer is None else None if isinstance(value, Tensor) else value
    a = None if a is None or on_device(a) else np.asarray(a)  # to look there would be to wait for it
    if a is None or a.dtype not in FLOATS:
        return
    lost = np.isfinite(a) & (a != np.trunc(a))
    if lost.any():
        what = f"the number {a.item():g} loses its fraction" if a.size == 1 else "numbers lose their fractions"
        warn(
            "fraction-lost",
            "setitem",
            f"{what}: {int(lost.sum())} of {a.size} elements are not whole, and the tensor holds {x.dtype}",
            "make the tensor of floats: minigrad.zeros(n), x.float(), zeros_like(x, dtype=minigrad.float32)",
        )


def delitem(self: Tensor, index: Any) -> None:
    """`del x[index]` is refused."""
    raise error(TypeError, "del", "a tensor does not support deleting items", "select those that stay: x = x[mask]")


def trivial(basic: tuple) -> bool:
    """Whether the basic part leaves everything as it is."""
    return all(type(i) is slice and i == WHOLE for i in basic)


def trimmed(value: Any, ndim: int) -> Any:
    """A value with too many dimensions without those of size 1 in front, which do not count."""
    if not isinstance(value, Tensor) or value.ndim <= ndim:
        return value
    lead = value.ndim - ndim
    return value.reshape(value.shape[lead:]) if all(n == 1 for n in value.shape[:lead]) else value


def fitting(x: Tensor, value: Any, dims: tuple, indices: tuple) -> Any:
    """A value in the shape of what `indices` select from x."""
    if not isinstance(value, Tensor):
        return value
    if value._np_dtype != x._np_dtype:
        raise error(
            RuntimeError,
            "index_put",
            f"the dtypes of source and destination have to match, got {x.dtype} for the destination and "
            f"{value.dtype} for the source",
            "convert the value: value.to(x.dtype)",
        )
    size = selected_shape(tuple(x.shape), dims, [tuple(i.shape) for i in indices])
    value = trimmed(value, len(size))
    try:
        return value if tuple(value.shape) == size else value.expand(size)
    except RuntimeError:
        raise unfit(value, size) from None


def unfit(value: Tensor, size: tuple) -> Exception:
    """The error for a value that is not broadcast to the shape of what it is assigned to."""
    return error(
        RuntimeError,
        "setitem",
        f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to the indexing result of "
        f"shape {list(size)}",
        "assign a number, or a value of that shape: value.reshape(...), value.expand(...)",
        notes=about({"value": value}, {"selected": size, "value": tuple(value.shape)}),
    )


# ---------------------------------------------------------------------- an index taken apart
def parse(x: Tensor, index: Any) -> tuple:
    """(the basic part, [(dimension of the basic part's result, index tensor or mask), ...])."""
    items = index if type(index) is tuple else as_items(index)
    shape, advanced, basic = tuple(x.shape), [], []
    if any(type(i) is not int and type(i) is not slice for i in items):
        items = [item_of(i) for i in items]
    used = sum([consumed(i) for i in items])
    if used > len(shape):
        raise error(
            IndexError,
            "index",
            f"too many indices for tensor of dimension {len(shape)}: the index takes {used}",
            f"write at most {len(shape)} of them: the shape is {shape}" if shape else "use .item() for its value",
        )
    d = r = 0  # dimensions of x done with, and of the basic part's result
    spare = len(shape) - used
    for item in items:
        if item is Ellipsis:
            basic += [WHOLE] * spare
            d, r, spare = d + spare, r + spare, 0
        elif item is None:
            basic.append(None)
            r += 1
        elif type(item) is bool:
            basic.append(None)
            advanced.append((r, wrap(np.zeros(int(item), np.int64))))
            r += 1
        elif type(item) is int:
            if not -shape[d] <= item < shape[d]:
                raise error(
                    IndexError,
                    "index",
                    f"index {item} is out of bounds for dimension {d} with size {shape[d]}",
                    f"use an index from {-shape[d]} to {shape[d] - 1}: the shape is {shape}",
                )
            basic.append(item)
            d += 1
        elif type(item) is slice:
            basic.append(bounds(item))
            d, r = d + 1, r + 1
        else:
            n = consumed(item)
            if is_mask(item) and tuple(item.shape) != shape[d : d + n]:
                raise error(
                    IndexError,
                    "index",
                    f"the shape of the mask {list(item.shape)} at index {len(basic)} does not match the shape of the "
                    f"indexed tensor {list(shape)} at dimension {d}",
                    "make the mask from the tensor itself, as in x[x > 0], or index the other dimensions by `:`",
                    notes=about({"tensor": x, "mask": item}, {"tensor": shape[d : d + n], "mask": tuple(item.shape)}),
                )
            basic += [WHOLE] * n
            advanced.append((r, item))
            d, r = d + n, r + n
    return tuple(basic), advanced


def as_items(index: Any) -> tuple:
    """The parts of an index that is not a tuple.  A list with sequences or slices counts as one, as in PyTorch."""
    if isinstance(index, list) and any(
        isinstance(i, (list, tuple, slice, Tensor, np.ndarray)) or i is None or i is Ellipsis for i in index
    ):
        return tuple(index)
    return (index,)


def item_of(i: Any) -> Any:
    """One part of an index as one of: int, bool, slice, None, Ellipsis, integer tensor, mask."""
    if i is None or i is Ellipsis or isinstance(i, (slice, bool)):
        return i
    if isinstance(i, (int, np.integer)):
        return int(i)
    if isinstance(i, np.ndarray):
        i = wrap(i)
    elif isinstance(i, (list, tuple, range)):
        from .from_data import tensor

        i = tensor(list(i)) if len(i) else wrap(np.zeros(0, np.int64))
    if not isinstance(i, Tensor):
        raise error(
            TypeError if isinstance(i, str) else IndexError,
            "index",
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte tensors are valid indices, "
            f"got {type(i).__name__}",
            "write x[i], x[i:j] or x[mask], with integers; tensor(indices) makes a tensor of them",
        )
    if i._np_dtype.str[1:] not in ("i8", "i4", "u1", "b1") and not (i.ndim == 0 and i._np_dtype.kind == "i"):
        raise error(
            IndexError,
            "index",
            f"tensors used as indices must be of int64, int32, uint8 or bool, not {i.dtype}",
            "convert: index.long()",
        )
    if i.ndim == 0 and (is_mask(i) or not differs(i)):
        return bool(i.item()) if is_mask(i) else int(i.item())
    return i


def differs(i: Tensor) -> bool:
    """Whether an index is another for each example of a vmap, so that it is no number."""
    while type(i) is Box:
        if hasattr(i._layer, "size"):
            return True
        i = i._value
    return False


def is_mask(i: Tensor) -> bool:
    """Whether an index tensor says for each place yes or no."""
    return i._np_dtype.kind == "b" or i._np_dtype == np.uint8


def consumed(item: Any) -> int:
    """How many dimensions of the tensor a part of an index stands for."""
    if item is None or item is Ellipsis or type(item) is bool:
        return 0
    return item.ndim if isinstance(item, Tensor) and is_mask(item) else 1


def bounds(s: slice) -> slice:
    """A slice in Python's integers, its step positive."""
    start, stop, step = [None if i is None else index_of(i) for i in (s.start, s.stop, s.step)]
    if step is not None and step <= 0:
        raise error(
            ValueError,
            "index",
            f"step must be greater than zero, got {step}",
            "write x.flip(dim) to reverse a dimension",
        )
    return slice(start, stop, step)


def index_of(i: Any) -> int:
    """One bound of a slice as an integer."""
    try:
        return i.__index__()
    except AttributeError:
        raise error(
            TypeError,
            "index",
            f"slice indices must be integers or None or have an __index__ method, got {type(i).__name__}",
            "write int(i)",
        ) from None


def places(advanced: list) -> tuple:
    """Dimensions and their integer tensors, masks replaced by the places where they hold; these have to broadcast."""
    dims, indices = [], []
    for d, i in advanced:
        columns = where_true(i) if is_mask(i) else (i,)
        dims += range(d, d + len(columns))
        indices += columns
    try:
        np.broadcast_shapes(*[tuple(i.shape) for i in indices])
    except ValueError:
        raise error(
            IndexError,
            "index",
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            f"{', '.join([str(list(i.shape)) for i in indices])}",
            "use indices of one length, or index by one after the other: x[rows][:, columns]",
            notes=[sketch({f"index {k}": tuple(i.shape) for k, i in enumerate(indices)})],
        ) from None
    return tuple(dims), tuple(indices)


def where_true(mask: Tensor) -> tuple:
    """Per dimension the indices of the places where the mask holds."""
    found = NonZero.apply(mask)
    return tuple([Index.apply(found, (WHOLE, d)) for d in range(mask.ndim)])


registry.CODES[getitem.__code__], registry.CODES[setitem.__code__] = "getitem", "setitem"
METHODS = {"__getitem__": getitem, "__setitem__": setitem, "__delitem__": delitem}
