"""Lowering of each operation: a rule expresses it as maps, reductions, products and views of the lowered program.

A rule takes the operation's arguments and returns its result. A rule that returns None or False declines: the operation is
then called as it is, which is correct but not fused. Pointwise operations share one rule, because their declaration contains
the formula. The class of any other names its rule (`lowering`); RULES has them, including those of product_rules.py and
row_rules.py. Next: fuse.py puts the lowered operations into loops.
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
from .captured_steps import HANDLED, CapturedStep, CapturedValue
from .ir import BOOL, F4, F8, I8, Count, Lowering, Names, Value, straight
from .product_rules import PRODUCT_RULES
from .row_rules import ROW_RULES
from .symbols import is_symbolic, plain

EXACT = {"eq", "ne", "lt", "le", "gt", "ge", "where", "add", "sub", "mul", "logical_and", "logical_or", "logical_not",
         "logical_xor", "bitwise_and", "bitwise_or"}  # fmt: skip
LOGICAL = EXACT - {"add", "sub", "mul", "lt", "le", "gt", "ge"}
# NumPy's functions for these differ from the formulas: they round half to even, handle integers, ...
NO_RULE = {"round", "floor_divide", "trunc_divide", "remainder", "fmod", "digamma", "polygamma", "lgamma", "sinc"}


def lower(low: Lowering, steps: list[CapturedStep]) -> None:
    """Lower all steps in order, each by its rule; a step without a rule, or whose rule declines, stays a call."""
    for step in steps:
        low.step = step
        rule, args = rule_for(low, step)
        count = len(low.ops)
        if rule is None or not rule(low, step, *args):
            low.forget(count)
            if folded(low, step):
                continue
            low.notes.append(f"{step.cls.name} has no fusion rule here; it runs as a call of the operation")
            call(low, step)


def rule_for(low: Lowering, step: CapturedStep) -> tuple[Callable | None, list]:
    """Return the rule for an operation on these dtypes, or None, and its arguments in the form that the rule takes."""
    name, args = step.cls.lowering, [low.v(a) for a in step.args]
    rule = RULES.get(name) or (pointwise if issubclass(step.cls, Pointwise) else None)
    kinds = {a.dtype for a in [*step.args, *step.outs] if isinstance(a, CapturedValue) and a.kind != "number"}
    if kinds - low.handled or kinds & HALVES and name in NOT_IN_HALF:
        return None, args
    return rule, args if name in MOVES else [low.widened(a) for a in args]


def folded(low: Lowering, step: CapturedStep) -> bool:
    """Compute an operation now and return True, if all of its inputs are constants."""
    args = [low.v(a) for a in step.args]
    given = [a for a in args if isinstance(a, Value)]
    known = given and all(a.kind in ("uniform", "constant") for a in given) and not any(is_symbolic(a) for a in args)
    if not known or step.written is not None:
        return False
    made = step.cls.compute(*[np.full(a.shape, a.content, a.dtype) if isinstance(a, Value) else a for a in args])
    for o, array in zip(step.outs, made if type(made) is tuple else (made,)):
        low.values[o] = low.constant(np.asarray(array), o.name)
    return True


def call(low: Lowering, step: CapturedStep) -> None:
    """Lower a step to a call of the operation itself on arrays."""
    dtype = step.outs[0].dtype if step.written is not None else None
    args, outs = [low.stored(a) for a in step.args], [low.out(k, o.dtype) for k, o in enumerate(step.outs)]
    low.add(
        "call", [a for a in args if isinstance(a, Value)], outs, step.cls.name, cls=step.cls, args=args, dtype=dtype
    )


def pointwise(low: Lowering, step: CapturedStep, *args: Any) -> Any:
    """Lower a pointwise operation to a map of its formula."""
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
    if target not in HANDLED or any(isinstance(a, Value) and a.dtype != BOOL for a in args[: cls.n_conditions]):
        return False
    if any(isinstance(a, float) and target.kind != "f" for a in args):
        return False
    needs = formula.needs([cls.kernel], target, low.target)
    if needs is None:
        return False
    out = low.out()
    if cls.name == "mul" and any(is_one(a, target) for a in args):
        rest = next((a for a in args if not is_one(a, target)), args[0])
        return low.map("x", {"x": rest}, out.shape, target, out, name=cls.name, kinds=[target])
    switches = [BOOL if type(a) is bool else target for a in args[n:]]
    kinds = [BOOL] * cls.n_conditions + [target] * (n - cls.n_conditions) + switches
    natural, given = BOOL if cls.kind == "bool" else target, dict(zip(cls.names, args))
    return low.map(expression(cls, args, target), given, out.shape, natural, out, needs, cls.name, kinds)


def expression(cls: Any, args: tuple, target: np.dtype) -> ast.expr:
    """Return the formula on scalars; a small integer exponent stays an integer, so that powers become products."""
    text = formula.text(cls.kernel)
    assert text is not None
    tree = ast.parse(text.strip(), mode="eval").body
    if cls.name == "pow" and type(args[1]) in (int, float) and args[1] == int(args[1]) and 0 < args[1] <= 4:
        tree = Names({"y": ast.Constant(int(args[1]))}).visit(tree)
    return formula.Scalar(target).visit(tree)


def example(a: Any, given: Any) -> Any:
    """Return an operand's stand-in for type promotion; numbers in a formula take part as 0-d tensors."""
    if isinstance(a, Value):
        return np.empty((1,) * len(a.shape), a.dtype)
    return np.empty((), F4 if given.dtype in HALVES else given.dtype) if isinstance(given, CapturedValue) else plain(a)


