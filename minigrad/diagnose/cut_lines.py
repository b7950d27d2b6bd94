"""The line that cut a graph, found by reading the user's program backwards from a tensor without history.

A running program pays nothing for this: its source is read once an error is certain.  The user's variables decide: a line cut
the graph if a variable with history goes in and the result has none.  A call of the user's function or module is read on in
its body.  Debug mode, which notes each cut as it happens, does not need this.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from ..core.engine import behind
from ..core.tensor import Tensor
from ..places import PACKAGE, Place, user_frame

DEEPEST = 8  # calls of the user's functions within each other
INTEGERS = ("long", "int", "short", "byte", "bool", "int64", "int32", "int16", "int8", "uint8")
SWITCHES = ("no_grad", "inference_mode")
NUMBERS = "turns a tensor that requires grad into numbers, which have no history", "compute with the tensor itself"
WHOLE = "returns integers, which have no derivative", "keep results floating-point"
COPIED = (
    "copies the numbers of a tensor that requires grad, without its history",
    "use the tensor itself, or stack(...) of several",
)
OFF = "runs under no_grad or inference_mode, which record nothing", "compute it outside of the block"
SMOOTH = "sigmoid(x - y), or a loss for scores, binary_cross_entropy_with_logits"
METHODS = {
    "detach": ("removes the history of a tensor that requires grad", "remove detach() where gradients have to pass"),
    "data": ("gives a tensor that requires grad without its history", "remove .data where gradients have to pass"),
    "argmax": (
        "returns places, which have no derivative",
        "use a loss for classes: nn.functional.cross_entropy(logits, target)",
    ),
    "argmin": ("returns places, which have no derivative", "use a smooth function instead: softmin"),
    **dict.fromkeys(("item", "tolist", "numpy"), NUMBERS),
    **dict.fromkeys(INTEGERS, WHOLE),
}
FUNCTIONS = {
    **dict.fromkeys(("tensor", "as_tensor", "from_numpy", "array", "asarray", "Tensor"), COPIED),
    **dict.fromkeys(("float", "int", "bool"), NUMBERS),
}
COMPARED = "returns True or False, which have no derivative", f"use a smooth function, {SMOOTH}"


class Cut(NamedTuple):
    """What cut the graph, the user's line, the reason, and the fix."""

    name: str
    place: Place
    why: str
    fix: str


@dataclass
class Scope:
    """A function of the user or a module: its tree, its file, and the values of its variables as far as they are known."""

    tree: Any
    file: str
    values: dict
    leaf: Any = None  # of whose history the end is searched; None for that of anything
    depth: int = 0
    seen: set = field(default_factory=set)

    def has_history(self, value: Any) -> bool:
        """Return True if a value is tracked, holds something tracked, or is a module with parameters that require grad."""
        if isinstance(value, Tensor):
            edge = value._edge if value._layer is None else None
            return edge is not None and (self.leaf is None or self.leaf in behind([edge])[1])
        if isinstance(value, (list, tuple)):
            return any(map(self.has_history, value[:16]))
        if hasattr(value, "named_parameters") and not isinstance(value, type):
            return any(map(self.has_history, value.parameters()))
        return isinstance(value, Tracked)

    def cut(self, node: ast.AST, name: str, why: str, fix: str) -> Cut:
        return Cut(name, Place(self.file, node.lineno), why, fix)  # type: ignore[attr-defined]


class Tracked:
    """A value that is not known, but has a history."""


def cut_line(leaf: Any = None) -> Cut | None:
    """Return the line that cut the graph of the tensors that the user's running line differentiates, or None.

    With a leaf, return the line that cut off that one.
    """
    frame = user_frame()
    if frame is None or (scope := scope_of(frame, leaf)) is None or (call := running_call(frame, scope.tree)) is None:
        return None
    given = [*call.args, *[k.value for k in call.keywords]]
    method = isinstance(call.func, ast.Attribute) and isinstance(resolved(call.func.value, scope, Tensor()), Tensor)
    start = call.func.value if method else given[0] if given else call  # type: ignore[attr-defined]
    return found_in(start, scope, frame.f_lineno)


