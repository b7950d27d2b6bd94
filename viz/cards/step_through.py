"""A record as steps: each operation in each pass, described in a few lines.

Forward runs from the inputs to the results, backward in reverse, jvp forward again.  The step of an open custom Function is
followed by the steps of the method that the pass runs.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .. import text
from ..graph import cuts
from ..graph.drawn_graph import Graph, Node
from .content import body_words, card, flow_text
from .parts import Card


@dataclass
class Step:
    """One operation in one pass; `op` is its id in the record, or that of the custom Function around it."""

    phase: str  # forward | backward | jvp
    op: int
    title: str
    lines: list[str]
    within: list[str] = field(default_factory=list)  # the methods around it, outermost first: MyCube.backward


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
                steps.append(_step(graph, node, cards[node.key], name, lines))
                steps += _inside(node, name, steps[-1])
    return steps


def _step(graph: Graph, node: Node, card: Card, name: str, lines: list[str]) -> Step:
    """Return the step of an operation: its title, the lines about it, and its place in the program."""
    where = text.source(node.record.get("where")) if "lines" in graph.view.show else ""
    return Step(name, node.record["id"], card.head[0].lines[0].text, [*lines, *([where] if where else [])])


def _inside(node: Node, name: str, around: Step) -> Iterator[Step]:
    """Yield the steps of the method of an open custom Function that a pass runs."""
    frame = node.frames.get(name)
    if frame is None:
        return
    graph = frame.graph
    for inner in [one for one in graph.nodes if one.is_op]:
        made = card(graph, inner, ("forward",))
        code = [line.text for line in made.head[0].lines if line.left[0][1] == "code"]
        step = _step(graph, inner, made, around.phase, [*code, *_forward(graph, inner, made)])
        step.op, step.within = around.op, [*around.within, frame.title]
        yield step
        yield from _inside(inner, "forward", step)


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
    yield from cuts.sentences(graph, node.record)
    yield from _section(card, "forward")


def _section(card: Card, name: str) -> list[str]:
    return [line.text for block in card.passes.get(name, ()) for line in block.lines]


def _backward(graph: Graph, node: Node, cards: dict[str, Card], arrived: Counter[int]) -> Iterator[str]:
    """Describe the incoming gradient, the gradient of each input, and the sums; `arrived` counts contributions per value."""
    flows = [edge for edge in node.inputs if edge.flow]
    if flows:
        blocks = cards[node.key].passes.get("backward", ())
        said = [block.lines[0].text for block in blocks if block.role == "gradient" and block.lines]
        yield from (f"arrives  {line}" for line in said[: len(node.outputs)])
    if words := graph.first_special("backward", node):
        yield words
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
                yield f"reads  {_named(graph, value, tangent, 'tangent of ')}"
        yield from lines
