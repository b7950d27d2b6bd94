"""The user's line: which line of the user's program runs, its text, and where a user's function is defined or returns.

All reports of minigrad name such a line.  Frames inside minigrad, and inside libraries that call it on the user's behalf
(NumPy, copy), are skipped.
"""

from __future__ import annotations

import ast
import copy
import dis
import inspect
import linecache
import os
import re
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

import numpy as np

transforms: ContextVar[tuple] = ContextVar(
    "minigrad.transforms", default=()
)  # names of the running transforms, outermost first
# the caller's line, kept during an operation that makes many writes: each would search a dozen frames for it
held: ContextVar[Place | None] = ContextVar("minigrad.place", default=None)
PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


DRAWING = os.path.join(os.path.dirname(PACKAGE[:-1]), "viz") + os.sep  # the folder of the drawings and of the command
COMMANDS = (
    f"{DRAWING}cli.py",
    f"{DRAWING}commands{os.sep}",
)  # run a user's program: no frame outside of them belongs to it
TREES = (
    os.path.dirname(getattr(find_spec("optree"), "origin", None) or PACKAGE) + os.sep
)  # maps functions over nested tensors
# code that calls minigrad for the user's line: np.mean(losses), copy.deepcopy(loss), `import torch` after as_torch()
BETWEEN = (PACKAGE, DRAWING, TREES, os.path.dirname(np.__file__) + os.sep, copy.__file__, "<frozen importlib.")


HOMES: dict[type, str] = {}  # classes that name a module of PyTorch (compat/class_names.py) -> their own module


def home(value: Any) -> str:
    """Return the name of the module that defines a class or a function, or the class of another object; "" if unknown."""
    kind = value if isinstance(value, type) else type(value)
    found = HOMES.get(kind) or getattr(value, "__module__", None)
    return found if isinstance(found, str) else ""


class Place(NamedTuple):
    """A line of the user's program; its text is read only when shown."""

    file: str
    line: int

    @property
    def code(self) -> str:
        """Text of the line without indentation; empty if the source is not available."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        code = self.code
        return f"{cell_name(self.file) or self.file}:{self.line}" + (f": {code}" if code else "")

    @property
    def short(self) -> str:
        """File name and line number, without folders."""
        return f"{cell_name(self.file) or os.path.basename(self.file)}:{self.line}"


CELL = re.compile(r"<ipython-input-(\d+)-\w+>$|[/\\]ipykernel_\d+[/\\]\d+\.py$")


def cell_name(file: str) -> str:
    """Return a notebook's name for one of its cells, given the generated file name of its code; "" for other files.

    >>> cell_name("<ipython-input-3-0f1e2d>"), cell_name("/home/ada/net.py")
    ('In[3]', '')
    """
    found = CELL.search(file)
    if found is None:
        return ""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    cell = shell.compile.format_code_name(file) if shell is not None else None  # as ("Cell", "In[3]")
    return cell[1] if cell else f"In[{found[1]}]" if found[1] else "cell"


def user_frame(depth: int = 1) -> FrameType | None:
    """Return the innermost running frame of the user, who may call minigrad through NumPy or copy."""
    return outside(sys._getframe(depth))


def outside(frame: FrameType | None) -> FrameType | None:
    """Return a frame, or the innermost one around it that belongs to the user; None if the command alone is around it."""
    while frame is not None and (code := whose(frame.f_code.co_filename)) != "user":
        frame = None if code == "command" else frame.f_back
    return frame


@lru_cache(4096)
def whose(file: str) -> str:
    """Return whose code a file has: "user", "command", or "between" for code that calls minigrad for the user's line."""
    return "user" if not file.startswith(BETWEEN) else "command" if file.startswith(COMMANDS) else "between"


def caller_of(frame: FrameType) -> FrameType | None:
    """Return the user's frame that called a user's function; None for the code of a module, and if a library called it.

    A program ends there, whatever runs it: a command, runpy, exec, a notebook, a debugger, a test runner or a thread.
    """
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # a module, a notebook's cell, or a class
        return None
    found = outside(frame.f_back)
    return None if found is None or is_installed(found) and not is_installed(frame) else found


def is_installed(frame: FrameType) -> bool:
    """Return True if a frame belongs to Python's library or to an installed package."""
    file = frame.f_code.co_filename
    return (
        is_library_frame(frame) or f"{os.sep}site-packages{os.sep}" in file or f"{os.sep}dist-packages{os.sep}" in file
    )


