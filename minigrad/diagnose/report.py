"""Register the function that explains each fault that core finds.

Core raises `problem(code, ...)` for an error and calls `notice(code, ...)` for a warning.  The code is the broken rule, as a
sentence; the function that explains it is in the file named after the kind of mistake.  An explanation, or a search in the
user's program, may meet code that it was not made for.  Its failure never replaces the error that it was to explain.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from ..errors import Interruption, MinigradError, error
from .wording import described

PASSED = (MinigradError, Warning, Interruption)  # an explanation or a search raises these on purpose
EXPLAINED: dict[str, Callable] = {}  # code -> function that returns the exception, or warns


class Failed(threading.local):
    """The reason why the last search in this thread failed; "" if none has failed since the last error."""

    why = ""

    def note(self, e: Exception) -> None:
        """Note the failure of a search or an explanation."""
        self.why = f"{type(e).__name__}: {e}"


failed = Failed()


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
