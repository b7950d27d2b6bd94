"""The layout of several processes: each lane is a column, and a card that several lanes share is a bar across them.

Rows run through all lanes.  In a lane, the cards before a transfer are above it, and the cards after it below.  A bar is alone
in its row in the lanes that it crosses.  layered.py orders the cards of a lane within a row.  On a bar each lane has a pad,
where its edges enter and leave.
"""

from itertools import accumulate

from ..cards.parts import Bar, Card
from ..graph.drawn_graph import Edge, Graph, Node
from ..layout.layered import LANE, ROWS, Link, across, curve, neighbours, order, rows_of, stand_ins
from ..layout.positions import Layout, Point
from ..layout.style import measure

TITLE, EDGE, APART = 34.0, 18.0, 26.0  # room for a lane's name, beside its cards, between lanes


def placed(graph: Graph, cards: dict[str, Card]) -> Layout:
    """Place the cards of several processes."""
    rows = rows_in(graph)
    many = max(rows.values()) + 1
    columns = [Column(graph, cards, rows, lane, many) for lane in range(len(graph.lanes))]
    heights = [max(column.heights[row] for column in columns) for row in range(many)]
    tops = list(accumulate((tall + ROWS for tall in heights[:-1]), initial=TITLE))
    lows = [top + tall for top, tall in zip(tops, heights)]
    starts = list(accumulate((column.width + APART for column in columns), initial=0.0))
    corners: dict[str, Point] = {}
    for node in graph.nodes:
        card = cards[node.key]
        ends = [(starts[lane], columns[lane]) for lane in node.lanes]
        lefts = {column.lane: start + column.x[node.key] for start, column in ends}
        left = min(lefts.values())
        if isinstance(card, Bar):
            left, right = starts[min(lefts)] + EDGE, starts[max(lefts)] + columns[max(lefts)].width - EDGE
            card.spread({lane: (x - left, columns[lane].boxes[node.key][0]) for lane, x in lefts.items()}, right - left)
        corners[node.key] = (left, lows[rows[node.key]] - card.along)
    bars, routes, over = crossings(graph, rows), {}, set()
    for edge in graph.edges:
        column = columns[lane_of(graph, edge)]
        source, target = edge.source.key, edge.target.key
        points = [(corners[source][0] + cards[source].exit(edge.port), lows[rows[source]])]
        for x, row in column.way(edge):
            at = starts[column.lane] + x
            points += [(at, tops[row]), (at, lows[row])]
            if (row, column.lane) in bars:
                over.add(edge.key)
        end = corners[target][0] + cards[target].entry(edge.slot)
        routes[edge.key] = curve([*points, (end, tops[rows[target]]), (end, corners[target][1])])
    height = lows[-1] + EDGE
    frame = lambda column, start: (graph.lane_title(column.lane), (start, 0.0), (column.width, height))
    return Layout(corners, routes, starts[-1] - APART, height, [*map(frame, columns, starts)], over=over)


def lane_of(graph: Graph, edge: Edge) -> int:
    """Return the lane that an edge ends in; on a bar, the lane of its value."""
    return edge.target.lanes[0] if len(edge.target.lanes) == 1 else graph.lane(edge.value) or 0


def spanned(node: Node) -> range:
    """Return the lanes that a node spans."""
    return range(min(node.lanes), max(node.lanes) + 1)


def crossings(graph: Graph, rows: dict[str, int]) -> set[tuple[int, int]]:
    """Return the rows and lanes that bars occupy."""
    return {(rows[node.key], lane) for node in graph.nodes if len(node.lanes) > 1 for lane in spanned(node)}


