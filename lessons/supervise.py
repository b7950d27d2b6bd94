"""Run a command with limits for it and all processes that it starts: `python supervise.py SECONDS BYTES COMMAND ...`.

The command is killed after SECONDS, when its processes together exceed a limit of memory, processes or threads, when this
process ends, or when the parent of this process is gone (standard input ends).  Afterwards all processes that it started are
killed, too.  On Linux these include processes that left its session: when their parents end, they become children of this
one.  The output is a line of JSON: {"code": the command's exit code, "ended": the reason if it was killed, else ""}.

The grader runs this file by its path, once for each notebook, so it imports only the standard library.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

LINUX = sys.platform.startswith("linux")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PROCESSES, THREADS = 200, 2000  # a zombie process counts as a thread
USUAL = 1 << 30  # additional bytes for Python and minigrad
FILE = 1 << 30  # bytes of the largest file
LOOK = 0.1  # seconds between two checks


def supervise(command: list[str], seconds: float, extra: int) -> dict[str, object]:
    """Run the command; return its exit code, and the reason if it was killed."""
    if LINUX:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    quiet, before = subprocess.DEVNULL, shared()
    process = subprocess.Popen(
        command, start_new_session=True, stdin=quiet, stdout=quiet, preexec_fn=limit if os.name == "posix" else None
    )
    end, ended = time.monotonic() + seconds, ""
    try:
        while process.poll() is None and not ended:
            if time.monotonic() > end:
                ended = f"after {seconds:g} s"
            elif abandoned():
                ended = "since its parent process is gone"
            else:
                ended = excess(extra, before)
    finally:
        end_all(process)
    return {"code": process.returncode, "ended": ended}


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process on Linux."""
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def limit() -> None:
    """Make the command end with this process, and limit the size of its files."""
    if LINUX:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def abandoned() -> bool:
    """Wait up to LOOK seconds; return True if the standard input has ended."""
    if os.name != "posix":  # select takes only sockets there
        time.sleep(LOOK)
        return False
    ready, _, _ = select.select([sys.stdin], [], [], LOOK)
    return bool(ready) and not os.read(sys.stdin.fileno(), 1)


def excess(extra: int, before: int) -> str:
    """Return the limit that the processes exceed, or ""; `before` is the size of files in memory at the start."""
    found = dict(descendants()) if LINUX else {}
    alive = [pid for pid, threads in found.items() if threads]
    if len(alive) > PROCESSES:
        return f"with more than {PROCESSES} processes"
    if sum(max(threads, 1) for threads in found.values()) > THREADS:
        return f"with more than {THREADS} threads"
    if extra and sum(map(memory, alive)) > extra + USUAL:
        return f"with more than {extra / 2**30:g} GiB in {len(alive)} processes"
    if extra and shared() - before > extra + USUAL:
        return f"with more than {extra / 2**30:g} GiB in files in memory"
    return ""


def descendants() -> Iterator[tuple[int, int]]:
    """Yield each process that descends from this one, and the number of its threads: 0 if it has ended."""
    children: dict[int, list[tuple[int, int]]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):  # the process is gone by now
                state = Path(f"/proc/{entry}/stat").read_text(errors="replace").rpartition(")")[2].split()
                threads = int(state[17])  # a zombie reports 1; with more, only its first thread has ended
                found = int(entry), 0 if state[0] == "Z" and threads <= 1 else threads
                children.setdefault(int(state[1]), []).append(found)
    waiting = [os.getpid()]
    while waiting:
        found_here = children.get(waiting.pop(), [])
        waiting += [pid for pid, _ in found_here]
        yield from found_here


def memory(pid: int) -> int:
    """Return the bytes of memory of a process, with its share of pages that it shares with others.

    If its first thread has ended, read the number from another thread.
    """
    with suppress(OSError):
        for thread in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
            with suppress(OSError, IndexError):
                text = Path(f"/proc/{thread}/smaps_rollup").read_text()
                return 1024 * int(text.partition("\nPss:")[2].split()[0])
    with suppress(OSError):
        return os.sysconf("SC_PAGE_SIZE") * int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return 0


def shared() -> int:
    """Return the bytes of files in memory on the whole machine, since a file need not be mapped by any process."""
    if not LINUX:
        return 0
    return 1024 * int(Path("/proc/meminfo").read_text().partition("\nShmem:")[2].split()[0])


def end_all(process: subprocess.Popen) -> None:
    """Kill the command and all its descendants, repeatedly, since one may start another before it dies."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
    process.wait()
    end = time.monotonic() + 10.0
    while LINUX and time.monotonic() < end and (pids := dict(descendants())):
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(json.dumps(supervise(sys.argv[3:], float(sys.argv[1]), int(sys.argv[2]))))
