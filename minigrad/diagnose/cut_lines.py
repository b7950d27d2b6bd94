"""The line that cut a graph, found by reading the user's program backwards from a tensor without history.

A running program pays nothing for this: its source is read once an error is certain.  The user's variables decide: a line cut
the graph if a variable with history goes in and the result has none.  A call of the user's function or module is read on in
its body.  Debug mode, which notes each cut as it happens, does not need this.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from ..core.engine import behind
from ..core.function import Function
from ..core.tensor import Tensor
from ..places import BETWEEN, LONGEST, Place, parsed, running, user_frame, users_code
from .cut_functions import constant_backward, marked
from .cut_reasons import CHOSEN, COMPARED, FUNCTIONS, INTEGERS, METHODS, OFF, ONCE, WHOLE
from .modules import is_module, parameters_of, table
from .program_tree import (
    assignments,
    assigns,
    begins,
    body_of,
    called_name,
    calls,
    names_in,
    names_switch,
    parts,
    statements,
    switched_off,
)
from .report import searches

DEEPEST = 8  # calls of the user's functions within each other


class End(NamedTuple):
    """End of a history: the operation, the user's line, the reason, and the fix."""

    name: str
    place: Place | None
    why: str
    fix: str


def with_line(fix: str, line: int) -> str:
    """Return a fix that names the line to change."""
    return fix.replace("{line}", str(line))


class Tracked:
    """Stand for a value that is not known but has a history."""


@dataclass(eq=False)
class Scope:
    """A function of the user or a module: its tree, its file, and the values of its variables as far as they are known."""

    tree: ast.AST
    file: str
    values: dict[str, Any]
    leaf: Any = None  # the tensor whose history is searched for its end; None for the history of any tensor
    sought: str = ""  # the operation whose call is searched for; "" for the end of a history
    depth: int = 0
    entered: set = field(default_factory=set)  # functions that were read, with the arguments that have a history
    followed: set = field(default_factory=set)  # assignments that were read
    taking: dict[ast.AST, bool] = field(default_factory=dict)  # values of assignments -> whether a history goes in
    rebound: dict[str, int] = field(default_factory=dict)  # variables -> the last line that binds them again, or 0

    def has_history(self, value: Any) -> bool:
        """Return True if a value is tracked, holds something tracked, or is a module with parameters that require grad."""
        if isinstance(value, Tensor):
            edge = value._edge if value._layer is None else None
            return edge is not None and (self.leaf is None or self.leaf in behind([edge])[1])
        if isinstance(value, (list, tuple)):
            return any(map(self.has_history, value[:16]))
        return isinstance(value, Tracked) or is_module(value) and any(map(self.has_history, parameters_of(value)))

    def end(self, node: ast.expr | ast.stmt, name: str, why: str, fix: str) -> End:
        """Return the end of a history at a node."""
        return End(name, Place(self.file, node.lineno), why, with_line(fix, node.lineno))


@searches()
def cut_line(leaf: Any = None) -> End | None:
    """Return the line that cut the graph of the tensors that the user's running line differentiates, or None.

    With a leaf, return the line that cut off that one.
    """
    if (begun := running_line(leaf)) is None:
        return None
    call, scope = begun
    if end := found_in(differentiated(call, scope), scope, call.lineno):
        return end
    for frame in outer_frames():  # a parameter of the running function: the callers gave it its value
        if begun := running_line(leaf, frame):
            call, scope = begun
            if end := found_in(ast.Tuple([*call.args, *[k.value for k in call.keywords]]), scope, call.lineno):
                return end
    return None


def outer_frames() -> list[FrameType]:
    """Return the user's frames around the one that runs, from the inside to the outside."""
    found, frame = [], user_frame()
    while frame is not None and (frame := frame.f_back) is not None and len(found) < DEEPEST:
        if not frame.f_code.co_filename.startswith(BETWEEN):
            found.append(frame)
    return found


@searches()
def cut_line_at_step(leaf: Any) -> End | None:
    """Return the line that cut a leaf off from the loss whose backward stands before the user's running line, or None."""
    if (found := loss_before(leaf)) is None:
        return None
    loss, scope = found
    return found_in(loss, scope, loss.lineno)


