"""Stand-ins for functions that a capture must not call, stored in the user's globals, cells and attributes.

Functions of `math` return symbols for symbols. A cached function (functools.cache) is replaced by the function inside, so that
no value of a capture stays in the cache. Functions with a visible effect, such as `print`, warnings.warn or a logger, refuse.
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

WARNING = {"warnings", "_warnings", "logging"}  # modules that warn and log
QUIET = {"catch_warnings", "getLogger"}  # these have no visible effect


@contextmanager
def installed_stand_ins(environment: Environment, capturing: Callable) -> Iterator[None]:
    """Install the stand-ins for a block. `capturing()` returns the capture of the calling thread, or None."""
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
    """Return the stand-in for a value."""
    if is_cache(value):
        return value.__wrapped__
    if warns_or_logs(value):
        return Speaker(value, capturing)
    return MATH if value is math else getattr(MATH, value.__name__)


def speak(capturing: Callable, function: Callable, name: str, *args: Any, **kwargs: Any) -> Any:
    """Refuse a call with a visible effect during a capture; other threads run it."""
    if (trace := capturing()) is None:
        return function(*args, **kwargs)
    raise trace.refuse(f"it calls {name}(), which has an effect at each call")


class Speaker:
    """A stand-in for a module that warns or logs, for a logger, or for one of their functions."""

    def __init__(self, value: Any, capturing: Callable):
        self._value, self._capturing = value, capturing

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._value, name)
        return Speaker(found, self._capturing) if callable(found) and name not in QUIET else found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return speak(self._capturing, self._value, self._value.__name__, *args, **kwargs)


def is_cache(value: Any) -> bool:
    """Return True if a function caches its results, as functools.cache does; it would cache values of a capture."""
    return isinstance(value, functools._lru_cache_wrapper)


def warns_or_logs(value: Any) -> bool:
    """Return True for a module that warns or logs, a function or object of it, or a method of such an object."""
    if isinstance(value, types.ModuleType):
        return value.__name__ in WARNING
    if isinstance(value, types.MethodType):
        value = value.__self__
    return getattr(value, "__module__", None) in WARNING and not isinstance(value, type)


def is_replaced(value: Any) -> bool:
    """Return True if a stand-in replaces a value during a capture."""
    mathematical = isinstance(value, types.BuiltinFunctionType) and value.__module__ == "math"
    return value is math or mathematical or is_cache(value) or warns_or_logs(value)
