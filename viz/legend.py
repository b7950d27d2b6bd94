"""The legend under a picture: an entry for each sign that occurs in it."""

from __future__ import annotations

from collections.abc import Sequence

from .drawn_graph import Graph
from .shapes import Group, Path, Text, outline
from .style import measure

ROW, SIGN, APART = 22.0, 22.0, 20.0
KINDS = (
    ("input", "input", "round", 8),
    ("parameter", "parameter (requires grad)", "cut", 5),
    ("constant", "constant", "cut", 0),
    ("computed", "earlier value", "cut", 0),
    ("op", "operation", "round", 3),
    ("function", "custom Function", "round", 3),
    ("fold", "folded operations", "round", 3),
    ("transfer", "communication between ranks", "round", 3),
    ("copy", "leaf, drawn again", "cut", 4),
)

Entry = tuple[list, str]  # the sign, drawn at the origin, and its text


def legend(graph: Graph, passes: Sequence[str], width: float, at: tuple[float, float]) -> Group:
    """Draw the legend of a picture of these passes, in lines of at most `width`."""
    items, x, y = [], 0.0, 0.0
    for sign, words in _entries(graph, passes):
        wide = SIGN + 7 + measure(words, "note")
        if x and x + wide > width:
            x, y = 0.0, y + ROW
        items.append(Group("", "", [*sign, Text(SIGN + 7, 12, words, "note")], shift=(x, y)))
        x += wide + APART
    return Group("", "legend", items, shift=at)


def height(graph: Graph, passes: Sequence[str], width: float) -> float:
    """Return the height of the legend."""
    return legend(graph, passes, width, (0, 0)).items[-1].shift[1] + ROW if graph.nodes else 0.0


def _entries(graph: Graph, passes: Sequence[str]) -> list[Entry]:
    kinds = {node.kind for node in graph.nodes}
    entries: list[Entry] = [(_sign(kind, form, corner), words) for kind, words, form, corner in KINDS if kind in kinds]
    if graph.outputs:
        entries.append(([Path(outline(1, 1, SIGN - 2, 14, [4] * 4, "round"), "ring")], "output"))
    return entries + [entry for name in passes for entry in PASSES[name](graph)]


def _sign(kind: str, form: str, corner: int) -> list:
    """Draw a small card of a kind."""
    sign = [Path(outline(0, 1, SIGN, 14, [corner] * 4, form), "paper-" + kind)]
    if kind != "copy":
        sign.append(Path(outline(0.7, 1.7, SIGN - 1.4, 6, [corner - 1] * 2 + [0, 0], form), "band-" + kind))
    if kind == "function":
        sign.append(Path(outline(0.7, 8, 4, 6.3, [0] * 4, "cut"), "bar"))
    return sign


def _swatch(look: str, corner: float = 0.0) -> list:
    return [Path(outline(0, 2, SIGN, 12, [corner] * 4, "round"), look)]


def _forward(graph: Graph) -> list[Entry]:
    return [(_swatch("saved"), "saved for backward")] if graph.saved_bytes() else []


def _backward(graph: Graph) -> list[Entry]:
    entries = [
        (_swatch("gradient"), "gradient"),
        (_swatch("label", 5), "contribution to a gradient (g: the incoming gradient)"),
    ]
    if any(len(flows) > 1 for flows in graph.back.values()):
        circle = [Path(outline(4, 1, 14, 14, [7] * 4, "round"), "plus"), Text(11, 12.4, "+", "plus", "middle")]
        entries.append((circle, "sum of contributions"))
    if any(edge.flow is None for edge in graph.edges):
        entries.append(([Path([("M", 0, 8), ("L", SIGN, 8)], "edge-quiet")], "no gradient needed"))
    return entries


def _jvp(graph: Graph) -> list[Entry]:
    return [(_swatch("tangent"), "tangent (dx: the tangent of x)")]


PASSES = {"forward": _forward, "backward": _backward, "jvp": _jvp}
