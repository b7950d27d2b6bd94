"""Run a command with limits that hold for all that it starts: `python supervise.py SECONDS BYTES COMMAND ...`.

The command is ended when its time is over, when its processes together use more memory or are more than they may, when this
process is ended, or when whoever started this one is gone (its standard input ends).  Afterwards what the command started is
ended too.  On Linux that includes processes that have left its session: when their parents end they become children of this
one.  What happened is written as a line of JSON: {"code": the command's exit code, "ended": why it was ended, or ""}.

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
PROCESSES = 200
USUAL = 1 << 30  # bytes that Python and minigrad may take besides
FILE = 1 << 30  # bytes of the largest file
LOOK = 0.1  # seconds between two looks


def supervise(command: list[str], seconds: float, extra: int) -> dict[str, object]:
    """Run the command; return how it ended."""
    if LINUX:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    quiet = subprocess.DEVNULL
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
                ended = excess(extra)
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


def excess(extra: int) -> str:
    """Say what the processes have too much of, if anything."""
    pids = list(descendants()) if LINUX else []
    if len(pids) > PROCESSES:
        return f"with more than {PROCESSES} processes"
    if extra and sum(map(memory, pids)) > extra + USUAL:
        return f"with more than {extra / 2**30:g} GiB in {len(pids)} processes"
    return ""


def descendants() -> Iterator[int]:
    """Find the processes that this one has started, and those that they have."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):  # it has just ended
                state = Path(f"/proc/{entry}/stat").read_text(errors="replace").rpartition(")")[2].split()
                children.setdefault(int(state[1]), []).append(int(entry))
    waiting = [os.getpid()]
    while waiting:
        found = children.get(waiting.pop(), [])
        waiting += found
        yield from found


def memory(pid: int) -> int:
    """Return the bytes that a process has in memory, its part of what it shares with others."""
    for name, unit in (("smaps_rollup", 1024), ("statm", os.sysconf("SC_PAGE_SIZE"))):
        with suppress(OSError, ValueError, IndexError):
            text = Path(f"/proc/{pid}/{name}").read_text()
            return unit * int(text.partition("\nPss:")[2].split()[0] if name == "smaps_rollup" else text.split()[1])
    return 0


def end_all(process: subprocess.Popen) -> None:
    """End the command and all that it started; one that was ended may have started another in between."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
    process.wait()
    end = time.monotonic() + 10.0
    while LINUX and time.monotonic() < end and (pids := list(descendants())):
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(json.dumps(supervise(sys.argv[3:], float(sys.argv[1]), int(sys.argv[2]))))
