"""Which operation the user called, read from the Python stack: the outermost function of the table of operations running.

A primitive knows nothing of whom it runs for; the stack does.  So `x.softmax(0)` is one operation of a recording, whatever
primitives it is made of, and its line is the user's.  recording.py asks for each primitive.
"""

from __future__ import annotations

from types import FrameType

from ..core.tensor import Tensor
from ..errors import PACKAGE
from ..ops.registry import CODES


def called(frame: FrameType | None) -> tuple:
    """(name and frame of the outermost function of the table that is running, its frame with the arguments, the caller's).

    The two frames differ where the outermost one only passes its arguments on, as the one that takes `out=` does.
    """
    name = outer = signed = None
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        if frame.f_code in CODES:
            name, outer = CODES[frame.f_code].rstrip("_"), frame
            if frame.f_code.co_argcount:
                signed = frame
        frame = frame.f_back
    return name, outer, signed, frame


def tensor_arguments(frame: FrameType) -> dict:
    """The parameters of a running function that were given tensors."""
    values = frame.f_locals
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount]
    return {n: values[n] for n in names if isinstance(values.get(n), Tensor)}
