"""Record checkpoints: a region begins and saves its inputs, and backward computes it again.

A repeated operation is a separate entry of the backward, which refers to the original by `of`.
"""

import weakref
from typing import Any

from .layer_views import Sights
from .values import Event, OpEntry


class Regions(Sights):
    """The checkpointed regions of a recording."""

    def __init__(self):
        super().__init__()
        self._began: Any = weakref.WeakKeyDictionary()  # a region's node -> the number of groups before it
        self._inputs: tuple = ()  # saved by the region that begins with the next operation: value, bytes, node
        self._begun: Event | None = None  # an operation that has not ended
        self._again: list[int] = []  # of each region that runs again, the group of its next operation or an earlier one

    def region_began(self, node: Any, inputs: list, edges: list) -> None:
        """Note that a checkpointed function begins and saves its inputs."""
        self._began[node] = len(self.groups)
        self._inputs += tuple([(self.ref(t, "", e), t._a.nbytes, node) for t, e in zip(inputs, edges)])
        self._open = None  # its first operation is a separate entry

    def again_began(self, node: Any) -> None:
        """Note that a checkpointed function runs again, from its beginning."""
        self._closed.append(self._open)
        self._open = None
        self._again.append(self._began.get(node, len(self.groups)))

    def again_ended(self, node: Any) -> None:
        """Return to the backward pass."""
        if not self._again:  # the recording began in between
            return
        if self._begun is not None and self._begun.group is not None and self._begun.group is self._open:
            self._open.events = (
                *self._open.events,
                self._begun,
            )  # it stopped here, because all needed tensors are saved
        self._again.pop()
        self._open = self._closed.pop()

    def place_in_region(self, group: OpEntry) -> None:
        """Mark a new entry as computed again, or as the first one of a region."""
        if self._again:
            group.phase, group.again, group.of = "backward", True, self.repeated(group)
            if group.of is not None:  # a function outside the user's code has the line of the backward
                group.where = group.of.where
        elif self._inputs:
            group.kept += self._inputs
            self._inputs = ()

    def repeated(self, group: OpEntry) -> OpEntry | None:
        """Return the operation that an entry repeats: the next one with its name."""
        for i in range(self._again[-1], len(self.groups)):
            g = self.groups[i]
            if g.name == group.name and (g.again or g.phase == "forward"):
                self._again[-1] = i + 1
                return g.of if g.again else g
        return None
