"""Launches captured once and replayed: a step that asks the same of the GPU at each call asks it in one call of the driver.

A capture runs the step's function, and notes its launches instead of doing them (machine.py); what they read and write is
noted by address.  So the step's own memory stays its own (allocator.py), and arguments are of two kinds: those that lie at the
same place at each call, as parameters do, are read and written there; others are copied to a place that stays.  Results are
copied out, for the next replay overwrites them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from . import machine
from .allocator import ALLOCATOR
from .device_array import DeviceArray, full, like

# bytes copied in and out at a replay beyond which the copies cost more than the launches that it saves
LARGE = 16 << 20


class Graph:
    """What a function asks of the device, with the memory that it uses."""

    def __init__(self, function: Callable, args: list):
        with ALLOCATOR.pooled() as self.pool, machine.current().capture() as self.asked:
            self.outs = function(*args)


class Launches:
    """A step: `function(*args)` of arrays on the device and numbers, launched as it is, then captured, then replayed.

    `written` are the places of the arguments that it writes to.  Numbers are handed over in device memory, where another one
    is put when it changes, so that they are not part of what is captured.  `why` says why there is no graph, if so.
    """

    def __init__(self, function: Callable, written: set, why: str = ""):
        self.function, self.written, self.why = function, written, why
        self.cells: dict[int, tuple[float, DeviceArray]] = {}  # numbers among the arguments
        self.places: dict[int, int] | None = None  # addresses of arguments that have not moved
        self.copies: dict[int, DeviceArray] = {}  # the places of those that have
        self.graph: Graph | None = None
        self.lock = threading.Lock()

    def __call__(self, *args: Any) -> tuple:
        with self.lock:
            outs = self.launched(args)
        machine.look()
        return outs

    def launched(self, args: tuple) -> tuple:
        """The step, in whichever way it can be asked for now."""
        given = [self.cell(k, a) if type(a) in (float, int) else a for k, a in enumerate(args)]
        if self.why or self.first(given):
            return self.function(*given)
        try:
            return self.replay(given)
        except machine.Uncapturable as e:
            self.why = str(e)
        return self.function(*given)

    def cell(self, k: int, value: float) -> DeviceArray:
        """The memory of a number; a launch puts it there, which waits for nothing."""
        known, cell = self.cells.get(k) or (None, full((), 0.0, np.float64))
        if known != value:
            cell.fill(value)
        self.cells[k] = value, cell
        return cell

    def first(self, args: list) -> bool:
        """Whether this is the first call, in which kernels are compiled; else, it is noted which arguments have moved."""
        now = {k: a.address for k, a in enumerate(args) if type(a) is DeviceArray}
        if self.places is None:
            self.places = now
            return True
        moved = [k for k, address in self.places.items() if now[k] != address]
        for k in moved:
            del self.places[k]
            self.copies[k] = like(args[k])
        if moved:
            self.graph = None  # it read them where they were
        return False

    def replay(self, args: list) -> tuple:
        """The step by its graph, which is captured if there is none yet."""
        if self.graph is None:
            self.graph = Graph(self.function, [self.copies.get(k, a) for k, a in enumerate(args)])
            if sum([a.nbytes for a in (*self.copies.values(), *self.graph.outs)]) > LARGE:
                self.graph = None
                raise machine.Uncapturable("its arguments and results are large, and would be copied at each call")
        for k, copy in self.copies.items():
            copy[...] = args[k]
        self.graph.asked.launch()
        for k in self.written & self.copies.keys():
            args[k][...] = self.copies[k]
        return tuple([o.copy("K") for o in self.graph.outs])

    def told(self) -> str:
        """How it is launched, in words."""
        if self.why:
            return f"launched one by one, because {self.why}"
        return "captured once, and replayed" if self.graph is not None else "captured at one of the next calls"
