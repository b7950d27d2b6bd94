"""Functions and classes that the user allows even untrusted files to name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import error
from .rebuild import Name

BLOCKED = ("sys", "os", "posix", "nt")  # modules that are never safe
_safe: dict[Name, Any] = {}


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Allow files to create objects of these classes and to call these functions, with arbitrary arguments.

    An item may be a pair of the object and its name in files. Raises RuntimeError for parts of os and sys.

    >>> import fractions, minigrad
    >>> minigrad.serialization.add_safe_globals([fractions.Fraction])
    >>> minigrad.serialization.get_safe_globals()
    [<class 'fractions.Fraction'>]
    >>> minigrad.serialization.clear_safe_globals()
    """
    _safe.update(named(safe_globals))


def get_safe_globals() -> list:
    """Return the functions and classes that files may name.

    >>> import minigrad
    >>> minigrad.serialization.get_safe_globals()
    []
    """
    return list(_safe.values())


def clear_safe_globals() -> None:
    """Remove everything that add_safe_globals allowed.

    >>> import minigrad
    >>> minigrad.serialization.clear_safe_globals()
    """
    _safe.clear()


class safe_globals:
    """Allow files to name these functions and classes within the block; see `add_safe_globals`.

    >>> import fractions, minigrad
    >>> with minigrad.serialization.safe_globals([fractions.Fraction]):
    ...     minigrad.serialization.get_safe_globals()
    [<class 'fractions.Fraction'>]
    """

    def __init__(self, safe_globals: Iterable[Any]):
        self.added = named(safe_globals)

    def __enter__(self) -> None:
        self.before = dict(_safe)
        _safe.update(self.added)

    def __exit__(self, *error: object) -> None:
        _safe.clear()
        _safe.update(self.before)


def safe_names() -> dict[Name, Any]:
    """Return the allowed functions and classes by name."""
    return _safe


def named(items: Iterable[Any]) -> dict[Name, Any]:
    """Return functions and classes by their names in pickles."""
    found = {}
    for item in items:
        value, text = item if isinstance(item, tuple) else (item, f"{item.__module__}.{item.__qualname__}")
        name = Name(*text.rpartition(".")[::2])
        if name.module in BLOCKED:
            what = f"{name} is part of the module {name.module}, with which a file could run any code"
            raise error(RuntimeError, "add_safe_globals", what, "trust the file instead: weights_only=False")
        found[name] = value
    return found
