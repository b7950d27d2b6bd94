"""A picture for a slide: 16:9, in type that the last row can read, and so with a dozen boxes at most.

The graph runs from left to right and wraps into further rows, as text does, if that makes the type larger.  A graph that does
not fit raises TooMuch, which suggests how to fold it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise, product
from math import inf

from ..cards.frames import card_of
from ..cards.parts import Card
from ..errors import Undrawable
from ..graph.drawn_graph import Edge, Graph
from ..graph.fold import fold
from ..layout import legend
from ..layout.positions import Layout, Point, areas_of, layout, moved

COLUMNS = (28, 20, 14)  # widths of a card in characters: two are tried, and the last if the type would be too small
WIDTH, HEIGHT = 1280.0, 720.0
BOXES = 12
SIDE, TOP, BELOW = 40.0, 84.0, 22.0  # margins left and right, room for the title, margin below the legend
TITLE, LEGEND = 1.9, 1.3  # scale of the title and the legend, relative to other pictures
SMALLEST, LARGEST = 0.95, 2.2  # scale of the type, 11.5 high elsewhere: at least a sixtieth of the page's height
LEGEND_WIDTH = (WIDTH - 2 * SIDE) / LEGEND
TRACK, BEND = 7.0, 6.0  # distance between edges that run from row to row, and the radius of their corners
RUN = 0.97  # the price of such an edge: as bad as type three percent smaller

Placed = tuple[Graph, dict[str, Card], Layout]


class TooMuch(Undrawable):
    """The graph does not fit on a slide."""


def check(whole: Graph, graph: Graph) -> None:
    """Raise TooMuch for a graph with more boxes than a slide holds, and suggest foldings that fit."""
    if (many := boxes(graph)) > BOXES:
        raise TooMuch(f"draw: {many} boxes are too many for a slide, which holds {BOXES}. {advice(whole, graph)}")


def holds(graph: Graph) -> bool:
    """Return True if a graph in one pass fits on a slide."""
    one = ("forward",)
    cards_of = lambda graph: {node.key: card_of(graph, node, one) for node in graph.nodes}
    return boxes(graph) <= BOXES and readable(placed(graph, one, cards_of), one)


def boxes(graph: Graph) -> int:
    """Count the cards of a graph, without the small copies of leaves."""
    return sum(node.kind != "copy" for node in graph.nodes)


def advice(whole: Graph, graph: Graph) -> str:
    """Return the options that fold a graph into few enough boxes."""
    ways = [(f"--depth {depth}", fold(whole, depth=depth)) for depth in (2, 1)]
    ways += [(f"--max-nodes {most}", fold(whole, most)) for most in (12, 6)]
    most = min(boxes(graph), BOXES + 1)
    fewer = {f"{option} leaves {many}": None for option, made in ways if 1 < (many := boxes(made)) < most}
    fold_it = f"Fold it: {', '.join(fewer)}. " if fewer else ""
    return f"{fold_it}{'Or draw' if fewer else 'Draw'} a part: a function, or a tensor with fewer operations behind it."


def legend_height(graph: Graph, cards: dict[str, Card], shown: Sequence[str]) -> float:
    """Return the height of the legend, the same for all passes."""
    each = (shown, *([name] for name in shown))
    return LEGEND * max(legend.height(graph, cards.values(), names, LEGEND_WIDTH) for names in each)


def scale(placed: Layout, bottom: float) -> float:
    """Return the largest scale of a graph above a legend of height `bottom`."""
    wide, tall = WIDTH - 2 * SIDE, HEIGHT - TOP - bottom - 2 * BELOW
    return min(LARGEST, wide / max(placed.width, 1), tall / max(placed.height, 1))


def fitting(graph: Graph, placed: Layout, bottom: float) -> float:
    """Return the scale of a graph on its slide; raise TooMuch if the type would be too small."""
    if (size := scale(placed, bottom)) < SMALLEST:
        raise TooMuch(
            f"draw: the type on this slide would have only {size / SMALLEST:.0%} of the readable height. "
            f"{advice(graph, graph)} Or show less, such as --show grads."
        )
    return size


def readable(found: Placed, passes: Sequence[str]) -> bool:
    """Return True if the type of a slide is large enough."""
    return scale(found[2], legend_height(*found[:2], passes)) >= SMALLEST


def placed(graph: Graph, passes: Sequence[str], cards_of: Callable[[Graph], dict[str, Card]]) -> Placed:
    """Lay the graph out in the requested direction, else in the direction that makes it largest.

    If there is no room for pictures of large values, they are left out.
    """
    bottom = legend_height(graph, cards_of(graph), passes)
    best = largest(graph, cards_of, bottom)
    if "maps" in graph.view.show and scale(best[2], bottom) < SMALLEST:
        bare = copy(graph)
        bare.view = replace(graph.view, show=graph.view.show - {"maps"})
        best = largest(bare, cards_of, bottom)
    return best


def largest(graph: Graph, cards_of: Callable[[Graph], dict[str, Card]], bottom: float) -> Placed:
    """Return the layout with the largest type, of all directions and widths of cards that are allowed."""
    found: list[Placed] = []
    for columns, way in product(COLUMNS, ("LR", "TB") if graph.view.any_way else (graph.view.rankdir,)):
        if columns == COLUMNS[-1] and any(scale(one[2], bottom) >= SMALLEST for one in found):
            break
        turned = copy(graph)
        turned.view = replace(graph.view, rankdir=way, columns=columns)
        cards = cards_of(turned)
        found.append((turned, cards, in_rows(turned, cards, bottom) if way == "LR" else layout(turned, cards)))
    return max(found, key=lambda one: scale(one[2], bottom))


def in_rows(graph: Graph, cards: dict[str, Card], bottom: float) -> Layout:
    """Lay the graph out in one, two or three rows, whichever can be drawn largest; in one if it has frames around passes."""
    if graph.bands and areas_of(graph):
        return layout(graph, cards)

    ops = [node for node in graph.nodes if node.is_op]
    readers: dict[str, int] = {}
    for edge in reversed(graph.edges):
        readers[edge.source.key] = ops.index(edge.target)
    rank = {node.key: ops.index(node) if node.is_op else readers.get(node.key, 0) for node in graph.nodes}

    @cache
    def row(first: int, last: int) -> Layout:
        part = copy(graph)
        part.nodes = [node for node in graph.nodes if first <= rank[node.key] < last]
        inside = {node.key: cards[node.key] for node in part.nodes}
        part.edges = [edge for edge in graph.edges if {edge.source.key, edge.target.key} <= set(inside)]
        return layout(part, inside)

    best, most = layout(graph, cards), 0.0
    for rows in (1, 2, 3):
        for breaks in combinations(range(1, len(ops)), rows - 1):
            ends = [0, *breaks, max(len(ops), 1)]
            made, running = joined(graph, cards, [row(*pair) for pair in pairwise(ends)])
            if (worth := scale(made, bottom) * RUN**running) > 1.02 * most:
                best, most = made, worth
    return best


def joined(graph: Graph, cards: dict[str, Card], rows: list[Layout]) -> tuple[Layout, int]:
    """Stack rows, and route edges from row to row through the lanes between them; return the number of such edges too."""
    home = {key: i for i, row in enumerate(rows) for key in row.corners}
    running = [edge for edge in graph.edges if home[edge.source.key] != home[edge.target.key]]
    lane = TRACK * (len(running) + 3)
    left = (TRACK * len(running) + 30.0) * bool(running)
    tops = [sum(row.height for row in rows[:i]) + lane * i for i in range(len(rows))]
    rows = [moved(row, left, top) for row, top in zip(rows, tops)]
    corners = {key: at for row in rows for key, at in row.corners.items()}
    routes = {key: points for row in rows for key, points in row.routes.items()}
    for track, edge in enumerate(running, 1):
        start, end = ends(edge, cards, corners)
        tip = 30.0 if len(graph.back[edge.value]) > 1 else 12.0  # room for an arrow head, with or without a plus
        others = TRACK * (len(running) - track + 1)  # room between the columns for the remaining edges
        *_, right, after = lanes(edge.source.key, cards, corners, home)
        out = min(right + tip + TRACK * track, after - others)
        before, into, *_ = lanes(edge.target.key, cards, corners, home)
        into = max(into - TRACK * track, before + others)
        below = tops[home[edge.source.key]] + rows[home[edge.source.key]].height + TRACK * (track + 1)
        above = tops[home[edge.target.key]] - lane + TRACK * (track + 1)
        turns = [(out, start[1]), (out, below)]
        if below != above:  # a row is in between: pass it on the left
            turns += [(left - TRACK * track, below), (left - TRACK * track, above)]
        routes[edge.key] = rounded([start, *turns, (into, above), (into, end[1]), end])
    width = max(row.width for row in rows) + 2 * left
    frames = [frame for row in rows for frame in row.frames]
    return Layout(corners, routes, width, tops[-1] + rows[-1].height, frames=frames), len(running)


def ends(edge: Edge, cards: dict[str, Card], corners: dict[str, Point]) -> tuple[Point, Point]:
    """Return the points where an edge leaves one box and enters another."""
    source, target = cards[edge.source.key], cards[edge.target.key]
    (x0, y0), (x1, y1) = corners[edge.source.key], corners[edge.target.key]
    return (x0 + source.along, y0 + source.exit(edge.port)), (x1, y1 + target.entry(edge.slot))


def lanes(key: str, cards: dict[str, Card], corners: dict[str, Point], home: dict[str, int]) -> list[float]:
    """Return the bounds of a box's column in its row: the end of the previous one, its start, its end, the next one's start."""
    spans = [(corners[one][0], corners[one][0] + cards[one].along) for one in corners if home[one] == home[key]]
    start, end = corners[key][0], corners[key][0] + cards[key].along
    near = [span for span in spans if span[0] < end and start < span[1]]
    left, right = min(span[0] for span in near), max(span[1] for span in near)
    before = max((span[1] for span in spans if span[1] <= left), default=-inf)
    return [before, left, right, min((span[0] for span in spans if span[0] >= right), default=inf)]


def rounded(corners: list[Point]) -> list[Point]:
    """Return straight lines with round corners, as cubic curves."""
    points = [corners[0]]
    for before, at, after in zip(corners, corners[1:], corners[2:]):
        near, far = towards(at, before), towards(at, after)
        points += [points[-1], near, near, at, at, far]
    return [*points, points[-1], corners[-1], corners[-1]]


def towards(corner: Point, other: Point) -> Point:
    """Return the point where the bend of a corner begins."""
    far = max(abs(other[0] - corner[0]) + abs(other[1] - corner[1]), 1e-9)
    part = min(BEND, far / 2) / far
    return corner[0] + part * (other[0] - corner[0]), corner[1] + part * (other[1] - corner[1])
