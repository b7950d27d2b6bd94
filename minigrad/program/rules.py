"""How each operation is lowered: a rule writes it as maps, reductions, products and views of the lowered program.

A rule takes the operation's arguments and returns whether it has lowered them; one that declines leaves the operation to be
called as it is, which is right but not fused.  Pointwise operations share one rule, for their declaration holds the formula;
RULES has the others.  The next stop is fuse.py, which puts the results into loops.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import dtypes
from ..kernels import formula
from ..ops.families import Pointwise
from .lowered import BOOL, F4, F8, HANDLED, I8, Count, Lowering, Names, V
from .products import affine_rule, einsum_rule, product_rule
from .reading import Number, plain
from .steps import Step, Value

EXACT = {"eq", "ne", "lt", "le", "gt", "ge", "where", "add", "sub", "mul", "logical_and", "logical_or", "logical_not",
         "logical_xor", "bitwise_and", "bitwise_or"}  # fmt: skip
LOGICAL = EXACT - {"add", "sub", "mul", "lt", "le", "gt", "ge"}
# NumPy's functions for these do what the formulas do not: they round half to even, know of integers, ...
NO_RULE = {"round", "floor_divide", "trunc_divide", "remainder", "fmod", "digamma", "polygamma", "lgamma", "sinc"}
VEC = "minigrad.kernels.vecmath"


def lower(low: Lowering, steps: list[Step]) -> None:
    """All steps, in order, each by its rule; what has none, or whose rule declines, stays a call."""
    for step in steps:
        low.step, count = step, len(low.ops)
        rule = RULES.get(step.cls.__name__) or (pointwise if issubclass(step.cls, Pointwise) else None)
        arrays = [a for a in [*step.args, *step.outs] if isinstance(a, Value)]
        if rule is None or any(a.dtype not in HANDLED for a in arrays) or not rule(low, step, *map(low.v, step.args)):
            low.forget(count)
            if folded(low, step):
                continue
            low.notes.append(f"{step.cls.name} has no rule here and runs as a call of the operation")
            call(low, step)


def folded(low: Lowering, step: Step) -> bool:
    """Whether an operation is of constants alone: it is computed here."""
    args = [low.v(a) for a in step.args]
    given = [a for a in args if isinstance(a, V)]
    known = (
        given and all(a.kind in ("uniform", "constant") for a in given) and not any(isinstance(a, Number) for a in args)
    )
    if not known or step.written is not None:
        return False
    made = step.cls.compute(*[np.full(a.shape, a.content, a.dtype) if isinstance(a, V) else a for a in args])
    for o, array in zip(step.outs, made if type(made) is tuple else (made,)):
        low.values[o] = low.constant(np.asarray(array), o.name)
    return True


def call(low: Lowering, step: Step) -> None:
    """The operation itself, called on arrays."""
    dtype = step.outs[0].dtype if step.written is not None else None
    args = [low.v(a) for a in step.args]
    low.add("call", [a for a in args if isinstance(a, V)], [low.out(k) for k in range(len(step.outs))],
            step.cls.name, cls=step.cls, args=args, dtype=dtype)  # fmt: skip


def pointwise(low: Lowering, step: Step, *args: Any) -> bool:
    """One formula over the elements."""
    cls = step.cls
    n = len(args) - cls.statics
    if cls.name in NO_RULE or len(args) != len(cls.names) or any(not simple(a) for a in args):
        return False
    raw = [np.empty((1,) * len(a.shape), a.dtype) if isinstance(a, V) else a for a in args[:n]]
    target = dtypes.common([plain(a) for a in raw[cls.masks :]])
    if cls.kind == "float" and target.kind != "f":
        target = dtypes.default()
    if target.kind != "f" and (cls.name not in EXACT or target == BOOL and cls.name not in LOGICAL):
        return False
    if target not in HANDLED or any(isinstance(a, V) and a.dtype != BOOL for a in args[: cls.masks]):
        return False
    if any(isinstance(a, float) and target.kind != "f" for a in args):
        return False
    needs = formula.needs([cls.kernel], target)
    if needs is None:
        return False
    if cls.name == "mul" and any(one(a, target) for a in args):
        low.add("map", [a for a in args if not one(a, target)][:1] or [args[0]], [low.out()], cls.name,
                tree=ast.parse("x", mode="eval").body, params=("x",), kinds=[target], needs={}, natural=target)  # fmt: skip
        return True
    made = expression(cls, args, target)
    kinds = [BOOL] * cls.masks + [target] * (len(args) - cls.masks)
    natural = BOOL if cls.kind == "bool" else target
    low.add(
        "map", list(args), [low.out()], cls.name, tree=made, params=cls.names, kinds=kinds, needs=needs, natural=natural
    )
    return True


def expression(cls: Any, args: tuple, target: np.dtype) -> ast.expr:
    """The formula for single numbers; a whole exponent stays one, so that powers are products."""
    text = formula.text(cls.kernel)
    assert text is not None
    tree = ast.parse(text.strip(), mode="eval").body
    if cls.name == "pow" and type(args[1]) in (int, float) and args[1] == int(args[1]) and 0 < args[1] <= 4:
        tree = Names({"y": ast.Constant(int(args[1]))}).visit(tree)
    return formula.Scalar(target).visit(tree)


def one(a: Any, target: np.dtype) -> bool:
    """Whether an operand is 1 throughout: gradients begin with that."""
    return isinstance(a, V) and a.kind == "uniform" and a.content == 1 and a.dtype == target


def simple(a: Any) -> bool:
    """Whether a map can take it."""
    return isinstance(a, (V, bool, int, float))


def reduce_rule(kind: str, dtypes: str) -> Callable:
    def rule(low: Lowering, step: Step, x: V, dims: tuple, keepdim: bool) -> bool:
        return x.dtype.kind in dtypes and bool(low.reduction(kind, x, dims, keepdim, low.out()))

    return rule


def logical_rule(counted: str, test: str) -> Callable:
    """Whether as many elements are zero, or not zero, as it takes."""

    def rule(low: Lowering, step: Step, x: V, dims: tuple, keepdim: bool) -> bool:
        out = low.out()
        count = low.reduction("sum", low.map(counted, {"x": x}, x.shape, I8), dims, keepdim)
        low.map(test, {"n": count}, out.shape, BOOL, out)
        return True

    return rule


def mean_rule(low: Lowering, step: Step, x: V, dims: tuple, keepdim: bool) -> bool:
    if x.dtype.kind != "f":
        return False
    out = low.out()
    total = low.reduction("sum", x, dims, keepdim)
    low.map("x / n", {"x": total, "n": Count(x, dims)}, out.shape, out.dtype, out)
    return True


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
    out, shifted = low.out(), shifted_by_peak(low, x, dims)
    low.map("x - lost", {"x": shifted, "lost": lost_of(low, shifted, dims)}, x.shape, x.dtype, out)
    return True


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


def cross_entropy_rule(low: Lowering, step: Step, x: V, target: V, dim: int, ignore: int) -> bool:
    if not by_row(x, target, dim):
        return False
    losses(low, x, target, ignore, low.out(0))
    return True


def mean_cross_entropy_rule(low: Lowering, step: Step, x: V, target: V, dim: int, ignore: int, lead: int) -> bool:
    if not by_row(x, target, dim):
        return False
    loss = low.new(target.shape, x.dtype, "losses")
    losses(low, x, target, ignore, loss)
    total = low.reduction("sum", loss, tuple(range(lead, len(loss.shape))), False)
    count = number_valid(low, target, ignore, x.dtype, lead)
    low.map("x / n", {"x": total, "n": count}, total.shape, x.dtype, low.out(0))
    return True


def losses(low: Lowering, x: V, target: V, ignore: int, loss: V) -> None:
    """The loss of each row, and the log_softmax, which is the step's second result."""
    dims = (len(x.shape) - 1,)
    top = finite_peak(low, x, dims)
    shifted = low.map("x - t", {"x": x, "t": top}, x.shape, x.dtype, name="shifted")
    ins, log_p = {"x": shifted, "lost": lost_of(low, shifted, dims)}, low.out(1)
    low.map("x - lost", ins, x.shape, x.dtype, log_p, name="log_softmax")
    low.add("pick", [log_p, target], [loss], "pick", ignore=int(ignore))


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


