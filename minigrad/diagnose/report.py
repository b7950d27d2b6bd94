"""Register the function that explains each fault that core finds.

Core raises `problem(code, ...)` for an error and calls `notice(code, ...)` for a warning.  The code is the broken rule, as a
sentence; the function that explains it is in the file named after the kind of mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

EXPLAINED: dict[str, Callable] = {}  # code -> function that returns the exception, or warns


def explains(*codes: str) -> Callable:
    """Register a function for these codes: it takes their facts and returns the exception to raise, or warns."""

    def enter(f: Callable) -> Callable:
        EXPLAINED.update(dict.fromkeys(codes, f))
        return f

    return enter


def problem(code: str, **facts: Any) -> Exception:
    """Return the exception for a fault."""
    return EXPLAINED[code](**facts)


def notice(code: str, **facts: Any) -> None:
    """Warn about code that is allowed but rarely intended; raise if a closer look finds it wrong."""
    EXPLAINED[code](**facts)
