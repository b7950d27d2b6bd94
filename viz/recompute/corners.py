"""Formulas for all numbers: a record leaves out what matters only where two numbers are equal, but a page may come there.

An edge of `maximum` is `where(x >= y, g, 0)` if no elements of x and y are equal, and `g / 2` if all are.
"""

import ast
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
        return e.text(Halves().visit(e.parsed(formula))), ""
    if op["name"] in ("amax", "amin") and formula.count("==") == 1:  # else the formula has the quotient
        dims = next((a["const"] for a in op["inputs"] if isinstance(a, dict) and isinstance(a["const"], list)), [])
        return e.text(Shares(dims).visit(e.parsed(formula))), ""
    if op["name"] in NORMS and "/" not in formula and "sign" not in formula:
        return formula, HERE.format("these zeros")
    return formula, ""


class Halves(ast.NodeTransformer):
    """Gives both of two equal elements half of the gradient, in `where(x >= y, g, 0)`."""

    def visit_Call(self, node: ast.Call) -> Any:
        """Return the call, within another `where` if it compares."""
        self.generic_visit(node)
        if not is_where(node, (ast.GtE, ast.LtE)):
            return node
        condition: Any = node.args[0]
        text = "where({} == {}, ({}) / 2, {})"
        return e.parsed(
            text.format(e.text(condition.left), e.text(condition.comparators[0]), e.text(node.args[1]), e.text(node))
        )


class Shares(ast.NodeTransformer):
    """Divides a gradient among equal elements, in `where(x == y, g, 0)`."""

    def __init__(self, dims: list[int]):
        self.dims = dims

    def visit_Call(self, node: ast.Call) -> Any:
        """Return the call, with a quotient in it if it compares."""
        self.generic_visit(node)
        if is_where(node, (ast.Eq,)):
            condition = e.text(node.args[0])
            share = f"({e.text(node.args[1])}) / ({condition}).sum({self.dims}, keepdim=True)"
            node.args[1] = e.parsed(share)
        return node


def is_where(node: ast.Call, operators: tuple) -> bool:
    """Return True for `where` with one comparison."""
    condition = node.args[0] if node.args else None
    return (
        getattr(node.func, "id", "") == "where"
        and isinstance(condition, ast.Compare)
        and type(condition.ops[0]) in operators
    )
