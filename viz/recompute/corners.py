"""Formulas for all numbers: a record leaves out what matters only where two numbers are equal, but a page may come there.

An edge of `maximum` is `where(x >= y, g, 0)` if no elements of x and y are equal, and `g / 2` if all are.
"""

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

from minigrad.formulas import expression as e

NORMS = ("norm", "vector_norm", "linalg_vector_norm", "dist", "std", "pairwise_distance")
HERE = "the record's formula holds only while {} stay as they are"


def everywhere(op: dict, formula: str) -> tuple[str, str]:
    """Return a formula that holds for all numbers, or else the reason why only that of the record is known.

    >>> everywhere({"name": "maximum"}, "where(x >= y, g, 0)")
    ('where(x == y, g / 2, where(x >= y, g, 0))', '')
    """
    if op["name"] in ("maximum", "minimum"):
        if "where" not in formula:
            return formula, HERE.format("equal elements")
        return e.text(Where((ast.GtE, ast.LtE), halves).visit(e.parsed(formula))), ""
    if op["name"] in ("amax", "amin") and formula.count("==") == 1:  # else the formula has the quotient
        dims = next((a["const"] for a in op["inputs"] if isinstance(a, dict) and isinstance(a["const"], list)), [])
        return e.text(Where((ast.Eq,), partial(shares, dims)).visit(e.parsed(formula))), ""
    if op["name"] in NORMS and "/" not in formula and "sign" not in formula:
        return formula, HERE.format("these zeros")
    return formula, ""


class Where(ast.NodeTransformer):
    """Replaces each `where` whose condition compares with one of some operators."""

    def __init__(self, operators: tuple, instead: Callable[[ast.Compare, ast.Call], str]):
        self.operators, self.instead = operators, instead

    def visit_Call(self, node: ast.Call) -> Any:
        """Return the call, or the text that replaces it as an expression."""
        self.generic_visit(node)
        if getattr(node.func, "id", "") != "where" or not isinstance(
            condition := next(iter(node.args), None), ast.Compare
        ):
            return node
        return e.parsed(self.instead(condition, node)) if type(condition.ops[0]) in self.operators else node


def halves(condition: ast.Compare, node: ast.Call) -> str:
    """Give both of two equal elements half of the gradient, in `where(x >= y, g, 0)`."""
    equal = f"{e.text(condition.left)} == {e.text(condition.comparators[0])}"
    return f"where({equal}, ({e.text(node.args[1])}) / 2, {e.text(node)})"


def shares(dims: list[int], condition: ast.Compare, node: ast.Call) -> str:
    """Divide a gradient among equal elements, in `where(x == y, g, 0)`."""
    equal, (_, gradient, other) = e.text(condition), map(e.text, node.args)
    return f"where({equal}, ({gradient}) / ({equal}).sum({dims}, keepdim=True), {other})"
