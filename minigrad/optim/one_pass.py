"""An optimizer's step as one pass over memory for each parameter, in place of one for each operation of its update.

compile/updates.py makes the kernel of the update itself, which so stays the only statement of the mathematics.  What is not
plain is left to the update: a parameter's first step, which makes its state; GPUs, recordings and captures; users' own
optimizers; updates that look at more than one element; steps so small that nobody should wait for a compiler.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compile import updates
from ..core.frames import OFF, current
from ..core.saved import INFERENCE, memory
from ..core.tensor import Tensor
from ..kernels import threads
from ..kernels.fallback import alone

FROM = 1024  # elements of all parameters of a group
DTYPES = tuple(map(np.dtype, ("f4", "f8")))
UNNUMBERED = ("params", "param_names")
kernels: dict[tuple, list[updates.Kernel]] = {}  # for each kind of update those of all decisions that were met


class Settings:
    """The settings of a group as its kernels see them: numbers, and what else decides which kernel it is."""

    def __init__(self, optimizer: Any, group: dict):
        self.optimizer, self.group = optimizer, group
        self.places: list[tuple] = []  # the name of each number, and where it stands in a tuple
        numbers, others = [], []
        for name, value in group.items():
            if type(value) in (float, int):
                self.places.append((name, None))
                numbers.append(float(value))
            elif type(value) is tuple:
                self.places += [(name, k) for k in range(len(value))]
                numbers += map(float, value)
            elif name not in UNNUMBERED:
                others.append((name, value))
        self.numbers, self.key = tuple(numbers), (type(optimizer), tuple(self.places), tuple(others))
        self.latest: tuple = (None,) * 4  # what a kernel was chosen by, it, and the numbers that it takes

    def with_numbers(self, numbers: list) -> dict:
        """Return the group with others in the place of its numbers."""
        group = dict(self.group)
        for (name, k), n in zip(self.places, numbers):
            group[name] = n if k is None else (*group[name][:k], n, *group[name][k + 1 :])
        return group

    def choose(self, key: tuple, values: tuple, state: dict, dtype: np.dtype) -> tuple:
        """Return the kernel for a state and these numbers, and the numbers that it takes; remember both."""
        found = kernels.setdefault((self.key, key), [])
        kernel = next((k for k in found if all(k.fits(values))), None)
        if kernel is None:
            names = [name if k is None else f"{name}_{k}" for name, k in self.places]
            counts = {name: t._a.ndim == 0 for name, t in state.items()}
            kernel = updates.kernel(self.optimizer.update, names, values, counts, self.with_numbers, dtype)
            found.append(kernel)
        self.latest = key, values, kernel, kernel.numbers(values)
        return self.latest


def step(optimizer: Any, group: dict, given: list) -> list:
    """Update a group's parameters, each given with its gradient, by kernels; return those that are left."""
    if current() is not OFF or alone() or not type(optimizer).__module__.startswith("minigrad.") or is_small(given):
        return given
    settings = Settings(optimizer, group)
    return [(p, g) for p, g in given if not updated(p, g, optimizer.state[p], settings)]


def is_small(given: list) -> bool:
    """Return whether all parameters together are too few to wait for a compiler."""
    return all([p.numel() < FROM for p, _ in given]) and sum([p.numel() for p, _ in given]) < FROM


def updated(p: Tensor, g: Tensor, state: dict, settings: Settings) -> bool:
    """Update one parameter by a kernel; False, with nothing done, where that cannot be."""
    tensors, arrays, counters = (p, g, *state.values()), [], []
    for t in tensors:
        if not isinstance(t, Tensor) or t._layer is not None or type(a := t._a) is not np.ndarray:
            return False
        if t is g and not a.flags.carray:
            a = a.copy()
        if not a.ndim and t is not p:
            counters.append(a)
        elif a.shape != p._a.shape or a.dtype != p._a.dtype or not a.flags.carray:
            return False
        arrays.append(a)
    a = arrays[0]
    if not a.ndim or a.dtype not in DTYPES or p._ver is INFERENCE:
        return False
    key, values = (a.dtype, *state), (*settings.numbers, *[b.item() for b in counters])
    latest = settings.latest
    if key != latest[0] or values != latest[1]:
        latest = settings.choose(key, values, state, a.dtype)
    _, _, kernel, numbers = latest
    if kernel.entry is None:
        return False
    flat = [arrays[i].reshape(-1) for i in kernel.arrays]
    if a.size < 2 * threads.GRAIN:
        kernel.entry(*flat, *numbers)
    else:
        threads.launch(lambda *some: kernel.entry(*some, *numbers), flat)
    for b, value in zip(counters, kernel.counters(values)):
        b[...] = value
    for i in kernel.written:
        (tensors[i]._ver or memory(tensors[i])).bump(f"{type(settings.optimizer).__name__}.step")
    return True
