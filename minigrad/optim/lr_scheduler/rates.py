"""Schedules of one formula: from the first rate or the current one to the next."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ...errors import error
from ..optimizer import Optimizer
from .scheduler import LRScheduler


class LambdaLR(LRScheduler):
    """The first rate times lr_lambda(epoch); one function, or one per group.

    >>> import minigrad
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = minigrad.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> for _ in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     schedule.step()
    1.0 0.5 0.333 0.25
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1):
        n = len(optimizer.param_groups)
        self.lr_lambdas: list[Callable] = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * n
        if len(self.lr_lambdas) != n:
            what = f"expected {n} lr_lambdas, one per parameter group, but got {len(self.lr_lambdas)}"
            raise error(ValueError, type(self).__name__, what, f"pass one function, or a list of {n}")
        for f in self.lr_lambdas:
            if not callable(f):
                what = f"lr_lambda should be a function, but got {type(f).__name__}"
                raise error(TypeError, type(self).__name__, what, "write lr_lambda=lambda epoch: 0.95**epoch")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._current()
        return [first * factor(self.last_epoch) for factor, first in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(LambdaLR):
    """Multiplies the current rate by lr_lambda(epoch) every epoch; one function, or one per group.

    >>> import minigrad
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = minigrad.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> for _ in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     schedule.step()
    1.0 0.5 0.25 0.125
    """

    def get_lr(self) -> list:
        now = self._current()
        if self._is_initial:
            return now
        return [lr * factor(self.last_epoch) for factor, lr in zip(self.lr_lambdas, now)]


class StepLR(LRScheduler):
    """Multiplies the rate by `gamma` every `step_size` epochs.

    >>> import minigrad
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = minigrad.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for _ in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     schedule.step()
    1.0 1.0 0.5 0.5
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        now = self._current()
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return now
        return [lr * self.gamma for lr in now]

    def _get_closed_form_lr(self) -> list:
        return [first * self.gamma ** (self.last_epoch // self.step_size) for first in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiplies the rate by `gamma` at each epoch in `milestones`.

    >>> import minigrad
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = minigrad.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> for _ in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     schedule.step()
    1.0 0.5 0.5 0.25
    """

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        times = self.milestones[self.last_epoch]  # type: ignore[index]
        return [lr * self.gamma**times if times else lr for lr in self._current()]

    def _get_closed_form_lr(self) -> list:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [first * self.gamma**passed for first in self.base_lrs]


class ConstantLR(LRScheduler):
    """`factor` times the first rate for `total_iters` epochs, then the first rate.

    >>> import minigrad
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = minigrad.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> for _ in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     schedule.step()
    0.5 0.5 1.0 1.0
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1):
        if not 0 <= factor <= 1:
            raise error(ValueError, "ConstantLR", f"factor {factor} has to be in [0, 1]", "write factor=0.1")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        now = self._current()
        if self.last_epoch == 0:
            return [lr * self.factor for lr in now]
        return [lr * (1 / self.factor) for lr in now] if self.last_epoch == self.total_iters else now

    def _get_closed_form_lr(self) -> list:
        return [first * (1 if self.last_epoch >= self.total_iters else self.factor) for first in self.base_lrs]


class LinearLR(LRScheduler):
    """From start_factor to end_factor times the first rate, linearly over `total_iters` epochs.

    >>> import minigrad
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = minigrad.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> for _ in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     schedule.step()
    0.5 0.75 1.0 1.0
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            what = f"starting factor {start_factor} has to be in (0, 1] and ending factor {end_factor} in [0, 1]"
            raise error(ValueError, "LinearLR", what, "write start_factor=0.1, end_factor=1.0")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        t, now = self.last_epoch, self._current()
        if t == 0:
            return [lr * self.start_factor for lr in now]
        if self._is_initial or t > self.total_iters:
            return now
        slope = self.end_factor - self.start_factor
        return [lr * (1 + slope / (self.total_iters * self.start_factor + (t - 1) * slope)) for lr in now]

    def _get_closed_form_lr(self) -> list:
        part = min(self.total_iters, self.last_epoch) / self.total_iters
        return [first * (self.start_factor + (self.end_factor - self.start_factor) * part) for first in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiplies the rate by `gamma` every epoch.

    >>> import minigrad
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = minigrad.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> for _ in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     schedule.step()
    1.0 0.5 0.25 0.125
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        now = self._current()
        return now if self._is_initial else [lr * self.gamma for lr in now]

    def _get_closed_form_lr(self) -> list:
        return [first * self.gamma**self.last_epoch for first in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The first rate times (1 - epoch / total_iters) ** power: down to 0 after `total_iters` epochs.

    >>> import minigrad
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = minigrad.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4, power=2.0)
    >>> for _ in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     schedule.step()
    1.0 0.562 0.25 0.062
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        t, n, now = self.last_epoch, self.total_iters, self._current()
        if self._is_initial or t > n:
            return now
        factor = ((1 - t / n) / (1 - (t - 1) / n)) ** self.power
        return [lr * factor for lr in now]

    def _get_closed_form_lr(self) -> list:
        left = 1 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [first * left**self.power for first in self.base_lrs]
