"""Ctrl-C and SIGTERM in a program that is recorded: they end the program, and its picture is drawn.

The signal may come while a recording notes something, which must not stop halfway. So it waits until the program's own code
runs, or until `PATIENCE` is over. A second signal ends the command at once.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any

from ..errors import INSTALLED

OURS = tuple(f"{Path(__file__).parents[2] / name}{os.sep}" for name in ("viz", "minigrad"))
PATIENCE, AGAIN = 2.0, 0.002  # seconds to wait for the program's own code, and between two looks


class Waiting:
    """The handler of the signals."""

    def __init__(self) -> None:
        self.began: float | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt in the program's own code, or wait for it."""
        if number != signal.SIGALRM and self.began is not None:
            os._exit(130)  # the second one
        self.began = self.began or monotonic()
        if frame is None or is_programs(frame) or monotonic() - self.began > PATIENCE:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt
        signal.setitimer(signal.ITIMER_REAL, AGAIN)


def is_programs(frame: FrameType) -> bool:
    """Return True if the program's own code runs in a frame, or has called the library that runs there."""
    one: FrameType | None = frame
    while one is not None and one.f_code.co_filename.startswith((*INSTALLED, "<frozen ")):
        one = one.f_back
    return one is not None and not one.f_code.co_filename.startswith(OURS)


@contextmanager
def ends_program() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM in the block raise KeyboardInterrupt where the program's own code runs."""
    alarm = getattr(signal, "SIGALRM", None)
    if alarm is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    handler: Any = Waiting()
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM, alarm)}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, one in before.items():
            signal.signal(number, one)
