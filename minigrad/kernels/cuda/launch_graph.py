"""Launches captured once and replayed: a step that makes the same requests at each call makes them in one driver call.

A capture runs the step's function and records its launches instead of running them (machine.py), with the addresses that
they read and write. So the step's memory is reserved for it (allocator.py), and arguments are of two kinds: those that have
the same address at each call, such as parameters, are used in place; others are copied to a fixed address. Results are
copied out, because the next replay overwrites them.
"""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from . import machine
from .allocator import ALLOCATOR
from .device_array import DeviceArray, full, like

# bytes copied in and out at a replay; beyond, the copies cost more than the launches that they save
LARGE = 16 << 20


class Graph:
    """The recorded requests of a function, with the memory that it uses."""

    def __init__(self, function: Callable, args: list):
        with ALLOCATOR.pooled() as self.pool, machine.current().capture() as self.asked:
            self.outs = function(*args)


class Launches:
    """A step: `function(*args)` of arrays on the device and numbers, launched directly, then captured, then replayed.

    `written` has the positions of the arguments that it writes to. Numbers are passed in device memory, which is updated when
    they change, so that they are not part of the capture. `why` is the reason if there is no graph.
    """

    def __init__(self, function: Callable, written: set, why: str = ""):
        self.function, self.written, self.why = function, written, why
        self.cells: dict[int, tuple[float, DeviceArray]] = {}  # the number arguments
        self.places: dict[int, int] | None = None  # addresses of arguments that have not moved
        self.copies: dict[int, DeviceArray] = {}  # fixed copies of those that have
        self.graph: Graph | None = None
        self.lock = threading.Lock()

    def __call__(self, *args: Any) -> tuple:
        with self.lock:
            outs = self.launched(args)
        machine.run_watchers()
        return outs

    def launched(self, args: tuple) -> tuple:
        """Return the step's results, launched in the way that is possible now."""
        given = [self.cell(k, a) if type(a) in (float, int) else a for k, a in enumerate(args)]
        if self.why or self.first(given):
            return self.function(*given)
        try:
            return self.replay(given)
        except machine.Uncapturable as e:
            self.why = str(e)
        return self.function(*given)

    def cell(self, k: int, value: float) -> DeviceArray:
        """Return the device memory of a number; a launch writes the number, without waiting."""
        known, cell = self.cells.get(k) or (None, full((), 0.0, np.float64))
        if known != value:
            cell.fill(value)
        self.cells[k] = value, cell
        return cell

    def first(self, args: list) -> bool:
        """Return True on the first call, which compiles kernels; later calls record which arguments have moved."""
        now = {k: a.address for k, a in enumerate(args) if type(a) is DeviceArray}
        if self.places is None:
            self.places = now
            return True
        moved = [k for k, address in self.places.items() if now[k] != address]
        for k in moved:
            del self.places[k]
            self.copies[k] = like(args[k])
        if moved:
            self.graph = None  # it reads their old addresses
        return False

    def replay(self, args: list) -> tuple:
        """Return the results of replaying the graph, capturing it first if there is none."""
        if self.graph is None:
            self.graph = Graph(self.function, [self.copies.get(k, a) for k, a in enumerate(args)])
            if sum([a.nbytes for a in (*self.copies.values(), *self.graph.outs)]) > LARGE:
                self.graph = None
                raise machine.Uncapturable("its arguments and results are large and would be copied at each call")
        for k, copy in self.copies.items():
            copy[...] = args[k]
        self.graph.asked.launch()
        for k in self.written & self.copies.keys():
            args[k][...] = self.copies[k]
        return tuple([o.copy("K") for o in self.graph.outs])

    def describe(self) -> str:
        """Return the way in which the step is launched, as text."""
        if self.why:
            return f"launched one by one, because {self.why}"
        return "captured once and replayed" if self.graph is not None else "captured at one of the next calls"
