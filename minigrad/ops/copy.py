"""Copies and conversions: clone, contiguous, dtype and device, and Copy, the write behind every assignment."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes, halves
from ..arrays.devices import CPU, CUDA, META, device, put_default_device, row_major
from ..arrays.devices import memory_format as MemoryFormat
from ..arrays.errstate import restore, silence
from ..arrays.kinds import KINDS, as_array, to_device_of
from ..arrays.kinds import on_device as is_on_device
from ..arrays.kinds import place as place_of
from ..arrays.memory import unmasked
from ..core.backward import sum_to
from ..core.inplace import inplace
from ..core.tensor import Tensor
from ..errors import error
from . import transfer
from .base.families import Linear, View
from .base.primitive import Primitive
from .base.registry import op

# the names of dtypes in methods (x.double()) and types (DoubleTensor)
CALLED = {
    dtypes.float16: "Half",
    dtypes.bfloat16: "BFloat16",
    dtypes.float32: "Float",
    dtypes.float64: "Double",
    dtypes.int8: "Char",
    dtypes.int16: "Short",
    dtypes.int32: "Int",
    dtypes.int64: "Long",
    dtypes.uint8: "Byte",
    dtypes.bool_: "Bool",
}


class Clone(Linear):
    """A copy in separate memory."""

    lowering = "convert"
    arrays = quiet = takes_half = True
    impl = lambda x: repeated(x) if 0 in x.strides else x.copy(order="K")  # an expanded tensor has no order to keep
    dx = lambda g: g
    batch = lambda x: (x,)
    call = "x"


def repeated(x: np.ndarray) -> np.ndarray:
    """Return a copy of an expanded array; NumPy loops along the last dimension, however short it is."""
    if x.strides[-1] or not 1 < x.shape[-1] <= 8 or is_on_device(x):
        return x.copy(order="C")
    out = np.empty(x.shape, x.dtype)
    for k in range(x.shape[-1]):
        out[..., k] = x[..., 0]
    return out


class Contiguous(Clone):
    """A copy in row-major order."""

    node = "Clone"
    impl = lambda x: x.copy(order="C")


class Conversion(Linear):
    """The elements in another dtype or on another device."""

    node = "ToCopy"
    takes_half = True
    batch = lambda *args: args


class To(Conversion):
    """The elements converted to another dtype (its gradient is converted back by the engine)."""

    spelling = "conversion"
    lowering = "convert"
    impl = lambda x, dtype: x.astype(dtype, "C") if 0 in x.strides else halves.cast(x, dtype)
    dx = lambda g: g


class ToCuda(Conversion):
    """The elements in GPU memory."""

    impl = lambda x: transfer.placed(x, CUDA)
    dx = lambda g: ToCpu.apply(g)
    definition = lambda x: x  # the device does not matter for its value


class ToCudaLater(ToCuda):
    """The elements in GPU memory, perhaps still on their way from pinned memory."""

    impl = lambda x: transfer.placed(x, CUDA, wait=False)


class ToCpu(Conversion):
    """The elements in host memory."""

    impl = lambda x: x.to_host()
    dx = lambda g: ToCuda.apply(g)
    definition = lambda x: x  # the device does not matter for its value


class ToPinned(ToCpu):
    """The elements in pinned host memory."""

    impl = lambda x: x.to_host(pin=True)


class ToMeta(Conversion):
    """The shape, without the elements."""

    impl = lambda x: transfer.placed(x, META)
    dx = lambda g: ToCpu.apply(g)  # which raises an error: there are no elements


TO = {"cuda": ToCuda, "cpu": ToCpu, "meta": ToMeta}
TO_LATER = {"cuda": ToCudaLater, "cpu": ToPinned, "meta": ToMeta}  # with non_blocking=True


class Alias(View):
    """The memory of another tensor."""

    lowering = "convert"
    impl = lambda x: x.view()
    dx = lambda g: g
    batch = lambda x: (x,)
    call = "x"


class Copy(Primitive):
    """The contents of x after `y` is written over it: y, broadcast to x's shape and converted to x's dtype."""

    node = "CopyBackwards"
    spelling = "repetition"
    lowering = "overwrite"
    elementwise = takes_half = True
    impl = lambda x, y: np.broadcast_to(written(y, x), x.shape)
    dx = lambda g: g.new_zeros(g.shape)
    dy = lambda g: g

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        x, t = outs[0], tangents[1]
        return x.new_zeros(x.shape) if t is None else t.to(x.dtype).expand(x.shape)

    def vmap(info: Any, in_dims: tuple, x: Tensor, y: Any) -> tuple:
        """Keep the shape of x; the batch dimension of y moves to x's."""
        x = x.expand((info.batch_size, *x.shape)) if in_dims[0] is None else x.movedim(in_dims[0], 0)
        if in_dims[1] is not None:
            y = y.movedim(in_dims[1], 0)
            y = y.reshape(y.shape[:1] + (1,) * (x.ndim - y.ndim) + y.shape[1:])
        return Copy.apply(x, y), 0


