"""The legend under a picture: an entry for each sign that occurs in it."""

import math
from collections.abc import Collection, Sequence

from .. import text
from ..cards.colouring import STEPS, tints
from ..cards.frames import heats_in
from ..cards.heat import Heat, is_beyond
from ..cards.parts import Card
from ..cards.scales import ALL
from ..graph.drawn_graph import Graph
from .shapes import Group, Path, Text, outline
from .style import LEVELS, measure

ROW, SIGN, APART = 22.0, 22.0, 20.0
KINDS = (
    ("input", "input", "round", 8),
    ("parameter", "leaf (requires grad)", "cut", 5),
    ("constant", "constant", "cut", 0),
    ("computed", "computed elsewhere", "cut", 0),
    ("op", "operation", "round", 3),
    ("function", "custom Function", "round", 3),
    ("fold", "folded operations", "round", 3),
    ("cut", "no gradient passes", "round", 3),
    ("error", "raised an error", "round", 3),
    ("transfer", "communication between ranks", "round", 3),
    ("copy", "leaf, drawn again", "cut", 4),
)

FLOWS = {"": "value", "-backward": "gradient", "-jvp": "tangent"}  # by the colour of an edge

Entry = tuple[list, str]  # the sign, drawn at the origin, and its text


Cards = Collection[Card]


def legend(graph: Graph, cards: Cards, passes: Sequence[str], width: float, at: tuple[float, float]) -> Group:
    """Draw the legend of a picture of these passes, in lines of at most `width`."""
    items, x, y = [], 0.0, 0.0
    for sign, words in _entries(graph, cards, passes):
        wide = SIGN + 7 + measure(words, "note")
        if x and x + wide > width:
            x, y = 0.0, y + ROW
        items.append(Group("", "", [*sign, Text(SIGN + 7, 12, words, "note")], shift=(x, y)))
        x += wide + APART
    return Group("", "legend", items, shift=at)


def height(graph: Graph, cards: Cards, passes: Sequence[str], width: float) -> float:
    """Return the height of the legend."""
    return legend(graph, cards, passes, width, (0, 0)).items[-1].shift[1] + ROW if graph.nodes else 0.0


def _entries(graph: Graph, cards: Cards, passes: Sequence[str]) -> list[Entry]:
    kinds = {node.kind for node in graph.nodes}
    entries: list[Entry] = [(_sign(kind, form, corner), words) for kind, words, form, corner in KINDS if kind in kinds]
    if graph.outputs:
        entries.append(([Path(outline(1, 1, SIGN - 2, 14, [4] * 4, "round"), "ring")], "output"))
    entries += [entry for name in passes for entry in PASSES[name](graph)]
    # of a picture of all passes together
    hues = ["", *dict.fromkeys(band["hue"] for band in graph.bands if band["hue"])]
    entries += [(_line("edge" + hue), FLOWS[hue]) for hue in hues if graph.bands]
    return entries + _tints(graph) + _heat(list(heats_in(cards, passes)))


def _tints(graph: Graph) -> list[Entry]:
    """Return the shades of cards that are coloured by size."""
    _, words = tints(graph)
    wide = SIGN / STEPS
    shades = [Path(outline(i * wide, 3, wide, 10, [0] * 4, "cut"), f"tint-{i + 1}") for i in range(STEPS)]
    return [([*shades, Path(outline(0, 3, SIGN, 10, [0] * 4, "cut"), "heat-frame")], words)] if words else []


def _heat(heats: list[Heat]) -> list[Entry]:
    """Return the colour scales of heat maps, if there are any, and the signs of bars and special cells, if they occur."""
    entries: list[Entry] = []
    known = {heat.scale.words: heat.scale for heat in heats if heat.scale}
    scales = [known[words] for words in ALL if words in known]
    if scales:
        end = lambda one: " 0 to 1" if one.words == "probabilities" else f" ±{text.number(one.end, 2)}"
        ends = ", ".join(one.words + end(one) for one in scales)
        entries.append((_shades(), f"{ends} (square-root scale)"))
    cells = [cell for heat in heats if heat.scale for panel in heat.panels for row in panel for cell in row]
    if any(map(is_beyond, cells)):
        most = ", ".join(f"{one.words} to ±{text.number(one.largest, 2)}" for one in scales if one.largest > one.end)
        dot = Path(outline(SIGN / 2 - 2, 6, 4, 4, [0] * 4, "cut"), "heat-beyond")
        entries.append(([*_swatch(f"heat-p{LEVELS}"), dot], f"beyond the scale: {most}"))
    if apart := [form for form in ("bars", "integers") if any(heat.form == form for heat in heats)]:
        words = f"{' and '.join(apart)}: up to the largest of each value"
        entries.append((_bars() if "bars" in apart else _shades(), words))
    cells += [cell for heat in heats if not heat.scale for panel in heat.panels for row in panel for cell in row]
    minus = Path(outline(SIGN / 2 - 4, 7, 8, 2, [0] * 4, "cut"), "heat-beyond")
    signs = {
        "NaN": (math.isnan, _swatch("heat-nan")),
        "infinite": (math.isinf, _swatch("heat-inf")),
        "minus infinity": ((-math.inf).__eq__, [*_swatch("heat-inf"), minus]),
    }
    return entries + [(sign, words) for words, (is_odd, sign) in signs.items() if any(map(is_odd, cells))]


def _shades() -> list:
    """Draw the colours of heat maps from the most negative to the most positive."""
    looks = [f"heat-{sign}" for sign in ("n7", "n4", "n2", "0", "p2", "p4", "p7")]
    wide = SIGN / len(looks)
    row = [Path(outline(i * wide, 3, wide, 10, [0] * 4, "cut"), look) for i, look in enumerate(looks)]
    return [*row, Path(outline(0, 3, SIGN, 10, [0] * 4, "cut"), "heat-frame")]


def _bars() -> list:
    """Draw bars, up and down from 0."""
    up, down = ((2, 6), (7, 4), (16, 3)), ((12, 3), (20, 5))
    bars = [Path(outline(x, 9 - tall, 4, tall, [0] * 4, "cut"), "heat-p6") for x, tall in up]
    bars += [Path(outline(x, 9, 4, tall, [0] * 4, "cut"), "heat-n6") for x, tall in down]
    return [*bars, Path(outline(0, 8.7, SIGN + 3, 0.6, [0] * 4, "cut"), "heat-zero")]


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


def _line(look: str) -> list:
    return [Path([("M", 0, 8), ("L", SIGN, 8)], look)]


def _forward(graph: Graph) -> list[Entry]:
    return [(_swatch("saved"), "saved for backward")] if graph.saved_bytes() else []


def _backward(graph: Graph) -> list[Entry]:
    words = "contribution to a gradient (g: the incoming gradient)"
    entries = [(_swatch("gradient"), "gradient"), (_swatch("label", 5), words)]
    if any(len(flows) > 1 for flows in graph.back.values()):
        circle = [Path(outline(4, 1, 14, 14, [7] * 4, "round"), "plus"), Text(11, 12.4, "+", "plus", "middle")]
        entries.append((circle, "sum of contributions"))
    if any(edge.flow is None for edge in graph.edges):
        words = "no gradient needed" if graph.error is None else "no gradient came"
        entries.append((_line("edge-quiet"), words))
    return entries


def _jvp(graph: Graph) -> list[Entry]:
    return [(_swatch("tangent"), "tangent (x_t: the tangent of x)")]


PASSES = {"forward": _forward, "backward": _backward, "jvp": _jvp}
