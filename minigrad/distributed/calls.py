"""A call that communicates: what it asks for, at which of the user's lines, and how long it has taken.

Each collective and message is a Call from its beginning until its results are there.  agreement.py compares the calls of the
ranks, waiting.py says of one where it waits, and whoever is in `listeners` is told of it once it is done: pictures across
ranks and timelines are made of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ..core.events import slots
from ..core.frames import current
from ..places import Place, user_place

if TYPE_CHECKING:
    from .groups import ProcessGroup

listeners: list[Callable[[Call], Any]] = []
_label: ContextVar[str] = ContextVar("minigrad.distributed.label", default="")


@dataclass(slots=True, eq=False)
class Call:
    """One collective or message of this rank; times are in seconds of `time.perf_counter`.

    `number` counts the collectives of the group, which its ranks call in one order; a message has -1, and in `peer` the other
    rank, by its number among all.  `words` say what has to be the same on all ranks.
    """

    name: str
    words: str
    group: ProcessGroup
    number: int
    nbytes: int
    place: Place | None
    label: str = ""
    peer: int | None = None
    tag: int = 0
    began: float = 0.0
    waited: float | None = None  # since when the program has waited for it
    done: float | None = None
    reads: tuple = ()  # tensors that are sent, where no result is written into them: a recording looks at them

    def __str__(self) -> str:
        return self.words if self.place is None else f"{self.words} at {self.place}"

    @property
    def time_waited(self) -> float:
        """The seconds for which the program has waited for it."""
        return 0.0 if self.waited is None else (perf_counter() if self.done is None else self.done) - self.waited

    def writes(self) -> None:
        """Tell recordings that the results are there, and are about to be written."""
        if slots.transferring is not None:
            slots.transferring(self, False)

    def ended(self) -> None:
        """Note that the results are written, and tell the listeners."""
        self.done = perf_counter()
        if slots.transferring is not None:
            slots.transferring(self, True)
        self.reads = ()
        for told in listeners:
            told(self)


def collective(name: str, words: str, group: ProcessGroup, nbytes: int) -> Call:
    """Return the next collective of a group, of so many bytes on this rank."""
    group.calls += 1
    return Call(name, words, group, group.calls, nbytes, user_place(), _label.get(), began=perf_counter())


def message(name: str, words: str, group: ProcessGroup, nbytes: int, peer: int | None, tag: int) -> Call:
    """Return a message to or from `peer`, None where any rank may be the sender."""
    return Call(name, words, group, -1, nbytes, user_place(), _label.get(), peer, tag, perf_counter())


def outside_of_programs(name: str) -> None:
    """Tell the layers around that a call communicates: a compiled program has no such step."""
    for layer in current().layers():
        layer.varies(f"{name} exchanges tensors with other processes", "call it outside of what is compiled")


@contextmanager
def labelled(label: str) -> Iterator[None]:
    """Give the calls made meanwhile a label, such as the gradients that travel in them.

    >>> from minigrad.distributed.calls import labelled
    >>> with labelled("bucket 0: fc.weight, fc.bias"):
    ...     pass  # dist.all_reduce(bucket)
    """
    token = _label.set(label)
    try:
        yield
    finally:
        _label.reset(token)


@contextmanager
def listening(told: Callable[[Call], Any]) -> Iterator[None]:
    """Tell a function of each call that ends meanwhile.

    >>> from minigrad.distributed.calls import listening
    >>> calls = []
    >>> with listening(calls.append):
    ...     pass  # a step of training
    >>> sum(call.time_waited for call in calls)
    0
    """
    listeners.append(told)
    try:
        yield
    finally:
        listeners.remove(told)
