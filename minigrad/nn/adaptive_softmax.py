"""AdaptiveLogSoftmaxWithLoss: a softmax over many classes, most of which are rare.

Frequent classes and clusters of rare ones share one small softmax, the head.  Each cluster has a softmax of its classes,
which is computed only for the examples whose target is in it.
Source: Grave et al., "Efficient softmax approximation for GPUs", 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ..core.tensor import Tensor
from ..errors import error
from ..ops.compare import where
from ..ops.from_data import tensor
from ..ops.join import cat
from ..ops.sort import bucketize
from .basic_layers import Linear
from .containers import ModuleList, Sequential
from .module import Module


class ASMoutput(NamedTuple):
    """The log-probability of each target, and the mean of their negatives."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes that are sorted from frequent to rare, and the negative log-likelihood.

    `cutoffs` are the first classes of the clusters; the features of cluster i are reduced to in_features / div_value**i.
    `forward(input, target)` takes (n, in_features) and (n,), or (in_features,) and ().

    >>> import minigrad
    >>> model = minigrad.nn.AdaptiveLogSoftmaxWithLoss(8, 100, cutoffs=[10, 30])
    >>> output, loss = model(minigrad.randn(4, 8), minigrad.tensor([0, 9, 25, 99]))
    >>> output.shape, model.log_prob(minigrad.randn(4, 8)).shape
    (minigrad.Size([4]), minigrad.Size([4, 100]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs or any(a >= b or a != int(a) for a, b in pairwise([0, *cutoffs, n_classes])):
            what = f"cutoffs should be a sequence of unique, positive integers sorted in an increasing order, got {cutoffs}"
            raise error(ValueError, "AdaptiveLogSoftmaxWithLoss", what, f"choose them between 1 and {n_classes - 1}")
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        place = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **place)
        self.tail = ModuleList()
        for i, (first, end) in enumerate(pairwise(self.cutoffs), start=1):
            features = int(in_features // div_value**i)
            layers = [
                Linear(*sizes, bias=False, **place) for sizes in ((in_features, features), (features, end - first))
            ]
            self.tail.append(Sequential(*layers))

    def reset_parameters(self) -> None:
        """Draw all weights again."""
        for layer in (self.head, *[layer for cluster in self.tail for layer in cluster.children()]):
            layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> ASMoutput:
        self._check(input_, target_)
        x, y = (input_, target_) if target_.ndim else (input_.unsqueeze(0), target_.unsqueeze(0))
        cluster = bucketize(y, tensor(self.cutoffs, device=y.device), right=True)  # 0: in the head
        place = where(cluster == 0, y, self.shortlist_size + cluster - 1)
        output = self.head(x).log_softmax(1).gather(1, place.unsqueeze(1)).squeeze(1)
        for i, (layers, first) in enumerate(zip(self.tail, self.cutoffs), start=1):
            rows = (cluster == i).nonzero().squeeze(1)
            if rows.numel():
                inside = layers(x[rows]).log_softmax(1).gather(1, (y[rows] - first).unsqueeze(1))
                output = output.index_add(0, rows, inside.squeeze(1))
        return ASMoutput(output if target_.ndim else output.squeeze(0), -output.mean())

    def _check(self, x: Tensor, y: Tensor) -> None:
        who = "AdaptiveLogSoftmaxWithLoss"
        if y.ndim > 1 or x.ndim != y.ndim + 1 or y.ndim and len(x) != len(y):
            what = f"expects input (n, in_features) and target (n,), got {tuple(x.shape)} and {tuple(y.shape)}"
            raise error(RuntimeError, who, what, "pass one class for each example")
        low, high = (int(y.min()), int(y.max())) if y.numel() else (0, 0)
        if low < 0 or high >= self.n_classes:
            what = (
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{low}, {high}] were found"
            )
            raise error(RuntimeError, who, what, "count the classes from 0, or raise n_classes")

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log-probabilities of all classes: (n, in_features) to (n, n_classes)."""
        head = self.head(input).log_softmax(1)
        clusters = head[:, self.shortlist_size :].unbind(1)
        tails = [p.unsqueeze(1) + layers(input).log_softmax(1) for p, layers in zip(clusters, self.tail)]
        return cat([head[:, : self.shortlist_size], *tails], 1)

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each example."""
        return self.log_prob(input).argmax(1)
