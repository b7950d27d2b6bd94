"""Losses for classes: cross-entropy from logits, and the negative log-likelihood.

The log-softmax of cross-entropy is a second, hidden output (which PyTorch saves) with a separate gradient, so that one
operation serves the plain loss, label smoothing and derivatives of any order.  Other losses are in loss.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays.dtypes import FLOATS
from ...arrays.kinds import on_device, zeros
from ...arrays.meta import has_numbers
from ...core.tensor import Tensor
from ...errors import error, warn
from ...kernels import row_kernels
from ...tensors.printing import error_notes
from ..base.families import Linear, NonDifferentiable, Operation
from ..compare import where
from ..elementary import exp
from ..masks import one_hot
from ..products import one_dtype
from ..reduce import Sum
from ..rows import OnLines, Rows, is_small
from ..shape import Expand
from .entry import functional
from .loss import averaged, chosen, expect_logarithms, reduced, warn_probabilities
from .softmax import LogSoftmax, log_softmax


class OfClasses(OnLines):
    """A loss of classes: kernels check these themselves, and take one mean for all examples."""

    integers = ("target",)

    @classmethod
    def on_lines(cls, *args: Any) -> list | None:
        x, target, dim, ignore, *lead = args
        if any(lead) or is_small(x):
            return None
        try:
            made = super().on_lines(*args)
        except IndexError:
            check_targets(target, x.shape, dim, ignore)
            raise
        if made is not None and on_device(x):
            checked(made[0], target, x.shape, dim, ignore)
        return made

    @classmethod
    def arrays(cls, gs: tuple, bound: tuple) -> Any:
        return None if "lead" in cls.names and bound[4] else super().arrays(gs, bound)


class NLL(OfClasses, Linear):
    """-x at each example's class, along dimension dim; 0 where the class is `ignore`."""

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
    batch = lambda x, target, dim, ignore: (x, target, dim + 1, ignore)


class MeanNLL(OfClasses, Linear):
    """Mean of NLL over all dimensions but the first `lead`, without targets equal to `ignore`."""

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


class CrossEntropy(OfClasses, Rows):
    """-log_softmax(x) at each example's class, along dimension dim, 0 where that is `ignore`; and the log_softmax."""

    call = ('cross_entropy(x, target, ignore_index=ignore, reduction="none")', "log_softmax(x, dim)")
    n_internal, gives = 1, (row_kernels.EACH, row_kernels.ALL)
    node = "NllLoss"

    @staticmethod
    def program(x: Tensor, target: Tensor, dim: int, ignore: int) -> tuple:
        log_p = LogSoftmax.apply(x, (dim,))
        return NLL.apply(log_p, target, dim, ignore), log_p

    dx = lambda g0, g1, target, out1, dim, ignore: from_logits(g0, g1, target, out1, dim, ignore)
    batch = lambda x, target, dim, ignore: (x, target, dim + 1, ignore)

    @classmethod
    def partial_text(cls, i: int) -> str:
        """Return the formula for the loss alone."""
        return "" if i else "g * (softmax(x) - one_hot(target))"


class FromLogits(Operation):
    """Gradient of the logits: w times (softmax - one_hot(target)); 0 where the target is `ignore`."""

    integers, gives = ("target",), (row_kernels.ALL,)

    @staticmethod
    def impl(w: np.ndarray, target: np.ndarray, log_p: np.ndarray, dim: int, ignore: int) -> np.ndarray:
        by_line = None if is_small(log_p) else row_kernels.forward(FromLogits, w, target, log_p, dim, ignore)
        if by_line is not None:
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


class MeanCrossEntropy(OfClasses, Rows):
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
        raise error(
            RuntimeError,
            "cross_entropy",
            f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}",
            "write label_smoothing=0.1",
        )
    dim = class_dim("cross_entropy", input)
    classes = input._sizes[dim]
    if input._edge is not None:
        expect_logits(input, target, classes)
    if target._np_dtype in FLOATS:
        if ignore_index >= 0:
            raise error(
                RuntimeError,
                "cross_entropy",
                f"ignore_index={ignore_index} is not supported for probabilities as targets",
                "give classes as integers, or set the probabilities of ignored targets to 0",
            )
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
            "write target.long() if it holds classes: one integer for each example",
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
    dim = class_dim("nll_loss", input)
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


def class_dim(who: str, input: Tensor) -> int:
    """Return the dimension of the classes: 1, or 0 without a batch."""
    if not input.ndim:
        raise error(
            RuntimeError,
            who,
            "expected an input of at least one dimension, the classes, got a 0-d tensor",
            "pass logits of shape (batch, classes), or (classes,) for one example",
        )
    return min(input.ndim - 1, 1)


def check_target(who: str, input: Tensor, target: Tensor, weight: Tensor | None, dim: int) -> None:
    """Check that the target has the input's shape without the classes, and the weight one value per class."""
    if target._np_dtype.kind not in "iu":
        raise error(RuntimeError, who, f"expected integer classes as target, got {target.dtype}", "write target.long()")
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
        raise error(
            RuntimeError,
            who,
            f"weight needs one value for each of the {input.shape[dim]} classes, got shape {tuple(weight.shape)}",
            f"pass a weight of shape ({input.shape[dim]},): ones({input.shape[dim]})",
        )


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
