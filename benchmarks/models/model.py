"""Build a training step of a model: the same weights in both libraries, and the optimizer."""

import statistics

import numpy as np

from ..case import Case, ratio, target

TOLERANCE = 2e-3  # of the largest number of a gradient: float32, after two steps, through many layers
TARGET = target("minigrad", "torch", 1.2)
MEDIAN = 0.8  # what we want the median of all ratios to be


def model(optimizer, tolerance=TOLERANCE, **settings):
    """A decorator: build(lib), which gives a module and a function for its loss, becomes a Case."""

    def made(build):
        def program(lib, compiled):
            module, loss = build(lib)
            fill(lib, module)
            return step(getattr(lib.optim, optimizer)(module.parameters(), **settings), loss)

        program.__name__, program.__doc__, program.__module__ = build.__name__, build.__doc__, __package__  # the theme
        return Case(program, (TARGET,), None, None, compiles=False, breaks=False, tolerance=tolerance)

    return made


def step(optimizer, loss):
    """A training step; it gives the loss and all gradients."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]

    def run():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        return value.detach(), Gradients(parameters)

    return run


class Gradients:
    """The gradients of all parameters, as one array once it is asked for: some are zero but for rounding."""

    def __init__(self, parameters):
        self.parts = [p.grad for p in parameters]

    def numpy(self):
        """Return them one after another."""
        return np.concatenate([np.ravel(g.numpy()) for g in self.parts])


def fill(lib, module):
    """Give a module weights that depend on their shapes and their order alone."""
    random = np.random.default_rng(0)
    with lib.no_grad():
        for name, p in module.named_parameters():
            if p.ndim > 1:
                p.copy_(lib.tensor(numbers(random, p.shape) / np.float32(np.prod(p.shape[1:]) ** 0.5)))
            elif "bias" in name:
                p.copy_(lib.tensor(numbers(random, p.shape) * np.float32(0.1)))


def numbers(random, shape):
    """Normal numbers of float32."""
    return random.standard_normal(tuple(shape), np.float32)


def data(lib, *shape, seed=1):
    """A tensor of normal numbers."""
    return lib.tensor(numbers(np.random.default_rng(seed), shape))


def classes(lib, high, *shape, seed=2):
    """A tensor of integers below `high`."""
    return lib.tensor(np.random.default_rng(seed).integers(0, high, shape))


def median(best):
    """The median of the ratios, of the best times by model and contestant."""
    found = [r for times in best if (r := ratio(times, TARGET.ours, TARGET.theirs)) is not None]
    return statistics.median(found) if found else None
