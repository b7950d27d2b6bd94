"""The three passes as one animated picture: values appear step by step, then gradients, then tangents.

It is the picture of all passes together, and each part has the step at which it appears.  CSS in svg.py does the rest,
without a script: it runs once, or in a loop if the page asks for it; with reduced motion it shows the end at once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ..cards.alt import named
from ..cards.parts import Card
from ..graph.drawn_graph import Graph, Node
from ..layout.drawn_pass import RING, SHAPES, Placed, around, tip_back
from ..layout.picture import Picture, heading, page
from ..layout.positions import Layout
from ..layout.shapes import Group, Path

LONGEST, BEAT = 40.0, 0.9  # the longest film and step, in seconds
REST = 5  # steps for which the end stays, before a looping film begins again
CAPTIONS = {"forward": "Forward: values appear", "backward": "Backward: gradients, against the arrows",
            "jvp": "JVP: tangents beside the values"}  # fmt: skip


def film(graph: Graph, cards: dict[str, Card], placed: Layout, passes: Sequence[str]) -> Picture:
    """Draw the animated picture; `cards` are those for these passes together."""
    times = Times(graph, passes)
    backward = times.steps["backward"]
    here = Placed(graph, cards, placed, "together")
    titles = [CAPTIONS[name] for name in passes] + [named(passes).capitalize()]
    made, place = page(graph, cards, placed, passes, titles, passes)
    layers = {
        "lanes": here.lanes(),
        "frames": here.frames(),
        "edges": [*map(here.edge, graph.edges), *_flashes(here, times)],
        "titles": here.titles(),
        "nodes": [_timed(here.card(card), card, times) for card in cards.values()],
        "sums": [replace(mark, at=times.arrived(int(mark.data["value"]))) for mark in here.sums() if backward],
        "flows": [
            replace(label, at=backward[edge.target.key])
            for edge in graph.edges
            for label in here.label(edge)
            if edge.target.key in backward
        ],
        "pulses": list(_pulses(here, times)),
    }
    groups = [Group("", name, items, **place) for name, items in layers.items()]
    starts = [*times.starts.values(), times.end]
    headings = [heading(graph, *one) for one in zip(titles, starts, [*starts[1:], None])]
    made.items = [*headings, *groups, *made.items]
    made.end = times.end + REST
    made.beat = min(BEAT, LONGEST / made.end)
    return made


class Times:
    """The step at which each pass reaches each node."""

    def __init__(self, graph: Graph, passes: Sequence[str]):
        ops = [node for node in graph.nodes if node.is_op]
        reached: dict[str, Callable[[Node], bool]] = {
            "forward": lambda node: True,
            "backward": lambda node: any(edge.flow for edge in node.inputs),
            "jvp": lambda node: any(graph.tangent(value) for value in node.outputs),
        }
        self.steps: dict[str, dict[str, int]] = {name: {} for name in reached}
        self.starts: dict[str, int] = {}
        now = 0
        for name in [one for one in reached if one in passes]:
            self.starts[name] = now = now + 2 if now else 0
            for node in filter(reached[name], reversed(ops) if name == "backward" else ops):
                self.steps[name][node.key] = now = now + 1
        self.end = now + 2
        self.last: dict[int, int] = {}  # value -> when the last contribution to its gradient comes
        for edge in graph.edges:
            if edge.flow and edge.target.key in self.steps["backward"]:
                self.last[edge.value] = max(self.last.get(edge.value, 0), self.steps["backward"][edge.target.key])

    def arrived(self, value: int) -> int:
        """Return the step at which a value's gradient is complete; the operation that made the value uses it a step later."""
        return self.last.get(value, self.starts["backward"])

    def of(self, role: str, card: Card) -> int | None:
        """Return the step at which a section of a card appears; None if it is there from the start."""
        key = card.node.key
        if role in ("value", "saved"):
            return self.steps["forward"].get(key)
        if role == "gradient":
            return max(map(self.arrived, card.node.outputs), default=self.starts["backward"])
        return self.steps["jvp"].get(key, self.starts.get("jvp", 0) + 1) if role == "tangent" else None


def _timed(group: Group, card: Card, times: Times) -> Group:
    """Give each section of a card the step at which it appears, and each room of an open node its time."""
    items = [item for item in group.items if not isinstance(item, Group) or not item.classes.startswith("room ")]
    timed = lambda item: replace(item, at=times.of(item.classes.split()[0], card))
    made = [timed(item) if isinstance(item, Group) else item for item in items]
    return replace(group, items=[*made, *_rooms([item for item in group.items if item not in items], card, times)])


def _rooms(rooms: list[Group], card: Card, times: Times) -> Iterator[Group]:
    """Yield the rooms of an open node: each appears when its pass arrives, and gives way to the next one."""
    begin = {name: times.steps[name].get(card.node.key) for name in times.starts}
    seen = [(room, begin.get(room.classes.split()[1])) for room in rooms]
    seen = [(room, at) for room, at in seen if at is not None]
    for (room, at), (_, until) in zip(seen, [*seen[1:], (None, None)]):
        yield replace(room, at=at, until=until)


def _flashes(here: Placed, times: Times) -> Iterator[Group]:
    """Yield edges in the colour of the pass that runs along them."""
    for edge in here.graph.edges:
        points, steps = here.placed.routes[edge.key], here.edge(edge).items[0].steps
        if edge.flow and edge.target.key in times.steps["backward"]:
            line = [Path(steps, "edge-backward"), Path(tip_back(points, 0.5), "tip-backward")]
            yield Group("", "pulse", line, at=times.steps["backward"][edge.target.key])
        if here.graph.tangent(edge.value) and edge.target.key in times.steps["jvp"]:
            yield Group("", "pulse", [Path(steps, "edge-jvp")], at=times.steps["jvp"][edge.target.key])


def _pulses(here: Placed, times: Times) -> Iterator[Group]:
    """Yield a ring around each card at the step that reaches it."""
    for name, steps in times.steps.items():
        for key, at in steps.items():
            card = here.cards[key]
            x, y = here.way.paper(here.placed.corners[key], card.strip)
            form, corner = SHAPES[card.node.kind]
            yield Group("", "pulse", [Path(around(x, y, card, RING + 1, corner, form), f"pulse-{name}")], at=at)
