"""Which operation the user called, read from the Python stack: the outermost function of the table of operations running.

A primitive knows nothing of whom it runs for; the stack does.  So `x.softmax(0)` is one operation of a recording, whatever
primitives it is made of, and its line is the user's.  It also tells the modules around.
recording.py asks for each primitive.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from ..core.tensor import Tensor
from ..errors import PACKAGE
from ..ops.registry import CODES, MODULES


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


def module_names(frame: FrameType | None, paths: dict[Any, dict]) -> list[str]:
    """The modules whose call a frame runs in: the outermost by its class, those in it by their paths from there.

    `paths` keeps the paths from one question to the next.
    """
    around = []
    while frame is not None:
        if frame.f_code in MODULES:
            around.append(frame.f_locals["self"])
        frame = frame.f_back
    names: list[str] = []
    inside: dict = {}
    for module in reversed(around):
        if module in inside:
            names.append(inside[module])
            continue
        if module not in paths:
            paths[module] = {part: path for path, part in module.named_modules() if part is not module}
        inside = paths[module]
        names.append(type(module).__name__)
    return names


@lru_cache(maxsize=4096)
def columns(code: CodeType, instruction: int) -> list[int]:
    """The first and last column, from 1, of the expression that an instruction belongs to; empty where that is not known."""
    nowhere = (None,) * 4
    line, last, start, end = next(islice(code.co_positions(), instruction // 2, None), nowhere)
    return [] if start is None or end is None or line != last else [start + 1, end]


def tensor_arguments(frame: FrameType) -> dict:
    """The parameters of a running function that were given tensors."""
    values = frame.f_locals
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount]
    return {n: values[n] for n in names if isinstance(values.get(n), Tensor)}
