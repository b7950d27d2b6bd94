"""Copies that the program does not wait for, and the main memory that they read or write.

On a GPU, an event after each copy tells that it is done; until then its array is kept, so that no other array gets the memory.
The simulator makes a copy when device memory is next used, which is as late as a GPU might. So a program that changes the
array too early computes with the wrong numbers there, too, and every time.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import Any

import numpy as np


class Events:
    """The copies of a GPU: the event after each one, and its array."""

    def __init__(self):
        self.arrays: dict[Any, np.ndarray] = {}

    def add(self, event: Any, a: np.ndarray) -> Any:
        """Keep an array until the event; return the event."""
        self.drop_done()
        self.arrays[event] = a
        return event

    def drop_done(self) -> None:
        """Drop the arrays whose copies are done."""
        for event in list(self.arrays):
            if event.is_done:
                self.arrays.pop(event, None)  # another thread may have dropped it


class Later:
    """A copy that the simulator has not made yet; like an event, it can be waited for."""

    def __init__(self, delayed: Delayed, target: np.ndarray, source: np.ndarray):
        self.delayed, self.target, self.source = delayed, target, source

    def sync(self) -> None:
        """Make this copy, after all earlier ones."""
        while self in self.delayed.copies:
            self.delayed.make_next()


class Delayed:
    """The copies of the simulator."""

    def __init__(self):
        self.copies: deque[Later] = deque()

    def add(self, target: np.ndarray, source: np.ndarray) -> Later:
        """Note a copy, and return it."""
        self.copies.append(Later(self, target, source))
        return self.copies[-1]

    def make_next(self) -> None:
        """Make the oldest copy."""
        with suppress(IndexError):  # another thread made it
            copy = self.copies.popleft()
            np.copyto(copy.target, copy.source)

    def make_all(self) -> None:
        """Make all copies, in their order."""
        while self.copies:
            self.make_next()

    def drop_done(self) -> None:
        """Do nothing: a copy that is made keeps no array."""
