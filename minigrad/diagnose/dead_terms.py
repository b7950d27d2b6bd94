"""Terms of a loss that have no gradient: a penalty on parameters that is computed from their numbers.

`loss + 0.01 * sum((p.data ** 2).sum() for p in net.parameters())` has the value that was meant, and the gradient of `loss`.
The text of the program shows the terms.  Only penalties are judged, computed from parameters alone: a constant made of data
may be meant, as in a target or a baseline.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

from ..core.graph import Leaf
from ..core.tensor import Tensor
from ..errors import warn
from ..places import Place, noted, parsed, user_frame, user_place
from .cut_lines import assigned, differentiated, running_line
from .histories import Scope, entered, resolved, returned, takes_history
from .modules import is_module, parameters_of
from .program_tree import LinesLike, blocks, called_name, names_in, parts, position
from .report import searches
from .retained_graphs import spent

CUTS = LinesLike(r"\.data\b|\bdetach\(|\.item\(|\bfloat\(")
NUMBERS = ("item", "float", "tolist")
DEEPEST = 64  # terms


@searches()
def check_terms() -> None:
    """Warn about penalties without a gradient in the loss whose backward is running."""
    frame = user_frame()
    if frame is None or not CUTS.found_in(frame.f_code.co_filename) or (begun := running_line()) is None:
        return
    call, scope = begun
    for term, of in terms(differentiated(call, scope), scope, position(call), set()):
        if (cut := cut_in(term, of)) is not None and not takes_history(term, of) and of_parameters(term, of):
            name = f".{cut.attr}" if isinstance(cut, ast.Attribute) else called_name(cut)
            warn(
                "penalty-without-gradient",
                name,
                f"gives numbers without a history, so this term of the loss, {ast.unparse(term)}, has no gradient and "
                "does not act on the parameters",
                f"compute it from the parameters themselves, without {name}",
                Place(of.file, cut.lineno),
                noted("backward was called", user_place()),
            )
            return


def terms(node: ast.expr, scope: Scope, before: float, seen: set) -> Iterator[tuple[ast.expr, Scope]]:
    """Yield the terms of a sum, without numbers as factors, each with its scope; variables stand for their values."""
    if len(seen) > DEEPEST:
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        for side in (node.left, node.right):
            yield from terms(side, scope, before, seen)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)) and (left_out := factor(node, scope)):
        yield from terms(node.right if left_out is node.left else node.left, scope, before, seen)
    elif isinstance(node, ast.Name):
        for s, value, of in assigned(node.id, scope, before):
            if (s, node.id) not in seen and adds(s) and always_runs(s, of):
                seen.add((s, node.id))
                yield from terms(value, of, position(s), seen)
    elif (
        isinstance(node, ast.Call)
        and called_name(node) == "sum"
        and node.args
        and isinstance(node.args[0], ast.GeneratorExp)
    ):
        yield from terms(node.args[0].elt, inside(node.args[0], scope), before, seen)
    elif isinstance(node, ast.Call) and not is_module(resolved(node.func, scope)) and (body := entered(node, scope)):
        for s, value in returned(body[1]):
            yield from terms(value, body[1], position(s), seen)
    else:
        yield node, scope


def factor(node: ast.BinOp, scope: Scope) -> ast.expr | None:
    """Return the side of a product that is a number."""
    sides = [node.left, node.right] if isinstance(node.op, ast.Mult) else [node.right]
    return next((n for n in sides if isinstance(resolved(n, scope), (int, float))), None)


def adds(s: ast.stmt) -> bool:
    """Return True for a statement that assigns a value, or adds it."""
    return isinstance(s, ast.Assign) or isinstance(s, ast.AugAssign) and isinstance(s.op, (ast.Add, ast.Sub))


def always_runs(s: ast.stmt, scope: Scope) -> bool:
    """Return True unless a condition stands around a statement."""
    return not any(isinstance(outer, (ast.If, ast.Try, ast.Match)) for outer, _ in blocks(scope.tree).get(s, ()))


def inside(generator: ast.GeneratorExp, scope: Scope) -> Scope:
    """Return the scope of a generator over parameters, with the first parameter as the value of its variable."""
    values = dict(scope.values)
    for loop in generator.generators:
        first = first_of(loop.iter, scope)
        targets = [n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)]
        values.update({name: first for name in targets[-1:] if first is not None})
    return replace(scope, values=values)


def first_of(node: ast.expr, scope: Scope) -> Any:
    """Return the first parameter of `net.parameters()` or `net.named_parameters()`, or the first item of a list."""
    if isinstance(node, ast.Call) and called_name(node) in ("parameters", "named_parameters"):
        of = resolved(getattr(node.func, "value", node), scope)
        return next(parameters_of(of), None) if is_module(of) else None
    held = resolved(node, scope)
    return held[0] if isinstance(held, (list, tuple)) and held else None


def cut_in(term: ast.expr, scope: Scope) -> Any:
    """Return the part of a term that takes the numbers of a parameter, or of a result whose graph is unused; or None."""
    for n in parts(term):
        if isinstance(n, ast.Attribute) and n.attr == "data" and is_parameter(n.value, scope):
            return n
        if isinstance(n, ast.Call) and called_name(n) == "detach":
            of = n.func.value if isinstance(n.func, ast.Attribute) and not n.args else next(iter(n.args), n)
            if is_parameter(of, scope):
                return n
        if isinstance(n, ast.Call) and called_name(n) in NUMBERS:
            of = n.args[0] if n.args else getattr(n.func, "value", n)
            value = resolved(of, scope)
            if (
                takes_history(of, scope)
                and not (isinstance(value, Tensor) and spent(value._edge))
                and not differs(of, scope)
            ):
                return n
    return None


def differs(node: ast.expr, scope: Scope) -> bool:
    """Return True if the program also differentiates a value by a call: its gradient comes from there."""
    calls = [n for n in ast.walk(parsed(scope.file) or scope.tree) if isinstance(n, ast.Call)]
    texts = [
        ast.unparse(n.func.value) for n in calls if isinstance(n.func, ast.Attribute) and n.func.attr == "backward"
    ]
    texts += [ast.unparse(n.args[0]) for n in calls if called_name(n) == "grad" and n.args]
    return ast.unparse(node) in texts


def is_parameter(node: ast.expr, scope: Scope) -> bool:
    """Return True for a leaf that requires grad."""
    value = resolved(node, scope)
    return isinstance(value, Tensor) and value._layer is None and type(value._edge) is Leaf


def of_parameters(term: ast.expr, scope: Scope, depth: int = 8) -> bool:
    """Return True if all that a term is computed from are parameters, modules, numbers and functions, and no data."""
    for name in set(names_in(parts(term))):
        value = scope.values.get(name, getattr(builtins, name, None))
        if isinstance(value, Tensor) and type(value._edge) is not Leaf:
            lines = assigned(name, scope, position(term))
            if (
                value._edge is None
                or not depth
                or len(lines) != 1
                or not of_parameters(lines[0][1], lines[0][2], depth - 1)
            ):
                return False
        elif not (isinstance(value, (Tensor, ModuleType, int, float)) or is_module(value) or callable(value)):
            return False
    return not any(isinstance(n, ast.Call) and is_module(resolved(n.func, scope)) for n in parts(term))
