"""Where the cards lie and how the edges run: one layout for all passes.

Graphviz places graphs of up to some hundred nodes, in this process; larger ones are placed by `layered.py`, because
Graphviz takes minutes for ten thousand nodes and prints its coordinates with five digits only.  Either gets boxes
(card and label strip) with ports, so that labels can neither overlap nor be cut.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass

from .cards import Card
from .graph import Graph
from .layered import layered

SMALL = 600  # nodes that Graphviz lays out in about half a second
EXACT = 99_999  # the largest coordinate that five digits hold to a point

HALO = 10  # points around a box that Graphviz keeps edges out of

Point = tuple[float, float]


@dataclass
class Layout:
    """Upper left corners of boxes by node, and edges as cubic curves (start, then three points for each piece)."""

    corners: dict[str, Point]
    routes: dict[str, list[Point]]
    width: float
    height: float


def layout(graph: Graph, cards: dict[str, Card]) -> Layout:
    """Place the cards of a graph."""
    if not cards:
        return Layout({}, {}, 0, 0)
    if len(cards) <= SMALL:
        placed = _graphviz(graph, cards)
        if max(placed.width, placed.height) <= EXACT:
            return placed
    return _own(graph, cards)


def _own(graph: Graph, cards: dict[str, Card]) -> Layout:
    boxes = {key: (card.width, card.height) for key, card in cards.items()}
    links = [
        (
            edge.key,
            edge.source.key,
            cards[edge.source.key].exit(edge.port),
            edge.target.key,
            cards[edge.target.key].entry(edge.slot),
        )
        for edge in graph.edges
    ]
    return Layout(*layered(boxes, links, {node.key for node in graph.nodes if not node.is_op}))


def _graphviz(graph: Graph, cards: dict[str, Card]) -> Layout:
    import pygraphviz

    numbers = {key: i for i, key in enumerate(cards)}  # neutral names: nothing of the user's reaches Graphviz
    text = ["digraph {", "ranksep=0.3; nodesep=0.1; node [shape=plain]; edge [dir=none]"]
    text += [f"{numbers[key]} [label=<{_ports(card)}>]" for key, card in cards.items()]
    text += [
        f'{numbers[e.source.key]} -> {numbers[e.target.key]} [tailport="o{e.port + 1}:s", headport="i{e.slot + 1}:n", '
        f"weight={5 if e.source.is_op else 1}]"
        for e in graph.edges
    ]  # the main line straight, leaves beside it
    with quiet():
        told = pygraphviz.AGraph(string="\n".join([*text, "}"])).draw(format="json0", prog="dot")
    drawn = json.loads(told or b"{}")
    width, height = (float(end) - 2 * HALO for end in drawn["bb"].split(",")[2:])
    corners, routes = {}, {}
    for (key, card), thing in zip(cards.items(), drawn["objects"]):
        x, y = map(float, thing["pos"].split(","))
        corners[key] = (x - HALO - card.width / 2, height - (y - HALO) - card.height / 2)
    for edge, thing in zip(graph.edges, drawn.get("edges", ())):
        points = [tuple(map(float, point.split(","))) for point in thing["pos"].split()]
        inner = [(x - HALO, height - (y - HALO)) for x, y in points]
        (x0, y0), (x1, y1) = inner[0], inner[-1]  # through the halo edges run upright
        start, end = (x0, y0 - HALO), (x1, y1 + HALO)
        routes[edge.key] = [start, start, inner[0], *inner, inner[-1], end, end]
    return Layout(corners, routes, width, height)


def _ports(card: Card) -> str:
    """A table of the card's size and its halo, with a cell for each edge in and each value out."""
    table = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">'

    def row(prefix: str, widths: list[float], height: float) -> str:
        ends = [round(sum(widths[: i + 1])) for i in range(len(widths))]
        cells = "".join(
            f'<TD PORT="{prefix}{i}" FIXEDSIZE="TRUE" WIDTH="{end - start}" HEIGHT="{height}"></TD>'
            for i, (start, end) in enumerate(zip([0, *ends], ends))
        )
        return f"<TR><TD>{table}<TR>{cells}</TR></TABLE></TD></TR>"

    outputs = len(card.node.outputs)
    wide, tall = card.width + 2 * HALO, card.height + 2 * HALO - 2
    rows = row("i", [card.inset + HALO, *card.slots, card.inset + HALO], 1)
    rows += f'<TR><TD FIXEDSIZE="TRUE" WIDTH="{wide:.0f}" HEIGHT="{tall:.0f}"></TD></TR>'
    return table + rows + row("o", [HALO, *[card.width / outputs] * outputs, HALO], 1) + "</TABLE>"


@contextmanager
def quiet():
    """Keep what C code writes to the standard error (font warnings) out of notebooks; an error shows it all."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as said:
        before = os.dup(2)
        os.dup2(said.fileno(), 2)
        try:
            yield
        except Exception as error:
            said.seek(0)
            error.add_note("Graphviz says: " + said.read().decode(errors="replace").strip())
            raise
        finally:
            os.dup2(before, 2)
            os.close(before)
