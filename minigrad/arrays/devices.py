"""Devices (device), shapes (Size) and orders of elements in memory (layout, memory_format)."""

from __future__ import annotations

import math
from contextvars import ContextVar
from typing import Any, SupportsIndex, overload

from .. import config
from ..errors import error


class Size(tuple[int, ...]):
    """A shape: a tuple of integers.

    >>> Size((2, 3)).numel()
    6
    """

    def numel(self) -> int:
        """Return the number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"{config.library_name}.Size({list(self)})"

    def __add__(self, other: tuple[int, ...]) -> Size:  # type: ignore[override]
        return Size(tuple.__add__(self, other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: tuple) -> Size:
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, n: Any) -> Size:
        return Size(tuple.__mul__(self, n))

    __rmul__ = __mul__

    @overload
    def __getitem__(self, i: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, i: slice) -> Size: ...
    def __getitem__(self, i: Any) -> Any:
        found = tuple.__getitem__(self, i)
        return Size(found) if isinstance(i, slice) else found


class Sizes(dict):
    """Shapes as Size, by the tuple: to find one takes less time than to make one."""

    def __missing__(self, shape: tuple) -> Size:
        if len(self) >= 4096:
            self.clear()
        found = self[shape] = Size(shape)
        return found


SIZES = Sizes()
_defaults: ContextVar[tuple] = ContextVar("minigrad.device", default=())  # new tensors are created on the last one


class device:
    """A device, where memory is allocated: `device("cpu")`, `device("cuda", 0)` or `device("cuda:0")`.

    `with device("cuda"):` creates tensors there unless a call names another device.  Tensors on `device("meta")` have shapes
    and dtypes but no memory: operations on them compute only shapes.

    >>> import minigrad
    >>> minigrad.device("cpu")
    device(type='cpu')
    >>> minigrad.ones(2).device == minigrad.device("cpu")
    True
    """

    __slots__ = ("index", "type")

    def __init__(self, type: str | device | int, index: int | None = None):
        if isinstance(type, device):
            type, index = type.type, type.index
        if isinstance(type, int) and not isinstance(type, bool):  # in PyTorch, a number means a GPU
            type, index = "cuda", type
        if not isinstance(type, str):
            raise error(TypeError, "device", f"{type!r} is not a device", "use 'cpu' or 'cuda'")
        name, colon, number = type.partition(":")
        if name not in ("cpu", "cuda", "meta") or colon and not number.isdecimal():
            raise error(RuntimeError, "device", f"{type!r} is not a device", "use 'cpu', 'cuda' or 'cuda:0'")
        self.type, self.index = name, int(number) if number else index

    def __enter__(self) -> device:
        _defaults.set((*_defaults.get(), self))
        return self

    def __exit__(self, *error: object) -> None:
        _defaults.set(_defaults.get()[:-1])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type={self.type!r}" + ("" if self.index is None else f", index={self.index}") + ")"


def default_device() -> device | None:
    """Return the device for new tensors, or None for the computer's own memory."""
    chosen = _defaults.get()
    return chosen[-1] if chosen else None


def get_default_device() -> device:
    """Return the device on which tensors are created if the call names none.

    >>> get_default_device()
    device(type='cpu')
    """
    return default_device() or CPU


def put_default_device(place: device | None) -> None:
    """Set the device for new tensors; None means the computer's own memory."""
    _defaults.set(() if place is None else (place,))


class Word:
    """A constant that appears in PyTorch's signatures."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"{config.library_name}.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class layout(Word):
    """The storage format of a tensor's elements; the only layout is `strided`.

    >>> import minigrad
    >>> minigrad.ones(2).layout
    minigrad.strided
    """


class memory_format(Word):
    """An order of elements in memory: row-major (`contiguous_format`), the input's (`preserve_format`), or channels last.

    `channels_last` is for 4-d images and `channels_last_3d` for 5-d volumes; both store dimension 1 innermost.

    >>> import minigrad
    >>> minigrad.ones(2, 3).t().contiguous(memory_format=minigrad.contiguous_format).stride()
    (2, 1)
    >>> minigrad.ones(1, 3, 2, 2).contiguous(memory_format=minigrad.channels_last).stride()
    (12, 1, 6, 3)
    """

    def __init__(self, name: str, dims: tuple[int, ...] = ()):
        super().__init__(name)
        self.dims = dims  # in memory order, outermost first; () for their own order


CPU, CUDA, META = device("cpu"), device("cuda", 0), device("meta")
strided = layout("strided")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = (
    memory_format("channels_last", (0, 2, 3, 1)),
    memory_format("channels_last_3d", (0, 2, 3, 4, 1)),
)


def row_major(order: Any, who: str) -> bool:
    """Return True if `memory_format=` requests row-major order; without it the input's order is kept."""
    if order is not None and not isinstance(order, memory_format):
        what = f"memory_format={order!r} is not a memory format"
        fix = "pass minigrad.contiguous_format, preserve_format, channels_last or channels_last_3d"
        raise error(TypeError, who, what, fix)
    return order is contiguous_format
