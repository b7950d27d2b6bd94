"""The history of the user's expressions, as far as the values of variables and the code of functions tell it.

cut_lines.py asks this file where a history ends, and tables give the reason and the fix by the name that a program calls an
operation by.  No code of the user runs.
"""

import ast
import inspect
from types import ModuleType
from typing import Any

from ..places import users_code
from .modules import is_module
from .users_program import (
    DEEPEST,
    Scope,
    Tracked,
    assignments,
    assigns,
    begins,
    blocks,
    body_of,
    called_name,
    children,
    is_users,
    names_in,
    names_switch,
    parsed,
    position,
    resolved,
    statements,
    switched_off,
    written,
)

INTEGERS = ("long", "int", "short", "byte", "bool", "int64", "int32", "int16", "int8", "uint8")

# operations that return values and their positions
WITH_POSITIONS = ("max", "min", "topk", "sort", "kthvalue", "median", "nanmedian", "mode", "cummax", "cummin")

# why a result has no history, and the fix
CHOSEN = (
    "chooses between constants, and the choice has no derivative",
    "use a smooth function, sigmoid(k * (x - y)), or let the values depend on the tensor: where(x > y, x, y)",
)
STEPS = "returns a step function, whose derivative is 0", "use a smooth function, sigmoid(k * x)"
POSITIONS = "returns positions, which have no derivative", "use the values, or a smooth function instead"
DRAWN = (
    "draws random numbers, which have no derivative with respect to the probabilities",
    "use the log-probability of the drawn numbers",
)
DRAWN_FROM = (
    "draws numbers without a history, although a parameter of the distribution requires grad",
    "write rsample(), whose draws are differentiable functions of the parameters",
)
OFF = "runs under no_grad or inference_mode, which record nothing", "compute it outside of the block"
WHOLE = "returns integers, which have no derivative", "keep results floating-point"
NUMBERS = "turns a tensor that requires grad into numbers, which have no history", "compute with the tensor itself"
ONCE = (
    "returns gradients without a history, because create_graph is not set",
    "pass create_graph=True to the call that computes the gradient",
)
COPIED = (
    "copies the numbers of a tensor that requires grad, without its history",
    "use the tensor itself, or stack(...) of several",
)
COMPARED = (
    "returns True or False, which have no derivative",
    "use a smooth function, sigmoid(x - y), or a loss for scores, binary_cross_entropy_with_logits",
)
METHODS = {
    "detach": ("removes the history of a tensor that requires grad", "remove .detach() from line {line}"),
    "indices": POSITIONS,
    "data": ("gives a tensor that requires grad without its history", "remove .data from line {line}"),
    "argmax": (
        "returns positions, which have no derivative",
        "use a loss for classes: nn.functional.cross_entropy(logits, target)",
    ),
    "argmin": (POSITIONS[0], "use a smooth function instead: softmin"),
    **dict.fromkeys(("argsort", "nonzero", "count_nonzero", "bucketize", "searchsorted"), POSITIONS),
    **dict.fromkeys(("multinomial", "bernoulli"), DRAWN),
    **dict.fromkeys(("gt", "lt", "ge", "le", "eq", "ne", "greater", "less", "isclose", "signbit"), COMPARED),
    **dict.fromkeys(("logical_and", "logical_or", "logical_not", "logical_xor"), COMPARED),
    "heaviside": STEPS,
    **dict.fromkeys(("item", "tolist", "numpy"), NUMBERS),
    **dict.fromkeys(INTEGERS, WHOLE),
}
FUNCTIONS = {
    **dict.fromkeys(("tensor", "as_tensor", "from_numpy", "array", "asarray", "Tensor", "new_tensor"), COPIED),
    **dict.fromkeys(("float", "int", "bool"), NUMBERS),
    "detach": (METHODS["detach"][0], "remove detach() from line {line}"),
    **{name: fault for name, fault in METHODS.items() if fault in (POSITIONS, DRAWN, COMPARED, STEPS)},
    **{name: METHODS[name] for name in ("argmax", "argmin")},
}


