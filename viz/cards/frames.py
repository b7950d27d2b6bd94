"""The cards of open nodes: a frame around the cards of its inside, with room for the largest pass.

An edge of the outer graph ends at the frame's border, and a line leads on to a port inside.  So the outer layout sees a card
like any other, and outer cards stay where they are from pass to pass.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from .. import text
from ..graph.drawn_graph import Edge, Frame, Graph, Node
from ..graph.modules import Region
from ..layout.orientation import WAYS
from ..layout.positions import Layout, Point, layout
from . import content as closed
from . import heads
from .heat import Heat
from .parts import GAP, SIDE, Block, Card, Line
from .scales import scales

PAD, LEAD = 12.0, 32.0  # between a frame and its cards; room along the edges, for bends between border and ports
APART = 40.0  # between outgoing edges beside the title
TURNED = {"TB": "BT", "BT": "TB", "LR": "RL", "RL": "LR"}
COLUMNS = 36  # characters of the line below a frame's title


@dataclass
class Room:
    """A frame with its cards and their layout."""

    frame: Frame
    cards: dict[str, Card]
    placed: Layout


@dataclass
class OpenCard(Card):
    """The card of an open node; `rooms` are its frames by pass."""

    rooms: dict[str, Room] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)  # outputs that other nodes read

    def __post_init__(self):
        super().__post_init__()
        title = max(line.width for block in self.head for line in block.lines) + 2 * SIDE, self.parts[0]
        wide = max(room.placed.width for room in self.rooms.values())
        tall = max(room.placed.height for room in self.rooms.values())
        across, along = self.way.size(wide, tall)
        need, clear = sum(self.slots), self.way.size(*title)[0]  # edges pass beside the title
        self.clear = clear
        half = (need - self.slots[0]) / 2 if self.slots else 0.0
        if self.way != WAYS["TB"]:  # the title is beside the outgoing edges, too
            half = max(half, APART * (len(self.node.outputs) - 1) / 2)
        self.half = half
        inner = across + 2 * PAD + (title[1] if self.way.sideways else 0.0)
        self.across = max(inner, need, clear)
        self.middle = max(self.across / 2, clear + GAP + half)
        self.across = float(math.ceil(max(self.across, self.middle + need / 2)))
        length = along + 2 * LEAD + (0.0 if self.way.sideways else title[1])
        length = max(length, clear if self.way.sideways else 0)
        self.width, self.height = self.way.size(self.across, float(math.ceil(length)))
        if self.way.sideways:
            self.width = max(self.width, title[0])
        self.along = self.strip + self.way.size(self.width, self.height)[1]
        self.inset = self.middle - need / 2

    @property
    def foot_ends(self) -> tuple[float, float]:
        """The part of the frame's foot from which edges leave: around the middle of the incoming ones."""
        half, many = min(self.middle, self.across - self.middle), len(self.node.outputs)
        if self.way != WAYS["TB"] and many > 1:
            half = min(half, (self.middle - self.clear - GAP) / (1 - 1 / many))
        return self.middle - half, self.middle + half

    def seen_in(self, name: str) -> Room:
        """Return the room that a pass shows; a pass that runs no method shows forward's."""
        return self.rooms.get(name) or self.rooms.get("forward") or next(iter(self.rooms.values()))

    def corner(self, name: str) -> Point:
        """Return the corner of a pass's room on the paper: its ports as near to the edges as possible."""
        room, title = self.seen_in(name), self.parts[0]
        ports = (room.frame.entries or room.frame.exits).values()
        middles = [self._side(room, key, 0)[self.way.sideways] for key in ports]
        wide, tall = room.placed.width, room.placed.height
        across = self.middle - sum(middles) / len(middles) if middles else self.middle
        low = title if self.way.sideways else PAD
        across = max(low, min(across, self.across - PAD - self.way.size(wide, tall)[0]))
        if self.way.sideways:
            return (self.width - wide) / 2, across
        return across, title + (self.height - title - tall) / 2

    def border(self, name: str) -> tuple[float, float, float, float]:
        """Return the frame of a pass on the paper: its corner, width and height around title, room and edges."""
        room, (x, y) = self.seen_in(name), self.corner(name)
        side = self.way.sideways
        (across, along), sizes = self.way.size(x, y), self.way.size(room.placed.width, room.placed.height)
        low = min(across - PAD - self.parts[0] * side, self.middle - self.half - GAP - self.clear)
        high = max(across + sizes[0] + PAD, self.middle + self.half + SIDE, low + self.clear)
        start, end = along - LEAD - self.parts[0] * (not side), along + sizes[1] + LEAD
        low, start = max(0.0, low), max(0.0, start)
        (x, y), (right, bottom) = self.way.size(low, start), self.way.size(min(high, self.across), end)
        words = max(line.width for block in self.head for line in block.lines) + 2 * SIDE
        right, bottom = max(right, x + words), min(bottom, self.height)
        return x, y, min(right, self.width) - x, bottom - y

    def _side(self, room: Room, key: str, ahead: int) -> Point:
        """Return the middle of a port's side in its room: behind (-1), ahead (1), or its centre (0)."""
        card = room.cards[key]
        (x, y), (dx, dy) = room.placed.corners[key], self.way.ahead
        return (x + card.width / 2 * (1 + ahead * dx), y + card.height / 2 * (1 + ahead * dy))

    def leads(self, name: str) -> Iterator[tuple[list[Point], bool, bool]]:
        """Yield the lines between border and ports on the paper: points, True if it enters the room, True if an entry."""
        room, corner = self.seen_in(name), self.corner(name)
        length = self.way.size(self.width, self.height)[1]
        for ports, is_entry in ((room.frame.entries, True), (room.frame.exits, False)):
            for place, key in ports.items():
                if not is_entry and place not in self.used:
                    continue
                place_across = self.entry(place) if is_entry else self.exit(place)
                border = self.way.point((place_across, 0.0 if is_entry else length), length)
                x, y = self._side(room, key, -1 if is_entry else 1)
                end = corner[0] + x, corner[1] + y
                points = self._bent(border, end, room, corner, is_entry)
                yield points, is_entry != room.frame.turned, is_entry

    def _bent(self, border: Point, end: Point, room: Room, corner: Point, is_entry: bool) -> list[Point]:
        """Return a line from the border of the card to a port, which bends between the frame's title and the room."""
        side = self.way.sideways
        ahead = sum(self.way.ahead) * (1 if is_entry else -1)
        size = (room.placed.width, room.placed.height)[not side]
        near = corner[not side] if ahead > 0 else corner[not side] + size
        bend = near - LEAD if ahead > 0 else near + LEAD
        point = lambda across, along: (along, across) if side else (across, along)
        across, to = border[side], end[side]
        start, middle = point(across, bend), (bend + near) / 2
        curve = [start, start, start, point(across, middle), point(to, middle), point(to, near)]
        return [border, *curve, end, end, end]


