"""Slips that the text of the user's program shows: a method that is named but not called, `==` instead of `=`, an update of a
loop's variable, and an expression of which Python takes a plain value.

Python accepts all of these.  Lines that look like one are found by a pattern; only then is the program parsed.
"""

import ast
import linecache
import re
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any

from ..core.engine import reachable
from ..core.frames import current
from ..core.tensor import Tensor
from ..errors import error, warn
from ..events import intercept
from ..places import Place, callee, noted, parsed, running, user_frame, user_place
from .cut_lines import written_in_place
from .modules import is_module
from .report import explains, searches
from .trained_models import warn_backward_of_module
from .users_program import (
    LinesLike,
    Scope,
    blocks,
    called_name,
    holds,
    is_users,
    named_in,
    position,
    reaches,
    resolved,
    running_line,
    scope_of,
    statements,
    written,
)

METHODS = "backward|step|zero_grad|zero_|eval|train|retain_grad|requires_grad_|detach_"
NOT_CALLED = re.compile(rf"^\s*[A-Za-z_][\w.\[\]]*\.({METHODS})\s*(#.*)?$")
COMPARED = re.compile(r"^\s*[A-Za-z_][\w.\[\]]*\.(requires_grad|grad|data|training) == ")
LOOP_VARIABLE = re.compile(r"^\s*([A-Za-z_]\w*) = \1 [-+] .*\b\1\.grad\b")
BACKWARD = re.compile(r"^\s+def backward\(self\b")
STEP = re.compile(r"^\s*([A-Za-z_]\w*)(?:\.data)?(?: [-+]= |\.(?:add|sub|addcmul|addcdiv)_\().*\b\1\.grad\b")
SLIPS = LinesLike(NOT_CALLED, COMPARED, LOOP_VARIABLE, BACKWARD, STEP)


@searches(False)
def check_source(*names: str) -> bool:
    """Warn about slips in the function of the user that runs; return True if there was one.

    With names, look for these methods alone.
    """
    if (scope := scope_of(user_frame(), like=SLIPS)) is None:
        return False
    found = [s for s in not_called(scope) if not names or s.value.attr in names]
    for s in found:
        warn_not_called(s, scope)
    for s in () if names else comparisons(scope):
        warn_compared(s, scope)
    for s in () if names else updates_of_loop_variables(scope.tree):
        name = s.targets[0].id
        warn(
            "loop-variable-update",
            name,
            f"the assignment gives the loop's variable {name} a new tensor; the parameter itself does not change",
            f"update it in place: {written_in_place(name, s.value)}",
            Place(scope.file, s.lineno),
        )
    for value in () if names else scope.values.values():
        if is_module(value):
            warn_backward_of_module(value, "backward")
    return bool(found)


def not_called(scope: Scope) -> Iterator[Any]:
    """Yield the statements that only name a method of a tensor, module or optimizer."""
    for s in statements(scope.tree):
        named = isinstance(s, ast.Expr) and isinstance(s.value, ast.Attribute) and re.fullmatch(METHODS, s.value.attr)
        if named and is_known(s, scope):
            yield s


def is_known(s: ast.AST, scope: Scope) -> bool:
    """Return True if the first name in a statement stands for a tensor, module or optimizer."""
    first = next((n for n in ast.walk(s) if isinstance(n, ast.Name)), None)
    of = None if first is None else resolved(first, scope)
    return isinstance(of, Tensor) or is_module(of) or hasattr(of, "param_groups")


def comparisons(scope: Scope) -> Iterator[Any]:
    """Yield the statements that only compare an attribute of a tensor or module with a value."""
    for s in statements(scope.tree):
        compares = isinstance(s, ast.Expr) and isinstance(s.value, ast.Compare) and len(s.value.ops) == 1
        if compares and COMPARED.match(ast.unparse(s)) and is_known(s.value.left, scope):
            yield s


