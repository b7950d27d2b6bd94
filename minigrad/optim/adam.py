"""Optimizers that scale each step by a running mean of squared gradients: Adam, AdamW, RMSprop, Adagrad."""

from __future__ import annotations

from collections.abc import Iterable

from ..core.tensor import Tensor
from ..ops.compare import maximum
from ..ops.create import full_like, zeros, zeros_like
from .optimizer import Optimizer, count, settings


class Adam(Optimizer):
    """p -= lr * m / (sqrt(v) + eps), with running means m of the gradient and v of its square, less their start.

    `amsgrad` uses the largest v so far; `weight_decay` adds that multiple of p to the gradient, or with
    `decoupled_weight_decay` shrinks p itself; `maximize` climbs.
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

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        betas: tuple = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ):
        betas = tuple(betas)
        super().__init__(params, settings(locals()))

    def update(self, p: Tensor, grad: Tensor, state: dict, group: dict) -> None:
        lr, (beta1, beta2), decay = group["lr"], group["betas"], group["weight_decay"]
        if not state:
            state.update(step=zeros((), device="cpu"), exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(p)
        step = count(state["step"])
        if decay and group["decoupled_weight_decay"]:
            p.mul_(1 - lr * decay)
        elif decay:
            grad = grad.add(p, alpha=decay)
        m, v = state["exp_avg"], state["exp_avg_sq"]
        m.lerp_(grad, 1 - beta1)
        v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            v = state["max_exp_avg_sq"].copy_(maximum(state["max_exp_avg_sq"], v))
        root = (v.sqrt() / (1 - beta2**step) ** 0.5).add_(group["eps"])
        p.addcdiv_(m, root, value=-lr / (1 - beta1**step))


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters themselves, not through the gradient.

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
        lr: float = 1e-3,
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


class RMSprop(Optimizer):
    """p -= lr * gradient / (sqrt(v) + eps), with a running mean v of the squared gradient.

    `centered` subtracts the square of the mean gradient from v; `momentum` is that of SGD, on the scaled gradient.
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

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        *,
        maximize: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
    ):
        super().__init__(params, settings(locals()))

    def update(self, p: Tensor, grad: Tensor, state: dict, group: dict) -> None:
        alpha = group["alpha"]
        if not state:
            state.update(step=zeros((), device="cpu"), square_avg=zeros_like(p))
            if group["momentum"]:
                state["momentum_buffer"] = zeros_like(p)
            if group["centered"]:
                state["grad_avg"] = zeros_like(p)
        count(state["step"])
        if group["weight_decay"]:
            grad = grad.add(p, alpha=group["weight_decay"])
        v = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            v = v.addcmul(mean, mean, value=-1)
        root = v.sqrt() + group["eps"]
        if group["momentum"]:
            p.add_(state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, root), alpha=-group["lr"])
        else:
            p.addcdiv_(grad, root, value=-group["lr"])


class Adagrad(Optimizer):
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

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        super().__init__(params, settings(locals()))

    def update(self, p: Tensor, grad: Tensor, state: dict, group: dict) -> None:
        if not state:
            state.update(step=zeros((), device="cpu"), sum=full_like(p, group["initial_accumulator_value"]))
        step = count(state["step"])
        if group["weight_decay"]:
            grad = grad.add(p, alpha=group["weight_decay"])
        total = state["sum"].addcmul_(grad, grad, value=1)
        p.addcdiv_(grad, total.sqrt() + group["eps"], value=-group["lr"] / (1 + (step - 1) * group["lr_decay"]))
