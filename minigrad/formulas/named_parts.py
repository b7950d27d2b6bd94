"""Long formulas with named parts: repeated parts get names, and their definitions follow the formula."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from .expression import Tree, name, parsed, text

LONG, LONGEST = 60, 20_000  # lengths of formulas that are split: the time grows with the square
PART = 10  # minimum length of a part that gets a name
LETTERS = "pqrstu"
PARTS = (ast.BinOp, ast.Call, ast.Subscript, ast.Attribute)


@lru_cache(maxsize=4096)
def in_parts(formula: str) -> tuple[str, dict[str, str]]:
    """Return a formula with names for its repeated parts, and their definitions in order of dependence.

    >>> in_parts("(g - g.mean()) / sqrt(x.var() + 0.01) - (g * x).mean() * x / sqrt(x.var() + 0.01) ** 3")
    ('(g - g.mean()) / p - (g * x).mean() * x / p ** 3', {'p': 'sqrt(x.var() + 0.01)'})
    """
    try:
        return divided(formula) if LONG < len(formula) < LONGEST else (formula, {})
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a text that is not a formula
        return formula, {}


def divided(formula: str) -> tuple[str, dict[str, str]]:
    """Return the same for a formula of any length."""
    whole, parts = parsed(formula), {}
    used = {node.id for node in ast.walk(whole) if isinstance(node, ast.Name)}
    for letter in [c for c in LETTERS if c not in used]:
        found = [part for tree in (whole, *parts.values()) for part in candidates(tree)]
        count = Counter(written for written, _ in found)
        repeated = [part for part in found if count[part[0]] > 1]
        if not repeated:
            break
        best, tree = max(repeated, key=lambda part: (count[part[0]] - 1) * len(part[0]))
        instead = Replace(best, letter)
        whole, parts = instead.visit(whole), {k: instead.visit(tree) for k, tree in parts.items()} | {letter: tree}
    order = in_order(parts)
    rename = Rename(dict(zip(order, [c for c in LETTERS if c not in used])))
    return text(rename.visit(whole)), {rename.names[k]: text(rename.visit(parts[k])) for k in order}


def candidates(tree: Tree) -> Iterator[tuple[str, Tree]]:
    """Yield the parts of an expression that may get a name, each with its source: values, not called functions."""
    nodes = list(ast.walk(tree))
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    for node in nodes[1:]:
        if isinstance(node, PARTS) and node not in called and len(written := text(node)) >= PART:
            yield written, node


class Replace(ast.NodeTransformer):
    """Replaces an expression by a name, wherever it occurs."""

    def __init__(self, written: str, letter: str):
        self.written, self.letter = written, letter

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, PARTS) and text(node) == self.written:
            return name(self.letter)
        return super().visit(node)


class Rename(ast.NodeTransformer):
    """Replaces names by others."""

    def __init__(self, names: dict[str, str]):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return name(self.names.get(node.id, node.id))


def in_order(parts: dict[str, Tree]) -> list[str]:
    """Return the names of parts, ordered so that each comes after those it depends on."""
    order: list[str] = []
    while len(order) < len(parts):
        order += [
            k
            for k, tree in parts.items()
            if k not in order
            and all(n.id in order or n.id not in parts for n in ast.walk(tree) if isinstance(n, ast.Name))
        ]
    return order
