"""The reads and writes of threads in simulated kernels, element by element, and races between threads.

Two threads race for an element if one of them writes it, not both accesses are atomic, and no barrier of both is in between.
Every access carries its thread's vector clock: for each thread of the block, the number of barriers that it has passed, as
far as this thread can know. B comes after A if B's clock has a higher count for A's thread than A's own clock.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ...places import Place, parsed, running

Index = tuple[int, ...]
FEW = 5  # races in the text of a launch
_traces: list[KernelTrace] = []  # the open traces


@contextmanager
def watch() -> Iterator[KernelTrace]:
    """Record the reads and writes of kernels that the simulator runs in the block."""
    _traces.append(trace := KernelTrace())
    try:
        yield trace
    finally:
        _traces.remove(trace)


@dataclass(eq=False)
class KernelTrace:
    """The watched launches, in order.

    >>> print(KernelTrace())
    no kernel was launched
    """

    launches: list[Launch] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(map(str, self.launches)) or "no kernel was launched"


class Array(NamedTuple):
    """An array of a launch: global arrays have the names of parameters, shared ones of the variables that hold them."""

    name: str
    shape: Index
    dtype: np.dtype
    strides: Index
    shared: bool


class Access(NamedTuple):
    """One thread's read, write or (atomic) update of one element."""

    does: str
    array: Array
    index: Index
    block: Index
    thread: Index
    interval: int  # number of the block's barriers before it
    place: Place
    address: tuple  # equal for accesses of one element, even through two arrays
    number: int  # of the thread in its block
    clock: np.ndarray  # for each thread of the block, the number of barriers it has passed

    @property
    def element(self) -> str:
        return shown(self.array.name, self.index)

    def happens_before(self, other: Access) -> bool:
        """Return True if this access always happens before the other."""
        return self.block == other.block and bool(other.clock[self.number] > self.clock[self.number])

    def races(self, other: Access) -> bool:
        """Return True if two accesses of one element may happen in either order, and the order matters."""
        both = {self.does, other.does}
        mine, theirs = (self.block, self.thread), (other.block, other.thread)
        return (
            both not in ({"reads"}, {"updates"})
            and mine != theirs
            and not (self.happens_before(other) or other.happens_before(self))
        )


class Race(NamedTuple):
    """Two accesses of one element without a barrier in between."""

    kernel: str
    first: Access
    second: Access

    def __str__(self) -> str:
        one, two = (f"thread {a.thread} of block {a.block} {a.does} it at {a.place}" for a in self[1:])
        return f"race for {self.first.element}: {one}; {two}"


class Miss(NamedTuple):
    """An access outside of an array."""

    does: str
    name: str
    index: Index
    shape: Index
    block: Index
    thread: Index

    def __str__(self) -> str:
        has = f"which has {self.shape[0]} elements (0 to {self.shape[0] - 1})"
        of = has if len(self.shape) == 1 else f"of shape {self.shape}"
        where = f"thread {self.thread} of block {self.block}"
        return f"{where} {self.does} {shown(self.name, self.index)}, {of}"


