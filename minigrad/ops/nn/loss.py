"""Losses.  Each computes one number per element or example, and `reduced` applies the requested reduction.

Losses for classes are in cross_entropy.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays.meta import has_numbers
from ...arrays.shapes import apart, broadcast_shape, broadcastable
from ...core.tensor import Tensor
from ...errors import error, warn
from ...tensors.printing import error_notes
from ..base.families import Operation, Pointwise
from ..compare import clamp, where
from ..elementary import log, log1p, sigmoid, xlogy
from .activation import logsigmoid
from .entry import functional

REDUCTIONS = ("none", "mean", "sum")
PAIRS = ("T(3, 4), T(3, 4)", "T(3), T(3), reduction='none'", "T(2, 3), T(2, 3), reduction='sum'", "T(), T()")


class SquaredError(Pointwise):
    """(x - y) ** 2."""

    autocast = "float32"
    call = "(x - y) ** 2"
    name, node = "mse_loss", "MseLoss"
    operands = ("input", "target")
    accepts = "f"
    kernel = lambda x, y: (x - y) * (x - y)
    dx = lambda x, y: 2 * (x - y)
    dy = lambda x, y: 2 * (y - x)


class Huber(Pointwise):
    """d * d / 2 for d = x - y up to a limit of |d|, and linear beyond."""

    autocast = "float32"
    call = "where(abs(x - y) < limit, 0.5 * (x - y) ** 2, limit * (abs(x - y) - 0.5 * limit))"
    name, node = "huber_loss", "HuberLoss"
    operands = ("input", "target")
    accepts, n_settings = "f", 1
    kernel = lambda x, y, limit: where(abs(x - y) < limit, 0.5 * (x - y) * (x - y), limit * (abs(x - y) - 0.5 * limit))
    dx = lambda x, y, limit: where(x - y >= limit, limit, where(y - x >= limit, -limit, x - y))
    dy = lambda x, y, limit: where(y - x >= limit, limit, where(x - y >= limit, -limit, y - x))
    textbook = {
        "dx": lambda g, x, y, limit: g * clamp(x - y, -limit, limit),
        "dy": lambda g, x, y, limit: g * clamp(y - x, -limit, limit),
    }


class WithLogits(Pointwise):
    """-(y * log(s) + (1 - y) * log(1 - s)) with s = sigmoid(x); the gradient, s - y, stays precise where y is 0 or 1."""

    autocast = "float32"
    node = "BinaryCrossEntropyWithLogits"
    accepts, operands = "f", ("input", "target")
    kernel = lambda x, y: (1 - y) * x - logsigmoid(x)
    dx = lambda x, y: (1 - y) * sigmoid(x) - y * sigmoid(-x)
    dy = lambda x: -x
    textbook = {"dx": lambda g, x, y: g * (sigmoid(x) - y)}


class WeightedLogits(Pointwise):
    """WithLogits, with the term of y multiplied by p."""

    autocast = "float32"
    node = "BinaryCrossEntropyWithLogits"
    accepts = "f"
    kernel = lambda x, y, p: (1 - y) * x - (1 + (p - 1) * y) * logsigmoid(x)
    dx = lambda x, y, p: (1 - y) * sigmoid(x) - p * y * sigmoid(-x)
    dy = lambda x, p: logsigmoid(-x) - p * logsigmoid(x)
    dp = lambda x, y: -y * logsigmoid(x)


class Probability(Operation):
    """-(y * log(x) + (1 - y) * log(1 - x)), with logarithms clamped to at least -100."""

    autocast = "float32"

    @staticmethod
    def impl(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        fixes = {"input": "apply sigmoid, or use binary_cross_entropy_with_logits", "target": "pass probabilities"}
        for (name, fix), a in zip(fixes.items(), (x, y)):
            if a.size and has_numbers(a) and not (a.min() >= 0 and a.max() <= 1):
                what = f"all elements of {name} must be between 0 and 1, found {a.min():g} to {a.max():g}"
                raise error(RuntimeError, "binary_cross_entropy", what, fix)
        limit = x.dtype.type(-100)
        return (y - 1) * np.maximum(np.log1p(-x), limit) - y * np.maximum(np.log(x), limit)

    known_as = classmethod(lambda cls: ("input", "target"))
    definition = lambda x, y: -(y * log(x) + (1 - y) * log(1 - x))
    dx = lambda g, x, y: g * (x - y) / ((1 - x) * x).clamp_min(1e-12)
    dy = lambda g, x: g * (log1p(-x).clamp_min(-100) - log(x).clamp_min(-100))
    batch = lambda x, y: (x, y)


class Variance(Operation):
    """x clamped to at least `least`; the gradient passes unchanged, as in PyTorch."""

    autocast = "float32"

    @staticmethod
    def impl(x: np.ndarray, least: float) -> np.ndarray:
        low = x.min() if x.size and has_numbers(x) else 0
        if low != low:  # a NaN, which hides other values
            low = np.where(x < 0, x, 0).min()
        if low < 0:
            what = f"var has negative entries, down to {low:g}"
            raise error(ValueError, "gaussian_nll_loss", what, "pass variances; for logarithms of variances, var.exp()")
        return np.maximum(x, x.dtype.type(least))

    definition = lambda x, least: x.clamp_min(least)
    dx = lambda g: g
    batch = lambda x, least: (x, least)


@functional(*PAIRS, "T(4, 3).mT, T(3, 4)", "T(3), T(3), weight=P(3)", node="MseLoss")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return `(input - target) ** 2`, reduced; with `weight` the mean is weighted."""
    reduction = chosen("mse_loss", reduction, size_average, reduce)
    expect_pairs("mse_loss", input, target)
    loss = SquaredError.apply(input, target) if weight is None else (input - target).square()  # for integers too
    return reduce_weighted("mse_loss", loss, weight, reduction)


