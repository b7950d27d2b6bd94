"""Operations of the losses for classes, for the functions in cross_entropy.py.

The log-softmax of cross-entropy is a second, hidden output (which PyTorch saves) with a separate gradient, so that one
operation serves the plain loss, label smoothing and derivatives of any order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays.kinds import zeros
from ...arrays.meta import has_numbers
from ...core.tensor import Tensor
from ...errors import error
from ...kernels import row_kernels
from ..base.families import Linear, NonDifferentiable, Operation
from ..base.program import Program
from ..compare import where
from ..elementary import exp
from ..masks import one_hot
from ..reduce import Sum
from ..shape import Expand
from .softmax import LogSoftmax


class OfClasses(Program):
    """A loss of classes: kernels check these themselves, and take one mean for all examples."""

    autocast = "float32"
    integers, along = ("target",), "dim"

    @classmethod
    def on_lines(cls, *args: Any) -> list | None:
        x, target, dim, ignore = args[:4]
        if len(args) > 4 and args[4]:  # dimensions in front
            return None
        try:
            made = row_kernels.forward(cls, *args)
        except IndexError:
            check_targets(target, x.shape, dim, ignore)
            raise
        if type(x) is not np.ndarray and made is not None:
            checked(made[0], target, x.shape, dim, ignore)
        return made

    @classmethod
    def arrays(cls, gs: tuple, bound: tuple) -> Any:
        return None if "lead" in cls.names and bound[4] else super().arrays(gs, bound)


class NLL(Linear, OfClasses):
    """-x at each example's class, along dimension dim; 0 where the class is `ignore`."""

    lowering = "pick_class"
    call = 'nll_loss(x, target, ignore_index=ignore, reduction="none")'
    node = "NllLoss"
    depends_on_operand, gives = True, (row_kernels.EACH,)

    @staticmethod
    def impl(x: np.ndarray, target: np.ndarray, dim: int, ignore: int) -> np.ndarray:
        if (by_line := NLL.on_lines(x, target, dim, ignore)) is not None:
            return by_line[0]
        valid, where = check_targets(target, x.shape, dim, ignore)
        if not x.shape[dim]:
            return np.zeros(target.shape, x.dtype)
        return -x[where] if valid is True else np.where(valid, -x[where], x.dtype.type(0))

    dx = lambda g, x, target, dim, ignore: AtTarget.apply(-g, target, x.shape, dim, ignore)


class MeanNLL(Linear, OfClasses):
    """Mean of NLL over all dimensions but the first `lead`, without targets equal to `ignore`."""

    lowering = "pick_class"
    call = "nll_loss(x, target, ignore_index=ignore)"
    node = "NllLoss"
    depends_on_operand, gives = True, (row_kernels.NUMBER,)

    @staticmethod
    def program(x: Tensor, target: Tensor, dim: int, ignore: int, lead: int) -> Tensor:
        return mean_of(NLL.apply(x, target, dim, ignore), target, ignore, lead)

    dx = lambda g, x, target, dim, ignore, lead: AtTarget.apply(
        -shared(g, target, ignore, lead), target, x.shape, dim, ignore
    )
    batch = lambda x, target, dim, ignore, lead: (x, target, dim + 1, ignore, lead + 1)


class AtTarget(Linear):
    """Zeros of a shape, with x at each example's class unless that is `ignore`: the transpose of -NLL."""

    autocast = "float32"
    lowering = "put_at_class"
    integers = ("target",)

    @staticmethod
    def impl(x: np.ndarray, target: np.ndarray, size: tuple, dim: int, ignore: int) -> np.ndarray:
        out, valid = zeros(size, x), target != ignore
        if not out.size:
            return out
        out[places(np.where(valid, target, 0), dim)] = np.where(valid, x, x.dtype.type(0))
        return out

    dx = lambda g, target, dim, ignore: -NLL.apply(g, target, dim, ignore)
    batch = lambda x, target, size, dim, ignore: (x, target, (x.shape[0], *size), dim + 1, ignore)
    definition = lambda x, target, size, dim, ignore: (
        at_classes(target, size[dim], dim, ignore) * counted(x, target, ignore).unsqueeze(dim)
    )


