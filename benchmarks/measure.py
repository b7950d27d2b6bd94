"""Measure times in turns: every contestant runs once per round, so a busy moment of the machine affects all alike.

pyperf and pytest-benchmark measure one function after another, pyperf in separate processes.  We need a ratio, and on a
shared machine only measurements close in time give a repeatable one.  Hence this loop.  It adopts pyperf's habits: warm up,
calibrate the number of calls, keep the garbage collector from visiting older objects.  The figure is the best round; the
median shows the noise.
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
    """Duration of a measurement: rounds, seconds per contestant in a round, calls before the comparison."""

    rounds: int = 9
    seconds: float = 0.08
    before: int = 3  # a training step's third loss depends on the gradients of the first two
    quick: bool = False
    clock: Callable = time.perf_counter


QUICK = Settings(rounds=2, seconds=0.002, quick=True)


def repetitions(f, seconds, clock=time.perf_counter):
    """Return the number of calls of f that fit into `seconds`, at least one."""
    n, start = 0, clock()
    while n == 0 or clock() - start < seconds / 2:
        f()
        n += 1
    return max(1, int(n * seconds / (clock() - start)))


def once(f, n, clock=time.perf_counter):
    """Return the seconds of one call, averaged over n calls."""
    start = clock()
    for _ in range(n):
        f()
    return (clock() - start) / n


def interleaved(runs, settings):
    """Return the best time, the median and the number of calls per round for each name of `runs`.

    Each round begins with another contestant, so none always runs right after the same one.
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
    """Raise ValueError unless all programs computed the same numbers; `results` are by contestant, the first is correct."""
    (first, wanted), *others = [(name, peers.arrays(r)) for name, r in results.items()]
    for name, found in others:
        if (theirs := kinds(found)) != (ours := kinds(wanted)):
            raise ValueError(f"{name} gives {theirs}, {first} {ours}")
        for k, (a, b) in enumerate(zip(found, wanted)):
            a, b = 1 * a, 1 * b  # bools cannot be subtracted
            worst = np.max(np.abs(a - b), initial=0) / max(np.max(np.abs(b), initial=0), 1e-30)
            if not worst <= tolerance:
                raise ValueError(f"{name} and {first} differ by {worst:.2g} of the largest number in result {k}")


def kinds(arrays):
    """Return the shapes and dtypes as text."""
    return ", ".join([f"{a.dtype}{list(a.shape)}" for a in arrays])


def measured(case, contestants, settings, n=None):
    """Set a case up for all contestants able to run it, compare results, and time it: (figures, failures by contestant).

    The figure `ready` is the seconds of set-up and first calls, during which compilers compile.
    """
    n = n or (case.quick_n if settings.quick else case.n)
    runs, results, failures, ready = {}, {}, {}, {}
    for contestant in contestants:
        if not case.can_run(contestant):
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
        except Exception as e:  # shown as failed; the others are still measured
            failures[contestant.name] = f"{type(e).__name__}: {(str(e).splitlines() or [''])[0]}"
    results.clear()
    for name, program in case.measures.items():
        runs[name] = program(n)
    figures = interleaved(runs, settings) if runs else {}
    return {name: {**found, **ready.get(name, {})} for name, found in figures.items()}, failures
