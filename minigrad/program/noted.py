"""What a recording notes: values (Noted), primitives that ran (Event), and the operations they ran for (Group).

Plain holders without behaviour.  recording.py and from_graph.py fill them in, build.py makes the document of the schema from
them.  Values go by their number in the recording, so that a holder can be read without its tensors.
"""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any

import numpy as np

from ..core.tensor import Box, Tensor
from ..errors import Place


class Noted:
    """A value of the program: the tensor it was, what it is, and its summary if the memory was written since.

    Tensor and array are None for a value of which only shape and dtype are known.
    """

    __slots__ = ("array", "dtype", "index", "kind", "name", "shape", "summary", "tensor")

    def __init__(self, index: int, tensor: Any, kind: str, name: str, shape: tuple, dtype: Any):
        self.index, self.tensor, self.kind, self.name, self.shape, self.dtype = index, tensor, kind, name, shape, dtype
        self.array = None if tensor is None else bottom(tensor)
        self.summary: dict | None = None


class Event:
    """One primitive or custom Function that ran, with the values that went in and out."""

    __slots__ = ("cls", "inputs", "outputs")

    def __init__(self, cls: type, inputs: list, outputs: list):
        self.cls, self.inputs, self.outputs = cls, inputs, outputs


class Group:
    """One operation of the record: the events that ran for it, and what flowed back through it."""

    def __init__(
        self, phase: str, name: str, frame: FrameType | None, place: Place | None, layers: list, of: Group | None = None
    ):
        self.phase, self.name, self.frame, self.place, self.layers, self.of = phase, name, frame, place, layers, of
        self.function: str | None = None
        self.modules: list[str] = []  # the modules around it, outermost first
        self.asked: tuple[CodeType, int] | None = None  # the user's code and its instruction
        self.inplace = False
        self.events: list[Event] = []
        self.nodes: list = []
        self.edges: list = []  # (input value, partial, upstream value, gives value)
        self.tangents: dict[int, int] = {}
        self.upstream: int | None = None
        self.kept: list = []  # (Noted, bytes, node)
        self.arguments: dict[str, int] = {}  # of the function that was called: name -> value


def bottom(t: Tensor) -> np.ndarray:
    """The array at the bottom of all transforms."""
    while type(t) is Box:
        t = t._value
    return t._a
