"""Time data-parallel training steps, the same code for both libraries: the networks of lessons 31 and 32.

"alone" is the step without DistributedDataParallel, at the same time on all ranks; the difference is the cost of
averaging the gradients.  A step whose ranks share a batch is compared with one process on the whole batch.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from . import turns

EACH, WHOLE = 32, 128  # examples: per rank if the work grows with the ranks, in total if it does not
STEPS = 5  # after which parameters are compared
TOLERANCE = 1e-12  # relative to the largest parameter: float64, sums in another order


# ---------------------------------------------------------------------- what is trained
def digits(lib):
    """Return the network of lesson 31."""
    return lib.nn.Sequential(lib.nn.Linear(64, 32), lib.nn.Tanh(), lib.nn.Linear(32, 10))


def written(n):
    """Return images of scikit-learn's digits, and their labels."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    return (pixels[:n] / 16).astype(np.float32), labels[:n]


def sorter(lib, width, layers, heads):
    """Return the transformer of lesson 32, built from layers of `nn`."""
    nn = lib.nn

    class Sorter(nn.Module):
        def __init__(self):
            super().__init__()
            self.digit, self.position = nn.Embedding(10, width), nn.Parameter(lib.zeros(6, width))
            self.blocks = nn.ModuleList(
                nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, norm_first=True, batch_first=True)
                for _ in range(layers)
            )
            self.norm, self.scores = nn.LayerNorm(width), nn.Linear(width, 10)

        def forward(self, digits):
            x = self.digit(digits) + self.position
            for block in self.blocks:
                x = block(x)
            return self.scores(self.norm(x)).flatten(0, 1)

    return Sorter()


def sequences(n):
    """Return sequences of six digits, and the same sorted."""
    given = np.random.default_rng(0).integers(0, 10, (n, 6))
    return given, np.sort(given, 1).reshape(-1)


@dataclass(frozen=True)
class Case:
    """A network, `build(lib)`, and its data, `data(examples)`: inputs and classes as arrays."""

    name: str
    title: str
    build: Callable
    data: Callable


CASES = (
    Case("digits", "the network of lesson 31, 64-32-10, on scikit-learn's digits", digits, written),
    Case("sorter", "the transformer of lesson 32: 2 layers, 32 wide", lambda lib: sorter(lib, 32, 2, 1), sequences),
    Case("wide", "the same transformer with 4 layers, 256 wide", lambda lib: sorter(lib, 256, 4, 4), sequences),
)


# ---------------------------------------------------------------------- a step
def filled(model, lib):
    """Return the module, filled with the same parameters in all libraries."""
    random = np.random.default_rng(0)
    with lib.no_grad():
        for p in model.parameters():
            p.copy_(lib.tensor(random.standard_normal(tuple(p.shape), np.float32) * np.float32(0.1)))
    return model


class Training:
    """A network being trained on its data; with `parallel`, gradients are averaged over all ranks."""

    def __init__(self, case, lib, inputs, classes, parallel, double=False):
        self.lib, self.module = lib, filled(case.build(lib), lib)
        self.inputs, self.classes = lib.tensor(inputs), lib.tensor(classes)
        if double:
            self.module.double()
            self.inputs = self.inputs.double() if self.inputs.is_floating_point() else self.inputs
        self.model = lib.nn.parallel.DistributedDataParallel(self.module) if parallel else self.module
        self.optimizer = lib.optim.SGD(self.module.parameters(), 0.05, momentum=0.9)

    def forward(self):
        """Compute the loss."""
        return self.lib.nn.functional.cross_entropy(self.model(self.inputs), self.classes)

    def backward(self):
        """Compute the loss and the gradients."""
        self.optimizer.zero_grad()
        loss = self.forward()
        loss.backward()
        return loss

    def step(self):
        """Compute the loss and the gradients, and change the parameters."""
        loss = self.backward()
        self.optimizer.step()
        return loss

    def parameters(self):
        """Return all parameters in one array."""
        return np.concatenate([p.detach().numpy().reshape(-1) for p in self.module.parameters()])


def part_of(case, each, comm):
    """Return this rank's examples, `each` per rank."""
    inputs, classes = case.data(each * comm.size)
    rows = len(classes) // comm.size
    return inputs[each * comm.rank :][:each], classes[rows * comm.rank :][:rows]


# ---------------------------------------------------------------------- figures
def batches(size):
    """Return the measured numbers of examples per rank: for growing work and for shared work."""
    return sorted({EACH, WHOLE // size})


def measured(case, each, libraries, comm, settings):
    """Return the figures of a case with `each` examples per rank, as plain data."""
    data, runs = part_of(case, each, comm), {}
    for lib in libraries:
        ranks, alone = [Training(case, lib, *data, parallel) for parallel in (True, False)]
        runs[lib.__name__], runs[f"{lib.__name__} alone"] = ranks.step, alone.step
        if lib.__name__ == "minigrad":
            ours = ranks
            if comm.size == 1:
                runs["forward"], runs["backward"] = alone.forward, alone.backward
    figures = turns.interleaved(runs, comm, settings)
    return {"each": each, "seconds": figures, "communication": communication(ours, comm, settings)}


def communication(training, comm, settings):
    """Return the communication of a step of minigrad: bytes by bucket, calls, and the share of time that ranks wait."""
    from minigrad.distributed.calls import listening

    steps, calls = 2 if settings.quick else 20, []
    comm.Barrier()
    start = perf_counter()
    with listening(calls.append):
        for _ in range(steps):
            training.step()
    seconds = perf_counter() - start
    reductions = [call for call in calls if call.name == "all_reduce"]
    waiting = sum(comm.allgather(sum(call.time_waited for call in calls) / seconds)) / comm.size
    return {
        "buckets": [call.nbytes for call in reductions[: len(reductions) // steps]],
        "bytes": sum(call.nbytes for call in calls) // steps,
        "calls": len(calls) / steps,
        "waiting": waiting,
    }


# ---------------------------------------------------------------------- what has to be equal
def check(case, lib, comm):
    """Return the distance of some steps of the ranks from the same steps of one process on the whole batch, and a digest.

    Raises ValueError if the distance is more than rounding, or if the ranks differ in a single bit.
    """
    each = EACH // comm.size
    whole = Training(case, lib, *case.data(EACH), parallel=False, double=True)
    ours = Training(case, lib, *part_of(case, each, comm), parallel=True, double=True)
    for _ in range(STEPS):
        whole.step()
        ours.step()
    wanted, found = whole.parameters(), ours.parameters()
    worst = float(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted)))
    if not worst <= TOLERANCE:
        raise ValueError(f"{case.name}: {lib.__name__} on {comm.size} ranks is {worst:.2g} away from one process")
    digests = comm.allgather(hashlib.sha256(found.tobytes()).hexdigest())
    if len(set(digests)) > 1:
        raise ValueError(f"{case.name}: the ranks of {lib.__name__} have different parameters")
    return {"worst": worst, "digest": digests[0]}
