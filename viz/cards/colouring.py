"""Cards coloured by the size of their gradients, the bytes they save for backward, or their time in a pass (`--color time`).

The steps are logarithmic, because both range over several orders of magnitude in one program.
"""

import math
from collections.abc import Callable

from .. import text
from ..graph.drawn_graph import Graph, Node
from ..graph.modules import ids_of

STEPS = 5  # shades of the looks tint-1 to tint-5


def tints(graph: Graph, shown: str = "forward") -> tuple[dict[str, int], str]:
    """Return the shade of each card in the pass `shown`, if it has a size, and the words of the legend; "" without sizes.

    All passes have one scale. A picture of all passes at once has the shades of the first.
    """
    if not graph.view.color:
        return {}, ""
    words, size_of, written = SIZES[graph.view.color]
    sizes = {name: {n.key: size for n in graph.nodes if (size := size_of(graph, n, name))} for name in graph.passes}
    finite = [size for found in sizes.values() for size in found.values() if math.isfinite(size)]
    if not finite:
        return {}, ""
    low, high = min(finite), max(finite)
    steps = {key: step(size, low, high) for key, size in sizes.get(shown, sizes[graph.passes[0]]).items()}
    return steps, f"{words}: {written(low)} to {written(high)}"


def step(size: float, low: float, high: float) -> int:
    """Return the shade of a size, from 1 to 5; a size that is not finite has the darkest.

    >>> [step(size, 1.0, 1e4) for size in (1.0, 10.0, 100.0, 1e4, float("nan"))], step(3.0, 3.0, 3.0)
    ([1, 2, 3, 5, 5], 5)
    """
    if low == high or not math.isfinite(size):
        return STEPS
    return min(STEPS, 1 + int(STEPS * (math.log(size) - math.log(low)) / (math.log(high) - math.log(low))))


def gradient_norm(graph: Graph, node: Node, shown: str) -> float:
    """Return the norm of the gradients of a node's values."""
    if node.kind == "copy":
        return 0.0
    return math.hypot(*(text.norm_of(graph.gradient(value)) or 0.0 for value in node.outputs))


def saved_bytes(graph: Graph, node: Node, shown: str) -> float:
    """Return the bytes that an operation saves for backward."""
    return float(sum(graph.saved(node.record).values())) if node.is_op else 0.0


def seconds(graph: Graph, node: Node, shown: str) -> float:
    """Return the time of an operation, or of all operations in a box, in a pass."""
    if not node.is_op:
        return 0.0
    ops = ids_of(node.record)
    return sum(graph.times[shown][op] for op in ops)


SIZES: dict[str, tuple[str, Callable[[Graph, Node, str], float], Callable[[float], str]]] = {
    "grad": ("norm of the gradient", gradient_norm, lambda size: text.number(size, 2)),
    "memory": ("saved for backward", saved_bytes, lambda size: text.size(int(size))),
    "time": ("time in each pass", seconds, text.seconds),
}
