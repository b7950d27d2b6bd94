"""Register the function that explains each fault that core finds.

core raises `problem(code, ...)`, where the code is the rule that was broken, as a sentence, and continues after
`notice(code, ...)`.  The function for a code stands in the file that is named after the kind of mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

EXPLAINED: dict[str, Callable] = {}  # code -> the function that makes the exception, or warns


def explains(*codes: str) -> Callable:
    """Enter a function that takes the facts of these codes: it returns the exception to raise, or warns."""

    def enter(f: Callable) -> Callable:
        EXPLAINED.update(dict.fromkeys(codes, f))
        return f

    return enter


def problem(code: str, **facts: Any) -> Exception:
    """Return the exception for a fault."""
    return EXPLAINED[code](**facts)


def notice(code: str, **facts: Any) -> None:
    """Warn of what is allowed and seldom meant; refuse what turns out to be wrong on a closer look."""
    EXPLAINED[code](**facts)
