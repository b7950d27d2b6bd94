"""The cards, frames and edges of one laid-out pass as groups of shapes and texts; picture.py puts them on a page.

Every operation, value and edge has its own group, whose id and classes name the record's ids.  A frame draws its inside with
the same methods, from its own layout.
"""

import math
from dataclasses import dataclass
from functools import cached_property

from .. import text
from ..cards.colouring import tints
from ..cards.content import flow_formula, parts_of
from ..cards.frames import OpenCard, title
from ..cards.heads import at_once
from ..cards.parts import SIDE, Block, Card, Line, label_size, sections
from ..graph.drawn_graph import Edge, Graph
from .orientation import WAYS, Way
from .positions import Layout
from .shapes import Group, Path, Text, outline
from .style import TEXTS, measure

TIP = 8.0  # length of an arrow head
RING = 4.0  # distance of the ring around an output
PLUS = 9.0  # radius of the plus where contributions add up
SHAPES = dict.fromkeys(("op", "function", "fold", "transfer", "cut", "error"), ("round", 6)) | {
    "input": ("round", 16),
    "parameter": ("cut", 10),
    "constant": ("cut", 0),
    "computed": ("cut", 0),
    "copy": ("cut", 6),
    "port": ("round", 9),
    "saved": ("cut", 4),
}
PASS_BANDS = {"-backward": "gradient", "-jvp": "tangent"}  # in a story, the head of a card has the colour of its pass
PASS_EDGES = {"gradient": "-backward", "tangent": "-jvp"}
PILLS = ("port", "saved")  # small cards in frames, with their text in the middle


