"""The positions of cards and the routes of edges: one layout for all passes.

Graphviz lays out graphs of up to some hundred nodes.  `layered.py` takes over for larger ones, and if Graphviz exceeds its
time: it needs minutes for ten thousand nodes, and prints coordinates with only five digits.  `layered.py` also replaces a
Graphviz that is missing or cannot be loaded.  Both lay out boxes (card and
label strip) with ports, so labels neither overlap nor get cut off.  Other directions are rotations (orientation.py).
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from ..cards.parts import Card
from ..graph.drawn_graph import Edge, Graph
from ..graph.modules import Region
from .layered import layered
from .orientation import WAYS, Way
from .style import measure

SMALL = 600  # nodes that Graphviz lays out in about half a second
HERE = 60  # nodes that it lays out instantly, whatever the edges
LIMIT = 10.0  # seconds that it may take for more nodes
EXACT = 99_999  # the largest coordinate that five digits represent to a point

# pygraphviz's wheels expect these libraries from the system, which small images and servers may lack
SYSTEM = "apt install libglib2.0-0 libxext6 libxrender1 (Debian, Ubuntu; the first may be called libglib2.0-0t64)"
REINSTALL = "pip install --force-reinstall pygraphviz"

TITLE = 16  # height of the title of a band
HALO, CLOSE = 10, 5  # points around a box that Graphviz keeps free of edges, and in a brief picture
IN_A_PROCESS = """
import sys, pygraphviz
sys.stdout.buffer.write(pygraphviz.AGraph(string=sys.stdin.buffer.read().decode()).draw(format="json0", prog="dot"))
"""
# Bernstein's polynomials at the thirds of a cubic curve
THIRDS = np.array([[math.comb(3, k) * t**k * (1 - t) ** (3 - k) for k in range(4)] for t in (1 / 3, 2 / 3, 1.0)])

Point = tuple[float, float]


@dataclass
class Layout:
    """Upper left corners of boxes by node, and edges as cubic curves (a start, then three points per piece)."""

    corners: dict[str, Point]
    routes: dict[str, list[Point]]
    width: float
    height: float
    lanes: list[tuple[str, Point, Point]] = field(default_factory=list)  # lanes of processes: name, corner, size
    frames: list[tuple[Region, Point, Point]] = field(default_factory=list)  # of modules, the outer ones first
    over: set[str] = field(default_factory=set)  # edges drawn over a card that spans their lane


def layout(graph: Graph, cards: dict[str, Card]) -> Layout:
    """Place the cards of a graph."""
    if not cards:
        return Layout({}, {}, 0, 0)
    if graph.lanes:
        return rotated(side_by_side(graph, cards), cards, WAYS[graph.view.rankdir])
    placed = uncrossed(graph, cards) if len(cards) <= SMALL else None
    if placed is None or max(placed.width, placed.height) > EXACT:
        placed = _own(graph, cards)
    return rotated(placed, cards, WAYS[graph.view.rankdir])


def rotated(placed: Layout, cards: dict[str, Card], way: Way) -> Layout:
    """Rotate a layout from top to bottom into the requested direction."""
    total = placed.height
    corners = {key: way.corner(corner, cards[key].along, total) for key, corner in placed.corners.items()}
    routes = {key: [way.point(point, total) for point in points] for key, points in placed.routes.items()}
    lanes = [(name, way.corner(at, size[1], total), way.size(*size)) for name, at, size in placed.lanes]
    frames = [(one, way.corner(at, size[1], total), way.size(*size)) for one, at, size in placed.frames]
    return Layout(corners, routes, *way.size(placed.width, total), lanes, frames, placed.over)


def side_by_side(graph: Graph, cards: dict[str, Card]) -> Layout:
    """Lay out several processes, each in a lane (ranks/side_by_side.py)."""
    from ..ranks.side_by_side import placed

    return placed(graph, cards)


def uncrossed(graph: Graph, cards: dict[str, Card]) -> Layout | None:
    """Return Graphviz's layout: edges arrive in the order of the arguments, or as they come if fewer cross then."""
    placed = _graphviz(graph, cards)
    if placed is None or len(cards) > HERE or not (before := crossings(placed)):
        return placed
    free = _graphviz(graph, cards, ordered=False)
    again = None
    if free is not None:
        for edge in sorted(graph.edges, key=lambda edge: free.routes[edge.key][-1]):
            order = cards[edge.target.key].order
            order.append(order.pop(order.index(edge.slot)))
        again = _graphviz(graph, cards)
    if again is None or crossings(again) >= before:
        for card in cards.values():
            card.order.sort()
        return placed
    return again


