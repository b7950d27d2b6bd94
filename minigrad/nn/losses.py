"""Losses as modules: a function of nn.functional and its settings."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ops import cross_entropy, loss
from .module import Module


class Loss(Module):
    """`function(*inputs, **settings)`.  A subclass names the function, its __init__ keeps the settings."""

    function: Any = None

    def __init__(self, **settings: Any):
        super().__init__()
        self._settings = tuple(settings)
        for name, value in settings.items():
            if name in ("weight", "pos_weight"):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, *inputs: Tensor) -> Tensor:
        return type(self).function(*inputs, **{n: getattr(self, n) for n in self._settings})


class MSELoss(Loss):
    """Mean of (input - target) ** 2."""

    function = staticmethod(loss.mse_loss)

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean"):
        super().__init__(size_average=size_average, reduce=reduce, reduction=reduction)


class L1Loss(MSELoss):
    """Mean of |input - target|."""

    function = staticmethod(loss.l1_loss)


class SmoothL1Loss(Loss):
    """Quadratic below `beta`, linear beyond."""

    function = staticmethod(loss.smooth_l1_loss)

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0):
        super().__init__(size_average=size_average, reduce=reduce, reduction=reduction, beta=beta)


class HuberLoss(Loss):
    """Quadratic below `delta`, linear beyond."""

    function = staticmethod(loss.huber_loss)

    def __init__(self, reduction: str = "mean", delta: float = 1.0):
        super().__init__(reduction=reduction, delta=delta)


class CrossEntropyLoss(Loss):
    """-log softmax(input) at the target, from logits."""

    function = staticmethod(cross_entropy.cross_entropy)

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ):
        super().__init__(
            weight=weight,
            size_average=size_average,
            ignore_index=ignore_index,
            reduce=reduce,
            reduction=reduction,
            label_smoothing=label_smoothing,
        )


class NLLLoss(Loss):
    """-input at the target, from log-probabilities."""

    function = staticmethod(cross_entropy.nll_loss)

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
    ):
        super().__init__(
            weight=weight, size_average=size_average, ignore_index=ignore_index, reduce=reduce, reduction=reduction
        )


class BCELoss(Loss):
    """Binary cross-entropy of probabilities."""

    function = staticmethod(loss.binary_cross_entropy)

    def __init__(
        self, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ):
        super().__init__(weight=weight, size_average=size_average, reduce=reduce, reduction=reduction)


class BCEWithLogitsLoss(Loss):
    """Binary cross-entropy of sigmoid(input)."""

    function = staticmethod(loss.binary_cross_entropy_with_logits)

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ):
        super().__init__(
            weight=weight, size_average=size_average, reduce=reduce, reduction=reduction, pos_weight=pos_weight
        )


class KLDivLoss(Loss):
    """Kullback-Leibler divergence, for an input of log-probabilities."""

    function = staticmethod(loss.kl_div)

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", log_target: bool = False):
        super().__init__(size_average=size_average, reduce=reduce, reduction=reduction, log_target=log_target)
