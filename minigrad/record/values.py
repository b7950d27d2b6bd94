"""What a recording notes: values (Noted), primitives that ran (Event), and the operations they ran for (Group).

Plain holders without behaviour.  event_log.py and from_graph.py fill them in, build.py makes the document of the schema from
them.  Values go by their number in the recording, so that a holder can be read without its tensors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays.kinds import host
from ..core.tensor import Box, Tensor
from .schema import Where

NOWHERE = Where()


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


class Event:
    """One primitive or custom Function that ran, with the values that went in and out."""

    __slots__ = ("cls", "group", "inputs", "moving", "outputs", "views")

    def __init__(self, cls: Any, group: Group | None = None, inputs: Any = (), outputs: Any = ()):
        self.cls, self.group, self.inputs, self.outputs = cls, group, inputs, outputs
        self.moving: tuple | None = None  # which of the inputs had a tangent, as far as that was noted
        self.views: list = []  # (transform, shapes of the arguments as it saw them), outermost first


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

    __slots__ = ("arguments", "edges", "events", "function", "inplace", "kept", "layers", "modules", "name", "nodes", "of",
                 "phase", "run", "tangents", "upstreams", "where", "given")  # fmt: skip

    def __init__(self, phase: str, name: str, where: Where, layers: Any, of: Group | None = None):
        self.phase, self.name, self.where, self.layers, self.of = phase, name, where, layers, of
        self.function: str | None = None
        self.modules: list[str] = []  # the modules around it, outermost first
        self.inplace = False
        self.events: list[Event] = []
        self.nodes: list = []
        self.edges: list[Flow] = []
        self.run = 0  # of a backward entry: the run of the engine that it belongs to
        self.tangents: dict[int, int] = {}
        self.upstreams: tuple = ()  # what arrived at results: run, value, gradient
        self.kept: list = []  # (Noted, bytes, node)
        self.arguments: dict[str, int] = {}  # of the function that was called: name -> value
        self.given: dict[str, Any] | None = None  # all that it was given, values as Ref; None where that is not known


def bottom(t: Tensor) -> np.ndarray:
    """The array at the bottom of all transforms."""
    while type(t) is Box:
        t = t._value
    return t._a
