"""The user's program as a syntax tree: the statements that give a variable its value, and their parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType

SWITCHES = {"no_grad", "inference_mode"}


def body_of(code: CodeType, tree: ast.Module) -> ast.AST:
    """Return the definition with this code; the whole module if there is none."""
    named = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == code.co_name]
    first = lambda n: min([n.lineno, *[d.lineno for d in n.decorator_list]])  # decorators come first
    return next((n for n in named if first(n) == code.co_firstlineno), tree)


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a scope in order, without those of functions and classes in it."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(child, ast.stmt):
            yield child
        yield from statements(child)


def assignments(tree: ast.AST, name: str, before: float) -> list[tuple[ast.stmt, ast.expr]]:
    """Return the statements that give a variable its value, or put something into it, with the value; the last one first.

    In a loop, later lines of its body come last: they belong to the round before.
    """
    found, later = [], []
    loops = [
        s for s in statements(tree) if isinstance(s, (ast.For, ast.While)) and s.lineno < before <= (s.end_lineno or 0)
    ]
    end = max([s.end_lineno or 0 for s in loops], default=0)
    for s in statements(tree):
        if s.lineno >= max(before, end + 1):
            continue
        targets = getattr(s, "targets", None) or [getattr(s, "target", None)]
        value = getattr(s, "iter", None) or getattr(s, "value", None)
        if isinstance(s, ast.Expr) and isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            targets, value = [value.func.value], ast.Tuple(value.args)  # losses.append(loss.item()), x.copy_(y)
        if value is not None and any(name in names_in(ast.walk(t)) for t in targets if t is not None):
            (found if s.lineno < before else later).append((s, value))
    return found[::-1] + later[::-1]


def assigns(s: ast.stmt, names: list[str]) -> bool:
    """Return True if a statement binds one of these names anew, which is not a write in place."""
    return isinstance(s, ast.Assign) and any(isinstance(t, ast.Name) and t.id in names for t in s.targets)


def begins(node: ast.AST) -> bool:
    """Return True if an expression makes a tensor that requires grad."""
    for n in ast.walk(node):
        if isinstance(n, ast.Call):
            if called_name(n) in ("Parameter", "requires_grad_"):
                return True
            if any(k.arg == "requires_grad" and getattr(k.value, "value", True) for k in n.keywords):
                return True
    return False


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of an expression whose values its value comes from: no index, and no condition of where."""
    yield node
    left_out = [node.slice] if isinstance(node, ast.Subscript) else []
    if isinstance(node, ast.Call) and called_name(node) == "where":
        left_out = node.args[:1]
    for child in ast.iter_child_nodes(node):
        if child not in left_out and not isinstance(child, ast.Lambda):
            yield from parts(child)


def called_name(call: ast.Call) -> str:
    """Return the last part of the name of the function that is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def calls(name: str, node: ast.AST) -> bool:
    """Return True if a node calls an operation: x.floor(), torch.floor(x), self.softmax(x), or x // y for floor_divide."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.FloorDiv) and name == "floor_divide"
    return isinstance(node, ast.Call) and called_name(node).lower().strip("_") in (name, name.replace("_", ""))


def names_in(nodes: Iterator[ast.AST]) -> list[str]:
    """Return the names among nodes."""
    return [n.id for n in nodes if isinstance(n, ast.Name)]


def switched_off(s: ast.stmt, tree: ast.AST) -> bool:
    """Return True if a statement is in a block that switches recording off."""
    blocks = [w for w in statements(tree) if isinstance(w, ast.With) and any(s is inner for inner in statements(w))]
    return any(names_switch(item.context_expr) for w in blocks for item in w.items)


def names_switch(node: ast.expr) -> bool:
    """Return True if an expression names a switch that turns recording off."""
    return any(getattr(n, "id", getattr(n, "attr", "")) in SWITCHES for n in ast.walk(node))
