"""The user's line: which line of the user's program runs, what it says, and where a function of theirs is defined or returns.

Everything that minigrad reports names such a line.  Frames inside minigrad, and inside what calls it on behalf of the user
(NumPy, copy), are passed over.
"""

from __future__ import annotations

import copy
import dis
import inspect
import linecache
import os
import re
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

import numpy as np

transforms: ContextVar[tuple] = ContextVar(
    "minigrad.transforms", default=()
)  # names of those that run, outermost first
# the line that has called what goes on here, where that makes many writes: each would look for it among a dozen frames
held: ContextVar[Place | None] = ContextVar("minigrad.place", default=None)
PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


# code that calls minigrad on behalf of the user's line: np.mean(losses), copy.deepcopy(loss), `import torch` after as_torch()
BETWEEN = (PACKAGE, os.path.dirname(np.__file__) + os.sep, copy.__file__, "<frozen importlib.")


class Place(NamedTuple):
    """A line of the user's program; its text is read only when it is shown."""

    file: str
    line: int

    @property
    def code(self) -> str:
        """The text of the line, without its indentation; empty where the source is not at hand."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        code = self.code
        return f"{cell_name(self.file) or self.file}:{self.line}" + (f": {code}" if code else "")

    @property
    def short(self) -> str:
        """File and line without the folders."""
        return f"{cell_name(self.file) or os.path.basename(self.file)}:{self.line}"


CELL = re.compile(r"<ipython-input-(\d+)-\w+>$|[/\\]ipykernel_\d+[/\\]\d+\.py$")


def cell_name(file: str) -> str:
    """Return a notebook's name for one of its cells, given the made-up file name of its code; "" for other files.

    >>> cell_name("<ipython-input-3-0f1e2d>"), cell_name("/home/ada/net.py")
    ('In[3]', '')
    """
    found = CELL.search(file)
    if found is None:
        return ""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    told = shell.compile.format_code_name(file) if shell is not None else None  # as ("Cell", "In[3]")
    return told[1] if told else f"In[{found[1]}]" if found[1] else "cell"


def user_frame(depth: int = 1) -> FrameType | None:
    """The innermost running frame of the user's, who may call minigrad through NumPy or copy."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and frame.f_code.co_filename.startswith(BETWEEN):
        frame = frame.f_back
    return frame


def user_place() -> Place | None:
    """The line of the user's program that is being run."""
    if (place := held.get()) is not None:
        return place
    frame = user_frame(2)
    return None if frame is None else Place(frame.f_code.co_filename, frame.f_lineno)


def raised_at(e: BaseException) -> Place | None:
    """The innermost line of the user's that an exception came through."""
    tb, found = users_part(e.__traceback__), None
    while tb is not None:
        found, tb = Place(tb.tb_frame.f_code.co_filename, tb.tb_lineno), tb.tb_next
    return found


def through_users_code(e: BaseException) -> bool:
    """Whether code that minigrad has called, an object's `__len__` or a function, has raised an exception or let it through."""
    return any(not ours(tb.tb_frame) for tb in list(chain(e.__traceback__))[1:])


def ours(frame: FrameType) -> bool:
    """Whether a frame is one of minigrad, of Python's library, or of the libraries that minigrad computes with."""
    root = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return (
        frame.f_code.co_filename.startswith(BETWEEN)
        or root in BELOW
        or root.startswith(("minigrad_kernel_", "minigrad_cuda_"))
    )


BELOW = sys.stdlib_module_names | {"minigrad", "numpy", "scipy", "numba", "llvmlite", "ml_dtypes", "optree"}


def chain(tb: TracebackType | None) -> Iterator[TracebackType]:
    """The parts of a traceback, from the frame that has caught the exception to the one that has raised it."""
    while tb is not None:
        yield tb
        tb = tb.tb_next


def users_code(f: Any) -> CodeType | None:
    """The code of a function of the user's, below its decorators; None for minigrad's own and what is not in Python."""
    code = getattr(inspect.unwrap(f), "__code__", None)
    return None if code is None or code.co_filename.startswith(PACKAGE) else code


def defined_at(f: Any) -> Place | None:
    """The line with the `def` of a function of the user's; None for minigrad's own and what is not in Python."""
    if (code := users_code(f)) is None:
        return None
    first, last = code.co_firstlineno, max(line for _, _, line in code.co_lines() if line is not None)
    places = [Place(code.co_filename, line) for line in range(first, last + 1)]  # decorators stand first
    return next((place for place in places if place.code.startswith("def ")), places[0])


def steps(f: Any) -> Iterator[tuple[str, Any, Place]]:
    """The bytecode of a function of the user's: instruction, what it works on, and its line."""
    code = users_code(f)
    for step in () if code is None else dis.get_instructions(code):
        line = None if step.positions is None else step.positions.lineno
        yield step.opname, step.argval, Place(code.co_filename, line or code.co_firstlineno)  # type: ignore[union-attr]


def returns(f: Any) -> list[Place]:
    """The lines at which a function of the user's says `return`; a lambda does so always."""
    places = dict.fromkeys([place for name, _, place in steps(f) if name.startswith("RETURN_")])
    return [place for place in places if not place.code or re.search(r"\b(return|lambda)\b", place.code)]


def returned_at(f: Any) -> Place | None:
    """The line of its `return`, if there is just one, or else of its `def`."""
    places = returns(f)
    return places[0] if len(places) == 1 else defined_at(f)


def return_of(f: Any) -> list[str]:
    """A note of the line at which a function of the user's returns, if there is just one, or else of its `def`."""
    places = returns(f)
    return noted("it returns", places[0]) if len(places) == 1 else noted("it is defined", defined_at(f))


def attribute_at(f: Any, does: tuple[str, ...], name: str) -> Place | None:
    """The line that stores (does=STORES) or reads (READS) an attribute called so, if just one does, or else the `def`."""
    places = {place for step, which, place in steps(f) if step in does and which == name}
    return places.pop() if len(places) == 1 else defined_at(f)


STORES, READS = ("STORE_ATTR",), ("LOAD_ATTR", "LOAD_METHOD")


def callee(frame: FrameType) -> Any:
    """Return what a running frame is calling, where variables and attributes name it; else None."""
    steps = list(dis.get_instructions(frame.f_code))
    now = next((s.positions for s in steps if s.offset == frame.f_lasti), None)
    if now is None or now.col_offset is None:
        return None
    start = now.lineno, now.col_offset  # a call begins where its function's name does
    before = [s for s in steps if s.offset < frame.f_lasti and s.opname.startswith("LOAD_")]
    names = [s.argval for s in before if (p := s.positions) is not None and (p.lineno, p.col_offset) == start]
    found: Any = {**frame.f_builtins, **frame.f_globals, **frame.f_locals}.get(names[0]) if names else None
    for name in names[1:]:
        found = getattr(found, name, None) if isinstance(name, str) else None
    return found


def noted(what: str, place: Place | None) -> list[str]:
    """A note for an error that says where something is; none where that is not known."""
    return [] if place is None else [f"{what} at {place}"]


def users_part(tb: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames inside minigrad."""
    if tb is None:
        return None
    rest = users_part(tb.tb_next)
    if tb.tb_frame.f_code.co_filename.startswith(PACKAGE):
        return rest
    return TracebackType(rest, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
