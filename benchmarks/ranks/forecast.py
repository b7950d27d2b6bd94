"""Fit a model of communication cost to the figures, and forecast the times on more machines.

A message of m bytes takes alpha + m * beta seconds, and reducing a byte takes gamma.  The times of an all_reduce among p
ranks follow from the algorithms of MPI libraries; the formulas are from Thakur, Rabenseifner and Gropp, "Optimization of
Collective Communication Operations in MPICH", International Journal of High Performance Computing Applications 19 (2005).
alpha, beta and `call`, the time of minigrad's code, are fitted to the figures by least squares; gamma is measured separately.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

MACHINES = (8, 16, 32, 64, 128, 256, 512, 1024)
GBIT = 1e9 / 8  # bytes per second


class Network(NamedTuple):
    """Seconds per call for minigrad's code, per message, per byte sent, and per byte reduced."""

    call: float
    alpha: float
    beta: float
    gamma: float


ASSUMED = {  # name: alpha, beta; assumed, not measured
    "10 Gbit/s Ethernet": (50e-6, 1 / (10 * GBIT)),
    "100 Gbit/s Ethernet": (10e-6, 1 / (100 * GBIT)),
}


# ---------------------------------------------------------------------- one all_reduce
def ring(p, m, network):
    """Return the seconds of a ring: each rank sends p-th parts to its neighbour until all are summed and distributed."""
    return 2 * (p - 1) * network.alpha + (p - 1) / p * m * (2 * network.beta + network.gamma)


def tree(p, m, network):
    """Return the seconds of recursive doubling: in each round all data goes to a partner twice as far away."""
    return math.ceil(math.log2(p)) * (network.alpha + m * (network.beta + network.gamma))


def halves(p, m, network):
    """Return the seconds of Rabenseifner's algorithm: sum ever smaller halves with ever nearer partners, and back."""
    return 2 * math.ceil(math.log2(p)) * network.alpha + (p - 1) / p * m * (2 * network.beta + network.gamma)


WAYS = {"ring": ring, "recursive doubling": tree, "Rabenseifner": halves}


def all_reduce(p, m, network):
    """Return the seconds of an all_reduce of m bytes among p ranks with the fastest algorithm."""
    return network.call + min(way(p, m, network) for way in WAYS.values())


def fitted(points, gamma):
    """Return the network that fits the figures best; `points` are (ranks, bytes, seconds).

    The fit minimises the sum of squares of log(model / measured), so an error of a tenth counts as much for small messages
    as for large ones.
    """
    smallest = min(seconds for _, _, seconds in points)

    def errors(logarithms):
        network = Network(*np.exp(logarithms), gamma)
        return [math.log(all_reduce(p, m, network) / seconds) for p, m, seconds in points]

    found = least_squares(errors, np.log([smallest / 2, smallest / 2, gamma]))
    return Network(*np.exp(found.x).tolist(), gamma)


def errors(points, network):
    """Return the model's time over the measured time at each point."""
    return [all_reduce(p, m, network) / seconds for p, m, seconds in points]


# ---------------------------------------------------------------------- a step
class Step(NamedTuple):
    """A step of one process: seconds of forward, backward, the rest, and putting gradients into buckets.

    `buckets` are the bytes of each bucket, in the order in which backward completes them.
    """

    forward: float
    backward: float
    rest: float
    packing: float
    buckets: list

    @property
    def alone(self):
        """Seconds of the step without communication."""
        return self.forward + self.backward + self.rest


def seconds(step, p, network, overlapping):
    """Return the seconds of a step on p ranks, each with as much work as the one process.

    With `overlapping`, a bucket is sent once backward has completed it and the previous bucket has arrived; backward is
    assumed to progress in proportion to the bytes.  Without, all buckets are sent after backward.
    """
    backward_done, now = step.forward + step.backward, 0.0
    so_far = 0
    for nbytes in step.buckets:
        so_far += nbytes
        ready = step.forward + step.backward * so_far / sum(step.buckets) if overlapping else backward_done
        now = max(now, ready) + all_reduce(p, nbytes, network)
    return max(now, backward_done) + step.rest + step.packing


def efficiency(step, p, network, overlapping):
    """Return the efficiency of p machines: the time of a step in one process over its time on p ranks."""
    return step.alone / seconds(step, p, network, overlapping)


# ---------------------------------------------------------------------- from the figures
def points(figures, cores):
    """Return (ranks, bytes, seconds) of minigrad's all_reduces, if each rank has a core."""
    return [
        (run["ranks"], at["bytes"], at["seconds"]["minigrad"]["median"])
        for run in figures
        if run["ranks"] <= cores
        for at in run["reductions"]
    ]


def step_of(figures, name, call):
    """Return the step of a case in one process, for the smallest measured batch; a collective of one rank takes `call`."""
    alone = next(run for run in figures if run["ranks"] == 1)["steps"][name][0]
    times = {who: found["median"] for who, found in alone["seconds"].items()}
    forward, backward = times["forward"], times["backward"] - times["forward"]
    rest, buckets = times["minigrad alone"] - times["backward"], alone["communication"]["buckets"]
    packing = times["minigrad"] - times["minigrad alone"] - call * len(buckets)
    return Step(*[max(seconds, 0.0) for seconds in (forward, backward, rest, packing)], buckets)


def forecast(figures, cores):
    """Return the fitted network, the quality of the fit, and the forecast for more machines, as plain data."""
    gamma = float(np.median([run["add"] for run in figures]))
    known = points(figures, cores)
    here = fitted(known, gamma)
    off = errors(known, here)
    networks = {"this machine's memory": here}
    networks |= {name: Network(here.call, alpha, beta, gamma) for name, (alpha, beta) in ASSUMED.items()}
    steps = {name: step_of(figures, name, here.call) for name in figures[0]["steps"]}
    return {
        "networks": {name: network._asdict() for name, network in networks.items()},
        "points": [{"ranks": p, "bytes": m, "measured": s, "ratio": r} for (p, m, s), r in zip(known, off)],
        "steps": [
            {
                "case": name,
                "ranks": run["ranks"],
                "measured": run["steps"][name][0]["seconds"]["minigrad"]["median"],
                "expected": [seconds(step, run["ranks"], here, overlapping) for overlapping in (True, False)],
            }
            for name, step in steps.items()
            for run in figures
            if 1 < run["ranks"] <= cores
        ],
        "efficiency": {
            which: {
                name: {
                    p: [efficiency(step, p, network, overlapping) for overlapping in (True, False)] for p in MACHINES
                }
                for name, step in steps.items()
            }
            for which, network in networks.items()
        },
    }
