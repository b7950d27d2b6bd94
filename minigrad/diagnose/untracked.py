"""Notes on a tensor without a history that no line cut: nothing that it is computed from requires grad.

Like cut_lines.py, this reads the user's program once an error is certain.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

from ..core.tensor import Tensor
from ..places import Place, noted, parsed, user_frame
from .cut_lines import assigned, differentiated, running_line
from .histories import Scope
from .modules import is_module, parameters_of
from .program_tree import called_name, cells_before, names_in, parts, position
from .report import searches

MOST = 4  # notes


@searches(([], []))
def sources() -> tuple[list[str], list[str]]:
    """Return notes on the frozen modules, and on the tensors, that the differentiated tensor is computed from."""
    if (begun := running_line()) is None:
        return [], []
    call, scope = begun
    modules, tensors, waiting, done = [], [], [(differentiated(call, scope), scope, position(call))], set()
    while waiting:
        node, scope, before = waiting.pop()
        for name in dict.fromkeys(names_in(parts(node))):
            if name in done:
                continue
            done.add(name)
            lines, value = assigned(name, scope, before), scope.values.get(name)
            waiting += [(made, of, position(s)) for s, made, of in lines]
            place = Place(lines[-1][2].file, lines[-1][0].lineno) if lines else None
            if is_module(value) and any(True for _ in parameters_of(value)):
                modules += noted(f"no parameter of {name} requires grad; it is made", place)
            elif is_source(value, lines, scope):
                tensors += noted(f"{name} does not require grad; it is made", place)
    return [*modules, *(switched_off() if modules else ())][:MOST], tensors[:MOST]


@searches(())
def switched_off() -> list[str]:
    """Return notes on the lines that switch requires_grad off, in the user's running file or the notebook's cells before it."""
    file = "" if (frame := user_frame()) is None else frame.f_code.co_filename
    places = [Place(f, line) for f in (file, *cells_before(file)) for line in freezing(f)]
    return [f"requires_grad is switched off at {place}" for place in places][:MOST]


def is_source(value: Any, lines: list, scope: Scope) -> bool:
    """Return True for a floating-point tensor, or a list of them, that is made of no other tensors and not tracked."""
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    if not isinstance(first, Tensor) or not first.is_floating_point() or first.requires_grad:
        return False
    of = [scope.values.get(name) for _, made, _ in lines for name in names_in(parts(made))]
    return not any(isinstance(v, (Tensor, list, tuple)) or is_module(v) or inspect.isfunction(v) for v in of)


def freezing(file: str) -> Iterator[int]:
    """Yield the lines of a file that switch requires_grad off."""
    for node in ast.walk(parsed(file) or ast.Module([], [])):
        if isinstance(node, ast.Assign) and is_false(node.value):
            if any(isinstance(t, ast.Attribute) and t.attr == "requires_grad" for t in node.targets):
                yield node.lineno
        elif isinstance(node, ast.Call) and called_name(node) == "requires_grad_" and any(map(is_false, node.args)):
            yield node.lineno


@searches()
def switch_line() -> Place | None:
    """Return the line in the user's running file that switches gradients off for the rest of the program."""
    if (frame := user_frame()) is None:
        return None
    file = frame.f_code.co_filename
    calls = [n for n in ast.walk(parsed(file) or ast.Module([], [])) if isinstance(n, ast.Call)]
    lines = [n.lineno for n in calls if called_name(n) == "set_grad_enabled" and any(map(is_false, n.args))]
    return Place(file, lines[0]) if lines else None


def is_false(node: ast.expr) -> bool:
    """Return True for the constant False."""
    return isinstance(node, ast.Constant) and node.value is False
