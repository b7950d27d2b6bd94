"""A model of what communication costs, fitted to the figures: what more machines may bring.

A message of m bytes takes alpha + m * beta seconds, and reducing a byte gamma.  From that the times of an all_reduce among p
ranks follow, by the ways that MPI libraries go: the formulas are those of Thakur, Rabenseifner and Gropp, "Optimization of
Collective Communication Operations in MPICH", International Journal of High Performance Computing Applications 19 (2005).
alpha, beta and `call`, what our own code takes, are fitted to the figures by least squares; gamma is measured by itself.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

MACHINES = (8, 16, 32, 64, 128, 256, 512, 1024)
GBIT = 1e9 / 8  # bytes a second


class Network(NamedTuple):
    """Seconds: of a call's own code, of a message, and of a byte that is sent or reduced."""

    call: float
    alpha: float
    beta: float
    gamma: float


ASSUMED = {  # name: alpha, beta; nobody has measured these
    "10 Gbit/s Ethernet": (50e-6, 1 / (10 * GBIT)),
    "100 Gbit/s Ethernet": (10e-6, 1 / (100 * GBIT)),
}


# ---------------------------------------------------------------------- one all_reduce
def ring(p, m, network):
    """Seconds around a ring: each rank sends p-th parts to its neighbour, until all are summed and then everywhere."""
    return 2 * (p - 1) * network.alpha + (p - 1) / p * m * (2 * network.beta + network.gamma)


def tree(p, m, network):
    """Seconds of recursive doubling: in each round all that there is goes to a partner twice as far away."""
    return math.ceil(math.log2(p)) * (network.alpha + m * (network.beta + network.gamma))


def halves(p, m, network):
    """Seconds of Rabenseifner's way: sums of ever smaller halves among ever nearer partners, and the same way back."""
    return 2 * math.ceil(math.log2(p)) * network.alpha + (p - 1) / p * m * (2 * network.beta + network.gamma)


WAYS = {"ring": ring, "recursive doubling": tree, "Rabenseifner": halves}


def all_reduce(p, m, network):
    """Seconds of an all_reduce of m bytes among p ranks, by the way that is the quickest."""
    return network.call + min(way(p, m, network) for way in WAYS.values())


def fitted(points, gamma):
    """The network that fits the figures best: `points` are (ranks, bytes, seconds).

    What is made small is the sum of the squares of log(model / measured): an error of a tenth counts as much for small messages
    as for large ones.
    """
    smallest = min(seconds for _, _, seconds in points)

    def errors(logarithms):
        network = Network(*np.exp(logarithms), gamma)
        return [math.log(all_reduce(p, m, network) / seconds) for p, m, seconds in points]

    found = least_squares(errors, np.log([smallest / 2, smallest / 2, gamma]))
    return Network(*np.exp(found.x).tolist(), gamma)


def errors(points, network):
    """Return what the model gives over what was measured, at each point."""
    return [all_reduce(p, m, network) / seconds for p, m, seconds in points]


# ---------------------------------------------------------------------- a step
class Step(NamedTuple):
    """A step of one process: seconds of forward, of backward, of the rest, and of putting gradients into buckets.

    `buckets` are the bytes of each, in the order in which backward completes them.
    """

    forward: float
    backward: float
    rest: float
    packing: float
    buckets: list

    @property
    def alone(self):
        """The seconds of the step without communication."""
        return self.forward + self.backward + self.rest


def seconds(step, p, network, overlapping):
    """Seconds of a step on p ranks, each of which has as much work as the one process.

    Where it is `overlapping`, a bucket travels as soon as backward has come to its end, which is taken to be when as large a
    part of backward is done as of the bytes, and the bucket before has arrived.  Otherwise all travel when backward is done.
    """
    backward_done, now = step.forward + step.backward, 0.0
    so_far = 0
    for nbytes in step.buckets:
        so_far += nbytes
        ready = step.forward + step.backward * so_far / sum(step.buckets) if overlapping else backward_done
        now = max(now, ready) + all_reduce(p, nbytes, network)
    return max(now, backward_done) + step.rest + step.packing


def efficiency(step, p, network, overlapping):
    """Return how much of p machines' work is done: the time of the step of one process over that of the step on p ranks."""
    return step.alone / seconds(step, p, network, overlapping)


# ---------------------------------------------------------------------- from the figures
def points(figures, cores):
    """(ranks, bytes, seconds) of minigrad's all_reduces where each rank has a core."""
    return [
        (run["ranks"], at["bytes"], at["seconds"]["minigrad"]["median"])
        for run in figures
        if run["ranks"] <= cores
        for at in run["reductions"]
    ]


def step_of(figures, name, call):
    """The step of a case in one process, with the least work that was measured; a collective among one takes `call`."""
    alone = next(run for run in figures if run["ranks"] == 1)["steps"][name][0]
    times = {who: found["median"] for who, found in alone["seconds"].items()}
    forward, backward = times["forward"], times["backward"] - times["forward"]
    rest, buckets = times["minigrad alone"] - times["backward"], alone["communication"]["buckets"]
    packing = times["minigrad"] - times["minigrad alone"] - call * len(buckets)
    return Step(*[max(seconds, 0.0) for seconds in (forward, backward, rest, packing)], buckets)


def forecast(figures, cores):
    """The fitted network, how well it fits, and what it says of more machines, as plain data."""
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