def takes_history(node: ast.AST, scope: Scope) -> bool:
    """Return True if an expression has a history, as far as the values of variables and the code of functions tell.

    A variable whose value is not known, in a function that has returned, or that was assigned anew since then, has a history
    if one of the lines that may have given it its value takes or begins one.
    """
    if isinstance(node, ast.Name):
        gone = node.id not in scope.values or reassigned(node, scope)
        return scope.has_history(resolved(node, scope)) or gone and assigned_history(node, scope)
    if isinstance(node, ast.Attribute) and is_module(owner := resolved(node.value, scope)):
        value = resolved(node, scope)  # a method of minigrad, such as parameters(), has the module's
        return scope.has_history(owner if inspect.isfunction(value) and users_code(value) is None else value)
    if isinstance(node, ast.Attribute) and scope.has_history(resolved(node, scope)):
        return True
    if begins(node) and isinstance(node, ast.Call):
        return True
    if ends_history(node, scope):
        return False
    if isinstance(node, ast.Call) and (inside := entered(node, scope)) is not None:
        visit, body = inside
        if visit not in scope.giving:
            scope.giving[visit] = False  # a call of itself adds no history
            off = any(map(names_switch, getattr(body.tree, "decorator_list", ())))
            scope.giving[visit] = not off and any(keeps_history(s, value, body) for s, value in returned(body))
        return scope.giving[visit]
    return any(takes_history(n, scope) for n in living(node, scope))


def assigned_history(name: ast.Name, scope: Scope) -> bool:
    """Return True if one of the lines that may have given a variable its value takes or begins a history."""
    for s, value in assignments(scope.tree, name.id, position(name)):
        if (s, name.id) not in scope.taking:
            scope.taking[s, name.id] = False  # a line that reads its own variable adds no history by that
            lives = runs(s, scope) and not takes_positions(s, name.id)
            scope.taking[s, name.id] = lives and keeps_history(s, value, scope)
        if scope.taking[s, name.id]:
            return True
    return False


def takes_positions(s: ast.stmt, name: str) -> bool:
    """Return True if a statement assigns the positions to a variable that a call returns beside values: `v, i = x.max(1)`."""
    targets = s.targets if isinstance(s, ast.Assign) and gives_positions(s.value) else []
    return any(isinstance(t, ast.Tuple) and name in names_in(iter(t.elts[1:])) for t in targets)


def gives_positions(node: ast.AST) -> bool:
    """Return True for a call that returns values and their positions."""
    return isinstance(node, ast.Call) and called_name(node) in WITH_POSITIONS


def keeps_history(s: ast.stmt, value: ast.expr, scope: Scope) -> bool:
    """Return True if a statement passes on a history that its value has."""
    return begins(value) or not switched_off(s, scope.tree) and takes_history(value, scope)


def living(node: ast.AST, scope: Scope) -> list[ast.AST]:
    """Return the direct parts of an expression from which its value comes, without a branch that never runs."""
    if isinstance(node, ast.IfExp) and (chosen := known(node.test, scope)) is not None:
        return [node.body if chosen else node.orelse]
    return children(node)


def runs(s: ast.stmt, scope: Scope) -> bool:
    """Return False if a statement is in a branch that certainly does not run."""
    tests = [
        (known(o.test, scope), block is o.body) for o, block in blocks(scope.tree).get(s, ()) if isinstance(o, ast.If)
    ]
    return all(chosen is None or bool(chosen) is body for chosen, body in tests)


