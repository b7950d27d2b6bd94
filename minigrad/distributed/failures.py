"""Ends all ranks together: after an uncaught exception on one rank, after Ctrl-C, or when all programs are done.

If one rank ended alone, the others would wait for it forever.  So a rank prints its uncaught exception, adds a line on where
each other rank is, and lets MPI end them all.  A rank whose program is done waits for the others, and answers ranks that still
wait for it.
"""

from __future__ import annotations

import atexit
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import error
from ..places import raised_at
from .waiting import FAILED, StatusListener

if TYPE_CHECKING:
    from .groups import ProcessGroup

# MPICH's mpiexec -disable-auto-cleanup sends it to the others, and it would end them without a message
DIED = signal.SIGUSR1
INTERRUPTED = 128 + signal.SIGINT
PASSED_ON = 0.3  # seconds in which mpiexec forwards the ranks' output; the rest is lost when they end


class Ends:
    """Ends all ranks; the only instance is `ends`."""

    before: Callable[..., Any] = sys.__excepthook__
    world: ProcessGroup
    listener: StatusListener

    def begin(self, world: ProcessGroup) -> None:
        """Install the hooks for uncaught exceptions and for the end of the program."""
        self.world, self.listener = world, world.listener
        self.before, sys.excepthook = sys.excepthook, self.uncaught
        atexit.register(self.done)

    @staticmethod
    def handle_death_signal() -> None:
        """Listen to the signal for a dead rank, unless the program handles this signal itself."""
        if threading.current_thread() is threading.main_thread() and signal.getsignal(DIED) is signal.SIG_DFL:
            signal.signal(DIED, StatusListener.alarm)

    def stop(self) -> None:
        """Remove the hooks."""
        if sys.excepthook == self.uncaught:
            sys.excepthook = self.before
        atexit.unregister(self.done)
        self.listener.comm.Free()

    def uncaught(self, kind: type[BaseException], e: BaseException, tb: TracebackType | None) -> None:
        """Print an uncaught exception, and end all ranks."""
        if issubclass(kind, KeyboardInterrupt):
            print(f"rank {self.listener.comm.rank} was interrupted at {raised_at(e)}", file=sys.stderr)
            self.abort(INTERRUPTED)
        self.before(kind, e, tb)
        self.failed()

    def failed(self) -> None:
        """After this rank's exception is printed, print where the other ranks are, and end them all."""
        rank, size = self.listener.comm.rank, self.listener.comm.size
        if size > 1:
            lines = [f"rank {rank} of {size} has failed, so all ranks stop", *self.others()]
            print("\n  ".join(lines), file=sys.stderr)
            self.abort(1)

    def others(self) -> list[str]:
        """Announce the failure to the other ranks, and return a line on where each of them is."""
        self.listener.end = "has failed as well"
        return self.listener.answers(self.world.ranks, FAILED)

    def abort(self, status: int) -> None:
        """End all ranks, after mpiexec has forwarded their output."""
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(PASSED_ON)
        self.listener.comm.Abort(status)

    def done(self) -> None:
        """Wait until the programs of all ranks are done; if their calls differ, print the error and end them all."""
        try:
            self.compare_last_calls()
        except RuntimeError as e:
            print(e, file=sys.stderr)
            self.abort(1)

    def compare_last_calls(self) -> None:
        """Wait for the other ranks, answer those that wait for this one, and compare the calls of all.

        Raises RuntimeError if the calls differ, or if a rank does not end before the timeout.
        """
        self.listener.end = "has finished its program"
        digests = np.empty(self.listener.comm.size, np.int64)
        request = self.listener.comm.Iallgather(np.array([self.world.agreement.digest]), digests)
        begun = time.perf_counter()
        while not request.Test():
            self.listener.listen()
            time.sleep(0.001)
            if time.perf_counter() - begun > self.world.timeout:
                what = f"the program of rank {self.listener.comm.rank} has been finished for {self.world.timeout:g} s"
                lines = self.listener.answers(self.world.ranks)
                fix = "let all ranks reach the end of the program"
                raise error(RuntimeError, "torch.distributed", what, fix, notes=lines)
        if (digests != digests[0]).any():
            raise self.world.agreement.difference(self.world)


ends = Ends()