def is_one(a: Any, target: np.dtype) -> bool:
    """Return True if an operand is 1 everywhere, as the first gradient of a backward is."""
    return isinstance(a, Value) and a.kind == "uniform" and a.content == 1 and a.dtype == target


def simple(a: Any) -> bool:
    """Return True if a map can read `a`."""
    return isinstance(a, (Value, bool, int, float))


def reduce_rule(kind: str, dtypes: str) -> Callable:
    def rule(low: Lowering, step: CapturedStep, x: Value, dims: tuple, keepdim: bool) -> Any:
        return x.dtype.kind in dtypes and low.reduction(kind, x, dims, keepdim, low.out())

    return rule


def logical_rule(counted: str, test: str) -> Callable:
    """Return a rule for `all` or `any`: count elements by `counted`, then apply `test` to the count."""

    def rule(low: Lowering, step: CapturedStep, x: Value, dims: tuple, keepdim: bool) -> Any:
        out = low.out()
        count = low.reduction("sum", low.map(counted, {"x": x}, x.shape, I8), dims, keepdim)
        return low.map(test, {"n": count}, out.shape, BOOL, out)

    return rule


def mean_rule(low: Lowering, step: CapturedStep, x: Value, dims: tuple, keepdim: bool) -> Any:
    if x.dtype.kind != "f":
        return False
    out = low.out()
    total = low.reduction("sum", x, dims, keepdim)
    return low.map("x / n", {"x": total, "n": Count(x, dims)}, out.shape, out.dtype, out, name="mean")


def scatter_rule(low: Lowering, step: CapturedStep, x: Value, dim: int, index: Value, src: Any) -> Any:
    fits = isinstance(src, Value) and len(x.shape) == 2 and dim == 1 and index.dtype == I8 and src.shape == index.shape
    if not fits or src.dtype != x.dtype or index.shape[0] > x.shape[0] or step.written is not None:
        return False
    return low.add("scatter", [x, index, src], [low.out()], "scatter_add", dim=1)


def masked_fill_rule(low: Lowering, step: CapturedStep, x: Value, mask: Value, value: Any) -> Any:
    same = not isinstance(value, Value) or value.dtype == x.dtype
    if not simple(value) or x.dtype.kind != "f" or mask.dtype != BOOL or not same:
        return False
    out = low.out()
    given = {"x": x, "mask": mask, "value": value}
    return low.map("value if mask else x", given, out.shape, x.dtype, out, name="masked_fill")