def rows_in(graph: Graph) -> dict[str, int]:
    """Return the row of each node: below its inputs, and below the earlier transfers of its lane."""
    rows: dict[str, int] = {}
    floor = [0] * len(graph.lanes)  # the first row that a lane has free below its last bar
    deepest = [-1] * len(graph.lanes)
    for node in graph.nodes:
        above = [rows[edge.source.key] + 1 for edge in node.inputs]
        if node.kind == "transfer":
            rows[node.key] = max([*above, *(deepest[lane] + 1 for lane in spanned(node))])
            for lane in spanned(node):
                floor[lane] = rows[node.key] + 1
        else:
            rows[node.key] = max([*above, floor[node.lanes[0]]])
        for lane in spanned(node):
            deepest[lane] = max(deepest[lane], rows[node.key])
    bars = crossings(graph, rows)
    first: dict[str, int] = {}  # of a leaf: the row of its first use
    for edge in graph.edges:
        first[edge.source.key] = min(first.get(edge.source.key, rows[edge.target.key]), rows[edge.target.key])
    for node in graph.nodes:
        if not node.is_op and node.key in first:  # just above its first use, or above a bar that is in the way
            below = [row for row in range(rows[node.key], first[node.key]) if (row, node.lanes[0]) not in bars]
            rows[node.key] = max(below, default=rows[node.key])
    return rows


class Column:
    """The cards of one lane, and the pads of the bars across it."""

    def __init__(self, graph: Graph, cards: dict[str, Card], rows: dict[str, int], lane: int, many: int):
        self.lane = lane
        self.boxes = {node.key: self.box(cards[node.key]) for node in graph.nodes if lane in node.lanes}
        rank, sizes = {key: rows[key] for key in self.boxes}, dict(self.boxes)
        self.first: dict[str, str] = {}  # by an edge from another lane: the stand-in that it begins with
        links: list[Link] = []
        for edge in graph.edges:
            if lane_of(graph, edge) != lane:
                continue
            source, target = edge.source.key, edge.target.key
            into = self.entry(cards[target], edge.slot)
            if source in self.boxes:
                links.append((edge.key, source, self.exit(cards[source], edge.port), target, into))
            elif rows[target] - rows[source] > 1:
                self.first[edge.key] = begin = f"{edge.key}/from"
                rank[begin], sizes[begin] = rows[source] + 1, (LANE, 0.0)
                links.append((edge.key, begin, LANE / 2, target, into))
        self.stand_ins = stand_ins(rank, sizes, links)
        self.rank = rank
        every = rows_of(rank, many)
        joined = neighbours(links, self.stand_ins, {node.key for node in graph.nodes if not node.is_op})
        order(every, sizes, joined)
        x = across(every, sizes, joined)
        left = min(x.values(), default=0.0)
        wide = max((x[key] - left + sizes[key][0] for key in sizes), default=0.0)
        least = measure(graph.lane_title(lane), "lane") + 2 * EDGE
        self.width = max(wide + 2 * EDGE, least)
        self.x = {key: x[key] - left + (self.width - wide) / 2 for key in sizes}
        self.heights = [max((sizes[key][1] for key in row), default=0.0) for row in every]

    def box(self, card: Card) -> Point:
        """Return the size of a card in this lane; of a bar, the size of its pad."""
        return (card.wide[self.lane] if isinstance(card, Bar) else card.across, card.along)

    def entry(self, card: Card, slot: int) -> float:
        """Return the position of an incoming edge across the box of a card."""
        return card.entry_in(self.lane, slot, card.wide[self.lane]) if isinstance(card, Bar) else card.entry(slot)

    def exit(self, card: Card, port: int) -> float:
        """Return the position of an outgoing edge across the box of a card."""
        return card.exit_in(self.lane, port, card.wide[self.lane]) if isinstance(card, Bar) else card.exit(port)

    def way(self, edge: Edge) -> list[tuple[float, int]]:
        """Return the points where an edge passes rows: the position across, and the row."""
        begin = [self.first[edge.key]] if edge.key in self.first else []
        keys = [*begin, *self.stand_ins.get(edge.key, ())]
        return [(self.x[key], self.rank[key]) for key in keys]
