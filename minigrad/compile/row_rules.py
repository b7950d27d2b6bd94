"""How softmax, layer norm and losses for classes are lowered: operations on the rows of a table.

Each is a handful of maps and reductions, which fuse.py puts into one pass over the rows with all around them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .captured_steps import Step
from .ir import F4, F8, I8, Count, Lowering, V

VEC = "minigrad.kernels.vecmath"


def shifted_by_peak(low: Lowering, x: V, dims: tuple) -> V:
    """x minus its maximum over dims."""
    top = low.reduction("max", x, dims, True)
    return low.map("x - t", {"x": x, "t": top}, x.shape, x.dtype, name="shifted")


def finite_peak(low: Lowering, x: V, dims: tuple) -> V:
    """The maximum over dims; 0 in place of an infinite one."""
    top = low.reduction("max", x, dims, True)
    ins, needs = {"t": top, "zero": 0.0}, [("math", "isfinite")]
    return low.map("t if isfinite(t) else zero", ins, top.shape, x.dtype, None, needs, "peak")


def exp_of(low: Lowering, x: V) -> V:
    return low.map("exp(x)", {"x": x}, x.shape, x.dtype, None, [(VEC, "exp")], "exp")


def softmax_rule(low: Lowering, step: Step, x: V, dims: tuple) -> bool:
    out = low.out()
    e = exp_of(low, shifted_by_peak(low, x, dims))
    total = low.reduction("sum", e, dims, True)
    low.map("e / s", {"e": e, "s": total}, x.shape, x.dtype, out)
    return True


def log_softmax_rule(low: Lowering, step: Step, x: V, dims: tuple) -> bool:
    log_softmax_of(low, x, dims, low.out())
    return True


def log_softmax_of(low: Lowering, x: V, dims: tuple, out: V) -> V:
    shifted = shifted_by_peak(low, x, dims)
    ins = {"x": shifted, "lost": lost_of(low, shifted, dims)}
    return low.map("x - lost", ins, x.shape, x.dtype, out, name="log_softmax")


def lost_of(low: Lowering, shifted: V, dims: tuple) -> V:
    """log(sum(exp(shifted))): what log_softmax takes off."""
    total = low.reduction("sum", exp_of(low, shifted), dims, True)
    return low.map("log(s)", {"s": total}, total.shape, shifted.dtype, None, [(VEC, "log")], "lost")


def logsumexp_rule(low: Lowering, step: Step, x: V, dims: tuple, keepdim: bool) -> bool:
    out = low.out()
    top = finite_peak(low, x, dims)
    e = exp_of(low, low.map("x - t", {"x": x, "t": top}, x.shape, x.dtype))
    total = low.reduction("sum", e, dims, True)
    kept = out if keepdim else None
    made = low.map("log(s) + t", {"s": total, "t": top}, total.shape, x.dtype, kept, [(VEC, "log")])
    if not keepdim:
        low.alias_reshape(made, out)
    return True


def losses_rule(from_logits: bool) -> Callable:
    """The loss of each row, or with `lead` their mean; from_logits: of its log_softmax, which is the second result."""

    def rule(low: Lowering, step: Step, x: V, target: V, dim: int, ignore: int, lead: int | None = None) -> bool:
        if not by_row(x, target, dim):
            return False
        loss = low.out() if lead is None else low.new(target.shape, x.dtype, "losses")
        log_p = log_softmax_of(low, x, (len(x.shape) - 1,), low.out(1)) if from_logits else x
        low.add("pick", [log_p, target], [loss], "pick", ignore=int(ignore))
        if lead is not None:
            mean_of_losses(low, loss, target, ignore, lead)
        return True

    return rule


def mean_of_losses(low: Lowering, loss: V, target: V, ignore: int, lead: int) -> None:
    """The step's result: the mean over all dimensions but the first `lead`, without classes that are `ignore`."""
    total = low.reduction("sum", loss, tuple(range(lead, len(loss.shape))), False)
    count = number_valid(low, target, ignore, loss.dtype, lead)
    low.map("x / n", {"x": total, "n": count}, total.shape, loss.dtype, low.out(0))


def deviations(low: Lowering, x: V, dims: tuple, eps: float) -> tuple[V, V]:
    """x minus its mean, and its standard deviation; mean and variance are results of the step."""
    n, column = Count(x, dims), low.out(1)
    total = low.reduction("sum", x, dims, True)
    mean = low.map("s / n", {"s": total, "n": n}, column.shape, x.dtype, column, name="mean")
    centred = low.map("x - m", {"x": x, "m": mean}, x.shape, x.dtype, name="centred")
    squares = low.reduction("sum", low.map("x * x", {"x": centred}, x.shape, x.dtype), dims, True)
    variance = low.map("s / n", {"s": squares, "n": n}, column.shape, x.dtype, low.out(2), name="variance")
    ins, needs = {"v": variance, "eps": eps}, [(VEC, "sqrt")]
    return centred, low.map("sqrt(v + eps)", ins, column.shape, x.dtype, None, needs, "std")