def warn_compared(s: ast.Expr, scope: Scope) -> None:
    """Warn about a statement that compares an attribute instead of assigning it."""
    compared: Any = s.value
    name, value = ast.unparse(compared.left), ast.unparse(compared.comparators[0])
    warn(
        "compared-not-assigned",
        compared.left.attr,
        f"{name} == {value} compares and forgets the answer, so this line does nothing",
        f"assign with one equals sign: {name} = {value}",
        Place(scope.file, s.lineno),
    )


def warn_not_called(s: ast.Expr, scope: Scope) -> None:
    """Warn about a statement that names a method without calling it."""
    code = ast.unparse(s.value)
    warn(
        "method-not-called",
        s.value.attr,
        f"{code} names the method but does not call it, so this line does nothing",
        f"write the parentheses: {code}()",
        Place(scope.file, s.lineno),
    )


def updates_of_loop_variables(tree: ast.AST) -> Iterator[Any]:
    """Yield the statements in a loop over parameters that assign its variable an update, and are its last use."""
    for loop in statements(tree):
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            continue
        name = loop.target.id
        for block in [loop, *[w for w in loop.body if isinstance(w, ast.With)]]:
            s = block.body[-1]
            if (
                isinstance(s, ast.Assign)
                and isinstance(s.value, ast.BinOp)
                and [t.id for t in s.targets if isinstance(t, ast.Name)] == [name]
                and LOOP_VARIABLE.match(ast.unparse(s))
            ):
                yield s


# ---------------------------------------------------------------------- gradients that add up
@searches()
def check_loop(roots: Sequence) -> None:
    """Warn about a leaf that each round of a loop updates with its gradient, which no line clears.

    At its second backward the gradient of the first is still there.
    """
    if (begun := running_line(like=SLIPS)) is None:
        return
    call, scope = begun
    if (loop := innermost(scope.tree, call.lineno)) is None:
        return
    leaves = None
    for s, name in updates_by_gradient(scope.tree, loop):
        t = scope.values.get(name)
        if not isinstance(t, Tensor) or not isinstance(t._grad, Tensor) or not bool((t._grad != 0).any()):
            continue
        leaves = leaves or reachable(roots)[1]
        if t._edge in leaves and not clears(parsed(scope.file) or scope.tree, scope):
            warn(
                "gradients-not-cleared",
                name,
                f"the update uses a gradient of shape {tuple(t.shape)} that the round before has left, and backward adds to "
                "it: no line clears it",
                f"clear it after the update: {name}.grad = None",
                Place(scope.file, s.lineno),
                noted("backward was called", user_place()),
            )
            return


def innermost(tree: ast.AST, line: int) -> Any:
    """Return the innermost loop of a scope around a line, or None."""
    return next(
        (s for s in reversed(statements(tree)) if isinstance(s, (ast.For, ast.While)) and holds([s], line)), None
    )


def updates_by_gradient(tree: ast.AST, loop: ast.For | ast.While) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the statements that every round of a loop runs to write to a tensor by its own gradient, and the tensor's name."""
    for s in statements(tree):
        around = [outer for outer, _ in blocks(tree).get(s, ())]
        inside = around[around.index(loop) + 1 :] if loop in around else [loop]
        free = [
            o
            for o in inside
            if not isinstance(o, (ast.With, ast.For)) and ".grad" not in ast.unparse(getattr(o, "test", o))
        ]
        if loop in around and not free and (step := STEP.match(ast.unparse(s))):
            yield s, step[1]


def clears(tree: ast.AST, scope: Scope) -> bool:
    """Return True if a line may clear or change a gradient: it assigns or writes one, or gives it to the user's function."""
    for n in ast.walk(tree):
        match n:
            case ast.Attribute(attr="grad", ctx=ast.Store() | ast.Del()):
                return True
            case ast.Call() if called_name(n) in ("zero_grad", "setattr", "delattr", "clip_grad_norm_"):
                return True
            case ast.Call(func=ast.Attribute(value=of, attr=name)) if name.endswith("_") and name != "detach_":
                if "grad" in named_in(of):
                    return True
            case ast.Call(func=f, args=args) if is_users(resolved(f, scope)):
                if any(isinstance(a, ast.Attribute) and a.attr == "grad" for a in args):
                    return True
    return False


