"""Adam and its descendants AdamW, Adamax, NAdam, RAdam, with running means m of the gradient and v of its square."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.tensor import Tensor
from ..ops.compare import maximum
from .optimizer import settings
from .stateful import StatefulOptimizer, one, zero_state, zero_state_if


class Adam(StatefulOptimizer):
    """p -= lr * m / (sqrt(v) + eps), where m and v are bias-corrected running means of the gradient and of its square.

    `amsgrad` uses the largest v so far; `weight_decay` adds that multiple of p to the gradient, or with
    `decoupled_weight_decay` shrinks p itself; `maximize` ascends.
    Sources: Kingma, Ba, "Adam: a method for stochastic optimization", 2015; Reddi et al., "On the convergence of Adam
    and beyond", 2018.

    >>> import minigrad
    >>> x = minigrad.tensor([2.], requires_grad=True)
    >>> optimizer = minigrad.optim.Adam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.tolist()
    [1.899999976158142]
    """

    amounts = "lr", "betas", "eps", "weight_decay"
    begins = {"exp_avg": zero_state, "exp_avg_sq": zero_state, "max_exp_avg_sq": zero_state_if("amsgrad")}

    def __init__(
        self,
        params: Iterable,
        lr: float | Tensor = 1e-3,
        betas: tuple = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ):
        super().__init__(params, settings(locals()))

    def descend(
        self,
        p: Tensor,
        grad: Tensor,
        t: Any,
        group: dict,
        *,
        exp_avg: Tensor,
        exp_avg_sq: Tensor,
        max_exp_avg_sq: Tensor | None = None,
    ) -> None:
        beta1, beta2 = group["betas"]
        m, v = running_means(grad, group, exp_avg, exp_avg_sq)
        if max_exp_avg_sq is not None:
            v = max_exp_avg_sq.copy_(maximum(max_exp_avg_sq, v))
        root = (v.sqrt() / (1 - beta2**t) ** 0.5).add_(group["eps"])
        p.addcdiv_(m, root, value=-group["lr"] / (1 - beta1**t))


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters directly, not through the gradient.

    Source: Loshchilov, Hutter, "Decoupled weight decay regularization", 2019.

    >>> import minigrad
    >>> x = minigrad.tensor([2.], requires_grad=True)
    >>> optimizer = minigrad.optim.AdamW([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.tolist()
    [1.8980000019073486]
    """

    def __init__(
        self,
        params: Iterable,
        lr: float | Tensor = 1e-3,
        betas: tuple = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        super().__init__(params, **settings(locals()), decoupled_weight_decay=True)


class Adamax(StatefulOptimizer):
    """p -= lr * m / u, where u is the largest gradient so far, decayed by beta2: Adam in the infinity norm.

    Source: Kingma, Ba, "Adam: a method for stochastic optimization", 2015, section 7.

    >>> import minigrad
    >>> x = minigrad.tensor([2.], requires_grad=True)
    >>> optimizer = minigrad.optim.Adamax([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.tolist()
    [1.899999976158142]
    """

    amounts = "lr", "betas", "eps", "weight_decay"
    begins = {"exp_avg": zero_state, "exp_inf": zero_state}

    def __init__(
        self,
        params: Iterable,
        lr: float | Tensor = 2e-3,
        betas: tuple = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ):
        super().__init__(params, settings(locals()))

    def descend(self, p: Tensor, grad: Tensor, t: Any, group: dict, *, exp_avg: Tensor, exp_inf: Tensor) -> None:
        beta1, beta2 = group["betas"]
        m = exp_avg.lerp_(grad, 1 - beta1)
        u = exp_inf.copy_(maximum(exp_inf * beta2, grad.abs() + group["eps"]))
        p.addcdiv_(m, u, value=-group["lr"] / (1 - beta1**t))


class NAdam(StatefulOptimizer):
    """Adam with Nesterov's momentum: the step uses m as it will be after the next gradient.

    The weight mu of m grows with the steps by `momentum_decay`; the product of all mu replaces beta1**t.
    Source: Dozat, "Incorporating Nesterov momentum into Adam", 2016.

    >>> import minigrad
    >>> x = minigrad.tensor([2.], requires_grad=True)
    >>> optimizer = minigrad.optim.NAdam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    1.8944
    """

    amounts = "lr", "betas", "eps", "weight_decay", "momentum_decay"
    begins = {"exp_avg": zero_state, "exp_avg_sq": zero_state, "mu_product": one}

    def __init__(
        self,
        params: Iterable,
        lr: float | Tensor = 2e-3,
        betas: tuple = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
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
        mu_product: Tensor,
        exp_avg: Tensor,
        exp_avg_sq: Tensor,
    ) -> None:
        lr, (beta1, beta2), decay = group["lr"], group["betas"], group["momentum_decay"]
        mu = beta1 * (1 - 0.5 * 0.96 ** (t * decay))
        mu_next = beta1 * (1 - 0.5 * 0.96 ** ((t + 1) * decay))
        product = mu_product.item() * mu
        mu_product.fill_(product)
        m, v = running_means(grad, group, exp_avg, exp_avg_sq)
        root = (v / (1 - beta2**t)).sqrt() + group["eps"]
        p.addcdiv_(grad, root, value=-lr * (1 - mu) / (1 - product))
        p.addcdiv_(m, root, value=-lr * mu_next / (1 - product * mu_next))


class RAdam(StatefulOptimizer):
    """Adam that takes plain steps along m until v has averaged enough gradients; after that it rectifies the rate.

    Source: Liu et al., "On the variance of the adaptive learning rate and beyond", 2020.

    >>> import minigrad
    >>> x = minigrad.tensor([2.], requires_grad=True)
    >>> optimizer = minigrad.optim.RAdam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    1.6
    """

    amounts = "lr", "betas", "eps", "weight_decay"
    begins = {"exp_avg": zero_state, "exp_avg_sq": zero_state}

    def __init__(
        self,
        params: Iterable,
        lr: float | Tensor = 1e-3,
        betas: tuple = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(params, settings(locals()))

    def descend(self, p: Tensor, grad: Tensor, t: Any, group: dict, *, exp_avg: Tensor, exp_avg_sq: Tensor) -> None:
        beta1, beta2 = group["betas"]
        m, v = running_means(grad, group, exp_avg, exp_avg_sq)
        rate = group["lr"] / (1 - beta1**t)
        most = 2 / (1 - beta2) - 1  # rho is the number of gradients averaged in v: its limit, and at step t
        rho = most - 2 * t * beta2**t / (1 - beta2**t)
        if rho > 5:
            rectified = ((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho)) ** 0.5
            p.addcdiv_(m, v.sqrt() + group["eps"], value=-rate * rectified * (1 - beta2**t) ** 0.5)
        else:
            p.add_(m, alpha=-rate)


def running_means(grad: Tensor, group: dict, m: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Update the running means of the gradient and of its square, and return them."""
    beta1, beta2 = group["betas"]
    return m.lerp_(grad, 1 - beta1), v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
