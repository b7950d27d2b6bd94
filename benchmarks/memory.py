"""How many bytes a node of the graph takes: a long chain is built in a fresh process, and what that has grown is read.

    python -m benchmarks.memory CONTESTANT

The process's resident memory is what all libraries have in common, whatever language their nodes are written in.
"""

import os
import subprocess
import sys

from . import peers

NODES, BEFORE = 100_000, 1_000
TARGET = 200
ABLE = ("minigrad", "torch", "mygrad", "autograd")  # the others build a program, not a node for each operation


def resident():
    """Bytes of this process that lie in memory."""
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def build(contestant, n):
    """A chain of n multiplications: whatever keeps its graph alive."""
    lib = peers.load(contestant.library)
    if contestant.library == "autograd":
        return lib.make_vjp(lambda y: multiplied(y, n))(1.0)
    if contestant.library == "mygrad":
        return multiplied(lib.tensor([1.0]), n)
    return multiplied(lib.tensor([1.0], requires_grad=True), n)


def multiplied(y, n):
    """y, multiplied n times."""
    for _ in range(n):
        y = y * 1.000001
    return y


def bytes_a_node(contestant):
    """What one node takes, in this process."""
    kept = [build(contestant, BEFORE)]  # imports, pools, caches
    start = resident()
    kept.append(build(contestant, NODES))
    return (resident() - start) / NODES


def measured(contestants):
    """Bytes a node by contestant, each in a process of its own; empty where the system does not tell."""
    if not os.path.exists("/proc/self/statm"):
        return {}
    found = {}
    for name in [c.name for c in contestants if c.name in ABLE]:
        run = subprocess.run([sys.executable, "-m", __spec__.name, name], capture_output=True, text=True)
        if run.returncode:
            print(f"{name} failed: {(run.stderr.splitlines() or [''])[-1]}")
        else:
            found[name] = round(float(run.stdout))
    print("\nBytes a node of a chain: " + ", ".join(f"{name} {n:,}" for name, n in found.items()))
    return found


if __name__ == "__main__":
    print(bytes_a_node(peers.BY_NAME[sys.argv[1]]), flush=True)
    os._exit(0)  # some libraries take a chain apart by recursion