def variables(frame: FrameType | None) -> dict[str, Any]:
    """Return the variables that a frame sees, global and local ones."""
    return {} if frame is None else {**frame.f_globals, **local_variables(frame)}


def local_variables(frame: FrameType | None) -> dict[str, Any]:
    """Return the local variables of a frame, and let the frame forget that it was asked.

    Before Python 3.13 a function's frame keeps the dictionary, and in it values that its program has deleted.
    """
    found = {} if frame is None else dict(frame.f_locals)
    if frame is not None and sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        frame.f_locals.clear()
    return found


# by the id of a code and the position of an instruction: that code, which must live on, and its line; Python finds a line by
# a search from the code's beginning
known_lines: dict[tuple[int, int], tuple[CodeType, Place]] = {}


def user_place(depth: int = 1) -> Place | None:
    """Return the user's line that is running; the search for it skips as many of the innermost frames, and saves their time."""
    if (place := held.get()) is not None:
        return place
    frame: FrameType | None = sys._getframe(depth)
    if (found := known_lines.get((id(frame.f_code), frame.f_lasti))) is not None:  # only lines of the user are known
        return found[1]
    if (frame := outside(frame)) is None:
        return None
    key = id(code := frame.f_code), frame.f_lasti
    if (found := known_lines.get(key)) is None:
        if len(known_lines) >= 4096:
            known_lines.clear()
        found = known_lines[key] = code, Place(code.co_filename, frame.f_lineno)
    return found[1]


def raised_at(e: BaseException) -> Place | None:
    """Return the innermost of the user's lines that an exception passed through."""
    tb = raised_in(e)
    return None if tb is None else Place(tb.tb_frame.f_code.co_filename, tb.tb_lineno)


def raised_in(e: BaseException) -> TracebackType | None:
    """Return the innermost part of an exception's traceback that is of the user's code."""
    parts = [tb for tb in chain(e.__traceback__) if not tb.tb_frame.f_code.co_filename.startswith(BETWEEN)]
    return parts[-1] if parts else None


def through_users_code(e: BaseException) -> bool:
    """Return True if code that minigrad calls, such as an object's `__len__`, raised an exception or passed it on."""
    return any(not is_library_frame(tb.tb_frame) for tb in list(chain(e.__traceback__))[1:])


def is_library_frame(frame: FrameType) -> bool:
    """Return True if a frame belongs to minigrad, Python's library, or the libraries that minigrad computes with."""
    root = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return (
        frame.f_code.co_filename.startswith(BETWEEN)
        or root in BELOW
        or root.startswith(("minigrad_kernel_", "minigrad_cuda_"))
    )


BELOW = sys.stdlib_module_names | {"minigrad", "numpy", "scipy", "numba", "llvmlite", "ml_dtypes", "optree"}


def chain(tb: TracebackType | None) -> Iterator[TracebackType]:
    """Yield the parts of a traceback, from the frame that caught the exception to the frame that raised it."""
    while tb is not None:
        yield tb
        tb = tb.tb_next


def users_code(f: Any) -> CodeType | None:
    """Return the code of a user's function, below its decorators; None for minigrad's functions and those not in Python."""
    code = getattr(inspect.unwrap(f), "__code__", None)
    return None if code is None or code.co_filename.startswith(PACKAGE) else code


def defined_at(f: Any) -> Place | None:
    """Return the `def` line of a user's function; None for minigrad's functions and those not in Python."""
    if (code := users_code(f)) is None:
        return None
    first, last = code.co_firstlineno, max(line for _, _, line in code.co_lines() if line is not None)
    places = [Place(code.co_filename, line) for line in range(first, last + 1)]  # decorators come first
    return next((place for place in places if place.code.startswith("def ")), places[0])


def steps(f: Any) -> Iterator[tuple[str, Any, Place]]:
    """Yield the bytecode of a user's function: instruction, argument and line."""
    code = users_code(f)
    for step in () if code is None else dis.get_instructions(code):
        line = None if step.positions is None else step.positions.lineno
        place = Place(code.co_filename, line or code.co_firstlineno)  # type: ignore[union-attr]
        for arg in step.argval if type(step.argval) is tuple and "_FAST_" in step.opname else (step.argval,):
            yield step.opname, arg, place  # from Python 3.13 on, one instruction may read or write two variables


