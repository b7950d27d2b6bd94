"""The recordings that ran in this thread, as long as somebody holds them: where explanations look up a gradient."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from .recording import Record


class Recent(threading.local):
    """In the order in which they began."""

    def __init__(self):
        self.records: WeakKeyDictionary[Record, None] = WeakKeyDictionary()


recent = Recent()


def remember(rec: Record) -> None:
    """A recording begins in this thread."""
    recent.records[rec] = None


def alive() -> list[Record]:
    """Those that are still there, the latest first."""
    return list(recent.records)[::-1]
