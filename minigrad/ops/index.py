"""Indexing, x[...] read and written, with PyTorch's meaning.

`parse` in index_parts.py splits an index into a basic part (integers, slices, None and Ellipsis), which is one view
(`Index`), and integer tensors at some of the view's dimensions, which `Take` reads and `Put` writes.  Integers belong to
the basic part and act first, as in PyTorch (NumPy counts them among the tensors).  The result dimensions of index tensors
stay in place if these are neighbours, else they come first.  Masks become the positions of their true elements.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.dtypes import BOOL, FLOATS, I8, check_fits, int64
from ..arrays.kinds import on_device, zeros
from ..arrays.shapes import broadcast_shape, broadcastable, sketch
from ..core.backward import step_on_arrays, sum_to
from ..core.engine import running
from ..core.frames import current
from ..core.graph import history
from ..core.inplace import inplace
from ..core.tensor import Tensor, wrap
from ..errors import error, warn
from ..events import events, intercept
from ..layers.batching import front, lift
from ..tensors.printing import error_notes
from .base.families import Linear, NonDifferentiable, Operation, View
from .base.layouts import wrap_near
from .base.nodes import ShapeOf
from .base.registry import op
from .compare import Where, where
from .copy import Copy, value_on_device, written
from .index_parts import is_mask, is_plain, parse
from .index_places import (
    WHOLE,
    add_at,
    are_adjacent,
    batch_places,
    batch_values,
    moved,
    overwritten,
    place,
    places_where,
    selected_shape,
    take_at,
)
from .node_names import ending
from .public_functions import named_code, raise_explained, rename_code

METHODS: dict = {}  # of Tensor; `writes` adds the in-place forms


class Index(View):
    """A part of a tensor by integers, slices and None: a view."""

    spelling = "subscript"
    lowering = "part"
    impl = lambda x, index: x[index + (...,)]  # noqa: RUF005  (*index, ...) takes three times as long
    dx = lambda g, shape, index: Unindex.apply(g, shape, index)
    batch = lambda x, index: (x, (WHOLE, *index))

    @staticmethod
    def arrays(gs: tuple, bound: tuple) -> tuple:
        """Add to the input's gradient if it exists, so that a loop over parts takes time by the sizes of the parts."""
        this, (shape, index, _) = running.get(), bound
        direct = this is not None and this.step is step_on_arrays  # a recording keeps gradients unchanged
        if direct and this.add_to_part(this.node._edges[0], index, gs[0]):
            return (None,)
        return (Unindex.impl(gs[0], shape, index),)

    @classmethod
    def node_name(cls, node: Any) -> str:
        """Name the node after the last index that has an effect, because PyTorch applies them one by one."""
        kinds = [
            "Unsqueeze" if i is None else "Slice" if isinstance(i, slice) else "Select"
            for i in node._constants[1]
            if i != WHOLE
        ]
        return f"{kinds[-1] if kinds else 'Slice' if len(node._constants[1]) == 1 else 'Alias'}Backward0"


class Unindex(Linear):
    """Zeros of a shape with a part of it filled in: the transpose of Index."""

    lowering = "fill_part"

    @staticmethod
    def impl(x: np.ndarray, size: tuple, index: tuple) -> np.ndarray:
        out = zeros(size, x)
        out[index] = x
        return out

    dx = lambda g, index: Index.apply(g, index)
    batch = lambda x, size, index: (x, (x.shape[0], *size), (WHOLE, *index))


class Take(Linear):
    """The elements at index tensors, broadcast together, in some dimensions, and all elements of the others."""

    spelling = "subscript_of_tensors"
    node = "Index"
    any_device = integers = ("indices",)
    quiet = True
    impl = lambda x, dims, *indices: take_at(x, dims, indices)
    dx = lambda g, shape, dims, indices: Untake.apply(g, shape, dims, *indices)
    arrays = True

    def vmap(info: Any, in_dims: tuple, x: Tensor, dims: tuple, *indices: Tensor) -> tuple:
        """Let batched indices pick from their example, which is one more index."""
        x = front(x, in_dims[0], info.batch_size)
        batched = any(d is not None for d in in_dims[2:])
        rank, (dims_, indices_) = batch_places(info.batch_size, dims, indices, in_dims[2:])
        out = Take.apply(x, dims_, *indices_)
        if not batched:
            return out, 0 if are_adjacent(dims) else rank
        return (out.movedim(*moved(dims, rank)).contiguous(), 0) if are_adjacent(dims) and dims[0] else (out, 0)


