"""Margin losses: they keep the scores of right classes a margin above those of wrong ones."""

from __future__ import annotations

from collections.abc import Callable

from ...core.tensor import Tensor
from ...errors import error
from ..compare import where
from ..create import arange
from ..norms import pairwise_distance
from .entry import expect_floats, functional
from .loss import chosen, reduced


@functional(
    "T(3, 4), I(3, 4)",
    "T(3, 4), I(3, 4), 2, 0.5, reduction='none'",
    "T(4), I(4), reduction='sum'",
    node="MultiMarginLoss",
)
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean over the wrong classes i of max(0, margin - x[target] + x[i])**p, times the target's `weight`, reduced.

    `input` is (n, classes), (classes,) or () for one class, `target` (n,) or (); p is 1 or 2.  The divisor counts all classes.
    Raises ValueError for another p and a weight of another rank, RuntimeError for other shapes.
    """
    who = "multi_margin_loss"
    reduction = chosen(who, reduction, size_average, reduce)
    expect_floats(who, input)
    if p not in (1, 2):
        raise error(ValueError, who, f"only p == 1 and p == 2 supported, but got {p}", "write p=1 or p=2")
    if weight is not None and weight.ndim != 1:
        what = f"weight must be one-dimensional, but has shape {tuple(weight.shape)}"
        raise error(ValueError, who, what, "pass one weight for each class")
    single = input.ndim < 2
    x, target = (input.reshape(1, -1), target.reshape(-1)) if single else (input, target)
    if x.ndim != 2 or tuple(target.shape) != (len(x),) or weight is not None and len(weight) != x.shape[1]:
        raise error(
            RuntimeError,
            who,
            f"expected an input (n, classes), a target (n,) and a weight (classes,), but got {tuple(input.shape)}, "
            f"{tuple(target.shape)} and {None if weight is None else tuple(weight.shape)}",
            "pass one class for each example: target.flatten()",
        )
    right = arange(x.shape[1], device=x.device) == target.unsqueeze(1)
    short = (margin - x.gather(1, target.unsqueeze(1)) + x).clamp_min(0) ** p
    short = short if weight is None else short * weight[target].unsqueeze(1)
    loss = where(right, 0.0, short).mean(1)
    return reduced(loss[0] if single else loss, reduction)


@functional(
    "T(3, 4), I(3, 4, 4)",
    "T(3, 5), I(3, 5, 6) - 1, reduction='none'",
    "T(4), I(4, 5) - 1, reduction='sum'",
    node="MultilabelMarginLoss",
)
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the sum over right classes j and wrong ones i of max(0, 1 - x[j] + x[i]), divided by the number of classes.

    `target` has the shape of `input`, (n, classes), (classes,) or () for one class: it lists the right classes, up to a -1.
    Raises RuntimeError for other shapes, and for no classes.
    """
    who = "multilabel_margin_loss"
    reduction = chosen(who, reduction, size_average, reduce)
    expect_floats(who, input)
    if input.ndim > 2 or input.shape != target.shape or input.shape[-1:] == (0,):
        raise error(
            RuntimeError,
            who,
            f"expected input and target (n, classes) or (classes,), but got {tuple(input.shape)} and {tuple(target.shape)}",
            "pad the target's rows with -1",
        )
    single = input.ndim < 2
    x, target = (input.reshape(1, -1), target.reshape(1, -1)) if single else (input, target)
    listed = (target >= 0).long().cumprod(1)  # 1 before the first -1
    at = target.clamp_min(0)
    right = listed.new_zeros(listed.shape).scatter_add(1, at, listed) > 0
    short = (1 - x.gather(1, at).unsqueeze(2) + x.unsqueeze(1)).clamp_min(0)  # (n, right, wrong)
    counts = listed.to(x.dtype).unsqueeze(2) * (~right).to(x.dtype).unsqueeze(1)
    loss = (short * counts).sum((1, 2)) / x.shape[1]
    return reduced(loss[0] if single else loss, reduction)


@functional("T(3, 4), T(3, 4), T(3, 4)", "T(3, 4), T(3, 4), T(3, 4), margin=2.0, swap=True, reduction='none'")
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Return max(0, d(anchor, positive) - d(anchor, negative) + margin), d any distance (default: pairwise_distance), reduced.

    With `swap` the distance of the negative is measured from the nearer of anchor and positive.
    Raises ValueError for a margin of 0 or less, and TypeError for a distance that is not callable.
    """
    who = "triplet_margin_with_distance_loss"
    reduction = chosen(who, reduction, None, None)
    if distance_function is not None and not callable(distance_function):
        got = f"distance_function must be a function of two tensors, got {type(distance_function).__name__}"
        raise error(TypeError, who, got, "pass distance_function=minigrad.nn.PairwiseDistance()")
    if margin <= 0:
        raise error(ValueError, who, f"margin must be greater than 0, but got {margin}", "write margin=1.0")
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    far = far.minimum(distance(positive, negative)) if swap else far
    return reduced((near - far + margin).clamp_min(0), reduction)
