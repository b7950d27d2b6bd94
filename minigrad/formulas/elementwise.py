"""The spelling of elementwise operations."""

import ast
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from . import expression as e
from .expression import Tree
from .spelling import spelling
from .terms import Term, Terms, least, numbers


@spelling("leave_out_zeros")
def add(layer: Terms, cls: Any, out: Tensor, x: Any, y: Any) -> Term:
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


@spelling("leave_out_ones")
def mul(layer: Terms, cls: Any, out: Tensor, x: Any, y: Any) -> Term:
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


@spelling("leave_out_count_of_one")
def div(layer: Terms, cls: Any, out: Tensor, x: Any, y: Any) -> Term:
    """Leave out a division by a count of 1."""
    if isinstance(y, Tensor) and isinstance(x, Tensor) and x.shape == out.shape:
        plain = layer.term(y).plain
        if plain is not None and plain.dtype == np.int64 and (numbers(y) == 1).all():
            return layer.term(x)
    return layer.each_element(lambda x, y: e.operator("/", x, y), (x, y), out)


@spelling("recognize_softmax")
def exp(layer: Terms, cls: Any, out: Tensor, x: Tensor) -> Tree | Term:
    """Write softmax by its name."""
    tree = layer.tree(x)
    if isinstance(tree, e.Call) and e.text(tree.func) == "log_softmax":
        return e.call("softmax", *tree.args)
    return layer.each_element(lambda x: e.call("exp", x), (x,), out)


@spelling("leave_out_guard")
def clamp_min(layer: Terms, cls: Any, out: Tensor, x: Tensor, lo: Any) -> Term:
    """Leave out a clamp that only guards a quotient, if it changes nothing."""
    if isinstance(lo, float) and 0 < lo <= TINY and (numbers(x) > lo).all():
        return layer.term(x)
    return layer.each_element(lambda x, lo: e.call("clamp_min", x, lo), (x, lo), out)


# ---------------------------------------------------------------------- conditions
TINY = 1e-6
OPPOSITES = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt}


@spelling("leave_out_condition")
def where(layer: Terms, cls: Any, out: Tensor, condition: Any, x: Any, y: Any) -> Tree | Term:
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


@spelling("leave_out_false")
def bitwise_or(layer: Terms, cls: Any, out: Tensor, x: Any, y: Any) -> Tree | Term:
    for one, other in ((x, y), (y, x)):
        if guards(layer.tree(one)) and not numbers(one).any() and other.shape == out.shape:
            return layer.term(other)
    return layer.each_element(lambda x, y: e.operator("|", x, y), (x, y), out)
