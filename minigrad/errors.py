"""How minigrad says that something went wrong: what happened with its numbers, where in the user's file, what to do.

Every error of the library is built by `error`.  Its class is a MinigradError and also the type that PyTorch raises for the
same mistake, so that ported `except` clauses keep working.  Every warning is a MinigradWarning with a name, by which it can
be silenced and looked up.
"""

from __future__ import annotations

import copy
import dis
import inspect
import linecache
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "MinigradError",
    "MinigradWarning",
    "error",
    "silence",
    "warn",
]

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
# code that calls minigrad on behalf of the user's line: np.mean(losses), copy.deepcopy(loss)
BETWEEN = (PACKAGE, os.path.dirname(np.__file__) + os.sep, copy.__file__)


# ---------------------------------------------------------------------- where
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
    """What a notebook calls one of its cells, whose code has the name of a file that nobody wrote; "" for other files.

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
    frame = user_frame(2)
    return None if frame is None else Place(frame.f_code.co_filename, frame.f_lineno)


def raised_at(e: BaseException) -> Place | None:
    """The innermost line of the user's that an exception came through."""
    tb, found = users_part(e.__traceback__), None
    while tb is not None:
        found, tb = Place(tb.tb_frame.f_code.co_filename, tb.tb_lineno), tb.tb_next
    return found


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


# ---------------------------------------------------------------------- errors
class MinigradError(Exception):
    """What every error of minigrad is, beside a RuntimeError, TypeError, ...; its parts stand apart for tools.

    >>> import minigrad
    >>> try:
    ...     minigrad.ones(2) @ minigrad.ones(3)
    ... except minigrad.MinigradError as e:
    ...     e.operation, isinstance(e, RuntimeError)
    ('matmul', True)
    """

    operation = ""  # the operation, Function or method that refused
    problem = ""  # what is wrong, with its numbers
    remedy = ""  # what to do
    place: Place | None = None  # the user's line
    notes: tuple = ()  # where the tensors come from, shapes drawn below each other
    transforms: tuple = ()  # the transforms around, outermost first

    def __str__(self) -> str:
        if not self.problem:  # made without `error`
            return "".join(map(str, self.args[:1]))
        return report(self.operation, self.problem, self.remedy, self.place, self.notes, self.transforms)

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows (IPython asks for this): the traceback without minigrad's own frames."""
        from IPython import get_ipython

        shown = self.__traceback__ if full_traceback() else users_part(self.__traceback__)
        return get_ipython().InteractiveTB.structured_traceback(type(self), self, shown)


def print_exception(kind: type[BaseException], e: BaseException, tb: TracebackType | None) -> None:
    """What the interpreter prints for an exception that nobody catches: of minigrad's, the user's own lines.

    With MINIGRAD_FULL_TRACEBACK=1 in the environment all lines stand there.
    """
    if isinstance(e, MinigradError) and not full_traceback():
        traceback.print_exception(kind, e.with_traceback(users_part(tb)), e.__traceback__)
    else:
        sys.__excepthook__(kind, e, tb)


def full_traceback() -> bool:
    """Whether minigrad's own lines are wanted in tracebacks."""
    return os.environ.get("MINIGRAD_FULL_TRACEBACK", "0") not in ("", "0")


def install() -> None:
    """Let uncaught errors end at the user's line, unless somebody else prints them already."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = print_exception


def users_part(tb: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames inside minigrad."""
    if tb is None:
        return None
    rest = users_part(tb.tb_next)
    if tb.tb_frame.f_code.co_filename.startswith(PACKAGE):
        return rest
    return TracebackType(rest, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)


def of_kind(kind: type[Exception]) -> type[MinigradError]:
    """The class of minigrad's errors that are also of this type, and go by its name."""
    return type(
        kind.__name__, (MinigradError, kind), {"__module__": __name__, "__doc__": f"minigrad's {kind.__name__}."}
    )


KINDS = (
    RuntimeError,
    TypeError,
    ValueError,
    IndexError,
    KeyError,
    NameError,
    AttributeError,
    NotImplementedError,
    BufferError,
    AssertionError,
)
FAMILY: dict[type[Exception], type[MinigradError]] = {kind: of_kind(kind) for kind in KINDS}
MinigradRuntimeError: Any = FAMILY[RuntimeError]  # what other classes of errors derive from