def crossings(placed: Layout) -> int:
    """Return the number of pairs of edges that cross; three lines stand for each piece of a curve."""
    routes = [np.zeros(1)]
    for points in placed.routes.values():
        x = np.array(points) @ [1, 1j]
        routes.append(np.append(x[:1], (THIRDS @ [x[:-1:3], x[1::3], x[2::3], x[3::3]]).ravel("F")))
    start, end = np.concatenate([route[:-1] for route in routes]), np.concatenate([route[1:] for route in routes])
    of = np.repeat(range(len(routes)), [len(route) - 1 for route in routes])
    turn = lambda a, b, c: ((b - a).conj() * (c - a)).imag
    apart = turn(start[:, None], end[:, None], start) * turn(start[:, None], end[:, None], end) < -1e-6
    first, second = (apart & apart.T).nonzero()
    return len({(a, b) for a, b in zip(of[first], of[second]) if a < b})


def _own(graph: Graph, cards: dict[str, Card]) -> Layout:
    boxes = {key: (card.across, card.along) for key, card in cards.items()}
    links = []
    for edge in graph.edges:
        source, target = edge.source.key, edge.target.key
        links.append((edge.key, source, cards[source].exit(edge.port), target, cards[target].entry(edge.slot)))
    leaves = {node.key for node in graph.nodes if not node.is_op and not node.inputs}
    return Layout(*layered(boxes, links, leaves, *graph.ends))


def _graphviz(graph: Graph, cards: dict[str, Card], ordered: bool = True) -> Layout | None:
    """Return the layout by Graphviz, or None if it takes too long; unless `ordered`, edges arrive anywhere on a card."""
    into = lambda edge: f', headport="i{edge.slot + 1}:n"' * ordered
    numbers = {key: i for i, key in enumerate(cards)}  # neutral names: no user text reaches Graphviz
    apart = 0.1 if graph.view.slide and all(len(flows) < 2 for flows in graph.back.values()) else 0.3  # inches
    halo = CLOSE if graph.view.brief else HALO
    apart = 0.02 if graph.view.brief else apart
    text = ["digraph {", f"ranksep={apart}; nodesep=0.1; node [shape=plain]; edge [dir=none]"]
    text += [f"{numbers[key]} [label=<{_ports(card, halo)}>]" for key, card in cards.items()]
    text += [
        f'{numbers[e.source.key]} -> {numbers[e.target.key]} [tailport="o{e.port + 1}:s"{into(e)}, '
        f"weight={5 if e.source.is_op else 1}{', constraint=false' * begins(graph, e)}]"
        for e in graph.edges
    ]  # heavy edges keep the main line straight, with leaves beside it
    text += [_row(where, [numbers[key] for key in row]) for where, row in zip(("source", "sink"), graph.ends) if row]
    areas = [region for one in areas_of(graph) if (region := one.within(cards))]
    text += [line for one in areas for line in _cluster(one, numbers, WAYS[graph.view.rankdir])]
    drawn = placed_by_dot("\n".join([*text, "}"]), len(cards))
    if drawn is None:
        return None
    width, height = (float(end) - 2 * halo for end in drawn["bb"].split(",")[2:])
    corners, routes = {}, {}
    for (key, card), thing in zip(cards.items(), [one for one in drawn["objects"] if "pos" in one]):
        x, y = map(float, thing["pos"].split(","))
        corners[key] = (x - halo - card.across / 2, height - (y - halo) - card.along / 2)
    for edge, thing in zip(graph.edges, drawn.get("edges", ())):
        points = [tuple(map(float, point.split(","))) for point in thing["pos"].split()]
        inner = [(x - halo, height - (y - halo)) for x, y in points]
        (x0, y0), (x1, y1) = inner[0], inner[-1]  # edges cross the halo vertically
        start, end = (x0, y0 - halo), (x1, y1 + halo)
        routes[edge.key] = [start, start, inner[0], *inner, inner[-1], end, end]
    frames = _frames(areas, drawn, height, halo)
    if graph.bands:
        return Layout(corners, routes, width, height, [(one.title, at, size) for one, at, size in frames])
    boxes = {key: (*at, cards[key].across, cards[key].along) for key, at in corners.items()}
    ends = [(edge.source.key, edge.target.key, routes[edge.key]) for edge in graph.edges]
    frames = [around_edges(*one, boxes, ends) for one in frames]
    left = min([0.0, *[x for _, (x, _), _ in frames]])
    right = max([width, *[x + wide for _, (x, _), (wide, _) in frames]])
    return moved(Layout(corners, routes, right - left, height, frames=frames), -left, 0.0)


