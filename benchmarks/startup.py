"""Measure one-time waits: from starting Python to the first gradient, and the first call of a compiled training step.

    python -m benchmarks.startup CASE CONTESTANT

prints the seconds from the imported library to the first result.  "Cold" means empty cache folders, "from disk" a second
process with the folders that the first one filled.  The contestants' processes take turns, as in all measurements.
"""

import os
import subprocess
import sys
import tempfile
import time

from . import cases, peers

ROUNDS, COLD_ROUNDS = 7, 3
SHARED = "x = lib.tensor([1.0, 2.0], requires_grad=True); (x * x).sum().backward(); x.grad"
FIRST_GRADIENT = {
    "python": "pass",
    "minigrad": f"import minigrad as lib; {SHARED}",
    "torch": f"import torch as lib; {SHARED}",
    "jax.jit": "import jax; jax.jit(jax.grad(lambda x: (x * x).sum()))(jax.numpy.array([1.0, 2.0])).block_until_ready()",
    "mygrad": "import mygrad as mg; x = mg.tensor([1.0, 2.0]); (x * x).sum().backward(); x.grad",
    "autograd": "import autograd, autograd.numpy as np; autograd.grad(lambda x: np.sum(x * x))(np.array([1.0, 2.0]))",
}
COLD_CASE = cases.network_step
COLD = ("minigrad.compile", "torch.compile", "jax.jit")


def seconds_to_run(program):
    """Return the seconds that a new Python process takes for a program."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return time.perf_counter() - start


def first_gradient(contestants, rounds):
    """Return the seconds from the start of Python to the first gradient by contestant, best of the rounds."""
    names = {c.name for c in contestants} | {"python"}
    programs = {name: text for name, text in FIRST_GRADIENT.items() if name in names}
    for text in programs.values():
        seconds_to_run(text)  # the first run writes bytecode
    times = [{name: seconds_to_run(text) for name, text in programs.items()} for _ in range(rounds)]
    return best(times)


def caches(folder):
    """Return environment variables that put every library's cache into a folder."""
    return {
        "XDG_CACHE_HOME": folder,
        "MINIGRAD_CACHE": "",
        "TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "inductor"),
        "TRITON_CACHE_DIR": os.path.join(folder, "triton"),
        "JAX_COMPILATION_CACHE_DIR": os.path.join(folder, "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def first_call(name, folder):
    """Return the seconds to the first result of the compiled step, in a new process with this cache folder, or None."""
    command = [sys.executable, "-W", "ignore", "-m", __spec__.name, COLD_CASE.name, name]
    run = subprocess.run(command, env={**os.environ, **caches(folder)}, capture_output=True, text=True)
    if run.returncode:
        print(f"{name} failed: {(run.stderr.splitlines() or [''])[-1]}")
        return None
    return float(run.stdout.split()[-1])


def cold_and_from_disk(contestants, rounds):
    """Return two tables like first_gradient's: with an empty cache folder, and with the filled one."""
    cold, disk = [], []
    for _ in range(rounds):
        cold.append({})
        disk.append({})
        for name in [c.name for c in contestants if c.name in COLD]:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                cold[-1][name] = first_call(name, folder)
                disk[-1][name] = first_call(name, folder)
    return best(cold), best(disk)


def best(times):
    """Return the smallest figure per name over the rounds, without names that failed."""
    return {name: min(t[name] for t in times) for name in times[0] if None not in [t[name] for t in times]}


def measured(contestants, quick=False):
    """Print and return all start-up times as plain data."""
    gradient = first_gradient(contestants, 1 if quick else ROUNDS)
    cold, disk = cold_and_from_disk(contestants, 1 if quick else COLD_ROUNDS)
    found = {"first_gradient": gradient, "cold": cold, "from_disk": disk}
    print()
    for what, times in found.items():
        print(f"{what.replace('_', ' '):>16}: " + ", ".join(f"{name} {t:.2f} s" for name, t in times.items()))
    return found


def main(case, contestant):
    """Print the seconds of set-up and first call."""
    contestant = peers.BY_NAME[contestant]
    peers.load(contestant.library)
    start = time.perf_counter()
    getattr(cases, case).prepare(contestant)()
    print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
