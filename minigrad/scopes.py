"""Settings for a while: a ContextVar with another value, or anything else that has to be undone at the end.

Ctrl-C may come between two instructions, also while a `with` begins or ends. So a value is restored by a single call, and an
undo runs twice: one Ctrl-C stops only one of the two.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class setting:
    """`with setting(var, value):` run the body with another value of a ContextVar. A generator would cost twice as much."""

    __slots__ = ("old", "value", "var")

    def __init__(self, var: ContextVar, value: Any):
        self.var, self.value = var, value

    def __enter__(self) -> Any:
        self.old = self.var.get()
        try:
            self.var.set(self.value)
            return self.value
        except BaseException:  # Ctrl-C may come between two instructions: here, before the body of the `with`
            self.var.set(self.old)
            raise

    def __exit__(self, *_: object) -> None:
        self.var.set(self.old)


@contextmanager
def undoing(undo: Callable[[], Any]) -> Iterator[None]:
    """`with undoing(undo):` run the body, then `undo`, which runs twice and must change nothing the second time.

    >>> undone = set()
    >>> with undoing(lambda: undone.add("state")):
    ...     pass
    >>> undone
    {'state'}
    """
    try:
        try:
            yield
        finally:
            undo()
    finally:
        undo()
