"""Reading during a capture: whoever looks at a value is noticed, for the program must not depend on it unseen.

An argument that is a float is handed over as a Number: as an operand it stays a parameter, computed or decided with it
becomes a value that is compared at each call.  `item()`, `tolist()` and `numpy()` of a tensor from outside end the capture;
those of traced tensors are refused by the layer itself (trace.py).
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from ..core.frames import OFF, current
from ..core.tensor import Box, Tensor
from .captured_steps import VALUES

capturing: ContextVar[Any] = ContextVar("minigrad.capture", default=None)  # the running Trace


class Number(float):
    """An argument that is a float.  As an operand it stays a parameter; whoever computes or decides with it is noticed."""

    name: str
    touched: set[str]

    def __new__(cls, value: float, name: str, touched: set):
        made = float.__new__(cls, value)
        made.name, made.touched = name, touched
        return made


def noticed(method: str) -> Any:
    """A method of float that leaves a note."""
    plain = getattr(float, method)

    def run(self: Any, *args: Any) -> Any:
        if args and isinstance(args[0], Tensor):
            return NotImplemented
        self.touched.add(self.name)
        return plain(self, *args)

    return run


for _name in ("add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod divmod rdivmod pow rpow neg pos abs "
              "bool int float trunc floor ceil round eq ne lt le gt ge hash repr str format").split():  # fmt: skip
    setattr(Number, f"__{_name}__", noticed(f"__{_name}__"))


def plain(a: Any) -> Any:
    """A lifted number as Python's own."""
    return float.__pos__(a) if isinstance(a, Number) else a


def reading(t: Tensor, how: str) -> None:
    """Refuse that the user reads a tensor's values during a capture."""
    trace = capturing.get()
    if trace is not None and type(t) is not Box and current() is not OFF:
        raise trace.refuse(f"it reads the value of a tensor ({how}), which differs from call to call", fix=VALUES)
