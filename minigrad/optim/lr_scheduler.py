"""Learning rate schedules: each says how the rate of a group at one epoch follows from its first, or from the last one.

`step()` counts an epoch and sets the rates.  Schedules multiply the rate that they find where PyTorch does, so that
several of them can act on one optimizer.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from typing import Any

from ..errors import error
from . import oversights
from .optimizer import Optimizer


class LRScheduler:
    """Base class.  A subclass defines `rate(group, first)`: the new rate of a group whose first rate was `first`."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):
            raise error(
                TypeError,
                type(self).__name__,
                f"{type(optimizer).__name__} is not an Optimizer",
                f"write {type(self).__name__}(optimizer, ...)",
            )
        self.optimizer, self.last_epoch = optimizer, last_epoch
        for group in optimizer.param_groups:
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise error(
                    KeyError,
                    type(self).__name__,
                    "param 'initial_lr' is not specified in a group when resuming an optimizer",
                    "load the optimizer's state_dict first",
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.step()

    def step(self) -> None:
        """Go on by one epoch."""
        self.last_epoch += 1
        if self.last_epoch == 1 and not self.optimizer._stepped:
            oversights.warn_schedule_first(type(self).__name__, self.optimizer._all())
        for i, group in enumerate(self.optimizer.param_groups):
            group["lr"] = self.rate(i, group["lr"], self.base_lrs[i])
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def restart(self) -> None:
        """Go back to epoch 0."""
        for group, first in zip(self.optimizer.param_groups, self.base_lrs):
            group["lr"] = first
        self.last_epoch = -1
        self.step()

    def rate(self, i: int, now: float, first: float) -> float:
        """The rate of group number i at epoch `last_epoch`, from the one of the epoch before and the first one."""
        raise NotImplementedError

    def get_last_lr(self) -> list:
        """The rates that the last step has set."""
        return self._last_lr

    def state_dict(self) -> dict:
        """Everything but the optimizer, and functions; of schedules inside, their own states."""
        kept = {
            k: v for k, v in self.__dict__.items() if k not in ("optimizer", "schedulers") and not k.endswith("lambdas")
        }
        inside = getattr(self, "schedulers", None)
        return kept if inside is None else {**kept, "schedulers": [s.state_dict() for s in inside]}

    def load_state_dict(self, state_dict: dict) -> None:
        """Take over a state_dict()."""
        state = dict(state_dict)
        for schedule, its in zip(getattr(self, "schedulers", ()), state.pop("schedulers", ())):
            schedule.load_state_dict(its)
        self.__dict__.update(state)


class LambdaLR(LRScheduler):
    """The first rate times lr_lambda(epoch); one function, or one per group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1):
        n = len(optimizer.param_groups)
        self.lr_lambdas: list[Callable] = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * n
        if len(self.lr_lambdas) != n:
            raise error(
                ValueError,
                type(self).__name__,
                f"expected {n} lr_lambdas, one per parameter group, but got {len(self.lr_lambdas)}",
                f"pass one function, or a list of {n}",
            )
        super().__init__(optimizer, last_epoch)

    def rate(self, i: int, now: float, first: float) -> float:
        return first * self.lr_lambdas[i](self.last_epoch)


class MultiplicativeLR(LambdaLR):
    """The rate of the epoch before times lr_lambda(epoch); one function, or one per group."""

    def rate(self, i: int, now: float, first: float) -> float:
        return now * self.lr_lambdas[i](self.last_epoch) if self.last_epoch else now


class StepLR(LRScheduler):
    """Times `gamma` every `step_size` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, i: int, now: float, first: float) -> float:
        return now if self.last_epoch == 0 or self.last_epoch % self.step_size else now * self.gamma


class MultiStepLR(LRScheduler):
    """Times `gamma` at each of the epochs `milestones`."""

    def __init__(self, optimizer: Optimizer, milestones: list, gamma: float = 0.1, last_epoch: int = -1):
        self.milestones, self.gamma = list(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, i: int, now: float, first: float) -> float:
        return now * self.gamma ** self.milestones.count(self.last_epoch)


class ExponentialLR(LRScheduler):
    """Times `gamma` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, i: int, now: float, first: float) -> float:
        return now if self.last_epoch == 0 else now * self.gamma


class LinearLR(LRScheduler):
    """From start_factor to end_factor times the first rate, on a line over `total_iters` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise error(
                ValueError,
                "LinearLR",
                f"starting factor {start_factor} should lie in (0, 1] and ending factor {end_factor} in [0, 1]",
                "write start_factor=0.1, end_factor=1.0",
            )
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, i: int, now: float, first: float) -> float:
        if self.last_epoch == 0:
            return now * self.start_factor
        return (
            now
            if self.last_epoch > self.total_iters
            else now * self.factor(self.last_epoch) / self.factor(self.last_epoch - 1)
        )

    def factor(self, epoch: int) -> float:
        """The factor of the first rate."""
        return self.start_factor + (self.end_factor - self.start_factor) * epoch / self.total_iters


class ConstantLR(LRScheduler):
    """`factor` times the first rate for `total_iters` epochs, then the first rate."""

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1):
        if not 0 <= factor <= 1:
            raise error(ValueError, "ConstantLR", f"factor {factor} should lie in [0, 1]", "write factor=0.1")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, i: int, now: float, first: float) -> float:
        t = self.last_epoch
        return now * self.factor if t == 0 else now / self.factor if t == self.total_iters else now


