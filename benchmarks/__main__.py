"""Time every case, interleaved with PyTorch in this one process and on one thread, and print the ratios.

    python -m benchmarks [NAME ...] [--json FILE]

Machines are noisy: each figure is the best of several rounds, and what counts is the ratio.
"""

import argparse
import importlib.util
import json
import os
import platform
import time

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import minigrad  # noqa: E402

from .cases import CASES  # noqa: E402

ROUNDS, SECONDS = 7, 0.1


def repetitions(f):
    """How often f runs in about SECONDS."""
    start = time.perf_counter()
    f()
    return max(1, int(SECONDS / (time.perf_counter() - start)))


def once(f, n):
    """Seconds of one call, over n calls."""
    start = time.perf_counter()
    for _ in range(n):
        f()
    return (time.perf_counter() - start) / n


def measure(functions):
    """The best time of each function, taken in turns."""
    for f in functions:
        f()  # compile, warm up
    counts = [repetitions(f) for f in functions]
    rounds = [[once(f, n) for f, n in zip(functions, counts)] for _ in range(ROUNDS)]
    return [min(times) for times in zip(*rounds)]


def libraries():
    """minigrad, and PyTorch where it is installed."""
    found = [minigrad]
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(1)
        found.append(torch)
    return found


def main():
    """Measure what was asked for and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="cases, all by default: " + ", ".join(c.__name__ for c in CASES))
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args()
    libs, results = libraries(), []
    print(f"{'':60}{'minigrad':>12}" + ("" if len(libs) == 1 else f"{'torch':>12}{'ratio':>8}"))
    for case in CASES:
        if options.names and case.__name__ not in options.names:
            continue
        times = measure([case(lib) for lib in libs])
        results.append({"case": case.__name__, "seconds": dict(zip((lib.__name__ for lib in libs), times))})
        ratio = "" if len(times) == 1 else f"{times[1] * 1e6:>9.1f} us{times[0] / times[1]:>8.2f}"
        print(f"{case.__doc__:60}{times[0] * 1e6:>9.1f} us{ratio}", flush=True)
    if options.json:
        machine = f"{platform.machine()}, Python {platform.python_version()}"
        with open(options.json, "w") as f:
            json.dump({"machine": machine, "results": results}, f, indent=1)


if __name__ == "__main__":
    main()
