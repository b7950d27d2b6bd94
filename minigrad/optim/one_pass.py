"""An optimizer's step as one pass over memory per parameter, instead of one per operation of its update.

compile/optimizer_kernels.py makes the kernel from the update itself, so the mathematics is stated only once.  The update
itself still runs for a parameter's first counted step, so that a program of one step compiles nothing; for GPUs, recordings
and captures; for users' own optimizers; for updates that look at more than one element; and for steps too small to be worth
a compilation.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..compile import optimizer_kernels
from ..core.frames import OFF, current
from ..core.saved import INFERENCE, memory
from ..core.tensor import Tensor
from ..events import events, unheard
from ..kernels import threads
from ..kernels.fallback import again, only_definitions
from ..places import home, user_place

FROM = 1024  # elements of all parameters of a group
DTYPES = tuple(map(np.dtype, ("f4", "f8")))
kernels: dict[
    tuple, list[optimizer_kernels.UpdateKernel]
] = {}  # kind of update -> a kernel for each set of decisions met so far


# for each optimizer: id of a parameter -> its flat memory
known: WeakKeyDictionary[Any, dict[int, Plain]] = WeakKeyDictionary()


class Plain:
    """A parameter and its state as flat memory, valid as long as both keep their arrays."""

    def __init__(self, p: Tensor, state: dict):
        self.p, self.a, self.state = p, p._a, [(t, t._a) for t in state.values()]
        self.key, self.shape, self.dtype = (p._a.dtype, *state), p._a.shape, p._a.dtype
        self.counters = [a for _, a in self.state if not a.ndim]
        self.flat = [self.a.reshape(-1), *[a.reshape(-1) for _, a in self.state]]
        self.versions = [memory(t) for t in (p, *state.values())]

    def holds(self, p: Tensor, state: dict) -> bool:
        """Return True if this is still the parameter and its state."""
        if p is not self.p or p._a is not self.a or len(state) != len(self.state) or p._ver is not self.versions[0]:
            return False
        return all([t is u and t._a is a for t, (u, a) in zip(state.values(), self.state)])


def plain(p: Tensor, state: dict) -> Plain | None:
    """Return a parameter and its state for kernels, or None: all must be counters or arrays of one shape and dtype."""
    like = p._a
    if type(like) is not np.ndarray or not like.ndim or like.dtype not in DTYPES or p._ver is INFERENCE:
        return None
    for t in (p, *state.values()):
        if not isinstance(t, Tensor) or t._layer is not None or type(a := t._a) is not np.ndarray or not a.flags.carray:
            return None
        if a.ndim and (a.shape != like.shape or a.dtype != like.dtype):
            return None
    return Plain(p, state)


def several(value: Any) -> bool:
    """Return True for a sequence of numbers, such as `betas`."""
    return isinstance(value, (tuple, list)) or isinstance(value, np.ndarray) and value.ndim > 0


def is_number(value: Any) -> bool:
    """Return True for a number, also in a tensor of one element, which a schedule changes in place."""
    numeric = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return numeric or isinstance(value, Tensor) and value.numel() == 1


class GroupSettings:
    """The settings of a group as its kernels see them: the numbers, and a key of everything else that selects a kernel."""

    def __init__(self, optimizer: Any, group: dict):
        self.optimizer, self.group = optimizer, group
        self.places: list[tuple] = []  # the name of each number, and its index in a tuple
        numbers, others = [], []
        for name, value in group.items():
            if name not in optimizer.defaults:  # of a schedule, or of the user: an update does not read it
                continue
            values = value if (more := several(value)) else (value,)
            if all(map(is_number, values)):
                self.places += [(name, k if more else None) for k in range(len(values))]
                numbers += map(float, values)
            else:
                others.append((name, value))
        self.numbers, self.key = tuple(numbers), (type(optimizer), tuple(self.places), tuple(others))
        self.writer, self.place = f"{type(optimizer).__name__}.step", user_place()
        # of the latest kernel: its key and values, the kernel, the numbers it takes, and the counters after it
        self.latest: tuple = (None,) * 5

    def with_numbers(self, numbers: list) -> dict:
        """Return a copy of the group with other numbers."""
        group = dict(self.group)
        for (name, k), n in zip(self.places, numbers):
            group[name] = n if k is None else (*group[name][:k], n, *group[name][k + 1 :])
        return group

    def choose(self, key: tuple, values: tuple, state: dict, dtype: np.dtype) -> tuple:
        """Find the kernel for a state and these numbers, and remember it."""
        found = kernels.setdefault((self.key, key), [])
        kernel = next((k for k in found if all(k.fits(values))), None)
        if kernel is None:
            names = [name if k is None else f"{name}_{k}" for name, k in self.places]
            counts = {name: t._a.ndim == 0 for name, t in state.items()}
            kernel = optimizer_kernels.kernel(self.optimizer.update, names, values, counts, self.with_numbers, dtype)
            found.append(kernel)
        self.latest = key, values, kernel, kernel.numbers(values), kernel.counters(values)
        return self.latest


def step(optimizer: Any, group: dict, given: list) -> list:
    """Update a group's parameters, given as (parameter, gradient), by kernels; return those that no kernel can update."""
    own = home(optimizer).startswith("minigrad.")
    if current() is not OFF or only_definitions() or not own or is_small(given):
        return given
    settings, there = GroupSettings(optimizer, group), known.setdefault(optimizer, {})
    states = [optimizer.state[p] for p, _ in given]
    begun = ["step" not in state or float(state["step"]) for state in states]
    return [(p, g) for (p, g), s, b in zip(given, states, begun) if not (b and updated(p, g, s, settings, there))]


def is_small(given: list) -> bool:
    """Return True if all parameters together are too small to be worth a compilation."""
    return all([p.numel() < FROM for p, _ in given]) and sum([p.numel() for p, _ in given]) < FROM


def updated(p: Tensor, g: Tensor, state: dict, settings: GroupSettings, there: dict) -> bool:
    """Update one parameter by a kernel and return True, or return False without a change if that is impossible."""
    found = there.get(id(p))
    if found is None or not found.holds(p, state):
        if p._layer is not None or (found := plain(p, state)) is None:
            return False
        there[id(p)] = found
    if g._layer is not None or type(a := g._a) is not np.ndarray or a.shape != found.shape or a.dtype != found.dtype:
        return False
    values = (*settings.numbers, *[c.item() for c in found.counters])
    try:
        latest = settings.latest
        if found.key != latest[0] or values != latest[1]:
            latest = settings.choose(found.key, values, state, found.dtype)
        _, _, kernel, numbers, counts = latest
        if kernel.entry is None:
            return False
        arrays = [found.flat[0], (a if a.flags.carray else a.copy()).reshape(-1), *found.flat[1:]]
        arrays = [arrays[i] for i in kernel.arrays]
        if events.writes is not unheard:  # a recording that is over may have these tensors as they were
            for t in (p, *[one for one in state.values() if isinstance(one, Tensor)]):
                events.writes(t)
        if a.size < 2 * threads.GRAIN:
            kernel.entry(*arrays, *numbers)
        else:
            threads.launch(lambda *some: kernel.entry(*some, *numbers), arrays)
    except Exception as e:  # without a compiler, nothing was written
        return False if only_definitions() else again(e, lambda: False)
    for c, value in zip(found.counters, counts):
        c[...] = value
    for i in kernel.written:
        found.versions[i and i - 1].bump(settings.writer, settings.place)
    return True