# ---------------------------------------------------------------------- the user's program as a tree
def parsed(file: str) -> ast.Module | None:
    """Return the tree of a file or a notebook's cell; None without its source."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None


def scope_of(frame: FrameType, leaf: Any) -> Scope | None:
    """Return the running function, or the module."""
    tree = parsed(frame.f_code.co_filename)
    if tree is None:
        return None
    return Scope(body_of(frame.f_code, tree), frame.f_code.co_filename, {**frame.f_globals, **frame.f_locals}, leaf)


def body_of(code: Any, tree: ast.Module) -> ast.AST:
    """Return the definition with this code; the whole module if there is none."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *[d.lineno for d in node.decorator_list]])
            if first == code.co_firstlineno:
                return node
    return tree


def running_call(frame: FrameType, tree: ast.AST) -> ast.Call | None:
    """Return the call that a frame is running, by its position in the source."""
    line, end, column, end_column = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    for node in ast.walk(tree):
        place = [getattr(node, a, None) for a in ("lineno", "end_lineno", "col_offset", "end_col_offset")]
        if isinstance(node, ast.Call) and place == [line, end, column, end_column]:
            return node
    return None


def statements(tree: Any) -> Iterator[ast.stmt]:
    """Yield the statements of a scope in order, without those of functions and classes in it."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(child, ast.stmt):
            yield child
        yield from statements(child)


def assignments(tree: Any, name: str, before: float) -> list[tuple[ast.stmt, ast.expr]]:
    """Return the statements that give a variable its value, or put something into it, with the value; the last one first."""
    found = []
    for s in statements(tree):
        if s.lineno >= before:
            continue
        targets = getattr(s, "targets", None) or [getattr(s, "target", None)]
        value = getattr(s, "iter", None) or getattr(s, "value", None)
        if isinstance(s, ast.Expr) and isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            targets, value = [value.func.value], ast.Tuple(value.args)  # losses.append(loss.item()), x.copy_(y)
        if value is not None and any(name in names_in(t, ast.expr_context) for t in targets if t is not None):
            found.append((s, value))
    return found[::-1]


def names_in(node: ast.AST, context: type = ast.Load) -> list[str]:
    """Return the names in an expression."""
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)]


# ---------------------------------------------------------------------- the values of the user's variables
def resolved(node: ast.AST, scope: Scope, default: Any = None) -> Any:
    """Return the value of a name or of attributes of it, such as self.net; else the default.  No property of the user runs."""
    if isinstance(node, ast.Name):
        return scope.values.get(node.id, default)
    if isinstance(node, ast.Attribute) and (of := resolved(node.value, scope)) is not None:
        registered = getattr(of, "_parameters", {}), getattr(of, "_modules", {})
        found = next((d[node.attr] for d in registered if isinstance(d, dict) and node.attr in d), None)
        return inspect.getattr_static(of, node.attr, default) if found is None else found
    return default


def takes_history(node: ast.AST, scope: Scope, deeper: int = DEEPEST) -> bool:
    """Return True if something with history goes into an expression.

    A variable whose value is not known, in a function that has returned, has a history if its last assignment takes one.
    """
    for n in ast.walk(node):
        if isinstance(n, (ast.Name, ast.Attribute)) and scope.has_history(resolved(n, scope)):
            return True
        if isinstance(n, ast.Name) and n.id not in scope.values and deeper:
            last = assignments(scope.tree, n.id, n.lineno)[:1]
            if any(takes_history(value, scope, deeper - 1) for _, value in last):
                return True
    return False


# ---------------------------------------------------------------------- the search
def found_in(node: ast.expr, scope: Scope, before: float) -> Cut | None:
    """Return the cut in an expression, in functions that it calls, or in the lines that gave its variables their values."""
    for part in reversed(list(ast.walk(node))):  # the innermost first
        if (cut := cut_by(part, scope)) or (cut := found_in_call(part, scope)):
            return cut
    for name in dict.fromkeys(names_in(node)):
        if scope.leaf is None and scope.has_history(scope.values.get(name)):
            continue
        for s, value in assignments(scope.tree, name, before):
            if (s, name) in scope.seen:
                continue
            scope.seen.add((s, name))
            if switched_off(s, scope.tree) and takes_history(value, scope):
                return scope.cut(s, "this line", *OFF)
            if cut := found_in(value, scope, s.lineno):
                return cut
    return None


def cut_by(node: ast.AST, scope: Scope) -> Cut | None:
    """Return the cut if this node itself takes something with history and gives something without."""
    if isinstance(node, ast.Attribute) and node.attr == "data" and takes_history(node.value, scope):
        return scope.cut(node, ".data", *METHODS["data"])
    if isinstance(node, ast.Compare) and takes_history(node, scope):
        return scope.cut(node, "a comparison", *COMPARED)
    if not isinstance(node, ast.Call):
        return None
    given = [*node.args, *[k.value for k in node.keywords]]
    if isinstance(node.func, ast.Attribute):
        name, own = node.func.attr, takes_history(node.func.value, scope)
        if name in METHODS and own:
            return scope.cut(node, name, *METHODS[name])
        whole = any(isinstance(a, ast.Attribute) and a.attr in INTEGERS for a in given)
        if name in ("to", "type") and own and whole:
            return scope.cut(node, name, *WHOLE)
    else:
        name = getattr(node.func, "id", "")
    if name in FUNCTIONS and any(takes_history(a, scope) for a in given):
        return scope.cut(node, name, *FUNCTIONS[name])
    if name in ("detach", "argmax", "argmin") and any(takes_history(a, scope) for a in given):
        return scope.cut(node, name, *METHODS[name])
    return None


def found_in_call(node: ast.AST, scope: Scope) -> Cut | None:
    """Return the cut in the body of the user's function, or module, that a node calls."""
    if not isinstance(node, ast.Call) or scope.depth >= DEEPEST:
        return None
    called, owner = resolved(node.func, scope), resolved(getattr(node.func, "value", node), scope)
    if hasattr(called, "named_parameters") and not isinstance(called, type):
        owner, called = called, type(called).forward
    plain = inspect.unwrap(called) if callable(called) else None
    code = getattr(plain, "__code__", None)
    if code is None or code.co_filename.startswith(PACKAGE) or (tree := parsed(code.co_filename)) is None:
        return None
    body = body_of(code, tree)
    if not isinstance(body, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    names, values = [a.arg for a in body.args.args], {}
    if owner is not None and not isinstance(owner, (type, ModuleType)) and names:  # a method
        values[names.pop(0)] = owner
    for name, a in [*zip(names, node.args), *[(k.arg, k.value) for k in node.keywords]]:
        values[name] = Tracked() if takes_history(a, scope) else resolved(a, scope)
    inside = Scope(body, code.co_filename, {**plain.__globals__, **values}, scope.leaf, scope.depth + 1)  # type: ignore[union-attr]
    decorator = next((d for d in body.decorator_list if set(SWITCHES) & set(words_in(d))), None)
    if decorator is not None and (any(map(scope.has_history, values.values())) or not values):
        return inside.cut(decorator, f"{body.name}", *OFF)
    returns = [s for s in statements(body) if isinstance(s, ast.Return) and s.value is not None]
    for s in returns:
        if switched_off(s, body) and takes_history(s.value, inside):  # type: ignore[arg-type]
            return inside.cut(s, "this line", *OFF)
        if cut := found_in(s.value, inside, s.lineno):  # type: ignore[arg-type]
            return cut
    return None


def switched_off(s: ast.stmt, tree: Any) -> bool:
    """Return True if a statement is in a block that switches recording off."""
    blocks = [w for w in statements(tree) if isinstance(w, ast.With) and any(s is inner for inner in statements(w))]
    return any(set(SWITCHES) & set(words_in(item.context_expr)) for w in blocks for item in w.items)


def words_in(node: ast.AST) -> list[str]:
    """Return all names and attributes in an expression."""
    return [getattr(n, "id", getattr(n, "attr", "")) for n in ast.walk(node)]
