"""A captured program as plain data: primitives that ran (Step) on values (Value), in the order in which they ran.

Each array has a new value whenever something is written to it, so that the steps are a program without writes.  trace.py
fills them in; ir.py and rules.py turn them into what can be fused.  `Refused` says why there is no such program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.kinds import as_array
from ..core.function import Function
from ..core.tensor import Tensor
from ..places import Place
from .symbols import Number, plain

HANDLED = tuple(map(np.dtype, ("f4", "f8", "i8", "?")))  # what the processor's loops compute with


class Refused(RuntimeError):
    """What the function does cannot be compiled.  `loud`: the user should be told; `fix` what he could do.

    `culprit` is the name in the function's text to which this is due, or an attribute, where it was seen there.
    """

    def __init__(self, why: str, place: Place | None = None, loud: bool = True, fix: str = "", culprit: str = ""):
        super().__init__(f"{why}" + (f"\n  at {place}" if place else ""))
        self.why, self.place, self.loud, self.fix, self.culprit = why, place, loud, fix, culprit
        self.is_own = False  # whether the culprit stands in the function itself, and not in one that it calls


VALUES = "use minigrad.where(condition, a, b) in place of `if` and of masks, and keep numbers as tensors"


class Value:
    """One array of the program at one moment."""

    __slots__ = ("array", "born", "content", "dtype", "kind", "layout", "name", "shape")

    def __init__(self, kind: str, array: Any, born: int, name: str = ""):
        self.kind, self.array, self.born, self.name = kind, array, born, name  # input | number | constant | computed
        self.shape, self.dtype = array.shape, array.dtype
        self.content: Any = None  # of a number, or a constant
        self.layout = layout(array) if kind == "input" else "C"


def layout(array: Any) -> str:
    """Return how an array lies in memory: in rows (C), in columns (F) or otherwise (A)."""
    return "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "A"


class Step:
    """One primitive that ran.  `written`: the value whose memory it wrote its result to, in place."""

    __slots__ = ("args", "cls", "outs", "phase", "place", "written")

    def __init__(self, cls: Any, args: list, outs: list, place: Any, phase: str, written: Any = None):
        self.cls, self.args, self.outs, self.place, self.phase, self.written = cls, args, outs, place, phase, written


class Draw:
    """A draw of random numbers as a step."""

    name, primitive, view = "draw", True, False

    @staticmethod
    def compute(sample: Any, generator: Any, size: tuple) -> Any:
        """Numbers of the generator's stream."""
        return as_array(sample(generator._rng, size))


def setting(a: Any) -> Any:
    """Return a number as formulas read it: a float may be a symbol there."""
    return a if type(a) is Number else plain(a)


def opaque(cls: type[Function]) -> bool:
    """Return whether a Function, or a class that it is made from, has said that it is not to be traced."""
    said = next(c for c in cls.__mro__ if "is_traceable" in vars(c))
    return said is not Function and not cls.is_traceable


def holds_tensor(a: Any) -> bool:
    """Return whether a tensor is hidden in a structure."""
    if isinstance(a, (tuple, list)):
        return any(map(holds_tensor, a))
    return isinstance(a, Tensor) or isinstance(a, dict) and any(map(holds_tensor, a.values()))
