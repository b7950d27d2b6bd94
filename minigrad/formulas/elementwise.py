"""Write elementwise operations."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..ops import compare, elementary, inverses, logic, pointwise, rounding, scan
from ..ops.base.families import Pointwise
from ..ops.base.primitive import Tied
from ..ops.nn import activation, loss
from . import expression as e
from .expression import Tree
from .spelling import defined, written
from .terms import Term, Terms, numbers

SYMBOLS = {
    pointwise.Add: "+", pointwise.Sub: "-", pointwise.Mul: "*", pointwise.Pow: "**",
    rounding.FloorDivide: "//", rounding.Remainder: "%", compare.Eq: "==", compare.Ne: "!=", compare.Lt: "<",
    compare.Le: "<=", compare.Gt: ">", compare.Ge: ">=", logic.BitwiseAnd: "&", logic.BitwiseOr: "|",
    logic.BitwiseXor: "^", logic.BitwiseLeftShift: "<<", logic.BitwiseRightShift: ">>",
}  # fmt: skip


@written(Pointwise)
def _(layer: Terms, cls: Any, out: Tensor, *args: Any) -> Term:
    """By the operator, or as the call of its function without the settings that it has by default."""
    n = len(cls.names) - cls.n_settings
    settings = list(args[n:])
    while settings and cls.defaults and settings[-1] == cls.defaults[len(settings) - 1]:
        settings.pop()
    word, symbol = cls.function_name(), SYMBOLS.get(cls)
    write = (lambda x, y: e.operator(symbol, x, y)) if symbol else lambda *given: e.call(word, *given, *settings)
    return layer.each_element(write, args[:n], out)


@written(rounding.Div)
def _(layer: Terms, cls: Any, out: Tensor, x: Any, y: Any) -> Term:
    """A division by how many there are is left out where there is one."""
    if isinstance(y, Tensor) and isinstance(x, Tensor) and x.shape == out.shape:
        plain = layer.term(y).plain
        if plain is not None and plain.dtype == np.int64 and (numbers(y) == 1).all():
            return layer.term(x)
    return layer.each_element(lambda x, y: e.operator("/", x, y), (x, y), out)


@written(elementary.Exp)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor) -> Tree | Term:
    """Call softmax by its name."""
    tree = layer.tree(x)
    if isinstance(tree, e.Call) and e.text(tree.func) == "log_softmax":
        return e.call("softmax", *tree.args)
    return layer.each_element(lambda x: e.call("exp", x), (x,), out)


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


@defined(loss.Huber)
def _(x: Tensor, limit: float) -> Tensor:
    return compare.where(x.abs() < limit, 0.5 * x**2, limit * (x.abs() - 0.5 * limit))


# ---------------------------------------------------------------------- conditions
OPPOSITES = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt}


@written(compare.Where)
def _(layer: Terms, cls: Any, out: Tensor, condition: Any, x: Any, y: Any) -> Tree | Term:
    """One that only guards a corner is left out where it decides nothing: the branch that is taken says enough."""
    corner = guards(layer.tree(condition)) or "nan" in (e.text(layer.tree(x)), e.text(layer.tree(y)))
    if corner and (holds := numbers(condition)).size and (holds.all() or not holds.any()):
        return layer.repeated(x if holds.all() else y, out)
    write = chosen if layer.tame else lambda *given: e.call("where", *given)
    return layer.each_element(write, (condition, x, y), out)


def chosen(condition: Tree, x: Tree, y: Tree) -> Tree:
    """Return `where` with what is not 0 first, as where(x > 0, g, 0): the same where nothing is NaN."""
    if isinstance(condition, ast.Compare) and e.text(x) == "0" and (opposite := OPPOSITES.get(type(condition.ops[0]))):
        return e.call("where", ast.Compare(condition.left, [opposite()], condition.comparators), y, x)
    return e.call("where", condition, x, y)


def guards(condition: Tree) -> bool:
    """Return whether a condition asks for a corner: for equality, or for NaN or infinity."""
    if isinstance(condition, ast.Compare):
        return isinstance(condition.ops[0], (ast.Eq, ast.NotEq))
    if isinstance(condition, ast.UnaryOp):
        return guards(condition.operand)
    if isinstance(condition, ast.BinOp) and isinstance(condition.op, (ast.BitAnd, ast.BitOr)):
        sides = guards(condition.left), guards(condition.right)
        return any(sides) if isinstance(condition.op, ast.BitAnd) else all(sides)
    return isinstance(condition, ast.Call) and e.text(condition.func) in ("isfinite", "isnan", "isinf")


@written(logic.BitwiseOr)
def _(layer: Terms, cls: Any, out: Tensor, x: Any, y: Any) -> Tree | Term:
    for one, other in ((x, y), (y, x)):
        if guards(layer.tree(one)) and not numbers(one).any() and other.shape == out.shape:
            return layer.term(other)
    return layer.each_element(lambda x, y: e.operator("|", x, y), (x, y), out)
