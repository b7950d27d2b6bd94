"""Measure every case for every library that is installed, in turns, on one thread, and print times and ratios.

    python -m benchmarks                     everything
    python -m benchmarks chain softmax       some cases; growth, memory, peaks and startup are names too
    python -m benchmarks --quick             small sizes and few rounds, to check that it runs
    python -m benchmarks --docs              also write docs/performance.json, the page and its pictures

The figure is the best of several rounds.  Before a case is timed, the libraries' results are compared; a library with
a different result has failed.
"""

import argparse
import sys
import warnings

from .environment import machine, one_thread

one_thread()  # before anything imports NumPy

from . import growth, measure, memory, page, peak, peers, startup  # noqa: E402
from .case import ratio  # noqa: E402
from .cases import CASES  # noqa: E402

PARTS = ("growth", "memory", "peaks", "startup")
NAME, COLUMN = 28, 17


def arguments():
    """Return the options of the command line."""
    cases = ", ".join(c.name for c in CASES)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"cases to measure, all by default: {cases}, "
                        + ", ".join(PARTS))  # fmt: skip
    parser.add_argument("--with", dest="contestants", metavar="NAMES", help="measure only these, separated by commas: "
                        + ", ".join(peers.BY_NAME))  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds: only check that it runs")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--docs", action="store_true", help="write docs/performance.json, .md and pictures")
    options = parser.parse_args()
    known = {c.name for c in CASES} | set(PARTS)
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"unknown case {', '.join(unknown)}; choose from {', '.join(sorted(known))}")
    options.contestants = options.contestants and options.contestants.split(",")
    if unknown := [name for name in options.contestants or () if name not in peers.BY_NAME]:
        parser.error(f"unknown library {', '.join(unknown)}; choose from {', '.join(peers.BY_NAME)}")
    if options.docs and options.names:
        parser.error("the page shows all cases: use --docs without names")
    return options


def row(case, contestants, settings):
    """Measure a case, print its lines, and return its figures as plain data."""
    figures, failures = measure.measured(case, contestants, settings)
    best = {name: f["best"] for name, f in figures.items()}
    cells = [f"{best[c.name] * 1e6:,.1f} us" if c.name in best else "-" for c in contestants]
    print(f"{case.name:{NAME}}" + "".join(f"{cell:>{COLUMN}}" for cell in cells))
    for ours, theirs in peers.RATIOS:
        if found := ratio(best, ours, theirs):
            print(f"{'':{NAME}}  {ours} takes {found:.2f} of {' or '.join(theirs)}")
    targets = [
        {"ours": t.ours, "theirs": t.theirs, "target": t.ratio, "ratio": ratio(best, t.ours, t.theirs)}
        for t in case.targets
        if t.ours in failures or ratio(best, t.ours, t.theirs) is not None
    ]
    for t in targets:
        if t["ratio"] is not None and t["ratio"] > t["target"]:
            print(f"{'':{NAME}}  missed: {t['ratio']:.2f} of {' or '.join(t['theirs'])} is more than {t['target']}")
    for name, text in failures.items():
        print(f"{'':{NAME}}  {name} failed: {text}")
    sys.stdout.flush()
    n = case.quick_n if settings.quick else case.n
    return {"name": case.name, "title": case.title(n), "theme": case.theme, "seconds": figures, "failures": failures,
            "targets": targets}  # fmt: skip


def main():
    """Measure the requested cases and parts."""
    options = arguments()
    warnings.simplefilter("ignore")
    contestants = peers.installed(options.contestants)
    settings = measure.QUICK if options.quick else measure.Settings()
    wanted = options.names or [*(c.name for c in CASES), *PARTS]
    results = {"machine": machine(), "quick": options.quick, "contestants": [c.name for c in contestants]}
    missing = [c.name for c in peers.CONTESTANTS if c not in contestants]
    print(f"{'':{NAME}}" + "".join(f"{c.name:>{COLUMN}}" for c in contestants))
    results["cases"] = [row(case, contestants, settings) for case in CASES if case.name in wanted]
    results["growth"] = growth.curves(contestants, options.quick) if "growth" in wanted else []
    results["memory"] = memory.measured(contestants) if "memory" in wanted else {}
    results["peaks"] = peak.steps(contestants, options.quick) if "peaks" in wanted else []
    results["startup"] = startup.measured(contestants, options.quick) if "startup" in wanted else {}
    if missing:
        advice = "" if options.contestants else "; install all of them with pip install '.[bench]'"
        print(f"\nNot measured: {', '.join(missing)}{advice}.")
    if options.json:
        page.save(results, options.json)
    if options.docs:
        page.write(results)
    return any(name == "minigrad" for case in results["cases"] for name in case["failures"])


if __name__ == "__main__":
    sys.exit(main())