class CrossEntropy(OfClasses):
    """-log_softmax(x) at each example's class, along dimension dim, 0 where that is `ignore`; and the log_softmax."""

    call = ('cross_entropy(x, target, ignore_index=ignore, reduction="none")', "log_softmax(x, dim)")
    n_internal, gives = 1, (row_kernels.EACH, row_kernels.ALL)
    node = "NllLoss"

    @staticmethod
    def program(x: Tensor, target: Tensor, dim: int, ignore: int) -> tuple:
        log_p = LogSoftmax.apply(x, (dim,))
        return NLL.apply(log_p, target, dim, ignore), log_p

    dx = lambda g0, g1, target, out1, dim, ignore: from_logits(g0, g1, target, out1, dim, ignore)

    @classmethod
    def partial_text(cls, i: int) -> str:
        """Return the formula for the loss alone."""
        return "" if i else "g * (softmax(x) - one_hot(target))"


class FromLogits(Operation):
    """Gradient of the logits: w times (softmax - one_hot(target)); 0 where the target is `ignore`."""

    autocast = "float32"
    lowering = "softmax_minus_one_hot"
    integers, gives, along = ("target",), (row_kernels.ALL,), "dim"
    roles, scalars = {"w": row_kernels.EACH, "log_p": row_kernels.ALL}, ()

    @staticmethod
    def impl(w: np.ndarray, target: np.ndarray, log_p: np.ndarray, dim: int, ignore: int) -> np.ndarray:
        if (by_line := row_kernels.forward(FromLogits, w, target, log_p, dim, ignore)) is not None:
            return by_line[0]
        valid = target != ignore
        w = np.where(valid, w, w.dtype.type(0))
        out = np.exp(log_p) * np.expand_dims(w, dim)
        if out.size:
            out[places(np.where(valid, target, 0), dim)] -= w
        return out

    dw = lambda g, target, log_p, dim, ignore: (
        where(target != ignore, (g * log_p.exp()).sum(dim), 0.0) + NLL.apply(g, target, dim, ignore)
    )
    dlog_p = lambda g, w, target, log_p, dim, ignore: g * log_p.exp() * where(target != ignore, w, 0.0).unsqueeze(dim)
    batch = lambda w, target, log_p, dim, ignore: (w, target, log_p, dim + 1, ignore)
    definition = lambda w, target, log_p, dim, ignore: (
        (exp(log_p) - at_classes(target, log_p.shape[dim], dim, ignore)) * counted(w, target, ignore).unsqueeze(dim)
    )


class MeanCrossEntropy(OfClasses):
    """Mean of CrossEntropy over all dimensions but the first `lead`, without targets equal to `ignore`; and the log_softmax."""

    call = ("cross_entropy(x, target, ignore_index=ignore)", "log_softmax(x, dim)")
    n_internal, gives = 1, (row_kernels.NUMBER, row_kernels.ALL)
    node = "NllLoss"

    @staticmethod
    def program(x: Tensor, target: Tensor, dim: int, ignore: int, lead: int) -> tuple:
        loss, log_p = CrossEntropy.apply(x, target, dim, ignore)
        return mean_of(loss, target, ignore, lead), log_p

    dx = lambda g0, g1, target, out1, dim, ignore, lead: from_logits(
        None if g0 is None else shared(g0, target, ignore, lead), g1, target, out1, dim, ignore
    )
    batch = lambda x, target, dim, ignore, lead: (x, target, dim + 1, ignore, lead + 1)

    @classmethod
    def partial_text(cls, i: int) -> str:
        """Return the formula for the case that no target is ignored."""
        return "" if i else "g * (softmax(x) - one_hot(target)) / numel(target)"


