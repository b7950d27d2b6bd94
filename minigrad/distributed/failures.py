"""The end of all ranks: after an exception on one of them, after Ctrl-C, and when their programs are done.

A rank that ends alone would leave the others waiting.  So an exception that nobody catches is printed, followed by a line for
each other rank on where it is, and MPI ends them all; and a rank whose program is done waits for the others, and says so to
those that still wait for it.
"""

from __future__ import annotations

import atexit
import signal
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from ..errors import error
from ..places import raised_at
from .waiting import FAILED, Ear

INTERRUPTED = 128 + signal.SIGINT


class Ends:
    """What ends all ranks; there is one, `ends`."""

    before: Callable[..., Any] = sys.__excepthook__
    ear: Ear
    timeout: float

    def begin(self, ear: Ear, timeout: float) -> None:
        """Be called for exceptions that nobody catches, and when the program is done."""
        self.ear, self.timeout = ear, timeout
        self.before, sys.excepthook = sys.excepthook, self.uncaught
        atexit.register(self.done)

    def stop(self) -> None:
        """Be called no more."""
        if sys.excepthook == self.uncaught:
            sys.excepthook = self.before
        atexit.unregister(self.done)
        self.ear.comm.Free()

    def uncaught(self, kind: type[BaseException], e: BaseException, tb: TracebackType | None) -> None:
        """Print an exception, and end all ranks."""
        if issubclass(kind, KeyboardInterrupt):
            self.abort(f"was interrupted at {raised_at(e)}", INTERRUPTED)
        self.before(kind, e, tb)
        self.failed()

    def failed(self) -> None:
        """Say where the other ranks are, once this one's exception is printed, and end them all."""
        rank, size = self.ear.comm.rank, self.ear.comm.size
        if size > 1:
            self.ear.end = "has failed as well"
            lines = [f"rank {rank} of {size} has failed, so all end", *self.ear.answers(self.ear.others, FAILED)]
            print("\n  ".join(lines), file=sys.stderr, flush=True)
            self.ear.comm.Abort(1)

    def abort(self, why: str, status: int) -> None:
        """End all ranks at once, with a line on this one."""
        print(f"rank {self.ear.comm.rank} {why}", file=sys.stderr, flush=True)
        sys.stdout.flush()
        time.sleep(0.2)  # the others write their lines
        self.ear.comm.Abort(status)

    def done(self) -> None:
        """Wait until the programs of all ranks are done, and answer those that wait for this one."""
        self.ear.end = "has ended its program"
        request, begun = self.ear.comm.Ibarrier(), time.perf_counter()
        while not request.Test():
            self.ear.listen()
            time.sleep(0.001)
            if time.perf_counter() - begun > self.timeout:
                what = f"the program of rank {self.ear.comm.rank} has been done for {self.timeout:g} s"
                e = error(RuntimeError, "torch.distributed", what, "let all ranks come to their end")
                print(e, *self.ear.answers(self.ear.others), sep="\n  ", file=sys.stderr)
                self.abort("ends all", 1)


ends = Ends()
