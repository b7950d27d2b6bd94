"""A graph as a text drawing, for terminals, mails and comments: one node below the other, values as lines beside them.

A value has its own column from the node that made it to its last use.  The text of its card is beside each node, for all
requested passes.  The drawing always runs from top to bottom.
"""

from collections import Counter
from collections.abc import Sequence

from .. import text
from ..cards.alt import facts
from ..cards.content import flow_text, words
from ..cards.frames import OpenCard, kinds_in
from ..cards.heads import called
from ..cards.parts import Card
from ..graph.backward_passes import which
from ..graph.cuts import SCISSORS
from ..graph.drawn_graph import Graph, Node

KINDS = {
    "input": ("○", "input"),
    "parameter": ("◆", "leaf (requires grad)"),
    "constant": ("□", "constant"),
    "computed": ("□", "computed elsewhere"),
    "copy": ("◇", "leaf, drawn again"),
    "op": ("■", "operation"),
    "function": ("▣", "custom Function"),
    "fold": ("▤", "folded operations"),
    "port": ("○", "edge of a frame"),
    "saved": ("◈", "saved tensor"),
    "cut": ("✂", "no gradient passes"),
    "error": ("✗", "raised an error"),
    "transfer": ("⇄", "communication between ranks"),
}
UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
LINES = dict(zip(range(16), " ╵╷│╴╯╮┤╶╰╭├─┴┬┼"))  # by the sides that a line reaches

Lane = tuple[str, int]  # a value that is still needed: node and output


def sketch(graph: Graph, cards: dict[str, Card], passes: list[str]) -> str:
    """Draw the graph between a heading and a legend."""
    legend = "   ".join(" ".join(KINDS[kind]) for kind in kinds_in(cards))
    return "\n".join([*_heading(graph, passes), "", *_drawn(graph, cards, passes), "", legend, ""])


def _drawn(graph: Graph, cards: dict[str, Card], passes: Sequence[str]) -> list[str]:
    """Draw cards one below the other, with the lines of values beside them."""
    lanes = Lanes(Counter((edge.source.key, edge.port) for edge in graph.edges))
    lines, lane = [], ""
    for card in cards.values():
        if graph.lanes and lane != (lane := graph.whose(card.node)):  # several processes: name each in turn
            lines.append(f"{lanes.row()}  {lane}:".lstrip())
        lines += lanes.into(card.node)
        column = lanes.column
        shown = _node_lines(graph, cards, card, passes)
        lines.append(f"{lanes.row(column, KINDS[card.node.kind][0])}  {shown[0]}".rstrip())
        lines += lanes.out_of(card.node)
        lines += [f"{lanes.row()}  {line}".rstrip() for line in shown[1:]]
    return lines


def _inside(card: OpenCard, passes: Sequence[str]) -> list[str]:
    """Draw the frames of an open node one below the other, each within a border."""
    lines = []
    for name in passes:
        if room := card.rooms.get(name):
            shown = (room.frame.shows,) if room.frame.shows == "forward" else passes
            inner = _drawn(room.frame.graph, room.cards, shown)
            said = [note for note in room.frame.notes if note.startswith(SCISSORS)]
            lines += [f"┌ {room.frame.title}", *("│ " + line for line in [*said, *inner]), "└"]
    return lines


def _heading(graph: Graph, passes: list[str]) -> list[str]:
    name = text.shorten(graph.record["program"].get("name") or "", 60)
    first = " · ".join([*[name] * bool(name), *facts(graph, "", saves=passes != ["jvp"])])
    passed = which(graph.origins) if "backward" in passes else ""
    return [first, "passes: " + ", ".join(passes), *([passed] if passed else [])]


