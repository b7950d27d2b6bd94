"""The times of a recording with `times=True`: of each operation, each node of a backward, and each rule for tangents.

The clock stops where the profiler's does (autograd/profiler.py): around an operation below the recording, and around a node's
step in the engine, so that the recording's own work is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from ..autograd.dual import Level
from ..core.context import Ctx
from ..core.frames import Frame
from ..core.function import Function
from ..core.tensor import Tensor
from .event_log import EventLog


class TimedLevel(Level):
    """A dual level that sums up the time that its tangents take."""

    spent = 0.0  # seconds

    def op_done(self, frame: Frame, cls: Any, args: tuple, outs: tuple, ctx: Ctx | None = None) -> None:
        """Compute the tangents of an operation's outputs."""
        began = perf_counter()
        super().op_done(frame, cls, args, outs, ctx)
        self.spent += perf_counter() - began

    def write(self, frame: Frame, fn: type[Function], x: Tensor, others: tuple) -> None:
        """Compute the tangent of a tensor that is written."""
        began = perf_counter()
        super().write(frame, fn, x, others)
        self.spent += perf_counter() - began


class Clock:
    """Times the operations of one recording, and appends them to its log."""

    def __init__(self, log: Any, jvp: bool):
        self.log, self.level = log, TimedLevel() if jvp else None

    def run(self, event: Any, apply: Callable, *args: Any) -> Any:
        """Return apply(*args), an operation, and log the times of its values and of its tangents."""
        before = 0.0 if self.level is None else self.level.spent
        began = perf_counter()
        out = apply(*args)
        took = perf_counter() - began
        pushing = 0.0 if self.level is None else self.level.spent - before
        self.log.append([EventLog.took, event, took - pushing, pushing])
        return out

    def step(self, step: Callable) -> Callable:
        """Return the engine's `step` with the time of each node in the log."""

        def timed(node: Any, g: Any, run: Any) -> list:
            began = perf_counter()
            pairs = step(node, g, run)
            self.log.append([EventLog.node_took, node, perf_counter() - began])
            return pairs

        return timed