class PolynomialLR(LRScheduler):
    """The first rate times (1 - epoch / total_iters) ** power, down to 0."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def rate(self, i: int, now: float, first: float) -> float:
        t, n = self.last_epoch, self.total_iters
        return now if t == 0 or t > n else now * ((1 - t / n) / (1 - (t - 1) / n)) ** self.power


class CosineAnnealingLR(LRScheduler):
    """From the first rate down to `eta_min` along half a cosine of `T_max` epochs, and up again.

    Source: Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017; without restarts.
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
        return (1 + math.cos(math.pi * t / self.T_max)) / (1 + math.cos(math.pi * (t - 1) / self.T_max)) * (
            now - low
        ) + low


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the first rate down to `eta_min` along half a cosine, again and again; each time takes `T_mult` times as long.

    Source: Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.
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


class SequentialLR(LRScheduler):
    """One schedule after the other: the next one begins, at its epoch 0, at each of the epochs `milestones`."""

    def __init__(self, optimizer: Optimizer, schedulers: list, milestones: list, last_epoch: int = -1):
        if not schedulers or len(milestones) != len(schedulers) - 1:
            raise error(
                ValueError,
                "SequentialLR",
                f"expected one milestone less than schedules, but got {len(schedulers)} schedules and "
                f"{len(milestones)} milestones",
                f"pass {max(len(schedulers) - 1, 0)} milestones: the steps at which the next one takes over",
            )
        same_optimizer("SequentialLR", schedulers, optimizer)
        self.optimizer, self.schedulers, self.milestones = optimizer, list(schedulers), list(milestones)
        self.last_epoch = last_epoch + 1
        self.schedulers[0].restart()
        self._last_lr = self.schedulers[0].get_last_lr()

    def step(self) -> None:
        """Go on by one epoch."""
        self.last_epoch += 1
        if self.last_epoch == 1 and not self.optimizer._stepped:
            oversights.warn_schedule_first(type(self).__name__, self.optimizer._all())
        now = self.schedulers[bisect.bisect_right(self.milestones, self.last_epoch)]
        now.restart() if self.last_epoch in self.milestones else now.step()
        self._last_lr = now.get_last_lr()


class ChainedScheduler(LRScheduler):
    """Several schedules at once, one acting on what the others make of the rate."""

    def __init__(self, schedulers: list, optimizer: Optimizer | None = None):
        if not schedulers:
            raise error(
                ValueError,
                "ChainedScheduler",
                "expects at least one schedule to be chained, but got none",
                "pass a list of schedules: ChainedScheduler([a, b])",
            )
        self.optimizer, self.schedulers = optimizer or schedulers[0].optimizer, list(schedulers)
        same_optimizer("ChainedScheduler", schedulers, self.optimizer)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def step(self) -> None:
        """Go on by one epoch."""
        for schedule in self.schedulers:
            schedule.step()
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]


def same_optimizer(who: str, schedulers: list, optimizer: Optimizer) -> None:
    """ValueError where a schedule is that of another optimizer."""
    for n, schedule in enumerate(schedulers):
        if getattr(schedule, "optimizer", None) is not optimizer:
            raise error(
                ValueError,
                who,
                f"expected all schedules to belong to the same optimizer, but number {n} does not",
                "build all of them with one optimizer",
            )


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` after more than `patience` epochs in which step(metrics) saw nothing better than the best so far.

    Better means smaller (`mode` "min") or larger ("max") by `threshold`, relative or ("abs") absolute.  After a reduction
    `cooldown` epochs do not count; rates stay at least `min_lr`, and as they are where the change is below `eps`.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ):
        if factor >= 1.0:
            raise error(ValueError, "ReduceLROnPlateau", f"factor should be < 1.0, got {factor}", "write factor=0.1")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise error(
                ValueError,
                "ReduceLROnPlateau",
                f"mode {mode!r} should be 'min' or 'max', threshold mode {threshold_mode!r} 'rel' or 'abs'",
                "write mode='min', threshold_mode='rel'",
            )
        if not isinstance(optimizer, Optimizer):
            raise error(
                TypeError,
                "ReduceLROnPlateau",
                f"{type(optimizer).__name__} is not an Optimizer",
                "write ReduceLROnPlateau(optimizer)",
            )
        self.optimizer, self.mode, self.factor, self.patience, self.eps = optimizer, mode, factor, patience, eps
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        n = len(optimizer.param_groups)
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * n
        if len(self.min_lrs) != n:
            raise error(
                ValueError,
                "ReduceLROnPlateau",
                f"expected {n} min_lrs, got {len(self.min_lrs)}",
                f"pass one number, or a list of {n}",
            )
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self._last_lr = [group["lr"] for group in optimizer.param_groups]

    def step(self, metrics: Any) -> None:  # type: ignore[override]
        """Go on by one epoch, at whose end the loss, or whatever is watched, was `metrics`."""
        self.last_epoch += 1
        now = float(metrics)
        if self.is_better(now, self.best):
            self.best, self.num_bad_epochs = now, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs):
                new = max(group["lr"] * self.factor, least)
                group["lr"] = new if group["lr"] - new > self.eps else group["lr"]
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def is_better(self, a: float, best: float) -> bool:
        """Whether a value is better than the best by the threshold."""
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "abs":
            return sign * a > sign * best + self.threshold
        return sign * a > sign * best * (1 + sign * self.threshold)