@functional(*PAIRS, "T(3), T(3), weight=P(3)")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return |input - target|, reduced; with `weight` the mean is weighted."""
    reduction = chosen("l1_loss", reduction, size_average, reduce)
    expect_pairs("l1_loss", input, target)
    return reduce_weighted("l1_loss", (input - target).abs(), weight, reduction)


@functional(
    *PAIRS, "T(3), T(3), reduction='none', beta=0.3", "T(3), T(3), reduction='sum', beta=0", node="SmoothL1Loss"
)
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Return d * d / (2 * beta) where d = |input - target| is below `beta`, and d - beta / 2 beyond, reduced."""
    reduction = chosen("smooth_l1_loss", reduction, size_average, reduce)
    if beta < 0:
        raise error(
            RuntimeError, "smooth_l1_loss", f"does not support negative values for beta, got {beta}", "write beta=1.0"
        )
    expect_pairs("smooth_l1_loss", input, target)
    if not beta:
        return reduced((input - target).abs(), reduction)
    return reduced(Huber.apply(input, target, 1.0 * beta), reduction) * (1 / beta)


@functional(
    *PAIRS,
    "T(3), T(3), reduction='none', delta=0.3",
    "T(3), T(3), 'sum', 2.0",
    "T(3), T(3), weight=P(3)",
    node="HuberLoss",
)
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Return d * d / 2 where d = |input - target| is below `delta`, and delta * (d - delta / 2) beyond, reduced."""
    if delta <= 0:
        what = f"does not support non-positive values for delta, got {delta}"
        raise error(RuntimeError, "huber_loss", what, "write delta=1.0")
    expect_pairs("huber_loss", input, target)
    if weight is not None and weight.shape != input.shape:
        what = f"weight of shape {tuple(weight.shape)} and input of shape {tuple(input.shape)} must have the same size"
        raise error(ValueError, "huber_loss", what, "write weight.expand_as(input)")
    loss = Huber.apply(input, target, 1.0 * delta)
    return reduced(loss if weight is None else loss * weight, chosen("huber_loss", reduction, None, None))


@functional(
    "P(3, 4) / 3, P(3, 4) / 2",
    "P(3) / 3, P(3) / 2, torch.ones_like(P(3)).cumsum(0), reduction='none'",
    "P(3) / 3, P(3) / 2, reduction='sum'",
    node="BinaryCrossEntropy",
)
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return -(target * log(input) + (1 - target) * log(1 - input)), with logarithms clamped to at least -100, reduced.

    Raises ValueError if the shapes differ, RuntimeError for an input or a target outside [0, 1], and for a target of integers.
    """
    reduction = chosen("binary_cross_entropy", reduction, size_average, reduce)
    same_shape("binary_cross_entropy", input, target)
    expect_probabilities("binary_cross_entropy", input, target)
    expect_predictions_first("binary_cross_entropy", input, target)
    loss = Probability.apply(input, target)
    return reduced(loss if weight is None else loss * weight, reduction)