# ---------------------------------------------------------------------- iterators
READERS = frozenset("zip list tuple sum enumerate sorted grad clip_grad_norm_ clip_grad_value_".split())


@searches()
def warn_read_again(who: str, params: Any, model: Any) -> None:
    """Warn about an iterator of a model's parameters that a call reads to its end, and that a later line reads again."""
    if (frame := user_frame()) is None or (found := scope_of(frame)) is None:
        return
    scope, line, file = found.tree, frame.f_lineno, found.file
    name = next((name for name, value in found.values.items() if value is params), "")
    runs = [s for s in statements(scope) if s.lineno <= line <= (s.end_lineno or 0)]
    bound = [s for s, _ in written(scope).get(name, ())]
    if not runs or len(bound) != 1:
        return
    leaves = [s.lineno for s in statements(scope) if isinstance(s, (ast.Return, ast.Raise, ast.Break, ast.Continue))]
    for node in reads(scope, name):
        after = node.lineno > (runs[-1].end_lineno or line) and bound[0].lineno < line
        if after and reaches(runs[-1], scope, position(node), []) and not any(line <= n < node.lineno for n in leaves):
            warn(
                "iterator-used-up",
                name,
                f"is an iterator of {type(model).__name__}.parameters(), which {who} reads to its end: line {node.lineno}, "
                f"{linecache.getline(file, node.lineno).strip()!r}, gets no parameters from it",
                f"keep the parameters in a list: {name} = list({ast.unparse(bound[0].value)})",
                Place(file, bound[0].lineno),
            )
            return


def reads(tree: ast.AST, name: str) -> Iterator[ast.expr]:
    """Yield the places of a scope that read all items of a variable: a loop, or a call such as zip."""
    for s in statements(tree):
        own = [n for n in ast.iter_child_nodes(s) if not isinstance(n, ast.stmt)]
        for n in [s, *[n for child in own for n in ast.walk(child)]]:
            given = [n.iter] if isinstance(n, (ast.For, ast.comprehension)) else []
            if isinstance(n, ast.Call) and called_name(n) in READERS:
                given = [*n.args]
            yield from [g for g in given if isinstance(g, ast.Name) and g.id == name]


DECISION = "use .any() or .all()"
OPERATORS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
SEEN: set[tuple[CodeType, int]] = set()  # the calls that have been looked at
BOUNDS = {
    "max": ("min", "maximum"),
    "min": ("max", "minimum"),
}  # Python's function -> bound of clamp, function of two tensors


@explains("the truth value of several elements is ambiguous")
def truth_value(x: Tensor) -> Exception:
    """Return the error for a tensor of several elements where Python asks for True or False."""
    return error(
        RuntimeError,
        "bool",
        f"the truth value of a tensor of shape {tuple(x.shape)} with {x.numel()} elements is ambiguous",
        elementwise() or DECISION,
        notes=intercept.origins({"tensor": x}) or (),
    )


@searches("")
def elementwise() -> str:
    """Return how to write the user's running expression for all elements at once; "" if it is a decision."""
    frame = user_frame()
    node = running(frame, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Call, ast.Name, ast.Attribute, ast.Subscript)
    tree = None if frame is None else parsed(frame.f_code.co_filename)
    if node is None or tree is None:
        return ""
    choice = next((one for one in ast.walk(tree) if isinstance(one, ast.IfExp) and one.test is node), None)
    if choice is not None and not chained(node):
        parts = ", ".join(ast.unparse(one) for one in (choice.test, choice.body, choice.orelse))
        return f"choose for each element: minigrad.where({parts})"
    around = [one for one in ast.walk(tree) if isinstance(one, ast.BoolOp) and node in one.values]
    return REWRITTEN.get(type(around[0] if around else node), lambda _: "")(around[0] if around else node)


