"""The recordings that ran in this thread, as long as somebody holds them: where explanations look up a gradient.

Debug mode holds one itself, that of its last backward.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from .from_graph import graph_of
from .recorder import Record


class Recent(threading.local):
    """In the order in which they began."""

    def __init__(self):
        self.records: WeakKeyDictionary[Record, None] = WeakKeyDictionary()
        self.held: Record | None = None


recent = Recent()


def remember(rec: Record) -> None:
    """A recording begins in this thread."""
    recent.records[rec] = None


def debugged(edges: Sequence) -> Record:
    """The record for a backward from these edges, to run it under; it stays until the next one."""
    recent.held = rec = graph_of(edges)
    remember(rec)
    return rec


def alive() -> list[Record]:
    """Those that are still there, the latest first."""
    return list(recent.records)[::-1]