def card_of(graph: Graph, node: Node, passes: Sequence[str], together: bool = False) -> Card:
    """Make the card of a node, open or closed: with room for the texts and frames of these passes."""
    if node.kind in ("port", "saved"):
        style = "saved" if node.kind == "saved" else "call"
        lines = [Line([(line, style)]) for line in text.wrap(node.label, graph.view.columns, 2)]
        return Card(node, [Block("head", lines)], labels=[[] for _ in node.inputs], way=WAYS[graph.view.rankdir])
    made = closed.card(graph, node, passes, together)
    if not node.frames:
        return made
    rooms = {name: room_of(graph, frame, passes) for name, frame in node.frames.items() if name in passes}
    rooms = rooms or {name: room_of(graph, frame, passes) for name, frame in node.frames.items() if name == "forward"}
    used = {edge.port for edge in graph.edges if edge.source is node}
    longest = max((room.frame.title for room in rooms.values()), key=len)
    notes = max((room.frame.notes for room in rooms.values()), key=lambda notes: len(" · ".join(notes)))
    return OpenCard(
        node,
        [title(graph, node, longest, notes)],
        labels=made.labels,
        way=made.way,
        room=made.room,
        rooms=rooms,
        used=used,
    )


def room_of(graph: Graph, frame: Frame, passes: Sequence[str]) -> Room:
    """Lay out a frame by itself, in the direction in which its pass runs."""
    inner, way = copy(frame.graph), graph.view.rankdir
    inner.view = replace(graph.view, rankdir=TURNED[way] if frame.turned else way)
    inner.scales = scales(graph)
    shown = (frame.shows,) if frame.shows == "forward" else tuple(passes)
    cards = {node.key: card_of(inner, node, shown) for node in inner.nodes}
    return Room(replace(frame, graph=inner), cards, layout(inner, cards))


