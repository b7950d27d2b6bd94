"""Print the table: times, ratios and their median."""

import argparse
import sys
import time
import warnings

from ..environment import one_thread

one_thread()  # before anything imports NumPy

from .. import measure, page, peers  # noqa: E402
from ..case import ratio  # noqa: E402
from . import MEDIAN, MODELS, median  # noqa: E402

# of many short rounds some are undisturbed on a busy machine; the clock stops while another process has the core
SETTINGS = measure.Settings(rounds=41, seconds=0.02, clock=time.process_time)


def main():
    """Measure the named models."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(m.name for m in MODELS))
    names = parser.parse_args().names
    if unknown := {*names} - {m.name for m in MODELS}:
        parser.error(f"unknown model {', '.join(sorted(unknown))}; choose from {', '.join(m.name for m in MODELS)}")
    warnings.simplefilter("ignore")
    contestants = peers.installed(["minigrad", "torch"])
    failed, all_best = False, []
    print(f"{'':16}" + "".join(f"{c.name:>12}" for c in contestants) + f"{'ratio':>8}")
    for case in [m for m in MODELS if m.name in names or not names]:
        figures, failures = measure.measured(case, contestants, SETTINGS)
        all_best.append(best := {name: f["best"] for name, f in figures.items()})
        cells = [page.time(best[c.name]) if c.name in best else "-" for c in contestants]
        found = ratio(best, "minigrad", ("torch",))
        print(f"{case.name:16}" + "".join(f"{cell:>12}" for cell in cells) + ("" if found is None else f"{found:8.2f}"))
        for name, why in failures.items():
            print(f"{'':16}{name} failed: {why}")
        failed |= bool(failures)
        sys.stdout.flush()
    if (middle := median(all_best)) is not None:
        print(f"{'median':40}{middle:8.2f}, wanted at most {MEDIAN}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