def standardize_rule(low: Lowering, step: Step, x: V, dims: tuple, eps: Any) -> bool:
    if type(eps) is not float:
        return False
    out, (centred, std) = low.out(), deviations(low, x, dims, eps)
    low.map("x / s", {"x": centred, "s": std}, x.shape, x.dtype, out)
    return True


def layer_norm_rule(low: Lowering, step: Step, x: V, weight: V, bias: V, dims: tuple, eps: Any) -> bool:
    if type(eps) is not float or not x.dtype == weight.dtype == bias.dtype:
        return False
    out, (centred, std) = low.out(), deviations(low, x, dims, eps)
    low.map("x / s * w + b", {"x": centred, "s": std, "w": weight, "b": bias}, x.shape, x.dtype, out)
    return True


def at_target_rule(low: Lowering, step: Step, x: V, target: V, size: tuple, dim: int, ignore: int) -> bool:
    """Zeros with x at each row's class."""
    zeros = V("uniform", size, x.dtype, content=0.0)
    if not by_row(zeros, target, dim):
        return False
    add_at_target(low, zeros, valid(low, x, target, ignore), target, ignore)
    return True


def from_logits_rule(low: Lowering, step: Step, w: V, target: V, log_p: V, dim: int, ignore: int) -> bool:
    """Softmax less one at each row's class, times w."""
    if not by_row(log_p, target, dim):
        return False
    kept = valid(low, w, target, ignore)
    column = low.new((*w.shape, 1), w.dtype)
    low.alias_reshape(kept, column)
    ins, needs = {"x": log_p, "w": column}, [(VEC, "exp")]
    soft = low.map("exp(x) * w", ins, log_p.shape, w.dtype, None, needs, "softmax")
    add_at_target(low, soft, low.map("-w", {"w": kept}, w.shape, w.dtype), target, ignore)
    return True


def by_row(x: V, target: V, dim: int) -> bool:
    """Whether there is one class for each row of x."""
    return target.dtype == I8 and dim == len(x.shape) - 1 > 0 and target.shape == x.shape[:-1]


def valid(low: Lowering, x: V, target: V, ignore: int) -> V:
    """x, but 0 where the class is `ignore`."""
    return low.map(f"x if t != {int(ignore)} else zero", {"x": x, "t": target, "zero": 0.0}, x.shape, x.dtype)


def add_at_target(low: Lowering, onto: V, x: V, target: V, ignore: int) -> None:
    """The step's result: `onto` with x added at each row's class, for that is what scatter does."""
    rows = (*x.shape, 1)
    safe = low.map(f"t if t != {int(ignore)} else 0", {"t": target}, x.shape, I8, name="class")
    places, src = low.new(rows, I8), low.new(rows, x.dtype)
    low.alias_reshape(safe, places)
    low.alias_reshape(x, src)
    low.add("scatter", [onto, places, src], [low.out()], "at_target")


def count_valid_rule(low: Lowering, step: Step, target: V, ignore: int, dtype: Any, lead: int) -> bool:
    out = low.out()
    if target.dtype != I8 or not target.shape or out.dtype not in (F4, F8):
        return False
    number_valid(low, target, ignore, out.dtype, lead, out)
    return True


def number_valid(low: Lowering, target: V, ignore: int, dtype: Any, lead: int, out: V | None = None) -> V:
    """How many classes are not `ignore`, over all dimensions but the first `lead`, as a float."""
    counts = low.map(f"np.{np.dtype(dtype).name}(t != {int(ignore)})", {"t": target}, target.shape, dtype)
    return low.reduction("sum", counts, tuple(range(lead, len(target.shape))), False, out)


ROW_RULES = {
    "AtTarget": at_target_rule, "CountValid": count_valid_rule, "FromLogits": from_logits_rule,
    "LayerNorm": layer_norm_rule, "LogSoftmax": log_softmax_rule, "Logsumexp": logsumexp_rule,
    "Softmax": softmax_rule, "Standardize": standardize_rule,
    **dict.fromkeys(("CrossEntropy", "MeanCrossEntropy"), losses_rule(True)),
    **dict.fromkeys(("MeanNLL", "NLL"), losses_rule(False)),
}  # fmt: skip
