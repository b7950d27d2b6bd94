"""Start 1, 2 and 4 ranks one after another, and print their measurements.

    python -m benchmarks.ranks                      everything, in less than ten minutes
    python -m benchmarks.ranks --ranks 2            with these numbers of ranks only
    python -m benchmarks.ranks --quick              small sizes and few rounds, to check that it runs
    python -m benchmarks.ranks --docs               also write docs/performance_ranks.json, the page and its pictures

minigrad and PyTorch run in the same processes and take turns.  Each computes on one thread.  If there are more ranks than
cores, they share the cores.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .. import page
from ..environment import machine, one_thread

RANKS = (1, 2, 4)
PATIENCE = 600  # seconds for one number of ranks


def mpiexec():
    """Return the mpiexec of the environment in which Python runs, or else of the system."""
    places = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    found = shutil.which("mpiexec", path=os.pathsep.join(places))
    if found is None:
        sys.exit("bench-ranks: found no mpiexec. Install it: pip install '.[mpi]'")
    return found


def run(ranks, *options):
    """Return the figures of a run with this number of ranks."""
    with tempfile.TemporaryDirectory() as folder:
        program = [sys.executable, "-m", "benchmarks.ranks.rank", folder, *options]
        subprocess.run([mpiexec(), "-n", str(ranks), *program], check=True, timeout=PATIENCE)
        return json.loads((Path(folder) / "figures.json").read_text(encoding="utf-8"))


def measured(ranks, quick):
    """Return the figures of this number of ranks, and if a second run gave bit-for-bit the same parameters."""
    found = run(ranks, *["--quick"] * quick)
    again = run(ranks, "--checks", *["--quick"] * quick)["checks"]
    for case, libraries in found["checks"].items():
        for name, check in libraries.items():
            check["repeats"] = check["digest"] == again[case][name]["digest"]
    return found


def show(figures):
    """Print the figures of one number of ranks."""
    print(f"\n{figures['ranks']} ranks")
    for at in figures["reductions"]:
        line(f"all_reduce, {at['bytes']:,} bytes", at["seconds"])
    for name, batches in figures["steps"].items():
        for batch in batches:
            line(f"{name}, {batch['each']} examples each", batch["seconds"])
            line(f"{name}, alone", {who: batch["seconds"][f"{who} alone"] for who in ("minigrad", "torch")})
    for name, libraries in figures["checks"].items():
        for who, check in libraries.items():
            again = "the same bits again" if check["repeats"] else "OTHER BITS in a second run"
            print(f"  {name}, {who}: {check['worst']:.1g} from one process, {again}")


def line(title, seconds):
    """Print the times of both libraries, and their ratio."""
    ours, theirs = seconds["minigrad"]["median"], seconds["torch"]["median"]
    print(f"  {title:36}{page.time(ours):>12}{page.time(theirs):>12}{ours / theirs:>8.2f}", flush=True)


def main():
    """Measure the requested numbers of ranks."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ranks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, nargs="+", default=RANKS, metavar="N", help="numbers of ranks: 1 2 4")
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds: only check that it runs")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--docs", action="store_true", help="write docs/performance_ranks.json, .md and pictures")
    options = parser.parse_args()
    if options.docs and (1 not in options.ranks or len(options.ranks) < 2):
        parser.error("the page compares with one rank: give --docs and --ranks 1 with at least one other number")
    one_thread(bound=False)  # for the ranks, which inherit it
    results = {"machine": machine(("numpy", "numba", "torch", "mpi4py", "mpich")), "quick": options.quick, "runs": []}
    for ranks in options.ranks:
        results["runs"].append(measured(ranks, options.quick))
        show(results["runs"][-1])
    if options.json:
        page.save(results, options.json)
    if options.docs:
        from . import report

        report.write(results)
    return not all(c["repeats"] for run in results["runs"] for case in run["checks"].values() for c in case.values())


if __name__ == "__main__":
    sys.exit(main())
