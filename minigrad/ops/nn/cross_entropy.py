"""Losses for classes: cross-entropy from logits, and the negative log-likelihood.

Their operations are in class_losses.py, other losses in loss.py.
"""

from __future__ import annotations

import math
from operator import index
from typing import Any

from ...arrays.dtypes import FLOATS
from ...core.tensor import Tensor
from ...errors import error, warn
from ...tensors.printing import error_notes
from ..compare import where
from ..products import one_dtype
from .class_losses import NLL, CrossEntropy, MeanCrossEntropy, MeanNLL
from .entry import functional
from .loss import averaged, chosen, expect_logarithms, reduced, warn_probabilities
from .softmax import log_softmax


@functional(
    "T(4, 3), I(4, 3)",
    "T(2, 5, 3), I(2, 3, 5), torch.ones_like(P(5)).cumsum(0), ignore_index=2",
    "T(4), I(4)",
    "T(4, 3), I(4, 3), reduction='none'",
    "T(4, 3), I(4, 3), torch.ones_like(P(3)).cumsum(0), label_smoothing=0.2",
    "T(4, 3), I(4, 3), ignore_index=1, reduction='sum', label_smoothing=0.1",
    "T(4, 3), T(4, 3)",
    "T(2, 3, 4), T(2, 3, 4), P(3), reduction='none', label_smoothing=0.3",
)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return -log softmax(input) at the target.

    `input` is (n, c, ...) or (c,), logits; `target` is (n, ...), classes, or like input, probabilities.
    `weight` has one factor per class; the mean is weighted by them.  Targets equal to `ignore_index` add no loss;
    `label_smoothing` is the share of each target that is spread over all classes.
    Raises IndexError for classes out of range, ValueError if the batch sizes differ.

    >>> import minigrad
    >>> logits = minigrad.tensor([[0., 0.]])
    >>> cross_entropy(logits, minigrad.tensor([1]))
    tensor(0.6931)
    """
    reduction = chosen("cross_entropy", reduction, size_average, reduce)
    if not 0 <= label_smoothing <= 1:
        what = f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}"
        raise error(RuntimeError, "cross_entropy", what, "write label_smoothing=0.1")
    dim, ignore_index = class_dim("cross_entropy", input), index(ignore_index)
    classes = input._sizes[dim]
    if input._edge is not None:
        expect_logits(input, target, classes)
    if target._np_dtype in FLOATS:
        if ignore_index >= 0:
            what = f"ignore_index={ignore_index} is not supported for probabilities as targets"
            fix = "give classes as integers, or set the probabilities of ignored targets to 0"
            raise error(RuntimeError, "cross_entropy", what, fix)
        return soft_cross_entropy(input, target, weight, reduction, label_smoothing, dim)
    check_target("cross_entropy", input, target, weight, dim)
    if weight is None and not label_smoothing and reduction == "mean":
        return MeanCrossEntropy.apply(input, target, dim, ignore_index, 0)[0]
    loss, log_probabilities = CrossEntropy.apply(input, target, dim, ignore_index)
    if weight is None and not label_smoothing:
        return reduced(loss, reduction)
    counts = target_weight(target, weight, ignore_index)
    total = averaged(loss if weight is None else loss * counts, counts, reduction)
    if not label_smoothing:
        return total
    smooth = -(log_probabilities if weight is None else log_probabilities * along(weight, dim, input.ndim)).sum(dim)
    smooth = averaged(where(target == ignore_index, 0.0, smooth), counts, reduction)
    return total * (1 - label_smoothing) + smooth * (label_smoothing / classes if classes else math.inf)


def soft_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float, dim: int
) -> Tensor:
    """Return the cross-entropy for targets that are probabilities."""
    if target.shape != input.shape:
        raise error(
            RuntimeError,
            "cross_entropy",
            f"a target of {target.dtype} means class probabilities of the input's shape {tuple(input.shape)}, but it "
            f"has the shape {tuple(target.shape)}",
            exchanged("cross_entropy", input)
            or "write target.long() if it holds classes: one integer for each example",
        )
    classes = input.shape[dim]
    if smoothing:
        target = target * (1 - smoothing) + smoothing / max(classes, 1)
    terms = log_softmax(input, dim) * target
    loss = -(terms if weight is None else terms * along(weight, dim, input.ndim)).sum(dim)
    return loss.sum() / (input.numel() // max(classes, 1)) if reduction == "mean" else reduced(loss, reduction)


def nll_loss_node(input: Tensor, target: Tensor, *_: Any, **__: Any) -> str:
    """Return PyTorch's node of nll_loss, which differs for images."""
    return "NllLoss2D" if target.ndim > 1 else "NllLoss"


