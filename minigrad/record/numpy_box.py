"""NumPy inside a custom Function: the part of a method that no recording sees is one operation of it, called NumPy.

Its inputs are the tensors that the method reads as arrays, its outputs the tensors that it makes of arrays. Its lines are those
from the first read to the last such tensor. An observer logs both while the method runs; the log is evaluated later, in order
(event_log.py).
"""

from __future__ import annotations

import ast
import linecache
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..core.tensor import Tensor
from ..events import Observer, events
from ..places import users_code
from .callbacks import recordings
from .schema import Where
from .values import Event, OpEntry, bottom

if TYPE_CHECKING:
    from .recorder import Record


LONGEST = 10  # lines after the beginning of a statement


class NumPy:
    """Stands in a record for lines of NumPy."""

    primitive, name, names, n_internal = True, "NumPy", ("inputs",), 0


class NumPyLines:
    """The operation NumPy of one method: its inputs, and its lines."""

    def __init__(self, method: Callable):
        self.code = users_code(method)
        self.box: Any = None  # the last operation NumPy
        self.before: list[Any] = []  # values read before it begins
        self.read_ever: list[Any] = []
        self.lines: list[int | None] = []  # of what was read before it begins, then of everything in it

    def leaves(self, value: Any, line: int | None, is_running: bool) -> None:
        """Note that a value becomes an array: an input of the operation that is running, or of the next one."""
        self.read_ever.append(value)
        if is_running and value not in self.box.outputs:
            self.box.inputs = list(dict.fromkeys([*self.box.inputs, value]))
            return
        self.lines = [*(self.lines if self.before else ()), line]
        self.before.append(value)

    def begin(self) -> list:
        """Begin an operation, and return its inputs: without new ones, the arrays may come from any value read before."""
        inputs = self.before or self.read_ever
        self.lines = self.lines if self.before else []
        self.before = []
        return list(dict.fromkeys(inputs))

    def line(self) -> int | None:
        """Return the line of the method that is running."""
        frame: Any = sys._getframe(2)
        while frame is not None and frame.f_code is not self.code:
            frame = frame.f_back
        return None if frame is None else frame.f_lineno

    def where(self) -> Where:
        """Return the lines of the operation, without comments."""
        lines = [line for line in self.lines if line is not None]
        if self.code is None or not lines:
            return Where()
        first, last = min(lines), max(lines)
        lines = linecache.getlines(self.code.co_filename)
        ends = range(last, min(last + LONGEST, len(lines)) + 1)  # the last statement may go on
        texts = [without_comments(lines[first - 1 : end]) for end in ends]
        code = next((text for text in texts if is_complete(text)), texts[0] if texts else "")
        return Where(self.code.co_filename, first, code, self.code.co_qualname)


class Crossings(NumPyLines, Observer):
    """Notes where the values of one method become arrays, and arrays tensors."""

    def __init__(self, record: Record, method: Callable):
        super().__init__(method)
        self.record = record

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Observe the process inside the block."""
        events.add(self)
        try:
            yield
        finally:
            events.remove(self)

    def read(self, t: Tensor, how: str) -> None:
        """Log that the method reads a tensor as an array."""
        if how == "numpy" and recordings[-1] is self.record:
            self.record.log.append([leaves, self, t, self.line()])

    def built(self, t: Tensor) -> None:
        """Log that the method makes a tensor of an array."""
        if recordings[-1] is self.record:
            self.record.log.append([returns, self, t, self.line()])


def without_comments(lines: list[str]) -> str:
    """Return lines as one text, without comments, empty lines and the indentation that all have."""
    kept = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return textwrap.dedent("".join(kept)).rstrip()


def is_complete(text: str) -> bool:
    """Return True if a text consists of whole statements."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def leaves(log: Any, seen: Crossings, t: Tensor, line: int | None) -> None:
    """Note that a tensor becomes an array."""
    seen.leaves(log.ref(t), line, is_running(log, seen))


def returns(log: Any, seen: Crossings, t: Tensor, line: int | None) -> None:
    """Note that an array becomes a tensor: an output of the operation NumPy that is running, or of a new one."""
    if id(bottom(t)) in log._ids:  # it has been a tensor all the time
        return
    event = opened(log, seen, line)
    event.outputs.append(log.ref(t, "computed"))


def opened(log: Any, seen: NumPyLines, line: int | None) -> Event:
    """Return the operation NumPy to which a line belongs that makes a tensor: the one that is running, or a new one."""
    if not is_running(log, seen) or seen.before:
        group = OpEntry("forward", "NumPy", Where(), [])
        seen.box = Event(NumPy, group, seen.begin(), [])
        group.events = (seen.box,)
        log.groups.append(group)
    seen.lines.append(line)
    seen.box.group.where = seen.where()
    return seen.box


def is_running(log: Any, seen: NumPyLines) -> bool:
    """Return True if the last operation of a method is its operation NumPy."""
    return seen.box is not None and log.groups[-1] is seen.box.group