def nll_rule(low: Lowering, step: Step, x: V, target: V, dim: int, ignore: int) -> bool:
    if not by_row(x, target, dim):
        return False
    low.add("pick", [x, target], [low.out()], "pick", ignore=int(ignore))
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


def scatter_rule(low: Lowering, step: Step, x: V, dim: int, index: V, src: Any) -> bool:
    fits = isinstance(src, V) and len(x.shape) == 2 and dim == 1 and index.dtype == I8 and src.shape == index.shape
    if not fits or src.dtype != x.dtype or index.shape[0] > x.shape[0] or step.written is not None:
        return False
    low.add("scatter", [x, index, src], [low.out()], "scatter_add")
    return True


def masked_fill_rule(low: Lowering, step: Step, x: V, mask: V, value: Any) -> bool:
    same = not isinstance(value, V) or value.dtype == x.dtype
    if not simple(value) or x.dtype.kind != "f" or mask.dtype != BOOL or not same:
        return False
    out = low.out()
    low.map("value if mask else x", {"x": x, "mask": mask, "value": value}, out.shape, x.dtype, out, name="masked_fill")
    return True


def permute_rule(low: Lowering, step: Step, x: V, order: tuple) -> bool:
    return low.alias_permute(x, low.out(), order)


def expand_rule(low: Lowering, step: Step, x: V, size: tuple) -> bool:
    out = low.out()
    lead = len(out.shape) - len(x.shape)
    if out.shape == x.shape:
        return low.alias_permute(x, out, tuple(range(lead + len(x.shape))))
    ones = [d for d, n in enumerate(x.shape) if n == 1]
    dims = [None if d < lead or d - lead in ones else d - lead for d in range(len(out.shape))]
    return low.alias(x, out, lambda index: ["0" if d in ones else i for d, i in enumerate(index[lead:])], dims, "A")


