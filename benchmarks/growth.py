"""How time grows with the size of the work: a case at n = 100, 1,000 and so on, for all who can do it.

Where the lines lie flat, a library's calls cost more than the arithmetic; where they rise together, the machine is the
limit.  A contestant's line ends where one more point would cost more than some seconds a run.
"""

from . import measure
from .cases import chain, pointwise, small_grad

CURVES = ((small_grad, 7), (pointwise, 7), (chain, 6))  # up to 10 ** this many
ENOUGH = 0.6  # seconds of one run, after which a contestant is not asked for ten times the work
SETTINGS = measure.Settings(rounds=5, seconds=0.03, before=1)


def curve(case, sizes, contestants, settings=SETTINGS):
    """The best times at each size, by contestant, None where it was not measured; and what failed."""
    seconds, failures = {}, {}
    for k, n in enumerate(sizes):
        figures, failed = measure.measured(case, contestants, settings, n)
        failures.update({f"{name} at {n:,}": why for name, why in failed.items()})
        for name, times in figures.items():
            seconds.setdefault(name, [None] * len(sizes))[k] = times["best"]
        contestants = [c for c in contestants if figures.get(c.name, {"best": ENOUGH})["best"] < ENOUGH]
    return seconds, failures


def curves(contestants, quick=False):
    """All curves, as plain data; prints them as they come."""
    found = []
    for case, last in CURVES:
        sizes = [10**k for k in range(2, min(last, 4) + 1 if quick else last + 1)]
        seconds, failures = curve(case, sizes, contestants, measure.QUICK if quick else SETTINGS)
        found.append({"case": case.name, "title": case.text.rstrip(".").replace("{n}", "n"), "sizes": sizes,
                      "seconds": seconds, "failures": failures})  # fmt: skip
        show(found[-1])
    return found


def show(curve):
    """Print a curve as a table of microseconds."""
    print(f"\n{curve['title']}: microseconds")
    print(f"{'n':>18}" + "".join(f"{n:>12,}" for n in curve["sizes"]))
    for name, times in curve["seconds"].items():
        print(f"{name:>18}" + "".join(f"{'-':>12}" if t is None else f"{t * 1e6:>12.1f}" for t in times))
    for name, why in curve["failures"].items():
        print(f"  {name}: {why}")
