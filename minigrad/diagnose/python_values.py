"""Where Python takes a plain value of a tensor: what the user's expression meant, for tensors.

Python asks for a truth value in chained comparisons, in `and`, `or`, `not` and `if`, and in its own max, min and sorted.  The
functions of `math` take a number, and leave the graph behind.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import CodeType

from ..core.frames import current
from ..core.tensor import Tensor
from ..errors import error, warn
from ..events import intercept
from ..places import callee, parsed, running, user_frame
from .report import explains, searches

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
