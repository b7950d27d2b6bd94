"""Measure how time and memory grow with the work: a case at n = 1, 10, 100 and so on, for each library that can run it.

Where a line is flat, a library's calls cost more than the arithmetic; where lines rise together, the machine is the
limit.  Ten times the work should take ten times as long: on these scales, a line that rises by one decade per decade.
`show` prints the slope at the end of a line; above one it grows too fast.  A contestant's line ends if one more point
would take too many seconds to run or compile, or might exceed the machine's memory.
"""

import math
import os
import tempfile
from dataclasses import dataclass
from typing import NamedTuple
from unittest import mock

from . import measure, peak
from .case import Case
from .cases import chain, growing, per_sample_gradients, pointwise, recurrent

ENOUGH = 1.0  # seconds of one run; a slower contestant gets no larger work
PATIENCE = 15  # the same for preparation, when compilers compile
SETTINGS = measure.Settings(rounds=5, seconds=0.03, before=1)
SHARE = 0.5  # of the memory that is available
ALONE = ("minigrad", "torch", "jax.jit")  # whose memory is measured; compilers need the same memory for other programs
COMPILERS = ("minigrad.compile", "torch.compile", "jax.jit")


class Kind(NamedTuple):
    """A kind of curve: the words, the file and the axis of its picture, the unit of its table, and that unit's size."""

    quantity: str
    file: str
    axis: str
    unit: str
    printed: str
    size: float


KINDS = {
    "seconds": Kind("time", "growth", "time of a run", "s", "microseconds", 1e-6),
    "bytes": Kind("memory", "memory", "most memory of a run", "B", "megabytes", 1e6),
    "ready": Kind("time to compile", "compiling", "time until the first result", "s", "seconds", 1),
}


@dataclass(frozen=True)
class Curve:
    """A case and its sizes; `bytes` is about what one of n takes of a contestant's memory."""

    case: Case
    sizes: list
    bytes: int = 0


def powers(first, last, base=10):
    """Return base ** first, ..., base ** last."""
    return [base**k for k in range(first, last + 1)]


CURVES = (
    Curve(growing.elements, powers(0, 8), 16),
    Curve(pointwise, powers(0, 7), 32),
    Curve(chain, powers(1, 6), 2000),
    Curve(growing.layers, powers(1, 9, 2), 100_000),
    Curve(growing.parameters, powers(1, 5), 2000),
    Curve(per_sample_gradients, powers(0, 4), 50_000),
)
MEMORY = (
    Curve(growing.elements, powers(6, 8), 16),
    Curve(growing.layers, powers(2, 4, 4), 100_000),
    Curve(growing.parameters, powers(3, 5), 2000),
    Curve(per_sample_gradients, powers(2, 4), 50_000),
)
COMPILING = (Curve(recurrent.rnn_gradient, [5, 10, 20, 40, 80]),)


def available():
    """Return the bytes of available memory; infinity if the system does not report it."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
    except OSError:
        return math.inf


def fits(curve, n, contestants):
    """Return True if there is memory for work of size n in all contestants at once."""
    return curve.bytes * n * len(contestants) < SHARE * available()


def times(curve, contestants, settings=SETTINGS, figure="best"):
    """Return a figure at each size by contestant (None if not measured), and the failures."""
    seconds, failures = {}, {}
    for k, n in enumerate(curve.sizes):
        if not fits(curve, n, contestants):
            break
        figures, failed = measure.measured(curve.case, contestants, settings, n)
        failures.update({f"{name} at {n:,}": why for name, why in failed.items()})
        for name, found in figures.items():
            seconds.setdefault(name, [None] * len(curve.sizes))[k] = found[figure]
        contestants = [c for c in contestants if c.name in figures and is_fast_enough(figures[c.name])]
    return seconds, failures


def is_fast_enough(figure):
    """Return True if a contestant gets larger work."""
    return figure["best"] < ENOUGH and figure["ready"] < PATIENCE


def compiling(curve, contestants):
    """Return the seconds until the first result at each size by compiler, with empty caches, and the failures."""
    compilers = [c for c in contestants if c.name in COMPILERS]
    folder = tempfile.TemporaryDirectory()
    with folder as new, mock.patch.dict(os.environ, MINIGRAD_CACHE=new, TORCHINDUCTOR_CACHE_DIR=new):
        times(Curve(curve.case, [curve.case.quick_n]), compilers, measure.QUICK)  # one-time loading
        return times(curve, compilers, measure.QUICK, "ready")


def memory(curve, contestants):
    """Return the peak memory in bytes at each size, by contestant."""
    contestants, most = [c for c in contestants if c.name in ALONE], {}
    for k, n in enumerate(curve.sizes):
        if fits(curve, n, contestants[:1]):
            for name, size in peak.measured(curve.case, contestants, n).items():
                most.setdefault(name, [None] * len(curve.sizes))[k] = size
    return most


def curves(contestants, quick=False):
    """Measure all curves, print each, and return them as plain data."""
    found = []
    for curve in CURVES:
        if quick:
            curve = Curve(curve.case, curve.sizes[:3], curve.bytes)
        seconds, failures = times(curve, contestants, measure.QUICK if quick else SETTINGS)
        found.append(described(curve, "seconds", seconds, failures))
        show(found[-1])
    for curve in COMPILING:
        if quick:
            curve = Curve(curve.case, curve.sizes[:2])
        found.append(described(curve, "ready", *compiling(curve, contestants)))
        show(found[-1])
    for curve in MEMORY if os.path.exists(peak.STATUS) else ():
        if quick:
            curve = Curve(curve.case, curve.sizes[:1], curve.bytes)
        found.append(described(curve, "bytes", memory(curve, contestants), {}))
        show(found[-1])
    return found


def described(curve, what, figures, failures):
    """Return a curve as plain data; `what` is a key of KINDS."""
    title = curve.case.text.rstrip(".").replace("{n}", "n")
    return {"case": curve.case.name, "title": title, "sizes": curve.sizes, "what": what, "figures": figures,
            "failures": failures}  # fmt: skip


def steepness(sizes, figures):
    """Return the decades that a line rises per decade of work between its last two points; None without two points."""
    points = [(n, f) for n, f in zip(sizes, figures) if f is not None and f > 0]
    if len(points) < 2:
        return None
    (n1, f1), (n2, f2) = points[-2:]
    return math.log(f2 / f1) / math.log(n2 / n1)


def show(curve):
    """Print a curve as a table."""
    kind = KINDS[curve["what"]]
    print(f"\n{curve['title']}: {kind.printed}")
    print(f"{'n':>18}" + "".join(f"{n:>12,}" for n in curve["sizes"]) + f"{'rises by':>12}")
    for name, figures in curve["figures"].items():
        cells = ["-" if f is None else f"{f / kind.size:.1f}" for f in figures]
        rise = steepness(curve["sizes"], figures)
        print(f"{name:>18}" + "".join(f"{c:>12}" for c in [*cells, "-" if rise is None else f"{rise:.2f}"]), flush=True)
    for name, why in curve["failures"].items():
        print(f"  {name}: {why}")
