"""Build a training step of a model: the same weights in both libraries, and the optimizer."""

import statistics

import numpy as np

from ..case import Case, ratio, target

TOLERANCE = 2e-3  # relative to the largest number of a gradient: float32, after two steps, through many layers
TARGET = target("minigrad", "torch", 1.2)
MEDIAN = 0.8  # target for the median of all ratios


def model(optimizer, tolerance=TOLERANCE, **settings):
    """Return a decorator that makes a Case of build(lib), which returns a module and a function for its loss."""

    def made(build):
        def program(lib, compiled):
            module, loss = build(lib)
            fill(lib, module)
            return step(getattr(lib.optim, optimizer)(module.parameters(), **settings), loss)

        program.__name__, program.__doc__, program.__module__ = build.__name__, build.__doc__, __package__  # the theme
        return Case(program, (TARGET,), None, None, compiles=False, breaks=False, tolerance=tolerance)

    return made


def step(optimizer, loss):
    """Return a training step that returns the loss and all gradients."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]

    def run():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        return value.detach(), Gradients(parameters)

    return run


class Gradients:
    """Gradients of all parameters, made one array on request, since some are zero except for rounding."""

    def __init__(self, parameters):
        self.parts = [p.grad for p in parameters]

    def numpy(self):
        """Return all gradients in one array."""
        return np.concatenate([np.ravel(g.numpy()) for g in self.parts])


def fill(lib, module):
    """Fill a module with weights that depend only on their shapes and order."""
    random = np.random.default_rng(0)
    with lib.no_grad():
        for name, p in module.named_parameters():
            if p.ndim > 1:
                p.copy_(lib.tensor(numbers(random, p.shape) / np.float32(np.prod(p.shape[1:]) ** 0.5)))
            elif "bias" in name:
                p.copy_(lib.tensor(numbers(random, p.shape) * np.float32(0.1)))


def numbers(random, shape):
    """Return normal numbers in float32."""
    return random.standard_normal(tuple(shape), np.float32)


def data(lib, *shape, seed=1):
    """Return a tensor of normal numbers."""
    return lib.tensor(numbers(np.random.default_rng(seed), shape))


def classes(lib, high, *shape, seed=2):
    """Return a tensor of integers below `high`."""
    return lib.tensor(np.random.default_rng(seed).integers(0, high, shape))


def median(best):
    """Return the median of the ratios, from the best times by model and contestant."""
    found = [r for times in best if (r := ratio(times, TARGET.ours, TARGET.theirs)) is not None]
    return statistics.median(found) if found else None
