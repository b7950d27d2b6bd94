"""Writes through `.data`, which the version counter does not notice, to tensors that a graph has saved.

The tensor that `.data` returns counts its own writes and notes them here.  The next backward compares the notes with the
tensors that its graph has saved.  A line that writes between two graphs, as an update by hand does, is soon left alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from ..arrays.memory import storage
from ..core.engine import behind, on_paths
from ..core.graph import name_of
from ..core.saved import Saved, Version, bottom, version
from ..errors import warn
from ..places import Place, noted, user_place
from . import debug
from .report import searches

WRITES = 64  # writes of one line that are noted, and after these the 128th, the 256th, ...
pending: dict[int, Written] = {}  # id of the memory -> the last write to it since the last backward
writes: Counter[Place | None] = Counter()  # line -> the number of its writes


class Written(NamedTuple):
    """A write through `.data`: the array and its memory (weak), the write's creation number, the operation and the line."""

    array: ref
    memory: ref
    at: int
    writer: str
    place: Place | None


class DataVersion(Version):
    """Version counter of the tensor that `.data` returns."""

    def __init__(self, array: Any):
        self.array = array

    def bump(self, writer: str, place: Place | None = None) -> None:
        """Count one more write, and note it for the next backward."""
        super().bump(writer, place)
        writes[self.place] = n = writes[self.place] + 1
        if n <= WRITES or n & (n - 1) == 0:
            memory = storage(self.array)
            pending[id(memory)] = Written(ref(self.array), ref(memory), self.at, writer, self.place)


@searches()
def look(who: str, roots: Sequence, wanted: set | None) -> None:
    """Warn about the saved tensors of a graph that a noted write has changed since then."""
    written = dict(pending)
    pending.clear()
    if debug.mode.on:  # which compares every saved tensor with its contents in forward
        return
    for node in behind(roots)[0] if wanted is None else on_paths(roots, wanted):
        for s in node._saved if type(node._saved) is tuple else ():
            if type(s) is not Saved or s.unpack is not None or version(s.tensor) != s.version:
                continue
            w = written.get(id(memory := storage(bottom(s.tensor)._a)))
            if w is not None and w.memory() is memory and w.at > node._seq and overlap(w.array(), bottom(s.tensor)._a):
                warn_written(who, node, s.tensor, w)


def overlap(a: Any, b: Any) -> bool:
    """Return True if two arrays on one memory may share elements."""
    return a is not None and (not isinstance(a, np.ndarray) or np.may_share_memory(a, b))


def warn_written(who: str, node: Any, saved: Any, w: Written) -> None:
    """Warn about a saved tensor that a write through `.data` has changed."""
    code = w.writer.rstrip("_")
    warn(
        "data-write",
        name_of(node),
        f"a tensor of shape {tuple(saved.shape)} that it saved for backward has new values: {w.writer} writes to its memory "
        "through .data, which the version counter does not notice, so backward computes with the new values",
        f"write after backward; or write `with minigrad.no_grad(): x.{code}_(...)`, which minigrad notices",
        w.place,
        noted(f"{who} was called", user_place()),
    )
