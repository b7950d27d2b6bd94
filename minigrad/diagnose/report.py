"""Register the function that explains each fault that core finds, and the phrases that explanations share.

Core raises `problem(code, ...)` for an error and calls `notice(code, ...)` for a warning.  The code is the broken rule, as a
sentence; the file of the theme has a row for it, or a function where the message depends on more.  An explanation, or a
search in the user's program, may meet code that it was not made for.  Its failure never replaces the error that it was to
explain.
"""

from __future__ import annotations

import functools
import inspect
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.graph import Node
from ..core.tensor import Tensor
from ..errors import Interruption, MinigradError, error

if TYPE_CHECKING:
    from ..core.function import Function

PASSED = (MinigradError, Warning, Interruption)  # an explanation or a search raises these on purpose
EXPLAINED: dict[str, Callable] = {}  # code -> function that returns the exception, or warns


class Failed(threading.local):
    """The reason why the last search in this thread failed; "" if none has failed since the last error."""

    why = ""

    def note(self, e: Exception) -> None:
        """Note the failure of a search or an explanation."""
        self.why = f"{type(e).__name__}: {e}"


failed = Failed()


class Notes:
    """Notes about objects, compared by identity; a note disappears with its object."""

    def __init__(self):
        self.table: dict[int, tuple[weakref.ref, Any]] = {}

    def __setitem__(self, o: Any, note: Any) -> None:
        k, table = id(o), self.table
        table[k] = weakref.ref(o, lambda _: table.pop(k, None)), note

    def get(self, o: Any) -> Any:
        """Return the last note about the object, or None."""
        ref, note = self.table.get(id(o), (None, None))
        return note if ref is not None and ref() is o else None


def explains(*codes: str) -> Callable:
    """Register a function for these codes: it takes their facts and returns the exception to raise, or warns."""

    def enter(f: Callable) -> Callable:
        EXPLAINED.update(dict.fromkeys(codes, f))
        return f

    return enter


def searches(otherwise: Any = None) -> Callable:
    """Guard a search in the user's program: if it fails, it finds nothing, and the error it works for gets a note."""

    def guard(f: Callable) -> Callable:
        @functools.wraps(f)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            try:
                return f(*args, **kwargs)
            except PASSED:
                raise
            except RecursionError:  # the program is too long to be read
                return otherwise
            except Exception as e:
                failed.note(e)
                return otherwise

        return guarded

    return guard


def problem(code: str, **facts: Any) -> Exception:
    """Return the exception for a fault."""
    failed.why = ""
    try:
        found = EXPLAINED[code](**facts)
    except PASSED:
        raise
    except Exception as e:
        failed.note(e)
        found = error(
            RuntimeError, "minigrad", f"{code}, but " + ", ".join(f"{k} is {described(v)}" for k, v in facts.items())
        )
    if failed.why and isinstance(found, MinigradError):
        found.notes = *found.notes, f"internal: the search for the cause failed ({failed.why}); please report it"
    return found


def notice(code: str, **facts: Any) -> None:
    """Warn about code that is allowed but rarely intended; raise if a closer look finds it wrong."""
    EXPLAINED[code](**facts)


def argument_names(cls: type[Function], n: int) -> list[str]:
    """Return the names of forward's first n arguments, without the ctx."""
    found = []
    for p in list(inspect.signature(cls.forward).parameters.values())[cls.combined :]:
        found += [f"{p.name}[{i}]" for i in range(n - len(found))] if p.kind is p.VAR_POSITIONAL else [p.name]
    return found[:n] if len(found) >= n else [f"argument_{i}" for i in range(n)]


def built_in(node: Any) -> str:
    """Return the name of the built-in operation that made a node; "" for a user's Function, a leaf and None."""
    return node._fn.function_name() if isinstance(node, Node) and node._fn.primitive else ""


def counted(n: int, noun: str) -> str:
    """Return a number with its noun: 1 argument, 2 arguments.

    >>> counted(1, "entry"), counted(2, "entry")
    ('1 entry', '2 entries')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun[:-1] + 'ies' if noun.endswith('y') else noun + 's'}"


def row(names: list[str]) -> str:
    """Return names as a list in a sentence.

    >>> row(["a"]), row(["a", "b"]), row(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def described(x: Any) -> str:
    """Return a short description of a value."""
    if isinstance(x, Tensor):
        return f"a tensor of shape {tuple(x.shape)}"
    return "None" if x is None else f"a {type(x).__name__}"
