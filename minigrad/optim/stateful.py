"""StatefulOptimizer: the common part of the textbook optimizers, which then state only their settings, state and step.

`begins` lists the state of each parameter, under PyTorch's names, with its value before the first step.  `descend` is the
t-th step, with these tensors as arguments.  This class counts the steps and applies both forms of weight decay.
Next: adam.py, by_coordinate.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..ops.create import ones, zeros, zeros_like
from .optimizer import Optimizer, count, number


class StatefulOptimizer(Optimizer):
    """Base class of optimizers that count their steps.  A subclass defines `begins` and `descend`."""

    begins: dict[str, Callable] = {}  # name in the state -> function of the parameter and its group; None omits it

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        cls.listed_state = (*cls.begins, "step")

    def update(self, p: Tensor, grad: Tensor, state: dict, group: dict) -> None:
        t = count(state["step"])
        group = {**group, "lr": number(group["lr"])}
        if (decay := group.get("weight_decay")) and group.get("decoupled_weight_decay"):
            p.mul_(1 - group["lr"] * decay)
        elif decay:
            grad = grad.add(p, alpha=decay)
        self.descend(p, grad, t, group, **{name: state[name] for name in self.begins if name in state})

    def begin(self, p: Tensor, state: dict, group: dict) -> None:
        state["step"] = zeros((), device="cpu")
        state.update({name: first for name, make in self.begins.items() if (first := make(p, group)) is not None})

    def descend(self, *args: Any, **kwargs: Any) -> None:
        """Take the t-th step of one parameter, in place: descend(p, grad, t, group, **tensors of its state)."""
        raise NotImplementedError


def zero_state(p: Tensor, group: dict) -> Tensor:
    """Return zeros, shaped like the parameter."""
    return zeros_like(p)


def zero_state_if(setting: str) -> Callable:
    """Return a function that starts a tensor with zeros, or omits it if the setting is off."""
    return lambda p, group: zeros_like(p) if group[setting] else None


def one(p: Tensor, group: dict) -> Tensor:
    """Return the number one, on the CPU like the step counter."""
    return ones((), device="cpu")
