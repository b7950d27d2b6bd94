"""The recordings of this thread that are still alive; explanations look up gradients in them.

Debug mode keeps the recording of its last backward alive.
"""

import threading
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from ..core.frames import EAGER, current
from ..diagnose import debug
from ..events import Interceptor
from .callbacks import unsettled
from .from_graph import graph_of
from .recorder import Record


class Recent(threading.local):
    """The recordings, in the order in which they began."""

    def __init__(self):
        self.records: WeakKeyDictionary[Record, None] = WeakKeyDictionary()
        self.held: Record | None = None


recent = Recent()


def remember(rec: Record) -> None:
    """Add a recording that begins in this thread."""
    recent.records[rec] = None


def debugged(edges: Sequence) -> Record:
    """Return a record for a backward from these edges, to run it under; it is kept until the next one."""
    recent.held = rec = graph_of(edges)
    remember(rec)
    return rec


class RecordsOfTensors(Interceptor):
    """Lets recordings look at tensors in time, and debug mode keep the record of its last backward."""

    def replaces(self) -> None:
        """Let recordings look at tensors now, before one gets another array."""
        for rec in list(unsettled):
            rec.settle()

    def around_backward(self, edges: list) -> Record | None:
        """Return a record to run plain code under in debug mode; `explain` finds its gradients there."""
        return debugged(edges) if debug.mode.on and current().layer is EAGER else None


def alive() -> list[Record]:
    """Return the recordings that are still alive, the latest first."""
    return list(recent.records)[::-1]
