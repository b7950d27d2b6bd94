"""Measure the bytes per graph node: build a long chain in a fresh process and read the growth of its memory.

    python -m benchmarks.memory CONTESTANT

Resident memory is a measure that works for all libraries, whatever language their nodes are written in.
"""

import os
import subprocess
import sys

from . import peers

NODES, BEFORE = 100_000, 1_000
TARGET = 200
ABLE = ("minigrad", "torch", "mygrad", "autograd")  # the others build a program, not a node per operation


def resident():
    """Return the resident memory of this process in bytes."""
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def build(contestant, n):
    """Return a chain of n multiplications, or an object that keeps its graph alive."""
    lib = peers.load(contestant.library)
    if contestant.library == "autograd":
        return lib.make_vjp(lambda y: multiplied(y, n))(1.0)
    if contestant.library == "mygrad":
        return multiplied(lib.tensor([1.0]), n)
    return multiplied(lib.tensor([1.0], requires_grad=True), n)


def multiplied(y, n):
    """Return y multiplied n times."""
    for _ in range(n):
        y = y * 1.000001
    return y


def bytes_a_node(contestant):
    """Return the bytes per node, measured in this process."""
    kept = [build(contestant, BEFORE)]  # imports, pools, caches
    start = resident()
    kept.append(build(contestant, NODES))
    return (resident() - start) / NODES


def measured(contestants):
    """Return the bytes per node by contestant, each in a separate process; empty if the system does not report memory."""
    if not os.path.exists("/proc/self/statm"):
        return {}
    found = {}
    for name in [c.name for c in contestants if c.name in ABLE]:
        run = subprocess.run([sys.executable, "-m", __spec__.name, name], capture_output=True, text=True)
        if run.returncode:
            print(f"{name} failed: {(run.stderr.splitlines() or [''])[-1]}")
        else:
            found[name] = round(float(run.stdout))
    print("\nBytes per node of a chain: " + ", ".join(f"{name} {n:,}" for name, n in found.items()))
    return found


if __name__ == "__main__":
    print(bytes_a_node(peers.BY_NAME[sys.argv[1]]), flush=True)
    os._exit(0)  # some libraries free a chain by recursion
