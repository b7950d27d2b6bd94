"""Learning rates that follow a curve, once or repeatedly."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...errors import error
from ..optimizer import Optimizer
from .scheduler import LRScheduler, attributes, check_optimizer, per_group, set_value


class CosineAnnealingLR(LRScheduler):
    """From the first rate down to `eta_min` along half a cosine of `T_max` epochs, then up again.

    Source: Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017; without restarts.

    >>> import minigrad
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = minigrad.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    >>> for _ in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     schedule.step()
    1.0 0.854 0.5 0.146
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        t, low, now = self.last_epoch, self.eta_min, self._current()
        if self._is_initial:
            return now
        if self._step_count == 1 and t > 0:
            return self._get_closed_form_lr()
        if (t - 1 - self.T_max) % (2 * self.T_max) == 0:  # at the bottom, where the height of the last epoch is 0
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [lr + (first - low) * rise for lr, first in zip(now, self.base_lrs)]
        height = lambda t: 1 + math.cos(math.pi * t / self.T_max)
        return [height(t) / height(t - 1) * (lr - low) + low for lr in now]

    def _get_closed_form_lr(self) -> list:
        return [half_cosine(first, self.eta_min, self.last_epoch / self.T_max) for first in self.base_lrs]


def half_cosine(begin: Any, end: Any, part: float) -> Any:
    """Return a value on the way from one to another along half a cosine."""
    return end + (begin - end) * (1 + math.cos(math.pi * part)) / 2


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the first rate down to `eta_min` along half a cosine, repeatedly; each cycle is `T_mult` times as long.

    `step(epoch)` goes to any epoch, which may be a fraction: step(epoch + i / len(loader)) after batch i.
    Source: Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.

    >>> import minigrad
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = minigrad.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> for _ in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     schedule.step()
    1.0 0.5 1.0 0.5
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1):
        if not isinstance(T_0, int) or not isinstance(T_mult, int) or T_0 <= 0 or T_mult < 1:
            what = f"expected a positive integer T_0 and an integer T_mult >= 1, but got {T_0} and {T_mult}"
            raise error(ValueError, "CosineAnnealingWarmRestarts", what, "write T_0=10, T_mult=1")
        if not isinstance(eta_min, (float, int)):
            what = f"expected a number as eta_min, but got {eta_min!r}"
            raise error(ValueError, "CosineAnnealingWarmRestarts", what, "write eta_min=1e-5")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._current()
        return [half_cosine(first, self.eta_min, self.T_cur / self.T_i) for first in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Advance by one epoch, or go to an epoch, which may be a fraction.  Raises ValueError for a negative one."""
        if epoch is None and self.last_epoch >= 0:
            epoch, self.T_cur = self.last_epoch + 1, self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            if epoch < 0:
                what = f"expected an epoch of at least 0, but got {epoch}"
                raise error(ValueError, "CosineAnnealingWarmRestarts.step", what, "write step(epoch + i / len(loader))")
            self.T_cur, self.T_i = self._place(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_lr(self.get_lr)

    def _place(self, epoch: float) -> tuple[float, int]:
        """Return the position of an epoch in its cycle, and the length of that cycle."""
        if epoch < self.T_0:
            return epoch, self.T_0
        if self.T_mult == 1:
            return epoch % self.T_0, self.T_i
        n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        begin = self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
        return epoch - begin, self.T_0 * self.T_mult**n


class OneCycleLR(LRScheduler):
    """Up from max_lr / div_factor to max_lr, then down to 1 / final_div_factor of the first rate; momentum the other way.

    A step is one batch: pass `total_steps`, or `epochs` and `steps_per_epoch`.  With `three_phase` the way down first
    mirrors the way up.  Source: Smith, Topin, "Super-convergence", 2019.

    >>> import minigrad
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = minigrad.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=5)
    >>> for _ in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     schedule.step()
    0.04 0.95 0.611 0.188
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ):
        check_optimizer("OneCycleLR", optimizer)
        self.optimizer = optimizer
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            what = "define either total_steps or both epochs and steps_per_epoch"
            raise error(ValueError, "OneCycleLR", what, "write total_steps=epochs * len(loader)")
        sizes = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
        for name, n in sizes.items() if total_steps is None else [("total_steps", total_steps)]:
            if not isinstance(n, int) or n <= 0:
                what = f"expected a positive integer {name}, but got {n!r}"
                raise error(ValueError, "OneCycleLR", what, "write total_steps=epochs * len(loader)")
        if anneal_strategy not in ("cos", "linear"):
            what = f"anneal_strategy must be one of 'cos' or 'linear', got {anneal_strategy!r}"
            raise error(ValueError, "OneCycleLR", what, "write anneal_strategy='cos'")
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            what = f"expected a float pct_start between 0 and 1, got {pct_start!r}"
            raise error(ValueError, "OneCycleLR", what, "write pct_start=0.3")
        self.total_steps = epochs * steps_per_epoch if total_steps is None else total_steps  # type: ignore[operator]
        self._anneal_func_type, self.cycle_momentum = anneal_strategy, cycle_momentum
        self._schedule_phases = phases(float(pct_start * self.total_steps) - 1, self.total_steps - 1, three_phase)
        most = per_group(optimizer, "max_lr", max_lr)
        for group, lr in zip(optimizer.param_groups, most) if last_epoch == -1 else ():
            group["initial_lr"] = lr / div_factor
            group["max_lr"], group["min_lr"] = lr, group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self.use_beta1 = check_momentum("OneCycleLR", optimizer)
            start_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._current()
        t, found = self.last_epoch, []
        if t > self.total_steps:
            what = f"tried to step {t} times, but the schedule has {self.total_steps} steps"
            fix = "call scheduler.step() once for each of total_steps, or pass a larger total_steps"
            raise error(ValueError, "OneCycleLR", what, fix)
        last = self._schedule_phases[-1]
        phase = next((phase for phase in self._schedule_phases if t <= phase["end_step"]), last)
        n = self._schedule_phases.index(phase)
        begin = self._schedule_phases[n - 1]["end_step"] if n else 0.0
        part = (t - begin) / (phase["end_step"] - begin)
        for group in self.optimizer.param_groups:
            found.append(self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                set_momentum(group, self._anneal_func(*ends, part))
        return found

    def _anneal_func(self, start: Any, end: Any, pct: float) -> Any:
        """Return a value on the way from one to another."""
        curve = self._annealing_cos if self._anneal_func_type == "cos" else self._annealing_linear
        return curve(start, end, pct)

    _annealing_cos = staticmethod(half_cosine)

    @staticmethod
    def _annealing_linear(start: Any, end: Any, pct: float) -> Any:
        return (end - start) * pct + start


def phases(up: float, end: float, three: bool) -> list[dict]:
    """Return the phases of OneCycleLR: where each ends, and the settings of a group between which it goes."""
    names = "end_step", "start_lr", "end_lr", "start_momentum", "end_momentum"
    high, low = "max_momentum", "base_momentum"
    found = [(up, "initial_lr", "max_lr", high, low), (end, "max_lr", "min_lr", low, high)]
    if three:
        found[1:] = [(2 * up, "max_lr", "initial_lr", low, high), (end, "initial_lr", "min_lr", high, high)]
    return [dict(zip(names, phase)) for phase in found]


class CyclicLR(LRScheduler):
    """Up from base_lr to max_lr in `step_size_up` batches, down in `step_size_down`, repeatedly; momentum the other way.

    With mode="triangular2" each cycle is half as high as the one before; with "exp_range" the height is multiplied by
    gamma**batch.  `scale_fn` returns another factor for the height, from the number of the cycle (1 for the first), or with
    scale_mode="iterations" from the number of the batch.
    Source: Smith, "Cyclical learning rates for training neural networks", 2017.

    >>> import minigrad
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> schedule = minigrad.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.5, step_size_up=2)
    >>> for _ in range(5):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     schedule.step()
    0.1 0.3 0.5 0.3 0.1
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ):
        check_optimizer("CyclicLR", optimizer)
        self.optimizer = optimizer
        base_lrs, self.max_lrs = per_group(optimizer, "base_lr", base_lr), per_group(optimizer, "max_lr", max_lr)
        for group, low in zip(optimizer.param_groups, base_lrs) if last_epoch == -1 else ():
            set_value(group, "lr", low)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            what = f"mode {mode!r} is none of 'triangular', 'triangular2' and 'exp_range', and scale_fn is None"
            raise error(ValueError, "CyclicLR", what, "write mode='triangular', or pass a scale_fn")
        self.mode, self.gamma, self._scale_fn_custom, self.scale_mode = mode, gamma, scale_fn, scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = check_momentum("CyclicLR", optimizer)
            found = start_momentum(optimizer, base_momentum, max_momentum, last_epoch)
            self.base_momentums, self.max_momentums = found
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """Return the height of a cycle as a fraction of the full height, from the number of the cycle or of the batch."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return {"triangular": 1.0, "triangular2": 0.5 ** (x - 1)}.get(self.mode, self.gamma**x)

    def get_lr(self) -> list:
        self._current()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                set_momentum(group, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer; a `scale_fn` gives its attributes, a function None."""
        function = self._scale_fn_custom
        return super().state_dict() | {"_scale_fn_custom": None if function is None else attributes(function)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state_dict()."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if its := state_dict["_scale_fn_custom"]:
            vars(self._scale_fn_custom).update(its)


def check_momentum(who: str, optimizer: Optimizer) -> bool:
    """Return True if the optimizer's momentum is its first beta.  Raises ValueError if it has no momentum to cycle."""
    if not {"momentum", "betas"} & optimizer.defaults.keys():
        raise error(ValueError, who, "optimizer has no momentum or beta1 to cycle", "pass cycle_momentum=False")
    return "betas" in optimizer.defaults


def start_momentum(optimizer: Optimizer, base: Any, most: Any, last_epoch: int) -> tuple[list, list]:
    """Return the least and the largest momentum of each group, which a new schedule notes there."""
    lows, highs = per_group(optimizer, "base_momentum", base), per_group(optimizer, "max_momentum", most)
    for group, low, high in zip(optimizer.param_groups, lows, highs) if last_epoch == -1 else ():
        set_momentum(group, high)
        group["max_momentum"], group["base_momentum"] = high, low
    return lows, highs


def set_momentum(group: dict, momentum: float) -> None:
    """Set the momentum of a group, or beta1 if the group has `betas`."""
    group.update({"betas": (momentum, *group["betas"][1:])} if "betas" in group else {"momentum": momentum})
