"""Guards for loading Numba and compiling: Ctrl-C does not interrupt them, and a fork waits until they finish.

A half-imported Numba cannot be imported again, and Numba fills its tables of compilable functions only once. So loading runs
to the end, and a Ctrl-C during it is raised afterwards. A forked process has only the thread that forked: locks that another
thread holds while it loads or compiles would stay locked for ever, so a fork waits for that thread.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401  registers a fork handler, and Numba imports it
import functools
import gc
import logging  # noqa: F401  the same
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from .cpu import scipy_blas

loading = threading.RLock()  # held while Numba or a module for it loads; taken before Numba's own lock, never after
_held: list = []  # the locks that a fork holds


def uninterrupted(load: Callable, *args: Any) -> Any:
    """Return load(*args); a Ctrl-C during the call is handled after it."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        return load(*args)  # Python interrupts only the main thread
    interrupts: list = []
    signal.signal(signal.SIGINT, lambda *received: interrupts.append(received))
    try:
        return load(*args)
    finally:
        signal.signal(signal.SIGINT, handler)
        if interrupts:
            handler(*interrupts[-1])


def uncollected(f: Callable) -> Callable:
    """Return f with a pause of Python's garbage collector, which takes a tenth of the time in which Numba compiles.

    Numba creates many objects that it needs to the end, and the collector examines them again and again. While it
    fills its tables, that takes half of the time.
    """

    @functools.wraps(f)
    def run(*args: Any) -> Any:
        enabled = gc.isenabled()
        gc.disable()
        try:
            return f(*args)
        finally:
            if enabled:
                gc.enable()

    return run


@uncollected
def load_numba() -> None:
    """Import Numba, including the parts that it imports on its first array."""
    import numba
    import numpy

    numba.typeof(numpy.empty(0))


@uncollected
def fill_tables(target: Any) -> None:
    """Fill Numba's tables of compilable functions, which it otherwise does on the first compilation."""
    from numba.core.registry import cpu_target

    with scipy_blas.alone():
        cpu_target.typing_context.refresh()
        target.refresh()


def prepare() -> None:
    """Load Numba without interruption."""
    with loading:
        uninterrupted(load_numba)


def before_fork() -> None:
    """Wait until no other thread loads or compiles."""
    loading.acquire()
    module = sys.modules.get("numba.core.compiler_lock")
    _held[:] = [loading, *([module.global_compiler_lock] if hasattr(module, "global_compiler_lock") else [])]
    for lock in _held[1:]:
        lock.acquire()


def after_fork() -> None:
    """Release the locks that the fork held."""
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):  # handlers run last-registered first: compiling may need logging's lock
    os.register_at_fork(before=before_fork, after_in_parent=after_fork, after_in_child=after_fork)
