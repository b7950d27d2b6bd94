"""Errors and warnings: what happened, with its numbers, where in the user's file, and how to fix it.

`error` builds every error of the library.  Its class is a MinigradError and also the type that PyTorch raises for the same
mistake, so that ported `except` clauses keep working.  Every warning is a MinigradWarning with a name, by which users silence
it and look it up.
"""

from __future__ import annotations

import math
import os
import pickle
import re
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import partial
from types import FrameType, ModuleType, TracebackType
from typing import Any, NoReturn

from .places import Place, raised_at, raised_in, transforms, user_frame, user_place, users_part, variables
from .scopes import setting

__all__ = [
    "InternalError",
    "MinigradError",
    "MinigradWarning",
    "error",
    "silence",
    "warn",
]


# ---------------------------------------------------------------------- errors
class MinigradError(Exception):
    """Base class of all errors of minigrad, besides RuntimeError, TypeError, ...; tools can read the parts of its message.

    >>> import minigrad
    >>> try:
    ...     minigrad.ones(2) @ minigrad.ones(3)
    ... except minigrad.MinigradError as e:
    ...     e.operation, isinstance(e, RuntimeError)
    ('matmul', True)
    """

    operation = ""  # the operation, Function or method that raised
    problem = ""  # what happened, with its numbers
    remedy = ""  # how to fix it
    place: Place | None = None  # the user's line
    notes: tuple = ()  # origins of tensors, shapes drawn below each other
    transforms: tuple = ()  # the enclosing transforms, outermost first
    below = False  # it names a part of an operation: the public function replaces it with its own name
    vague = False  # it names only the cause in the computation: the public function knows more

    def __str__(self) -> str:
        if not self.problem:  # created without `error`
            return "".join(map(str, self.args[:1]))
        return report(self.operation, self.problem, self.remedy, self.place, self.notes, self.transforms)

    def _render_traceback_(self) -> list[str]:
        """Return the traceback without minigrad's own frames, for notebooks (IPython calls this)."""
        from IPython import get_ipython

        shown = self.__traceback__ if full_traceback() else users_part(self.__traceback__)
        return get_ipython().InteractiveTB.structured_traceback(type(self), self, shown)


EXPLAIN: list[Callable[[BaseException], bool]] = []  # functions that add a note to an error of Python itself, or do not


def print_exception(
    kind: type[BaseException], e: BaseException, tb: TracebackType | None, former: Callable = sys.__excepthook__
) -> None:
    """Print an uncaught exception: for minigrad's, and Python's that get a note, only the user's own lines.

    With MINIGRAD_FULL_TRACEBACK=1 in the environment, print all lines.  A `former` hook of another package prints
    the exception itself, with the note.
    """
    explained = explain(e)
    if explained and not full_traceback() and former is sys.__excepthook__:
        traceback.print_exception(kind, e.with_traceback(users_part(tb)), e.__traceback__)
    else:
        former(kind, e, tb)


def print_exception_of_thread(args: Any, former: Callable) -> None:
    """Print an exception that has ended a thread, in the same way."""
    kind, e, tb = args.exc_type, args.exc_value, args.exc_traceback
    if e is not None and explain(e) and not full_traceback() and former is threading.__excepthook__:
        tb = users_part(tb)
        args = threading.ExceptHookArgs((kind, e.with_traceback(tb), tb, args.thread))
    former(args)


def explain(e: BaseException) -> bool:
    """Add a note to an error of Python itself; return True if it is explained, as minigrad's own errors are."""
    ours = isinstance(e, MinigradError)
    if ours and isinstance(e, AttributeError):
        e.name = None  # else Python adds its own "Did you mean" to the fix
    return any(add_note(e) for add_note in EXPLAIN) or ours


def full_traceback() -> bool:
    """Return True if tracebacks should include minigrad's own lines."""
    return os.environ.get("MINIGRAD_FULL_TRACEBACK", "0") not in ("", "0")


def install() -> None:
    """Make the tracebacks of uncaught errors end at the user's line, and explain Python's own, in all threads."""
    sys.excepthook = partial(print_exception, former=sys.excepthook)
    threading.excepthook = partial(print_exception_of_thread, former=threading.excepthook)


def of_kind(kind: type[Exception]) -> type[MinigradError]:
    """Return the class of minigrad's errors that are also of this type, with the same name."""
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
    pickle.UnpicklingError,
)
FAMILY: dict[type[Exception], type[MinigradError]] = {kind: of_kind(kind) for kind in KINDS}
MinigradRuntimeError: Any = FAMILY[RuntimeError]  # base of other classes of errors


