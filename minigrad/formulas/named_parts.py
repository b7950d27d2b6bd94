"""Long formulas in named parts: what comes again has a name, and its definition stands below."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from .expression import Tree, name, parsed, text

LONG, PART = 60, 10  # characters of a formula that is told in parts, and of a part that is worth a name
LETTERS = "pqrstu"


@lru_cache(maxsize=4096)
def in_parts(formula: str) -> tuple[str, dict[str, str]]:
    """Return a formula with names for the parts that it repeats, and their definitions, each before it is used.

    >>> in_parts("(g - g.mean()) / sqrt(x.var() + 0.01) - (g * x).mean() * x / sqrt(x.var() + 0.01) ** 3")
    ('(g - g.mean()) / p - (g * x).mean() * x / p ** 3', {'p': 'sqrt(x.var() + 0.01)'})
    """
    if len(formula) <= LONG:
        return formula, {}
    try:
        whole, parts = parsed(formula), {}
    except SyntaxError:  # words of a record that has no formula
        return formula, {}
    used = {node.id for node in ast.walk(whole) if isinstance(node, ast.Name)}
    for letter in [c for c in LETTERS if c not in used]:
        trees = [whole, *parts.values()]
        count = Counter(ast.dump(node) for tree in trees for node in candidates(tree))
        best = max(
            (node for tree in trees for node in candidates(tree) if count[ast.dump(node)] > 1),
            key=lambda node: (count[ast.dump(node)] - 1) * len(text(node)),
            default=None,
        )
        if best is None:
            break
        instead = Replace(ast.dump(best), letter)
        whole, parts = instead.visit(whole), {k: instead.visit(tree) for k, tree in parts.items()} | {letter: best}
    order = in_order(parts)
    rename = Rename(dict(zip(order, [c for c in LETTERS if c not in used])))
    return text(rename.visit(whole)), {rename.names[k]: text(rename.visit(parts[k])) for k in order}


def candidates(tree: Tree) -> Iterator[Tree]:
    """Give the expressions within an expression that may have a name."""
    for node in ast.walk(tree):
        kind = isinstance(node, (ast.BinOp, ast.Call, ast.Subscript, ast.Attribute))
        if kind and is_value(node, tree) and len(text(node)) >= PART:
            yield node


def is_value(node: Tree, tree: Tree) -> bool:
    """Return whether an expression is a value: not the whole one, and no method or function that is called."""
    return node is not tree and not any(isinstance(n, ast.Call) and n.func is node for n in ast.walk(tree))


class Replace(ast.NodeTransformer):
    """Puts a name in the place of an expression."""

    def __init__(self, dumped: str, letter: str):
        self.dumped, self.letter = dumped, letter

    def visit(self, node: ast.AST) -> ast.AST:
        return name(self.letter) if ast.dump(node) == self.dumped else super().visit(node)


class Rename(ast.NodeTransformer):
    """Puts names in the places of others."""

    def __init__(self, names: dict[str, str]):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return name(self.names.get(node.id, node.id))


def in_order(parts: dict[str, Tree]) -> list[str]:
    """Return the names of parts so that each comes after those that it is made of."""
    order: list[str] = []
    while len(order) < len(parts):
        order += [
            k
            for k, tree in parts.items()
            if k not in order
            and all(n.id in order or n.id not in parts for n in ast.walk(tree) if isinstance(n, ast.Name))
        ]
    return order
