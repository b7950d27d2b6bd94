"""A record as steps: each operation in each pass, described in a few lines.

Forward runs from the inputs to the results, backward in reverse, jvp forward again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from . import text
from .card_parts import Card
from .cards import body_words, flow_text
from .drawn_graph import Graph, Node


@dataclass
class Step:
    """One operation in one pass; `op` is its id in the record."""

    phase: str  # forward | backward | jvp
    op: int
    title: str
    lines: list[str]

    def to_dict(self) -> dict:
        """Return the step as a dictionary for JSON."""
        return asdict(self)


def walk(graph: Graph, cards: dict[str, Card], passes: Sequence[str]) -> list[Step]:
    """Return the steps of the passes, in the order in which they run."""
    ops = [node for node in graph.nodes if node.is_op]
    arrived: Counter[int] = Counter()
    tell = {
        "forward": lambda node: _forward(graph, node, cards[node.key]),
        "backward": lambda node: _backward(graph, node, cards, arrived),
        "jvp": lambda node: _jvp(graph, node, cards[node.key]),
    }
    steps = []
    for name in passes:
        for node in reversed(ops) if name == "backward" else ops:
            if lines := list(tell[name](node)):
                where = text.source(node.record.get("where")) if "lines" in graph.view.show else ""
                head = cards[node.key].head[0].lines[0].text
                steps.append(Step(name, node.record["id"], head, [*lines, *([where] if where else [])]))
    return steps


def _named(graph: Graph, value: int, entry: dict | None, sign: str = "") -> str:
    """Format a value's name and its known contents in this pass."""
    amount = text.contents(entry) or "not known"
    return f"{sign}{text.shorten(graph.name(value), 24)} = {amount}"


def _forward(graph: Graph, node: Node, card: Card) -> Iterator[str]:
    """Describe an operation's inputs, outputs and saved tensors."""
    for value in dict.fromkeys(edge.value for edge in node.inputs) if "values" in graph.view.show else ():
        yield f"reads  {_named(graph, value, graph.values[value])}"
    for i, line in enumerate(body_words(card)):
        yield f"{'     ' if i else 'gives'}  {line}"
    yield from _section(card, "forward")


def _section(card: Card, name: str) -> list[str]:
    return [line.text for block in card.passes.get(name, ()) for line in block.lines]


def _backward(graph: Graph, node: Node, cards: dict[str, Card], arrived: Counter[int]) -> Iterator[str]:
    """Describe the incoming gradient, the gradient of each input, and the sums; `arrived` counts contributions per value."""
    flows = [edge for edge in node.inputs if edge.flow]
    if flows:
        yield from (f"arrives  {line}" for line in _section(cards[node.key], "backward")[:1])
    for edge in flows:
        arrived[edge.value] += 1
        name, parts = text.shorten(graph.name(edge.value), 16), len(graph.back[edge.value])
        yield f"back to {name}:  {' '.join(flow_text(cards, edge))}"
        if parts > 1 and arrived[edge.value] < parts:
            yield f"         contribution {arrived[edge.value]} of {parts} to the gradient of {name}"
        elif "grads" in graph.view.show and (whole := graph.gradient(edge.value)) and parts > 1:
            yield f"         with all {parts} contributions: {_named(graph, edge.value, whole, 'gradient of ')}"


def _jvp(graph: Graph, node: Node, card: Card) -> Iterator[str]:
    """Describe the input tangents of an operation, and its output tangent."""
    lines = _section(card, "jvp")
    if lines:
        for value in dict.fromkeys(edge.value for edge in node.inputs):
            if tangent := graph.tangent(value):
                yield f"reads  {_named(graph, value, tangent, 'd')}"
        yield from lines