class CountValid(NonDifferentiable):
    """Number of targets that are not `ignore`, over all dimensions but the first `lead`, as a float."""

    lowering = "count_valid"
    call = lambda target, ignore: "(target != ignore).sum()" if ignores(target, ignore) else "target.numel()"
    impl = lambda target, ignore, dtype, lead: np.add.reduce(
        target != ignore, axis=tuple(range(lead, target.ndim)), dtype=np.dtype(dtype)
    )
    batch = lambda target, ignore, dtype, lead: (target, ignore, dtype, lead + 1)


def ignores(target: Tensor, ignore: int) -> bool:
    """Return True if some target is the ignored class."""
    return bool((target == ignore).any())


def at_classes(target: Tensor, n: int, dim: int, ignore: int) -> Tensor:
    """Return 1 at each example's class and 0 elsewhere, along a dimension."""
    known = where(target == ignore, 0, target) if ignores(target, ignore) else target
    return one_hot(known, n).movedim(-1, dim)


def counted(x: Tensor, target: Tensor, ignore: int) -> Tensor:
    """Return x with 0 for ignored examples."""
    return where(target == ignore, 0.0, x) if ignores(target, ignore) else x


def check_targets(target: np.ndarray, shape: tuple, dim: int, ignore: int) -> tuple:
    """Check the targets; return the mask of those that are not `ignore` (True for all), and the index of each class."""
    if not has_numbers(target):
        return True, places(target, dim)
    valid: Any = target != ignore
    if valid.all():
        valid, safe = True, target
    else:
        safe = np.where(valid, target, 0)
    if safe.size and not (safe.min() >= 0 and safe.max() < shape[dim]) and np.any(valid):
        raise error(
            IndexError,
            "nll_loss",
            f"Target {int(safe.min() if safe.min() < 0 else safe.max())} is out of bounds for {shape[dim]} classes",
            f"give the model one output per class, counted from 0; if yours begin at 1, pass target - 1; "
            f"targets equal to ignore_index={ignore} are ignored",
        )
    return valid, places(safe, dim)


def checked(loss: np.ndarray, target: np.ndarray, shape: tuple, dim: int, ignore: int) -> np.ndarray:
    """Check the losses of a device kernel: a NaN may mean a target that is not a class, which raises IndexError."""
    if has_numbers(loss) and not math.isfinite(np.add.reduce(loss, axis=None)):
        check_targets(target, shape, dim, ignore)
    return loss


def places(target: np.ndarray, dim: int) -> tuple:
    """Return the index of each class in an array, along its dimension dim."""
    others = [np.arange(n).reshape(-1, *[1] * (target.ndim - d - 1)) for d, n in enumerate(target.shape)]
    return (*others[:dim], target, *others[dim:])


def mean_of(loss: Tensor, target: Tensor, ignore: int, lead: int) -> Tensor:
    """Return the mean over all dimensions but the first `lead`, without targets equal to `ignore`."""
    total = Sum.apply(loss, tuple(range(lead, loss.ndim)), False)
    return total / CountValid.apply(target, ignore, loss.dtype, lead)


def shared(g: Tensor, target: Tensor, ignore: int, lead: int) -> Tensor:
    """Return the gradient of a mean, divided among its elements."""
    each = g / CountValid.apply(target, ignore, g.dtype, lead)
    return Expand.apply(each.reshape((*each.shape, *[1] * (target.ndim - lead))), target.shape)


def from_logits(g: Any, g_log: Any, target: Tensor, log_probabilities: Tensor, dim: int, ignore: int) -> Tensor:
    """Return the gradient of the logits, from the loss and from the log_softmax that comes with it."""
    by_loss = None if g is None else FromLogits.apply(g, target, log_probabilities, dim, ignore)
    if g_log is None:
        return by_loss
    by_log = g_log - exp(log_probabilities) * Sum.apply(g_log, (dim,), True)
    return by_log if by_loss is None else by_loss + by_log
