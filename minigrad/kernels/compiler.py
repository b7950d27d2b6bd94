"""Numba while it is loaded and compiles: not torn by Ctrl-C, and at rest when the process is forked.

A half-imported Numba does not import again, and Numba's tables of what it can compile are filled once, on the way.  So what
loads is run to its end, and a Ctrl-C that has come meanwhile is raised then.  A forked process has only the thread that forked:
what another one was loading or compiling would stay locked for ever, so a fork waits for it.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401  it has something done at a fork, and is loaded with Numba
import logging  # noqa: F401  so has it
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

loading = threading.RLock()  # held while Numba or a module for it is loaded; taken before Numba's own, never after
_held: list = []  # the locks that a fork holds


def whole(load: Callable, *args: Any) -> Any:
    """Return load(*args), and raise a Ctrl-C that comes meanwhile afterwards."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        return load(*args)  # Python interrupts the main thread alone
    came: list = []
    signal.signal(signal.SIGINT, lambda *said: came.append(said))
    try:
        return load(*args)
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[-1])


def load_numba() -> None:
    """Import Numba with what it imports later, when it is given its first array."""
    import numba
    import numpy

    numba.typeof(numpy.empty(0))


def fill_tables(target: Any) -> None:
    """Have Numba learn what it can compile, as it does otherwise on its way, the first time."""
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    target.refresh()


def prepare() -> None:
    """Load Numba in one piece."""
    with loading:
        whole(load_numba)


def before_fork() -> None:
    """Wait until no other thread loads or compiles."""
    loading.acquire()
    module = sys.modules.get("numba.core.compiler_lock")
    _held[:] = [loading, *([module.global_compiler_lock] if hasattr(module, "global_compiler_lock") else [])]
    for lock in _held[1:]:
        lock.acquire()


def after_fork() -> None:
    """Let them go on."""
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):  # what is registered last is done first: who compiles may need the lock of logging
    os.register_at_fork(before=before_fork, after_in_parent=after_fork, after_in_child=after_fork)
