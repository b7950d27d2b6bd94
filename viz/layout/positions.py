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
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..cards.parts import Card
from ..graph.drawn_graph import Edge, Graph
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

Point = tuple[float, float]


@dataclass
class Layout:
    """Upper left corners of boxes by node, and edges as cubic curves (a start, then three points per piece)."""

    corners: dict[str, Point]
    routes: dict[str, list[Point]]
    width: float
    height: float
    lanes: list[tuple[str, Point, Point]] = field(default_factory=list)  # lanes of processes: name, corner, size
    over: set[str] = field(default_factory=set)  # edges drawn over a card that spans their lane


def layout(graph: Graph, cards: dict[str, Card]) -> Layout:
    """Place the cards of a graph."""
    if not cards:
        return Layout({}, {}, 0, 0)
    if graph.lanes:
        return rotated(side_by_side(graph, cards), cards, WAYS[graph.view.rankdir])
    placed = _graphviz(graph, cards) if len(cards) <= SMALL else None
    if placed is None or max(placed.width, placed.height) > EXACT:
        placed = _own(graph, cards)
    return rotated(placed, cards, WAYS[graph.view.rankdir])


def rotated(placed: Layout, cards: dict[str, Card], way: Way) -> Layout:
    """Rotate a layout from top to bottom into the requested direction."""
    total = placed.height
    corners = {key: way.corner(corner, cards[key].along, total) for key, corner in placed.corners.items()}
    routes = {key: [way.point(point, total) for point in points] for key, points in placed.routes.items()}
    lanes = [(name, way.corner(at, size[1], total), way.size(*size)) for name, at, size in placed.lanes]
    return Layout(corners, routes, *way.size(placed.width, total), lanes, placed.over)


def side_by_side(graph: Graph, cards: dict[str, Card]) -> Layout:
    """Lay out several processes, each in a lane (ranks/side_by_side.py)."""
    from ..ranks.side_by_side import placed

    return Layout(*placed(graph, cards))


def _own(graph: Graph, cards: dict[str, Card]) -> Layout:
    boxes = {key: (card.across, card.along) for key, card in cards.items()}
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
    leaves = {node.key for node in graph.nodes if not node.is_op and not node.inputs}
    return Layout(*layered(boxes, links, leaves, *graph.ends))


def _graphviz(graph: Graph, cards: dict[str, Card]) -> Layout | None:
    """Return the layout by Graphviz, or None if it takes too long."""
    numbers = {key: i for i, key in enumerate(cards)}  # neutral names: no user text reaches Graphviz
    apart = 0.1 if graph.view.slide and all(len(flows) < 2 for flows in graph.back.values()) else 0.3  # inches
    halo = CLOSE if graph.view.brief else HALO
    apart = 0.02 if graph.view.brief else apart
    text = ["digraph {", f"ranksep={apart}; nodesep=0.1; node [shape=plain]; edge [dir=none]"]
    text += [f"{numbers[key]} [label=<{_ports(card, halo)}>]" for key, card in cards.items()]
    text += [
        f'{numbers[e.source.key]} -> {numbers[e.target.key]} [tailport="o{e.port + 1}:s", headport="i{e.slot + 1}:n", '
        f"weight={5 if e.source.is_op else 1}{', constraint=false' * begins(graph, e)}]"
        for e in graph.edges
    ]  # heavy edges keep the main line straight, with leaves beside it
    text += [_row(where, [numbers[key] for key in row]) for where, row in zip(("source", "sink"), graph.ends) if row]
    text += _clusters(graph, numbers)
    drawn = placed_by_dot("\n".join([*text, "}"]), len(cards))
    if drawn is None:
        return None
    width, height = (float(end) - 2 * halo for end in drawn["bb"].split(",")[2:])
    corners, routes = {}, {}
    for (key, card), thing in zip(cards.items(), [one for one in drawn["objects"] if "pos" in one]):
        x, y = map(float, thing["pos"].split(","))
        corners[key] = (x - halo - card.across / 2, height - (y - halo) - card.along / 2)
    lanes = _bands(graph, drawn, height, halo)
    for edge, thing in zip(graph.edges, drawn.get("edges", ())):
        points = [tuple(map(float, point.split(","))) for point in thing["pos"].split()]
        inner = [(x - halo, height - (y - halo)) for x, y in points]
        (x0, y0), (x1, y1) = inner[0], inner[-1]  # edges cross the halo vertically
        start, end = (x0, y0 - halo), (x1, y1 + halo)
        routes[edge.key] = [start, start, inner[0], *inner, inner[-1], end, end]
    return Layout(corners, routes, width, height, lanes)


