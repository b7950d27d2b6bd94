"""Ranks that stay: one mpiexec for each number of ranks runs many programs, one after another.

Starting ranks and loading their kernels takes longer than most programs.  So each rank waits at a socket, without using the
processor, runs the programs that come as modules, each in process groups that begin and end with it, and answers with its
traceback.  After a program that fails, or does not end, its ranks are ended, and the next program gets new ones.
"""

import atexit
import gc
import json
import linecache
import socket
import subprocess
import sys
import tempfile
import traceback
import types
import warnings
from itertools import count
from pathlib import Path

from minigrad.distributed.launch import start_mpiexec
from tests.distributed import forked

LONGEST = 120.0  # seconds for a program
running: dict = {}  # the number of ranks -> Resident


class Resident:
    """The ranks of one mpiexec; `connections` has a file for each."""

    def __init__(self, mpiexec, n):
        self.folder = tempfile.TemporaryDirectory(prefix="resident-ranks-")
        address, self.log = f"{self.folder.name}/ranks", Path(self.folder.name) / "log"
        program = f"from tests.distributed.resident import serve\nserve({address!r})"
        words = [mpiexec, "-n", str(n), *forked.command(program)]
        with socket.socket(socket.AF_UNIX) as listening, self.log.open("w") as log:
            listening.bind(address)
            listening.listen(n)
            listening.settimeout(LONGEST)
            self.process = start_mpiexec(
                words, cwd=forked.ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
            self.connections = [listening.accept()[0] for _ in range(n)]
        for connection in self.connections:
            connection.settimeout(LONGEST)

    def run(self, program):
        """Run a program on all ranks; return the tracebacks of those that fail."""
        failures = []
        for connection in self.connections:
            connection.sendall(json.dumps(program).encode() + b"\n")
        for connection in self.connections:
            try:
                failures += filter(None, [json.loads(connection.makefile().readline())])
            except (OSError, ValueError) as e:
                failures.append(f"a rank does not answer ({e!r}): {self.log.read_text()[-3000:]}")
            if failures:
                connection.settimeout(5.0)
        return failures

    def end(self):
        """End the ranks."""
        for connection in self.connections:
            connection.close()
        try:
            self.process.wait(2.0)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            self.process.wait()
        self.folder.cleanup()


def run(mpiexec, n, program):
    """Run a program on n ranks that stay for the next one; return the tracebacks of those that fail."""
    if n not in running:
        running[n] = Resident(mpiexec, n)
    if failures := running[n].run(program):
        running.pop(n).end()
    return failures


@atexit.register
def end():
    """End all ranks."""
    while running:
        running.popitem()[1].end()


# ---------------------------------------------------------------------- in the ranks
def serve(address):
    """Be a rank: run the programs that come from a socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        for number, line in zip(count(), connection.makefile()):
            connection.sendall(json.dumps(traceback_of(json.loads(line), f"<program {number}>")).encode() + b"\n")


def traceback_of(program, file):
    """Run a program as a module; return its traceback if it fails."""
    import minigrad.distributed as dist

    linecache.cache[file] = len(program), None, program.splitlines(True), file  # minigrad.compile reads it
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        with warnings.catch_warnings():
            exec(compile(program, file, "exec"), vars(sys.modules["__main__"]))
        if dist.is_initialized():
            dist.failures.ends.compare_last_calls()
            dist.destroy_process_group()
    except BaseException:
        return traceback.format_exc()
    vars(sys.modules["__main__"]).clear()
    gc.collect()
    return ""
