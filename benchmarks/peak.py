"""The most memory that a run holds at one time beyond parameters and data, in a fresh process.

    python -m benchmarks.peak CASE CONTESTANT N

prints bytes.  The first runs are not counted: in them libraries are loaded, programs captured and compiled, and optimizers get
their state.  What they have freed goes back to the system, or it would hide what the
next ones need.  Linux keeps the most that was resident and can be told to forget it (proc(5), clear_refs).
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
RUNS = 3  # the second step of an optimizer is the first that is compiled


def peak(case, contestant, n):
    """Bytes of this process beyond those before, while the case runs a few times."""
    for _ in range(2):  # the first of two loads whatever is loaded for work of this size
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
    """Give freed memory back to the system."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def forget():
    """Make what is resident now the most that was."""
    with open(FORGET, "w", encoding="ascii") as file:
        file.write("5")


def highest():
    """The most bytes that were resident."""
    with open(STATUS, encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def measured(case, contestants, n):
    """Bytes by contestant, each in a process of its own; those that fail are left out."""
    found = {}
    for c in [c for c in contestants if case.able(c)]:
        command = [sys.executable, "-W", "ignore", "-m", __spec__.name, case.name, c.name, str(n)]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            print(f"{case.name}, {c.name} failed: {(run.stderr.splitlines() or [''])[-1]}")
        else:
            found[c.name] = int(run.stdout.split()[-1])
    return found


def steps(contestants, quick=False):
    """The most memory of large training steps, as plain data; prints it.  Empty where the system does not tell."""
    found = []
    for case in large.CASES if os.path.exists(STATUS) else ():
        n = case.quick_n if quick else case.n
        found.append({"case": case.name, "title": case.title(n), "bytes": measured(case, contestants, n)})
        most = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in found[-1]["bytes"].items())
        print(f"\nMost memory of {found[-1]['title']}: {most}", flush=True)
    return found


def main(case, contestant, n):
    """Print the bytes."""
    named = {c.name: c for c in (*CASES, *growing.CASES, *large.CASES)}
    print(peak(named[case], peers.BY_NAME[contestant], int(n)), flush=True)
    os._exit(0)  # some libraries take a chain apart by recursion


if __name__ == "__main__":
    main(*sys.argv[1:])