class OutOfMemoryError(MinigradRuntimeError, MemoryError):
    """The GPU has no room for a tensor.

    >>> import minigrad
    >>> issubclass(minigrad.cuda.OutOfMemoryError, RuntimeError)
    True
    """


def __getattr__(name: str) -> Any:
    """minigrad.errors.RuntimeError and the others, which are not set here because they would hide Python's own."""
    for kind, cls in FAMILY.items():
        if kind.__name__ == name:
            return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def error(
    kind: type[Exception],
    who: str,
    what: str,
    fix: str = "",
    where: Place | None = None,
    notes: Sequence[str] = (),
) -> Any:
    """An exception to raise: `who` names the operation or Function, `what` the fault with its numbers, `fix` the remedy.

    `notes` are lines that stand between: a drawing of shapes, where a tensor was made.

    >>> print(error(ValueError, "add", "3 is not 4", "pass 4"))  # doctest: +ELLIPSIS
    add: 3 is not 4
      at ...
      To fix: pass 4
    """
    from .core.context import transforms

    where = where or user_place()
    around = transforms.get()
    e: Any = FAMILY.get(kind, kind)(report(who, what, fix, where, notes, around))
    e.operation, e.problem, e.remedy, e.place, e.notes, e.transforms = who, what, fix, where, tuple(notes), around
    return e


def report(who: str, what: str, fix: str, where: Place | None, notes: Iterable[str] = (), around: tuple = ()) -> str:
    """The text of an error or a warning."""
    lines = [f"{who}: {what}", *[f"  {line}" for note in notes for line in note.split("\n")]]
    if around:
        lines.append(f"  inside {' > '.join(around)}")
    if where is not None:
        lines.append(f"  at {where}")
    if fix:
        lines.append(f"  To fix: {fix}")
    return "\n".join(lines)


# ---------------------------------------------------------------------- warnings
class MinigradWarning(UserWarning):
    """The category of every warning that minigrad gives.

    >>> import minigrad
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as given:
    ...     warnings.simplefilter("always")
    ...     loss = minigrad.nn.functional.mse_loss(minigrad.ones(3, 1), minigrad.ones(3))
    >>> given[0].message.name
    'broadcast-loss'
    """

    @property
    def name(self) -> str:
        """What `silence` takes, and what the warning's page is called."""
        return getattr(self.args[0], "name", "")


class Message(str):
    """A warning's text.  It equals every other of the same name, so that Python shows one for each line of a program."""

    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def warn(name: str, who: str, what: str, fix: str = "", where: Place | None = None, notes: Sequence[str] = ()) -> None:
    """Give the MinigradWarning called `name` at the user's line (or at `where`), once for each line.

    >>> import minigrad
    >>> import warnings
    >>> from minigrad.errors import warn
    >>> with warnings.catch_warnings(record=True) as given:
    ...     warnings.simplefilter("always")
    ...     warn("odd-sizes", "pool", "3 is odd", "pad first")
    >>> str(given[0].message).splitlines()[0]
    'pool: 3 is odd'
    """
    frame = user_frame(2)
    here = None if frame is None else Place(frame.f_code.co_filename, frame.f_lineno)
    place = where or here or Place("<unknown>", 1)
    text = report(who, what, fix, place, notes)
    message = Message(f"{text}\n  This is the warning [{name}]; minigrad.silence({name!r}) turns it off.")
    message.name = name
    names = {} if frame is None else frame.f_globals
    module, registry = names.get("__name__", "<unknown>"), names.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, MinigradWarning, place.file, place.line, module, registry)


def silence(*names: str) -> None:
    """Turn off the warnings called so, for the rest of the program (or of a `with warnings.catch_warnings():`).

    >>> import minigrad, warnings
    >>> with warnings.catch_warnings():
    ...     minigrad.silence("broadcast-loss")
    ...     loss = minigrad.nn.functional.mse_loss(minigrad.ones(3, 1), minigrad.ones(3))
    """
    for name in names:
        warnings.filterwarnings("ignore", rf"(?s).*This is the warning \[{re.escape(name)}\]", MinigradWarning)
