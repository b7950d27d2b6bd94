"""A loss of values that were broadcast against each other: a column of predictions and a row of targets, or the reverse.

`((model(x) - y) ** 2).mean()` with shapes (n, 1) and (n,) averages n * n differences, and `(losses * weights).mean()` as many
products.  When a loss of that form is differentiated, the user's program is read for the line, to see the other shape.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..core.graph import Leaf, producer
from ..core.tensor import Tensor
from ..errors import warn
from ..places import Place
from .cut_lines import differentiated, running_line
from .histories import Scope, resolved
from .program_tree import assignments, called_name, names_in, parts
from .wording import built_in


class Pairing(NamedTuple):
    """An operation between values that belong to the same examples, and the words for its operands and results."""

    operator: type[ast.operator]
    operation: str
    tracked: str
    other: str
    meaning: str
    results: str


DISTANCES = ("pow", "square", "abs", "mul")
DIFFERENCES = Pairing(
    ast.Sub, "sub", "predictions", "targets", "every target is compared with every prediction", "differences"
)
PRODUCTS = Pairing(ast.Mult, "mul", "losses", "weights", "every weight is multiplied with every loss", "products")
VIEWS = ("reshape", "unsqueeze", "index", "expand")  # they make a column of a row: x[:, None], x.unsqueeze(1)


def check_node(node: Any) -> None:
    """Warn if a mean or a sum has taken every prediction with every target, or every loss with every weight."""
    if (found := pairs(node)) is None or (begun := running_line()) is None:
        return
    shape, pairing = found
    call, scope = begun
    n, wanted = shape[0], (shape[0],) if len(shape) == 2 else (shape[0], 1)
    for part, code, other in operations(pairing.operator, differentiated(call, scope), scope, call.lineno):
        if tuple(other.shape) == wanted and other._edge is None and not on_purpose(code, scope, part.lineno):
            warn(
                "broadcast-loss",
                pairing.operation,
                f"broadcasts {pairing.tracked} of shape {shape} and {pairing.other} of shape {wanted}: {pairing.meaning}, "
                f"{n * n} {pairing.results} instead of {n}",
                f"give both the same shape: {code}.reshape({', '.join(map(str, shape))})",
                Place(scope.file, part.lineno),
            )
            return


def pairs(node: Any) -> tuple[tuple, Pairing] | None:
    """Return (n, 1) or (n,), the shape of the tracked operand behind a mean or sum of n * n results, and its kind; or None."""
    if built_in(node) not in ("mean", "sum") or len(node._edges[0]._shape) != 2:
        return None
    inner, kind = producer(node._edges[0]), PRODUCTS
    if not built_in(inner):
        return None
    if built_in(inner) != "mul" or all(e is not None for e in inner._edges[:2]):
        distance, inner, kind = inner, producer(inner._edges[0]), DIFFERENCES
        if built_in(distance) not in DISTANCES or built_in(inner) != "sub":
            return None
    tracked, (n, m) = [e for e in inner._edges if e is not None], inner._shape[:2] if len(inner._shape) == 2 else (0, 1)
    if len(tracked) != 1 or n != m or n < 2 or tracked[0]._shape not in ((n, 1), (n,)):
        return None
    made, shape = producer(tracked[0]), tracked[0]._shape
    if type(made) is Leaf:
        return None if kind is PRODUCTS else (shape, kind)
    column = built_in(made) in VIEWS and len(made._edges[0]._shape) < len(shape)
    return None if column else (shape, kind)


def on_purpose(code: str, scope: Scope, before: float) -> bool:
    """Return True for a variable that the program makes a column with x[:, None] or unsqueeze, to get all pairs."""
    for _, value in assignments(scope.tree, code, before)[:1]:
        for n in ast.walk(value):
            if isinstance(n, ast.Call) and called_name(n) == "unsqueeze":
                return True
            if isinstance(n, ast.Subscript) and any(getattr(i, "value", n) is None for i in ast.walk(n.slice)):
                return True
    return False


def operations(operator: type, node: ast.expr, scope: Scope, before: float) -> Iterator[tuple[ast.BinOp, str, Tensor]]:
    """Yield the operations in an expression and the lines that made its variables, with the code and value of an operand."""
    waiting, done = [(node, before)], set()
    while waiting:
        node, before = waiting.pop()
        for part in parts(node):
            if isinstance(part, ast.BinOp) and isinstance(part.op, operator):
                known = [(side, resolved(side, scope)) for side in (part.left, part.right)]
                yield from [(part, ast.unparse(side), t) for side, t in known if isinstance(t, Tensor)]
        for name in set(names_in(parts(node))) - done:
            done.add(name)
            waiting += [(value, s.lineno) for s, value in assignments(scope.tree, name, before)]
