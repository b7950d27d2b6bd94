"""A loss of differences that were broadcast against each other: a column of predictions and a row of targets, or the reverse.

`((model(x) - y) ** 2).mean()` with shapes (n, 1) and (n,) averages n * n differences.  When a loss of that form is
differentiated, the user's program is read for the subtraction, to see the shape of the targets.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..core.graph import Leaf, producer
from ..core.tensor import Tensor
from ..errors import warn
from ..places import Place
from .cut_lines import Scope, differentiated, resolved, running_line
from .program_tree import assignments, names_in, parts
from .report import explains, searches

DISTANCES = ("pow", "square", "abs", "mul")


@explains("a square is reduced")
@searches()
def warn_broadcast(edge: Any) -> None:
    """Warn if a mean or a sum of distances has taken every prediction with every target."""
    if (shape := shape_of_predictions(edge)) is None or (begun := running_line()) is None:
        return
    call, scope = begun
    n, wanted = shape[0], (shape[0],) if len(shape) == 2 else (shape[0], 1)
    for node, other in subtractions(differentiated(call, scope), scope, call.lineno):
        if tuple(other.shape) == wanted and other._edge is None:
            warn(
                "broadcast-loss",
                "sub",
                f"broadcasts predictions of shape {shape} and targets of shape {wanted}: every target is compared with every "
                f"prediction, {n * n} differences instead of {n}",
                f"give both the same shape: target.reshape({', '.join(map(str, shape))})",
                Place(scope.file, node.lineno),
            )
            return


def shape_of_predictions(edge: Any) -> tuple | None:
    """Return (n, 1) or (n,), the shape of the predictions behind a loss of n * n differences; None for any other loss."""
    distance = producer(edge._edges[0])
    if edge._fn.function_name() not in ("mean", "sum") or type(distance) is Leaf or not distance._fn.primitive:
        return None
    difference = producer(distance._edges[0]) if distance._fn.function_name() in DISTANCES else None
    if difference is None or type(difference) is Leaf or difference._fn.__name__ != "Sub":
        return None
    tracked = [e for e in difference._edges if e is not None]
    shape, result = tuple(tracked[0]._shape), tuple(difference._shape)
    return (
        shape if len(tracked) == 1 and shape in ((result[0], 1), (result[0],)) and result == (shape[0],) * 2 else None
    )


def subtractions(node: ast.expr, scope: Scope, before: float) -> Iterator[tuple[ast.BinOp, Tensor]]:
    """Yield the subtractions in an expression, and in the lines that made its variables, each with a known operand."""
    waiting, done = [(node, before)], set()
    while waiting:
        node, before = waiting.pop()
        for part in parts(node):
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub):
                known = [resolved(side, scope) for side in (part.left, part.right)]
                yield from [(part, t) for t in known if isinstance(t, Tensor)]
        for name in set(names_in(parts(node))) - done:
            done.add(name)
            waiting += [(value, s.lineno) for s, value in assignments(scope.tree, name, before)]
