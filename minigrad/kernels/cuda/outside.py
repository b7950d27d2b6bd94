"""Indices out of range that compiled programs meet on a device: an error that comes when somebody looks.

A kernel raises nothing, and to ask the device after each call whether all was well would be to wait for it.  So a kernel
leaves an index that it cannot follow where the processor sees it as well, and the processor looks there after each call, and
whenever it has waited for the device anyway.  What a GPU has not reached by then is told by a later look.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...arrays.nowhere import inside
from ...errors import error
from . import machine
from .allocator import Block
from .device_array import DeviceArray, empty, placed

NONE = np.iinfo(np.int64).min


class OutsideError(IndexError):
    """A compiled program was given an index out of range, in this call or in one before it."""


class Outside:
    """What a program says `where` it follows indices, and for each of these places a cell for an index that leads nowhere."""

    def __init__(self, where: tuple[str, ...]):
        self.where = where

    @cached_property
    def found(self) -> np.ndarray:
        """The cells as the processor sees them; they are there from the first launch on, as compiling needs no device."""
        self.address, memory = machine.current().shared(8 * len(self.where))
        found = memory.view(np.int64)
        found.fill(NONE)
        machine.watchers.add(self)
        return found

    @cached_property
    def cells(self) -> DeviceArray:
        """The cells as kernels see them."""
        found = self.found
        return placed(Block(self.address, found.nbytes, 0, found), found.shape, found.dtype)

    def look(self) -> None:
        """Raise OutsideError for an index that has been found."""
        for where, index in zip(self.where, self.found.tolist()):
            if index != NONE:
                self.found.fill(NONE)
                raise error(OutsideError, where, f"index {index} is out of bounds, and was not followed",
                            "look at the indices, or classes, of this call and of those before it")  # fmt: skip


def later(where: tuple[str, ...]) -> DeviceArray | None:
    """Cells to be looked at when a captured program runs, as there is nothing to see before; None outside of a capture."""
    if inside.yes:
        return empty((len(where),), np.int64)
    asked = machine.current().asked
    if asked is None:
        return None
    outside = Outside(where)
    asked.kept.append(outside)
    return outside.cells
