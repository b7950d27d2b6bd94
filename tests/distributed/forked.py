"""Fork the ranks of a program from a Python that has imported minigrad.

A rank spends nearly all of its start on imports, and the tests start hundreds of ranks.  So mpiexec starts rank.py, which
needs no imports: it hands its environment and its files to the server in this module, among them the one through which MPI
finds the other ranks.  The server forks a process that becomes the rank: it joins MPI, runs the program and ends as it
likes, and rank.py ends in the same way.  So each program has its own processes, memory and MPI, and nothing that it does
reaches the next one.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import linecache
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import types
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
RANK = Path(__file__).with_name("rank.py")
LONGEST = 1 << 17  # bytes of a message
# what Python and the libraries read when they are imported
READ_AT_START = "PYTHON", "NUMBA", "MINIGRAD", "MALLOC", "GLIBC"
POSSIBLE = sys.platform == "linux" and hasattr(os, "pidfd_open")


def command(program, *needs):
    """Return the words after `mpiexec -n N` that run a program; its process has imported the modules `needs`."""
    if not POSSIBLE:
        return [sys.executable, "-c", program]
    read = tuple(sorted((k, v) for k, v in os.environ.items() if k.startswith(READ_AT_START)))
    return [sys.executable, "-I", "-S", RANK, server(read, needs), program]


@functools.cache
def server(read, needs):
    """Start a server, with these variables in the environment, and return its address; it ends with this process."""
    folder = tempfile.TemporaryDirectory(prefix="forked-ranks-")
    address = f"{folder.name}/server"
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(address)
    listening.listen()
    ours, theirs = socket.socketpair()
    with listening, theirs:
        words = [
            sys.executable,
            "-m",
            "tests.distributed.forked",
            str(listening.fileno()),
            str(theirs.fileno()),
            *needs,
        ]
        fds = listening.fileno(), theirs.fileno()
        process = subprocess.Popen(words, cwd=ROOT, pass_fds=fds, stdin=subprocess.DEVNULL, start_new_session=True)

    @atexit.register
    def end():
        ours.close()
        process.wait()
        folder.cleanup()

    return address


class Server:
    """Forks a process for each rank that asks, until the process that started the server ends."""

    def __init__(self, listening, starter):
        self.listening, self.starter = listening, starter
        self.ranks = {}  # the connection to rank.py -> the process, and the file that is readable when it has ended

    def serve(self):
        """Return in the server when its starter has ended, and in each fork what it has to run."""
        gc.freeze()  # the forks share these pages
        while True:
            ends = {ended: connection for connection, (_, ended) in self.ranks.items()}
            ready, _, _ = select.select([self.listening, self.starter, *self.ranks, *ends], [], [])
            if self.starter in ready:
                for pid, _ in self.ranks.values():
                    os.kill(pid, signal.SIGKILL)
                return None
            for one in ready:
                if one is self.listening:
                    if (given := self.fork()) is not None:
                        return given
                elif one in ends:
                    if ends[one] in self.ranks:  # not reported a moment ago, as one that mpiexec has ended
                        self.report(ends[one])
                elif one in self.ranks:  # mpiexec has ended rank.py
                    os.kill(self.ranks[one][0], signal.SIGKILL)
                    self.report(one)

    def fork(self):
        """Fork a process for a rank; return its program, environment and files in the fork, and None in the server."""
        connection, _ = self.listening.accept()
        try:
            message, files, _, _ = socket.recv_fds(connection, LONGEST, 4)
        except ConnectionError:
            message, files = b"", []
        if not message:  # mpiexec has ended rank.py
            connection.close()
            return None
        if pid := os.fork():
            for file in files:
                os.close(file)
            self.ranks[connection] = pid, os.pidfd_open(pid)
            return None
        for one in (self.listening, self.starter, connection, *self.ranks):
            one.close()
        return *json.loads(message), files

    def report(self, connection):
        """Wait for a process that has ended or is about to, and tell its rank.py how."""
        pid, ended = self.ranks.pop(connection)
        status = os.waitpid(pid, 0)[1]
        with contextlib.suppress(OSError):  # rank.py may be gone
            connection.send(str(status).encode())
        connection.close()
        os.close(ended)


def run(program, environment, files):
    """Be a rank: join MPI and run a program."""
    import mpi4py.MPI

    for place, file in enumerate(files[:3]):
        os.dup2(file, place)
        os.close(file)
    for place, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        setattr(sys, name, os.fdopen(place, mode, 1, closefd=False))  # may have no positions, unlike the server's
    os.environ.clear()
    os.environ.update(environment, PMI_FD=str(files[3]))
    mpi4py.MPI.Init_thread()
    sys.argv[:] = ["-c"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    linecache.cache["<string>"] = len(program), None, program.splitlines(True), "<string>"  # minigrad.compile reads it
    exec(compile(program, "<string>", "exec"), vars(sys.modules["__main__"]))


def main():
    """Import what programs need, serve, and in the forks be a rank."""
    import mpi4py

    mpi4py.rc.initialize, mpi4py.rc.finalize = False, True
    import mpi4py.MPI  # without joining: each fork does

    import minigrad.distributed  # noqa: F401

    for name in sys.argv[3:]:
        importlib.import_module(name)
    if (given := Server(*[socket.socket(fileno=int(word)) for word in sys.argv[1:3]]).serve()) is not None:
        run(*given)


if __name__ == "__main__":
    main()