class Launch:
    """One launch: its arguments, and the accesses of its threads in order."""

    def __init__(self, kernel: str, grid: Index, block: Index, cuda: Any):
        self.kernel, self.grid, self.block, self.cuda = kernel, grid, block, cuda
        self.arrays: list[Array] = []
        self.accesses: list[Access] = []
        self.outside: list[Miss] = []
        self.notes: dict[str, None] = {}  # accesses that are legal but probably unintended, as text
        self.written: set[tuple] = set()

    @cached_property
    def races(self) -> list[Race]:
        """The first race for each element that threads race for."""
        touched: dict[tuple, list[Access]] = {}
        for access in self.accesses:
            touched.setdefault(access.address, []).append(access)
        raced = (
            next((pair for pair in combinations(some, 2) if pair[0].races(pair[1])), None)
            for some in touched.values()
            if {a.does for a in some} not in ({"reads"}, {"updates"})
        )
        return [Race(self.kernel, *pair) for pair in raced if pair]

    def counts(self) -> dict[str, int]:
        """Return the numbers of elements read, written and updated."""
        done = [access.does for access in self.accesses]
        return {does: done.count(does) for does in ("reads", "writes", "updates") if does in done}

    def __str__(self) -> str:
        counts = ", ".join(f"{does} {n} element{'s' * (n > 1)}" for does, n in self.counts().items())
        sizes = f"{size(self.grid, 'block')} of {size(self.block, 'thread')}"
        arrays = [f"{'shared ' * a.shared}{a.name} {a.dtype}{list(a.shape)}" for a in self.arrays]
        more = len(self.races) - FEW
        lines = [*map(str, self.races[:FEW]), *([f"and {more} more races"] if more > 0 else [])]
        lines += [*map(str, self.outside), *self.notes] + ["no races"] * (not self.races)
        head = f"kernel {self.kernel}, {sizes}, over {', '.join(arrays)}: {counts or 'touches nothing'}"
        return "\n  ".join([head, *lines])

    # ------------------------------------------------------------------ while the kernel runs
    def enter(self) -> None:
        """Begin a new block, in which no thread has passed a barrier."""
        threads = math.prod(self.block)
        self.interval, self.clocks = 0, [np.zeros(threads, np.int64)] * threads

    def met(self, name: str, numbers: list[int]) -> None:
        """Record that these threads met at a barrier; shuffles and votes do not order memory."""
        self.interval += name.startswith("syncthreads")
        if name.startswith("sync"):
            clock = np.max([self.clocks[number] for number in numbers], 0)
            clock[numbers] += 1
            for number in numbers:
                self.clocks[number] = clock

    def watched(self, name: str, data: np.ndarray, shared: bool = False) -> WatchedArray:
        """Return an array that records accesses to its elements."""
        array = Array(name, data.shape, data.dtype, data.strides, shared)
        if array not in self.arrays:
            self.arrays.append(array)
        start, _ = np.lib.array_utils.byte_bounds(data) if data.size else (0, 0)
        steps = np.tensordot(data.strides, np.indices(data.shape), 1).astype(np.int64)
        places = steps - steps.min(initial=0) + start
        indices = {int(place): index for index, place in reversed(list(np.ndenumerate(places)))}
        return WatchedArray(self, array, name, data, places, indices)

    def shared(self, data: np.ndarray, frame: Any) -> WatchedArray:
        """Return a shared array, named like the variable that the kernel assigns it to."""
        call, tree = running(frame, ast.Call), parsed(frame.f_code.co_filename)
        made = [s for s in ast.walk(tree) if isinstance(s, ast.Assign) and s.value is call] if call and tree else []
        names = [t.id for s in made for t in s.targets if isinstance(t, ast.Name)]
        return self.watched(names[0] if names else "shared", data, True)

    def note(self, does: str, array: Array, index: Index, address: int) -> None:
        """Record an access of the current thread."""
        cuda, frame = self.cuda, sys._getframe(1)
        while frame.f_globals["__name__"] in (__name__, f"{__package__}.fake"):
            frame = frame.f_back
        place = Place(frame.f_code.co_filename, frame.f_lineno)
        block, thread = tuple(cuda.blockIdx), tuple(cuda.threadIdx)
        key = (block, address) if array.shared else (address,)
        access = Access(does, array, index, block, thread, self.interval, place, key, cuda.number,
                        self.clocks[cuda.number])  # fmt: skip
        self.accesses.append(access)
        if does == "writes":
            self.written.add(key)
        elif array.shared and key not in self.written:
            self.notes[f"{access.element} is read before any thread writes it, at {place}"] = None


class WatchedArray:
    """A watched array in a kernel, or a part of one; `places` are the addresses of its elements."""

    def __init__(self, launch: Launch, array: Array, name: str, data: np.ndarray, places: np.ndarray, indices: dict):
        self.launch, self.array, self.name, self.data = launch, array, name, data
        self.places, self.indices = places, indices

    def __getattr__(self, name: str) -> Any:
        return getattr(self.data, name)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: Any) -> Any:
        found = self.at("reads", index)
        if isinstance(found, np.ndarray):
            return WatchedArray(self.launch, self.array, shown(self.name, index), self.data[index], found, self.indices)
        return self.data[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        found = self.at("writes", index)
        for address in np.ravel(found) if isinstance(found, np.ndarray) else ():
            self.launch.note("writes", self.array, self.indices[int(address)], int(address))
        self.data[index] = value.data if isinstance(value, WatchedArray) else value

    def atomic(self, operation: Callable, index: Any, args: tuple) -> Any:
        """Run an atomic operation on an element."""
        self.at("updates", index)
        return operation(self.data, *args)

    def at(self, does: str, index: Any) -> Any:
        """Record an access to an element; return its address, or the addresses of a part."""
        from .fake import OutsideAccess

        try:
            found = self.places[index]
        except IndexError:
            raise OutsideAccess(does, self.data, index, self.name) from None
        if not isinstance(found, np.ndarray):
            self.launch.note(does, self.array, self.indices[int(found)], int(found))
        given = index if isinstance(index, tuple) else (index,)
        if any(not isinstance(i, slice) and i < 0 for i in given):
            self.launch.notes[f"{does} {shown(self.name, index)}, counted from the end"] = None
        return found


def begun(kernel: str, grid: Index, block: Index, cuda: Any) -> Launch | None:
    """Return a launch for the open traces; None if there are none."""
    if not _traces:
        return None
    launch = Launch(kernel, grid, block, cuda)
    for trace in _traces:
        trace.launches.append(launch)
    return launch


def size(sizes: Index, what: str) -> str:
    """Return the text for the size of a grid or a block.

    >>> size((3, 1, 1), "block"), size((4, 2, 1), "thread"), size((1, 1, 1), "thread")
    ('3 blocks', '4 x 2 threads', '1 thread')
    """
    last = max((i for i, n in enumerate(sizes, 1) if n > 1), default=1)
    return f"{' x '.join(map(str, sizes[:last]))} {what}{'s' * (math.prod(sizes) > 1)}"


def shown(name: str, index: Any) -> str:
    """Return the expression for an element or a part of an array.

    >>> shown("x_", (3, 4)), shown("x_", 7)
    ('x_[3, 4]', 'x_[7]')
    """
    return f"{name}[{', '.join(map(str, index if isinstance(index, tuple) else (index,)))}]"
