"""Run a command with limits that hold for all that it starts: `python supervise.py SECONDS BYTES COMMAND ...`.

The command is ended when its time is over, when its processes together use more memory than they may, are more, or have more
threads, when this process is ended, or when whoever started this one is gone (its standard input ends).  Afterwards what the
command started is ended too.  On Linux that includes processes that have left its session: when their parents end they become
children of this one.  What happened is written as a line of JSON: {"code": the command's exit code, "ended": why it was ended,
or ""}.

This file is run by its path and imports nothing of ours, since it starts once for each notebook.
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
PROCESSES, THREADS = 200, 2000  # a process that has ended and was not waited for counts as a thread
USUAL = 1 << 30  # bytes that Python and minigrad may take besides
FILE = 1 << 30  # bytes of the largest file
LOOK = 0.1  # seconds between two looks


def supervise(command: list[str], seconds: float, extra: int) -> dict[str, object]:
    """Run the command; return how it ended."""
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
                ended = "by whoever started it"
            else:
                ended = excess(extra, before)
    finally:
        end_all(process)
    return {"code": process.returncode, "ended": ended}


def prctl(option: int, value: int) -> None:
    """Set what Linux knows of this process."""
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def limit() -> None:
    """Let the command end with this process, and write no huge files."""
    if LINUX:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def abandoned() -> bool:
    """Wait a moment; say whether the standard input has ended."""
    if os.name != "posix":  # where only sockets can be waited for
        time.sleep(LOOK)
        return False
    ready, _, _ = select.select([sys.stdin], [], [], LOOK)
    return bool(ready) and not os.read(sys.stdin.fileno(), 1)


def excess(extra: int, before: int) -> str:
    """Say what the processes have too much of, if anything; `before` is what files in memory took when they began."""
    found = dict(descendants()) if LINUX else {}
    alive = [pid for pid, threads in found.items() if threads]
    if len(alive) > PROCESSES:
        return f"with more than {PROCESSES} processes"
    if sum(max(threads, 1) for threads in found.values()) > THREADS:
        return f"with more than {THREADS} threads"
    if extra and sum(map(memory, alive)) > extra + USUAL:
        return f"with more than {extra / 2**30:g} GiB in {len(alive)} processes"
    if extra and shared() - before > extra + USUAL:
        return f"with more than {extra / 2**30:g} GiB in files that are in memory"
    return ""


def descendants() -> Iterator[tuple[int, int]]:
    """Find the processes that this one has started, and those that they have; each with its threads, 0 if it has ended."""
    children: dict[int, list[tuple[int, int]]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):  # it has just been waited for
                state = Path(f"/proc/{entry}/stat").read_text(errors="replace").rpartition(")")[2].split()
                threads = int(state[17])  # one that has ended still says 1; with more, only its first thread has ended
                found = int(entry), 0 if state[0] == "Z" and threads <= 1 else threads
                children.setdefault(int(state[1]), []).append(found)
    waiting = [os.getpid()]
    while waiting:
        found_here = children.get(waiting.pop(), [])
        waiting += [pid for pid, _ in found_here]
        yield from found_here


def memory(pid: int) -> int:
    """Return the bytes that a process has in memory, its part of what it shares with others.

    Where its first thread has ended, the others know.
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
    """Return the bytes of all files that are in memory, on the whole machine: no process need have them mapped."""
    if not LINUX:
        return 0
    return 1024 * int(Path("/proc/meminfo").read_text().partition("\nShmem:")[2].split()[0])


def end_all(process: subprocess.Popen) -> None:
    """End the command and all that it started; one that was ended may have started another in between."""
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