@searches()
def cleared_line() -> Place | None:
    """Return the line that calls zero_grad between the last backward and the user's running line, or None."""
    if (begun := running_line()) is None:
        return None
    step, scope = begun
    every = [
        n for s in statements(scope.tree) for n in ast.walk(s) if isinstance(n, ast.Call) and n.lineno < step.lineno
    ]
    last = max([c.lineno for c in every if called_name(c) == "backward"], default=step.lineno)
    lines = [c.lineno for c in every if called_name(c) == "zero_grad" and c.lineno > last]
    return Place(scope.file, lines[0]) if lines else None


def loss_before(leaf: Any = None) -> tuple[ast.expr, Scope] | None:
    """Return the expression whose backward stands before the user's running line, such as a step, and its scope."""
    if (begun := running_line(leaf)) is None:
        return None
    step, scope = begun
    every = [n for s in statements(scope.tree) for n in ast.walk(s) if isinstance(n, ast.Call)]
    before = [c for c in every if called_name(c) == "backward" and c.lineno <= step.lineno]
    return (differentiated(before[-1], scope), scope) if before else None


@searches()
def line_of_call(name: str, leaf: Any) -> Place | None:
    """Return the line that calls an operation with something computed from a leaf, before the user's running line, or None."""
    if (begun := running_line(leaf)) is None:
        return None
    call, scope = begun
    scope.sought = name
    end = found_in(differentiated(call, scope), scope, call.lineno)
    return None if end is None else end.place


@searches()
def carried_line() -> Place | None:
    """Return the line in the running loop that computes a state from itself, h = cell(x, h), if exactly one does."""
    if (begun := running_line()) is None:
        return None
    call, scope = begun
    rounds = [s for s in statements(scope.tree) if isinstance(s, (ast.For, ast.While))]
    inside = [s for loop in rounds if loop.lineno <= call.lineno <= (loop.end_lineno or 0) for s in statements(loop)]
    lines = set()
    for s in inside:
        if isinstance(s, ast.Assign):
            names = {n for t in s.targets for n in names_in(ast.walk(t))} & set(names_in(ast.walk(s.value)))
            lines |= {s.lineno for name in names if scope.has_history(scope.values.get(name))}
    return Place(scope.file, lines.pop()) if len(lines) == 1 else None


def running_line(leaf: Any = None, frame: FrameType | None = None) -> tuple[ast.Call, Scope] | None:
    """Return the call that the user's line, or another frame of the user, is running, and the scope that it runs in."""
    frame = frame or user_frame()
    if frame is None or (tree := parsed(frame.f_code.co_filename)) is None:
        return None
    variables = {**frame.f_globals, **frame.f_locals}
    scope = Scope(body_of(frame.f_code, tree), frame.f_code.co_filename, variables, leaf)
    call = running(frame, ast.Call)
    return None if call is None else (call, scope)


def differentiated(call: ast.Call, scope: Scope) -> ast.expr:
    """Return the expression that a call differentiates."""
    if isinstance(call.func, ast.Attribute) and not isinstance(resolved(call.func.value, scope), ModuleType):
        return call.func.value  # loss.backward()
    return next(iter([*call.args, *[k.value for k in call.keywords]]), call.func)  # autograd.grad(loss, w)


# ---------------------------------------------------------------------- the values of the user's variables
def resolved(node: ast.AST, scope: Scope) -> Any:
    """Return the value of a name, or of attributes of it, such as self.net; else None.  No property of the user runs."""
    if isinstance(node, ast.Name):
        return scope.values.get(node.id)
    if isinstance(node, ast.Attribute) and (of := resolved(node.value, scope)) is not None:
        for known in (table(of, "_parameters"), table(of, "_modules")):
            if node.attr in known:
                return known[node.attr]
        return inspect.getattr_static(of, node.attr, None)
    return None


def takes_history(node: ast.AST, scope: Scope) -> bool:
    """Return True if something with history goes into an expression.

    A variable whose value is not known, in a function that has returned, or that was assigned anew since then, has a history
    if its last assignment takes or begins one.
    """
    for n in parts(node):
        if isinstance(n, (ast.Name, ast.Attribute)) and scope.has_history(resolved(n, scope)):
            return True
        if isinstance(n, ast.Name) and (n.id not in scope.values or reassigned(n, scope)):
            for s, value in assignments(scope.tree, n.id, n.lineno)[:1]:
                if value not in scope.taking:
                    scope.taking[value] = s.lineno < n.lineno and begins(value)  # a leaf is not followed further
                    scope.taking[value] = scope.taking[value] or takes_history(value, scope)
                if scope.taking[value]:
                    return True
    return False


