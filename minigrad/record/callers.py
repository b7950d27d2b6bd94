"""Which operation the user called, read from the Python stack: the outermost function of the table of operations running.

A primitive knows nothing of whom it runs for; the stack does.  So `x.softmax(0)` is one operation of a recording, whatever
primitives it is made of, and its line is the user's.  recorder.py asks for each primitive, so a look costs little: code
objects of ours are told by their ids (their hash goes through all of their code), and lines are worked out later.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from ..core.graph import history
from ..core.tensor import Box, Tensor
from ..ops.base.registry import CODES, TABLE
from ..places import PACKAGE, Place
from .schema import Where

OUTSIDE: set[str] = set()  # files of programs that use minigrad
OURS: dict[int, Ours] = {}  # by the id of the code object


class Ours:
    """A code object of minigrad's own: the name of the operation it is, if any, and the names of its parameters."""

    __slots__ = ("code", "name", "parameters", "stands_for")

    def __init__(self, code: CodeType):
        self.code, name = code, CODES.get(code)
        self.name = None if name is None else name.rstrip("_")
        self.parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        # the operation, where the function does no more than to apply that to its arguments
        entry: Any = None if name is None else TABLE.get(name)
        self.stands_for = None
        if entry is not None and entry.choose is None and entry.function.__code__ is code:
            self.stands_for = entry.cls


def is_ours(code: CodeType) -> bool:
    """Whether code is minigrad's own; what it is goes into the tables above."""
    if not code.co_filename.startswith(PACKAGE):
        OUTSIDE.add(code.co_filename)
        return False
    OURS[id(code)] = Ours(code)
    return True


def called(frame: FrameType | None) -> tuple:
    """(name and frame of the outermost function of the table that is running, its frame with the arguments, the caller's).

    The two frames differ where the outermost one only passes its arguments on, as the one that takes `out=` does.
    """
    name = outer = signed = None
    known = OURS.get
    while frame is not None:
        code = frame.f_code
        ours = known(id(code))
        if ours is None:
            if code.co_filename in OUTSIDE or not is_ours(code):
                break
            ours = OURS[id(code)]
        if ours.name is not None:
            name, outer = ours.name, frame
            if code.co_argcount:
                signed = frame
        frame = frame.f_back
    return name, outer, signed, frame


def module_names(around: list, paths: dict[Any, dict]) -> list[str]:
    """What modules that are being called in each other are named: the outermost by its class, others by their path in it.

    `paths` keeps the paths from one question to the next.
    """
    names: list[str] = []
    inside: dict = {}
    for module in around:
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


def tensor_arguments(frame: FrameType, layers: tuple = ()) -> dict:
    """The parameters of a running function of ours that were given tensors: name -> tensor and its edge.

    They are tensors as they come out of the layers that the operation has passed.
    """
    values, found = frame.f_locals, {}
    for n in OURS[id(frame.f_code)].parameters:
        v = values.get(n)
        if isinstance(v, Tensor):
            while type(v) is Box and v._layer in layers:
                v = v._value
            found[n] = v, history(v)
    return found


class Places:
    """Lines of programs, by code object and offset in its bytecode.  Code goes by id: equal code may be in other files."""

    def __init__(self):
        self.lines: dict[int, tuple] = {}  # id of a code object -> itself, where its lines begin, their numbers
        self.known: dict[tuple, Where] = {}

    def __call__(self, code: CodeType, offset: int) -> Where:
        """The line at an offset."""
        found = self.known.get((id(code), offset))
        if found is None:
            _, starts, numbers = self.lines.get(id(code)) or self.read(code)
            place = Place(code.co_filename, numbers[bisect_right(starts, offset) - 1])
            name = "" if code.co_name == "<module>" else code.co_qualname
            found = self.known[id(code), offset] = Where(*place, place.code, name, columns(code, offset))
        return found

    def read(self, code: CodeType) -> tuple:
        """Note the lines of a code object."""
        spans = [(start, line) for start, _, line in code.co_lines() if line is not None]
        found = self.lines[id(code)] = code, [start for start, _ in spans], [line for _, line in spans]
        return found