class Fill(Copy):
    """One value written over all elements: a Copy with another name in PyTorch's graph, like the next."""

    node = "FillBackward2"


class Zero(Copy):
    """Zeros written over all elements."""

    node = "Zero"


def written(y: Any, x: np.ndarray) -> np.ndarray:
    """Return the value to write into an array, in its dtype and on its device; raise an error if a number does not fit."""
    if isinstance(y, (int, float)) and x.dtype.kind != "b":
        y = fitting(y, x.dtype, "copy")
    if is_on_device(x) and not is_on_device(y) and not np.ndim(y):
        return transfer.blank((), y, x.dtype, place_of(x))
    return to_device_of(as_array(unmasked(y, "copy")).astype(x.dtype, copy=False), x)


def fitting(number: Any, target: np.dtype, who: str) -> np.ndarray:
    """Return a number as a 0-d array of this dtype; raise RuntimeError if it would become infinite or wrap around."""
    if target in dtypes.FLOATS:
        dtypes.check_fits(who, target, number)
    return filled(number, target, who)


def filled(data: Any, target: np.dtype, who: str) -> np.ndarray:
    """Return nested lists of equal lengths as an array of this dtype."""
    try:
        if target.kind in "iu":  # via the numbers' own kind: 2.9 is cut to 2, and -1, not -1.0, as uint8 is 255
            wide, info = np.array(data), np.iinfo(target)
            least = info.min if wide.dtype.kind == "f" else info.min or -info.max
            if wide.size and not (wide.max() <= info.max and wide.min() >= least):
                raise OverflowError
            return wide.astype(target)
        previous = silence()
        try:
            return np.array(data, dtype=target)
        finally:
            restore(previous)
    except OverflowError:
        kind = ValueError if np.array(data).dtype.kind in "uO" else RuntimeError
        raise error(
            kind, who, f"overflow: a value does not fit into {target}", "use a dtype that holds it: minigrad.float64"
        ) from None


@op("T(3, 4)", "T(4, 3).mT", "T()")
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """Copy the tensor into separate memory, tracked: the gradient flows on to `input`.

    >>> import minigrad
    >>> x = minigrad.tensor([1., 2.])
    >>> y = x.clone()
    >>> y[0] = 5.
    >>> x
    tensor([1., 2.])
    """
    rows = row_major(memory_format, "clone")
    if memory_format is not None and memory_format.dims:
        return reordered(input, memory_format, "clone")
    return (Contiguous if rows else Clone).apply(input)


@op("T(4, 3).mT", "T(3)", torch="Tensor.contiguous")
def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """Return the tensor itself if its memory is row-major without gaps (or in the memory format), else a copy that is."""
    if memory_format is not None:
        row_major(memory_format, "contiguous")  # raises an error if it is no memory format
    if input.is_contiguous(memory_format):
        return input
    if memory_format is not None and memory_format.dims:
        return reordered(input, memory_format, "contiguous")
    return Contiguous.apply(input)


def reordered(input: Tensor, order: MemoryFormat, who: str) -> Tensor:
    """Return a copy with its dimensions in this memory order; raise RuntimeError for another number of dimensions."""
    if input.ndim != len(order.dims):
        what = f"required rank {len(order.dims)} tensor to use {order.name} format, got shape {tuple(input.shape)}"
        raise error(RuntimeError, who, what, "leave memory_format out, or add the dimensions")
    return Contiguous.apply(input.permute(order.dims)).permute([order.dims.index(d) for d in range(input.ndim)])