def reassigned(name: ast.Name, scope: Scope) -> bool:
    """Return True if a variable is assigned again at or below a place where it is read."""
    if name.id not in scope.rebound:
        lines = [s.lineno for s in statements(scope.tree) if assigns(s, [name.id])]
        scope.rebound[name.id] = max(lines) if len(lines) > 1 else 0
    return scope.rebound[name.id] >= name.lineno


# ---------------------------------------------------------------------- the search
def found_in(node: ast.expr, scope: Scope, before: float) -> End | None:
    """Return the cut in an expression, in functions that it calls, or in the lines that gave its variables their values."""
    inner = list(parts(node))
    for part in reversed(inner):
        if (end := (found_at_call if scope.sought else cut_by)(part, scope)) or (end := found_in_call(part, scope)):
            return end
    for name in dict.fromkeys(names_in(iter(inner))):
        value = scope.values.get(name)
        renewed = isinstance(value, Tracked) and any(assigns(s, [name]) for s in statements(scope.tree))
        if scope.leaf is None and scope.has_history(value) and not renewed:
            continue
        for s, value in assignments(scope.tree, name, before):
            if (s, name) in scope.followed:
                continue
            scope.followed.add((s, name))
            if end := found_at(s, value, scope):
                return end
    return None


def found_at(s: ast.stmt, value: ast.expr, scope: Scope) -> End | None:
    """Return the cut at a statement, or behind the value that it assigns or returns."""
    if not scope.sought and switched_off(s, scope.tree) and takes_history(value, scope):
        return scope.end(s, *unrecorded(s, value))
    return found_in(value, scope, s.lineno)


def found_at_call(node: ast.AST, scope: Scope) -> End | None:
    """Return the line of a node that calls the sought operation with something that has a history."""
    if isinstance(node, ast.Call) and is_module(module := resolved(node.func, scope)):
        called = type(module).__name__.lower() == scope.sought.replace("_", "")  # criterion(x, y) of an nn.NLLLoss
    else:
        called = calls(scope.sought, node)
    return scope.end(node, scope.sought, "", "") if called and takes_history(node, scope) else None


def unrecorded(s: ast.stmt, value: ast.expr) -> tuple[str, str, str]:
    """Return the name, the reason and the fix for a statement under no_grad that takes something with history."""
    names = [t.id for t in getattr(s, "targets", ()) if isinstance(t, ast.Name)]
    if not isinstance(s, ast.Assign) or not names:
        return "this line", *OFF
    if not assigns(s, names_in(ast.walk(value))):
        return names[0], "is computed under no_grad or inference_mode, which record nothing", OFF[1]
    name = next(name for name in names if name in names_in(ast.walk(value)))
    why = "is assigned a new tensor under no_grad, which does not require grad"
    return name, why, f"update {name} in place: {written_in_place(name, value)}"


def written_in_place(name: str, value: ast.expr) -> str:
    """Return the code that writes a value to a variable's tensor in place: `w -= 0.1 * w.grad` for `w - 0.1 * w.grad`."""
    operator = AUGMENTED.get(type(getattr(value, "op", None)))
    if operator and isinstance(value, ast.BinOp) and isinstance(value.left, ast.Name) and value.left.id == name:
        return f"{name} {operator} {ast.unparse(value.right)}"
    code = ast.unparse(value)
    return f"{name}.copy_({code if len(code) <= LONGEST else '...'})"


