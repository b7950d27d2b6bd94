"""Count calls, kernel launches, bytes and loops.  Unlike times, counts hardly depend on the machine.

    python -m benchmarks.counts            print them
    python -m benchmarks.counts --write    make tests/benchmarks/test_counts.py expect them for this Python

The test fails if a count grows by more than a tenth.  If one shrinks, the test passes, and --write records the gain.
Each kind is counted in a separate process, on small cases from cases/, after twenty calls to warm up.
"""

import functools
import gc
import json
import re
import subprocess
import sys
import tracemalloc
import types
from pathlib import Path

from . import peers
from .cases import CASES

ROOT = Path(__file__).parent.parent
EXPECTED = ROOT / "tests" / "benchmarks" / "counts.json"
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
ELEMENTS = 1 << 14  # of pointwise: enough for kernels, too few for threads
WARM, NODES = 20, 1000  # diagnose checks the first 16 backwards of a line
EAGER = ("small_forward", "small_forward_untracked", "small_backward", "small_grad", "custom_apply", "custom_backward",
         "custom_combined_apply", "custom_combined_backward", "network_step", "func_grad", "per_sample_gradients",
         "pointwise", "softmax", "layer_norm", "cross_entropy")  # fmt: skip
COMPILED = ("small_grad", "network_step", "func_grad", "pointwise", "softmax", "cross_entropy")
BY_NAME = {c.name: c for c in CASES}
IMPORT = "from benchmarks.counts import calls_of; print(calls_of(lambda: __import__('minigrad')))"


def warm(name, contestant="minigrad"):
    """Return a case of minigrad, set up and called a few times."""
    case = BY_NAME[name]
    run = case.prepare(peers.BY_NAME[contestant], ELEMENTS if name == "pointwise" else case.quick_n)
    for _ in range(WARM):
        run()
    return run


def programs():
    """Yield (label, function to run) for all programs whose runs are counted."""
    yield from ((name, warm(name)) for name in EAGER)
    yield from ((f"{name} compiled", warm(name, "minigrad.compile")) for name in COMPILED)


# ---------------------------------------------------------------------- the kinds of counts
def calls():
    """Count the calls of Python and C functions in one run, and of an import."""
    run = subprocess.run([sys.executable, "-c", IMPORT], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name: calls_of(run) for name, run in programs()} | {"import": int(run.stdout)}


def calls_of(run):
    """Return the number of calls that the profiler reports."""
    events = []
    gc.disable()  # the callbacks of what it frees would count
    sys.setprofile(lambda frame, event, arg: events.append(event))
    try:
        run()
    finally:
        sys.setprofile(None)
        gc.enable()
    return events.count("call") + events.count("c_call") - 1  # setprofile itself


def kernels():
    """Count the compiled functions that Python calls in one run, among those loaded from now on."""
    from numba.core.dispatcher import Dispatcher

    from minigrad.kernels import cache

    launched, build = [], cache.build

    def counted(f):
        def launch(*args):
            launched.append(f)
            return f(*args)

        return launch

    def build_counted(key, source):
        module = build(key, source)
        names = {k: counted(f) if isinstance(f, Dispatcher) else f for k, f in vars(module).items()}
        for k, f in names.items():
            if isinstance(f, types.FunctionType) and f.__globals__ is vars(module):  # Python between compiled parts
                names[k] = types.FunctionType(f.__code__, names, k, f.__defaults__)
        return types.SimpleNamespace(**names)

    cache.build = build_counted
    counts = {}
    for name, run in programs():
        launched.clear()
        run()
        counts[name] = len(launched)
    return counts


def bytes_():
    """Count the bytes that a node of a chain keeps, and the peak of a run beyond the memory before it."""
    lib = peers.load("minigrad")
    tracemalloc.start()
    found = {"a node of a chain": node(lib)}
    for name, run in programs():
        found[name] = min(most(run) for _ in range(3))  # one-time allocations do not count
    tracemalloc.stop()
    return found


def most(run):
    """Return the peak memory of a run in bytes."""
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    run()
    return tracemalloc.get_traced_memory()[1] - before


def node(lib):
    """Return the bytes per node of the second of two chains, so that one-time allocations do not count."""
    kept = []
    for _ in range(2):
        before = tracemalloc.get_traced_memory()[0]
        y = lib.tensor([1.0], requires_grad=True)
        for _ in range(NODES):
            y = y * 1.000001
        kept.append(y)
        grown = tracemalloc.get_traced_memory()[0] - before
    return grown // NODES


def loops():
    """Count the loops in the text of compiled programs."""
    return {name: len(re.findall(r"^    for ", text, re.MULTILINE)) for name, text in texts()}


def arrays():
    """Count the arrays that compiled programs allocate."""
    return {name: len(re.findall(r"\b(?:empty|zeros|full|dot)\(", text)) for name, text in texts()}


def texts():
    """Yield the name and text of each compiled program."""
    lib = peers.load("minigrad")
    for name in COMPILED:
        case, made = BY_NAME[name], []

        def compiled(f, made=made):
            made.append(lib.compile(f, fullgraph=True))
            return made[-1]

        size = [] if case.n is None else [case.quick_n]
        case.programs["shared"](lib, compiled, *size)()
        yield name, made[0].source()


KINDS = {"calls": calls, "kernels": kernels, "bytes": bytes_, "loops": loops, "arrays": arrays}


# ---------------------------------------------------------------------- reading and writing
@functools.cache
def counted(kind):
    """Return the counts of one kind, from a separate process."""
    command = [sys.executable, "-m", "benchmarks.counts", kind]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"counting {kind} failed:\n{run.stderr}")
    return json.loads(run.stdout)


def expected():
    """Return the counts that the tests expect for this Python, or for the newest known one."""
    known = json.loads(EXPECTED.read_text(encoding="utf-8"))
    return known.get(VERSION) or known[max(known, key=lambda v: [int(n) for n in v.split(".")])]


def write(found):
    """Store the counts as expected for this Python."""
    known = json.loads(EXPECTED.read_text(encoding="utf-8")) if EXPECTED.exists() else {}
    known[VERSION] = found
    EXPECTED.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main(*args):
    """Run the command line."""
    if args and args[0] in KINDS:
        gc.disable()  # a collection would run destructors at arbitrary times
        print(json.dumps(KINDS[args[0]]()))
        return
    found = {kind: counted(kind) for kind in KINDS}
    for kind, counts in found.items():
        print(f"{kind}: {KINDS[kind].__doc__.splitlines()[0]}")
        for name, count in counts.items():
            print(f"  {name:34}{count:>10,}")
    if "--write" in args:
        write(found)


if __name__ == "__main__":
    main(*sys.argv[1:])