def reshape_rule(low: Lowering, step: Step, x: V, size: tuple) -> bool:
    return bool(low.reshape(x, low.out()))


def index_rule(low: Lowering, step: Step, x: V, index: tuple) -> bool:
    return low.alias_index(x, low.out(), index)


def unindex_rule(low: Lowering, step: Step, x: V, size: tuple, index: tuple) -> bool:
    out, place = low.out(), low.new(x.shape, x.dtype)
    if not low.alias_index(out, place, index):
        return False
    low.add("fill", [x], [out], "unindex", place=place)
    return True


def copy_rule(low: Lowering, step: Step, x: V) -> bool:
    out = low.out()
    low.map("x", {"x": x}, out.shape, out.dtype, out)
    return True


def to_rule(low: Lowering, step: Step, x: V, dtype: Any) -> bool:
    out = low.out()
    if out.dtype not in HANDLED or (x.dtype.kind == "f" and out.dtype.kind != "f"):
        return False
    low.map("x", {"x": x}, out.shape, x.dtype, out)
    return True


def write_rule(low: Lowering, step: Step, x: V, y: Any) -> bool:
    """copy_, fill_: what the memory holds afterwards."""
    if not simple(y) or isinstance(y, V) and y.dtype.kind == "f" and x.dtype.kind != "f":
        return False
    if not isinstance(y, V) and x.dtype.kind != "f":
        return False
    out = low.out()
    low.map("y", {"y": y}, out.shape, y.dtype if isinstance(y, V) else out.dtype, out)
    return True


RULES: dict[str, Callable] = {
    **dict.fromkeys(("MatMul", "Mm", "Bmm", "Mv", "Dot"), product_rule),
    **dict.fromkeys(("Amax", "MaxOfAll"), reduce_rule("max", "f")),
    **dict.fromkeys(("Alias", "Clone", "Contiguous"), copy_rule),
    "Affine": affine_rule,
    "AllOf": logical_rule("np.int64(x == 0)", "n == 0"),
    "AnyOf": logical_rule("np.int64(x != 0)", "n > 0"),
    "AtTarget": at_target_rule,
    "Copy": write_rule,
    "CountValid": count_valid_rule,
    "CrossEntropy": cross_entropy_rule,
    "Einsum": einsum_rule,
    "Expand": expand_rule,
    "Index": index_rule,
    "FromLogits": from_logits_rule,
    "LogSoftmax": log_softmax_rule,
    "LayerNorm": layer_norm_rule,
    "Logsumexp": logsumexp_rule,
    "MaskedFill": masked_fill_rule,
    "Mean": mean_rule,
    "MeanCrossEntropy": mean_cross_entropy_rule,
    "NLL": nll_rule,
    "Permute": permute_rule,
    "Reshape": reshape_rule,
    "ScatterAdd": scatter_rule,
    "Softmax": softmax_rule,
    "Standardize": standardize_rule,
    "Sum": reduce_rule("sum", "if"),
    "To": to_rule,
    "Unindex": unindex_rule,
}