class Untake(Linear):
    """Zeros of a shape with values added at index tensors, which may repeat: the transpose of Take."""

    spelling = "added_to_zeros"
    any_device = integers = ("indices",)

    @staticmethod
    def impl(x: np.ndarray, size: tuple, dims: tuple, *indices: np.ndarray) -> np.ndarray:
        out = zeros(size, x)
        add_at(out, x, dims, indices, known=True)
        return out

    dx = lambda g, dims, indices: Take.apply(g, dims, *indices)
    arrays = True

    def vmap(info: Any, in_dims: tuple, x: Tensor, size: tuple, dims: tuple, *indices: Tensor) -> tuple:
        """Treat batched indices as Take does."""
        rank, (dims_, indices_) = batch_places(info.batch_size, dims, indices, in_dims[3:])
        x = batch_values(x, in_dims[0], info.batch_size, dims, rank, in_dims[3:])
        return Untake.apply(x, (info.batch_size, *size), dims_, *indices_), 0


class Write(Operation):
    """A write into x: linear in x and in its argument number `value`.  `update` writes into an array."""

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


def writes(*samples: str, node: Any = "", **options: Any) -> Callable:
    """Enter a function that returns a Write and its operands: `name` returns a new tensor, `name_` writes into self.

    A 0-d tensor among the operands may have shape (1,).
    """

    def enter(f: Callable) -> Callable:
        name = f.__name__

        @functools.wraps(f)
        def function(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            try:
                cls, operands = f(input, *args, **kwargs)
                out = cls.apply(*operands)
            except Exception as e:
                raise_explained(e, f, name, (input, *args), kwargs)
            return out if operands[0] is input else out.reshape(input.shape)

        @functools.wraps(f)
        def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            try:
                cls, operands = f(self, *args, **kwargs)
                inplace(cls, *operands)
            except Exception as e:
                raise_explained(e, f, name + "_", (self, *args), kwargs)
            return self

        method.__doc__ = f"In-place form of {name}."
        METHODS[name + "_"] = rename_code(ending(method, node) if node else method, name + "_")
        return op(*samples, inplace=True, node=node, **options)(rename_code(function, name))

    return enter


class Put(Write):
    """x with values written at index tensors (the last of repeated ones stays), or with `accumulate` added there."""

    spelling = "put"
    node = "IndexPut"
    any_device = integers = ("indices",)

    @staticmethod
    def update(x: np.ndarray, value: Any, dims: tuple, accumulate: bool, *indices: np.ndarray) -> None:
        if accumulate:
            add_at(x, value, dims, indices)
        else:
            x[place(x.ndim, dims, indices)] = written(value, x)

    dx = lambda g, dims, accumulate, indices: g if accumulate else Put.apply(g, 0, dims, False, *indices)
    dvalue = lambda g, dims, accumulate, indices: (
        Take.apply(g, dims, *indices)
        if accumulate
        else where(surviving_values(g, dims, indices), Take.apply(g, dims, *indices), 0.0)
    )

    @staticmethod
    def arrays(gs: tuple, bound: tuple) -> tuple | None:
        """Return the same gradients on NumPy arrays."""
        (g,), (_, value, dims, accumulate, *indices, _) = gs, bound
        if type(g) is not np.ndarray:
            return None
        of_value = take_at(g, dims, indices) if type(value) is ShapeOf else None  # a number has no gradient
        if accumulate:
            return g, of_value
        if of_value is not None and (lost := overwritten(g.shape, dims, indices)).any():
            of_value = np.where(lost, 0, of_value)
        return Put.impl(g, 0, dims, False, *indices), of_value

    def vmap(
        info: Any, in_dims: tuple, x: Tensor, value: Any, dims: tuple, accumulate: bool, *indices: Tensor
    ) -> tuple:
        """Treat batched indices as Take does."""
        rank, (dims_, indices_) = batch_places(info.batch_size, dims, indices, in_dims[4:])
        if isinstance(value, Tensor):
            value = batch_values(value, in_dims[1], info.batch_size, dims, rank, in_dims[4:])
        return Put.apply(front(x, in_dims[0], info.batch_size), value, dims_, accumulate, *indices_), 0


def gradient_of_values(g: Tensor, read: Callable, write: Callable) -> Tensor:
    """Return the gradient of written values: g at their positions, but 0 for values that a later one overwrites.

    PyTorch leaves that undefined, and gives g to all of them.
    """
    kept = read(g)
    return kept if kept.numel() < 2 else where(written_last(g, tuple(kept.shape), read, write), kept, 0.0)


def written_last(g: Tensor, shape: tuple, read: Callable, write: Callable) -> Tensor:
    """Return True for each value, of this shape, that is the last one written to its position in a tensor like g."""
    order = wrap_near(np.arange(math.prod(shape)).reshape(shape), g)
    return read(write(g.new_zeros(g.shape, dtype=int64), order)) == order


def surviving_values(g: Tensor, dims: tuple, indices: tuple) -> Tensor:
    """Return True for each index whose value stays after Put, in a shape that broadcasts against the selected elements."""
    own, shape = tuple(range(len(dims))), broadcast_shape(*[tuple(i.shape) for i in indices])
    table = g.new_zeros([g.shape[d] for d in dims])
    last = written_last(
        table, shape, lambda t: Take.apply(t, own, *indices), lambda t, order: Put.apply(t, order, own, False, *indices)
    )
    rest = g.ndim - len(dims) - (dims[0] if are_adjacent(dims) else 0)
    return last.reshape((*shape, *(1,) * rest))


class MaskedFill(Write):
    """x with one value where the mask holds."""

    lowering = "choose"
    call = "x.masked_fill(mask, value)"
    integers = ("mask",)
    node, number_nodes = "MaskedFillBackward1", {2: "MaskedFillBackward0"}
    value = 2

    @classmethod
    def impl(cls, x: np.ndarray, mask: np.ndarray, value: Any) -> np.ndarray:  # type: ignore[override]
        """Compute in one pass over a large array, where a copy and a write would be two."""
        plain = type(x) is type(mask) is np.ndarray and x.dtype.kind == "f" and mask.dtype.kind == "b"
        if plain and x.flags.c_contiguous and mask.flags.c_contiguous and (type(value) is float or not np.ndim(value)):
            number = value.item() if isinstance(value, (np.ndarray, np.generic)) else value
            check_fits("copy", x.dtype, number)
            return Where.compute(mask, np.array(number, x.dtype), x)
        return super().impl(x, mask, value)

    @staticmethod
    def update(x: np.ndarray, mask: np.ndarray, value: Any) -> None:
        if type(value) is np.ndarray and not value.ndim and value.dtype != x.dtype:
            value = value.item()  # as a number must fit
        np.copyto(x, written(value, x), where=mask.astype(bool, copy=False), casting="unsafe")

    dx = lambda g, mask: MaskedFill.apply(g, mask, 0.0)
    dvalue = lambda g, mask, shape: sum_to(MaskedFill.apply(g, mask == 0, 0.0), shape)

    def vmap(info: Any, in_dims: tuple, x: Tensor, mask: Tensor, value: Any) -> tuple:
        """Put the batch dimension in front, and make the ranks behind it equal."""
        x = front(x, in_dims[0], info.batch_size)
        return MaskedFill.apply(x, lift(mask, in_dims[1], x.ndim - 1), lift(value, in_dims[2], x.ndim - 1)), 0


class NonZero(NonDifferentiable):
    """The positions where x is not zero, one row each."""

    call = "x.nonzero()"
    name = "nonzero"
    impl = lambda x: places_where(x) if x.ndim else zeros((int(x != 0), 0), x, np.int64)

    def vmap(info: Any, in_dims: tuple, *args: Any) -> tuple:
        """Raise an error: each example would have a result of another length."""
        shape = tuple([n for d, n in enumerate(args[0]._sizes) if d != in_dims[0]])
        raise data_dependent("nonzero", f"of shape {shape} for each of {info.batch_size} examples, ")


def data_dependent(who: str, what: str = "") -> Exception:
    """Return the error for a result whose shape depends on values, which differ between examples."""
    return error(
        RuntimeError,
        who,
        f"the shape of the result depends on the values of the input, {what}so vmap cannot batch it; indexing with a mask "
        "does the same",
        "use minigrad.where(mask, a, b), or compute it outside vmap",
    )


SIZED_BY_VALUES = "the size of the result of {} depends on values, which differ from call to call"


def reading(who: str, t: Tensor) -> None:
    """Tell the surrounding layers that the size of a result is about to depend on a tensor's values, and that they are read."""
    for layer in current().layers():
        layer.varies(SIZED_BY_VALUES.format(who))
    events.read(t, "tolist")


# ---------------------------------------------------------------------- x[index], x[index] = value
def getitem(self: Tensor, index: Any) -> Tensor:
    """Return `x[index]`: a view for integers, slices, None and Ellipsis, a copy if tensors, lists or masks take part.

    Raises IndexError for indices out of range or too many, ValueError for slices with negative steps.
    """
    if isinstance(index, Tensor) and index._sizes and self._sizes:
        if index._np_dtype is I8:
            return Take.apply(self, (0,), index)
        if index._np_dtype is BOOL and index._sizes == self._sizes:
            if type(self) is type(index) is Tensor and (found := chosen_elements(self, index)) is not None:
                return found
            return Take.apply(self, tuple(range(len(index._sizes))), *where_true(index))
    if is_plain(index):
        try:
            return Index.apply(self, index if type(index) is tuple else (index,))
        except Exception:  # parse explains it
            pass
    basic, advanced = parse(self, index)
    if not advanced:
        return Index.apply(self, basic)
    dims, indices = places(advanced)
    return Take.apply(self if selects_all(basic) else Index.apply(self, basic), dims, *indices)


CHOSEN_FROM = 1 << 14  # elements; from here on, kernels find the true ones and take the elements sooner


def chosen_elements(x: Tensor, mask: Tensor) -> Tensor | None:
    """Return x[mask] by NumPy, if they are few and nothing follows what happens to it, else None."""
    a, frame = x._a, current()
    plain = type(a) is type(mask._a) is np.ndarray and a.size < CHOSEN_FROM and frame.eager_ok and frame.on_op is None
    return wrap(a[mask._a]) if plain and not (frame.grad and history(x) is not None) else None


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write `x[index] = value`: value, a number or a tensor, is broadcast to the part and written in place."""
    if not isinstance(value, (Tensor, int, float, np.generic)):
        what = f"can't assign a {type(value).__name__} to a tensor"
        raise error(TypeError, "setitem", what, "assign a number or a tensor: minigrad.tensor(...)")
    if self._np_dtype.kind in "iu" and not isinstance(value, int):
        warn_fraction(self, value)
    basic, advanced = parse(self, index)
    part = self if advanced and selects_all(basic) else Index.apply(self, basic)
    if not advanced:
        short = trimmed(value, part.ndim)
        try:
            inplace(Copy, part, value_on_device(short, part))
        except RuntimeError:
            if isinstance(value, Tensor) and not broadcasts_to(tuple(short.shape), tuple(part.shape)):
                raise shape_error(value, tuple(part.shape)) from None
            raise
    elif len(advanced) == 1 and is_mask(advanced[0][1]) and (not isinstance(value, Tensor) or value.numel() == 1):
        d, mask = advanced[0]
        wide = mask.reshape((*mask.shape, *[1] * (part.ndim - d - mask.ndim)))
        inplace(MaskedFill, part, wide, value.reshape(()) if isinstance(value, Tensor) else value)
    else:
        dims, indices = places(advanced)
        inplace(Put, part, fitting(part, value, dims, indices), dims, False, *indices)


def warn_fraction(x: Tensor, value: Any) -> None:
    """Warn if fractions are written into integers."""
    a = value._a if isinstance(value, Tensor) and value._layer is None else None if isinstance(value, Tensor) else value
    a = None if a is None or on_device(a) else np.asarray(a)  # reading the value there would wait for the device
    if a is None or a.dtype not in FLOATS:
        return
    lost = np.isfinite(a) & (a != np.trunc(a))
    if lost.any():
        what = f"the number {a.item():g} loses its fraction" if a.size == 1 else "numbers lose their fractions"
        warn(
            "fraction-lost",
            "setitem",
            f"{what}: {int(lost.sum())} of {a.size} elements are not integers, and the tensor holds {x.dtype}",
            "use a tensor of floats: minigrad.zeros(n), x.float(), zeros_like(x, dtype=minigrad.float32)",
            notes=intercept.origins({"tensor": x}) or (),
        )


def delitem(self: Tensor, index: Any) -> None:
    """Raise TypeError for `del x[index]`."""
    raise error(TypeError, "del", "a tensor does not support deleting items", "select the remaining ones: x = x[mask]")


def selects_all(basic: tuple) -> bool:
    """Return True if the basic part selects everything."""
    return all(type(i) is slice and i == WHOLE for i in basic)


def trimmed(value: Any, ndim: int) -> Any:
    """Return a value with too many dimensions without leading sizes of 1, which PyTorch ignores."""
    if not isinstance(value, Tensor) or value.ndim <= ndim:
        return value
    lead = value.ndim - ndim
    return value.reshape(value.shape[lead:]) if all(n == 1 for n in value.shape[:lead]) else value


def broadcasts_to(shape: tuple, size: tuple) -> bool:
    """Return True if a tensor of this shape broadcasts to the size."""
    return broadcastable(shape, size) and broadcast_shape(shape, size) == size


def fitting(x: Tensor, value: Any, dims: tuple, indices: tuple) -> Any:
    """Return a value in the shape of the selection of x by `indices`."""
    if not isinstance(value, Tensor):
        return value
    if value._np_dtype != x._np_dtype:
        raise error(
            RuntimeError,
            "index_put",
            f"the dtypes of source and destination must match, got {x.dtype} for the destination and "
            f"{value.dtype} for the source",
            "convert the value: value.to(x.dtype)",
        )
    size = selected_shape(x._sizes, dims, [i._sizes for i in indices])
    value = trimmed(value, len(size))
    try:
        return value if value._sizes == size else value.expand(size)
    except RuntimeError:
        raise shape_error(value, size) from None


def shape_error(value: Tensor, size: tuple) -> Exception:
    """Return the error for a value that does not broadcast to the shape of its target."""
    return error(
        RuntimeError,
        "setitem",
        f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to the indexing result of "
        f"shape {list(size)}",
        "assign a number, or a value of that shape: value.reshape(...), value.expand(...)",
        notes=error_notes({"value": value}, {"selected": size, "value": tuple(value.shape)}),
    )


# ---------------------------------------------------------------------- an index taken apart
def places(advanced: list) -> tuple:
    """Return dimensions and their integer tensors, which must broadcast; masks become positions of true elements."""
    dims, indices = [], []
    for d, i in advanced:
        columns = where_true(i) if is_mask(i) else (i,)
        dims += range(d, d + len(columns))
        indices += columns
    if len(advanced) > 1:
        check_meeting("index", indices)
    return tuple(dims), tuple(indices)


def check_meeting(who: str, indices: list) -> None:
    """Raise IndexError if index tensors do not broadcast."""
    try:
        broadcast_shape(*[i._sizes for i in indices])
    except ValueError:
        raise error(
            IndexError,
            who,
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            f"{', '.join([str(list(i.shape)) for i in indices])}",
            "use indices of equal length, or index one by one: x[rows][:, columns]",
            notes=[sketch({f"index {k}": tuple(i.shape) for k, i in enumerate(indices)})],
        ) from None


def where_true(mask: Tensor) -> tuple:
    """Return the indices of the mask's true elements, one tensor per dimension."""
    found = NonZero.apply(mask)
    return tuple([Index.apply(found, (WHOLE, d)) for d in range(mask.ndim)])


named_code(getitem.__code__, "getitem")
named_code(setitem.__code__, "setitem")
METHODS |= {"__getitem__": getitem, "__setitem__": setitem, "__delitem__": delitem}