def known(test: ast.expr, scope: Scope) -> bool | None:
    """Return the value of a condition that is a flag, such as self.training, or compares one with None; None if unknown."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return None if (value := known(test.operand, scope)) is None else not value
    if isinstance(test, ast.Constant):
        return bool(test.value)
    flag = test
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Is, ast.IsNot)):
        flag = test.left if ast.unparse(test.comparators[0]) == "None" else test
    first = next((n for n in ast.walk(flag) if isinstance(n, ast.Name)), None)
    if not isinstance(flag, (ast.Name, ast.Attribute)) or first is None or first.id not in scope.values:
        return None
    binding = [s for s, _ in written(scope.tree).get(first.id, ())]
    if len(binding) > 1 or any(isinstance(s, ast.For) for s in binding):
        return None  # it may have had another value
    value = resolved(flag, scope)
    if isinstance(test, ast.Compare):
        return None if value is None else isinstance(test.ops[0], ast.IsNot)
    return value if isinstance(value, bool) else None


def reassigned(name: ast.Name, scope: Scope) -> bool:
    """Return True if a variable is assigned again at or below a place where it is read."""
    if name.id not in scope.rebound:
        lines = [s.lineno for s, _ in written(scope.tree).get(name.id, ()) if assigns(s, [name.id])]
        scope.rebound[name.id] = max(lines) if len(lines) > 1 else 0
    return scope.rebound[name.id] >= name.lineno


def ends_history(node: ast.AST, scope: Scope) -> tuple[str, tuple[str, str], list[ast.expr]] | None:
    """Return the name of what removes a history, the reason and fix, and the parts whose history it removes; or None."""
    if isinstance(node, ast.Attribute) and node.attr in ("data", "indices"):
        return f".{node.attr}", METHODS[node.attr], [node.value]
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 1:
        return (called_name(node.value), POSITIONS, [node.value]) if gives_positions(node.value) else None
    if isinstance(node, ast.Compare):
        values = (
            [] if isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)) else [node.left, *node.comparators]
        )
        return "a comparison", COMPARED, values
    if not isinstance(node, ast.Call) or is_users(resolved(node.func, scope)):
        return None
    name, given = called_name(node), [*node.args, *[k.value for k in node.keywords]]
    if isinstance(node.func, ast.Attribute) and not isinstance(resolved(node.func.value, scope), ModuleType):
        if name == "sample" and (of := distribution(node.func.value, scope)) is not None:
            return name, DRAWN_FROM if of.has_rsample else DRAWN, [node.func.value]
        if name in METHODS:
            return name, METHODS[name], [node.func.value]
        if name in ("to", "type") and any(isinstance(a, ast.Attribute) and a.attr in INTEGERS for a in given):
            return name, WHOLE, [node.func.value]
    if name in FUNCTIONS:
        return name, FUNCTIONS[name], given
    if name == "where" and len(given) == 3 and not any(takes_history(a, scope) for a in given[1:]):
        condition = ends_history(given[0], scope)
        return name, CHOSEN, condition[2] if condition else given[:1]
    return None


def distribution(node: ast.expr, scope: Scope) -> Any:
    """Return the distribution that a variable holds, or the class of the one that a call or the variable's line makes."""
    found = resolved(node.func if isinstance(node, ast.Call) else node, scope)
    if found is None and isinstance(node, ast.Name):
        made = [value for _, value in assignments(scope.tree, node.id, position(node)) if isinstance(value, ast.Call)]
        found = resolved(made[0].func, scope) if len(made) == 1 else None
    return found if hasattr(found if isinstance(found, type) else type(found), "rsample") else None


def entered(node: ast.Call, scope: Scope) -> tuple[tuple, Scope] | None:
    """Return the scope of the user's function, or module, that a node calls, and a key for it with these histories."""
    called, owner = resolved(node.func, scope), resolved(getattr(node.func, "value", node), scope)
    if is_module(called):
        owner, called = called, type(called).forward
    code = users_code(called) if inspect.isfunction(called) else None
    tree = None if code is None or scope.depth == DEEPEST else parsed(code.co_filename)
    if code is None or tree is None or not isinstance(body := body_of(code, tree), (ast.FunctionDef, ast.Lambda)):
        return None
    values = bound(body, node, inspect.unwrap(called), owner, scope)
    visit = (
        code,
        tuple([name for name, value in values.items() if scope.has_history(value)]),
        tuple(map(flag, values.values())),
    )
    outer = {k: v for k, v in inspect.unwrap(called).__globals__.items() if k not in code.co_varnames}
    inside = Scope(body, code.co_filename, {**outer, **values}, None, scope.leaf, scope.sought, scope.depth + 1)
    inside.entered, inside.giving = scope.entered, scope.giving
    return visit, inside


def flag(value: Any) -> Any:
    """Return a value that may decide which branch of a function runs, else None."""
    return value if isinstance(value, bool) else None


def returned(scope: Scope) -> list[tuple[Any, ast.expr]]:
    """Return the statements of a function that return a value, with the value, without those that never run."""
    if isinstance(scope.tree, ast.Lambda):
        return [(scope.tree.body, scope.tree.body)]
    every = [(s, s.value) for s in statements(scope.tree) if isinstance(s, ast.Return) and s.value is not None]
    return [(s, value) for s, value in every if runs(s, scope)]


def bound(body: ast.FunctionDef | ast.Lambda, call: ast.Call, called: Any, owner: Any, scope: Scope) -> dict[str, Any]:
    """Return the parameters of a function with the values that a call gives them; those with a history may be Tracked."""
    names = [a.arg for a in body.args.args]
    values = dict(zip(names[::-1], (called.__defaults__ or ())[::-1])) | (called.__kwdefaults__ or {})
    if owner is not None and not isinstance(owner, (type, ModuleType)) and names:  # a method
        values[names.pop(0)] = owner
    for name, a in [*zip(names, call.args), *[(k.arg, k.value) for k in call.keywords if k.arg]]:
        values[name] = Tracked() if takes_history(a, scope) else resolved(a, scope)
    return values
