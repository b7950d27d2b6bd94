"""Losses as modules: each holds the settings of one function from nn.functional."""

from __future__ import annotations

from ..core.tensor import Tensor
from ..ops.nn import cross_entropy, ctc, loss, similarity
from .settings import Functional


class Loss(Functional):
    """Base class of losses: a function of input and target, and its settings."""

    _no_tensor, _shown = ("(input, target)", RuntimeError), ()

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"):
        """Initialize a subclass that has its own forward; the losses below get theirs from their settings."""
        super(Functional, self).__init__()
        older = size_average is not None or reduce is not None
        self.reduction = loss.chosen(type(self).__name__, reduction, size_average, reduce) if older else reduction

    def forward(self, *inputs: Tensor) -> Tensor:  # type: ignore[override]
        return type(self)._function(*inputs, **{n: getattr(self, n) for n in self._settings})


class Elementwise(Loss):
    """Base class of elementwise losses."""

    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class Weighted(Loss):
    """Base class of losses with a weight per element or class."""

    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class ClassLoss(Loss):
    """Base class of classification losses."""

    weight: Tensor | None = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"


class MarginLoss(Loss):
    """Base class of losses with a margin."""

    margin: float = 0.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class MSELoss(Elementwise, function=loss.mse_loss):
    """Mean of `(input - target) ** 2`.

    >>> import minigrad
    >>> minigrad.nn.MSELoss()(minigrad.tensor([1., 3.]), minigrad.zeros(2))
    tensor(5.)
    """


class L1Loss(Elementwise, function=loss.l1_loss):
    """Mean of |input - target|.

    >>> import minigrad
    >>> minigrad.nn.L1Loss()(minigrad.tensor([1., 4.]), minigrad.zeros(2))
    tensor(2.5000)
    """


class SmoothL1Loss(Elementwise, function=loss.smooth_l1_loss):
    """Quadratic where |input - target| is below `beta`, linear beyond.

    >>> import minigrad
    >>> minigrad.nn.SmoothL1Loss(reduction="none")(minigrad.tensor([0.5, 3.]), minigrad.zeros(2))
    tensor([0.1250, 2.5000])
    """

    beta: float = 1.0


class HuberLoss(Loss, function=loss.huber_loss):
    """Quadratic where |input - target| is below `delta`, linear beyond.

    >>> import minigrad
    >>> minigrad.nn.HuberLoss(reduction="none")(minigrad.tensor([0.5, 3.]), minigrad.zeros(2))
    tensor([0.1250, 2.5000])
    """

    reduction: str = "mean"
    delta: float = 1.0


class CrossEntropyLoss(ClassLoss, function=cross_entropy.cross_entropy):
    """-log softmax(input) at the target, from logits.

    >>> import minigrad
    >>> minigrad.nn.CrossEntropyLoss()(minigrad.zeros(2, 4), minigrad.tensor([0, 3]))
    tensor(1.3863)
    """

    label_smoothing: float = 0.0


class NLLLoss(ClassLoss, function=cross_entropy.nll_loss):
    """-input at the target, from log-probabilities.

    >>> import minigrad
    >>> minigrad.nn.NLLLoss()(minigrad.zeros(2, 4).log_softmax(1), minigrad.tensor([0, 3]))
    tensor(1.3863)
    """


class BCELoss(Weighted, function=loss.binary_cross_entropy):
    """Binary cross-entropy of probabilities.

    >>> import minigrad
    >>> minigrad.nn.BCELoss()(minigrad.tensor([0.5, 0.5]), minigrad.tensor([0., 1.]))
    tensor(0.6931)
    """


class BCEWithLogitsLoss(Weighted, function=loss.binary_cross_entropy_with_logits):
    """Binary cross-entropy of sigmoid(input).

    >>> import minigrad
    >>> minigrad.nn.BCEWithLogitsLoss()(minigrad.tensor([0., 0.]), minigrad.tensor([0., 1.]))
    tensor(0.6931)
    """

    pos_weight: Tensor | None = None


