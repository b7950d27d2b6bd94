"""Record checkpoints: a region begins and keeps its inputs, and in backward it is computed again.

An operation that is computed again is an entry of its own, of the backward, that names the one it repeats (`of`).
"""

from __future__ import annotations

import weakref
from typing import Any

from .sights import Sights
from .values import Event, Group


class Regions(Sights):
    """Keep the checkpointed regions of a recording."""

    def __init__(self):
        super().__init__()
        self._began: weakref.WeakKeyDictionary[Any, int] = (
            weakref.WeakKeyDictionary()
        )  # region's node -> how many groups there were
        self._inputs: tuple = ()  # kept by the region that begins with the next operation: value, bytes, node
        self._begun: Event | None = None  # an operation that has not ended
        self._again: list[
            int
        ] = []  # of each region that runs again: the group that has its next operation, or one before

    def region_began(self, node: Any, inputs: list, edges: list) -> None:
        """A function begins that keeps its inputs."""
        self._began[node] = len(self.groups)
        self._inputs += tuple([(self.ref(t, "", e), t._a.nbytes, node) for t, e in zip(inputs, edges)])
        self._open = None  # its first operation is an entry of its own

    def again_began(self, node: Any) -> None:
        """It runs again, from its beginning."""
        self._closed.append(self._open)
        self._open = None
        self._again.append(self._began.get(node, len(self.groups)))

    def again_ended(self, node: Any) -> None:
        """Return to the backward pass."""
        if not self._again:  # the recording began meanwhile
            return
        if self._begun is not None and self._begun.group is not None and self._begun.group is self._open:
            self._open.events = (
                *self._open.events,
                self._begun,
            )  # it stopped there: all that was needed has been saved
        self._again.pop()
        self._open = self._closed.pop()

    def place_in_region(self, group: Group) -> None:
        """Note of a new entry whether it is computed again, or is the first one of a region."""
        if self._again:
            group.phase, group.again, group.of = "backward", True, self.repeated(group)
            if group.of is not None:  # where the function is no code of the user's, the line is that of the backward
                group.where = group.of.where
        elif self._inputs:
            group.kept += self._inputs
            self._inputs = ()

    def repeated(self, group: Group) -> Group | None:
        """Return the operation that an entry computes again: the next one of its name."""
        for i in range(self._again[-1], len(self.groups)):
            g = self.groups[i]
            if g.name == group.name and (g.again or g.phase == "forward"):
                self._again[-1] = i + 1
                return g.of if g.again else g
        return None
