"""CollectiveCall: one collective or message, with its arguments in words, the user's line, and its times.

A CollectiveCall lives from the start of the communication until its results are written.  agreement.py compares the calls
of the ranks, and waiting.py reports where a rank waits.  Finished calls go to the functions in `listeners`, which make
pictures across ranks and timelines of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ..core.frames import current
from ..events import events
from ..places import Place, user_place
from ..scopes import setting

if TYPE_CHECKING:
    from .groups import ProcessGroup

listeners: list[Callable[[CollectiveCall], Any]] = []
_label: ContextVar[str] = ContextVar("minigrad.distributed.label", default="")
_divisor: ContextVar[int] = ContextVar("minigrad.distributed.divisor", default=1)


@dataclass(slots=True, eq=False)
class CollectiveCall:
    """One collective or message of this rank; times are in seconds of `time.perf_counter`.

    `number` counts the collectives of the group; all its ranks call them in the same order.  A message has number -1, and
    `peer` is the global rank of the other process.  `words` must be the same on all ranks.
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
    waited: float | None = None  # when the program began to wait for it
    done: float | None = None
    reads: tuple = ()  # tensors that are sent and keep their values: a recording reads them
    divisor: int = 1  # the caller has divided its tensors by this number, so that their sum is the mean

    def __str__(self) -> str:
        return self.words if self.place is None else f"{self.words} at {self.place}"

    @property
    def time_waited(self) -> float:
        """The seconds that the program has waited for this call."""
        return 0.0 if self.waited is None else (perf_counter() if self.done is None else self.done) - self.waited

    def writes(self) -> None:
        """Announce to recordings that results are about to be written."""
        events.communicated(self, False)

    def ended(self) -> None:
        """Note that the results are written, and call the listeners."""
        self.done = perf_counter()
        events.communicated(self, True)
        self.reads = ()
        for listener in listeners:
            listener(self)


def collective(name: str, words: str, group: ProcessGroup, nbytes: int, reads: tuple = ()) -> CollectiveCall:
    """Return the CollectiveCall of a group's next collective, with `nbytes` bytes on this rank."""
    group.calls += 1
    settings = {"label": _label.get(), "divisor": _divisor.get(), "reads": reads, "began": perf_counter()}
    return CollectiveCall(name, words, group, group.calls, nbytes, user_place(), **settings)


def message(name: str, words: str, group: ProcessGroup, nbytes: int, peer: int | None, tag: int) -> CollectiveCall:
    """Return the CollectiveCall of a message to or from `peer`; None means that any rank may be the sender."""
    return CollectiveCall(name, words, group, -1, nbytes, user_place(), _label.get(), peer, tag, perf_counter())


def report_communication(name: str) -> None:
    """Report to the surrounding layers that a call communicates: compiled programs cannot."""
    for layer in current().layers():
        layer.varies(f"{name} exchanges tensors with other processes", "call it outside of what is compiled")


@contextmanager
def labelled(label: str, divisor: int = 1) -> Iterator[None]:
    """Label the calls inside the block, for example with the gradients that they carry, already divided by `divisor`.

    >>> from minigrad.distributed.calls import labelled
    >>> with labelled("bucket 0: fc.weight, fc.bias"):
    ...     pass  # dist.all_reduce(bucket)
    """
    with setting(_label, label), setting(_divisor, divisor):
        yield


@contextmanager
def listening(listener: Callable[[CollectiveCall], Any]) -> Iterator[None]:
    """Call `listener` with each CollectiveCall that ends inside the block.

    >>> from minigrad.distributed.calls import listening
    >>> calls = []
    >>> with listening(calls.append):
    ...     pass  # a step of training
    >>> sum(call.time_waited for call in calls)
    0
    """
    listeners.append(listener)
    try:
        yield
    finally:
        listeners.remove(listener)
