"""The spelling of elementwise operations."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..ops import compare, elementary, float_parts, inverses, logic, pointwise, rounding, scan
from ..ops.base.families import Pointwise
from ..ops.base.primitive import Tied
from ..ops.nn import activation, loss
from . import expression as e
from .expression import Tree
from .spelling import defined, written
from .terms import Term, Terms, least, numbers

SYMBOLS = {
    pointwise.Add: "+", pointwise.Sub: "-", pointwise.Mul: "*", pointwise.Pow: "**",
    rounding.FloorDivide: "//", rounding.Remainder: "%", compare.Eq: "==", compare.Ne: "!=", compare.Lt: "<",
    compare.Le: "<=", compare.Gt: ">", compare.Ge: ">=", logic.BitwiseAnd: "&", logic.BitwiseOr: "|",
    logic.BitwiseXor: "^", logic.BitwiseLeftShift: "<<", logic.BitwiseRightShift: ">>",
}  # fmt: skip


@written(Pointwise)
def _(layer: Terms, cls: Any, out: Tensor, *args: Any) -> Term:
    """Write the operator, or the call of the function without settings that equal their defaults."""
    n = len(cls.names) - cls.n_settings
    settings = list(args[n:])
    while settings and cls.defaults and settings[-1] == cls.defaults[len(settings) - 1]:
        settings.pop()
    word = cls.torch if cls.torch.startswith("special.") else cls.function_name()
    symbol = SYMBOLS.get(cls)
    write = (lambda x, y: e.operator(symbol, x, y)) if symbol else lambda *given: e.call(word, *given, *settings)
    return layer.each_element(write, args[:n], out)


@written(pointwise.Add)
def _(layer: Terms, cls: Any, out: Tensor, x: Any, y: Any) -> Term:
    """Leave out zeros that an operation has created."""
    return without(layer, "zeros", x, y, out) or layer.each_element(lambda x, y: e.operator("+", x, y), (x, y), out)


def without(layer: Terms, word: str, x: Any, y: Any, out: Tensor) -> Term | None:
    """Return the term of one operand if the other changes nothing, because it consists of zeros or ones."""
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        for one, other in ((x, y), (y, x)):
            same = other.shape == out.shape and other.dtype == out.dtype
            if same and is_made_of(layer.tree(one), word):
                return layer.term(other)
    return None


@written(pointwise.Mul)
def _(layer: Terms, cls: Any, out: Tensor, x: Any, y: Any) -> Term:
    """Write the product of a column and a row as `outer`; leave out ones that an operation has created."""
    if (other := without(layer, "ones", x, y, out)) is not None:
        return other
    terms: Any = [least(layer.term(t)) if isinstance(t, Tensor) else None for t in (x, y)]
    if None not in terms and out.ndim == 2 and 1 not in out.shape:
        for column, row in (terms, terms[::-1]):
            meet = column.shape == (out.shape[0], 1) and row.shape == (out.shape[1],)
            if meet and (vector := e.without_call(column.tree, "unsqueeze", 1)) is not None:
                return Term.of(e.call("outer", vector, row.tree), out)
    return layer.each_element(lambda x, y: e.operator("*", x, y), (x, y), out)


@written(rounding.Div)
def _(layer: Terms, cls: Any, out: Tensor, x: Any, y: Any) -> Term:
    """Leave out a division by a count of 1."""
    if isinstance(y, Tensor) and isinstance(x, Tensor) and x.shape == out.shape:
        plain = layer.term(y).plain
        if plain is not None and plain.dtype == np.int64 and (numbers(y) == 1).all():
            return layer.term(x)
    return layer.each_element(lambda x, y: e.operator("/", x, y), (x, y), out)


@written(float_parts.Frexp)
def _(layer: Terms, cls: Any, outs: tuple, x: Tensor) -> Tree:
    return e.call("frexp", layer.tree(x))


@written(elementary.Exp)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor) -> Tree | Term:
    """Write softmax by its name."""
    tree = layer.tree(x)
    if isinstance(tree, e.Call) and e.text(tree.func) == "log_softmax":
        return e.call("softmax", *tree.args)
    return layer.each_element(lambda x: e.call("exp", x), (x,), out)


@written(compare.ClampMin)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, lo: Any) -> Term:
    """Leave out a clamp that only guards a quotient, if it changes nothing."""
    if isinstance(lo, float) and 0 < lo <= TINY and (numbers(x) > lo).all():
        return layer.term(x)
    return layer.each_element(lambda x, lo: e.call("clamp_min", x, lo), (x, lo), out)


@written(pointwise.Neg)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor) -> Term:
    return layer.each_element(e.minus, (x,), out)


@written(pointwise.Square)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor) -> Term:
    return layer.each_element(lambda x: e.operator("**", x, 2), (x,), out)


@written(pointwise.Reciprocal)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor) -> Term:
    return layer.each_element(lambda x: e.operator("/", 1, x), (x,), out)


@written(logic.BitwiseNot)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor) -> Tree:
    return ast.UnaryOp(ast.Invert(), layer.tree(x))


@written(activation.Elu)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, alpha: float, scale: float, input_scale: float) -> Tree:
    if scale != 1:
        return e.call("selu", layer.tree(x))
    return e.call("celu" if input_scale != 1 else "elu", layer.tree(x), *[alpha] * (alpha != 1))


@written(activation.GeluTanh)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor) -> Tree:
    return e.call("gelu", layer.tree(x), approximate="tanh")


@written(activation.Hardtanh)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, lo: float, hi: float) -> Tree:
    if (lo, hi) == (0, 6):
        return e.call("relu6", layer.tree(x))
    return e.call("hardtanh", layer.tree(x), *[lo, hi] * ((lo, hi) != (-1, 1)))


@written(rounding.TruncDivide)
def _(layer: Terms, cls: Any, out: Tensor, x: Any, y: Any) -> Tree:
    return e.call("div", *layer.meeting((x, y), out), rounding_mode="trunc")


@written(rounding.RoundDecimals)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, decimals: int) -> Tree:
    return e.call("round", layer.tree(x), decimals=decimals)


@written(elementary.Trigamma)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor) -> Tree:
    return e.call("polygamma", 1, layer.tree(x))


@written(elementary.Polygamma)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, n: int, factor: float) -> Tree:
    return e.call("polygamma", n, layer.tree(x))


@written(inverses.Logit)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor) -> Tree:
    return e.call("logit", layer.tree(x))


defined(pointwise.AddScaled)(lambda x, y, alpha: x + alpha * y)
defined(pointwise.SubScaled)(lambda x, y, alpha: x - alpha * y)
defined(pointwise.Addcmul)(lambda x, a, b, value: x + value * a * b)
defined(pointwise.Addcdiv)(lambda x, a, b, value: x + value * a / b)
defined(activation.Gated)(lambda x, gate: x * elementary.sigmoid(gate))
defined(activation.GateSlope)(lambda up, x, gate: up * x * (1 - elementary.sigmoid(gate)) * elementary.sigmoid(gate))
defined(Tied)(lambda d, x: d)


defined(scan.Ratio)(lambda x, y: elementary.exp(x - y))
defined(scan.Share)(lambda x, y, r: elementary.exp(x - y) * r)
defined(loss.WithLogits)(lambda x, y: (1 - y) * x - activation.logsigmoid(x))
defined(loss.WeightedLogits)(lambda x, y, p: (1 - y) * x - (1 + (p - 1) * y) * activation.logsigmoid(x))


defined(loss.SquaredError)(lambda x, y: (x - y) ** 2)


@defined(loss.Huber)
def _(x: Tensor, y: Tensor, limit: float) -> Tensor:
    return compare.where((x - y).abs() < limit, 0.5 * (x - y) ** 2, limit * ((x - y).abs() - 0.5 * limit))


# ---------------------------------------------------------------------- conditions
TINY = 1e-6
OPPOSITES = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt}


@written(compare.Where)
def _(layer: Terms, cls: Any, out: Tensor, condition: Any, x: Any, y: Any) -> Tree | Term:
    """Leave out a `where` that only guards a corner case, if one branch is taken everywhere."""
    asks = least(layer.term(condition)) if isinstance(condition, Tensor) else None
    corner = asks is not None and (guards(asks.tree) or is_made_of(asks.tree, "ones"))
    corner = corner or "nan" in (e.text(layer.tree(x)), e.text(layer.tree(y)))
    if corner and (holds := numbers(condition)).size and (holds.all() or not holds.any()):
        return layer.repeated(x if holds.all() else y, out)
    write = chosen if layer.tame else lambda *given: e.call("where", *given)
    return layer.each_element(write, (condition, x, y), out)


def chosen(condition: Tree, x: Tree, y: Tree) -> Tree:
    """Return `where` with the nonzero branch first, as in where(x > 0, g, 0); the same unless there are NaNs."""
    if isinstance(condition, ast.Compare) and e.text(x) == "0" and (opposite := OPPOSITES.get(type(condition.ops[0]))):
        return e.call("where", ast.Compare(condition.left, [opposite()], condition.comparators), y, x)
    return e.call("where", condition, x, y)


def is_tiny(tree: Tree) -> bool:
    """Return True if an expression is a tiny number that prevents a division by 0."""
    value = getattr(tree, "value", None)
    return isinstance(value, float) and 0 < value <= TINY


def is_made_of(tree: Tree, word: str) -> bool:
    """Return True if an expression creates a tensor of `zeros`, or of `ones`."""
    return isinstance(tree, ast.Call) and e.text(tree.func) in (word, f"{word}_like")


def guards(condition: Tree) -> bool:
    """Return True if a condition tests a corner case: equality, NaN or infinity, or values barely above 0."""
    if isinstance(condition, ast.Subscript):
        return guards(condition.value)
    if isinstance(condition, ast.Compare):
        return isinstance(condition.ops[0], (ast.Eq, ast.NotEq)) or is_tiny(condition.comparators[0])
    if isinstance(condition, ast.UnaryOp):
        return guards(condition.operand)
    if isinstance(condition, ast.BinOp) and isinstance(condition.op, (ast.BitAnd, ast.BitOr)):
        sides = guards(condition.left), guards(condition.right)
        return any(sides) if isinstance(condition.op, ast.BitAnd) else all(sides)
    if isinstance(condition, ast.Call) and isinstance(condition.func, ast.Attribute):
        return condition.func.attr in ("all", "any") and guards(condition.func.value)
    return isinstance(condition, ast.Call) and e.text(condition.func) in ("isfinite", "isnan", "isinf")


@written(logic.BitwiseOr)
def _(layer: Terms, cls: Any, out: Tensor, x: Any, y: Any) -> Tree | Term:
    for one, other in ((x, y), (y, x)):
        if guards(layer.tree(one)) and not numbers(one).any() and other.shape == out.shape:
            return layer.term(other)
    return layer.each_element(lambda x, y: e.operator("|", x, y), (x, y), out)
