"""Time joint work of all ranks in turns: every contestant runs once per round, on all ranks at once.

The time of a round is the time of its slowest rank.  The figure is the median of the rounds; the quartiles show the noise.
"""

import gc
from dataclasses import dataclass

import numpy as np

from .. import measure


@dataclass(frozen=True)
class Settings:
    """Duration of a measurement: rounds, seconds per contestant in a round, and the maximum of calls in it."""

    rounds: int = 15
    seconds: float = 0.04
    calls: int = 2000
    quick: bool = False


QUICK = Settings(rounds=3, seconds=0.0, calls=1, quick=True)


def calls_of(f, comm, settings):
    """Return the number of calls of f in a round, the same on all ranks."""
    f()  # compiles, and allocates
    seconds = slowest(measure.once(f, 1 if settings.quick else 3), comm)
    return int(min(max(settings.seconds / seconds, 1), settings.calls))


def slowest(seconds, comm):
    """Return the time of the slowest rank."""
    return max(comm.allgather(seconds))


def interleaved(runs, comm, settings):
    """Return median and quartiles of the seconds per call, and the number of calls per round, for each name of `runs`.

    Each round begins with another contestant, so none always runs right after the same one.
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
    """Return the median and the quartiles.

    >>> quartiles([4.0, 1.0, 2.0, 3.0, 5.0])
    {'lower': 2.0, 'median': 3.0, 'upper': 4.0}
    """
    return dict(zip(("lower", "median", "upper"), np.percentile(times, (25, 50, 75)).tolist()))