def moved(placed: Layout, across: float, along: float) -> Layout:
    """Return a layout without lanes, at another place."""
    by = lambda x, y: (x + across, y + along)
    corners = {key: by(*at) for key, at in placed.corners.items()}
    routes = {key: [by(*point) for point in points] for key, points in placed.routes.items()}
    frames = [(one, by(*at), size) for one, at, size in placed.frames]
    return Layout(corners, routes, placed.width, placed.height, frames=frames)


def around_edges(area: Region, at: Point, size: Point, boxes: dict, ends: list) -> tuple[Region, Point, Point]:
    """Return a frame, made wider for the edges that begin and end in it unless other cards are there."""
    keys = {node.key for node in area.all}
    sides = [x for source, target, points in ends if {source, target} <= keys for x, _ in points]
    (left, top), (wide, tall) = at, size
    lowest, highest = min([left, *[x - CLOSE for x in sides]]), max([left + wide, *[x + CLOSE for x in sides]])
    for key, (x, y, across, along) in boxes.items():
        if key not in keys and y < top + tall and top < y + along and x < highest and lowest < x + across:
            return area, at, size
    return area, (lowest, top), (highest - lowest, tall)


def begins(graph: Graph, edge: Edge) -> bool:
    """Return True if an edge leads to the beginning of the next pass of a story, which stands beside the one before."""
    return bool(graph.bands) and edge.target.record["name"] == "backward"


def areas_of(graph: Graph) -> list[Region]:
    """Return what has a frame around its cards: the bands of a story of which no box holds all, else the open modules."""
    if not graph.bands:
        return graph.regions
    found: dict[int, Region] = {}
    for node in graph.nodes:
        if (band := graph.band(node)) is not None:
            found.setdefault(graph.bands.index(band), Region((), band["title"])).nodes.append(node)
    alone = lambda area: [node.kind for node in area.nodes if node.is_op] == ["fold"]
    return [area for _, area in sorted(found.items()) if not alone(area)]


def _cluster(area: Region, numbers: dict[str, int], way: Way) -> list[str]:
    """Return the statements of a frame's cluster, with room for its title; sideways the margin is the room."""
    style, wide = ("module", 8) if area.path else ("lane", 12)
    room = '<TABLE BORDER="0"><TR><TD FIXEDSIZE="TRUE" WIDTH="{}" HEIGHT="{}"></TD></TR></TABLE>'
    label = room.format(math.ceil(measure(area.title, style)) + wide, TITLE)
    if way.sideways:
        about = f"margin={TITLE}"
    else:
        about = f"margin=4; label=<{label}>; labelloc={'b' if area.path and way.backwards else 't'}"
    inside = [str(numbers[node.key]) for node in area.nodes]
    inner = [line for one in area.inner for line in _cluster(one, numbers, way)]
    return [f"subgraph cluster_{id(area)} {{{about}", *inner, *inside, "}"]


