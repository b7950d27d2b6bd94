"""One pass of a placed graph as shapes and texts, which svg.py and export.py then write out.

A picture is a tree of groups; every operation, value and edge is a group of its own, whose id and classes name the
record's ids.  Title above, legend below, edges under the cards, labels over the edges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from . import legend, text
from .cards import ABOVE, SIDE, Block, Card, Line
from .graph import Edge, Graph
from .layout import Layout
from .shapes import Group, Path, Text, outline
from .style import TEXTS

MARGIN, HEADING = 26.0, 56.0
TITLES = {"forward": "Forward pass", "backward": "Backward pass", "jvp": "Jvp pass: values and tangents"}
TIP = 8.0  # length of an arrow head
RING = 4.0  # distance of the ring around an output
PLUS = 9.0  # radius of the mark where contributions add
SHAPES = {
    "op": ("round", 6),
    "function": ("round", 6),
    "input": ("round", 16),
    "parameter": ("cut", 10),
    "constant": ("cut", 0),
    "computed": ("cut", 0),
    "copy": ("cut", 6),
}


@dataclass
class Picture:
    """Shapes on a page."""

    width: float
    height: float
    items: list[Group] = field(default_factory=list)


def picture(graph: Graph, cards: dict[str, Card], placed: Layout, name: str) -> Picture:
    """The picture of one pass."""
    page = Picture(*_page_size(graph, placed))
    shift = (MARGIN + (page.width - 2 * MARGIN - placed.width) / 2, MARGIN + HEADING)
    here = Placed(graph, cards, placed, name)
    page.items = [
        _title(graph, name),
        Group("", "edges", [here.edge(edge) for edge in graph.edges], shift=shift),
        Group("", "nodes", [here.card(card) for card in cards.values()], shift=shift),
        Group("", "sums", here.sums(), shift=shift),
        legend.legend(graph, name, page.width - 2 * MARGIN, (MARGIN, MARGIN + HEADING + placed.height + 22)),
    ]
    return page


def _page_size(graph: Graph, placed: Layout) -> tuple[float, float]:
    """The same for all passes: the widest title and the longest legend count."""
    names = graph.passes or ["forward"]
    wide = max([placed.width, 460.0, *(line.width for name in names for line in _heading(graph, name))])
    tall = max(legend.height(graph, name, wide) for name in names)
    return round(wide + 2 * MARGIN), round(MARGIN + HEADING + placed.height + 22 + tall + MARGIN / 2)


def _heading(graph: Graph, name: str) -> list[Text]:
    program = graph.record["program"]
    what = text.shorten(program.get("name") or "", 60)
    file = text.shorten(text.file_name(program.get("file")), 60)
    counts = [f"{len(graph.ops)} operation{'s' * (len(graph.ops) != 1)}"]
    counts += [f"{text.size(graph.saved_bytes())} saved for backward"] if graph.saved_bytes() else []
    return [
        Text(MARGIN, MARGIN + 14, TITLES[name] + (f" · {what}" if what else ""), "title"),
        Text(MARGIN, MARGIN + 33, " · ".join([file, *counts] if file else counts), "note"),
    ]


def _title(graph: Graph, name: str) -> Group:
    return Group("", "heading", _heading(graph, name))


@dataclass
class Placed:
    """What the drawing of one pass needs at hand."""

    graph: Graph
    cards: dict[str, Card]
    placed: Layout
    name: str

    def card(self, card: Card) -> Group:
        """A card: paper, band under the head, sections, texts."""
        node, (x, y) = card.node, self.placed.corners[card.node.key]
        y, tall = y + card.strip, card.height - card.strip
        form, corner = SHAPES[node.kind]
        head, body, extra, foot = card.parts
        items: list = []
        if self.graph.outputs & set(node.outputs) and node.kind != "copy":
            items.append(
                Path(
                    outline(x - RING, y - RING, card.width + 2 * RING, tall + 2 * RING, [corner + RING] * 4, form),
                    "ring",
                )
            )
        items.append(Path(outline(x, y, card.width, tall, [corner] * 4, form), "paper-" + node.kind))
        if node.kind != "copy":
            edge = 0.7  # the band stays inside the outline
            items.append(
                Path(
                    outline(x + edge, y + edge, card.width - 2 * edge, head - edge, [corner - edge] * 2 + [0, 0], form),
                    "band-" + node.kind,
                )
            )
        if node.kind == "function":
            items.append(Path(outline(x + 0.7, y + head, 5, tall - head - corner, [0] * 4, "cut"), "bar"))
        items += self._section(card.head, x, y, card)
        items += self._section(card.body, x, y + head, card)
        items += self._extra(card, x, y + head + body, extra)
        items += self._section(card.foot, x, y + tall - foot, card)
        classes = f"node {node.kind}" + " output" * bool(self.graph.outputs & set(node.outputs))
        data = {"op": node.record["id"]} if node.is_op else {"value": node.outputs[0]}
        return Group(node.key, classes, items, data, _tip(card))

    def _extra(self, card: Card, x: float, y: float, tall: float) -> list:
        """The section that differs between the passes, on a tint of its own."""
        blocks = card.passes.get(self.name)
        if not blocks:
            return []
        filled = sum(block.height for block in blocks) + 2 * ABOVE
        inset = 6.0 if card.node.kind == "function" else 0.7
        low = 16.0 if card.node.kind == "input" else 8.0 if card.node.kind == "parameter" else 0
        corners = [0, 0, low, low] if filled >= tall else [0] * 4
        tint = Path(
            outline(x + inset, y, card.width - inset - 0.7, filled - 0.7, corners, SHAPES[card.node.kind][0]),
            blocks[0].role,
        )
        return [tint, *self._section(blocks, x, y, card)]

    def _section(self, blocks: list[Block], x: float, y: float, card: Card) -> list:
        items, y = [], y + ABOVE
        for block in blocks:
            lines: list = []
            for line in block.lines:
                lines += _texts(line, x + SIDE, x + card.width - SIDE, y)
                y += line.height
            own = block.value is not None and block.role == "value" and card.node.is_op
            classes = block.role + (f" value-{block.value}" if block.value is not None else "")
            data = {} if block.value is None else {"value": block.value}
            items.append(Group(f"value-{block.value}" if own else "", classes, lines, data))
        return items

    def edge(self, edge: Edge) -> Group:
        """An edge with its arrow head and, in the backward pass, its label."""
        card, (x, y) = self.cards[edge.target.key], self.placed.corners[edge.target.key]
        ring = RING + 1 if self.graph.outputs & set(edge.target.outputs) else 0
        end = (x + card.entry(edge.slot), y + card.strip - ring)
        points = self.placed.routes[edge.key]
        look = self._look(edge)
        stop = end[1] - (TIP - 1 if self.name != "backward" else 0)
        steps = [("M", *points[0])]
        steps += [("C", *points[i], *points[i + 1], *points[i + 2]) for i in range(1, len(points) - 2, 3)]
        items: list = [Path([*steps, ("L", end[0], stop)], "edge" + look)]
        if self.name != "backward":
            items.append(Path(_tip_at(end, (0.0, 1.0)), "tip" + look))
        elif edge.flow:
            gap = 2 * PLUS if self._adds(edge.source.key, edge.value) else 0.5
            items.append(Path(_tip_back(points, gap), "tip" + look))
            items.append(_label(card.labels[edge.slot], edge.flow, (end[0], end[1] - card.strip / 2)))
        classes = "edge" + " no-gradient" * (self.name == "backward" and not edge.flow)
        data = {"value": edge.value, "op": edge.target.record["id"]}
        return Group(edge.key, classes, items, data)

    def _look(self, edge: Edge) -> str:
        if self.name == "backward":
            return "-backward" if edge.flow else "-quiet"
        return "-jvp" if self.name == "jvp" and self.graph.tangent(edge.value) else ""

    def _adds(self, key: str, value: int) -> bool:
        """Whether contributions to a value meet at this card (copies only pass theirs on)."""
        return len(self.graph.back.get(value, ())) > 1 and not key.startswith(f"value-{value}-copy")

    def sums(self) -> list[Group]:
        """In the backward pass, a plus where contributions meet."""
        marks = []
        for key, card in self.cards.items() if self.name == "backward" else ():
            for port, value in enumerate(card.node.outputs):
                if self._adds(key, value):
                    x, y = self.placed.corners[key]
                    x, y = x + card.exit(port), y + card.height + PLUS
                    circle = outline(x - PLUS, y - PLUS, 2 * PLUS, 2 * PLUS, [PLUS] * 4, "round")
                    marks.append(
                        Group(
                            "",
                            f"sum value-{value}",
                            [Path(circle, "plus"), Text(x, y + TEXTS["plus"].size * 0.36, "+", "plus", "middle")],
                            {"value": value},
                        )
                    )
        return marks


def _label(lines: list[Line], flow: dict, middle: tuple[float, float]) -> Group:
    """What flows along an edge, on paper of its own."""
    wide = max(line.width for line in lines) + 12
    tall = sum(line.height for line in lines) + 8
    x, y = middle[0] - wide / 2, middle[1] - tall / 2
    items: list = [Path(outline(x, y, wide, tall, [5] * 4, "round"), "label")]
    y += 4
    for line in lines:
        items += _texts(line, x + 6, x + wide - 6, y)
        y += line.height
    data = {"upstream": flow["upstream"], "gives": flow["gives"]}
    return Group("", f"flow value-{flow['gives']}", items, data)


def _texts(line: Line, start: float, end: float, top: float) -> list[Text]:
    """The texts of a line: runs from the left one after the other, and one that ends at the right."""
    base, texts = top + 0.75 * line.height, []
    for run, style in line.left:
        texts.append(Text(start, base, run, style))
        start += texts[-1].width
    if line.right:
        texts.append(Text(end, base, line.right[0], line.right[1], "end"))
    return [one for one in texts if one.text]


def _tip(card: Card) -> str:
    """The whole of what had to be shortened on a card, for the pointer to show."""
    texts = [run for block in (*card.head, *card.foot) for line in block.lines for run, _ in line.left]
    if not card.node.is_op or not any("…" in one for one in texts):
        return ""
    op = card.node.record
    return " | ".join(filter(None, (text.clean(op.get("formula") or op["name"]), text.source(op.get("where")))))


def _tip_at(point: tuple[float, float], direction: tuple[float, float]) -> list[tuple]:
    """A triangle whose point lies at `point`, looking along `direction`."""
    (x, y), (dx, dy) = point, direction
    back, side = (x - TIP * dx, y - TIP * dy), (3.8 * -dy, 3.8 * dx)
    return [
        ("M", x, y),
        ("L", back[0] + side[0], back[1] + side[1]),
        ("L", back[0] - side[0], back[1] - side[1]),
        ("Z",),
    ]


def _tip_back(points: list[tuple[float, float]], gap: float) -> list[tuple]:
    """A triangle at the start of a curve, looking back along it, `gap` away from the start."""
    (x0, y0), (x1, y1) = (
        points[0],
        next((p for p in points[1:] if math.dist(p, points[0]) > 1), (points[0][0], points[0][1] + 1)),
    )
    far = math.dist((x0, y0), (x1, y1))
    dx, dy = (x1 - x0) / far, (y1 - y0) / far
    return _tip_at((x0 + gap * dx, y0 + gap * dy), (-dx, -dy))