@dataclass
class Placed:
    """The graph, cards and layout of one pass, and the methods that draw them."""

    graph: Graph
    cards: dict[str, Card]
    placed: Layout
    name: str
    hue: str = ""  # the colour of all edges in a frame: "-backward" or "-jvp"
    inner: bool = False  # True in a frame, whose ids of values and operations are not the record's

    @property
    def way(self) -> Way:
        """The direction of the graph."""
        return WAYS[self.graph.view.rankdir]

    @cached_property
    def tints(self) -> dict[str, int]:
        """The shades of cards that are coloured by size."""
        return tints(self.graph, self.name)[0]

    @cached_property
    def flowing(self) -> set[str]:
        """The nodes of a frame whose results depend on the gradients or tangents that enter it, not only on saved tensors."""
        found = {node.key for node in self.graph.nodes if node.kind == "port"}
        for edge in sorted(self.graph.edges, key=lambda edge: self.graph.nodes.index(edge.target)):
            if edge.source.key in found:
                found.add(edge.target.key)
        return found

    def lanes(self) -> list:
        """Draw the lanes of several processes: a frame around each, and its name."""
        items: list = []
        for name, (x, y), (wide, tall) in self.placed.lanes:
            items.append(Path(outline(x, y, wide, tall, [8] * 4, "round"), "lane"))
            items += [Text(x + wide / 2, y + 18, name, "lane", "middle")] * (not self.graph.bands)
        return items

    def frames(self) -> list[Group]:
        """Draw the frames of open modules, the outer ones first."""
        frame = lambda x, y, wide, tall: [Path(outline(x, y, wide, tall, [8] * 4, "round"), "module")]
        return [Group(one.key, "module", frame(*at, *size)) for one, at, size in self.placed.frames]

    def titles(self) -> list:
        """Draw the titles of a story's bands, and of open modules, over the edges that come from outside."""
        titles = []
        for name, (x, y), (wide, _) in self.placed.lanes if self.graph.bands else ():
            titles.append((Text(x + wide / 2, y + 18, name, "lane", "middle"), "paper-title"))
        for one, (x, y), (wide, _) in self.placed.frames:
            room = int((wide - 12) / measure("x", "module"))
            titles.append((Text(x + 8, y + 15, text.shorten(one.title, room), "module"), "paper-module"))
        return [item for title, paper in titles for item in (Path(_paper(title), paper), title)]

    def card(self, card: Card) -> Group:
        """Draw a card: paper, band under the head, sections, texts."""
        node, (x, y) = card.node, self.way.paper(self.placed.corners[card.node.key], card.strip)
        if isinstance(card, OpenCard):
            return self.frame(card, x, y)
        form, corner = SHAPES[node.kind]
        head, body, _, foot = card.parts
        items: list = []
        if self.graph.outputs & set(node.outputs) and node.kind != "copy":
            items.append(Path(around(x, y, card, RING, corner, form), "ring"))
        many = node.kind == "fold" or node.is_op and at_once(self.graph, node.record)
        for apart in (6, 3) if many else ():  # a stack of sheets, clear of the edges
            wide, tall = self.way.size(card.across, card.along - card.strip - 2 * apart)
            sheet = outline(x + apart, y + apart, wide, tall, [corner] * 4, form)
            items.append(Path(sheet, "paper-fold"))
        items.append(Path(outline(x, y, card.width, card.height, [corner] * 4, form), "paper-" + node.kind))
        if node.kind not in (*PILLS, "copy"):
            edge = 0.7  # the band stays inside the outline, at the bottom too if the card is only a head
            alone = head > card.height - corner
            corners = [corner - edge] * 2 + [alone * (corner - edge)] * 2
            band = outline(x + edge, y + edge, card.width - 2 * edge, head - edge - alone * edge, corners, form)
            step, pass_of = self.tints.get(node.key), self.graph.band(node) if node.is_op else None
            look = PASS_BANDS.get(pass_of["hue"] if pass_of else "", "band-" + node.kind)
            items.append(Path(band, f"tint-{step}" if step else look))
            texts = [one for block in self._section(card.head, x, y, card) for one in block.items if not one.latex]
            items += [Path(outline(*text_background(one), [2] * 4, "cut"), "head-text") for one in texts]
        if node.kind == "function":
            items.append(Path(outline(x + 0.7, y + head, 5, card.height - head - corner, [0] * 4, "cut"), "bar"))
        items += self._section(card.head, x, y, card)
        items += self._section(card.body, x, y + head, card)
        items += self._extra(card, x, y + head + body)
        items += self._section(card.foot, x, y + card.height - foot, card)
        classes = f"node {node.kind}" + " output" * bool(self.graph.outputs & set(node.outputs))
        return Group(node.key, classes, items, {} if self.inner else _record_ids(card), _tip(card))

    def frame(self, card: OpenCard, x: float, y: float) -> Group:
        """Draw an open node: the frame, its title, lines from the border to the ports, and its inside."""
        node, (form, corner) = card.node, SHAPES[card.node.kind]
        items: list = []
        if self.graph.outputs & set(node.outputs):
            items.append(Path(around(x, y, card, RING, corner, form), "ring"))
        together = self.name == "together"  # then one frame holds the rooms of all passes
        left, top, wide, tall = (0.0, 0.0, card.width, card.height) if together else card.border(self.name)
        items.append(Path(outline(x + left, y + top, wide, tall, [corner] * 4, form), "frame"))
        if step := self.tints.get(node.key):
            corners = [corner - 1.0] * 2 + [0.0] * 2
            tint = outline(x + left + 1, y + top + 1, wide - 2, card.parts[0], corners, form)
            items.append(Path(tint, f"tint-{step}"))
        if self.name == "together":
            names = [name for name in ("forward", "backward", "jvp") if name in card.rooms]
            items += [Group("", f"room {name}", self.room(card, name, x, y)) for name in names]
        else:
            items += self.room(card, self.name, x, y)
        classes = f"node {node.kind} open" + " output" * bool(self.graph.outputs & set(node.outputs))
        return Group(node.key, classes, items, {} if self.inner else _record_ids(card))

    def room(self, card: OpenCard, name: str, x: float, y: float) -> list:
        """Draw the inside of an open node in one pass."""
        room = card.seen_in(name)
        frame, (dx, dy) = room.frame, card.corner(name)
        shown = name if frame.shows != "forward" else "forward"
        here = Placed(frame.graph, room.cards, room.placed, shown, frame.hue, inner=True)
        lines: list = []
        for points, enters, _ in card.leads(name):
            points = [(x + a, y + b) for a, b in points]
            lines.append(Path(_curve(points), "edge" + frame.hue))
            if enters:
                lines.append(Path(tip_back(points[::-1], 0.5), "tip" + frame.hue))
        left, top = (0.0, 0.0) if self.name == "together" else card.border(name)[:2]
        head = self._section([title(self.graph, card.node, frame.title, frame.notes)], x + left, y + top, card)
        layers = {"edges": map(here.edge, frame.graph.edges), "nodes": map(here.card, room.cards.values())}
        inside = [Group("", kind, [*items], shift=(x + dx, y + dy)) for kind, items in layers.items()]
        return [*head, Group("", "leads", lines), *inside]

    def _extra(self, card: Card, x: float, y: float) -> list:
        """Draw the section that differs between the passes, on its own tint."""
        items, kind = [], card.node.kind
        inset = 6.0 if kind == "function" else 0.7
        low = {"input": 16.0, "parameter": 8.0}.get(kind, 0.0 if card.foot else 5.0)
        end = y + card.parts[2]
        for blocks in sections(card.passes.get(self.name, [])):
            filled = card.filled(blocks)
            corners = [0, 0, low, low] if y + filled >= end - 5 else [0] * 4
            wide = card.width - inset - 0.7
            tint = Path(outline(x + inset, y, wide, filled - 0.7, corners, SHAPES[kind][0]), blocks[0].role)
            items.append(Group("", blocks[0].role, [tint, *self._section(blocks, x, y, card)]))
            y += filled
        return items

    def _section(self, blocks: list[Block], x: float, y: float, card: Card) -> list:
        items = []
        for block, left, right, top in card.arranged(blocks):
            lines: list = []
            begin = down = y + card.above + top
            for line in block.lines:
                shift = (right - left - line.width) / 2 - SIDE if card.node.kind in PILLS else 0.0
                lines += _texts(line, x + left + SIDE + shift, x + right - SIDE, down)
                down += line.height
            if block.heat:
                across, below = block.heat_at
                lines.append(block.heat.drawn(x + left + SIDE + across, begin + below))
            known = None if self.inner else block.value
            own = known is not None and block.role in ("value", "parameter") and card.node.is_op
            classes = block.role + (f" value-{known}" if known is not None else "")
            data = {} if known is None else {"value": known}
            items.append(Group(f"value-{block.value}" if own else "", classes, lines, data))
        return items

    def edge(self, edge: Edge) -> Group:
        """Draw an edge with its arrow head and, in the backward pass, its label."""
        card, (x, y) = self.cards[edge.target.key], self.way.ahead
        points = self.placed.routes[edge.key]
        box = points[-1]
        ring = RING + 1 if self.graph.outputs & set(edge.target.outputs) else 0
        end = (box[0] + x * (card.strip - ring), box[1] + y * (card.strip - ring))
        look, back = self._look(edge), self.name == "backward" and not self.is_update(edge)
        into = isinstance(card, OpenCard) and edge.slot in card.seen_in(self.name).frame.entries  # goes on inside
        stop = 0 if back or into else TIP - 1
        steps = [*_curve(points), ("L", end[0] - x * stop, end[1] - y * stop)]
        items: list = [Path(steps, "edge" + one) for one in self._looks(edge, look)]  # dashes lie over the line below
        if not back:
            items += [Path(_tip_at(end, (x, y)), "tip" + look)] * (not into)
        elif edge.flow:
            adds, source = self._adds(edge.source.key, edge.value), self.cards[edge.source.key]
            goes_on = isinstance(source, OpenCard) and edge.port in source.seen_in(self.name).frame.exits and not adds
            tip = Path(tip_back(points, 2 * PLUS if adds else 0.5), "tip" + self._looks(edge, look)[-1])
            items += [tip] * (not goes_on)
            items += self.label(edge)
        classes = "edge" + " no-gradient" * (back and not edge.flow)
        data = {} if self.inner else {"value": edge.value, "op": edge.target.record["id"]}
        return Group(edge.key, classes, items, data)

    def label(self, edge: Edge) -> list[Group]:
        """Draw an edge's gradient contribution, in the middle of the strip before its card."""
        card, (x, y), box = self.cards[edge.target.key], self.way.ahead, self.placed.routes[edge.key][-1]
        lines = card.labels[edge.slot]
        if not lines or edge.flow is None:
            return []
        tip = flow_formula(self.graph, edge) if any("…" in line.text for line in lines) else ""
        return [_label(lines, edge.flow, (box[0] + x * card.strip / 2, box[1] + y * card.strip / 2), tip)]

    def _look(self, edge: Edge) -> str:
        if "saved" in (edge.source.kind, edge.target.kind):
            return "-saved"
        if self.hue:
            return self.hue if edge.source.key in self.flowing else ""
        if self.graph.bands:
            made = self.graph.band(edge.source) if edge.source.is_op else None
            return made["hue"] if made else PASS_EDGES.get(self.graph.values[edge.value]["kind"], "")
        if self.name == "backward":
            if edge.flow or self.is_update(edge) and (edge.source.is_op or self.graph.gradient_of.get(edge.value)):
                return "-backward"
            return "" if self.is_update(edge) else "-quiet"
        moves = edge.target.record.get("phase") != "update" and self.graph.tangent(edge.value)
        return "-jvp" if self.name == "jvp" and moves else ""

    def is_update(self, edge: Edge) -> bool:
        """Return True if an edge leads to an operation on gradients after the pass: communication, or an update."""
        return edge.target.record["phase"] == "update"

    def _looks(self, edge: Edge, look: str) -> list[str]:
        """Return the looks of an edge's line: one for each pass that flows along it if a picture shows several."""
        if look != "-backward" or edge.flow is None:
            return [look]
        return [self.graph.styled(look, one) for one in self.graph.passes_of(parts_of(edge, None))] or [look]

    def _adds(self, key: str, value: int) -> bool:
        """Return True if contributions to a value add up at this card (copies only pass theirs on)."""
        return self.graph.adds(value) and not key.startswith(f"value-{value}-copy")

    def sums(self) -> list[Group]:
        """Draw, in the backward pass, a plus wherever contributions add up."""
        marks = []
        for key, card in self.cards.items() if self.name in ("backward", "together") else ():
            for port, value in enumerate(card.node.outputs):
                if self._adds(key, value):
                    marks.append(self._sum(card, port, value))
        return marks

    def _sum(self, card: Card, port: int, value: int) -> Group:
        way = self.way
        start = way.point((card.exit(port), card.along + PLUS), card.along)
        corner = self.placed.corners[card.node.key]
        x, y = corner[0] + start[0], corner[1] + start[1]
        circle = outline(x - PLUS, y - PLUS, 2 * PLUS, 2 * PLUS, [PLUS] * 4, "round")
        sign = Text(x, y + TEXTS["plus"].size * 0.36, "+", "plus", "middle")
        return Group("", f"sum value-{value}", [Path(circle, "plus"), sign], {"value": value})


