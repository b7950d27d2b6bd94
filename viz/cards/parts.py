"""The parts of cards: lines of text, blocks of lines, and the card with its measures.

A collective of several lanes is a Bar: a card that spans them all, with a column for each lane's texts.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby, takewhile

from ..graph.drawn_graph import Node
from ..layout.orientation import WAYS, Way
from ..layout.style import TEXTS, measure
from .heat import Heat

SIDE, ABOVE, BETWEEN = 11, 6, 16  # padding left and right, above and below a section, between texts
HEAT = 3.0  # above and below a picture of a value
BOTH = 220.0  # the largest width of a line with a picture beside it that makes a card wider
GAP, ROOM, NARROW = 14.0, 21.0, 18.0  # between labels of edges; along an edge beside its label, and there on a slide
TIGHT, CLOSE = 12.0, 4  # along an edge, and above and below a section, in a brief picture

Run = tuple[str, str]  # a text and the name of its style


@dataclass
class Line:
    """A line of text: runs from the left, and one at the right; or a formula in LaTeX, with its approximate size."""

    left: list[Run]
    right: Run | None = None
    latex: str = ""
    size: tuple[float, float] = (0.0, 0.0)

    @property
    def width(self) -> float:
        """The width that the line needs."""
        if self.latex:
            return self.size[0]
        return sum(measure(*run) for run in self.left) + (BETWEEN + measure(*self.right) if self.right else 0)

    @property
    def text(self) -> str:
        """The line as plain text."""
        whole = "".join(run for run, _ in self.left) + (f"  {self.right[0]}" if self.right else "")
        return whole.replace("\u00a0", " ")

    @property
    def height(self) -> float:
        """The height of its largest text."""
        if self.latex:
            return self.size[1]
        return max(TEXTS[style].height for _, style in (*self.left, *([self.right] if self.right else ())))


@dataclass
class Block:
    """Lines that belong together, and the id of the value they describe."""

    role: str  # head | value | parameter | saved | gradient | tangent | waited | source
    lines: list[Line]
    value: int | None = None
    lane: int | None = None  # on a Bar: the lane it belongs to
    heat: Heat | None = None  # a picture of the value: at the right of the last lines if they leave room, else below
    room: float = 0.0  # the width of the card's texts

    def texts(self, with_blocks: bool = False) -> list[str]:
        """Return the lines as plain text; `with_blocks` adds the picture in block characters."""
        shown = self.heat and self.heat.line and (with_blocks or self.heat.words)
        return [line.text for line in self.lines] + ([self.heat.line] if self.heat and shown else [])

    @property
    def height(self) -> float:
        """The height of the lines and the picture, without padding."""
        lines = sum(line.height for line in self.lines)
        return max(lines, self.heat_at[1] + self.heat.size[1] + HEAT) if self.heat else lines

    @property
    def heat_at(self) -> tuple[float, float]:
        """The left end and the top of the picture in the block."""
        wide = self.heat.size[0] if self.heat else 0.0
        beside = list(takewhile(lambda line: line.width + BETWEEN + wide <= self.room, reversed(self.lines)))
        top = sum(line.height for line in self.lines) - sum(line.height for line in beside)
        return self.room - wide if beside else 0.0, top + HEAT

    @property
    def width(self) -> float:
        """The width of the widest line, or of the picture; in a brief picture of both, if they are narrow."""
        lines = max((line.width for line in self.lines), default=0.0)
        if self.heat is None:
            return lines
        if self.heat.beside:
            both = lines + BETWEEN + self.heat.size[0]
            return both if both <= BOTH else lines
        return max(lines, self.heat.size[0])


@dataclass
class Card:
    """A node's texts and their measures; the strip of labels is part of the box that the layout places."""

    node: Node
    head: list[Block]
    body: list[Block] = field(default_factory=list)
    passes: dict[str, list[Block]] = field(default_factory=dict)
    foot: list[Block] = field(default_factory=list)
    labels: list[list[Line]] = field(default_factory=list)  # backward: one per incoming edge
    way: Way = WAYS["TB"]
    room: float = ROOM
    above: float = ABOVE

    def __post_init__(self):
        blocks = [*self.head, *self.body, *self.foot, *(b for section in self.passes.values() for b in section)]
        widest = max(block.width for block in blocks) + 2 * SIDE
        self.width = float(math.ceil(max(widest, 60)))
        sizes = [label_size(label) for label in self.labels]
        self.slots = [self.way.size((wide or 12.0) + GAP, (tall or 12.0) + GAP)[0] for wide, tall in sizes]
        self.order = list(range(len(self.slots)))  # in which edges arrive across the card
        need = sum(self.slots)
        if not self.way.sideways:
            self.width = float(math.ceil(max(self.width, need)))
        for block in blocks:
            block.room = self.width - 2 * SIDE
            if block.heat and block.heat.beside and block.heat_at[0] <= 0:
                block.heat = None
        filled = lambda blocks: sum(map(self.filled, sections(blocks)))
        extra = max(map(filled, self.passes.values()), default=0)
        self.parts = [filled(self.head), self.filled(self.body) if self.body else 0, extra, filled(self.foot)]
        self.height = float(round(sum(self.parts)))
        if self.way.sideways:
            self.height = max(self.height, need)
        room = self.room
        self.strip = max((self.way.size(wide + room, tall + room)[1] for wide, tall in sizes if wide), default=0.0)
        self.across, paper = self.way.size(self.width, self.height)
        self.along, self.inset = self.strip + paper, (self.across - need) / 2

    def arranged(self, blocks: list[Block]) -> Iterator[tuple[Block, float, float, float]]:
        """Yield each block with its left end, right end and top on the card: one below the other."""
        top = 0.0
        for block in blocks:
            yield block, 0.0, self.width, top
            top += block.height

    def filled(self, section: list[Block]) -> float:
        """Return the height of a section with its padding."""
        return max(top + block.height for block, *_, top in self.arranged(section)) + 2 * self.above

    @property
    def foot_ends(self) -> tuple[float, float]:
        """The part of the card's foot from which edges leave."""
        return 0.0, self.across

    def entry(self, slot: int) -> float:
        """Return the position of an incoming edge across the card."""
        before = self.order[: self.order.index(slot)]
        return self.inset + sum(self.slots[i] for i in before) + self.slots[slot] / 2

    def exit(self, port: int) -> float:
        """Return the position of an outgoing edge across the card."""
        start, end = self.foot_ends
        return start + (end - start) * (2 * port + 1) / (2 * len(self.node.outputs))


