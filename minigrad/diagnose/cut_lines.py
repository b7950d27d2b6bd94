"""The line that cut a graph, found by reading the user's program backwards from a tensor without history.

A running program pays nothing for this: its source is read once an error is certain.  The user's variables decide: a line cut
the graph if a variable with history goes in and the result has none.  A call of the user's function or module is read on in
its body.  Debug mode, which notes each cut as it happens, does not need this.
"""

import ast
from collections.abc import Callable, Iterator
from typing import Any

from ..core.function import Function
from ..core.tensor import Tensor
from ..places import LONGEST, Place, caller_of, parsed
from .function_text import constant_backward, without_derivative
from .histories import (
    METHODS,
    OFF,
    ONCE,
    POSITIONS,
    ends_history,
    entered,
    keeps_history,
    living,
    returned,
    runs,
    takes_history,
    takes_positions,
)
from .modules import is_module
from .report import searches
from .users_program import (
    DEEPEST,
    End,
    Scope,
    Tracked,
    assigned,
    assignments,
    assigns,
    begins,
    blocks,
    called_name,
    calls,
    calls_in,
    conditions,
    differentiated,
    names_in,
    names_switch,
    parts,
    position,
    resolved,
    running_line,
    statements,
    switched_off,
    written,
)


@searches()
def cut_line(leaf: Any = None) -> End | None:
    """Return the line that cut the graph of the tensors that the user's running line differentiates, or None.

    With a leaf, return the line that cut off that one.
    """
    if (begun := running_line(leaf)) is None:
        return None
    return found_around(differentiated(*begun), begun[1], position(begun[0]))


def found_around(node: ast.expr, scope: Scope, before: float) -> End | None:
    """Return the cut in an expression of a running function, or else in the arguments that its callers gave it."""
    frame = scope.frame
    for _ in range(DEEPEST):
        if end := found_in(node, scope, before):
            return end
        if frame is None or (frame := caller_of(frame)) is None or (begun := running_line(scope.leaf, frame)) is None:
            return None
        if not (given := given_to(scope, begun[0])):
            return None
        (call, scope), node = begun, ast.Tuple(given)
        before = position(call)
    return None


def given_to(scope: Scope, call: ast.Call) -> list[ast.expr]:
    """Return the arguments of a call that became those parameters of a function which the search has reached."""
    if not isinstance(scope.tree, (ast.FunctionDef, ast.Lambda)):
        return []
    names = [a.arg for a in scope.tree.args.args]
    names = names[1:] if names[:1] in (["self"], ["cls"]) else names
    fixed = next((i for i, a in enumerate(call.args) if isinstance(a, ast.Starred)), len(call.args))
    given = [a for i, a in enumerate(call.args) if i >= min(fixed, len(names)) or names[i] in scope.reached]
    return given + [k.value for k in call.keywords if k.arg is None or k.arg in scope.reached]


@searches()
def cut_line_at_step(leaf: Any) -> End | None:
    """Return the line that cut a leaf off from the loss whose backward stands before the user's running line, or None."""
    if (found := loss_before(leaf)) is None:
        return None
    loss, scope = found
    return found_around(loss, scope, position(loss))


@searches()
def cleared_line() -> Place | None:
    """Return the line that calls zero_grad between the last backward and the user's running line, or None."""
    if (begun := running_line()) is None:
        return None
    step, scope = begun
    before = [c for c in calls_in(statements(scope.tree), "backward", "zero_grad") if c.lineno < step.lineno]
    last = max([c.lineno for c in before if called_name(c) == "backward"], default=step.lineno)
    lines = [c.lineno for c in before if called_name(c) == "zero_grad" and c.lineno > last]
    return Place(scope.file, lines[0]) if lines else None


def loss_before(leaf: Any = None) -> tuple[ast.expr, Scope] | None:
    """Return the expression whose backward stands before the user's running line, such as a step, and its scope."""
    if (begun := running_line(leaf)) is None:
        return None
    step, scope = begun
    before = [c for c in calls_in(statements(scope.tree), "backward") if c.lineno <= step.lineno]
    return (differentiated(before[-1], scope), scope) if before else None