def _node_lines(graph: Graph, cards: dict[str, Card], card: Card, passes: Sequence[str]) -> list[str]:
    """Return the lines beside a node: the text of its card, and the contributions along its edges."""
    lines = words(card, *passes, with_blocks=True)
    lines[0] = lines[0].removeprefix(f"{SCISSORS} ")  # the sign in the column
    if graph.outputs & set(card.node.outputs) and not card.node.is_op and "output" not in lines[0]:
        lines[0] += "  output"
    back = []
    for edge in card.node.inputs if "backward" in passes else ():
        if flow := flow_text(cards, edge):
            back.append(f"back to {text.shorten(graph.name(edge.value), 16)}: {' '.join(flow)}")
    inside = _inside(card, passes) if isinstance(card, OpenCard) else []
    lines[0] = "".join(called(graph, card.node)[:2]) if inside else lines[0]
    return [*lines, *inside, *back]


def across(sides: list[int], crossed: range, joined: list[int]) -> str:
    """Draw a row that joins some columns, by the sides that each line reaches; it only crosses those in between."""
    row = ""
    for i, side in enumerate(sides):
        row += "─" if i in crossed and not side else "│" if i in crossed and i not in joined else LINES[side]
        row += "─" if crossed[0] <= i < crossed[-1] else " "
    return row.rstrip()


class Lanes:
    """The columns of values that are still needed, from left to right; None marks a free column."""

    def __init__(self, uses: Counter[Lane]):
        self.uses, self.lanes, self.column = uses, [], 0

    def row(self, column: int = -1, sign: str = "") -> str:
        """Draw a row of lines, with a sign in one column."""
        width = max(len(self.lanes), column + 1)
        marks = [sign if i == column else "│" if i < len(self.lanes) and self.lanes[i] else " " for i in range(width)]
        return " ".join(marks)

    def into(self, node: Node) -> list[str]:
        """End the columns of a node's inputs after their last use, and choose the node's column; return the joining row."""
        read = Counter((edge.source.key, edge.port) for edge in node.inputs)
        places = [i for i, lane in enumerate(self.lanes) if lane in read]
        for lane, many in read.items():
            self.uses[lane] -= many
        ended = [i for i in places if not self.uses[self.lanes[i]]]
        free = [i for i, lane in enumerate(self.lanes) if lane is None]
        self.column = (ended or free or [len(self.lanes)])[0]
        joined = [*places, self.column]
        sides = [UP | DOWN if lane else 0 for lane in self.lanes] + [0] * (self.column + 1 - len(self.lanes))
        for i in ended:
            sides[i] = UP
        sides[self.column] |= DOWN
        crossed = range(min(joined), max(joined) + 1)
        for i in joined:
            sides[i] |= (LEFT if i > crossed[0] else 0) | (RIGHT if i < crossed[-1] else 0)
        row = across(sides, crossed, joined)
        self.lanes = [None if i in ended else lane for i, lane in enumerate(self.lanes)]
        self.trim()
        return [row] if len(set(joined)) > 1 else []

    def out_of(self, node: Node) -> list[str]:
        """Give each output of a node a column; return the row that branches to them, if there are several."""
        wanted = [(node.key, port) for port in range(len(node.outputs)) if self.uses[node.key, port]]
        places = []
        for lane in wanted:
            free = [i for i, taken in enumerate(self.lanes) if taken is None and i not in places]
            place = self.column if not places else next((i for i in free if i > self.column), len(self.lanes))
            self.lanes += [None] * (place + 1 - len(self.lanes))
            self.lanes[place] = lane
            places.append(place)
        self.trim()
        if len(places) < 2:
            return []
        crossed = range(places[0], places[-1] + 1)
        sides = [UP | DOWN if lane else 0 for lane in self.lanes]
        for i in places:
            sides[i] = DOWN | (UP if i == self.column else 0) | (LEFT if i > crossed[0] else 0)
            sides[i] |= RIGHT if i < crossed[-1] else 0
        return [across(sides, crossed, places)]

    def trim(self) -> None:
        """Drop free columns at the right."""
        while self.lanes and self.lanes[-1] is None:
            self.lanes.pop()