@functional(
    "T(3, 4), P(3, 4) / 2",
    "T(2, 3), P(2, 3) / 2, torch.ones_like(P(3)).cumsum(0), pos_weight=torch.ones_like(P(3)).cumsum(0)",
    "50 * T(3), P(3) / 2, reduction='none'",
    "T(2), P(2) / 2, reduction='sum'",
    node="BinaryCrossEntropyWithLogits",
)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return binary_cross_entropy of sigmoid(input), without overflow; `pos_weight` multiplies the term of positives."""
    who = "binary_cross_entropy_with_logits"
    reduction = chosen(who, reduction, size_average, reduce)
    same_shape(who, input, target)
    expect_probabilities(who, input, target)
    expect_predictions_first(who, input, target)
    expect_logits(who, input)
    # under transforms PyTorch composes this loss from operations that do not save the input: it may be modified afterwards
    x, y = (t if t._layer is None else t.clone() for t in (input, target))
    loss = WithLogits.apply(x, y) if pos_weight is None else WeightedLogits.apply(x, y, pos_weight)
    return reduced(loss if weight is None else loss * weight, reduction)


@functional(
    "T(3, 4), P(3, 4)",
    "T(3, 4), T(3, 4), log_target=True",
    "T(3, 4), P(3, 4), reduction='batchmean'",
    "T(3), P(3), reduction='none'",
)
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return target * (log(target) - input), for an input of log-probabilities, reduced.

    `log_target`: the target has logarithms too.  "batchmean" divides the sum by the first size: Kullback-Leibler divergence.
    """
    if input._edge is not None:
        expect_logarithms("kl_div", input)
    if target._edge is not None and not log_target:
        expect_no_logarithms(input, target)
    mean = reduction == "batchmean"
    reduction = chosen("kl_div", "sum" if mean else reduction, size_average, reduce)
    loss = target.exp() * (target - input) if log_target else xlogy(target, target) - target * input
    return reduced(loss, reduction) / input.shape[0] if mean and input.ndim else reduced(loss, reduction)