@searches()
def line_of_call(name: str, leaf: Any) -> Place | None:
    """Return the line that calls an operation with something computed from a leaf, before the user's running line, or None."""
    if (begun := running_line(leaf)) is None:
        return None
    call, scope = begun
    scope.sought = name
    end = found_in(differentiated(call, scope), scope, position(call))
    return None if end is None else end.place


@searches()
def line_of_only_call(name: str, leaf: Any) -> Place | None:
    """Return the line that calls an operation with something computed from a leaf, if no other that may have run calls it."""
    if (begun := running_line(leaf)) is None:
        return None
    call, scope = begun
    own = [n for s in statements(scope.tree) for n in ast.walk(s)]
    inside = [found for n in own if isinstance(n, ast.Call) and (found := entered(n, scope))]
    if any(body.file != scope.file for _, body in inside):
        return None
    every = ast.walk(parsed(scope.file) or scope.tree) if inside else own
    lines = {n.lineno for n in every if isinstance(n, ast.expr) and calls(name, n)}
    scope.sought = name
    end = found_in(differentiated(call, scope), scope, position(call))
    return end.place if end is not None and end.place is not None and lines == {end.place.line} else None


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


# ---------------------------------------------------------------------- the search
def found_in(node: ast.AST, scope: Scope, before: float) -> End | None:
    """Return the cut in an expression, in functions that it calls, or in the lines that gave its variables their values.

    A condition or an index comes last: it cuts only if nothing else does.
    """
    inner = list(living_parts(node, scope))
    for part in reversed(inner):
        if (end := (found_at_call if scope.sought else cut_by)(part, scope)) or (end := found_in_call(part, scope)):
            return end
    chosen: list[tuple[ast.AST, Scope, float]] = [(c, scope, before) for part in inner for c in conditions(part)]
    for name, read in variables_in(inner).items():
        scope.reached.add(name)
        value = scope.values.get(name)
        renewed = isinstance(value, Tracked) and any(assigns(s, [name]) for s, _ in written(scope.tree).get(name, ()))
        if scope.leaf is None and scope.has_history(value) and not renewed:
            continue
        for s, value, of in assigned(name, scope, before):
            if (s, name) in scope.followed or not runs(s, of) or not sets(s, read):
                continue
            scope.followed.add((s, name))
            if end := found_at(s, value, of, name):
                return end
            chosen += [(t.slice, of, position(s)) for t in getattr(s, "targets", ()) if isinstance(t, ast.Subscript)]
            chosen += [(o.test, of, position(o)) for o, _ in blocks(of.tree).get(s, ()) if isinstance(o, ast.If)]
    if scope.sought:
        return None
    return next((end for c, of, at in chosen if (end := found_in(c, of, at))), None)


def variables_in(nodes: list[ast.AST]) -> dict[str, set[str] | None]:
    """Return the variables among nodes, each with the attributes that are read; None if it is read itself."""
    inside = {n.value: n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)}
    found: dict[str, set[str] | None] = {}
    for n in nodes:
        if isinstance(n, ast.Name):
            read = found.setdefault(n.id, set())
            found[n.id] = read | {inside[n]} if n in inside and read is not None else None
    return found


def sets(s: ast.stmt, read: set[str] | None) -> bool:
    """Return False if a statement sets an attribute other than those that are read."""
    targets = [*getattr(s, "targets", ()), getattr(s, "target", None)]
    attributes = [t.attr for t in targets if isinstance(t, ast.Attribute) and isinstance(t.value, ast.Name)]
    return read is None or not attributes or bool(read & set(attributes))


