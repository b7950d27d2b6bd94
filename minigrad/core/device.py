"""Where memory lies (device) and the shape of what lies there (Size)."""

from __future__ import annotations

import math

from ..errors import error


class Size(tuple):
    """A shape: a tuple of integers.

    >>> Size((2, 3)).numel()
    6
    """

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"minigrad.Size({list(self)})"

    def __add__(self, other: tuple) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __getitem__(self, i):
        found = tuple.__getitem__(self, i)
        return Size(found) if isinstance(i, slice) else found


class device:
    """A place for memory: `device("cpu")`, `device("cuda", 0)` or `device("cuda:0")`."""

    __slots__ = ("index", "type")

    def __init__(self, type: str | device, index: int | None = None):
        if isinstance(type, device):
            type, index = type.type, type.index
        name, _, number = type.partition(":")
        if name not in ("cpu", "cuda"):
            raise error(RuntimeError, "device", f"{type!r} is no device", "use 'cpu' or 'cuda'")
        self.type, self.index = name, int(number) if number else index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type={self.type!r}" + ("" if self.index is None else f", index={self.index}") + ")"


CPU = device("cpu")
