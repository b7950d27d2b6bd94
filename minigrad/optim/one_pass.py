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
from ..kernels.fallback import again, alone

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
    tensors = (p, g, *state.values())
    if p._ver is INFERENCE or (arrays := plain_arrays(tensors)) is None:
        return False
    size, dtype, counters = arrays[0].size, arrays[0].dtype, [a for a in arrays[2:] if not a.ndim]
    key, values = (dtype, *state), (*settings.numbers, *[a.item() for a in counters])
    try:
        latest = settings.latest
        if key != latest[0] or values != latest[1]:
            latest = settings.choose(key, values, state, dtype)
        _, _, kernel, numbers = latest
        if kernel.entry is None:
            return False
        flat = [arrays[i].reshape(-1) for i in kernel.arrays]
        if size < 2 * threads.GRAIN:
            kernel.entry(*flat, *numbers)
        else:
            threads.launch(lambda *some: kernel.entry(*some, *numbers), flat)
    except Exception as e:  # without a compiler nothing has been written
        return False if alone() else again(e, lambda: False)
    for a, value in zip(counters, kernel.counters(values)):
        a[...] = value
    for i in kernel.written:
        (tensors[i]._ver or memory(tensors[i])).bump(f"{type(settings.optimizer).__name__}.step")
    return True


def plain_arrays(tensors: tuple) -> list | None:
    """Return the arrays of a parameter, its gradient and its state, each of one shape or a counter; None if they are not."""
    found, p = [], tensors[0]._a
    if type(p) is not np.ndarray or not p.ndim or p.dtype not in DTYPES:
        return None
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor) or t._layer is not None or type(a := t._a) is not np.ndarray:
            return None
        if i == 1 and not a.flags.carray:  # a gradient is only read
            a = a.copy()
        if (a.shape != p.shape or a.dtype != p.dtype or not a.flags.carray) and (a.ndim or i < 2):
            return None
        found.append(a)
    return found