def begins(graph: Graph, edge: Edge) -> bool:
    """Return True if an edge leads to the beginning of the next pass of a story, which stands beside the one before."""
    return bool(graph.bands) and edge.target.record["name"] == "backward"


def _clusters(graph: Graph, numbers: dict[str, int]) -> list[str]:
    """Return a cluster for each band of a story, with room for its title."""
    found: dict[int, list[int]] = {}
    for node in graph.nodes:
        if (band := graph.band(node)) is not None:
            found.setdefault(graph.bands.index(band), []).append(numbers[node.key])
    room = '<TABLE BORDER="0"><TR><TD FIXEDSIZE="TRUE" WIDTH="{}" HEIGHT="{}"></TD></TR></TABLE>'
    return [
        f"subgraph cluster_{band} {{margin=4; "
        f"label=<{room.format(math.ceil(measure(graph.bands[band]['title'], 'lane')) + 12, TITLE)}>; "
        f"{'; '.join(map(str, inside))}}}"
        for band, inside in sorted(found.items())
    ]


def _bands(graph: Graph, drawn: dict, height: float, halo: int) -> list[tuple[str, Point, Point]]:
    """Return the frames of a story's bands: title, corner and size."""
    frames = []
    for thing in drawn["objects"]:
        if "bb" in thing and thing["name"].startswith("cluster_"):
            left, low, right, high = (float(end) for end in thing["bb"].split(","))
            title = graph.bands[int(thing["name"].removeprefix("cluster_"))]["title"]
            frames.append((title, (left - halo, height - (high - halo)), (right - left, high - low)))
    return frames


def _row(where: str, nodes: list[int]) -> str:
    """Return the statement that keeps nodes in the first or last row, in this order."""
    order = " -> ".join(map(str, nodes)) + " [style=invis]" * (len(nodes) > 1)
    return f"{{rank={where}; {order}}}"


def _ports(card: Card, halo: int) -> str:
    """Return an HTML table of the card's size with its halo, and a cell for each incoming edge and each output."""
    table = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">'

    def row(prefix: str, widths: list[float], height: float) -> str:
        ends = [round(sum(widths[: i + 1])) for i in range(len(widths))]
        cells = "".join(
            f'<TD PORT="{prefix}{i}" FIXEDSIZE="TRUE" WIDTH="{end - start}" HEIGHT="{height}"></TD>'
            for i, (start, end) in enumerate(zip([0, *ends], ends))
        )
        return f"<TR><TD>{table}<TR>{cells}</TR></TABLE></TD></TR>"

    outputs = max(len(card.node.outputs), 1)  # a Function may return no tensor
    wide, tall = card.across + 2 * halo, card.along + 2 * halo - 2
    after = card.across - card.inset - sum(card.slots)
    rows = row("i", [card.inset + halo, *card.slots, after + halo], 1)
    rows += f'<TR><TD FIXEDSIZE="TRUE" WIDTH="{wide:.0f}" HEIGHT="{tall:.0f}"></TD></TR>'
    start, end = card.foot_ends
    each = [(end - start) / outputs] * outputs
    return table + rows + row("o", [start + halo, *each, card.across - end + halo], 1) + "</TABLE>"


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
