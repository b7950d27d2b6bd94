"""Schedules made of other schedules, and ReduceLROnPlateau, which watches the loss."""

from __future__ import annotations

import bisect
import math
from typing import Any

from ...errors import error
from ..optimizer import Optimizer
from .rates import LRScheduler


class SequentialLR(LRScheduler):
    """One schedule after the other: at each epoch in `milestones` the next one starts at its own epoch 0.

    >>> import minigrad
    >>> rates = minigrad.optim.lr_scheduler
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = rates.SequentialLR(
    ...     optimizer, [rates.LinearLR(optimizer, 0.5, total_iters=2), rates.ExponentialLR(optimizer, 0.5)], milestones=[2]
    ... )
    >>> for _ in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     schedule.step()
    0.5 0.75 1.0 0.5
    """

    def __init__(self, optimizer: Optimizer, schedulers: list, milestones: list, last_epoch: int = -1):
        if not schedulers or len(milestones) != len(schedulers) - 1:
            raise error(
                ValueError,
                "SequentialLR",
                f"expected one milestone fewer than schedules, but got {len(schedulers)} schedules and "
                f"{len(milestones)} milestones",
                f"pass {max(len(schedulers) - 1, 0)} milestones: the epochs at which the next schedule takes over",
            )
        for n, schedule in enumerate(schedulers):
            if getattr(schedule, "optimizer", None) is not optimizer:
                raise error(
                    ValueError,
                    "SequentialLR",
                    f"expected all schedules to belong to the same optimizer, but number {n} does not",
                    "build all of them with one optimizer",
                )
        self.optimizer, self._schedulers, self._milestones = optimizer, list(schedulers), list(milestones)
        self.last_epoch = last_epoch + 1
        self._schedulers[0].restart()
        self._last_lr = self._schedulers[0].get_last_lr()

    def set_rates(self) -> None:
        now = self._schedulers[bisect.bisect_right(self._milestones, self.last_epoch)]
        now.restart() if self.last_epoch in self._milestones else now.step()


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by `factor` after more than `patience` epochs without an improvement in step(metrics).

    An improvement is a value smaller (`mode` "min") or larger ("max") than the best by `threshold`, relative or ("abs")
    absolute.  After a reduction, `cooldown` epochs do not count.  `min_lr` bounds the rates; changes up to `eps` are skipped.

    >>> import minigrad
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = minigrad.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in (2.0, 1.0, 1.0, 1.0):
    ...     schedule.step(loss)
    >>> optimizer.param_groups[0]["lr"]
    0.5
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
        """Advance by one epoch, which ended with the watched value `metrics`, such as the loss."""
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
        """Return True if a value is better than the best by the threshold."""
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "abs":
            return sign * a > sign * best + self.threshold
        return sign * a > sign * best * (1 + sign * self.threshold)
