"""Kernels with barriers as generators: a thread yields the barrier at which it waits, so one loop can run many threads.

`cuda.syncthreads()` becomes `(yield cuda.syncthreads())`, and a call of a device function that waits `(yield from f(x))`.
Lines and columns stay the same, so that errors can name them.
"""

import ast
import inspect
from collections.abc import Mapping
from typing import Any

BARRIERS = frozenset(
    "syncthreads syncthreads_count syncthreads_and syncthreads_or syncwarp all_sync any_sync ballot_sync "
    "shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync".split()
)


def waiting(source: str, names: Mapping[str, Any]) -> ast.Module:
    """Return the module's text with functions that reach a barrier as generators; `names` are its imports.

    >>> print(ast.unparse(waiting("def f(x): return cuda.any_sync(1, x)", {})))
    def f(x):
        return (yield cuda.any_sync(1, x))
    """
    tree = ast.parse(source)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    found: set[str] = {name for name, value in names.items() if inspect.isgeneratorfunction(value)}
    while more := {f.name for f in functions if f.name not in found and any(waits(n, found) for n in ast.walk(f))}:
        found |= more
    for f in functions:
        Yields(found).visit(f)
    return ast.fix_missing_locations(tree)


def waits(node: ast.AST, found: set[str]) -> str:
    """Return how a node waits: "barrier" for a call of a barrier, "function" for one of those found, "" otherwise."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute) and node.func.attr in BARRIERS:
        return "barrier"
    return "function" if isinstance(node.func, ast.Name) and node.func.id in found else ""


class Yields(ast.NodeTransformer):
    """Puts `yield` before calls of barriers, and `yield from` before calls of functions that wait."""

    def __init__(self, found: set[str]):
        self.found = found

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        how = waits(node, self.found)
        return ast.copy_location({"barrier": ast.Yield, "function": ast.YieldFrom}[how](node), node) if how else node
