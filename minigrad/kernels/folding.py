"""Formulas as people read them where some of their names are numbers: what these decide is left out.

The derivative of x ** y by x is `where(y == 0, 0.0, g * (y * x ** (y - 1)))`; of x ** 3, `g * (3 * x ** 2)`.
"""

from __future__ import annotations

import ast
from functools import lru_cache


@lru_cache(maxsize=4096)
def folded(words: str) -> str:
    """A formula without what its numbers decide.

    >>> folded("where(3 == 0, 0.0, g * (3 * x ** where(3 == 0, 1, 3 - 1)))")
    'g * (3 * x ** 2)'
    >>> folded("where(x == 0, 0.0, g)"), folded("no formula at all")
    ('where(x == 0, 0.0, g)', 'no formula at all')
    """
    try:
        tree = ast.parse(words, mode="eval")
    except SyntaxError:
        return words
    before = ast.dump(tree)
    made = Folder().visit(tree)
    return words if ast.dump(made) == before else ast.unparse(made)


class Folder(ast.NodeTransformer):
    """Computes with numbers: sums, differences and comparisons of two, and `where` with one as its condition."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """3 - 1 is 2."""
        self.generic_visit(node)
        if not isinstance(node.op, (ast.Add, ast.Sub)) or not (is_number(node.left) and is_number(node.right)):
            return node
        left, right = ast.literal_eval(node.left), ast.literal_eval(node.right)
        total = left + right if isinstance(node.op, ast.Add) else left - right
        return ast.parse(repr(total), mode="eval").body  # a negative number as one has to write it

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """3 == 0 is False."""
        self.generic_visit(node)
        if not all(is_number(one) for one in (node.left, *node.comparators)):
            return node
        return ast.Constant(eval(ast.unparse(node), {"__builtins__": {}}))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """where(False, a, b) is b."""
        self.generic_visit(node)
        chosen = isinstance(node.func, ast.Name) and node.func.id == "where" and len(node.args) == 3
        if not chosen or not isinstance(node.args[0], ast.Constant):
            return node
        return node.args[1 if node.args[0].value else 2]


def is_number(node: ast.expr) -> bool:
    """Whether a part of a formula is a number, perhaps a negative one."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)
