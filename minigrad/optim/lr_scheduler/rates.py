"""Learning rates that change with the epochs, computed from the first rate or from the previous epoch's.

`step()` counts an epoch and sets the rates.  Like PyTorch's, many schedules multiply the current rate, so several of them
can act on one optimizer.  Next: cycles.py, composed.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ...diagnose import optimizers
from ...errors import error
from ..optimizer import Optimizer


class LRScheduler:
    """Base class.  A subclass defines `rate(i, now, first)`: group i's new rate, from its current and its first one.

    >>> import minigrad
    >>> class Halved(minigrad.optim.lr_scheduler.LRScheduler):
    ...     def rate(self, i, now, first):
    ...         return first / 2**self.last_epoch
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = Halved(optimizer)
    >>> for _ in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     schedule.step()
    1.0 0.5 0.25 0.125
    """

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
        """Advance by one epoch."""
        self.last_epoch += 1
        if self.last_epoch == 1 and not self.optimizer._earlier.stepped:
            optimizers.warn_schedule_first(type(self).__name__, self.optimizer._all())
        self.set_rates()
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def set_rates(self) -> None:
        """Set the rates of epoch `last_epoch`."""
        for i, group in enumerate(self.optimizer.param_groups):
            group["lr"] = self.rate(i, group["lr"], self.base_lrs[i])

    def restart(self) -> None:
        """Go back to epoch 0."""
        for group, first in zip(self.optimizer.param_groups, self.base_lrs):
            group["lr"] = first
        self.last_epoch = -1
        self.step()

    def rate(self, i: int, now: float, first: float) -> float:
        """Return the rate of group number i at epoch `last_epoch`, from its current and its first rate."""
        raise error(
            NotImplementedError,
            type(self).__name__,
            "defines no rate",
            "write `def rate(self, i, now, first)`, which returns the rate of group number i"
            + "; PyTorch's get_lr returns the rates of all groups at once" * hasattr(self, "get_lr"),
        )

    def get_last_lr(self) -> list:
        """Return the rates set by the last step."""
        return self._last_lr

    def state_dict(self) -> dict:
        """Return all attributes but the optimizer; inner schedules give their states, callable objects their attributes."""
        state = {k: attributes(v) if callable(v) else v for k, v in self.__dict__.items() if k != "optimizer"}
        for name, parts in self._inside().items():
            state[name] = [p.state_dict() if isinstance(p, LRScheduler) else attributes(p) for p in parts]
        return state

    def load_state_dict(self, state_dict: dict) -> None:
        """Load a state_dict()."""
        inside = self._inside()
        own = self.__dict__
        for name, its in state_dict.items():
            if callable(own.get(name)):
                vars(own[name]).update(its or {})
            elif name not in inside:
                own[name] = its
        for name, parts in inside.items():
            for part, its in zip(parts, state_dict.get(name, ())):
                if isinstance(part, LRScheduler):
                    part.load_state_dict(its)
                elif its is not None:
                    vars(part).update(its)

    def _inside(self) -> dict[str, list]:
        """Return the lists of inner schedules and functions."""
        return {name: getattr(self, name) for name in ("_schedulers", "lr_lambdas") if hasattr(self, name)}


def attributes(function: Callable) -> dict | None:
    """Return the attributes of a callable object; None for a function."""
    return None if isinstance(function, FunctionType) else dict(vars(function))


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
            raise error(
                ValueError,
                type(self).__name__,
                f"expected {n} lr_lambdas, one per parameter group, but got {len(self.lr_lambdas)}",
                f"pass one function, or a list of {n}",
            )
        super().__init__(optimizer, last_epoch)

    def rate(self, i: int, now: float, first: float) -> float:
        return first * self.lr_lambdas[i](self.last_epoch)


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

    def rate(self, i: int, now: float, first: float) -> float:
        return now if self.last_epoch == 0 or self.last_epoch % self.step_size else now * self.gamma


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

    def __init__(self, optimizer: Optimizer, milestones: list, gamma: float = 0.1, last_epoch: int = -1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, i: int, now: float, first: float) -> float:
        return now * self.gamma ** self.milestones[self.last_epoch]


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

    def rate(self, i: int, now: float, first: float) -> float:
        return now if self.last_epoch == 0 else now * self.gamma


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
            raise error(
                ValueError,
                "LinearLR",
                f"starting factor {start_factor} has to be in (0, 1] and ending factor {end_factor} in [0, 1]",
                "write start_factor=0.1, end_factor=1.0",
            )
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, i: int, now: float, first: float) -> float:
        t = self.last_epoch
        if t == 0:
            return now * self.start_factor
        return now if t > self.total_iters else now * self.factor(t) / self.factor(t - 1)

    def factor(self, epoch: int) -> float:
        """Return the factor on the first rate at an epoch."""
        return self.start_factor + (self.end_factor - self.start_factor) * epoch / self.total_iters