class OutOfMemoryError(MinigradRuntimeError, MemoryError):
    """A tensor does not fit into the computer's memory or a GPU's.

    >>> import minigrad
    >>> try:
    ...     minigrad.zeros(10**15)
    ... except MemoryError as e:  # or RuntimeError, as in PyTorch
    ...     e.problem
    'not enough memory: shape (1000000000000000,) of float32 has 1000000000000000 elements, 4000000000000000 bytes (3.6 PiB)'
    """


class InternalError(MinigradRuntimeError):
    """A failure inside minigrad, not a mistake in the user's program; `__cause__` is the original exception.

    >>> import minigrad
    >>> issubclass(minigrad.InternalError, RuntimeError)
    True
    """


class OutsideError(FAMILY[IndexError]):  # type: ignore[misc]
    """A compiled program on a GPU received an index out of range, now or in an earlier call (kernels/cuda/index_errors.py).

    It is raised where the processor notices it, in whatever operation that is, and is not about that operation.
    """


class Interruption(Exception):
    """Base class of exceptions with which minigrad stops one of its computations; no explanation replaces them."""


class Unread(FAMILY[AttributeError]):  # type: ignore[misc]
    """An AttributeError whose message is made when somebody reads it, and which is an ordinary one from then on.

    `hasattr` and `getattr` with a default read nothing, and a search for similar names takes a thousand times as long as they
    may.  `parts` returns the problem and the remedy; the user's line is found in the traceback.
    """

    def __init__(self, who: str, parts: Callable[[], tuple[str, str]]):
        self.operation, self.parts, self.transforms = who, parts, transforms.get()

    def read(self) -> Any:
        """Make the message, and return this exception."""
        self.__class__ = FAMILY[AttributeError]  # type: ignore[assignment]
        self.problem, remedy = self.__dict__.pop("parts")()
        tb = raised_in(self)
        self.remedy, self.place = as_imported(remedy, tb and tb.tb_frame), raised_at(self) or user_place()
        self.args = (str(self),)
        return self

    __str__ = lambda self: str(self.read())  # type: ignore[assignment]
    __repr__ = lambda self: repr(self.read())  # type: ignore[assignment]
    __reduce__ = lambda self: self.read().__reduce__()  # type: ignore[assignment]


for _part in ("args", "problem", "remedy", "place"):
    setattr(Unread, _part, property(lambda e, part=_part: getattr(e.read(), part)))
Unread.__name__ = Unread.__qualname__ = "AttributeError"  # as tracebacks show it


FAMILY |= {MemoryError: OutOfMemoryError, InternalError: InternalError}


def __getattr__(name: str) -> Any:
    """Return minigrad.errors.RuntimeError and the others; as globals they would hide Python's own."""
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
    """Return an exception to raise: `who` is the operation or Function, `what` the fault with numbers, `fix` the remedy.

    `notes` are lines between these: a drawing of shapes, or where a tensor was made.

    >>> print(error(ValueError, "add", "3 is not 4", "pass 4"))  # doctest: +ELLIPSIS
    add: 3 is not 4
      at ...
      To fix: pass 4
    """
    where, fix = where or user_place(), as_imported(fix)
    around = transforms.get()
    e: Any = FAMILY.get(kind, kind)(report(who, what, fix, where, notes, around))
    e.operation, e.problem, e.remedy, e.place, e.notes, e.transforms = who, what, fix, where, tuple(notes), around
    return e


def raise_instead(e: Exception, cause: Exception) -> NoReturn:
    """Raise `e`, the report of the handled `cause`: either `cause` itself, unchanged, or another error with its own cause."""
    try:
        if e is cause and not isinstance(cause, MinigradError):
            raise cause
        raise e from e.__cause__
    finally:
        del e, cause  # this frame is in the traceback: a cycle would keep all operands until the collector runs


UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def no_room(who: str, shape: Sequence[int], dtype: Any, below: bool = False) -> Any:
    """Return the error for an array that does not fit into memory, with its size in bytes; `below` as in MinigradError."""
    elements = math.prod(shape)
    size = elements * dtype.itemsize
    step = min((size.bit_length() - 1) // 10, len(UNITS) - 1)
    rounded = f" ({size / 1024**step:.1f} {UNITS[step]})" if step > 0 and size < 1 << 80 else ""
    sizes = f"({', '.join(map(digits, shape))}{',' * (len(shape) == 1)})"
    what = f"not enough memory: shape {sizes} of {dtype.name} has {digits(elements)} elements, {digits(size)} bytes{rounded}"
    e = error(MemoryError, who, what, "use smaller sizes, a smaller dtype, or a part of the data at a time")
    e.below = below
    return e


def digits(n: int) -> str:
    """Return a whole number in digits, or its magnitude if it has too many to read."""
    return str(n) if abs(n) < 1 << 128 else f"about 10**{math.log10(abs(n)):.0f}"


# minigrad.no_grad, and no schema minigrad.record/1
OF_MINIGRAD = re.compile(r"(?<![\w.])minigrad\.(?=[a-z_])(?!record/)")


def as_imported(code: str, frame: FrameType | None = None) -> str:
    """Return code with the name under which the user's running file imports minigrad, as torch.ones for minigrad.ones.

    A frame stands for the running file.
    """
    if not OF_MINIGRAD.search(code) or (frame := frame or user_frame()) is None:
        return code
    names = [name for name, value in variables(frame).items() if isinstance(value, ModuleType) and is_minigrad(value)]
    return code if not names or "minigrad" in names else OF_MINIGRAD.sub(f"{names[0]}.", code)


def is_minigrad(module: ModuleType) -> bool:
    """Return True if a module is minigrad, or `torch` after as_torch()."""
    package = __name__.partition(".")[0]
    ours = type(module).__module__.startswith(f"{package}.")
    return module is sys.modules[package] or ours and module.__name__ == "torch"


CALLED = re.compile(r"(backward|grad) was called at |applied at ")


def report(who: str, what: str, fix: str, where: Place | None, notes: Iterable[str] = (), around: tuple = ()) -> str:
    """Return the text of an error or a warning.  The name comes first, unless `what` begins with a call of it.

    If a note has the line of the call, the user's line is the cause, and stands below the words that describe it.
    """
    place, notes = [] if where is None else [f"  at {where}"], list(notes)
    lines, cause = [what if what.startswith(f"{who}(") else f"{who}: {what}"], any(map(CALLED.match, notes))
    if cause:
        lines += place
    lines += [f"  {line}" for note in notes for line in note.split("\n")]
    if around:
        lines.append(f"  inside {' > '.join(around)}")
    if not cause:
        lines += place
    if fix:
        lines.append(f"  To fix: {fix}")
    return "\n".join(lines)


# ---------------------------------------------------------------------- warnings
class MinigradWarning(UserWarning):
    """Category of all warnings of minigrad.

    >>> import minigrad
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     loss = minigrad.nn.functional.mse_loss(minigrad.ones(3, 1), minigrad.ones(3))
    >>> caught[0].message.name
    'broadcast-loss'
    """

    @property
    def name(self) -> str:
        """The warning's name, for `silence` and for the page about it."""
        return getattr(self.args[0], "name", "")


class Message(str):
    """A warning's text.  It equals all others with its name, so that Python shows only one per line of a program."""

    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


_unsaid: ContextVar[bool] = ContextVar("minigrad.unsaid", default=False)


def warn(name: str, who: str, what: str, fix: str = "", where: Place | None = None, notes: Sequence[str] = ()) -> None:
    """Issue the MinigradWarning `name` at the user's line (or at `where`), once per line.

    >>> import minigrad
    >>> import warnings
    >>> from minigrad.errors import warn
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("odd-sizes", "pool", "3 is odd", "pad first")
    >>> str(caught[0].message).splitlines()[0]
    'pool: 3 is odd'
    """
    if _unsaid.get():
        return
    frame = user_frame(2)
    here = None if frame is None else Place(frame.f_code.co_filename, frame.f_lineno)
    place = where or here
    text = report(who, what, as_imported(fix), place, notes)
    silenced = as_imported(f"minigrad.silence({name!r})")
    message = Message(f"{text}\n  This is the warning [{name}]; {silenced} turns it off.")
    message.name = name
    names = {} if frame is None else frame.f_globals
    module, registry = names.get("__name__", "<unknown>"), names.setdefault("__warningregistry__", {})
    file, line = place or Place("<unknown>", 1)  # a command, and no line of the user, runs
    warnings.warn_explicit(message, MinigradWarning, file, line, module, registry)


def suppressed_warnings() -> AbstractContextManager:
    """Suppress warnings inside the block.  Python's filters would not do: they belong to the user and affect all threads."""
    return setting(_unsaid, True)


def are_suppressed() -> bool:
    """Return True inside a block of `suppressed_warnings`."""
    return _unsaid.get()


def silence(*names: str) -> None:
    """Turn off warnings by name for the rest of the program (or of a `with warnings.catch_warnings():` block).

    >>> import minigrad, warnings
    >>> with warnings.catch_warnings():
    ...     minigrad.silence("broadcast-loss")
    ...     loss = minigrad.nn.functional.mse_loss(minigrad.ones(3, 1), minigrad.ones(3))
    """
    for name in names:
        warnings.filterwarnings("ignore", rf"(?s).*This is the warning \[{re.escape(name)}\]", MinigradWarning)
