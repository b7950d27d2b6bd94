"""A limit of time for a call: an endless loop in a learner's code ends with TooLong, on whose traceback its line is."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

__all__ = ["TooLong", "within"]


class TooLong(BaseException):
    """The time of a call is over.  A BaseException, so that a learner's `except Exception` does not catch it."""


def within(seconds: float, f: Callable[[], Any], computing: bool = False) -> Any:
    """Return f's result; raise TooLong after `seconds`, and again after as many more if a bare `except` has caught it.

    With `computing`, only the processor's time for this process counts, so a busy machine stops nothing.  A limit around this
    one goes on, and counts if it ends earlier.  Only the main thread of a system with such timers has limits.

    >>> within(5.0, lambda: 3)
    3
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return f()

    def ring(*_: Any) -> None:
        raise TooLong(f"stopped after {seconds:g} s")

    timer, number = (signal.ITIMER_VIRTUAL, signal.SIGVTALRM) if computing else (signal.ITIMER_REAL, signal.SIGALRM)
    clock = time.process_time if computing else time.monotonic
    outer, again = signal.getitimer(timer)
    if 0 < outer <= seconds:
        return f()
    old, began = signal.signal(number, ring), clock()
    signal.setitimer(timer, seconds, seconds)
    try:
        return f()
    finally:
        left = max(outer - (clock() - began), 1e-3) if outer else 0
        signal.signal(number, old)
        signal.setitimer(timer, left, again)