def returns(f: Any) -> list[Place]:
    """Return the lines of a user's function that contain `return`; in a lambda, every line does."""
    places = dict.fromkeys([place for name, _, place in steps(f) if name.startswith("RETURN_")])
    return [place for place in places if not place.code or re.search(r"\b(return|lambda)\b", place.code)]


def returned_at(f: Any) -> Place | None:
    """Return the line of a function's `return`, if it has exactly one, else of its `def`."""
    places = returns(f)
    return places[0] if len(places) == 1 else defined_at(f)


def return_of(f: Any) -> list[str]:
    """Return a note with the line of a user's function's `return`, if it has exactly one, else of its `def`.

    There is no note for the running line, such as that of a lambda, which the report has in any case.
    """
    places = returns(f)
    what, place = ("it returns", places[0]) if len(places) == 1 else ("it is defined", defined_at(f))
    return [] if place == user_place() else noted(what, place)


def attribute_at(f: Any, does: tuple[str, ...], name: str) -> Place | None:
    """Return the line that stores (does=STORES) or reads (READS) an attribute, if exactly one does, else the `def`."""
    places = {place for step, which, place in steps(f) if step in does and which == name}
    return places.pop() if len(places) == 1 else defined_at(f)


STORES, READS = ("STORE_ATTR",), ("LOAD_ATTR", "LOAD_METHOD")


def parsed(file: str) -> ast.Module | None:
    """Return the tree of a file or a notebook's cell; None without its source."""
    try:
        return tree_of("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None


tree_of = lru_cache(32)(ast.parse)


def running(frame: FrameType | None, *kinds: type[ast.expr]) -> Any:
    """Return the expression of these kinds that a frame is running, from the tree of its file; None if it is not found."""
    return None if frame is None else expression_at(frame.f_code, frame.f_lasti, *kinds)


def expression_at(code: CodeType, instruction: int, *kinds: type[ast.AST]) -> Any:
    """Return the expression of these kinds to which an instruction belongs, as `f_lasti` and `tb_lasti` give it, or None.

    Its end in the source identifies it: Python lets a method's call after a line break begin at the method's name.
    """
    if (tree := parsed(code.co_filename)) is None:
        return None
    line, end, column, end_column = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    ends, begins = lambda n: (n.end_lineno, n.end_col_offset), lambda n: (n.lineno, n.col_offset)
    found = [n for n in ast.walk(tree) if isinstance(n, kinds) and ends(n) == (end, end_column)]
    return max(found, key=lambda n: (begins(n) == (line, column), begins(n)), default=None)


def callee(frame: FrameType) -> Any:
    """Return the function that a running frame is calling, if variables and attributes name it, else None."""
    names, node = [], getattr(running(frame, ast.Call), "func", None)
    while isinstance(node, ast.Attribute):
        names, node = [node.attr, *names], node.value
    known = {**frame.f_builtins, **variables(frame)}
    found = known.get(node.id) if isinstance(node, ast.Name) else None
    for name in names:
        found = getattr(found, name, None)
    return found


def operands(name: str, node: Any = None) -> list[str]:
    """Return the code of both operands of a product, `w @ x` or a call with this name, or []: the one of the user's line."""
    node = node or running(user_frame(), ast.BinOp, ast.Call)
    sides = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        sides = [node.left, node.right]
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == name:
        sides = node.args if len(node.args) == 2 else [getattr(node.func, "value", node), *node.args]
    if len(sides) != 2:
        return []
    found = [ast.unparse(s) if isinstance(s, SIMPLE) else f"({ast.unparse(s)})" for s in sides]
    return found if max(map(len, found)) <= LONGEST else []


SIMPLE = ast.Name, ast.Attribute, ast.Call, ast.Subscript
LONGEST = 40  # characters of code that a fix repeats


class Note(str):
    """A note of an error that says where something is: `words`, and the line."""

    words: str
    place: Place


def noted(what: str, place: Place | None) -> list[str]:
    """Return a note for an error that says where something is; no note if that is unknown."""
    if place is None:
        return []
    made = Note(f"{what} at {place}")
    made.words, made.place = what, place
    return [made]


def users_part(tb: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames inside minigrad."""
    if tb is None:
        return None
    rest = users_part(tb.tb_next)
    if tb.tb_frame.f_code.co_filename.startswith(PACKAGE):
        return rest
    return TracebackType(rest, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
