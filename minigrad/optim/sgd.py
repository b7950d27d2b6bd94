"""Stochastic gradient descent, with or without momentum."""

from __future__ import annotations

from collections.abc import Iterable

from ..core.tensor import Tensor
from ..errors import error
from .optimizer import Optimizer, settings


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

    amounts = "lr", "momentum", "weight_decay"

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
            raise error(
                ValueError,
                "SGD",
                "Nesterov momentum requires a momentum and zero dampening",
                "write SGD(params, lr, momentum=0.9, nesterov=True)",
            )

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