class KLDivLoss(Elementwise, function=loss.kl_div):
    """Kullback-Leibler divergence, for an input of log-probabilities.

    >>> import minigrad
    >>> minigrad.nn.KLDivLoss(reduction="sum")(minigrad.tensor([0.5, 0.5]).log(), minigrad.tensor([1., 0.]))
    tensor(0.6931)
    """

    log_target: bool = False


class PoissonNLLLoss(Loss, function=loss.poisson_nll_loss):
    """-log of the Poisson probability of the target.

    >>> import minigrad
    >>> minigrad.nn.PoissonNLLLoss()(minigrad.zeros(2), minigrad.tensor([1., 2.]))
    tensor(1.)
    """

    log_input: bool = True
    full: bool = False
    size_average: bool | None = None
    eps: float = 1e-8
    reduce: bool | None = None
    reduction: str = "mean"


class GaussianNLLLoss(Loss, function=loss.gaussian_nll_loss, kw_only=True):
    """-log of the normal density of the target; called with input, target and variance.

    >>> import minigrad
    >>> minigrad.nn.GaussianNLLLoss()(minigrad.tensor([1.]), minigrad.tensor([3.]), minigrad.tensor([1.]))
    tensor(2.)
    """

    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"


class SoftMarginLoss(Elementwise, function=loss.soft_margin_loss):
    """log(1 + exp(-target * input)), for targets 1 and -1.

    >>> import minigrad
    >>> minigrad.nn.SoftMarginLoss()(minigrad.zeros(2), minigrad.tensor([1., -1.]))
    tensor(0.6931)
    """


class MultiLabelSoftMarginLoss(Weighted, function=loss.multilabel_soft_margin_loss):
    """Binary cross-entropy of sigmoid(input), averaged over the classes (the last dimension).

    >>> import minigrad
    >>> minigrad.nn.MultiLabelSoftMarginLoss()(minigrad.zeros(1, 3), minigrad.tensor([[1., 0., 1.]]))
    tensor(0.6931)
    """


class HingeEmbeddingLoss(MarginLoss, function=similarity.hinge_embedding_loss):
    """The input where the target is 1, max(0, margin - input) where it is -1.

    >>> import minigrad
    >>> minigrad.nn.HingeEmbeddingLoss()(minigrad.tensor([0.5, 0.25]), minigrad.tensor([1., -1.]))
    tensor(0.6250)
    """

    margin: float = 1.0


class CosineEmbeddingLoss(MarginLoss, function=similarity.cosine_embedding_loss):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1.

    >>> import minigrad
    >>> minigrad.nn.CosineEmbeddingLoss()(minigrad.tensor([[1., 0.]]), minigrad.tensor([[0., 2.]]), minigrad.tensor([1.]))
    tensor(1.)
    """


class MarginRankingLoss(MarginLoss, function=similarity.margin_ranking_loss):
    """max(0, -target * (input1 - input2) + margin).

    >>> import minigrad
    >>> minigrad.nn.MarginRankingLoss()(minigrad.tensor([1.]), minigrad.tensor([3.]), minigrad.tensor([1.]))
    tensor(2.)
    """


class TripletMarginLoss(Loss, function=similarity.triplet_margin_loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin).

    >>> import minigrad
    >>> minigrad.nn.TripletMarginLoss()(minigrad.zeros(1, 2), minigrad.zeros(1, 2), minigrad.tensor([[0.5, 0.]]))
    tensor(0.5000)
    """

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class CTCLoss(Loss, function=ctc.ctc_loss):
    """Minus the log of the total probability of all alignments of the targets with the outputs at each time step.

    Call it with (log_probs, targets, input_lengths, target_lengths).

    >>> import minigrad
    >>> log_probs = minigrad.full((5, 1, 3), 1 / 3).log()
    >>> minigrad.nn.CTCLoss()(log_probs, minigrad.tensor([[1, 2]]), (5,), (2,))
    tensor(0.9689)
    """

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False
