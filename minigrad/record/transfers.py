"""Record what travels between processes.

A collective or a message belongs to the custom Function that makes it, forward or backward.  Outside of such a Function it is
an entry itself, with the tensors that it writes.  Each call is a CollectiveCall (distributed/calls.py), which comes here
through the event `communicated`.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

from . import schema
from .regions import Regions
from .values import NOWHERE, Event, OpEntry

# calls whose results do not depend on the old contents of the tensors that they write
ANEW = frozenset(
    "recv all_gather all_gather_into_tensor gather scatter reduce_scatter reduce_scatter_tensor all_to_all "
    "all_to_all_single".split()
)


class Read:
    """The operation that reads a tensor in order to send it."""

    primitive, n_internal, name = True, 0, "send"


class Transfers(Regions):
    """The part of a recording that keeps the calls between processes."""

    def __init__(self):
        super().__init__()
        self._receiving: OpEntry | None = None  # the entry whose results are being written, with copies
        self._at_leaf = False  # whether a leaf's hooks may run, which no rule of backward calls
        self.backward_times: list[tuple[float, float]] = []  # begin and end of each run of the engine

    def leaf_began(self) -> None:
        """Note that a gradient is about to be added to a leaf's `.grad`, which may call hooks."""
        super().leaf_began()
        self._at_leaf = True

    def accumulated(self, leaf: Any, g: Any, before: Any, after: Any, copy: Any) -> None:
        """Note that it is added."""
        self._at_leaf = False
        super().accumulated(leaf, g, before, after, copy)

    def transfer_writes(self, call: Any, reads: tuple) -> None:
        """Begin an entry: the results of a call are there, and about to be written into tensors."""
        if self.communicating() is None:
            self._receiving = made = OpEntry("update" if self.runs else "forward", call.name, where(call), [])
            if reads and not self._runs:
                made.events = (Event(Read, made, [self.ref(t) for t in reads], []),)
            self.groups.append(made)

    def transfer_ended(self, call: Any, transfer: schema.Transfer) -> None:
        """Add a call to its entry, now that its results are written."""
        group = self._receiving or self.communicating()
        if group is None:
            return
        if self._receiving is not None:
            anew = call.name in ANEW
            for event in group.events:
                if event.cls is not Read:  # a copy, whose source is not a tensor of the program
                    event.inputs = [] if anew else event.inputs[:1]
            group.inplace = group.inplace and not anew
            self._receiving = None
        group.transfers += (transfer,)

    def communicating(self) -> OpEntry | None:
        """Return the entry of the custom Function that runs now, forward or backward."""
        if self._begun is not None and self._begun.group is not None and not self._begun.cls.primitive:
            return self._begun.group
        if self._runs and self._open is not None and self._open.function and not self._at_leaf:
            return self._open
        return None


def where(call: Any) -> schema.Where:
    """Return the line of a call."""
    place = call.place
    return NOWHERE if place is None else schema.Where(place.file, place.line, place.code)


def transfer_entry(call: Any) -> schema.Transfer:
    """Return a call as a record holds it; a message has no number."""
    (group, *ranks), number = call.group.key, call.number if call.number >= 0 else None
    done = perf_counter() if call.done is None else call.done
    return schema.Transfer(
        call.name, call.words, group, ranks, number, call.peer, call.tag, call.nbytes, call.label,
        call.divisor, call.group.ranks[call.group.rank()], call.began, call.waited, done,
    )  # fmt: skip
