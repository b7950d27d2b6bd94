"""The reads of a record: where the program uses the elements of a tensor outside of its operations.

Python reads them, as in `if loss > 0`, `x.item()` or `np.asarray(x)`: that is an event (minigrad/events.py).  Or the shape of
a result depends on them, as in `x[mask]`.  With other elements the program might take another way there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from ..core.tensor import Tensor
from ..ops.index import NonZero
from ..ops.sort import DataDependent
from .callers import outermost
from .schema import Read
from .values import Event, OpEntry

if TYPE_CHECKING:
    from .build import Numbers
    from .event_log import EventLog
    from .recorder import Record

READING = ("item", "numpy", "tolist", "__dlpack__")  # the events that read elements
NUMBERS = ("item", "float", "int", "tolist", "numpy")  # functions that give the numbers, for further computation
SHOWING = ("format", "repr", "str")  # functions that only show them
WORDS = {"array": "numpy", "array_ufunc": "numpy"}


def reader(frame: FrameType) -> tuple:
    """Return the name of the function of minigrad that the program has called, and the program's code and offset."""
    ours, user = outermost(frame)
    name = ours.f_code.co_name.strip("_")
    return WORDS.get(name, name), *((None, 0) if user is None else (user.f_code, user.f_lasti))


def noted_read(log: EventLog, t: Tensor, edge: Any, how: str, code: CodeType | None, offset: int) -> None:
    """Note a read by Python, after the operations so far."""
    if code is not None and how not in SHOWING:
        log.writes_into((t,))  # to read a detached tensor is no use of it: Python reads its source
        value, where = log.ref(t, "", edge), log._places(code, offset)
        log.writes_into(())
        cut = how in NUMBERS and (edge is not None or id(t) in log.cuts)
        log.reads.append((len(log.groups), value, how, where, cut))


def reads_of(rec: Record, number: Numbers) -> Iterator[Read]:
    """Yield the reads of values that the document has, in the order of the program, and each once."""
    places = {group: i for i, group in enumerate(rec.groups)}
    found = list(rec.reads)
    for group in number.ops:
        found += [(places[group], value, group.name, group.where, False) for value in rec.sizing(group)]
    seen = set()
    for _, value, how, where, cut in sorted(found, key=lambda read: read[0]):
        if value in number.new and (key := (value, how, where.file, where.line, *where.columns)) not in seen:
            seen.add(key)
            yield Read(number.new[value], how, where, cut)


def sizing(group: OpEntry) -> list[int]:
    """Return the values from outside of an operation that determine the shape of a result by their elements."""
    if group.phase == "backward":
        return []
    made = {output: event for event in group.events for output in event.outputs}
    events = [event for event in group.events if issubclass(event.cls, (NonZero, DataDependent))]
    return [value for event in events for value in sources(event.inputs[:1], made)]


def sources(values: Iterable, made: dict[int, Event]) -> Iterator[int]:
    """Yield the values outside of an operation from which its events, which `made` others, compute some values."""
    for value in values:
        if isinstance(value, int):
            yield from sources(made[value].inputs, made) if value in made else (value,)