@dataclass
class Bar(Card):
    """The card of a collective of several lanes, with a column for each of them."""

    ins: list[int] = field(default_factory=list)  # the lane of each incoming edge
    outs: list[int] = field(default_factory=list)  # the lane of each output
    names: dict[int, str] = field(default_factory=dict)  # names of the lanes, for plain text, which has no columns
    columns: dict[int, tuple[float, float]] = field(default_factory=dict)  # lane -> left end, width

    def __post_init__(self):
        self.columns = dict.fromkeys(self.node.record["lanes"], (0.0, 0.0))
        super().__post_init__()
        blocks = [*self.body, *(b for section in self.passes.values() for b in section)]
        self.wide: dict[int, float] = {}
        for lane in self.node.record["lanes"]:
            texts = [block.width + 2 * SIDE for block in blocks if block.lane == lane]
            self.wide[lane] = max([60.0, *texts, sum(self._slots(lane))])
        need = max(line.width for block in (*self.head, *self.foot) for line in block.lines) + 2 * SIDE
        more = max(0.0, need - sum(self.wide.values())) / len(self.wide)
        self.wide = {lane: float(math.ceil(wide + more)) for lane, wide in self.wide.items()}
        start, columns = 0.0, {}
        for lane, wide in self.wide.items():
            columns[lane] = (start, wide)
            start += wide
        self.spread(columns, start)

    def spread(self, columns: dict[int, tuple[float, float]], width: float) -> None:
        """Set the columns of the lanes and the width of the card."""
        self.columns, self.width = columns, width
        self.across, self.along = self.way.size(width, self.height + self.strip)

    def _slots(self, lane: int) -> list[float]:
        return [wide for wide, of in zip(self.slots, self.ins) if of == lane]

    def entry_in(self, lane: int, slot: int, width: float) -> float:
        """Return the position of an incoming edge across the column of its lane."""
        before = [wide for i, (wide, of) in enumerate(zip(self.slots, self.ins)) if of == lane and i < slot]
        return (width - sum(self._slots(lane))) / 2 + sum(before) + self.slots[slot] / 2

    def exit_in(self, lane: int, port: int, width: float) -> float:
        """Return the position of an outgoing edge across the column of its lane."""
        place = self.outs[:port].count(lane)
        return width * (2 * place + 1) / (2 * self.outs.count(lane))

    def entry(self, slot: int) -> float:
        """Return the position of an incoming edge across the card."""
        lane = self.ins[slot]
        return self.columns[lane][0] + self.entry_in(lane, slot, self.columns[lane][1])

    def exit(self, port: int) -> float:
        """Return the position of an outgoing edge across the card."""
        lane = self.outs[port]
        return self.columns[lane][0] + self.exit_in(lane, port, self.columns[lane][1])

    def arranged(self, blocks: list[Block]) -> Iterator[tuple[Block, float, float, float]]:
        """Yield blocks with their places: lanes side by side, the blocks of a lane one below the other."""
        tops: dict[int, float] = dict.fromkeys(self.columns, 0.0)
        for block in blocks:
            whole = 0.0, self.width
            start, wide = whole if block.lane is None else self.columns.get(block.lane, whole)
            if block.lane in tops:
                top = tops[block.lane]
                tops[block.lane] += block.height
            else:
                top = max(tops.values(), default=0.0)
                tops = dict.fromkeys(tops, top + block.height)
            yield block, start, start + wide, top


def sections(blocks: list[Block]) -> list[list[Block]]:
    """Group neighbouring blocks of the same role: each group has its own tint."""
    return [list(same) for _, same in groupby(blocks, lambda block: block.role)]


def label_size(label: list[Line]) -> tuple[float, float]:
    """Return the width and height of the paper under a label; zeros if it has no lines."""
    if not label:
        return 0.0, 0.0
    return max(line.width for line in label) + 12, sum(line.height for line in label) + 8
