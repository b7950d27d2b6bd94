"""The line at which a user's Function cuts a history: an output without a derivative, or a backward of numbers.

A backward is itself differentiable if it computes from its incoming gradient and from saved inputs or outputs.  Numbers, and
tensors that forward has computed, have no history.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

from ..core.function import Function
from ..core.tensor import Tensor, is_float
from ..places import Place, parsed, users_code
from .program_tree import body_of, called_name, names_in, statements

_whole: WeakKeyDictionary[type, tuple[dict, int]] = WeakKeyDictionary()  # Function -> dtypes by output, their number
READS_NUMBERS = ("item", "tolist", "numpy", "detach")
ONCE = ", so its gradient cannot be differentiated again"
AGAIN = "save the inputs and compute {} again in backward"


def without_derivative(cls: Any) -> tuple[Place | None, str, str] | None:
    """Return the line where forward returns an output that has no derivative, with the reason and the fix; or None."""
    return whole(cls) or marked(cls)


def note_dtypes(cls: type, returned: tuple) -> None:
    """Note which outputs of a Function's first call are bools or integers."""
    dtypes = {i: o.dtype for i, o in enumerate(returned) if isinstance(o, Tensor) and not is_float(o)}
    if dtypes:
        _whole[cls] = dtypes, len(returned)


def whole(cls: Any) -> tuple[Place | None, str, str] | None:
    """Return the line where forward returns bools or integers, with the reason and the fix; None if it does not."""
    if cls not in _whole:
        return None
    dtypes, n = _whole[cls]
    i, dtype = next(iter(dtypes.items()))
    lines = [(s, file) for tree, file in tree_of(cls, "forward") for s in statements(tree) if isinstance(s, ast.Return)]
    place = Place(lines[-1][1], lines[-1][0].lineno) if lines else None
    value = lines[-1][0].value if lines else None
    parts = getattr(value, "elts", [value])
    value = parts[i] if len(parts) == n else value
    code = "them" if value is None else ast.unparse(value)
    code = code if isinstance(value, (ast.Name, ast.Call)) else f"({code})"
    why = f"returns {f'output {i} as ' * (n > 1)}{dtype}, which has no derivative, so its backward is never called"
    fix = f"return floats, {code}.float(); its backward then defines the slope, such as a smooth surrogate's"
    return place, why, fix


def marked(cls: Any) -> tuple[Place, str, str] | None:
    """Return the line where forward marks an output as non-differentiable, with the reason and the fix; None if it does not."""
    for call, file in calls_in(cls, "forward", "setup_context"):
        if called_name(call) == "mark_non_differentiable":
            code = ", ".join(map(ast.unparse, call.args))
            why = f"marks its output {code} as non-differentiable, so it has no history"
            return Place(file, call.lineno), why, f"differentiate another output, or remove {ast.unparse(call)}"
    return None


def constant_backward(cls: Any) -> tuple[Place, str, str] | None:
    """Return the line that makes a Function's gradients constant, with the reason and the fix; None if it is not found."""
    found = (check(cls) for check in (numbers_in_backward, computed_on_ctx, saved_intermediate))
    return next((cut for cut in found if cut is not None), None)


def numbers_in_backward(cls: Any) -> tuple[Place, str, str] | None:
    """Return the line of a backward that turns a tensor into numbers, with the reason and the fix; or None."""
    for call, file in calls_in(cls, "backward", "vjp"):
        if isinstance(call.func, ast.Attribute) and call.func.attr in READS_NUMBERS:
            why = f"computes its gradient with {ast.unparse(call)}, which has no history"
            return (
                Place(file, call.lineno),
                why + ONCE,
                f"compute with the tensor itself: {ast.unparse(call.func.value)}",
            )
    return None


def computed_on_ctx(cls: Any) -> tuple[Place, str, str] | None:
    """Return the line of a forward that stores a computed value on the ctx, with the reason and the fix; or None."""
    known = named(cls)
    for s, file in [(s, file) for tree, file in tree_of(cls, "forward") for s in statements(tree)]:
        computes = isinstance(s, ast.Assign) and isinstance(s.value, (ast.BinOp, ast.Call))
        if not computes or not known & set(names_in(ast.walk(s.value))):
            continue
        for t in s.targets:
            if isinstance(t, ast.Attribute) and isinstance(t.value, ast.Name) and t.value.id == "ctx":
                why = f"computes ctx.{t.attr} in forward without recording"
                return Place(file, s.lineno), why + ONCE, AGAIN.format(ast.unparse(s.value))
    return None


def saved_intermediate(cls: Any) -> tuple[Place, str, str] | None:
    """Return the line that saves a tensor that is neither an input nor an output, with the reason and the fix; or None."""
    known = named(cls)
    for call, file in calls_in(cls, "forward", "setup_context"):
        for a in call.args if called_name(call) == "save_for_backward" else ():
            if isinstance(a, ast.Name) and a.id not in known:
                why = f"saves {a.id}, which forward has computed without recording"
                return Place(file, call.lineno), why + ONCE, AGAIN.format(a.id)
    return None


def inside_forward(place: Place | None) -> bool:
    """Return True if a line belongs to the forward of a user's Function."""
    classes = [Function]
    for cls in classes:  # grows while it is iterated over
        classes += cls.__subclasses__()
        code = users_code(vars(cls).get("forward"))
        if place is not None and code is not None and code.co_filename == place.file:
            last = max(line for _, _, line in code.co_lines() if line is not None)
            if code.co_firstlineno <= place.line <= last:
                return True
    return False


def named(cls: Any) -> set[str]:
    """Return the names of a Function's inputs and outputs."""
    found: set[str] = set()
    for name in ("forward", "setup_context"):
        for tree, _ in tree_of(cls, name):
            found |= {a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)}
            for s in statements(tree):
                if isinstance(s, ast.Return) and isinstance(s.value, (ast.Name, ast.Tuple)):
                    found |= {n.id for n in getattr(s.value, "elts", [s.value]) if isinstance(n, ast.Name)}
                elif isinstance(s, ast.Assign) and names_in(ast.walk(s.value)) in (["inputs"], ["output"]):
                    found |= {n for t in s.targets for n in names_in(ast.walk(t))}  # x, y = inputs
    return found


def calls_in(cls: Any, *methods: str) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls in a Function's methods, with the file."""
    for name in methods:
        for tree, file in tree_of(cls, name):
            yield from [(n, file) for n in ast.walk(tree) if isinstance(n, ast.Call)]


def tree_of(cls: Any, name: str) -> Iterator[tuple[ast.AST, str]]:
    """Yield the tree of a method that the user wrote, and its file."""
    method = inspect.getattr_static(cls, name, None)
    code = users_code(getattr(method, "__func__", method)) if method is not None else None
    tree = None if code is None else parsed(code.co_filename)
    if code is not None and tree is not None and isinstance(body := body_of(code, tree), ast.FunctionDef):
        yield body, code.co_filename
