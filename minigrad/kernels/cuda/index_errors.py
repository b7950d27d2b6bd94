"""Indices out of range in compiled programs on a device: an error that is raised when the processor checks.

A kernel cannot raise, and checking the device after each call would mean waiting for it. So a kernel stores an invalid index
in memory that the processor sees as well, and the processor checks it after each call and after every wait for the device. A
later check finds what the GPU has not reached by then.
"""

from functools import cached_property

import numpy as np

from ...arrays.meta import inside
from ...errors import OutsideError, error
from . import machine
from .allocator import MemoryBlock
from .device_array import DeviceArray, empty, placed

NONE = np.iinfo(np.int64).min


class Outside:
    """The places `where` a program follows indices, with a cell for an invalid index at each of them."""

    def __init__(self, where: tuple[str, ...]):
        self.where = where

    @cached_property
    def found(self) -> np.ndarray:
        """The cells as the processor sees them, made at the first launch, because compiling needs no device."""
        self.address, memory = machine.current().shared(8 * len(self.where))
        found = memory.view(np.int64)
        found.fill(NONE)
        machine.watchers.add(self)
        return found

    @cached_property
    def cells(self) -> DeviceArray:
        """The cells as kernels see them."""
        found = self.found
        return placed(MemoryBlock(self.address, found.nbytes, 0, found), found.shape, found.dtype)

    def check(self) -> None:
        """Raise OutsideError if a kernel stored an index."""
        for where, index in zip(self.where, self.found.tolist()):
            if index != NONE:
                self.found.fill(NONE)
                raise error(OutsideError, where, f"index {index} is out of bounds and was not followed",
                            "check the indices or classes of this call and the ones before it")  # fmt: skip


def cells_to_check(where: tuple[str, ...]) -> DeviceArray | None:
    """Return cells to check when a captured program runs, since indices are unknown before; None outside of a capture."""
    if inside.active:
        return empty((len(where),), np.int64)
    asked = machine.current().asked
    if asked is None:
        return None
    outside = Outside(where)
    asked.kept.append(outside)
    return outside.cells
