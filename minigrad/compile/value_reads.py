"""Reading during a capture: whoever looks at a value is noticed, for the program must not depend on it unseen.

An argument that is a float is handed over as a Number: as an operand it stays a parameter, computed or decided with it
becomes a value that is compared at each call.  `item()`, `tolist()` and `numpy()` of a tensor from outside end the capture;
those of traced tensors are refused by the layer itself (trace.py).
"""

from __future__ import annotations

from contextvars import ContextVar
from functools import wraps
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


_watched = False


def watch_reading() -> None:
    """Have item(), tolist() and numpy() of tensors from outside noticed during captures; installed by the first one."""
    global _watched
    if _watched:
        return
    _watched = True
    for name in ("item", "tolist", "numpy", "__dlpack__", "data_ptr"):
        setattr(Tensor, name, noticing(getattr(Tensor, name)))


def noticing(method: Any) -> Any:
    """A method that reads a tensor's memory, refused during a capture when it is the user who calls it."""

    @wraps(method)
    def run(self: Tensor, *args: Any, **options: Any) -> Any:
        trace = capturing.get()
        if trace is not None and type(self) is not Box and current() is not OFF:
            raise trace.refuse(
                f"it reads the value of a tensor ({method.__name__}), which differs from call to call", fix=VALUES
            )
        return method(self, *args, **options)

    return run
