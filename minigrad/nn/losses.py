"""Losses as modules: a function of nn.functional and its settings."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..diagnose.modules import made_of
from ..ops.nn import cross_entropy, loss, similarity
from .module import Module


class Loss(Module):
    """`function(*inputs, **settings)`.  A subclass names the function, its __init__ keeps the settings."""

    function: Any = None

    def __init__(self, **settings: Any):
        super().__init__()
        self._settings = tuple(settings)
        for name, value in settings.items():
            if isinstance(value, Tensor) and name not in ("weight", "pos_weight"):
                raise made_of(self, value, "(input, target)", RuntimeError)
            if name in ("weight", "pos_weight"):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, *inputs: Tensor) -> Tensor:
        return type(self).function(*inputs, **{n: getattr(self, n) for n in self._settings})


class MSELoss(Loss):
    """Mean of `(input - target) ** 2`.

    >>> import minigrad
    >>> minigrad.nn.MSELoss()(minigrad.tensor([1., 3.]), minigrad.zeros(2))
    tensor(5.)
    """

    function = staticmethod(loss.mse_loss)

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean"):
        super().__init__(size_average=size_average, reduce=reduce, reduction=reduction)


class L1Loss(MSELoss):
    """Mean of |input - target|.

    >>> import minigrad
    >>> minigrad.nn.L1Loss()(minigrad.tensor([1., 4.]), minigrad.zeros(2))
    tensor(2.5000)
    """

    function = staticmethod(loss.l1_loss)


class SmoothL1Loss(Loss):
    """Quadratic below `beta`, linear beyond.

    >>> import minigrad
    >>> minigrad.nn.SmoothL1Loss(reduction="none")(minigrad.tensor([0.5, 3.]), minigrad.zeros(2))
    tensor([0.1250, 2.5000])
    """

    function = staticmethod(loss.smooth_l1_loss)

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0):
        super().__init__(size_average=size_average, reduce=reduce, reduction=reduction, beta=beta)


class HuberLoss(Loss):
    """Quadratic below `delta`, linear beyond.

    >>> import minigrad
    >>> minigrad.nn.HuberLoss(reduction="none")(minigrad.tensor([0.5, 3.]), minigrad.zeros(2))
    tensor([0.1250, 2.5000])
    """

    function = staticmethod(loss.huber_loss)

    def __init__(self, reduction: str = "mean", delta: float = 1.0):
        super().__init__(reduction=reduction, delta=delta)


class CrossEntropyLoss(Loss):
    """-log softmax(input) at the target, from logits.

    >>> import minigrad
    >>> minigrad.nn.CrossEntropyLoss()(minigrad.zeros(2, 4), minigrad.tensor([0, 3]))
    tensor(1.3863)
    """

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
    """-input at the target, from log-probabilities.

    >>> import minigrad
    >>> minigrad.nn.NLLLoss()(minigrad.zeros(2, 4).log_softmax(1), minigrad.tensor([0, 3]))
    tensor(1.3863)
    """

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
    """Binary cross-entropy of probabilities.

    >>> import minigrad
    >>> minigrad.nn.BCELoss()(minigrad.tensor([0.5, 0.5]), minigrad.tensor([0., 1.]))
    tensor(0.6931)
    """

    function = staticmethod(loss.binary_cross_entropy)

    def __init__(
        self, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ):
        super().__init__(weight=weight, size_average=size_average, reduce=reduce, reduction=reduction)


class BCEWithLogitsLoss(Loss):
    """Binary cross-entropy of sigmoid(input).

    >>> import minigrad
    >>> minigrad.nn.BCEWithLogitsLoss()(minigrad.tensor([0., 0.]), minigrad.tensor([0., 1.]))
    tensor(0.6931)
    """

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
    """Kullback-Leibler divergence, for an input of log-probabilities.

    >>> import minigrad
    >>> minigrad.nn.KLDivLoss(reduction="sum")(minigrad.tensor([0.5, 0.5]).log(), minigrad.tensor([1., 0.]))
    tensor(0.6931)
    """

    function = staticmethod(loss.kl_div)

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", log_target: bool = False):
        super().__init__(size_average=size_average, reduce=reduce, reduction=reduction, log_target=log_target)


class PoissonNLLLoss(Loss):
    """-log of the Poisson probability of the target.

    >>> import minigrad
    >>> minigrad.nn.PoissonNLLLoss()(minigrad.zeros(2), minigrad.tensor([1., 2.]))
    tensor(1.)
    """

    function = staticmethod(loss.poisson_nll_loss)

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: Any = None,
        eps: float = 1e-8,
        reduce: Any = None,
        reduction: str = "mean",
    ):
        super().__init__(
            log_input=log_input, full=full, size_average=size_average, eps=eps, reduce=reduce, reduction=reduction
        )


class GaussianNLLLoss(Loss):
    """-log of the normal density of the target; called with input, target and variance.

    >>> import minigrad
    >>> minigrad.nn.GaussianNLLLoss()(minigrad.tensor([1.]), minigrad.tensor([3.]), minigrad.tensor([1.]))
    tensor(2.)
    """

    function = staticmethod(loss.gaussian_nll_loss)

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"):
        super().__init__(full=full, eps=eps, reduction=reduction)


class SoftMarginLoss(MSELoss):
    """log(1 + exp(-target * input)), for targets 1 and -1.

    >>> import minigrad
    >>> minigrad.nn.SoftMarginLoss()(minigrad.zeros(2), minigrad.tensor([1., -1.]))
    tensor(0.6931)
    """

    function = staticmethod(loss.soft_margin_loss)


class MultiLabelSoftMarginLoss(Loss):
    """Binary cross-entropy of sigmoid(input), the mean over the classes (the last dimension).

    >>> import minigrad
    >>> minigrad.nn.MultiLabelSoftMarginLoss()(minigrad.zeros(1, 3), minigrad.tensor([[1., 0., 1.]]))
    tensor(0.6931)
    """

    function = staticmethod(loss.multilabel_soft_margin_loss)

    def __init__(
        self, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ):
        super().__init__(weight=weight, size_average=size_average, reduce=reduce, reduction=reduction)


class MarginLoss(Loss):
    """What the losses with a margin share."""

    usual = 0.0  # margin

    def __init__(
        self, margin: float | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ):
        margin = self.usual if margin is None else margin
        super().__init__(margin=margin, size_average=size_average, reduce=reduce, reduction=reduction)


class HingeEmbeddingLoss(MarginLoss):
    """The input where the target is 1, max(0, margin - input) where it is -1.

    >>> import minigrad
    >>> minigrad.nn.HingeEmbeddingLoss()(minigrad.tensor([0.5, 0.25]), minigrad.tensor([1., -1.]))
    tensor(0.6250)
    """

    function, usual = staticmethod(similarity.hinge_embedding_loss), 1.0


class CosineEmbeddingLoss(MarginLoss):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1.

    >>> import minigrad
    >>> minigrad.nn.CosineEmbeddingLoss()(minigrad.tensor([[1., 0.]]), minigrad.tensor([[0., 2.]]), minigrad.tensor([1.]))
    tensor(1.)
    """

    function = staticmethod(similarity.cosine_embedding_loss)


class MarginRankingLoss(MarginLoss):
    """max(0, -target * (input1 - input2) + margin).

    >>> import minigrad
    >>> minigrad.nn.MarginRankingLoss()(minigrad.tensor([1.]), minigrad.tensor([3.]), minigrad.tensor([1.]))
    tensor(2.)
    """

    function = staticmethod(similarity.margin_ranking_loss)


class TripletMarginLoss(Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin).

    >>> import minigrad
    >>> minigrad.nn.TripletMarginLoss()(minigrad.zeros(1, 2), minigrad.zeros(1, 2), minigrad.tensor([[0.5, 0.]]))
    tensor(0.5000)
    """

    function = staticmethod(similarity.triplet_margin_loss)

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ):
        super().__init__(
            margin=margin, p=p, eps=eps, swap=swap, size_average=size_average, reduce=reduce, reduction=reduction
        )
