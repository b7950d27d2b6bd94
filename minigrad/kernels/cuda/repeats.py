"""Calls of the same function on arrays of the same layouts: their launches are remembered, and only addresses change.

A small operation takes its time in Python, which decides on dtypes, shapes, grids and kernels. All of that follows from the
layouts of the arguments. So the second call with the same layouts records its allocations and launches, and further calls
repeat them: take memory, put the addresses into packed arguments, launch. A call that asks the device for anything else, such
as numbers, is never repeated.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from types import FunctionType, NoneType
from typing import Any, NamedTuple

import numpy as np

from ...arrays.dtypes import default
from ...arrays.meta import inside
from .. import fallback
from ..row_kernels import Plan
from . import kernel_modules, machine, simulator
from .allocator import ALLOCATOR, MemoryBlock
from .device_array import DeviceArray
from .functions import of_arrays
from .launcher import Prepared

LARGEST = 1 << 22  # bytes; with more, the GPU works for longer than Python
MOST = 4096  # calls that a thread remembers
BY_VALUE = {int, bool, str, NoneType, type(...), FunctionType, np.ufunc, Plan}


class Remembered(threading.local):
    """A thread's calls by function and layouts: None after the first, later a Repeat, or NEVER if they cannot be repeated."""

    def __init__(self):  # called in each thread
        self.calls: dict[tuple, Any] = {}


NEVER, UNKNOWN = object(), object()
remembered = Remembered()


@of_arrays("repeated call")
def call(f: Callable, *args: Any, **named: Any) -> Any:
    """Return f(*args, **named), repeating the requests of an earlier call if there was one with the same layouts."""
    if (
        machine.recorded.now is not None
        or inside.active
        or kernel_modules.launched is not None
        or fallback.only_definitions()
    ):
        return f(*args, **named)
    key, arrays = [f, default()], []  # the dtype of results of integers may be the default one
    if not described(args, key, arrays) or named and not described((named,), key, arrays):
        return f(*args, **named)
    calls, found = remembered.calls, tuple(key)
    repeat = calls.get(found, UNKNOWN)
    if type(repeat) is Repeat:
        return repeat(arrays)
    if repeat is NEVER:
        return f(*args, **named)
    if repeat is None:
        return recorded(f, args, named, found, arrays)
    if len(calls) >= MOST:
        calls.clear()
    calls[found] = None
    return f(*args, **named)


def described(values: Any, key: list, arrays: list) -> bool:
    """Add the layouts of arrays, and other values, to the key, and arrays to the list; return False if that is impossible."""
    for v in values:
        kind = type(v)
        if kind is DeviceArray:
            if v.block.nbytes > LARGEST:
                return False
            key += (v.known_layout or v.layout, v.address % 16)
            for k, other in enumerate(arrays):
                if other.block is v.block:
                    key.append((k, v.address - other.address))
                    break
            arrays.append(v)
        elif kind is tuple or kind is list or kind is dict:
            key += (kind, tuple(v) if kind is dict else len(v))
            if not described(v.values() if kind is dict else v, key, arrays):
                return False
        elif kind in BY_VALUE or isinstance(v, (type, np.dtype)):
            key += (kind, v)
        elif not add_number(kind, v, key):
            return False
    return True


def add_number(kind: type, v: Any, key: list) -> bool:
    """Add a number to the key; return False if it is none."""
    if kind is float:
        key += (kind, v, math.copysign(1, v))
    elif isinstance(v, np.generic) or kind is np.ndarray and not v.ndim:
        key += (kind, v.dtype, v.tobytes())
    else:
        return False
    return True


class ArrayPlace(NamedTuple):
    """An array of a call: the number of the array or block that holds it, the distance from its beginning, its layout."""

    number: int
    distance: int
    dtype: np.dtype
    shape: tuple
    strides: tuple
    layout: int


