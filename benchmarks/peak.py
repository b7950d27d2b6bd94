"""Measure the peak memory of a run beyond parameters and data, in a fresh process.

    python -m benchmarks.peak CASE CONTESTANT N

prints bytes.  The first runs do not count: they load libraries, capture and compile programs, and create the state of
optimizers.  Memory that they free is returned to the system, or it would hide the needs of later runs.  Linux
records the peak of resident memory and can reset it (proc(5), clear_refs).
"""

import ctypes
import gc
import os
import subprocess
import sys

from . import peers
from .cases import CASES, growing, large
from .memory import resident

STATUS, FORGET = "/proc/self/status", "/proc/self/clear_refs"
RUNS = 3  # an optimizer's second step is the first compiled one


def peak(case, contestant, n):
    """Return the peak memory of the case in bytes, beyond the memory before its runs."""
    for _ in range(2):  # the first round loads everything that work of this size needs
        run = None
        give_back()
        run = case.prepare(contestant, n)
        give_back()
        before = resident()
        for _ in range(RUNS):
            run()
    give_back()
    forget()
    for _ in range(RUNS):
        run()
    return highest() - before


def give_back():
    """Return freed memory to the system."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def forget():
    """Reset the peak of resident memory to its current value."""
    with open(FORGET, "w", encoding="ascii") as file:
        file.write("5")


def highest():
    """Return the peak of resident memory in bytes."""
    with open(STATUS, encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def measured(case, contestants, n):
    """Return the bytes by contestant, each in a separate process, without contestants that fail."""
    found = {}
    for c in [c for c in contestants if case.can_run(c)]:
        command = [sys.executable, "-W", "ignore", "-m", __spec__.name, case.name, c.name, str(n)]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            print(f"{case.name}, {c.name} failed: {(run.stderr.splitlines() or [''])[-1]}")
        else:
            found[c.name] = int(run.stdout.split()[-1])
    return found


def steps(contestants, quick=False):
    """Print and return the peak memory of large training steps; empty if the system does not report it."""
    found = []
    for case in large.CASES if os.path.exists(STATUS) else ():
        n = case.quick_n if quick else case.n
        found.append({"case": case.name, "title": case.title(n), "bytes": measured(case, contestants, n)})
        most = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in found[-1]["bytes"].items())
        print(f"\nPeak memory of {found[-1]['title']}: {most}", flush=True)
    return found


def main(case, contestant, n):
    """Print the bytes."""
    named = {c.name: c for c in (*CASES, *growing.CASES, *large.CASES)}
    print(peak(named[case], peers.BY_NAME[contestant], int(n)), flush=True)
    os._exit(0)  # some libraries free a chain by recursion


if __name__ == "__main__":
    main(*sys.argv[1:])
