"""Times of what all ranks do together, taken in turns: every contestant runs once in each round, on all ranks at once.

A round's time is that of the slowest rank.  The figure is the median of the rounds, and the quartiles say how noisy it was.
"""

import gc
from dataclasses import dataclass

import numpy as np

from .. import measure


@dataclass(frozen=True)
class Settings:
    """How long to measure: rounds, seconds for each contestant in a round, and the most calls there."""

    rounds: int = 15
    seconds: float = 0.04
    calls: int = 2000
    quick: bool = False


QUICK = Settings(rounds=3, seconds=0.0, calls=1, quick=True)


def calls_of(f, comm, settings):
    """Return how often f is called in a round: a number that all ranks agree on."""
    f()  # compiles, and allocates
    seconds = slowest(measure.once(f, 1 if settings.quick else 3), comm)
    return int(min(max(settings.seconds / seconds, 1), settings.calls))


def slowest(seconds, comm):
    """The time of the slowest rank."""
    return max(comm.allgather(seconds))


def interleaved(runs, comm, settings):
    """For each name of `runs` median and quartiles of the seconds of a call, and the number of calls in a round.

    Every round begins with another contestant: none always runs in the wake of the same neighbour.
    """
    calls = {name: calls_of(f, comm, settings) for name, f in runs.items()}
    times, order = {name: [] for name in runs}, list(runs)
    gc.collect()
    gc.freeze()
    try:
        for _ in range(settings.rounds):
            for name in order:
                comm.Barrier()
                times[name].append(slowest(measure.once(runs[name], calls[name]), comm))
            order.append(order.pop(0))
    finally:
        gc.unfreeze()
    return {name: {**quartiles(t), "calls": calls[name]} for name, t in times.items()}


def quartiles(times):
    """Median and quartiles.

    >>> quartiles([4.0, 1.0, 2.0, 3.0, 5.0])
    {'lower': 2.0, 'median': 3.0, 'upper': 4.0}
    """
    return dict(zip(("lower", "median", "upper"), np.percentile(times, (25, 50, 75)).tolist()))
