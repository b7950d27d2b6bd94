"""Lowering of classification losses: for each line of a table, a class is picked from it or added to it.

fuse.py merges these operations with the maps and reductions around them into one pass over the lines.
"""

from typing import Any

import numpy as np

from ..kernels.formula import CUDA
from .captured_steps import CapturedStep
from .ir import F4, F8, I8, Lowering, Value

VEC = "minigrad.kernels.vecmath"


def losses_rule(
    low: Lowering, step: CapturedStep, x: Value, target: Value, dim: int, ignore: int, lead: int | None = None
) -> Any:
    """Lower the loss of each row, or with `lead` the mean loss."""
    if not one_class_per_line(low, x.shape, target, dim):
        return False
    loss = low.out() if lead is None else low.new(target.shape, x.dtype, "losses")
    low.add("pick", [x, target], [loss], "pick", ignore=int(ignore), dim=dim)
    return loss if lead is None else mean_of_losses(low, loss, target, ignore, lead)


def mean_of_losses(low: Lowering, loss: Value, target: Value, ignore: int, lead: int) -> Value:
    """Lower the mean over all dimensions but the first `lead`, skipping targets equal to `ignore`."""
    total = low.reduction("sum", loss, tuple(range(lead, len(loss.shape))), False)
    count = number_valid(low, target, ignore, loss.dtype, lead)
    return low.map("x / n", {"x": total, "n": count}, total.shape, loss.dtype, low.out(0))


def at_target_rule(
    low: Lowering, step: CapturedStep, x: Value, target: Value, size: tuple, dim: int, ignore: int
) -> Any:
    """Lower zeros with x at each row's class."""
    if not one_class_per_line(low, size, target, dim):
        return False
    zeros = low.map("zero", {"zero": 0.0}, size, x.dtype, name="zeros")
    return add_at_target(low, zeros, valid(low, x, target, ignore), target, dim, ignore)


def from_logits_rule(
    low: Lowering, step: CapturedStep, w: Value, target: Value, log_p: Value, dim: int, ignore: int
) -> Any:
    """Lower (softmax - one-hot target) * w."""
    if not one_class_per_line(low, log_p.shape, target, dim):
        return False
    kept = valid(low, w, target, ignore)
    column = low.alias_reshape(kept, low.new(kept_shape(w, dim), w.dtype))
    ins, needs = {"x": log_p, "w": column}, [(VEC, "exp")]
    soft = low.map("exp(x) * w", ins, log_p.shape, w.dtype, None, needs, "softmax")
    return add_at_target(low, soft, low.map("-w", {"w": kept}, w.shape, w.dtype), target, dim, ignore)


def one_class_per_line(low: Lowering, shape: tuple, target: Value, dim: int) -> bool:
    """Return True if there is one class for each line of an array of this shape; on a GPU, lines must be rows."""
    lines = target.dtype == I8 and len(shape) > 1 and target.shape == (*shape[:dim], *shape[dim + 1 :])
    return lines and (low.target is not CUDA or dim == len(shape) - 1)


def valid(low: Lowering, x: Value, target: Value, ignore: int) -> Value:
    """Return x, but 0 where the class is `ignore`."""
    return low.map(f"x if t != {int(ignore)} else zero", {"x": x, "t": target, "zero": 0.0}, x.shape, x.dtype)


def kept_shape(x: Value, dim: int) -> tuple:
    """Return the shape of x with size 1 for the class dimension."""
    return (*x.shape[:dim], 1, *x.shape[dim:])


def add_at_target(low: Lowering, onto: Value, x: Value, target: Value, dim: int, ignore: int) -> Value:
    """Lower the step's result: `onto` with x added at each line's class, by a scatter."""
    rows = kept_shape(x, dim)
    safe = low.map(f"t if t != {int(ignore)} else 0", {"t": target}, x.shape, I8, name="class")
    places, src = [low.alias_reshape(v, low.new(rows, v.dtype)) for v in (safe, x)]
    return low.add("scatter", [onto, places, src], [low.out()], "at_target", dim=dim)


def count_valid_rule(low: Lowering, step: CapturedStep, target: Value, ignore: int, dtype: Any, lead: int) -> Any:
    out = low.out()
    if target.dtype != I8 or not target.shape or out.dtype not in (F4, F8):
        return False
    return number_valid(low, target, ignore, out.dtype, lead, out)


def number_valid(low: Lowering, target: Value, ignore: int, dtype: Any, lead: int, out: Value | None = None) -> Value:
    """Return the number of classes other than `ignore`, over all dimensions but the first `lead`, as a float."""
    counts = low.map(f"np.{np.dtype(dtype).name}(t != {int(ignore)})", {"t": target}, target.shape, dtype)
    return low.reduction("sum", counts, tuple(range(lead, len(target.shape))), False, out)


ROW_RULES = {
    "put_at_class": at_target_rule,
    "count_valid": count_valid_rule,
    "softmax_minus_one_hot": from_logits_rule,
    "pick_class": losses_rule,
}
