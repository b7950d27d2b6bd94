"""Averages of a model's weights during training, under torch.optim.swa_utils' names.

Sources: Izmailov et al., "Averaging weights leads to wider optima and better generalization", 2018 (SWA); Polyak, Juditsky,
"Acceleration of stochastic approximation by averaging", 1992.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from ..autograd.grad_mode import no_grad
from ..diagnose.missing_names import explained as _explained
from ..errors import error
from ..nn.module import Module
from ..nn.normalization import BatchNorm
from ..ops.from_data import tensor
from .lr_scheduler import LRScheduler
from .lr_scheduler.scheduler import per_group
from .optimizer import Optimizer

__all__ = [
    "AveragedModel",
    "SWALR",
    "get_ema_multi_avg_fn",
    "update_bn",
]


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """Return a function of lists of means and of values; it sets each mean to decay * mean + (1 - decay) * value.

    Raises ValueError for a decay outside [0, 1].

    >>> import minigrad
    >>> means = [minigrad.tensor(1.0)]
    >>> minigrad.optim.swa_utils.get_ema_multi_avg_fn(0.75)(means, [minigrad.tensor(5.0)], 2)
    >>> means
    [tensor(2.)]
    """
    if not 0 <= decay <= 1:
        raise error(
            ValueError, "get_ema_multi_avg_fn", f"invalid decay: {decay}", "pass a number in [0, 1], such as 0.999"
        )

    @no_grad()
    def update(averaged: list, current: list, n: Any) -> None:
        for a, c in zip(averaged, current):
            a.copy_(decay * a + (1 - decay) * c)

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters average those passed so far: `update_parameters(model)`.

    The first update copies the parameters; each further one calls avg_fn(averaged, current, n_averaged) per tensor, or
    multi_avg_fn on lists, such as get_ema_multi_avg_fn's.  Without either, the mean weighs all updates equally.
    Buffers are copied, or averaged too with `use_buffers`.  Raises AssertionError if both functions are given.

    >>> import minigrad
    >>> model = minigrad.nn.Linear(1, 1, bias=False)
    >>> averaged = minigrad.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 2.0, 6.0):
    ...     _ = minigrad.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged(minigrad.ones(1)).item()
    3.0
    """

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable | None = None,
        multi_avg_fn: Callable | None = None,
        use_buffers: bool = False,
    ):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise error(
                AssertionError, "AveragedModel", "both avg_fn and multi_avg_fn are given", "pass only one of them"
            )
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Add the parameters of `model` to the mean."""
        n = self.n_averaged
        mine, its = self.module, model
        if self.use_buffers:
            averaged, current = list(chain(mine.parameters(), mine.buffers())), [*its.parameters(), *its.buffers()]
        else:
            averaged, current = list(self.parameters()), list(its.parameters())
            for a, c in zip(mine.buffers(), its.buffers()):
                a.copy_(c)
        averaged, current = [a.detach() for a in averaged], [c.detach().to(a.device) for a, c in zip(averaged, current)]
        if n.item() == 0:
            for a, c in zip(averaged, current):
                a.copy_(c)
        elif self.multi_avg_fn is not None:
            self.multi_avg_fn(averaged, current, n)
        else:
            mean = self.avg_fn or (lambda averaged, current, n: averaged + (current - averaged) / (n + 1))
            for a, c in zip(averaged, current):
                a.copy_(mean(a, c, n))
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable, model: Module, device: Any = None) -> None:
    """Recompute the running statistics of all batch norms, in one pass over the batches of `loader`.

    A batch is a tensor, or a list or tuple whose first element is the model's input.

    >>> import minigrad
    >>> model = minigrad.nn.BatchNorm1d(1)
    >>> minigrad.optim.swa_utils.update_bn([minigrad.tensor([[1.], [3.]]), minigrad.tensor([[5.], [7.]])], model)
    >>> model.running_mean
    tensor([4.])
    """
    momenta = {m: m.momentum for m in model.modules() if isinstance(m, BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for norm in momenta:
        norm.reset_running_stats()
        norm.momentum = None  # average over all batches
    for batch in loader:
        input = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(input if device is None else input.to(device))
    for norm, momentum in momenta.items():
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Schedule that anneals the rate to `swa_lr` over `anneal_epochs`, along half a cosine or a line; constant afterwards.

    >>> import minigrad
    >>> optimizer = minigrad.optim.SGD([minigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = minigrad.optim.swa_utils.SWALR(optimizer, 0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> for _ in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     schedule.step()
    1.0 0.75 0.5 0.5
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ):
        if anneal_strategy not in ("cos", "linear"):
            what = f"anneal_strategy must be one of 'cos' or 'linear', got {anneal_strategy!r}"
            raise error(ValueError, "SWALR", what, "write anneal_strategy='cos'")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise error(ValueError, "SWALR", f"anneal_epochs must be an int >= 0, got {anneal_epochs}", "write 10")
        for group, rate in zip(optimizer.param_groups, per_group(optimizer, "swa_lr", swa_lr)):
            group["swa_lr"] = rate
        self.anneal_epochs, self._anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._current()
        step, found = max(self._step_count - 1, 0 if self.anneal_epochs else 1), []
        last, part = self.part(step - 1), self.part(step)
        for group in self.optimizer.param_groups:
            begin = group["swa_lr"] if last == 1 else (group["lr"] - last * group["swa_lr"]) / (1 - last)
            found.append(group["swa_lr"] * part + begin * (1 - part))
        return found

    def part(self, epoch: int) -> float:
        """Return the fraction of the annealing done by an epoch."""
        t = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t


__getattr__ = _explained(__name__)
