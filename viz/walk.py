"""A record step by step: each operation in each pass, told in a few lines.

Forward goes from the inputs to the results, backward the other way round, jvp forward again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from . import text
from .cards import Card, flow_text, words
from .graph import Graph, Node


@dataclass
class Step:
    """One operation in one pass; `op` is its id in the record."""

    phase: str  # forward | backward | jvp
    op: int
    title: str
    lines: list[str]

    def to_dict(self) -> dict:
        """The step as JSON has it."""
        return asdict(self)


def walk(graph: Graph, cards: dict[str, Card], passes: Sequence[str]) -> list[Step]:
    """The steps of the passes, in the order in which they happen."""
    ops = [node for node in graph.nodes if node.is_op]
    steps: list[Step] = []
    if "forward" in passes:
        steps += [_step("forward", node, cards, _forward(graph, node, cards)) for node in ops]
    if "backward" in passes:
        known: dict[int, int] = {}
        for node in reversed(ops):
            if lines := list(_backward(graph, node, cards, known)):
                steps.append(_step("backward", node, cards, lines))
    if "jvp" in passes:
        steps += [_step("jvp", node, cards, lines) for node in ops if (lines := list(_jvp(graph, node, cards)))]
    return steps


def _step(phase: str, node: Node, cards: dict[str, Card], lines: list[str]) -> Step:
    head = cards[node.key].head[0].lines[0].text
    where = text.source(node.record.get("where")) if "lines" in _shown(cards[node.key]) else ""
    return Step(phase, node.record["id"], head, [*lines, *([where] if where else [])])


def _shown(card: Card) -> set[str]:
    return {"lines"} if card.foot else set()


def _named(graph: Graph, value: int, entry: dict | None, sign: str = "") -> str:
    """A value, or what is known of it in this pass, under its name."""
    amount = text.contents(entry) or "not known"
    return f"{sign}{text.shorten(graph.name(value), 24)} = {amount}"


def _forward(graph: Graph, node: Node, cards: dict[str, Card]) -> list[str]:
    reads = dict.fromkeys(edge.value for edge in node.inputs)
    show = graph.view.show
    lines = [f"reads  {_named(graph, value, graph.values[value])}" for value in reads if "values" in show]
    return [*lines, *(f"gives  {line}" if i == 0 else f"       {line}" for i, line in enumerate(_body(cards[node.key]))),
            *_section(cards[node.key], "forward")]  # fmt: skip


def _body(card: Card) -> list[str]:
    """The lines of the values that an operation gives."""
    bare = Card(card.node, [], card.body, way=card.way) if card.body else None
    return words(bare) if bare else []


def _section(card: Card, name: str) -> list[str]:
    return [line.text for block in card.passes.get(name, ()) for line in block.lines]


def _backward(graph: Graph, node: Node, cards: dict[str, Card], known: dict[int, int]) -> Iterator[str]:
    """What arrives, what goes back along each edge, and where sums stand; `known` counts what each value has got."""
    flows = [edge for edge in node.inputs if edge.flow]
    if flows:
        yield from (f"arrives  {line}" for line in _section(cards[node.key], "backward")[:1])
    for edge in flows:
        known[edge.value] = known.get(edge.value, 0) + 1
        name, parts = text.shorten(graph.name(edge.value), 16), len(graph.back[edge.value])
        yield f"back to {name}:  {' '.join(flow_text(cards, edge))}"
        if parts > 1 and known[edge.value] < parts:
            yield f"         contribution {known[edge.value]} of {parts} to the gradient of {name}"
        elif "grads" in graph.view.show and (whole := graph.gradient(edge.value)) and parts > 1:
            yield f"         with all {parts} contributions: {_named(graph, edge.value, whole, 'gradient of ')}"


def _jvp(graph: Graph, node: Node, cards: dict[str, Card]) -> Iterator[str]:
    lines = _section(cards[node.key], "jvp")
    if lines:
        for value in dict.fromkeys(edge.value for edge in node.inputs):
            if tangent := graph.tangent(value):
                yield f"reads  {_named(graph, value, tangent, 'd')}"
        yield from lines
