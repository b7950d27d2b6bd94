"""How each operation is lowered: a rule writes it as maps, reductions, products and views of the lowered program.

A rule takes the operation's arguments and returns what it has made of them; one that returns nothing, or False, declines, and
leaves the operation to be called as it is, which is right but not fused.  Pointwise operations share one rule, for their
declaration holds the formula; RULES has the others, also those of product_rules.py and row_rules.py.  The next stop is
fuse.py, which puts the results into loops.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import dtypes
from ..arrays.dtypes import HALVES
from ..kernels import formula
from ..ops.base.families import Pointwise
from ..ops.index import Index
from .captured_steps import HANDLED, Step, Value
from .ir import BOOL, F4, F8, I8, Count, Lowering, Names, V
from .product_rules import PRODUCT_RULES
from .row_rules import ROW_RULES
from .symbols import is_symbolic, plain

EXACT = {"eq", "ne", "lt", "le", "gt", "ge", "where", "add", "sub", "mul", "logical_and", "logical_or", "logical_not",
         "logical_xor", "bitwise_and", "bitwise_or"}  # fmt: skip
LOGICAL = EXACT - {"add", "sub", "mul", "lt", "le", "gt", "ge"}
# NumPy's functions for these do what the formulas do not: they round half to even, know of integers, ...
NO_RULE = {"round", "floor_divide", "trunc_divide", "remainder", "fmod", "digamma", "polygamma", "lgamma", "sinc"}


def lower(low: Lowering, steps: list[Step]) -> None:
    """All steps, in order, each by its rule; what has none, or whose rule declines, stays a call."""
    for step in steps:
        low.step = step
        rule, args = rule_for(low, step)
        count = len(low.ops)
        if rule is None or not rule(low, step, *args):
            low.forget(count)
            if folded(low, step):
                continue
            low.notes.append(f"{step.cls.name} has no rule here and runs as a call of the operation")
            call(low, step)


def rule_for(low: Lowering, step: Step) -> tuple[Callable | None, list]:
    """The rule for an operation on these dtypes, if there is one, and its arguments as the rule takes them."""
    name, args = step.cls.__name__, [low.v(a) for a in step.args]
    rule = RULES.get(name) or (pointwise if issubclass(step.cls, Pointwise) else None)
    kinds = {a.dtype for a in [*step.args, *step.outs] if isinstance(a, Value) and a.kind != "number"}
    if kinds - low.handled or kinds & HALVES and name in WHOLE:
        return None, args
    return rule, args if name in MOVES else [low.widened(a) for a in args]


def folded(low: Lowering, step: Step) -> bool:
    """Whether an operation is of constants alone: it is computed here."""
    args = [low.v(a) for a in step.args]
    given = [a for a in args if isinstance(a, V)]
    known = given and all(a.kind in ("uniform", "constant") for a in given) and not any(is_symbolic(a) for a in args)
    if not known or step.written is not None:
        return False
    made = step.cls.compute(*[np.full(a.shape, a.content, a.dtype) if isinstance(a, V) else a for a in args])
    for o, array in zip(step.outs, made if type(made) is tuple else (made,)):
        low.values[o] = low.constant(np.asarray(array), o.name)
    return True


def call(low: Lowering, step: Step) -> None:
    """The operation itself, called on arrays."""
    dtype = step.outs[0].dtype if step.written is not None else None
    args, outs = [low.stored(a) for a in step.args], [low.out(k, o.dtype) for k, o in enumerate(step.outs)]
    low.add("call", [a for a in args if isinstance(a, V)], outs, step.cls.name, cls=step.cls, args=args, dtype=dtype)


def pointwise(low: Lowering, step: Step, *args: Any) -> Any:
    """One formula over the elements."""
    cls = step.cls
    n = len(args) - cls.n_settings
    if cls.name in NO_RULE or len(args) != len(cls.names) or any(not simple(a) for a in args):
        return False
    operands = slice(cls.n_conditions, n)
    target = dtypes.common([example(a, given) for a, given in zip(args[operands], step.args[operands])])
    if cls.kind == "float" and target.kind != "f":
        target = dtypes.default()
    if target.kind != "f" and (cls.name not in EXACT or target == BOOL and cls.name not in LOGICAL):
        return False
    if target not in HANDLED or any(isinstance(a, V) and a.dtype != BOOL for a in args[: cls.n_conditions]):
        return False
    if any(isinstance(a, float) and target.kind != "f" for a in args):
        return False
    needs = formula.needs([cls.kernel], target, low.target)
    if needs is None:
        return False
    out = low.out()
    if cls.name == "mul" and any(one(a, target) for a in args):
        rest = next((a for a in args if not one(a, target)), args[0])
        return low.map("x", {"x": rest}, out.shape, target, out, name=cls.name, kinds=[target])
    switches = [BOOL if type(a) is bool else target for a in args[n:]]
    kinds = [BOOL] * cls.n_conditions + [target] * (n - cls.n_conditions) + switches
    natural, given = BOOL if cls.kind == "bool" else target, dict(zip(cls.names, args))
    return low.map(expression(cls, args, target), given, out.shape, natural, out, needs, cls.name, kinds)


def expression(cls: Any, args: tuple, target: np.dtype) -> ast.expr:
    """The formula for single numbers; a whole exponent stays one, so that powers are products."""
    text = formula.text(cls.kernel)
    assert text is not None
    tree = ast.parse(text.strip(), mode="eval").body
    if cls.name == "pow" and type(args[1]) in (int, float) and args[1] == int(args[1]) and 0 < args[1] <= 4:
        tree = Names({"y": ast.Constant(int(args[1]))}).visit(tree)
    return formula.Scalar(target).visit(tree)


def example(a: Any, given: Any) -> Any:
    """Return an operand's part in type promotion; numbers in a formula are 0-d tensors and take part as such."""
    if isinstance(a, V):
        return np.empty((1,) * len(a.shape), a.dtype)
    return np.empty((), F4 if given.dtype in HALVES else given.dtype) if isinstance(given, Value) else plain(a)