def _curve(points: list[tuple[float, float]]) -> list[tuple]:
    """Return the route of an edge as the steps of a path."""
    curves = [("C", *points[i], *points[i + 1], *points[i + 2]) for i in range(1, len(points) - 2, 3)]
    return [("M", *points[0]), *curves]


def _label(lines: list[Line], flow: dict, middle: tuple[float, float], tip: str) -> Group:
    """Draw a contribution on its own paper; the tooltip has the full text if it was shortened."""
    wide, tall = label_size(lines)
    x, y = middle[0] - wide / 2, middle[1] - tall / 2
    items: list = [Path(outline(x, y, wide, tall, [5] * 4, "round"), "label")]
    y += 4
    for line in lines:
        items += _texts(line, x + 6, x + wide - 6, y)
        y += line.height
    data = {key: flow[key] for key in ("upstream", "gives") if flow[key] is not None}
    return Group("", "flow" + "".join(f" value-{id}" for key, id in data.items() if key == "gives"), items, data, tip)


def _paper(title: Text) -> list[tuple]:
    """Return the outline of the paper under a title."""
    x, y, wide, tall = text_background(title)
    return outline(x - (title.anchor == "middle") * title.width / 2 - 1, y, wide + 2, tall, [2] * 4, "cut")


def around(x: float, y: float, card: Card, gap: float, corner: float, form: str) -> list[tuple]:
    """Return an outline around a card."""
    return outline(x - gap, y - gap, card.width + 2 * gap, card.height + 2 * gap, [corner + gap] * 4, form)


