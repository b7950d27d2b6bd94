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
from ..core.engine import nodes_on_paths, reachable
from ..core.graph import name_of
from ..core.saved import Saved, Version, plain_tensor, version
from ..errors import warn
from ..places import Place, noted, user_frame, user_place
from . import debug
from .report import searches

FIRST = 64  # reads of .data, and writes, of one line that are noted; after these the 128th, the 256th, ...
SMALL, FEW = 1 << 18, 4  # arrays with more elements are copied at the first few reads of a line only
LARGEST = 1 << 24  # elements whose places in memory are compared one by one
pending: dict[int, list[Written]] = {}  # id of the array -> the writes to it since the last backward
reads: Counter[tuple | None] = Counter()  # place in the user's code -> the number of its reads of .data
writes: Counter[Place | None] = Counter()  # line -> the number of its writes


class Written(NamedTuple):
    """A write through `.data`: array and memory (weak), contents before it, creation number, operation and line."""

    array: ref
    memory: ref
    before: np.ndarray | None
    at: int
    writer: str
    place: Place | None


class DataVersion(Version):
    """Version counter of the tensor that `.data` returns; it keeps the contents, for the writes may leave them as they are."""

    def __init__(self, array: Any):
        user = user_frame(3)  # from the property on; several observers may hear of `lent`
        at = None if user is None else (user.f_code, user.f_lasti)
        reads[at] = n = reads[at] + 1
        self.array, self.before = array, contents(array) if is_noted(n) and (n <= FEW or array.size <= SMALL) else None

    def bump(self, writer: str, place: Place | None = None) -> None:
        """Count one more write, and note it for the next backward."""
        super().bump(writer, place)
        writes[self.place] = n = writes[self.place] + 1
        if is_noted(n):
            noted, memory = pending.setdefault(id(self.array), []), storage(self.array)
            noted[:] = [w for w in noted if w.array() is self.array]  # of no earlier array with this id
            noted.append(Written(ref(self.array), ref(memory), self.before, self.at, writer, self.place))
            self.before = None if self.before is None else contents(self.array)


def contents(array: Any) -> np.ndarray | None:
    """Return a copy of an array in the computer's memory; None for one on a GPU."""
    return array.copy() if type(array) is np.ndarray else None


def is_noted(n: int) -> bool:
    """Return True for the first times that a line does something, and for ever fewer ones after these."""
    return n <= FIRST or n & (n - 1) == 0


@searches()
def check_written(who: str, roots: Sequence, wanted: set | None) -> None:
    """Warn about the saved tensors of a graph that a noted write has changed since then."""
    written: dict[int, list[tuple[Written, Any]]] = {}
    for writes_to_it in pending.values():
        for w, later in zip(writes_to_it, [*writes_to_it[1:], None]):
            if (memory := w.memory()) is not None:
                written.setdefault(id(memory), []).append((w, w.array() if later is None else later.before))
    pending.clear()
    if debug.mode.on:  # which compares every saved tensor with its contents in forward
        return
    for node in reachable(roots)[0] if wanted is None else nodes_on_paths(roots, wanted):
        for s in node._saved if type(node._saved) is tuple else ():
            if type(s) is not Saved or s.unpack is not None or version(s.tensor) != s.version:
                continue
            a = plain_tensor(s.tensor)._a
            found = (w for w, after in written.get(id(storage(a)), ()) if w.at > node._seq and changes(w, after, a))
            if (w := next(found, None)) is not None:
                warn_written(who, node, s.tensor, w)


def changes(w: Written, after: Any, saved: Any) -> bool:
    """Return True if a write, which left an array with the contents `after`, has changed an element of a saved array."""
    if (a := w.array()) is None or not isinstance(a, np.ndarray):
        return a is not None
    if w.before is None or after is None or not np.may_share_memory(a, saved):
        return False
    differs = (after != w.before) & ((after == after) | (w.before == w.before))  # NaN for NaN is no change
    if not differs.any():
        return False
    return a.size + saved.size > LARGEST or bool(np.isin(places(a)[differs], places(saved)).any())


def places(a: np.ndarray) -> np.ndarray:
    """Return the address of each element of an array."""
    steps = [np.arange(n, dtype=np.int64) * s for n, s in zip(a.shape, a.strides)]
    return a.ctypes.data + sum(np.ix_(*steps), np.int64(0))


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
