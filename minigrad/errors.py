"""How minigrad says that something went wrong: what happened with its numbers, where in the user's file, what to do.

Every error of the library is built by `error`.  Its class is a MinigradError and also the type that PyTorch raises for the
same mistake, so that ported `except` clauses keep working.  Every warning is a MinigradWarning with a name, by which it can
be silenced and looked up.
"""

from __future__ import annotations

import math
import os
import pickle
import re
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, NoReturn

from .places import Place, transforms, user_frame, user_place, users_part

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
    below = False  # it names what an operation is made of: the function that was called puts its name there
    vague = False  # it says only with what an operation cannot compute: the function that was called knows more

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
    pickle.UnpicklingError,
)
FAMILY: dict[type[Exception], type[MinigradError]] = {kind: of_kind(kind) for kind in KINDS}
MinigradRuntimeError: Any = FAMILY[RuntimeError]  # what other classes of errors derive from


class OutOfMemoryError(MinigradRuntimeError, MemoryError):
    """There is no room for a tensor, in the computer's memory or in that of a GPU.

    >>> import minigrad
    >>> try:
    ...     minigrad.zeros(10**15)
    ... except MemoryError as e:  # or RuntimeError, as in PyTorch
    ...     e.problem
    'not enough memory: shape (1000000000000000,) of float32 has 1000000000000000 elements, 4000000000000000 bytes (3.6 PiB)'
    """


class InternalError(MinigradRuntimeError):
    """Something failed inside minigrad, which is no mistake of the program that runs; `__cause__` is what failed.

    >>> import minigrad
    >>> issubclass(minigrad.InternalError, RuntimeError)
    True
    """


FAMILY |= {MemoryError: OutOfMemoryError, InternalError: InternalError}


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
    where = where or user_place()
    around = transforms.get()
    e: Any = FAMILY.get(kind, kind)(report(who, what, fix, where, notes, around))
    e.operation, e.problem, e.remedy, e.place, e.notes, e.transforms = who, what, fix, where, tuple(notes), around
    return e


def raise_instead(told: Exception, cause: Exception) -> NoReturn:
    """Raise, while `cause` is handled, what is told of it: itself as it is, or another error that shows only its own cause."""
    if told is cause and not isinstance(cause, MinigradError):
        raise cause
    raise told from told.__cause__


UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def no_room(who: str, shape: Sequence[int], dtype: Any) -> Any:
    """Return the error for an array that does not fit into memory, with the bytes that it would take."""
    elements = math.prod(shape)
    size = elements * dtype.itemsize
    step = min((size.bit_length() - 1) // 10, len(UNITS) - 1)
    rounded = f" ({size / 1024**step:.1f} {UNITS[step]})" if step > 0 and size < 1 << 80 else ""
    sizes = f"({', '.join(map(digits, shape))}{',' * (len(shape) == 1)})"
    what = f"not enough memory: shape {sizes} of {dtype.name} has {digits(elements)} elements, {digits(size)} bytes{rounded}"
    return error(MemoryError, who, what, "use smaller sizes, a smaller dtype, or a part of the data at a time")


def digits(n: int) -> str:
    """Return a whole number in digits, if they are not too many to be read."""
    return str(n) if abs(n) < 1 << 128 else f"about 10**{math.log10(abs(n)):.0f}"


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


_unsaid: ContextVar[bool] = ContextVar("minigrad.unsaid", default=False)


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
    if _unsaid.get():
        return
    frame = user_frame(2)
    here = None if frame is None else Place(frame.f_code.co_filename, frame.f_lineno)
    place = where or here or Place("<unknown>", 1)
    text = report(who, what, fix, place, notes)
    message = Message(f"{text}\n  This is the warning [{name}]; minigrad.silence({name!r}) turns it off.")
    message.name = name
    names = {} if frame is None else frame.f_globals
    module, registry = names.get("__name__", "<unknown>"), names.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, MinigradWarning, place.file, place.line, module, registry)


@contextmanager
def unsaid() -> Iterator[None]:
    """Give no warnings meanwhile.  Python's filters are the user's, and every thread's."""
    before = _unsaid.get()
    try:
        _unsaid.set(True)
        yield
    finally:
        _unsaid.set(before)


def silence(*names: str) -> None:
    """Turn off the warnings called so, for the rest of the program (or of a `with warnings.catch_warnings():`).

    >>> import minigrad, warnings
    >>> with warnings.catch_warnings():
    ...     minigrad.silence("broadcast-loss")
    ...     loss = minigrad.nn.functional.mse_loss(minigrad.ones(3, 1), minigrad.ones(3))
    """
    for name in names:
        warnings.filterwarnings("ignore", rf"(?s).*This is the warning \[{re.escape(name)}\]", MinigradWarning)
