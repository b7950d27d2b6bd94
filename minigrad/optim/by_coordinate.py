"""Optimizers with a rate per coordinate, from its own gradients: Adagrad, RMSprop, Adadelta, Rprop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.tensor import Tensor
from ..ops.compare import where
from ..ops.create import full_like, ones_like
from .optimizer import number, settings
from .stateful import StatefulOptimizer, zero_state, zero_state_if


class Adagrad(StatefulOptimizer):
    """p -= lr * gradient / (sqrt(sum of squared gradients) + eps).

    Source: Duchi, Hazan, Singer, "Adaptive subgradient methods", 2011.

    >>> import minigrad
    >>> x = minigrad.tensor([2.], requires_grad=True)
    >>> optimizer = minigrad.optim.Adagrad([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.tolist()
    [1.899999976158142]
    """

    amounts = "lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps"
    begins = {"sum": lambda p, group: full_like(p, group["initial_accumulator_value"])}

    def __init__(
        self,
        params: Iterable,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        super().__init__(params, settings(locals()))
        for group in self.param_groups:  # in PyTorch, too, the state exists before the first step
            for p in group["params"]:
                self.begin(p, self.state[p], group)

    def descend(self, p: Tensor, grad: Tensor, t: Any, group: dict, *, sum: Tensor) -> None:
        rate = group["lr"] / (1 + (t - 1) * group["lr_decay"])
        p.addcdiv_(grad, sum.addcmul_(grad, grad, value=1).sqrt() + group["eps"], value=-rate)


class RMSprop(StatefulOptimizer):
    """p -= lr * gradient / (sqrt(v) + eps), with a running mean v of the squared gradient.

    `centered` subtracts the square of the mean gradient from v; `momentum` works as in SGD, on the scaled gradient.
    Source: Hinton, lecture 6e of "Neural networks for machine learning", 2012.

    >>> import minigrad
    >>> x = minigrad.tensor([2.], requires_grad=True)
    >>> optimizer = minigrad.optim.RMSprop([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.tolist()
    [1.0]
    """

    amounts = "lr", "alpha", "eps", "weight_decay", "momentum"
    begins = {
        "square_avg": zero_state,
        "momentum_buffer": zero_state_if("momentum"),
        "grad_avg": zero_state_if("centered"),
    }

    def __init__(
        self,
        params: Iterable,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(params, settings(locals()))

    def descend(
        self,
        p: Tensor,
        grad: Tensor,
        t: Any,
        group: dict,
        *,
        square_avg: Tensor,
        momentum_buffer: Tensor | None = None,
        grad_avg: Tensor | None = None,
    ) -> None:
        alpha = group["alpha"]
        v = square_avg.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if grad_avg is not None:
            mean = grad_avg.lerp_(grad, 1 - alpha)
            v = v.addcmul(mean, mean, value=-1)
        root = v.sqrt() + group["eps"]
        if momentum_buffer is not None:
            p.add_(momentum_buffer.mul_(group["momentum"]).addcdiv_(grad, root), alpha=-group["lr"])
        else:
            p.addcdiv_(grad, root, value=-group["lr"])


class Adadelta(StatefulOptimizer):
    """p -= lr * gradient * sqrt(u + eps) / sqrt(v + eps); u and v are running means of squared steps and squared gradients.

    The ratio gives a step the unit of p, whatever the unit of the gradient; lr only scales it.
    Source: Zeiler, "Adadelta: an adaptive learning rate method", 2012.

    >>> import minigrad
    >>> x = minigrad.tensor([2.], requires_grad=True)
    >>> optimizer = minigrad.optim.Adadelta([x], lr=10.0)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    1.9684
    """

    amounts = "lr", "rho", "eps", "weight_decay"
    begins = {"square_avg": zero_state, "acc_delta": zero_state}

    def __init__(
        self,
        params: Iterable,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(params, settings(locals()))

    def descend(self, p: Tensor, grad: Tensor, t: Any, group: dict, *, square_avg: Tensor, acc_delta: Tensor) -> None:
        rho, eps = group["rho"], group["eps"]
        v = square_avg.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = (acc_delta + eps).sqrt() / (v + eps).sqrt() * grad
        acc_delta.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        p.add_(delta, alpha=-group["lr"])


class Rprop(StatefulOptimizer):
    """Steps by the gradient's sign alone; a coordinate's step size grows while the sign stays, and shrinks when it flips.

    The sizes start at lr, are multiplied by the second or first of `etas`, and stay within `step_sizes`.  A coordinate
    whose sign has just flipped does not move for one step.
    Source: Riedmiller, Braun, "A direct adaptive method for faster backpropagation learning: the RPROP algorithm", 1993.

    >>> import minigrad
    >>> x = minigrad.tensor([2.], requires_grad=True)
    >>> optimizer = minigrad.optim.Rprop([x], lr=0.5)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    ...     print(round(x.item(), 2), end=" ")
    1.5 0.9 0.18
    """

    amounts = "lr", "etas", "step_sizes"
    begins = {"prev": zero_state, "step_size": lambda p, group: full_like(p, number(group["lr"]))}

    def __init__(
        self,
        params: Iterable,
        lr: float | Tensor = 1e-2,
        etas: tuple = (0.5, 1.2),
        step_sizes: tuple = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(params, settings(locals()))

    def descend(self, p: Tensor, grad: Tensor, t: Any, group: dict, *, prev: Tensor, step_size: Tensor) -> None:
        shrink, grow = group["etas"]
        turn = grad * prev.clone()
        step_size.mul_(where(turn > 0, grow, where(turn < 0, shrink, ones_like(p)))).clamp_(*group["step_sizes"])
        prev.copy_(where(turn < 0, 0.0, grad))
        p.addcmul_(prev.sign(), step_size, value=-1)
