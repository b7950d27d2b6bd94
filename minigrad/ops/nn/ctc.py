"""Connectionist temporal classification: minus the logarithm of the probability of all alignments of a label sequence.

An alignment gives each time step a label or the blank; repeated labels are read once, blanks not at all.  Blanks are put
between the labels, and `logs[s]` is the log-probability of being at position s: it comes from the positions s, s - 1 and,
between two different labels with a blank between them, s - 2 (Graves and others, "Connectionist Temporal Classification",
ICML 2006, equation 6).  Everything consists of differentiable operations on the whole batch, a few per time step.  It is not
an operation of the table: the formula of its gradient, written out, would grow threefold with each step.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from ...core.tensor import Tensor, wrap
from ...errors import error
from ..compare import where
from ..elementary import logaddexp
from ..join import cat, stack
from ..transfer import placed
from .loss import chosen, reduced

WHO = "ctc_loss"
LOW = -1e30  # replaces log(0), which has no derivative; added once per time step, it stays finite


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Return minus the logarithm of the probability of all alignments of the targets, for each example of a batch.

    `log_probs` (time, n, classes) or (time, classes) are log-probabilities, as from log_softmax; `targets` are (n, length),
    of which the first `target_lengths` count, or all targets concatenated.  The mean is over the losses divided by their target
    lengths.  If the input is too short for any alignment, the loss is infinite, or zero with `zero_infinity`; its gradient is
    zero.

    Raises RuntimeError for lengths that do not fit and for labels that are not classes.  The gradient is the derivative with
    respect to `log_probs`; PyTorch's is right only behind log_softmax, where both agree.

    >>> import minigrad
    >>> even = minigrad.full((2, 1, 3), 1 / 3).log()
    >>> ways = ctc_loss(even, minigrad.tensor([[1]]), (2,), (1,), reduction="sum")  # 11, 10 and 01 of nine
    >>> (-ways).exp()
    tensor(0.3333)
    """
    reduction = chosen(WHO, reduction, None, None)
    if log_probs._np_dtype.name not in ("float32", "float64"):
        what = f"not implemented for {log_probs.dtype.name}"
        raise error(NotImplementedError, WHO, what, "convert it first: log_probs.float()")
    if log_probs.ndim not in (2, 3) or not log_probs.numel():
        what = f"expected non-empty log_probs of 2 or 3 dimensions, got shape {tuple(log_probs.shape)}"
        raise error(RuntimeError, WHO, what, "pass (time, batch, classes), or (time, classes) for one example")
    alone = log_probs.ndim == 2
    if alone:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0) if targets.ndim == 1 else targets
    steps, n, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise error(
            RuntimeError, WHO, f"blank={blank} is not one of {classes} classes", f"choose it from 0 to {classes - 1}"
        )
    times, sizes = lengths("input_lengths", input_lengths, n, steps), lengths("target_lengths", target_lengths, n)
    labels = padded(targets, sizes, n).long()
    inside = on(np.arange(labels.shape[1]) < np.array(sizes)[:, None], labels)
    loss = read(log_probs, checked(where(inside, labels, blank), classes), times, sizes, blank)
    loss = where(loss > -LOW / 10, 0.0 if zero_infinity else np.inf, loss)
    if reduction == "mean":
        loss = loss / on(np.maximum(sizes, 1), log_probs).to(loss.dtype)
    return loss.squeeze(0) if alone and reduction == "none" else reduced(loss, reduction)


def read(log_probs: Tensor, labels: Tensor, times: list[int], sizes: list[int], blank: int) -> Tensor:
    """Return minus the log-probability of each row of labels (n, size)."""
    n, size = labels.shape
    blanks, never = labels.new_full((n, size), blank), labels.new_zeros((n, size), dtype=bool)
    places = cat([stack([blanks, labels], -1).flatten(1), labels.new_full((n, 1), blank)], 1)
    fresh = cat([~never[:, :1], labels[:, 1:] != labels[:, :-1]], 1)[:, :size]
    skips = cat([stack([never, fresh], -1).flatten(1), labels.new_zeros((n, 1), dtype=bool)], 1)
    skips = where(skips, log_probs.new_zeros(()), LOW)
    given = log_probs.clamp(min=LOW).gather(2, places.expand(log_probs.shape[0], *places.shape)).unbind(0)
    edge = log_probs.new_full(
        (n, 2), LOW
    )  # two positions in front; before the first step all probability is at the second one
    logs = cat([edge[:, :1], edge[:, 1:] * 0, log_probs.new_full((n, 2 * size + 1), LOW)], 1)
    for t, now in enumerate(given[: max(times)]):
        come = logaddexp(logaddexp(logs[:, 2:], logs[:, 1:-1]), logs[:, :-2] + skips)
        after = cat([edge, come + now], 1)
        logs = after if t < min(times) else where(on(np.array(times) > t, logs).unsqueeze(1), after, logs)
    ends = on(2 * np.array(sizes)[:, None] + [1, 2], logs)  # the last label, and the blank behind it
    last = logs.gather(1, ends)
    return -logaddexp(last[:, 0], last[:, 1])


def on(array: np.ndarray, like: Tensor) -> Tensor:
    """Return an array as a tensor on the device of another tensor."""
    return wrap(placed(array, like.device))


def lengths(name: str, given: Any, n: int, most: int | None = None) -> list[int]:
    """Return n lengths as a list.  Raises TypeError for non-integers, RuntimeError for lengths out of range."""
    if isinstance(given, Tensor):
        if given._np_dtype.kind not in "iu":
            raise error(RuntimeError, WHO, f"{name} must be integral, got {given.dtype}", "convert them with .long()")
        given = given.reshape(-1).tolist()
    if not isinstance(given, (list, tuple)) or not all(isinstance(k, (int, np.integer)) for k in given):
        raise error(
            TypeError, WHO, f"{name} must be integers, got {given!r}", f"pass a tuple or a tensor: {name}=(3, 2)"
        )
    if len(given) != n or min(given) < 0 or most is not None and max(given) > most:
        limit = "" if most is None else f" and at most {most}"
        what = f"{name} must be {n} integers of at least 0{limit}, one for each example, got {list(given)}"
        raise error(RuntimeError, WHO, what, "pass the number of time steps, and of labels, of each example")
    return [int(k) for k in given]


def padded(targets: Tensor, sizes: list[int], n: int) -> Tensor:
    """Return the labels of all examples as rows of equal length; their tails may hold anything."""
    longest, total = max(sizes), sum(sizes)
    if targets.ndim == 1 and targets.shape[0] == total:
        begin = np.array([0, *accumulate(sizes)][:-1])
        places = np.minimum(begin[:, None] + np.arange(longest), max(total - 1, 0))
        return targets[on(places, targets)] if total else targets.reshape(n, 0)
    if targets.ndim == 2 and targets.shape[0] == n and targets.shape[1] >= longest:
        return targets[:, :longest]
    what = f"targets of shape {tuple(targets.shape)} do not hold {n} rows of {sizes} labels"
    raise error(RuntimeError, WHO, what, f"pass shape ({n}, {longest}), or all labels concatenated, ({total},)")


def checked(labels: Tensor, classes: int) -> Tensor:
    """Raise RuntimeError for labels that are not classes, if their values are readable; under vmap gather raises."""
    if labels.numel() and labels._layer is None and not labels.is_meta:
        low, high = labels.min().item(), labels.max().item()
        if low < 0 or high >= classes:
            what = f"targets have labels from {low} to {high}, for {classes} classes"
            raise error(RuntimeError, WHO, what, f"labels are 0 to {classes - 1}: give log_probs a class for each")
    return labels
