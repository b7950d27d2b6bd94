"""Memory that is written while values in it are known: they keep their old contents, and tensors there get new values.

Operations of the program that write are entries of the log (event_log.py).  Code that is no operation, such as a hook, a method
of a custom Function or another thread, tells before it writes (`writes`).  NumPy does not tell, so memory that the program has
as an array (`lent`) is compared with a copy when a tensor there is used again.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np

from ..arrays.memory import storage
from ..core.frames import current
from ..core.inplace import shares
from ..core.tensor import Tensor
from . import contents, schema
from .cuts import Cut
from .snapshots import Lent, is_sole_owner, lendable, memory_key, restored_copy, same_view
from .summary import summary
from .transfers import Transfers
from .values import OpEntry, ValueInfo, bottom


def digest(v: ValueInfo) -> int:
    """Return a number that differs if a value's content does."""
    return crc32(v.numbers().tobytes())


class WrittenMemory(Transfers):
    """The part of a recording that keeps values as they were when their memory is written."""

    def __init__(self):
        super().__init__()
        # id of an array whose memory was written through another tensor -> the last write, None if that was no operation
        self._stale: dict[int, OpEntry | None] = {}
        self._by_memory: dict[int, list[ValueInfo]] = {}  # memory_key -> the values there
        self._sorted = 0  # number of values in that table
        self._adopted: list[ValueInfo] = []  # values of methods
        self.contents = False  # True to keep the elements of values that no expression gives
        self.has_gap = False  # True if the recording has paused
        self._alive: list[tuple] = []  # values in memory then
        self._lent: dict[int, Lent] = {}  # id of an array that owns memory -> that memory, if NumPy may write there
        self._watched: Any = ()  # arguments of the custom Function that is running (Record.may_write)
        self.cuts: dict[int, Cut] = {}  # id of a tensor -> how it was detached (cuts.py)
        self._into: frozenset[int] = frozenset()  # ids of the tensors that an operation writes now
        self._writing = False  # True while an operation of the program writes in place
        self._fetching = False  # True while a DataLoader fetches: its operations are no part of the model

    def settle(self) -> None:
        """Evaluate the log (event_log.py)."""
        raise NotImplementedError

    def writes(self, x: Tensor) -> None:
        """Keep the contents of values before a write that is no operation: of a hook, a method or another thread."""
        if self._writing or any(shares(t, x) for t, *_ in self._watched):
            return
        self.settle()
        if self.holds(bottom(x)):
            self.freeze(x, restored_copy(bottom(x), []) if is_sole_owner(bottom(x)) else None)
        self.forget(x)

    def lent(self, memory: Any, how: str) -> None:
        """Watch memory that the program gets as an array; writes to `x.data` are seen anyway."""
        frame, a = current(), bottom(memory) if isinstance(memory, Tensor) else memory
        if how == ".data" or self._fetching:
            return
        self.settle()
        if not frame.has(self) and not self.holds(a):
            return
        self.lend(a)
        while frame is not None:
            if frame.layer is self:
                frame.on_op, frame.eager_ok = None, False  # each operation is evaluated at once, before another write
            frame = frame.parent

    def freeze(self, x: Tensor, copy: np.ndarray | None = None) -> None:
        """Save the values in x's memory before a write, as views of a copy or as summaries."""
        self.freeze_all(self.overlapping(bottom(x)), storage(bottom(x)), copy)

    def freeze_all(self, there: list, whole: np.ndarray, copy: np.ndarray | None) -> None:
        """Save values in memory that `whole` owns, as views of its copy or as summaries."""
        for noted in there:
            if noted.before is None and not noted.lost:
                if copy is None:
                    self.lose(noted, *self.remains(noted))
                else:
                    noted.before = same_view(noted.array, whole, copy)

    def remains(self, noted: ValueInfo) -> tuple[dict, str | None]:
        """Return what is kept of a value that will be overwritten: the summary, and the elements if contents are recorded."""
        made = summary(noted.array, noted.kind in schema.LEAVES)
        return made, contents.written(noted.array) if self.contents else None

    def lose(self, noted: ValueInfo, summary: dict, text: str | None) -> None:
        """Note that only this is left of a value."""
        noted.summary, noted.contents, noted.lost = summary, text, True

    def overlapping(self, a: np.ndarray) -> list:
        """Return the values that share memory with an array, and are current or were until a write."""
        for v in self.values[self._sorted :]:
            memory = v.array if v.gone is None else v.memory
            if isinstance(memory, np.ndarray):
                self._by_memory.setdefault(memory_key(memory), []).append(v)
        self._sorted = len(self.values)
        found = []
        for key in {memory_key(a), 0} if memory_key(a) else list(self._by_memory):
            there = self._by_memory.get(key, [])
            there[:] = [v for v in there if (not v.is_past if v.within else self.is_current(v) or v.key in self._stale)]
            found += [
                v
                for v in there
                if (m := v.array if v.gone is None else v.memory) is not None
                and (not (m.size and a.size) or np.may_share_memory(m, a))
            ]
        return found

    def holds(self, a: np.ndarray) -> bool:
        """Return True if a write to an array would change a value."""
        return any([not v.is_past for v in self.overlapping(a)])

    def forget(self, x: Tensor, group: OpEntry | None = None) -> None:
        """Note that x's memory was written, maybe by an operation: tensors there have new values from now on."""
        alone = id(x) in self.cuts and id(x) not in self._into  # then the source has a new value, too
        there = self.overlapping(bottom(x))
        if not alone:
            self._ids.pop(id(bottom(x)), None)  # it may be known by another array, as a gradient in `.grad` is
        for noted in there:
            if (
                group is None
                or (noted.array if noted.gone is None else noted.memory) is not bottom(x)
                or alone
                and noted.key != id(x)
            ):
                self.outdate(noted, group)
            else:
                self._ids.pop(noted.key, None)
        if self._lent and id(whole := storage(bottom(x))) in self._lent:
            self._lent[id(whole)].copy = None

    def outdate(self, noted: ValueInfo, group: OpEntry | None = None) -> None:
        """Note that a tensor has another value from now on, which the next read of it sees: a result of the last write."""
        if not noted.within:
            self._ids.pop(noted.key, None)
            self._stale[noted.key] = group

    def is_current(self, v: ValueInfo) -> bool:
        """Return True if its tensor has this value now."""
        return self._ids.get(v.key) == v.index

    def keep_values_of(self, made: WrittenMemory) -> dict[int, int]:
        """Keep the values of a method's recording that is over, too; return those that are also values of this one."""
        self.settle()
        there = [v for v in made.values if isinstance(v.array, np.ndarray) and made.is_current(v)]
        same = {v.index: self._ids[v.key] for v in there if v.key in self._ids}
        for v in [*there, *made._adopted]:
            v.within = True
            self._by_memory.setdefault(memory_key(v.array), []).append(v)
            self._adopted.append(v)
        return same

    def lend(self, a: np.ndarray) -> None:
        """Note that the program has an array's memory, where NumPy may write unseen from now on."""
        if (whole := lendable(a)) is None:
            return
        if (known := self._lent.get(id(whole))) is not None:
            self.note_unseen_write(known)
        else:
            self._lent[id(whole)] = Lent(whole)

    def note_unseen_write(self, lent: Lent) -> None:
        """Note that tensors have new values if NumPy has written to their memory."""
        if lent.is_changed():
            there = self.overlapping(lent.whole)
            self.freeze_all(there, lent.whole, lent.copy)
            for noted in there:
                self.outdate(noted)
            self._lent[id(lent.whole)] = Lent(lent.whole)

    def note_unseen_writes(self) -> None:
        """Note what NumPy has written so far."""
        for lent in list(self._lent.values()):
            self.note_unseen_write(lent)

    def note_alive(self) -> None:
        """Note the contents of all values that are still in memory, which the program may write unseen."""
        self.settle()
        self.has_gap = True
        alive = [v for v in self.values if v.array is not None and not v.is_past and self.is_current(v)]
        self._alive = [(v, digest(v), self.remains(v)) for v in alive]

    def forget_written(self) -> None:
        """Note that tensors whose memory was written unseen have new values from now on."""
        for v, before, remains in self._alive:
            if digest(v) != before:
                self.lose(v, *remains)
                self.outdate(v)