def chained(node: ast.AST) -> bool:
    """Return True for a comparison of more than two sides."""
    return isinstance(node, ast.Compare) and len(node.ops) > 1


def compared(node: ast.Compare) -> str:
    """Return `(a < x) & (x < b)` for `a < x < b`."""
    if not chained(node) or not all(type(one) in OPERATORS for one in node.ops):
        return ""
    sides = [ast.unparse(one) for one in (node.left, *node.comparators)]
    pairs = [f"({a} {OPERATORS[type(o)]} {b})" for a, o, b in zip(sides, node.ops, sides[1:])]
    return f"compare each side for itself: {' & '.join(pairs)}"


def combined(node: ast.BoolOp) -> str:
    """Return `(a) & (b)` for `a and b`."""
    sign, name = ("&", "logical_and") if isinstance(node.op, ast.And) else ("|", "logical_or")
    sides = [ast.unparse(one) for one in node.values]
    both = f" {sign} ".join(f"({one})" for one in sides)
    return f"combine the elements: {both}, or minigrad.{name}; {DECISION} for one decision"


def inverted(node: ast.UnaryOp) -> str:
    """Return `logical_not(x)` for `not x`."""
    if not isinstance(node.op, ast.Not):
        return ""
    return f"invert each element: minigrad.logical_not({ast.unparse(node.operand)}); {DECISION} for one decision"


def called(node: ast.Call) -> str:
    """Return the operation of minigrad for Python's max, min, sorted, any and all."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    words = [ast.unparse(one) for one in node.args]
    if name in BOUNDS and len(node.args) == 2:
        bound, function = BOUNDS[name]
        of, number = words if constant(node.args[1]) else words[::-1]
        if constant(node.args[1]) or constant(node.args[0]):
            relu = f", or minigrad.relu({of})" if (name, number) in (("max", "0"), ("max", "0.0")) else ""
            return f"Python's {name} compares whole tensors; write {of}.clamp({bound}={number}){relu}"
        return f"Python's {name} compares whole tensors; write minigrad.{function}({', '.join(words)})"
    instead = {"max": "max()", "min": "min()", "any": "any()", "all": "all()", "sorted": "sort().values"}
    if name in instead and len(node.args) == 1:
        return f"Python's {name} takes row by row; write {words[0]}.{instead[name]}"
    return ""


def constant(node: ast.expr) -> bool:
    """Return True for a number."""
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(node, ast.Constant)


REWRITTEN: dict[type, Callable] = {ast.Compare: compared, ast.BoolOp: combined, ast.UnaryOp: inverted, ast.Call: called}


@explains("a tensor that requires grad becomes a number")
def number_taken(x: Tensor) -> None:
    """Warn once if a function of `math` takes the number of a tensor that requires grad, unless the result is printed."""
    frame = user_frame()
    if frame is None or not current().grad or (frame.f_code, frame.f_lasti) in SEEN:
        return
    SEEN.add((frame.f_code, frame.f_lasti))
    function, node = callee(frame), running(frame, ast.Call)
    name = getattr(function, "__name__", "")
    if (
        getattr(function, "__module__", "") != "math"
        or not hasattr(Tensor, name)
        or name.startswith("is")
        or (tree := parsed(frame.f_code.co_filename)) is None
        or printed(node, tree)
    ):
        return
    words = ", ".join(map(ast.unparse, node.args))
    warn(
        "number-from-math",
        f"math.{name}",
        f"takes the number of a tensor of shape {tuple(x.shape)} that requires grad, so no gradient passes",
        f"write minigrad.{name}({words}); if a number is meant, math.{name}({words}.item())",
    )


def printed(node: ast.Call, tree: ast.Module) -> bool:
    """Return True if a call of a program stands in a call of print or in a text."""
    calls = [one for one in ast.walk(tree) if isinstance(one, (ast.Call, ast.JoinedStr)) and one is not node]
    shows = [one for one in calls if isinstance(one, ast.JoinedStr) or ast.unparse(one.func) == "print"]
    return any(node in ast.walk(one) for one in shows)
