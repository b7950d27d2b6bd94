"""The limit of what a recording keeps: of values beyond it only statistics are left, unless the program still has them.

A recording refers to the arrays of all values, so it would need memory for each result of a program that drops its own. Beyond
`KEPT` bytes, it only knows where an array is: it forgets the place when the program drops the array.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from ..arrays.memory import storage
from . import schema
from .summary import summary
from .values import ValueInfo

KEPT = 2**28  # bytes of contents
LARGE = 2**16  # bytes of an array from which on a log entry is evaluated at once


class KeptBytes:
    """The part of a recording that gives up contents."""

    values: list[ValueInfo]
    _ids: dict[int, int]

    def __init__(self) -> None:
        super().__init__()
        self._weighed = 0  # number of values that are counted
        self.kept = 0  # the bytes of their memory
        self._counted: dict[int, Any] = {}  # id of memory -> a weak reference to it
        self.given_up = 0  # number of values of which only statistics were left

    small = 0  # bytes of memory that is always kept

    def weigh(self) -> None:
        """Give up the contents of new values beyond the limit."""
        for v in self.values[self._weighed :]:
            a = v.array
            if type(a) is not np.ndarray or a.size <= schema.WHOLE or v.is_past or v.kind in schema.LEAVES:
                continue
            whole = storage(a)
            if id(whole) in self._counted:
                known = self._counted[id(whole)]
            elif self.kept + whole.nbytes <= KEPT or whole.nbytes < self.small:
                known, self.kept = True, self.kept + whole.nbytes
            else:
                known = False
            self._counted[id(whole)] = known
            if known:
                continue
            self.give_up(v, whole)
        self._weighed = len(self.values)

    def give_up(self, v: ValueInfo, whole: np.ndarray) -> None:
        """Keep statistics of a value, and a weak reference to its array."""
        v.summary = v.summary or summary(v.array)
        index, key, ids, counted, memory = v.index, v.key, self._ids, self._counted, id(whole)

        def dropped(_: Any) -> None:
            counted.pop(memory, None)
            if ids.get(key) == index:
                del ids[key]

        tensor = v.tensor
        v.gone = ref(v.array, dropped), None if tensor is None else ref(tensor)
        v.array = v.tensor = None
        v.lost = True
        self.given_up += 1

    def words_of_limit(self) -> str:
        """Return the sentence on contents that were given up; "" if there are none."""
        lost = sum([v.gone is not None for v in self.values]) if self.given_up else 0
        values = "1 value has" if lost == 1 else f"{lost:,} values have"
        return f"contents are kept up to {KEPT >> 20} MB: {values} statistics only" if lost else ""

    def take_back(self) -> None:
        """Take the contents back that the program still has, unwritten: they need no memory of the recording."""
        for v in self.values if self.given_up else ():
            if v.gone is not None and (a := v.memory) is not None and self._ids.get(v.key) == v.index:
                v.array, v.lost, v.summary = a, False, None
                v.tensor = v.owner
                v.gone = None
