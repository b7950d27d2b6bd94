"""Stochastic gradient descent, with or without momentum, and its average."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..ops.from_data import tensor
from .optimizer import Optimizer, settings
from .stateful import StatefulOptimizer, one, zero_state


class SGD(Optimizer):
    """p -= lr * v, where v is the gradient, or with momentum v = momentum * v + (1 - dampening) * gradient.

    `weight_decay` adds that multiple of p to the gradient; `nesterov` looks one step ahead; `maximize` ascends.
    Source: Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013.

    >>> import minigrad
    >>> p = minigrad.tensor([1., 2.], requires_grad=True)
    >>> optimizer = minigrad.optim.SGD([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p
    tensor([0., 0.], requires_grad=True)
    """

    amounts, listed_state = ("lr", "momentum", "weight_decay"), ("momentum_buffer",)

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        super().__init__(params, settings(locals()))
        if nesterov and (momentum <= 0 or dampening != 0):
            what = "Nesterov momentum requires a momentum and zero dampening"
            raise error(ValueError, "SGD", what, "write SGD(params, lr, momentum=0.9, nesterov=True)")

    def begin(self, p: Tensor, state: dict, group: dict) -> None:
        if group["momentum"]:
            state["momentum_buffer"] = None  # until the first step has a gradient for it

    def update(self, p: Tensor, grad: Tensor, state: dict, group: dict) -> None:
        momentum = group["momentum"]
        if group["weight_decay"]:
            grad = grad.add(p, alpha=group["weight_decay"])
        if momentum:
            v = state.get("momentum_buffer")
            if v is None:
                v = state["momentum_buffer"] = grad.detach().clone()
            else:
                v.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(v, alpha=momentum) if group["nesterov"] else v
        p.add_(grad, alpha=-group["lr"])


class ASGD(StatefulOptimizer):
    """p = p * (1 - lambd * eta) - eta * gradient; the state "ax" averages p over the steps after `t0`.

    The rate eta is lr / (1 + lambd * lr * t) ** alpha at step t. The average is the result; copy it into p after training.
    Source: Polyak, Juditsky, "Acceleration of stochastic approximation by averaging", 1992.

    >>> import minigrad
    >>> x = minigrad.tensor([2.], requires_grad=True)
    >>> optimizer = minigrad.optim.ASGD([x], lr=0.5, lambd=0, alpha=0, t0=0)
    >>> for _ in range(2):
    ...     x.grad = minigrad.tensor([1.])
    ...     optimizer.step()
    ...     print(x.item(), optimizer.state[x]["ax"].item())
    1.5 1.5
    1.0 1.0
    """

    amounts = "lr", "weight_decay"
    begins = {"mu": one, "ax": zero_state, "eta": lambda p, group: tensor(float(group["lr"]), device="cpu")}

    def __init__(
        self,
        params: Iterable,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ):
        super().__init__(params, settings(locals()))

    def descend(self, p: Tensor, grad: Tensor, t: Any, group: dict, *, eta: Tensor, mu: Tensor, ax: Tensor) -> None:
        lr, lambd, rate = group["lr"], group["lambd"], eta.item()
        p.mul_(1 - lambd * rate).add_(grad, alpha=-rate)
        ax.lerp_(p, mu.item())  # exactly p while mu is 1
        eta.fill_(lr / (1 + lambd * lr * t) ** group["alpha"])
        mu.fill_(1 / max(1, t - group["t0"]))
