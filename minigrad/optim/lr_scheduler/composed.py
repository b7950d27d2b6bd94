"""Schedules made of other schedules, and ReduceLROnPlateau, which watches the loss."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ...diagnose import optimizers
from ...errors import error
from ..optimizer import Optimizer
from .scheduler import LRScheduler, check_optimizer, set_value, settings


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
        check_schedules("SequentialLR", optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise error(
                ValueError,
                "SequentialLR",
                f"expected one milestone fewer than schedules, but got {len(schedulers)} schedules and "
                f"{len(milestones)} milestones",
                f"pass {len(schedulers) - 1} milestones: the epochs at which the next schedule takes over",
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        for group in optimizer.param_groups:
            set_value(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back the epoch that every inner schedule counted when it was made."""
        sched = self if sched is None else sched
        if not hasattr(sched, "_schedulers"):
            sched.last_epoch -= 1
        for inner in getattr(sched, "_schedulers", ()):
            self.recursive_undo(inner)

    def step(self) -> None:  # type: ignore[override]
        """Advance by one epoch; at a milestone the next schedule begins at its epoch 0."""
        self.last_epoch += 1
        n = bisect_right(self._milestones, self.last_epoch)
        now = self._schedulers[n]
        if n > 0 and self._milestones[n - 1] == self.last_epoch:
            now._update_lr(0)
        else:
            now.step()
        self._last_lr = now.get_last_lr()


class ChainedScheduler(LRScheduler):
    """Several schedules at once: a step is one step of each, in order, so their factors multiply.

    >>> import minigrad
    >>> rates = minigrad.optim.lr_scheduler
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> parts = rates.ConstantLR(optimizer, 0.5, total_iters=2), rates.ExponentialLR(optimizer, 0.5)
    >>> schedule = rates.ChainedScheduler(parts)
    >>> for _ in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     schedule.step()
    0.5 0.25 0.25 0.125
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None):
        found: Any = optimizer or next((getattr(s, "optimizer", None) for s in schedulers), None)
        check_schedules("ChainedScheduler", found, schedulers)
        self._schedulers, self.optimizer = schedulers, found
        self._last_lr = settings(self.optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Advance every schedule by one epoch."""
        for schedule in self._schedulers:
            schedule.step()
        self._last_lr = settings(self.optimizer, "lr")


def check_schedules(who: str, optimizer: Any, schedules: Sequence) -> None:
    """Raise ValueError unless there are schedules of this optimizer that step without a metric; TypeError for others."""
    if not schedules:
        raise error(ValueError, who, "expected at least one schedule, but got none", "pass a list of schedules")
    for n, schedule in enumerate(schedules):
        if not hasattr(schedule, "optimizer"):
            what = f"number {n} is no schedule of an optimizer, but {type(schedule).__name__}"
            raise error(TypeError, who, what, "pass a list of schedules")
        if isinstance(schedule, ReduceLROnPlateau):
            what = f"number {n} is a ReduceLROnPlateau, whose step needs a metric"
            raise error(ValueError, who, what, "call its step(metric) yourself, beside the others")
        if schedule.optimizer is not optimizer:
            what = f"expected all schedules to belong to the same optimizer, but number {n} does not"
            raise error(ValueError, who, what, "build all of them with one optimizer")


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
        check_optimizer("ReduceLROnPlateau", optimizer)
        self.optimizer, self.factor, self.patience, self.cooldown, self.eps = optimizer, factor, patience, cooldown, eps
        several = isinstance(min_lr, (list, tuple))
        self.default_min_lr = None if several else min_lr
        self.min_lrs = list(min_lr) if several else [min_lr] * len(optimizer.param_groups)
        self._check_min_lrs(ValueError)
        self.last_epoch, self._last_lr = 0, settings(optimizer, "lr")
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        """Set the meaning of an improvement."""
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            what = f"mode {mode!r} should be 'min' or 'max', threshold mode {threshold_mode!r} 'rel' or 'abs'"
            raise error(ValueError, "ReduceLROnPlateau", what, "write mode='min', threshold_mode='rel'")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode

    def _reset(self) -> None:
        """Forget the values so far."""
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    @property
    def in_cooldown(self) -> bool:
        """True if epochs do not count after a reduction."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: float | None = None) -> None:  # type: ignore[override]
        """Advance by one epoch, or to a given one, which ended with the watched value `metrics`, such as the loss."""
        now = float(metrics)
        if epoch is not None:
            optimizers.warn_epoch("ReduceLROnPlateau")
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(now, self.best):
            self.best, self.num_bad_epochs = now, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = settings(self.optimizer, "lr")

    def _reduce_lr(self, epoch: float) -> None:
        """Multiply the rates by the factor."""
        groups = self.optimizer.param_groups
        if self.default_min_lr is not None and len(self.min_lrs) != len(groups):
            self.min_lrs = [self.default_min_lr] * len(groups)
        self._check_min_lrs(RuntimeError)
        for group, least in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_value(group, "lr", new)

    def _check_min_lrs(self, kind: type[Exception]) -> None:
        """Raise an error unless there is a least rate for each group."""
        if len(self.min_lrs) != (n := len(self.optimizer.param_groups)):
            what = f"expected {n} min_lrs, got {len(self.min_lrs)}"
            raise error(kind, "ReduceLROnPlateau", what, f"pass one number, or a list of {n}")

    def _is_better(self, a: float, best: float) -> bool:
        """Return True if a value is better than the best by the threshold."""
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "abs":
            return sign * a > sign * best + self.threshold
        return sign * a > sign * best * (1 + sign * self.threshold)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state_dict()."""
        super().load_state_dict(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)
