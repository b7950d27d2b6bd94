"""The worker processes of one pass over a DataLoader (or of all passes, if they persist), each with a pipe.

A worker answers its tasks in order, so the order of the tasks determines the order of the batches.  A worker that dies
closes its pipe, which raises an error here instead of waiting forever.  However the pool ends (a break, an exception, Ctrl-C
or the end of the program), its processes end too.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import time
import weakref
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from typing import Any

from ...errors import error
from .batch_transfer import receive
from .worker import CHECK, Job, ours, work

GRACE = 2.0  # seconds that a worker gets to finish its task


class WorkerPool:
    """Starts a process for each job, sends tasks and receives results."""

    def __init__(self, context: Any, jobs: Sequence[Job]):
        self.processes: list = []
        self.pipes: list = []
        self.stop = weakref.finalize(self, stop, self.processes, self.pipes, os.getpid())
        try:
            with interrupts_held():
                for job in jobs:
                    self.start(context or multiprocessing, job)
        except BaseException:
            self.stop()
            raise

    def start(self, context: Any, job: Job) -> None:
        """Start one more process."""
        pipe, theirs = context.Pipe()
        with theirs:
            ours.add(pipe)
            self.pipes.append(pipe)
            name = f"DataLoader worker {job.worker}"
            process = context.Process(target=work, args=(job, theirs), name=name, daemon=True)
            try:
                process.start()
            except (TypeError, AttributeError, pickle.PicklingError) as e:
                e.add_note(
                    "A worker that is not forked gets dataset, collate_fn and worker_init_fn by pickle: define their classes "
                    "and functions at the top of a module, or pass multiprocessing_context='fork' to DataLoader."
                )
                raise
        self.processes.append(process)

    def give(self, worker: int, task: Any) -> None:
        """Give a worker one more task."""
        with suppress(OSError):  # a dead worker raises an error in take()
            self.pipes[worker].send(task)

    def take(self, workers: Collection[int], timeout: float = 0) -> tuple[int, Any]:
        """Wait for a result of one of these workers; return the worker's number and the result.

        Raises RuntimeError if a worker has died, or after `timeout` seconds unless that is 0.
        """
        end = time.monotonic() + (timeout or float("inf"))
        while True:
            if not self.stop.alive:
                raise error(
                    RuntimeError, "DataLoader", "its workers have stopped", "begin a new pass: iter(dataloader)"
                )
            pipes = {self.pipes[i]: i for i in workers}
            ready = wait(pipes, max(min(CHECK, end - time.monotonic()), 0))
            if ready:
                return self.received(pipes[ready[0]])
            for i in workers:
                if not self.processes[i].is_alive() and not self.pipes[i].poll(0):
                    raise self.died(i)
            if time.monotonic() >= end:
                raise timed_out(workers, timeout)

    def received(self, worker: int) -> tuple[int, Any]:
        """Read a result that a worker has sent."""
        try:
            text, arrays = receive(self.pipes[worker])
        except (EOFError, OSError):
            raise self.died(worker) from None
        return worker, pickle.loads(text, buffers=arrays)

    def died(self, worker: int) -> Exception:
        """Stop all workers, and return the error for one that has died."""
        process = self.processes[worker]
        process.join(CHECK)
        pid, code = process.pid, process.exitcode
        self.stop()
        fix = "use num_workers=0 to run the same code in this process"
        how = f"it exited with code {code}"
        if code is not None and code < 0:
            how = f"it was killed by {signal.Signals(-code).name}"
            fix += "; a system that runs out of memory kills processes: load fewer or smaller batches at a time"
        return error(RuntimeError, "DataLoader", f"worker {worker} (pid {pid}) exited unexpectedly: {how}", fix)


def timed_out(workers: Collection[int], timeout: float) -> Exception:
    """Return the error for a batch that does not arrive in time."""
    who = f"worker {min(workers)}" if len(workers) == 1 else f"workers {', '.join(map(str, sorted(workers)))}"
    what = f"timed out: {who} sent no batch for {timeout} seconds"
    return error(RuntimeError, "DataLoader", what, "pass a larger timeout, or 0 to wait without a limit")


def stop(processes: list, pipes: list, pid: int) -> None:
    """End the processes: closing their pipes stops them; terminate those that are busy for too long."""
    if os.getpid() != pid:  # a forked process has only copies of the handles
        return
    for pipe in pipes:
        pipe.close()
    end = time.monotonic() + GRACE
    try:
        for process in processes:
            process.join(max(end - time.monotonic(), 0))
    finally:  # also after Ctrl-C
        for process in processes:
            if process.is_alive():
                process.terminate()
        for process in processes:
            process.join(GRACE)
            if process.is_alive():
                process.kill()


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold back Ctrl-C while processes start, until they leave it to this process (worker.begin)."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