def one(a: Any, target: np.dtype) -> bool:
    """Return whether an operand is 1 everywhere, as the gradient is where backward begins."""
    return isinstance(a, V) and a.kind == "uniform" and a.content == 1 and a.dtype == target


def simple(a: Any) -> bool:
    """Whether a map can take it."""
    return isinstance(a, (V, bool, int, float))


def reduce_rule(kind: str, dtypes: str) -> Callable:
    def rule(low: Lowering, step: Step, x: V, dims: tuple, keepdim: bool) -> Any:
        return x.dtype.kind in dtypes and low.reduction(kind, x, dims, keepdim, low.out())

    return rule


def logical_rule(counted: str, test: str) -> Callable:
    """Whether as many elements are zero, or not zero, as it takes."""

    def rule(low: Lowering, step: Step, x: V, dims: tuple, keepdim: bool) -> Any:
        out = low.out()
        count = low.reduction("sum", low.map(counted, {"x": x}, x.shape, I8), dims, keepdim)
        return low.map(test, {"n": count}, out.shape, BOOL, out)

    return rule


def mean_rule(low: Lowering, step: Step, x: V, dims: tuple, keepdim: bool) -> Any:
    if x.dtype.kind != "f":
        return False
    out = low.out()
    total = low.reduction("sum", x, dims, keepdim)
    return low.map("x / n", {"x": total, "n": Count(x, dims)}, out.shape, out.dtype, out, name="mean")


def scatter_rule(low: Lowering, step: Step, x: V, dim: int, index: V, src: Any) -> Any:
    fits = isinstance(src, V) and len(x.shape) == 2 and dim == 1 and index.dtype == I8 and src.shape == index.shape
    if not fits or src.dtype != x.dtype or index.shape[0] > x.shape[0] or step.written is not None:
        return False
    return low.add("scatter", [x, index, src], [low.out()], "scatter_add", dim=1)


