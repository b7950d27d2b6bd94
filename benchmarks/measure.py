"""Times, taken in turns: in each round every contestant runs once, so that a busy moment of the machine meets all alike.

pyperf and pytest-benchmark measure one function after the other, pyperf each in processes of its own; what we want to know
is a ratio, and on a machine that others use too only neighbours in time give one that repeats.  Hence this loop.  From
pyperf it has the habits: warm up, calibrate the number of calls, keep the collector from walking what was there before.
The best round is the figure; the median says how noisy it was.
"""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import peers
from .case import TOLERANCE


@dataclass(frozen=True)
class Settings:
    """How long to measure: rounds, seconds for each contestant in a round, calls before the comparison."""

    rounds: int = 9
    seconds: float = 0.08
    before: int = 3  # a training step's third loss depends on the gradients of the first two
    quick: bool = False
    clock: Callable = time.perf_counter


QUICK = Settings(rounds=2, seconds=0.002, quick=True)


def repetitions(f, seconds, clock=time.perf_counter):
    """How often f runs in so many seconds, at least once."""
    n, start = 0, clock()
    while n == 0 or clock() - start < seconds / 2:
        f()
        n += 1
    return max(1, int(n * seconds / (clock() - start)))


def once(f, n, clock=time.perf_counter):
    """Seconds of one call, over n calls."""
    start = clock()
    for _ in range(n):
        f()
    return (clock() - start) / n


def interleaved(runs, settings):
    """For each name of `runs` the best time, the median and the number of calls in a round.

    Every round begins with another contestant: none always runs in the wake of the same neighbour.
    """
    calls = {name: repetitions(f, settings.seconds, settings.clock) for name, f in runs.items()}
    times, order = {name: [] for name in runs}, list(runs)
    gc.collect()
    gc.freeze()
    try:
        for _ in range(settings.rounds):
            for name in order:
                times[name].append(once(runs[name], calls[name], settings.clock))
            order.append(order.pop(0))
    finally:
        gc.unfreeze()
    return {name: {"best": min(t), "median": statistics.median(t), "calls": calls[name]} for name, t in times.items()}


def agree(results, tolerance=TOLERANCE):
    """Raise ValueError unless all programs computed the same numbers; `results` are by contestant, the first is right."""
    (first, wanted), *others = [(name, peers.arrays(r)) for name, r in results.items()]
    for name, found in others:
        if (theirs := kinds(found)) != (ours := kinds(wanted)):
            raise ValueError(f"{name} gives {theirs}, {first} {ours}")
        for k, (a, b) in enumerate(zip(found, wanted)):
            worst = np.max(np.abs(a - b), initial=0) / max(np.max(np.abs(b), initial=0), 1e-30)
            if not worst <= tolerance:
                raise ValueError(f"{name} and {first} differ by {worst:.2g} of the largest number in result {k}")


def kinds(arrays):
    """Shapes and dtypes, in words."""
    return ", ".join([f"{a.dtype}{list(a.shape)}" for a in arrays])


def measured(case, contestants, settings, n=None):
    """Set a case up for all who can do it, compare what they compute, and time it: (figures, failures by contestant).

    The figure `ready` is the seconds of setting up and of the first calls, where compilers compile.
    """
    n = n or (case.quick_n if settings.quick else case.n)
    runs, results, failures, ready = {}, {}, {}, {}
    for contestant in contestants:
        if not case.able(contestant):
            continue
        try:
            start = time.perf_counter()
            run = case.prepare(contestant, n)
            for _ in range(settings.before):
                result = run()
            ready[contestant.name] = {"ready": time.perf_counter() - start}
            if results:
                agree({next(iter(results)): next(iter(results.values())), contestant.name: result}, case.tolerance)
            runs[contestant.name], results[contestant.name] = run, result
        except Exception as e:  # a contestant that fails is shown as such; the others are measured
            failures[contestant.name] = f"{type(e).__name__}: {(str(e).splitlines() or [''])[0]}"
    results.clear()
    for name, program in case.measures.items():
        runs[name] = program(n)
    figures = interleaved(runs, settings) if runs else {}
    return {name: {**found, **ready.get(name, {})} for name, found in figures.items()}, failures
