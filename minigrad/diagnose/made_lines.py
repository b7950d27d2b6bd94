"""The line that gave a value its name: the mistake is often there, while the error comes at a later line.

Nothing is noted while a program runs.  Once there is something to report, the variable that holds the value is looked up in
the running functions, and the program's text shows where that variable was bound.  A line counts only if no other can have
bound the variable.
"""

from __future__ import annotations

import ast
import inspect
from types import FrameType
from typing import Any

from ..core.tensor import Tensor
from ..places import Place, caller_of, defined_at, noted, parsed, returns, user_frame, users_code, variables
from .cut_lines import running_line
from .histories import DEEPEST, resolved
from .program_tree import assignments, assigns, begins, body_of
from .report import searches


@searches()
def made_line(value: Any) -> Place | None:
    """Return the line that bound the variable which holds a value, or the tensor with this edge; None if it is unknown."""
    frame = user_frame()
    for _ in range(DEEPEST):
        if frame is None or value is None:
            return None
        if lines := lines_of(value, frame):
            return Place(frame.f_code.co_filename, lines.pop()) if len(lines) == 1 else None
        frame = caller_of(frame)
    return None


def lines_of(value: Any, frame: FrameType) -> set[int]:
    """Return the lines before the running one that may have bound the variables with a value.

    Another name for the same value, `y = x`, and the items of a loop are not made there.
    """
    if (tree := parsed(frame.f_code.co_filename)) is None:
        return set()
    held = {name: v for name, v in variables(frame).items() if v is value or isinstance(v, Tensor) and v._edge is value}
    scope, found = body_of(frame.f_code, tree), set()
    if not held or held.keys() & bound_in_other_ways(scope):
        return set()
    for name, v in held.items():
        of_result = isinstance(v, Tensor) and not v.is_leaf
        for s, code in assignments(scope, name, frame.f_lineno):
            made = assigns(s, [name]) and not isinstance(s, ast.For) and not isinstance(code, ast.Name)
            if made and not (of_result and begins_at(code)):
                found.add(s.lineno)
    return found


def bound_in_other_ways(scope: ast.AST) -> set[str]:
    """Return the names that a scope binds by `:=`, `with`, or from a function inside, where no assignment shows it."""
    nodes = list(ast.walk(scope))
    targets = [n.target for n in nodes if isinstance(n, ast.NamedExpr)]
    targets += [n.optional_vars for n in nodes if isinstance(n, ast.withitem) and n.optional_vars is not None]
    outer = [name for n in nodes if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names]
    return {*outer, *[n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]}


def begins_at(value: ast.expr) -> bool:
    """Return True for an expression whose own call makes a leaf: torch.ones(3, requires_grad=True), x.requires_grad_()."""
    inner = ast.Call(value.func, [], value.keywords) if isinstance(value, ast.Call) else None
    return inner is not None and begins(inner)


@searches(())
def without_return() -> list[str]:
    """Return a note with the user's function that has no `return`, whose call is an argument of the running call."""
    if (begun := running_line()) is None:
        return []
    call, scope = begun
    for node in call.args:
        called = resolved(node.func, scope) if isinstance(node, ast.Call) else None
        if inspect.isfunction(called) and users_code(called) is not None and not returns(called):
            return noted(f"{called.__name__} has no return", defined_at(called))
    return []


def made_at(value: Any, what: str = "it is made") -> list[str]:
    """Return a note with the line that bound the variable which holds a value, if it is known."""
    return noted(what, made_line(value))