def masked_fill_rule(low: Lowering, step: Step, x: V, mask: V, value: Any) -> Any:
    same = not isinstance(value, V) or value.dtype == x.dtype
    if not simple(value) or x.dtype.kind != "f" or mask.dtype != BOOL or not same:
        return False
    out = low.out()
    given = {"x": x, "mask": mask, "value": value}
    return low.map("value if mask else x", given, out.shape, x.dtype, out, name="masked_fill")


def move_rule(move: Callable) -> Callable:
    """See x otherwise."""
    return lambda low, step, x, how: move(low, x, how, low.out(dtype=x.dtype))


def unindex_rule(low: Lowering, step: Step, x: V, size: tuple, index: tuple) -> Any:
    out, place = low.out(dtype=x.dtype), low.new(x.shape, x.dtype)
    if math.prod(x.shape) == math.prod(out.shape):
        return low.reshape(x, size, out)
    if not low.alias_index(out, place, index):
        return False
    return low.add("fill", [x], [out], "unindex", places=[place])


def stack_rule(low: Lowering, step: Step, dim: int, *xs: V) -> Any:
    return joined(low, xs, [(slice(None),) * dim + (k,) for k in range(len(xs))], "stack")


def cat_rule(low: Lowering, step: Step, dim: int, starts: tuple, *xs: V) -> Any:
    return joined(low, xs, [(slice(None),) * dim + (slice(a, b),) for a, b in itertools.pairwise(starts)], "cat")


def replace_rule(low: Lowering, step: Step, x: V, part: V, view: type, *args: Any) -> Any:
    return view is Index and joined(low, (x, part), [(slice(None),) * len(x.shape), *args], "replace")


def joined(low: Lowering, xs: tuple, index: list[tuple], name: str) -> Any:
    """Fill the places of an array with others, one after the other, which cover all of it."""
    out, places = low.out(), [low.new(x.shape, x.dtype) for x in xs]
    fits = out.dtype.kind in "fi" and all(x.dtype == out.dtype and 0 not in x.shape for x in xs)
    if not fits or not all(low.alias_index(out, place, i) for place, i in zip(places, index)):
        return False
    return low.add("fill", [*xs], [out], name, places=places)


def to_rule(low: Lowering, step: Step, x: Any, dtype: Any = None) -> Any:
    """Convert x to the dtype of the result."""
    out = low.out(dtype=step.outs[0].dtype)
    own = x.dtype if isinstance(x, V) else I8 if isinstance(plain(x), int) else F8
    if dtypes.kind(own) == "f" and dtypes.kind(out.dtype) != "f":
        return False
    return low.map("x", {"x": x}, out.shape, own, out)


def write_rule(low: Lowering, step: Step, x: V, y: Any) -> Any:
    """copy_, fill_: what the memory holds afterwards."""
    return simple(y) and to_rule(low, step, y)


MOVES = {  # these compute nothing: halves stay what they are
    "Expand": move_rule(lambda low, x, size, out: low.alias_expand(x, out)),
    "Index": move_rule(lambda low, x, index, out: low.alias_index(x, out, index)),
    **dict.fromkeys(("Permute", "Transpose", "T"), move_rule(Lowering.permuted)),
    "Reshape": move_rule(Lowering.reshape), "Unindex": unindex_rule,
}  # fmt: skip
RULES: dict[str, Callable] = {
    **PRODUCT_RULES,
    **ROW_RULES,
    **dict.fromkeys(("Amax", "MaxOfAll"), reduce_rule("max", "f")),
    **dict.fromkeys(("Alias", "Clone", "Contiguous", "To"), to_rule),
    "AllOf": logical_rule("np.int64(x == 0)", "n == 0"),
    "AnyOf": logical_rule("np.int64(x != 0)", "n > 0"),
    "Sum": reduce_rule("sum", "if"), "Mean": mean_rule, "MaskedFill": masked_fill_rule, "ScatterAdd": scatter_rule,
    "Copy": write_rule, "Replace": replace_rule, "Stack": stack_rule, "Cat": cat_rule,
    **MOVES,
}  # fmt: skip
# these are given memory as it is: halves are left to a call
WHOLE = {*PRODUCT_RULES, "MeanNLL", "NLL", "ScatterAdd", "Replace", "Stack", "Cat"}
