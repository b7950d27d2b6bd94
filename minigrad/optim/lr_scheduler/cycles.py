"""Learning rates that follow a curve, once or repeatedly."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from typing import Any

from ...errors import error
from ..optimizer import Optimizer
from .rates import LRScheduler


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

    def rate(self, i: int, now: float, first: float) -> float:
        t, low = self.last_epoch, self.eta_min
        if t == 0:
            return now
        if (t - 1 - self.T_max) % (2 * self.T_max) == 0:
            return now + (first - low) * (1 - math.cos(math.pi / self.T_max)) / 2
        height = lambda t: 1 + math.cos(math.pi * t / self.T_max)
        return height(t) / height(t - 1) * (now - low) + low


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the first rate down to `eta_min` along half a cosine, repeatedly; each cycle is `T_mult` times as long.

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
        if T_0 <= 0 or T_mult < 1 or not isinstance(T_0, int) or not isinstance(T_mult, int):
            raise error(
                ValueError,
                "CosineAnnealingWarmRestarts",
                f"expected a positive integer T_0 and an integer T_mult >= 1, but got {T_0} and {T_mult}",
                "write T_0=10, T_mult=1",
            )
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, i: int, now: float, first: float) -> float:
        t, length = self.last_epoch, self.T_0
        while t >= length:
            t, length = t - length, length * self.T_mult
        self.T_cur, self.T_i = t, length
        return self.eta_min + (first - self.eta_min) * (1 + math.cos(math.pi * t / length)) / 2


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
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise error(
                ValueError,
                "OneCycleLR",
                "define either total_steps or both epochs and steps_per_epoch",
                "write total_steps=epochs * len(loader)",
            )
        if anneal_strategy not in ("cos", "linear"):
            raise error(
                ValueError,
                "OneCycleLR",
                f"anneal_strategy must be one of 'cos' or 'linear', got {anneal_strategy!r}",
                "write anneal_strategy='cos'",
            )
        if not 0 <= pct_start <= 1:
            raise error(
                ValueError, "OneCycleLR", f"expected pct_start between 0 and 1, got {pct_start}", "write pct_start=0.3"
            )
        self.total_steps = int(total_steps if total_steps is not None else epochs * steps_per_epoch)  # type: ignore[operator]
        self.anneal_strategy, self.cycle_momentum = anneal_strategy, cycle_momentum
        up, end = float(pct_start * self.total_steps) - 1, self.total_steps - 1
        low, high = base_momentum, max_momentum
        # for each phase: its end, its first and last rate, its first and last momentum
        phases = [(up, "initial_lr", "max_lr", high, low), (end, "max_lr", "min_lr", low, high)]
        if three_phase:
            middle = 2 * up
            phases[1:] = [(middle, "max_lr", "initial_lr", low, high), (end, "initial_lr", "min_lr", high, high)]
        self.phases = phases
        most = per_group(optimizer, "max_lr", max_lr)
        for group, lr in zip(optimizer.param_groups, most) if last_epoch == -1 else ():
            group["initial_lr"] = lr / div_factor
            group["max_lr"], group["min_lr"] = lr, lr / div_factor / final_div_factor
            if cycle_momentum:
                group["max_momentum"], group["base_momentum"] = max_momentum, base_momentum
        if cycle_momentum:
            check_momentum("OneCycleLR", optimizer)
        super().__init__(optimizer, last_epoch)

    def rate(self, i: int, now: float, first: float) -> float:
        t, group = self.last_epoch, self.optimizer.param_groups[i]
        if t >= self.total_steps:
            raise error(
                ValueError,
                "OneCycleLR",
                f"tried to step {t + 1} times, but the schedule has {self.total_steps} steps",
                "call scheduler.step() once for each of total_steps, or pass a larger total_steps",
            )
        ends = [end for end, *_ in self.phases]
        n = min(bisect.bisect_left(ends, t), len(ends) - 1)
        begin = ends[n - 1] if n else 0.0
        _, lr, next_lr, momentum, next_momentum = self.phases[n]
        part = (t - begin) / (ends[n] - begin)
        part = (1 - math.cos(math.pi * part)) / 2 if self.anneal_strategy == "cos" else part
        if self.cycle_momentum:
            set_momentum(group, momentum + (next_momentum - momentum) * part)
        return group[lr] + (group[next_lr] - group[lr]) * part


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
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise error(
                ValueError,
                "CyclicLR",
                f"mode {mode!r} is none of 'triangular', 'triangular2' and 'exp_range', and scale_fn is None",
                "write mode='triangular', or pass a scale_fn",
            )
        self.rates = per_group(optimizer, "base_lr", base_lr), per_group(optimizer, "max_lr", max_lr)
        self.up, self.down = step_size_up, step_size_up if step_size_down is None else step_size_down
        self.mode, self.gamma, self._scale_fn_custom, self.scale_mode = mode, gamma, scale_fn, scale_mode
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            check_momentum("CyclicLR", optimizer)
            high = per_group(optimizer, "max_momentum", max_momentum)
            self.momenta = high, per_group(optimizer, "base_momentum", base_momentum)
        for group, low in zip(optimizer.param_groups, self.rates[0]) if last_epoch == -1 else ():
            group["lr"] = low
        super().__init__(optimizer, last_epoch)

    def rate(self, i: int, now: float, first: float) -> float:
        cycle, t = divmod(self.last_epoch, self.up + self.down)
        height = t / self.up if t <= self.up else (self.up + self.down - t) / self.down
        height *= self.scale(cycle + 1, self.last_epoch)
        if self.cycle_momentum:
            high, low = self.momenta
            set_momentum(self.optimizer.param_groups[i], high[i] + (low[i] - high[i]) * height)
        low, high = self.rates
        return low[i] + (high[i] - low[i]) * height

    def scale(self, cycle: int, batch: int) -> float:
        """Return the height of a cycle as a fraction of the full height."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(cycle if self.scale_mode == "cycle" else batch)
        return {"triangular": 1.0, "triangular2": 0.5 ** (cycle - 1)}.get(self.mode, self.gamma**batch)


def per_group(optimizer: Optimizer, name: str, value: Any) -> list:
    """Return a setting for each parameter group, from one value or a list.  Raises ValueError for a wrong length."""
    n = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * n
    if len(value) != n:
        raise error(
            ValueError,
            name,
            f"expected {n} values, one for each parameter group, but got {len(value)}",
            f"pass one number, or a list of {n}",
        )
    return list(value)


def check_momentum(who: str, optimizer: Optimizer) -> None:
    """Raise ValueError if the optimizer has no momentum to cycle."""
    if not {"momentum", "betas"} & optimizer.defaults.keys():
        raise error(ValueError, who, "optimizer has no momentum or beta1 to cycle", "pass cycle_momentum=False")


def set_momentum(group: dict, momentum: float) -> None:
    """Set the momentum of a group, or beta1 if the group has `betas`."""
    group.update({"betas": (momentum, *group["betas"][1:])} if "betas" in group else {"momentum": momentum})