def living_parts(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Yield the parts of an expression from whose values its value comes, without branches that never run."""
    yield node
    for child in living(node, scope):
        yield from living_parts(child, scope)


def found_at(s: ast.stmt, value: ast.expr, scope: Scope, name: str = "") -> End | None:
    """Return the cut at a statement, or behind the value that it assigns, to a variable, or returns."""
    if name and takes_positions(s, name) and takes_history(value, scope):
        return scope.end(value, called_name(value), *POSITIONS)
    detaches = name and isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and called_name(s.value) == "detach_"
    if detaches and any(keeps_history(e, v, scope) for e, v in assignments(scope.tree, name, position(s))):
        return scope.end(s, "detach_", METHODS["detach"][0], "remove .detach_() from line {line}")
    if not scope.sought and switched_off(s, scope.tree) and takes_history(value, scope):
        return scope.end(s, *unrecorded(s, value))
    return found_in(value, scope, position(s))


def found_at_call(node: ast.AST, scope: Scope) -> End | None:
    """Return the line of a node that calls the sought operation with something that has a history."""
    if isinstance(node, ast.Call) and is_module(module := resolved(node.func, scope)):
        kind = type(module).__name__.lower()  # criterion(x, y) of an nn.NLLLoss
        called = kind in (scope.sought.replace("_", ""), CRITERIA.get(scope.sought))
    else:
        called = calls(scope.sought, node)
    return scope.end(node, scope.sought, "", "") if called and takes_history(node, scope) else None


CRITERIA = {  # loss -> its module, if that has another name
    "cross_entropy": "crossentropyloss",
    "binary_cross_entropy": "bceloss",
    "binary_cross_entropy_with_logits": "bcewithlogitsloss",
    "kl_div": "kldivloss",
}


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
    if isinstance(node, ast.Attribute) and node.attr == "grad":
        of = resolved(node.value, scope)
        if isinstance(of, Tensor) and of._grad is not None and of._grad._edge is None:
            why = "holds numbers without a history, because create_graph is not set"
            every = calls_in(statements(scope.tree), "backward")
            before = {n.lineno: n for n in every if n.lineno < node.lineno}
            only = [*before.values()] if len(before) == 1 else [node]
            return scope.end(only[0], ".grad", why, ONCE[1])
    if ended := ends_history(node, scope):
        name, reason, taken = ended
        return scope.end(node, name, *reason) if any(takes_history(n, scope) for n in taken) else None
    if not isinstance(node, ast.Call) or scope.leaf is not None or (name := called_name(node)) not in ("apply", "grad"):
        return None
    given = [*node.args, *[k.value for k in node.keywords]]
    if not any(takes_history(a, scope) or begins(a) for a in given):
        return None
    if name == "apply":
        return end_in_function(node, without_derivative, scope)
    if not any(k.arg == "create_graph" for k in node.keywords):
        return scope.end(node, name, *ONCE)
    return next(
        (end for n in applied_before(given[0], scope) if (end := end_in_function(n, constant_backward, scope))), None
    )


def applied_before(node: ast.expr, scope: Scope) -> list[ast.Call]:
    """Return the calls of apply in an expression, and in the lines that gave its variables their values."""
    lines = [value for n in names_in(parts(node)) for _, value in assignments(scope.tree, n, position(node))]
    return calls_in([node, *lines], "apply")


def end_in_function(call: ast.Call, search: Callable, scope: Scope) -> End | None:
    """Return the end of a history in the user's Function that a call applies, as `search` finds it."""
    cls = resolved(getattr(call.func, "value", call), scope)
    found = search(cls) if isinstance(cls, type) and issubclass(cls, Function) else None
    return None if found is None else End(cls.__name__, *found)


def found_in_call(node: ast.AST, scope: Scope) -> End | None:
    """Return the cut in the body of the user's function, or module, that a node calls."""
    if not isinstance(node, ast.Call) or (inside := entered(node, scope)) is None or inside[0] in scope.entered:
        return None
    visit, body = inside
    scope.entered.add(visit)
    decorator = next((d for d in getattr(body.tree, "decorator_list", ()) if names_switch(d)), None)
    if decorator is not None and visit[1] and not scope.sought:
        return body.end(decorator, body.tree.name, *OFF)
    return next((end for s, value in returned(body) if (end := found_at(s, value, body))), None)