def move_rule(move: Callable) -> Callable:
    """Return a rule that lowers a view, by calling `move` on its argument."""
    return lambda low, step, x, how: move(low, x, how, low.out(dtype=x.dtype))


def unindex_rule(low: Lowering, step: CapturedStep, x: Value, size: tuple, index: tuple) -> Any:
    out, place = low.out(dtype=x.dtype), low.new(x.shape, x.dtype)
    if math.prod(x.shape) == math.prod(out.shape):
        return low.reshape(x, size, out)
    if not low.alias_index(out, place, index):
        return False
    return low.add("fill", [x], [out], "unindex", places=[place])


def stack_rule(low: Lowering, step: CapturedStep, dim: int, *xs: Value) -> Any:
    return joined(low, xs, [(slice(None),) * dim + (k,) for k in range(len(xs))], "stack")


def cat_rule(low: Lowering, step: CapturedStep, dim: int, starts: tuple, *xs: Value) -> Any:
    return joined(low, xs, [(slice(None),) * dim + (slice(a, b),) for a, b in itertools.pairwise(starts)], "cat")


def replace_rule(low: Lowering, step: CapturedStep, x: Value, part: Value, view: type, *args: Any) -> Any:
    return view.lowering == "part" and joined(low, (x, part), [(slice(None),) * len(x.shape), *args], "replace")


def joined(low: Lowering, xs: tuple, index: list[tuple], name: str) -> Any:
    """Fill disjoint places of an array, which together cover all of it."""
    out, places = low.out(), [low.new(x.shape, x.dtype) for x in xs]
    fits = out.dtype.kind in "fi" and all(x.dtype == out.dtype and 0 not in x.shape for x in xs)
    if not fits or not all(low.alias_index(out, place, i) for place, i in zip(places, index)):
        return False
    return low.add("fill", [*xs], [out], name, places=places)


def to_rule(low: Lowering, step: CapturedStep, x: Any, dtype: Any = None) -> Any:
    """Convert x to the dtype of the result."""
    out = low.out(dtype=step.outs[0].dtype)
    own = x.dtype if isinstance(x, Value) else I8 if isinstance(plain(x), int) else F8
    if dtypes.kind(own) == "f" and dtypes.kind(out.dtype) != "f":
        return False
    if low.is_product_or_sum(x) and (x.dtype, x.shape) == (out.dtype, out.shape):
        return low.alias(x, out, straight(x))  # a copy, such as a gradient that a leaf keeps: no value changes later
    return low.map("x", {"x": x}, out.shape, own, out)


def write_rule(low: Lowering, step: CapturedStep, x: Value, y: Any) -> Any:
    """Lower copy_ and fill_: the new content of the memory."""
    return simple(y) and to_rule(low, step, y)


MOVES = {  # pure data movement: halves stay halves
    "repeat": move_rule(lambda low, x, size, out: low.alias_expand(x, out)),
    "part": move_rule(lambda low, x, index, out: low.alias_index(x, out, index)),
    "reorder": move_rule(Lowering.permuted),
    "regroup": move_rule(Lowering.reshape),
    "fill_part": unindex_rule,
}
PLACED = {  # these read memory as it is, like products; for halves they run as calls
    "scatter": scatter_rule,
    "replace_part": replace_rule,
    "join_new": stack_rule,
    "join": cat_rule,
}
RULES: dict[str, Callable] = {
    **PRODUCT_RULES,
    **ROW_RULES,
    **MOVES,
    **PLACED,
    "maximum": reduce_rule("max", "f"),
    "total": reduce_rule("sum", "if"),
    "average": mean_rule,
    "none_zero": logical_rule("np.int64(x == 0)", "n == 0"),
    "some_nonzero": logical_rule("np.int64(x != 0)", "n > 0"),
    "convert": to_rule,
    "choose": masked_fill_rule,
    "overwrite": write_rule,
}
NOT_IN_HALF = {*PRODUCT_RULES, *PLACED, "pick_class"}
