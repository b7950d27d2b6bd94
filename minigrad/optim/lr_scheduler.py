"""Learning rate schedules: each says how the rate of a group at one epoch follows from its first, or from the last one.

`step()` counts an epoch and sets the rates.  Schedules multiply the rate that they find where PyTorch does, so that
several of them can act on one optimizer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..errors import error
from .optimizer import Optimizer


class LRScheduler:
    """Base class.  A subclass defines `rate(group, first)`: the new rate of a group whose first rate was `first`."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):
            raise error(TypeError, type(self).__name__, f"{type(optimizer).__name__} is not an Optimizer")
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
        for i, group in enumerate(self.optimizer.param_groups):
            group["lr"] = self.rate(i, group["lr"], self.base_lrs[i])
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def rate(self, i: int, now: float, first: float) -> float:
        """The rate of group number i at epoch `last_epoch`, from the one of the epoch before and the first one."""
        raise NotImplementedError

    def get_last_lr(self) -> list:
        """The rates that the last step has set."""
        return self._last_lr

    def state_dict(self) -> dict:
        """Everything but the optimizer, and functions."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer" and not k.endswith("lambdas")}

    def load_state_dict(self, state_dict: dict) -> None:
        """Take over a state_dict()."""
        self.__dict__.update(state_dict)


class LambdaLR(LRScheduler):
    """The first rate times lr_lambda(epoch); one function, or one per group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1):
        n = len(optimizer.param_groups)
        self.lr_lambdas: list[Callable] = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * n
        if len(self.lr_lambdas) != n:
            raise error(
                ValueError,
                "LambdaLR",
                f"expected {n} lr_lambdas, one per parameter group, but got {len(self.lr_lambdas)}",
            )
        super().__init__(optimizer, last_epoch)

    def rate(self, i: int, now: float, first: float) -> float:
        return first * self.lr_lambdas[i](self.last_epoch)


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