AUGMENTED = {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/="}


def cut_by(node: ast.AST, scope: Scope) -> End | None:
    """Return the cut if this node itself takes something with history and gives something without."""
    if isinstance(node, ast.Attribute) and node.attr == "data" and takes_history(node.value, scope):
        return scope.end(node, ".data", *METHODS["data"])
    if isinstance(node, ast.Attribute) and node.attr == "grad":
        of = resolved(node.value, scope)
        if isinstance(of, Tensor) and of._grad is not None and of._grad._edge is None:
            return scope.end(node, ".grad", "holds numbers without a history, because create_graph is not set", ONCE[1])
    if isinstance(node, ast.Compare) and takes_history(node, scope):
        return scope.end(node, "a comparison", *COMPARED)
    return cut_by_call(node, called_name(node), scope) if isinstance(node, ast.Call) else None


def cut_by_call(node: ast.Call, name: str, scope: Scope) -> End | None:
    """Return the cut if a call takes something with history and returns something without."""
    given = [*node.args, *[k.value for k in node.keywords]]
    if isinstance(node.func, ast.Attribute) and takes_history(node.func.value, scope):
        if name in METHODS:
            return scope.end(node, name, *METHODS[name])
        if name in ("to", "type") and any(isinstance(a, ast.Attribute) and a.attr in INTEGERS for a in given):
            return scope.end(node, name, *WHOLE)
    if name in FUNCTIONS and any(takes_history(a, scope) for a in given):
        return scope.end(node, name, *FUNCTIONS[name])
    if (
        name == "where"
        and given
        and takes_history(given[0], scope)
        and not any(takes_history(a, scope) for a in given[1:])
    ):
        return scope.end(node, name, *CHOSEN)
    if name not in ("apply", "grad") or scope.leaf is not None:
        return None
    if not any(takes_history(a, scope) or begins(a) for a in given):
        return None
    if name == "apply":
        return end_in_function(node, marked, scope)
    if not any(k.arg == "create_graph" for k in node.keywords):
        return scope.end(node, name, *ONCE)
    applied = [n for n in called_before(given[0], scope) if called_name(n) == "apply"]
    return next((end for n in applied if (end := end_in_function(n, constant_backward, scope))), None)


def called_before(node: ast.expr, scope: Scope) -> list[ast.Call]:
    """Return the calls in an expression, and in the lines that gave its variables their values."""
    expressions = [
        node,
        *[value for name in names_in(parts(node)) for _, value in assignments(scope.tree, name, node.lineno)],
    ]
    return [n for e in expressions for n in ast.walk(e) if isinstance(n, ast.Call)]


def end_in_function(call: ast.Call, search: Callable, scope: Scope) -> End | None:
    """Return the end of a history in the user's Function that a call applies, as `search` finds it."""
    cls = resolved(getattr(call.func, "value", call), scope)
    found = search(cls) if isinstance(cls, type) and issubclass(cls, Function) else None
    return None if found is None else End(cls.__name__, *found)


def found_in_call(node: ast.AST, scope: Scope) -> End | None:
    """Return the cut in the body of the user's function, or module, that a node calls."""
    if not isinstance(node, ast.Call) or scope.depth == DEEPEST:
        return None
    called, owner = resolved(node.func, scope), resolved(getattr(node.func, "value", node), scope)
    if is_module(called):
        owner, called = called, type(called).forward
    code = users_code(called) if inspect.isfunction(called) else None
    tree = None if code is None else parsed(code.co_filename)
    if code is None or tree is None or not isinstance(body := body_of(code, tree), ast.FunctionDef):
        return None
    values = bound(body, node, owner, scope)
    visit = code, tuple([name for name, value in values.items() if scope.has_history(value)])
    if visit in scope.entered:
        return None
    scope.entered.add(visit)
    known = {**inspect.unwrap(called).__globals__, **values}
    inside = Scope(body, code.co_filename, known, scope.leaf, scope.sought, scope.depth + 1, scope.entered)
    decorator = next((d for d in body.decorator_list if names_switch(d)), None)
    if decorator is not None and visit[1] and not scope.sought:
        return inside.end(decorator, body.name, *OFF)
    returned = [(s, s.value) for s in statements(body) if isinstance(s, ast.Return) and s.value is not None]
    return next((end for s, value in returned if (end := found_at(s, value, inside))), None)


def bound(body: ast.FunctionDef, call: ast.Call, owner: Any, scope: Scope) -> dict[str, Any]:
    """Return the parameters of a function with the values that a call gives them; those with a history may be Tracked."""
    names, values = [a.arg for a in body.args.args], {}
    if owner is not None and not isinstance(owner, (type, ModuleType)) and names:  # a method
        values[names.pop(0)] = owner
    for name, a in [*zip(names, call.args), *[(k.arg, k.value) for k in call.keywords if k.arg]]:
        values[name] = Tracked() if takes_history(a, scope) else resolved(a, scope)
    return values