@functional("T(3, 4), P(3, 4)", "P(3), P(3), False", "T(3), 3 * P(3), full=True, reduction='sum'")
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return -log of the Poisson probability of `target` for the mean exp(input), or the mean `input` without `log_input`.

    With `full`, the term that depends only on the target is added, by Stirling's approximation.
    """
    reduction = chosen("poisson_nll_loss", reduction, size_average, reduce)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = xlogy(target, target) - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + where(target > 1, stirling, 0.0)
    return reduced(loss, reduction)


@functional(
    "T(3, 4), T(3, 4), P(3, 4)",
    "T(3, 4), T(3, 4), P(3, 1), True",
    "T(3), T(3), P(3), reduction='none'",
)
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Return -log of the normal density of `target` with mean `input` and variance `var` (clamped to at least eps).

    `full` adds the constant log(2 pi) / 2.  Raises ValueError for a negative variance, or if the shape of `var` is not the
    input's, the input's without the last dimension, or the input's with one size 1.
    """
    if not isinstance(var, Tensor):
        var = input.new_full(input.shape, var)
    if var.shape != input.shape:
        if tuple(var.shape) == tuple(input.shape[:-1]):
            var = var.unsqueeze(-1)
        elif var.ndim != input.ndim or sum([m for n, m in zip(input.shape, var.shape) if n != m]) != 1:
            raise error(
                ValueError,
                "gaussian_nll_loss",
                f"var is of incorrect size: {tuple(var.shape)} for an input of {tuple(input.shape)}",
                "pass var with the shape of input, with one size 1, or without the last dimension",
                notes=error_notes({"input": input, "var": var}),
            )
    var = Variance.apply(var, eps)
    loss = 0.5 * (var.log() + (input - target).square() / var) + (0.5 * math.log(2 * math.pi) if full else 0.0)
    return reduced(loss, chosen("gaussian_nll_loss", reduction, None, None))


@functional("T(3, 4), 2.0 * B(3, 4) - 1", "T(3), 2.0 * B(3) - 1, reduction='none'", node="SoftMarginLoss")
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return log(1 + exp(-target * input)), for targets 1 and -1, reduced."""
    return reduced(-logsigmoid(target * input), chosen("soft_margin_loss", reduction, size_average, reduce))


@functional("T(3, 4), P(3, 4) / 2", "T(3, 4), P(3, 4) / 2, P(4), reduction='none'")
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the binary cross-entropy of sigmoid(input), averaged over classes (last dimension), with a `weight` per class."""
    who = "multilabel_soft_margin_loss"
    reduction = chosen(who, reduction, size_average, reduce)
    same_shape(who, input, target)
    expect_logits(who, input)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    return reduced((loss if weight is None else loss * weight).mean(-1), reduction)


