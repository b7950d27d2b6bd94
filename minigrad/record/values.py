"""What a recording notes: values (Noted), primitives that ran (Event), and the operations they ran for (Group).

Plain holders without behaviour.  event_log.py and from_graph.py fill them in, build.py makes the document of the schema from
them.  Values go by their number in the recording, so that a holder can be read without its tensors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..arrays.kinds import host
from ..core.tensor import Box, Tensor
from .schema import Where

NOWHERE = Where()
UNKNOWN = {"const": "…"}  # an argument of which a graph knows nothing


@dataclass(slots=True, eq=False)
class Noted:
    """A value of the program: the tensor it was, what it is, and what it held if the memory was written since.

    Tensor and array are None for a value of which only shape and dtype are known; a gradient has no tensor.  `before` is a
    copy of what the array held, `summary` stands in its place where there is one; `lost` says that there is no more.
    `key` is what the ledger finds it by.
    """

    index: int
    tensor: Any
    array: Any
    kind: str
    shape: tuple
    dtype: Any
    key: int = 0
    name: str = ""
    before: np.ndarray | None = None
    summary: dict | None = None
    lost: bool = False

    def held(self) -> Any:
        """The array, or what it held before it was written."""
        return self.array if self.before is None else self.before

    def numbers(self) -> np.ndarray:
        """The same in the computer's memory."""
        return host(self.held())


class Ref(NamedTuple):
    """A value among the arguments of a function."""

    value: int


def refs_in(given: Any) -> Iterator[int]:
    """The values among the arguments of a function."""
    if type(given) is Ref:
        yield given.value
    elif isinstance(given, (tuple, list)):
        for a in given:
            yield from refs_in(a)


# shared, as empty tuples are, by the many entries that have nothing else
NOTHING: Mapping = MappingProxyType({})
NO_MODULES: list[str] = []


class Event:
    """One primitive or custom Function that ran, or as a transform saw it (sights.py), with the values that went in and out."""

    __slots__ = ("above", "cls", "dims", "group", "inputs", "moving", "outputs", "views")

    def __init__(self, cls: Any, group: Group | None = None, inputs: Any = (), outputs: Any = (), above: Any = None):
        self.cls, self.group, self.inputs, self.outputs = cls, group, inputs, outputs
        self.above = above  # the transform that passed it on
        self.dims: Mapping[int, tuple] = NOTHING  # of a sight: the dimensions of values that it does not see
        self.moving: tuple | None = None  # which of the inputs had a tangent, as far as that was noted
        self.views: Sequence = ()  # (transform, shapes of the arguments as it saw them), outermost first


class Flow(NamedTuple):
    """What flowed back to an input of an operation: values, but for the partial in words and the run of the engine."""

    value: int
    event: Event
    position: int  # of the input among those of its event
    partial: str
    upstream: int | None
    gives: int
    run: int = 0


class Group:
    """One operation of the record: the events that ran for it, and what flowed back through it."""

    __slots__ = ("again", "arguments", "edges", "events", "function", "inplace", "kept", "layers", "modules", "name", "nodes",
                 "of", "phase", "run", "sights", "tangents", "transfers", "upstreams", "where", "given")  # fmt: skip

    def __init__(self, phase: str, name: str, where: Where, layers: Any, of: Group | None = None):
        self.phase, self.name, self.where, self.layers, self.of = phase, name, where, layers, of
        self.function: str | None = None
        self.modules: list[str] = NO_MODULES  # the modules around it, outermost first
        self.inplace = self.again = False  # again: computed again for a checkpoint; `of` is what it repeats
        self.events: tuple[Event, ...] = ()
        self.sights: tuple[Event, ...] = ()  # the same as transforms saw it
        self.nodes: tuple = ()
        self.edges: tuple[Flow, ...] = ()
        self.run = 0  # of a backward entry: the run of the engine that it belongs to
        self.tangents: Mapping[int, int] = NOTHING
        self.transfers: tuple = ()  # the collectives and messages that it consists of (transfers.py)
        self.upstreams: tuple = ()  # what arrived at results: run, value, gradient
        self.kept: tuple = ()  # (Noted, bytes, node)
        self.arguments: Mapping[str, int] = NOTHING  # of the function that was called: name -> value
        self.given: dict[str, Any] | None = None  # all that it was given, values as Ref; None where that is not known

    def called(self) -> Sequence[Event]:
        """The events as the user's code asked for them: as they came to the innermost transform, where there is one."""
        return [s for s in self.sights if s.above is None] or self.events

    def beside(self, event: Event) -> Sequence[Event]:
        """The events on the layer of one of them."""
        return self.events if event in self.events else [s for s in self.sights if s.above is event.above]


def bottom(t: Tensor) -> np.ndarray:
    """The array at the bottom of all transforms."""
    while type(t) is Box:
        t = t._value
    return t._a