def title(graph: Graph, node: Node, words: str, notes: Sequence[str]) -> Block:
    """Return the head of a frame: its title, what else is known of the operation and of the pass, and its line."""
    op, tags = node.record, [*heads.tags_of(graph, node, COLUMNS), *notes]
    where = text.source(op.get("where")) if "lines" in graph.view.show else ""
    lines = [Line([(words, "name")]), *([Line([(" · ".join(tags), "tag")])] if tags else [])]
    lines += [Line([(line, "sum")]) for line in text.wrap(op.get("note", ""), COLUMNS, 3) if line]
    return Block("head", [*lines, *(Line([(line, "code")]) for line in text.wrap(where, COLUMNS, 3) if line)])


def ends_of(cards: dict[str, Card], edge: Edge, name: str) -> tuple[str, str]:
    """Return the keys of the nodes that an edge joins in a pass; in an open node, those of its ports."""
    source, target = cards[edge.source.key], cards[edge.target.key]
    start, end = edge.source.key, edge.target.key
    if isinstance(source, OpenCard):
        start = port_of(source, source.seen_in(name).frame.exits, edge.port, name)
    if isinstance(target, OpenCard):
        end = port_of(target, target.seen_in(name).frame.entries, edge.slot, name)
    return start, end


def port_of(card: OpenCard, ports: dict[int, str], place: int, name: str) -> str:
    """Return the key of a port; without one, that of the first card inside."""
    key = ports.get(place) or next(iter(card.seen_in(name).cards))
    inner = card.seen_in(name).cards[key]
    return port_of(inner, {}, 0, "forward") if isinstance(inner, OpenCard) else key


def clustered(graph: Graph, drawn: dict[str, list[str]], in_module: Callable, in_lane: Callable) -> list[str]:
    """Return the lines that are `drawn` for each card within those of the frames of open modules and of lanes."""

    def module(one: Region) -> list[str]:
        inner = [line for part in one.inner for line in module(part)]
        return in_module(one, inner + [line for node in one.nodes for line in drawn.pop(node.key)])

    lines = [line for one in graph.regions for line in module(one)]
    lanes: dict[int, list[str]] = {lane: [] for lane in range(len(graph.lanes))}
    for node in (node for node in graph.nodes if node.key in drawn):
        where = lanes[node.lanes[0]] if len(node.lanes) == 1 else lines
        where += drawn[node.key]
    return lines + [line for lane, inner in lanes.items() for line in in_lane(lane, inner)]


def kinds_in(cards: dict[str, Card]) -> dict[str, None]:
    """Return the kinds of cards, in frames too, in their order."""
    kinds: dict[str, None] = {}
    for card in cards.values():
        kinds[card.node.kind] = None
        for room in card.rooms.values() if isinstance(card, OpenCard) else ():
            kinds |= kinds_in(room.cards)
    return kinds


def heats_in(cards: Iterable[Card], passes: Sequence[str]) -> Iterator[Heat]:
    """Yield the pictures of values on cards, in frames too, that some passes show."""
    for card in cards:
        shown = [block for name in (*passes, "together") for block in card.passes.get(name, ())]
        yield from (block.heat for block in (*card.body, *shown) if block.heat)
        rooms = [(name, card.seen_in(name)) for name in passes] if isinstance(card, OpenCard) else []
        for name, room in rooms:
            yield from heats_in(room.cards.values(), ["forward" if room.frame.shows == "forward" else name])