def _frames(areas: list[Region], drawn: dict, height: float, halo: int) -> list[tuple[Region, Point, Point]]:
    """Return the frames that Graphviz has drawn around areas, with their corners and sizes, the outer ones first."""
    boxes = {one["name"]: map(float, one["bb"].split(",")) for one in drawn["objects"] if "bb" in one}
    frames, pending = [], areas[::-1]
    while pending:
        area = pending.pop()
        left, low, right, high = boxes[f"cluster_{id(area)}"]
        frames.append((area, (left - halo, height - (high - halo)), (right - left, high - low)))
        pending += area.inner[::-1]
    return frames


def _row(where: str, nodes: list[int]) -> str:
    """Return the statement that keeps nodes in the first or last row, in this order."""
    order = " -> ".join(map(str, nodes)) + " [style=invis]" * (len(nodes) > 1)
    return f"{{rank={where}; {order}}}"


def _ports(card: Card, halo: int) -> str:
    """Return an HTML table of the card's size with its halo, and a cell for each incoming edge and each output."""
    table = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">'

    def row(prefix: str, order: Sequence[int], widths: list[float], height: float) -> str:
        names = [0, *[i + 1 for i in order], len(order) + 1]
        ends = [round(sum(widths[: i + 1])) for i in range(len(widths))]
        cells = "".join(
            f'<TD PORT="{prefix}{i}" FIXEDSIZE="TRUE" WIDTH="{end - start}" HEIGHT="{height}"></TD>'
            for i, start, end in zip(names, [0, *ends], ends)
        )
        return f"<TR><TD>{table}<TR>{cells}</TR></TABLE></TD></TR>"

    outputs = max(len(card.node.outputs), 1)  # a Function may return no tensor
    wide, tall = card.across + 2 * halo, card.along + 2 * halo - 2
    after = card.across - card.inset - sum(card.slots)
    rows = row("i", card.order, [card.inset + halo, *[card.slots[i] for i in card.order], after + halo], 1)
    rows += f'<TR><TD FIXEDSIZE="TRUE" WIDTH="{wide:.0f}" HEIGHT="{tall:.0f}"></TD></TR>'
    start, end = card.foot_ends
    each = [(end - start) / outputs] * outputs
    return table + rows + row("o", range(outputs), [start + halo, *each, card.across - end + halo], 1) + "</TABLE>"


def graphviz_fault() -> tuple[str, str]:
    """Return the reason why Graphviz, which is part of pygraphviz, does not run, and the fix; ("", "") if it runs."""
    if importlib.util.find_spec("pygraphviz") is None:
        return "Graphviz is missing", "pip install pygraphviz"
    try:
        import pygraphviz  # noqa: F401
    except ImportError as e:
        return f"Graphviz cannot be loaded ({e})", SYSTEM if "shared object" in str(e) else REINSTALL
    return "", ""


def placed_by_dot(text: str, nodes: int) -> dict | None:
    """Run dot on a graph and return its JSON; None after LIMIT seconds, or if Graphviz cannot run.

    Larger graphs run in a separate process: in this one nothing can stop dot, and it blocks all threads.
    """
    if any(graphviz_fault()):
        return None
    if nodes > HERE:
        command = [sys.executable, "-P", "-c", IN_A_PROCESS]
        try:
            done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=LIMIT, check=True)
        except subprocess.TimeoutExpired:
            return None
        except subprocess.CalledProcessError as error:
            error.add_note("Graphviz says: " + error.stderr.decode(errors="replace").strip())
            raise
        return json.loads(done.stdout)
    import pygraphviz

    with quiet_stderr():
        return json.loads(pygraphviz.AGraph(string=text).draw(format="json0", prog="dot") or b"{}")


@contextmanager
def quiet_stderr():
    """Hide what C code writes to stderr (font warnings); an exception gets all of it as a note."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as messages:
        before = os.dup(2)
        os.dup2(messages.fileno(), 2)
        try:
            yield
        except Exception as error:
            messages.seek(0)
            error.add_note("Graphviz says: " + messages.read().decode(errors="replace").strip())
            raise
        finally:
            os.dup2(before, 2)
            os.close(before)
