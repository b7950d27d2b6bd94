"""Run programs in separate processes that start at once: forks of a Python that has imported what they need.

To import minigrad, what draws and what reads a command line takes a new Python a second, and the tests start hundreds of
them.  Here one for each worker does that, and then forks for each program.  A new one is started where a variable decides how
Python or a library starts, and on systems where forking is not safe.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
IMPORTED = """minigrad lessons viz viz.commands.app viz.drawing viz.formats.export viz.formats.sketch viz.viewer
    minigrad.compat matplotlib.pyplot matplotlib.backends.backend_agg matplotlib.backends.backend_pdf PIL.features
    fontTools.subset numba pygraphviz cyclopts rich docstring_parser""".split()
# what Python and the libraries read when they are loaded
READ_AT_START = tuple("PYTHON NUMBA MINIGRAD_GENERIC MINIGRAD_DEBUG MINIGRAD_VIZ MINIGRAD_CUDA MALLOC GLIBC".split())
LONGEST = 1 << 17  # bytes of a message
SPENT: list[float] = []  # seconds of processor time of each program
Done = subprocess.CompletedProcess[bytes]
CODE: list[int] = []  # the exit code of a fork, known when its program has ended


def python(
    *words: str | Path, cwd: Path, given: bytes = b"", new: bool = False, needs: str = "", **variables: str
) -> Done:
    """Run `python word word ...` in a folder, with further variables of the environment, and return what it did."""
    words, environment = tuple(map(str, words)), {**os.environ, **variables}
    if new or sys.platform != "linux" or any(name.startswith(READ_AT_START) for name in variables):
        command = [sys.executable, *words]
        return subprocess.run(command, cwd=cwd, input=given, env=environment, capture_output=True, timeout=300)
    with tempfile.TemporaryFile() as read, tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        read.write(given)
        files = read, said, complained
        for file in files:
            file.seek(0)
        code = ended(json.dumps([words, str(cwd), environment, needs]).encode(), [file.fileno() for file in files])
        for file in files:
            file.seek(0)
        return Done(words, code, said.read(), complained.read())


@functools.cache
def parent() -> socket.socket:
    """Return the connection to the Python that forks; when it is closed, that one ends."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", "tests.forked", str(theirs.fileno())]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        environment = {**os.environ, "MPLBACKEND": "agg"}
        process = subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()], env=environment, **quiet)
    ours.settimeout(300)
    atexit.register(lambda: (ours.close(), process.wait()))
    return ours


def ended(message: bytes, files: list[int]) -> int:
    """Wait for a program to end, and return its exit code."""
    socket.send_fds(parent(), [message], files)
    pid = int(parent().recv(LONGEST))
    try:
        said = parent().recv(LONGEST)
    except TimeoutError:
        os.kill(pid, 9)
        said = parent().recv(LONGEST)
    code, seconds = said.split()
    SPENT.append(float(seconds))
    return int(code)


def spent() -> float:
    """Return the processor time of all programs that this process had forked, in seconds (tools/durations.py)."""
    return sum(SPENT)


def serve(connection: socket.socket) -> None:
    """Fork for each program that is asked for."""
    atexit.register(end_at_once)  # the last function of all, since it is the first one here
    for name in IMPORTED:
        importlib.import_module(name)
    identity = importlib.import_module("numba").njit(lambda x: x)
    identity.compile("float64(float64)")  # the first function takes 0.6 s longer than those after it
    sys.modules.pop("viz.cli", None)  # Python warns of a program that is a module already
    gc.freeze()  # the forks share these pages
    while True:
        message, files, _, _ = socket.recv_fds(connection, LONGEST, 3)
        if not message:
            return
        words, cwd, environment, needs = json.loads(message)
        if needs:
            importlib.import_module(needs)
        pid = os.fork()
        if not pid:
            connection.close()
            return run(words, cwd, environment, files)
        for file in files:
            os.close(file)
        connection.send(str(pid).encode())
        _, status, used = os.wait4(pid, 0)
        connection.send(f"{os.waitstatus_to_exitcode(status)} {used.ru_utime + used.ru_stime}".encode())


def run(words: list[str], cwd: str, environment: dict[str, str], files: list[int]) -> None:
    """Be the process that runs a program."""
    for place, file in enumerate(files):
        os.dup2(file, place)
        os.close(file)
    os.chdir(cwd)
    if "multiprocessing.process" in sys.modules:  # where processes that are spawned look for the program
        sys.modules["multiprocessing.process"].ORIGINAL_DIR = cwd
    os.environ.clear()
    os.environ.update(environment)
    with ending():
        if words[0] == "-m":
            sys.argv, sys.path[0] = words[1:], cwd
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        elif words[0] == "-c":
            sys.argv, sys.path[0] = ["-c", *words[2:]], ""
            exec(words[1], {"__name__": "__main__"})
        else:
            sys.argv, sys.path[0] = words, str(Path(cwd, words[0]).parent)
            runpy.run_path(words[0], run_name="__main__")


@contextlib.contextmanager
def ending():
    """Note the exit code of a program. An interrupt leaves none: Python then ends as by the signal."""
    try:
        yield
        CODE.append(0)
    except SystemExit as end:
        CODE.append(end.code if isinstance(end.code, int) else int(end.code is not None))
        raise
    except Exception:
        CODE.append(1)
        raise


def end_at_once() -> None:
    """End a fork after its threads and the functions of `atexit`. Python would touch every object once more: 0.1 s."""
    if CODE:
        for file in (sys.stdout, sys.stderr):
            if file is not None and not file.closed:
                file.flush()
        os._exit(CODE[0] & 0xFF)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