@op("T(2, 3), torch.float64", "I(3, 4), torch.float32", torch="Tensor.to")
def to(
    input: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Convert to another dtype, device, or both: `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(other)`.

    `non_blocking` and `copy` may follow.  Returns `input` itself if nothing changes and `copy` is False.

    With `non_blocking`, a copy of pinned memory to a GPU may still be running: do not write to `input` before
    `torch.cuda.synchronize()`.  A copy from a GPU is in pinned memory and, unlike PyTorch's, complete.
    """
    if len(args) == 1 and type(args[0]) is dtypes.dtype:
        dtype = args[0]
    elif args:
        device, dtype, non_blocking, copy = to_options(args, device, dtype, non_blocking, copy)
    if device is not None and device is not (own := input.device) and (place := on_device(device)) != own:
        kinds = TO_LATER if non_blocking else TO
        input, copy = kinds[place.type].apply(input), False
    if memory_format is not None and (row_major(memory_format, "to") or memory_format.dims):
        input, copy = contiguous(input, memory_format), copy and input.is_contiguous(memory_format)
    target = input._np_dtype if dtype is None else dtypes.numpy_dtype(dtype)
    if target == input._np_dtype:
        return Clone.apply(input) if copy else input
    return To.apply(input, target)


def to_options(args: tuple, device: Any, dtype: Any, non_blocking: bool, copy: bool) -> tuple:
    """Return device, dtype, non_blocking and copy from the positional arguments of `to`, else from its keywords."""
    first, *rest = args
    if isinstance(first, Tensor):
        device, dtype = first.device, first.dtype
    elif first is None or isinstance(first, (str, int, type(CPU))):
        device = first
        if rest and not isinstance(rest[0], bool):
            dtype = rest.pop(0)
    else:
        dtype = first
    if len(rest) > 2 or not all([isinstance(r, bool) for r in rest]):
        raise error(TypeError, "to", f"invalid combination of arguments {args}", "write x.to(device, dtype)")
    return device, dtype, rest[0] if rest else non_blocking, rest[1] if len(rest) == 2 else copy


def on_device(place: Any) -> device:
    """Return the device that a user named; raise RuntimeError if it does not exist."""
    if place is None or place is CPU:
        return CPU
    where = device(place)
    if where.type != "cuda":
        return CPU if where.type == "cpu" else META
    found = transfer.count()
    if where.index is None or where.index == 0 and found:
        transfer.current()
        return CUDA
    transfer.current()
    raise error(RuntimeError, "device", f"tensors are on the first GPU, cuda:0, not on {where}", "use device='cuda'")


def set_default_device(device: Any) -> None:
    """Create tensors on this device from now on, unless a call names another; None means the CPU.

    >>> set_default_device("cpu")
    """
    put_default_device(None if device is None else on_device(device))


@op("T(3), T(3)", torch="Tensor.type_as", shown="T(3), torch.zeros(3, dtype=torch.float64)")
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """Convert `input` to the dtype of `other`, and move it to its device."""
    if input.device is not other.device:
        return to(input, other)
    return input if input._np_dtype is other._np_dtype else To.apply(input, other._np_dtype)


@op("T(2, 3), T(2, 3)", torch="Tensor.view_as", node="View")
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """Return a view of `input` with the shape of `other`."""
    return Alias.apply(input) if input is other else input.view(other.shape)


@op("T(2, 3), T(3, 2)", "T(4, 3).mT, T(2, 6)", torch="Tensor.reshape_as")
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """Reshape `input` to the shape of `other`: a view if the memory allows it, else a copy."""
    return input.reshape(other.shape)


@op("T(1, 3), T(2, 3)", torch="Tensor.expand_as")
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Broadcast `input` to the shape of `other`, without copying."""
    return input.expand(other.shape)


@op("T(2, 3), 3", torch="Tensor.sum_to_size")
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """Sum `input` to a shape that broadcasts to its own."""
    size = tuple(size[0]) if size and isinstance(size[0], (tuple, list)) else size
    lead = tuple(range(input.ndim - len(size)))
    return sum_to(input.sum(lead) if lead else input, size)


def detach(input: Tensor) -> Tensor:
    """Return an untracked tensor on the same memory: the function of the method `Tensor.detach`.

    >>> import minigrad
    >>> x = minigrad.tensor([1.], requires_grad=True)
    >>> minigrad.detach(x * 2).requires_grad
    False
    """
    return input.detach()


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write `src`, broadcast and converted, into this tensor's memory; see `to` for `non_blocking`."""
    if not isinstance(src, (Tensor, int, float, np.ndarray, np.generic)):
        what = f"expected a tensor, got {type(src).__name__}"
        raise error(TypeError, "copy_", what, "pass minigrad.tensor(...), or use fill_")
    return inplace(Copy, self, value_on_device(src, self, non_blocking))


def value_on_device(src: Any, like: Tensor, non_blocking: bool = False) -> Any:
    """Return the value to write, on the target's device."""
    there = len(KINDS) == 1 or not isinstance(src, Tensor) or src.device == like.device
    return src if there else to(src, like.device, non_blocking=non_blocking)


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one value into every element."""
    if not isinstance(value, (float, int, Tensor, np.generic)):
        raise error(
            TypeError, "fill_", f"expected a number or a 0-d tensor, got {type(value).__name__}", "write x.fill_(0.0)"
        )
    if isinstance(value, Tensor) and value.ndim:
        what = f"expected a number or a 0-d tensor, got one of shape {tuple(value.shape)}"
        raise error(RuntimeError, "fill_", what, "use copy_")
    return inplace(Fill, self, value)


def zero_(self: Tensor) -> Tensor:
    """Write zeros."""
    return inplace(Zero, self, 0)


def casts() -> dict:
    """Return the methods `float()`, `double()`, `int()`, ... by name."""

    def method(name: str, dtype: Any) -> Any:
        target = dtypes.numpy_dtype(dtype)

        def cast(self: Tensor, memory_format: Any = None) -> Tensor:
            if memory_format is not None:
                return to(self, dtype, memory_format=memory_format)
            return self if self._np_dtype is target else to(self, dtype)

        cast.__name__, cast.__doc__ = name, f"Convert the tensor to {dtype}."
        return cast

    return {name.lower(): method(name.lower(), dtype) for dtype, name in CALLED.items()}


def cpu(self: Tensor) -> Tensor:
    """Return the tensor in CPU memory: itself, if it is there."""
    return to(self, CPU)


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """Return the tensor in GPU memory; see `to` for `non_blocking`."""
    return to(self, "cuda" if device is None else device, non_blocking=non_blocking)