@functional(
    "T(4, 3), I(4, 3)",
    "T(2, 5, 3), I(2, 3, 5), torch.ones_like(P(5)).cumsum(0), ignore_index=2",
    "T(4), I(4)",
    "T(4, 3), I(4, 3), torch.ones_like(P(3)).cumsum(0), reduction='none'",
    "T(4, 3), I(4, 3), reduction='sum'",
    node=nll_loss_node,
)
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return -input at the target: input (n, c, ...) or (c,) of log-probabilities, target (n, ...) of classes.

    `weight`, `ignore_index` and errors as for cross_entropy.
    """
    reduction = chosen("nll_loss", reduction, size_average, reduce)
    dim, ignore_index = class_dim("nll_loss", input), index(ignore_index)
    if input._edge is not None:
        expect_logarithms("nll_loss", input)
    check_target("nll_loss", input, target, weight, dim)
    if weight is None and reduction == "mean":
        return MeanNLL.apply(input, target, dim, ignore_index, 0)
    loss = NLL.apply(input, target, dim, ignore_index)
    if weight is None:
        return reduced(loss, reduction)
    counts = target_weight(target, weight, ignore_index)
    return averaged(loss * counts, counts, reduction)


def expect_logits(input: Tensor, target: Tensor, classes: int) -> None:
    """Warn if the input is already the result of a softmax, or has a single class, for which the loss is always 0."""
    who = "cross_entropy"
    what = "cross_entropy applies the softmax itself"
    warn_probabilities(
        who, input, ("softmax",), "softmax-twice", what, "remove the softmax: pass its input, the logits"
    )
    if classes == 1 and target._np_dtype not in FLOATS:
        warn(
            "one-class",
            who,
            f"the input of shape {tuple(input.shape)} has a single class, whose probability is 1: the loss is always 0",
            "use one output per class, or binary_cross_entropy_with_logits for one yes or no",
        )


def exchanged(who: str, input: Tensor) -> str:
    """Return the fix for scores and classes in the wrong order, if the scores are integers; else ""."""
    return f"exchange the arguments: {who}(input, target), the scores first" if input._np_dtype.kind in "iu" else ""


def class_dim(who: str, input: Tensor) -> int:
    """Return the dimension of the classes: 1, or 0 without a batch."""
    if not input._sizes:
        what = "expected an input of at least one dimension, the classes, got a 0-d tensor"
        raise error(RuntimeError, who, what, "pass logits of shape (batch, classes), or (classes,) for one example")
    return 1 if len(input._sizes) > 1 else 0


def check_target(who: str, input: Tensor, target: Tensor, weight: Tensor | None, dim: int) -> None:
    """Check that the target has the input's shape without the classes, and the weight one value per class."""
    if target._np_dtype.kind not in "iu":
        remedy = exchanged(who, input) or "write target.long()"
        raise error(RuntimeError, who, f"expected integer classes as target, got {target.dtype}", remedy)
    shape, size = input._sizes, target._sizes
    if size and len(shape) > 1 and size[0] != shape[0]:
        raise error(
            ValueError,
            who,
            f"expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0]}), of shapes "
            f"{tuple(input.shape)} and {tuple(target.shape)}",
            fitting_target(input, target, dim),
            notes=error_notes({"input": input, "target": target}, aligned(input, target, dim)),
        )
    expected = shape[:dim] + shape[dim + 1 :]
    if size != expected:
        raise error(
            RuntimeError,
            who,
            f"an input of shape {tuple(input.shape)} needs a target of shape {expected}, got {tuple(target.shape)}",
            fitting_target(input, target, dim),
            notes=error_notes({"input": input, "target": target}, aligned(input, target, dim)),
        )
    if weight is not None:
        one_dtype(who, input, weight, names=("input", "weight"))
    if weight is not None and tuple(weight.shape) != (input.shape[dim],):
        what = f"weight needs one value for each of the {input.shape[dim]} classes, got shape {tuple(weight.shape)}"
        raise error(RuntimeError, who, what, f"pass a weight of shape ({input.shape[dim]},): ones({input.shape[dim]})")


def fitting_target(input: Tensor, target: Tensor, dim: int) -> str:
    """Return the fix for a target of another shape."""
    shape, size = tuple(input.shape), tuple(target.shape)
    expected = shape[:dim] + shape[dim + 1 :]
    if size == shape:
        return f"write target.argmax({dim}) for one-hot targets, target.float() for probabilities"
    if target.numel() == math.prod(expected):
        return f"write target.reshape({', '.join(map(str, expected)) or '()'})"
    if size == shape[:-1] and len(shape) > 2:  # sequences: (batch, length, classes)
        return "write input.movedim(-1, 1), which makes dimension 1 the classes"
    return f"pass one class for each example: a target of shape {expected}"


def aligned(input: Tensor, target: Tensor, dim: int) -> dict:
    """Return the two shapes below each other, with a gap at the dimension of the classes."""
    size = tuple(target.shape)
    return {"input": tuple(input.shape), "target": (*size[:dim], "", *size[dim:])}


def target_weight(target: Tensor, weight: Tensor | None, ignore: int) -> Tensor:
    """Return the weight of each example: its class's weight, or 1 (True); 0 for ignored ones."""
    valid = target != ignore
    if weight is None:
        return valid
    return where(valid, weight.index_select(0, where(valid, target, 0).flatten()).reshape(target.shape), 0.0)


def along(weight: Tensor, dim: int, ndim: int) -> Tensor:
    """Return one value per class in a shape that broadcasts against the input."""
    return weight.reshape(-1, *[1] * (ndim - dim - 1))