class Recording:
    """The requests of a call: blocks of memory, and launches with their arguments; `refused` if there were others."""

    def __init__(self, arrays: list):
        self.arrays, self.blocks = arrays, []
        self.launches: list[tuple] = []
        self.refused = False

    def place(self, a: DeviceArray) -> ArrayPlace | None:
        """Return where an array is; None if it belongs neither to an argument nor to the recorded memory."""
        layout = a.dtype, a.shape, a.strides, a.layout
        for k, b in enumerate(self.arrays):
            if a.block is b.block:
                return ArrayPlace(k, a.address - b.address, *layout)
        for k, block in enumerate(self.blocks):
            if a.block is block:
                return ArrayPlace(len(self.arrays) + k, a.address - block.address, *layout)
        return None


def recorded(f: Callable, args: tuple, named: dict, key: tuple, arrays: list) -> Any:
    """Return f(*args, **named), and remember its requests if they can be repeated."""
    machine.recorded.now = recording = Recording(arrays)
    try:
        found = f(*args, **named)
    finally:
        machine.recorded.now = None
    remembered.calls[key] = repeat_of(recording, found) or NEVER
    return found


def repeat_of(recording: Recording, found: Any) -> Repeat | None:
    """Return the repeat of recorded requests that led to these results; None if there is none."""
    results = () if found is None else found if isinstance(found, (tuple, list)) else (found,)
    if recording.refused or not recording.launches or not all([type(a) is DeviceArray for a in results]):
        return None
    places = []
    for a in results:
        place = recording.place(a)
        own = place is not None and place.number >= len(recording.arrays)
        same = [k for k, b in enumerate(recording.arrays) if a is b]
        if not own and not same:
            return None  # a view of an argument
        places.append(place if own else same[0])
    launches = [prepared(recording, *launch) for launch in recording.launches]
    if not all(launches):
        return None
    blocks = [block.nbytes for block in recording.blocks]
    return Repeat(blocks, launches, places, type(found))


def prepared(recording: Recording, kernel: Any, grid: Any, block: Any, args: tuple) -> Callable | None:
    """Return a launch that takes the addresses, or in the simulator the blocks, of a call's arrays."""
    places = [recording.place(a) if type(a) is DeviceArray else a for a in args]
    if None in places:
        return None
    if simulator.SIMULATED:
        return Simulated(kernel, grid, block, places)
    signature, fields = kernel_modules.described(args)
    words = zip(kernel_modules.address_words(signature), places)
    addresses = [(word, p.number, p.distance) for word, p in words if type(p) is ArrayPlace]
    return Prepared(kernel.compiled[signature], (*machine.three(grid), *machine.three(block)), fields, addresses)


class Simulated:
    """A launch in the simulator, which takes arrays."""

    def __init__(self, kernel: Any, grid: Any, block: Any, places: list):
        self.kernel, self.grid, self.block, self.places = kernel, grid, block, places

    def __call__(self, arrays: list) -> None:
        """Launch it with these arrays and blocks."""
        args = [array_at(arrays, p) if type(p) is ArrayPlace else p for p in self.places]
        self.kernel.simulate(self.grid, self.block, args)


class Repeat:
    """The requests of a call: the sizes of its blocks in bytes, its launches, and the places of its results."""

    def __init__(self, blocks: list[int], launches: list, results: list, kind: type):
        self.blocks, self.launches, self.results, self.kind = blocks, launches, results, kind

    def __call__(self, arrays: list) -> Any:
        """Return the results for these arrays."""
        memory = [*arrays, *[ALLOCATOR.take(nbytes) for nbytes in self.blocks]]
        if simulator.SIMULATED:
            for launch in self.launches:
                launch(memory)
        else:
            machine.current().repeat(self.launches, [m.address for m in memory])
        found = [array_at(memory, p) if type(p) is ArrayPlace else arrays[p] for p in self.results]
        return found[0] if self.kind is DeviceArray else None if self.kind is NoneType else self.kind(found)


def array_at(memory: list, place: ArrayPlace) -> DeviceArray:
    """Return the array at a place."""
    number, distance, dtype, shape, strides, layout = place
    holder = memory[number]
    block = holder if type(holder) is MemoryBlock else holder.block
    begin = holder.address + distance
    return DeviceArray(
        np.ndarray(shape, dtype, block.memory, begin - block.address, strides), block, None, begin, layout
    )