def chosen(who: str, reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """Return the reduction: `reduction`, or the equivalent of PyTorch's older pair of switches if given."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    if reduction not in REDUCTIONS:
        what = f"{reduction} is not a valid value for reduction"
        raise error(ValueError, who, what, f"use one of {', '.join(map(repr, REDUCTIONS))}")
    return reduction


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """Return the losses themselves, their mean or their sum."""
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def reduce_weighted(who: str, loss: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """Reduce losses, with one weight each if `weight` is given."""
    if weight is None:
        return reduced(loss, reduction)
    if weight.shape != loss.shape:
        what = f"weights of shape {tuple(weight.shape)} and losses of shape {tuple(loss.shape)} must have the same size"
        raise error(ValueError, who, what, "write weight.expand_as(input)")
    return averaged(loss * weight, weight, reduction)


def expect_pairs(who: str, input: Tensor, target: Tensor) -> None:
    """Warn if the two are broadcast, which is seldom intended; raise RuntimeError if they cannot be."""
    if input.shape == target.shape:
        return
    sizes = tuple(input.shape), tuple(target.shape)
    if not broadcastable(*sizes):
        notes = error_notes({"input": input, "target": target})
        raise error(RuntimeError, who, apart([*sizes]), resized(input, target), notes=notes)
    warn(
        "broadcast-loss",
        who,
        f"uses a target size {sizes[1]} that is different to the input size {sizes[0]}: {broadcasting(*sizes)}",
        resized(input, target),
    )


def averaged(loss: Tensor, counts: Tensor, reduction: str) -> Tensor:
    """Reduce weighted losses; a mean is divided by the sum of the weights."""
    return loss.sum() / counts.sum() if reduction == "mean" else reduced(loss, reduction)


def resized(input: Tensor, target: Tensor) -> str:
    """Return the fix that gives a target the size of the input."""
    if target.numel() == input.numel():
        return f"give both the same shape: target.reshape({', '.join(map(str, input.shape)) or '()'})"
    return "give both the same shape; broadcasting compares elements that do not belong together"


def broadcasting(input: tuple, target: tuple) -> str:
    """Return a clause about the differences of two shapes that are broadcast."""
    n, given = math.prod(broadcast_shape(input, target)), math.prod(target)
    if math.prod(input) == given and n == given**2 > 1:
        return f"every target is compared with every prediction, {n} differences instead of {given}"
    return f"they are broadcast to {n} differences"


def same_shape(who: str, input: Tensor, target: Tensor) -> None:
    """Raise ValueError if the shapes differ."""
    if input.shape != target.shape:
        raise error(
            ValueError,
            who,
            f"target size ({tuple(target.shape)}) must be the same as input size ({tuple(input.shape)})",
            resized(input, target),
            notes=error_notes({"input": input, "target": target}),
        )


def warn_probabilities(who: str, input: Tensor, makers: tuple, name: str, what: str, fix: str) -> None:
    """Warn if one of these operations made the input, which then holds probabilities and not what the loss expects."""
    fn = getattr(input._edge, "_fn", None)
    if fn is not None and fn.primitive and fn.name in makers:
        warn(name, who, f"the input, of shape {tuple(input.shape)}, is the result of {fn.name}: {what}", fix)


def expect_probabilities(who: str, input: Tensor, target: Tensor) -> None:
    """Raise RuntimeError for classes as integers or bools, as PyTorch does: this loss takes a probability for each output."""
    if target._np_dtype.kind in "iub":
        what = f"expected a target of probabilities, {input.dtype}, got {target.dtype}"
        raise error(RuntimeError, who, what, "write target.float()")


def expect_predictions_first(who: str, input: Tensor, target: Tensor) -> None:
    """Warn if a binary cross-entropy gets zeros and ones as its input, and as its target a result that requires grad."""
    if target._edge is None or input._edge is not None or input._layer is not None or type(input._a) is not np.ndarray:
        return
    if input._a.size and ((input._a == 0) | (input._a == 1)).all():
        warn(
            "exchanged-arguments",
            who,
            f"the input, of shape {tuple(input.shape)}, does not require grad and holds only 0 and 1, as targets do, and the "
            "target requires grad, as predictions do",
            f"exchange the arguments: {who}(predictions, targets)",
        )


def expect_no_logarithms(input: Tensor, target: Tensor) -> None:
    """Warn if kl_div gets log-probabilities as its target, which is the place of probabilities."""
    made = [getattr(getattr(t._edge, "_fn", None), "name", "") for t in (input, target)]
    if made[1] != "log_softmax":
        return
    exchanged = made[0] != "log_softmax"
    warn(
        "exchanged-arguments" if exchanged else "logarithms-as-probabilities",
        "kl_div",
        f"the target, of shape {tuple(target.shape)}, is the result of log_softmax, but log_target is False: kl_div takes "
        "log-probabilities as its input, and probabilities as its target",
        "exchange the arguments: kl_div(log_probabilities, probabilities)" if exchanged else "pass log_target=True",
    )


def expect_logits(who: str, input: Tensor) -> None:
    """Warn if a loss that applies the sigmoid receives its result."""
    if input._edge is not None:
        what = "the loss applies the sigmoid itself"
        fix = "remove the sigmoid and pass its input, the logits; or use binary_cross_entropy"
        warn_probabilities(who, input, ("sigmoid",), "sigmoid-twice", what, fix)


def expect_logarithms(who: str, input: Tensor) -> None:
    """Warn if a loss that takes log-probabilities receives probabilities."""
    what = f"{who} takes log-probabilities"
    warn_probabilities(
        who,
        input,
        ("softmax", "sigmoid"),
        "probabilities-as-logarithms",
        what,
        f"write {who}(logits.log_softmax(1), target)",
    )