def _record_ids(card: Card) -> dict[str, int | str]:
    """Return a card's ids in the record."""
    node = card.node
    if node.kind == "fold":
        return {"ops": " ".join(map(str, node.record["folded"]["ops"]))}
    return {"op": node.record["id"]} if node.is_op else {"value": node.outputs[0]}


def _texts(line: Line, start: float, end: float, top: float) -> list[Text]:
    """Place the texts of a line: runs from the left in turn, and one that ends at the right."""
    base, texts = top + 0.75 * line.height, []
    for run, style in line.left:
        texts.append(Text(start, base, run, style, "start", line.latex, (end - start, line.height)))
        start += texts[-1].width
    if line.right:
        texts.append(Text(end, base, line.right[0], line.right[1], "end"))
    return [one for one in texts if one.text]


def text_background(text: Text) -> tuple[float, float, float, float]:
    """Return the rectangle behind a text (corner, width, height), with a little room on each side."""
    size = TEXTS[text.style].size
    start = text.x - (text.width if text.anchor == "end" else 0)
    return start - 3, text.y - size, text.width + 6, 1.3 * size


def _tip(card: Card) -> str:
    """Return the tooltip of a card: the full text of everything that had to be shortened."""
    blocks = (*card.head, *card.body, *card.foot, *(block for section in card.passes.values() for block in section))
    texts = [line.text for block in blocks for line in block.lines]
    if not any("…" in one for one in texts):
        return ""
    if not card.node.is_op:
        return text.clean(card.node.record.get("name") or "")
    op = card.node.record
    pushes = [push["formula"] for push in op.get("pushes", ())]
    said = (op.get("call") or op["name"], *pushes, text.source(op.get("where")))
    return " | ".join(map(text.clean, filter(None, said)))


def _tip_at(point: tuple[float, float], direction: tuple[float, float]) -> list[tuple]:
    """Return a triangle with its tip at `point`, pointing along `direction`."""
    (x, y), (dx, dy) = point, direction
    back, side = (x - TIP * dx, y - TIP * dy), (3.8 * -dy, 3.8 * dx)
    corners = [("L", back[0] + side[0], back[1] + side[1]), ("L", back[0] - side[0], back[1] - side[1])]
    return [("M", x, y), *corners, ("Z",)]


def tip_back(points: list[tuple[float, float]], gap: float) -> list[tuple]:
    """Return a triangle that points back along a curve, `gap` away from its start."""
    x0, y0 = points[0]
    x1, y1 = next((p for p in points[1:] if math.dist(p, points[0]) > 1), (x0, y0 + 1))
    far = math.dist((x0, y0), (x1, y1))
    dx, dy = (x1 - x0) / far, (y1 - y0) / far
    return _tip_at((x0 + gap * dx, y0 + gap * dy), (-dx, -dy))
