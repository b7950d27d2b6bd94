"""The data of a recording: values (ValueInfo), primitives that ran (Event), and the operations they ran for (OpEntry).

These are plain holders without behavior. event_log.py and from_graph.py fill them in; build.py creates the document from them.
Values are referred to by their number in the recording, so that holders can be read without tensors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..arrays.devices import CPU
from ..arrays.kinds import host, place
from ..core.tensor import Box, Tensor
from .schema import Where

NOWHERE = Where()
DEVICE = str(CPU)
UNKNOWN = {"const": "…"}  # an argument that the graph does not contain


@dataclass(slots=True, eq=False)
class ValueInfo:
    """A value of the program: its tensor, its kind, and its content if the memory was written since.

    Tensor and array are None if only shape and dtype are known; a gradient has no tensor. `before` is a copy of the old
    content; if `lost` is set, only `summary` is left of it, and `contents` (contents.py), if they are recorded. `key` is the
    value's identity in the ledger.
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
    contents: str | None = None
    lost: bool = False
    within: bool = False  # True if it is a value of a method, whose recording is over
    element: str = ""  # its name in a container of the program
    gone: tuple | None = None  # weak references to array and tensor of a value that was given up (kept_bytes.py)

    @property
    def memory(self) -> Any:
        """The array, also of a value that was given up, as long as the program has it."""
        return self.array if self.gone is None else self.gone[0]()

    @property
    def owner(self) -> Any:
        """The tensor, likewise."""
        return self.tensor if self.gone is None or self.gone[1] is None else self.gone[1]()

    @property
    def is_past(self) -> bool:
        """True if the memory was written since."""
        return self.lost or self.before is not None

    @property
    def identity(self) -> int:
        """The number by which it is the same value in the recordings of a Function's methods."""
        return id(self.array)

    def held(self) -> Any:
        """Return the array, or a copy of its content before it was written."""
        return self.array if self.before is None else self.before

    def numbers(self) -> np.ndarray:
        """Return the same in the host's memory."""
        return host(self.held())

    def form(self) -> tuple[str, str, int]:
        """Return the dtype, the device and the number of bytes."""
        dtype = np.dtype(self.dtype or "f4")
        device = DEVICE if self.array is None else str(place(self.array))
        return name_of(dtype), device, math.prod(self.shape) * dtype.itemsize

    def content(self) -> np.ndarray | None:
        """Return the elements as far as they are known; None if only statistics are left."""
        if self.array is not None and not self.lost:
            return self.numbers()
        few = (self.summary or {}).get("values")
        return None if few is None else np.reshape(np.array(few, np.dtype(self.dtype)), self.shape)


@cache
def name_of(dtype: np.dtype) -> str:
    """Return the name of a dtype, which takes NumPy 3 us to find."""
    return str(dtype)


class Ref(NamedTuple):
    """A value among the arguments of a function."""

    value: int


def refs_in(given: Any) -> Iterator[int]:
    """Yield the values among the arguments of a function."""
    if type(given) is Ref:
        yield given.value
    elif isinstance(given, (tuple, list)):
        for a in given:
            yield from refs_in(a)


# shared, like empty tuples, by the many entries without content
NOTHING: Mapping = MappingProxyType({})
NO_MODULES: list[str] = []


class Event:
    """A primitive or custom Function that ran, or its view by a transform (layer_views.py), with its inputs and outputs."""

    __slots__ = ("above", "cls", "dims", "group", "inputs", "moving", "outputs", "tangents", "views")

    def __init__(self, cls: Any, group: OpEntry | None = None, inputs: Any = (), outputs: Any = (), above: Any = None):
        self.cls, self.group, self.inputs, self.outputs = cls, group, inputs, outputs
        self.above = above  # the transform that passed it on
        self.dims: Mapping[int, tuple] = NOTHING  # of a sight: the hidden dimensions of values
        self.moving: tuple | None = None  # True for inputs with a tangent, if that was noted
        self.tangents: Mapping[int, int] = NOTHING  # of a sight: those that a jvp of the program gives its values
        self.views: Sequence = ()  # (transform, shapes of the arguments as it saw them), outermost first


class Flow(NamedTuple):
    """The gradient that flowed to an input of an operation, as numbers of values; `partial` is text, `run` the engine's run."""

    value: int
    event: Event
    position: int  # of the input among those of its event
    partial: str
    upstream: int | None
    gives: int
    run: int = 0


class OpEntry:
    """One operation of the record: the events that ran for it, and the gradients that flowed through it."""

    __slots__ = ("again", "arguments", "cut", "edges", "events", "function", "given", "inplace", "kept", "layers", "modules",
                 "name", "nodes", "of", "phase", "run", "sights", "tangents", "tracks", "transfers", "upstreams",
                 "where")  # fmt: skip

    def __init__(self, phase: str, name: str, where: Where, layers: Any, of: OpEntry | None = None):
        self.phase, self.name, self.where, self.layers, self.of = phase, name, where, layers, of
        self.function: str | None = None
        self.modules: list[str] = NO_MODULES  # the modules around it, outermost first
        self.tracks = True  # False under no_grad
        self.inplace = self.again = False  # again: repeated for a checkpoint; `of` is the original
        self.cut: str | None = None  # why no gradient passes, if that was known when it ran (cuts.py)
        self.events: tuple[Event, ...] = ()
        self.sights: tuple[Event, ...] = ()  # the same as transforms saw it
        self.nodes: tuple = ()
        self.edges: tuple[Flow, ...] = ()
        self.run = 0  # of a backward entry: its run of the engine
        self.tangents: Mapping[int, int] = NOTHING
        self.transfers: tuple = ()  # its collectives and messages (transfers.py)
        self.upstreams: tuple = ()  # gradients that arrived at results: run, value, gradient
        self.kept: tuple = ()  # saved tensors: (ValueInfo, bytes, node)
        self.arguments: Mapping[str, int] = NOTHING  # of the called function: name -> value
        self.given: dict[str, Any] | None = None  # all arguments, with Refs for values; None if unknown

    def called(self) -> Sequence[Event]:
        """Return the events as the user's code called them: as they came to the innermost transform, if there is one."""
        return [s for s in self.sights if s.above is None] or self.events

    def without_tangents(self) -> Sequence[Event]:
        """Return the events without those of a jvp of the program, which computes tangents beside the operation's results."""
        pushed = next((s for s in self.sights if s.tangents), None)
        if pushed is None:
            return self.events
        moved = set(self.tangents.values()) - self.tangents.keys()
        seen = [s for s in self.sights if s.above is pushed.above] + [e for e in self.events if e.above is None]
        return [event for event in seen if moved.isdisjoint(event.outputs)]

    def same_layer(self, event: Event) -> Sequence[Event]:
        """Return all events on the layer of one of them."""
        return self.events if event in self.events else [s for s in self.sights if s.above is event.above]


def bottom(t: Tensor) -> np.ndarray:
    """Return the array below all transforms."""
    while type(t) is Box:
        t = t._value
    return t._a


def elements(t: Tensor) -> np.ndarray:
    """Return a tensor's elements for a look: unlike `t.numpy()`, this does not make recordings watch the memory for writes."""
    return host(bottom(t))
