"""Learning rates that go along a curve, once or again and again."""

from __future__ import annotations

import bisect
import math
from typing import Any

from ...errors import error
from ..optimizer import Optimizer
from .rates import LRScheduler


class CosineAnnealingLR(LRScheduler):
    """From the first rate down to `eta_min` along half a cosine of `T_max` epochs, and up again.

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
    """From the first rate down to `eta_min` along half a cosine, again and again; each time takes `T_mult` times as long.

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
        return self.eta_min + (first - self.eta_min) * (1 + math.cos(math.pi * t / length)) / 2


class OneCycleLR(LRScheduler):
    """Up from max_lr / div_factor to max_lr, and down to 1 / final_div_factor of where it began; momentum the other way.

    A step is one batch: there are `total_steps`, or epochs * steps_per_epoch.  With `three_phase` the way down first
    goes as the way up.  Source: Smith, Topin, "Super-convergence", 2019.

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
        # where each phase ends, and its rates and momenta: first, last
        phases = [(up, "initial_lr", "max_lr", high, low), (end, "max_lr", "min_lr", low, high)]
        if three_phase:
            middle = 2 * up
            phases[1:] = [(middle, "max_lr", "initial_lr", low, high), (end, "initial_lr", "min_lr", high, high)]
        self.phases = phases
        most = list(max_lr) if isinstance(max_lr, (list, tuple)) else [max_lr] * len(optimizer.param_groups)
        for group, lr in zip(optimizer.param_groups, most) if last_epoch == -1 else ():
            group["initial_lr"] = lr / div_factor
            group["max_lr"], group["min_lr"] = lr, lr / div_factor / final_div_factor
        if cycle_momentum and not {"momentum", "betas"} & optimizer.defaults.keys():
            raise error(
                ValueError, "OneCycleLR", "optimizer must support momentum or beta1 with cycle_momentum", "pass False"
            )
        super().__init__(optimizer, last_epoch)

    def rate(self, i: int, now: float, first: float) -> float:
        t, group = self.last_epoch, self.optimizer.param_groups[i]
        if t >= self.total_steps:
            raise error(
                ValueError,
                "OneCycleLR",
                f"tried to step {t + 1} times, but there are {self.total_steps} steps in all",
                "call scheduler.step() once for each of total_steps, or pass a larger total_steps",
            )
        ends = [end for end, *_ in self.phases]
        n = min(bisect.bisect_left(ends, t), len(ends) - 1)
        begin = ends[n - 1] if n else 0.0
        _, lr, next_lr, momentum, next_momentum = self.phases[n]
        part = (t - begin) / (ends[n] - begin)
        part = (1 - math.cos(math.pi * part)) / 2 if self.anneal_strategy == "cos" else part
        if self.cycle_momentum:
            momentum += (next_momentum - momentum) * part
            group.update({"betas": (momentum, *group["betas"][1:])} if "betas" in group else {"momentum": momentum})
        return group[lr] + (group[next_lr] - group[lr]) * part
