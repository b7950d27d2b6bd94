"""A captured program as plain data: primitives that ran (CapturedStep) on values (CapturedValue), in execution order.

An array gets a new value at every write, so that the steps are a program without writes. trace.py creates the steps; ir.py
and rules.py turn them into operations that can be fused. `Refused` carries the reason if there is no such program.
"""

from typing import Any

import numpy as np

from ..arrays.kinds import as_array
from ..core.function import Function
from ..core.tensor import Tensor
from ..errors import Interruption
from ..places import Place
from .symbols import SymbolicFloat, plain

HANDLED = tuple(map(np.dtype, ("f4", "f8", "i8", "?")))  # dtypes of the CPU loops


class Refused(Interruption, RuntimeError):
    """The reason why a function cannot be compiled. If `loud`, the user gets a warning; `fix` is advice."""

    def __init__(self, why: str, place: Place | None = None, loud: bool = True, fix: str = ""):
        super().__init__(f"{why}" + (f"\n  at {place}" if place else ""))
        self.why, self.place, self.loud, self.fix = why, place, loud, fix


OUTSIDE = "call it outside of the compiled function, and pass the result as an argument"
RETURN = "return the new value, and let the caller store it"
VALUES = "use minigrad.where(condition, a, b) instead of `if` and masks, and keep numbers as tensors"


class CapturedValue:
    """One array of the program at one moment."""

    __slots__ = ("array", "born", "content", "dtype", "kind", "layout", "name", "shape")

    def __init__(self, kind: str, array: Any, born: int, name: str = ""):
        self.kind, self.array, self.born, self.name = kind, array, born, name  # input | number | constant | computed
        self.shape, self.dtype = array.shape, array.dtype
        self.content: Any = None  # of a number or constant
        self.layout = layout(array) if kind == "input" else "C"


def layout(array: Any) -> str:
    """Return the memory layout of an array: by rows (C), by columns (F) or other (A)."""
    return "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "A"


class CapturedStep:
    """One primitive that ran. `written` is the value whose memory it overwrites, if it runs in place."""

    __slots__ = ("args", "cls", "outs", "phase", "place", "written")

    def __init__(self, cls: Any, args: list, outs: list, place: Any, phase: str, written: Any = None):
        self.cls, self.args, self.outs, self.place, self.phase, self.written = cls, args, outs, place, phase, written


class Draw:
    """A step that draws random numbers."""

    name, primitive, view, lowering = "draw", True, False, ""

    @staticmethod
    def compute(sample: Any, generator: Any, size: tuple) -> Any:
        """Return numbers of the generator's stream."""
        return as_array(sample(generator._rng, size))


def setting(a: Any) -> Any:
    """Return a number in the form that formulas read: a float may be a symbol."""
    return a if type(a) is SymbolicFloat else plain(a)


def opts_out_of_tracing(cls: type[Function]) -> bool:
    """Return True if a Function, or one of its base classes, opts out of tracing."""
    owner = next(c for c in cls.__mro__ if "is_traceable" in vars(c))
    return owner is not Function and not cls.is_traceable


def holds_tensor(a: Any) -> bool:
    """Return True if a structure contains a tensor."""
    if isinstance(a, (tuple, list)):
        return any(map(holds_tensor, a))
    return isinstance(a, Tensor) or isinstance(a, dict) and any(map(holds_tensor, a.values()))
