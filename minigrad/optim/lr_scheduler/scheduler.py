"""LRScheduler: counts epochs, and sets the rates that a subclass's `get_lr` returns.

Like PyTorch's, most schedules multiply the current rates, so several of them can act on one optimizer.  A schedule made with
`last_epoch=k` therefore takes the rates as it finds them.  Next: rates.py, cycles.py, composed.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ...core.tensor import Tensor
from ...diagnose import optimizers
from ...errors import error
from ..optimizer import Optimizer, number


class LRScheduler:
    """Base class.  A subclass defines `get_lr()`: the rate of each parameter group at epoch `last_epoch`.

    `base_lrs` are the first rates.  With `last_epoch=k` the schedule goes on after k + 1 epochs: the groups then need their
    "initial_lr", which the optimizer's state_dict holds.  Raises TypeError without an Optimizer, and KeyError without them.

    >>> import minigrad
    >>> class Halved(minigrad.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [first / 2**self.last_epoch for first in self.base_lrs]
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = Halved(optimizer)
    >>> for _ in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     schedule.step()
    1.0 0.5 0.25 0.125
    """

    _is_initial = _get_lr_called_within_step = False
    _step_count: int

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        check_optimizer(type(self).__name__, optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise error(
                    KeyError,
                    type(self).__name__,
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming with last_epoch={last_epoch}",
                    "load the optimizer's state_dict first; for a new run leave last_epoch out",
                )
        self.base_lrs = settings(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count, self._is_initial = 0, True
        try:
            self.step()
        finally:
            self._is_initial = False

    def step(self, epoch: float | None = None) -> None:
        """Advance by one epoch.  The older form step(epoch) goes to an epoch, in closed form if the schedule has one."""
        if self._step_count == 1 and not self.optimizer._earlier.stepped:
            optimizers.warn_schedule_first(type(self).__name__, self.optimizer._all())
        self._step_count += 1
        if epoch is not None:
            optimizers.warn_epoch(type(self).__name__)
        self._update_lr(epoch)

    def _update_lr(self, epoch: float | None = None) -> None:
        """Set the rates of the next epoch, or of a given one."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self._set_lr(closed or self.get_lr)

    def _set_lr(self, rates: Callable) -> None:
        """Set the rates that a function returns."""
        self._get_lr_called_within_step = True
        try:
            found = list(rates())
        finally:
            self._get_lr_called_within_step = False
        groups = self.optimizer.param_groups
        if len(found) != len(groups):
            what = f"gives {len(found)} rates, but the optimizer has {len(groups)} parameter groups"
            fix = "return one rate for each group from get_lr; make the schedule after the last add_param_group"
            raise error(ValueError, type(self).__name__, what, fix)
        for group, lr in zip(groups, found):
            set_value(group, "lr", lr)
        self._last_lr = settings(self.optimizer, "lr")

    def get_lr(self) -> list:
        """Return the next rates, from the current ones.  `step` calls it; the current rates are `get_last_lr()`."""
        raise error(
            NotImplementedError,
            type(self).__name__,
            "defines no get_lr",
            "write `def get_lr(self)`, which returns a list: the rate of each parameter group at epoch self.last_epoch",
        )

    def _current(self) -> list:
        """Return the current rates for `get_lr`, which warns of a call outside of `step`."""
        if not self._get_lr_called_within_step:
            optimizers.warn_next_rate(type(self).__name__)
        return settings(self.optimizer, "lr")

    def get_last_lr(self) -> list:
        """Return the rates set by the last step."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer; inner schedules give their states, callable objects their attributes."""
        state = {k: v for k, v in vars(self).items() if k != "optimizer"}
        for name, parts in self._inside().items():
            state[name] = [p.state_dict() if isinstance(p, LRScheduler) else attributes(p) for p in parts]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state_dict()."""
        inside = self._inside()
        vars(self).update({k: v for k, v in state_dict.items() if k not in inside})
        for name, parts in inside.items():
            for part, its in zip(parts, state_dict.get(name, ())):
                if isinstance(part, LRScheduler):
                    part.load_state_dict(its)
                elif its is not None:
                    vars(part).update(its)

    def _inside(self) -> dict[str, Sequence]:
        """Return the lists of inner schedules and functions."""
        return {name: getattr(self, name) for name in ("_schedulers", "lr_lambdas") if hasattr(self, name)}


def attributes(function: Callable | None) -> dict | None:
    """Return the attributes of a callable object; None for a function."""
    return None if isinstance(function, FunctionType) or not hasattr(function, "__dict__") else dict(vars(function))


def check_optimizer(who: str, optimizer: Any) -> None:
    """Raise TypeError for anything but an Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise error(TypeError, who, f"{type(optimizer).__name__} is not an Optimizer", f"write {who}(optimizer, ...)")


def copied(value: Any) -> Any:
    """Return a rate; a tensor as a copy, because the optimizer's is changed in place."""
    return value.clone() if isinstance(value, Tensor) else value


def settings(optimizer: Optimizer, name: str) -> list:
    """Return a setting of every parameter group."""
    return [copied(group[name]) for group in optimizer.param_groups]


def set_value(group: dict, name: str, value: Any) -> None:
    """Set a setting of a group; a tensor stays the same tensor."""
    if isinstance(group[name], Tensor):
        group[name].fill_(number(value))
    else:
        group[name] = value


def per_group(optimizer: Optimizer, name: str, value: Any) -> list:
    """Return a setting for each parameter group, from one value or a list.  Raises ValueError for a wrong length."""
    n = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in range(n)]
    if len(value) != n:
        what = f"expected {n} values, one for each parameter group, but got {len(value)}"
        raise error(ValueError, name, what, f"pass one number, or a list of {n}")
    return [copied(v) for v in value]
