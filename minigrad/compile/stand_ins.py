"""Stand-ins for functions that a capture must not call, put into the user's globals, cells and attributes.

Functions of `math` give symbols for symbols.  What keeps its results, as functools.cache does, is the function itself, so that
nothing of a capture is kept.  What has to be done at each call, as `print`, warnings.warn and a logger do it, refuses.
"""

from __future__ import annotations

import builtins
import functools
import math
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from .symbols import MATH

if TYPE_CHECKING:
    from .guards import Environment

WARNING = {"warnings", "_warnings", "logging"}  # the modules that warn and log
QUIET = {"catch_warnings", "getLogger"}  # these say nothing


@contextmanager
def standing_in(environment: Environment, capturing: Callable) -> Iterator[None]:
    """Have stand-ins where they are needed.  `capturing()` gives the capture of the thread that calls one, or None."""
    try:
        for (_, name), scope in environment.speaking.items():
            scope[name] = partial(speak, capturing, getattr(builtins, name), name)
        for put, value in environment.stand_ins:
            put(stand_in(value, capturing))
        yield
    finally:
        for (_, name), scope in environment.speaking.items():
            scope.pop(name, None)
        for put, value in environment.stand_ins:
            put(value)


def stand_in(value: Any, capturing: Callable) -> Any:
    """Return what stands in the place of a value."""
    if is_cache(value):
        return value.__wrapped__
    if speaks(value):
        return Speaker(value, capturing)
    return MATH if value is math else getattr(MATH, value.__name__)


def speak(capturing: Callable, function: Callable, name: str, *args: Any, **kwargs: Any) -> Any:
    """Refuse what has to be done at each call; in threads that capture nothing it is done."""
    if (trace := capturing()) is None:
        return function(*args, **kwargs)
    raise trace.refuse(f"it calls {name}(), which does something at each call")


class Speaker:
    """Stand for a module that warns or logs, for a logger, or for a function of these."""

    def __init__(self, value: Any, capturing: Callable):
        self._value, self._capturing = value, capturing

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._value, name)
        return Speaker(found, self._capturing) if callable(found) and name not in QUIET else found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return speak(self._capturing, self._value, self._value.__name__, *args, **kwargs)


def is_cache(value: Any) -> bool:
    """Return whether a function keeps what it gives, as functools.cache does: it would keep what a capture computes with."""
    return isinstance(value, functools._lru_cache_wrapper)


def speaks(value: Any) -> bool:
    """Return whether a value warns or logs: one of these modules, a function or an object of theirs, or a method of such."""
    if isinstance(value, types.ModuleType):
        return value.__name__ in WARNING
    if isinstance(value, types.MethodType):
        value = value.__self__
    return getattr(value, "__module__", None) in WARNING and not isinstance(value, type)


def is_replaced(value: Any) -> bool:
    """Return whether something stands in a value's place while a function is captured."""
    mathematical = isinstance(value, types.BuiltinFunctionType) and value.__module__ == "math"
    return value is math or mathematical or is_cache(value) or speaks(value)
