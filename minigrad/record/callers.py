"""Find the operation that the user called, from the Python stack: the outermost running function of the table.

A primitive does not know which operation it runs for, but the stack does. So `x.softmax(0)` is one operation of a recording,
whatever primitives it consists of, and its line is the user's. Recordings and profilers ask at each primitive, so it is cheap:
minigrad's code objects are found by id (their hash covers all of their code), and lines are determined later.
"""

from __future__ import annotations

import inspect
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from ..core.graph import history
from ..core.tensor import Box, Tensor
from ..ops.base.registry import TABLE
from ..ops.public_functions import CODES, operation_of
from ..places import PACKAGE, TREES, Place
from .schema import Where

OUTSIDE: set[str] = set()  # files of programs that use minigrad
OURS: dict[int, Ours] = {}  # by the id of the code object


class Ours:
    """A code object of minigrad: the name of its operation, if it is one, and the names of its parameters.

    `arguments` pairs its variables with the names in `arguments_of`.
    """

    __slots__ = ("arguments", "code", "name", "stands_for", "writes")

    def __init__(self, code: CodeType):
        self.code, name = code, operation_of(code)
        self.name = None if name is None else name.rstrip("_")
        self.writes = name is not None and name.endswith("_")
        n = code.co_argcount + code.co_kwonlyargcount
        more = [
            key for flag, key in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")) if code.co_flags & flag
        ]
        self.arguments = [*[(v, v) for v in code.co_varnames[:n]], *zip(code.co_varnames[n:], more)]
        # the operation, if the function only applies it to its arguments
        entry: Any = None if name is None else TABLE.get(name)
        self.stands_for = None
        if entry is not None and entry.choose is None and entry.function.__code__ is code:
            self.stands_for = entry.cls


def is_library_code(code: CodeType) -> bool:
    """Return True if code belongs to minigrad, its tree library or an operation's function, and add it to the tables above."""
    if not code.co_filename.startswith((PACKAGE, TREES)) and id(code) not in CODES:
        OUTSIDE.add(code.co_filename)
        return False
    OURS[id(code)] = Ours(code)
    return True


def called(frame: FrameType | None) -> tuple:
    """Return the name and frame of the outermost running function of the table, and its caller's frame."""
    name = outer = None
    known = OURS.get
    while frame is not None:
        code = frame.f_code
        ours = known(id(code))
        if ours is None:
            if code.co_filename in OUTSIDE and id(code) not in CODES or not is_library_code(code):
                break
            ours = OURS[id(code)]
        if ours.name is not None:
            name, outer = ours.name, frame
        frame = frame.f_back
    return name, outer, frame


def outermost(frame: FrameType) -> tuple[FrameType, FrameType | None]:
    """Return the outermost frame of minigrad around one of its frames, and its caller's frame."""
    while (around := frame.f_back) is not None and (id(around.f_code) in OURS or is_library_code(around.f_code)):
        frame = around
    return frame, around


def module_names(around: list, paths: dict[Any, dict]) -> list[str]:
    """Return the names of nested module calls: the outermost by its class, the others by their path inside it.

    `paths` caches the paths from one call to the next.
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


def module_classes(paths: dict[Any, dict], called: Iterable[Sequence[str]]) -> dict[str, dict[str, str]]:
    """Return the classes of the modules that were called, by the class of the outermost and the path inside it.

    A path that stands for several classes, because two models have the same class, is left out.
    """
    used = {(names[0], path) for names in set(map(tuple, called)) if names for path in names[1:]}
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for outer, parts in paths.items():
        for part, path in parts.items():
            found[type(outer).__name__, path].add(type(part).__name__)
    made: dict[str, dict[str, str]] = {}
    for (outer, path), names in found.items():
        if (outer, path) in used and len(names) == 1:
            made.setdefault(outer, {})[path] = names.pop()
    return made


@lru_cache(maxsize=4096)
def columns(code: CodeType, instruction: int) -> list[int]:
    """Return the first and last column, from 1, of the expression that an instruction belongs to; empty if unknown."""
    nowhere = (None,) * 4
    line, last, start, end = next(islice(code.co_positions(), instruction // 2, None), nowhere)
    return [] if start is None or end is None or line != last else [start + 1, end]


SEEN = object()  # begins a tuple: SEEN, a tensor among the arguments, the edge that it had then
PLAIN = frozenset((int, float, bool, str, type(None)))


def arguments_of(frame: FrameType, layers: tuple = ()) -> dict[str, Any]:
    """Return the arguments of a running function of minigrad, by parameter: tensors as SEEN, also inside lists.

    Tensors are unwrapped from the layers that the operation has passed. `*args` are under "*", `**kwargs` under "**"; "_" marks
    a function that writes into its first argument.
    """
    ours, values, found = OURS[id(frame.f_code)], frame.f_locals, {}
    for n, key in ours.arguments:
        if n in values:
            v = values[n]
            if (kind := v.__class__) is Tensor:
                found[key] = SEEN, v, history(v)
            else:
                found[key] = v if kind in PLAIN or (kind is tuple or kind is dict) and not v else seen(v, layers)
    if ours.writes:
        found["_"] = True
    return found


def seen(v: Any, layers: tuple) -> Any:
    """Return an argument as it is now, because lists may change."""
    if isinstance(v, Tensor):
        while type(v) is Box and v._layer in layers:
            v = v._value
        return SEEN, v, history(v)
    if isinstance(v, (tuple, list)):
        found = [seen(x, layers) for x in v]
        return found if type(v) is list else tuple(found)
    return {k: seen(x, layers) for k, x in v.items()} if isinstance(v, dict) else v


def is_seen(a: Any) -> bool:
    """Return True if this stands for a tensor."""
    return type(a) is tuple and len(a) == 3 and a[0] is SEEN


class Places:
    """Lines of programs, by code object and bytecode offset. Code is found by id: other files may contain equal code."""

    def __init__(self):
        self.lines: dict[int, tuple] = {}  # id of a code object -> itself, its lines' offsets, their numbers
        self.known: dict[tuple, Where] = {}

    def __call__(self, code: CodeType, offset: int) -> Where:
        """Return the line at an offset."""
        found = self.known.get((id(code), offset))
        if found is None:
            _, starts, numbers = self.lines.get(id(code)) or self.read(code)
            place = Place(code.co_filename, numbers[bisect_right(starts, offset) - 1])
            name = "" if code.co_name == "<module>" else code.co_qualname
            found = self.known[id(code), offset] = Where(*place, place.code, name, columns(code, offset))
        return found

    def read(self, code: CodeType) -> tuple:
        """Store and return the lines of a code object."""
        spans = [(start, line) for start, _, line in code.co_lines() if line is not None]
        found = self.lines[id(code)] = code, [start for start, _ in spans], [line for _, line in spans]
        return found
