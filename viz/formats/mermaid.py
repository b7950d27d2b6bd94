"""A graph as Mermaid text, which code hosts, wikis and notebooks render as a picture.

Nodes have the ids of the SVG (op_3 for op-3), and their kinds are classes.  Mermaid cannot reverse an arrow without reversing
the graph, so the backward pass runs from bottom to top, with its arrows in the direction of the gradients.
"""

from ..cards.content import flow_text, words
from ..cards.frames import TURNED, OpenCard, clustered, ends_of, kinds_in
from ..cards.parts import Card
from ..graph.backward_passes import passed
from ..graph.drawn_graph import Graph
from ..layout.themes import LIGHT, Theme

RECTANGLE = '["{}"]'
SHAPES = {
    "function": '[["{}"]]',
    "fold": '[("{}")]',
    "transfer": '[/"{}"/]',
    "input": '(["{}"])',
    "parameter": '{{{{"{}"}}}}',
    "constant": '("{}")',
    "computed": '("{}")',
    "copy": '>"{}"]',
    "port": '(["{}"])',
}


def mermaid(graph: Graph, cards: dict[str, Card], passes: list[str], theme: Theme = LIGHT) -> str:
    """Write the passes as Mermaid text; several passes become subgraphs."""
    way = graph.view.rankdir
    if len(passes) == 1:
        name = passes[0]
        out = [f"flowchart {TURNED[way] if name == 'backward' else way}", *_pass(graph, cards, name, "")]
    else:
        out = [f"flowchart {way}"]
        for name in passes:
            title = escaped(passed(name, graph.origins))
            out += [
                f"  subgraph {name}" + f'["{title}"]' * (title != name),
                f"    direction {TURNED[way] if name == 'backward' else way}",
            ]
            out += ["  " + line for line in _pass(graph, cards, name, name + "_")] + ["  end"]
    for kind in kinds_in(cards):
        paper = theme.looks[f"paper-{kind}"]
        fill, ink = theme.looks.get(f"band-{kind}", paper).fill, theme.texts["call"].colour
        out.append(f"  classDef {kind} fill:{fill},stroke:{paper.stroke},color:{ink},text-align:left")
    if graph.outputs:
        out.append("  classDef output stroke-width:3px")
    return "\n".join([*out, ""])


def escaped(line: str) -> str:
    """Escape a line of a label: characters with a meaning in Mermaid or HTML become their code points.

    >>> escaped('a "b" <c>')
    'a #34;b#34; #60;c#62;'
    """
    return "".join(c if c.isalnum() or c in " .,:=()[]+-/_'·×∂✂" else f"#{ord(c)};" for c in line)


def _pass(graph: Graph, cards: dict[str, Card], name: str, prefix: str) -> list[str]:
    drawn = {key: _node(graph, card, name, prefix) for key, card in cards.items()}
    module = lambda one, inner: _subgraph(_id(prefix, one.key), escaped(one.title), inner)
    lane = lambda number, inner: _subgraph(f"{prefix}lane_{number}", graph.lane_title(number), inner)
    return clustered(graph, drawn, module, lane) + _edges(graph, cards, name, prefix)


def _subgraph(key: str, title: str, inner: list[str]) -> list[str]:
    """Return lines with a frame around them."""
    return [f'  subgraph {key}["{title}"]', *("  " + line for line in inner), "  end"]


def _node(graph: Graph, card: Card, name: str, prefix: str) -> list[str]:
    node = card.node
    if isinstance(card, OpenCard):
        frame, shown = card.seen_in(name).frame, card.seen_in(name).cards
        inner = "forward" if frame.shows == "forward" else name
        lines = [line for one in shown.values() for line in _node(frame.graph, one, inner, prefix)]
        lines += _edges(frame.graph, shown, inner, prefix)
        return _subgraph(_id(prefix, node.key), escaped(frame.heading), lines)
    label = "<br/>".join(map(escaped, words(card, name)))
    lines = [f"  {_id(prefix, node.key)}{SHAPES.get(node.kind, RECTANGLE).format(label or ' ')}:::{node.kind}"]
    if graph.outputs & set(node.outputs) and node.kind != "copy":
        lines.append(f"  class {_id(prefix, node.key)} output")
    return lines


def _edges(graph: Graph, cards: dict[str, Card], name: str, prefix: str) -> list[str]:
    lines = []
    for edge in graph.edges:
        ends = [_id(prefix, key) for key in ends_of(cards, edge, name)]
        if name == "backward":
            label = escaped(" ".join(flow_text(cards, edge)))
            arrow = "-.-" if edge.flow is None else f'-->|"{label}"|' if label else "-->"
            ends.reverse()
        else:
            arrow = "-->"
        lines.append(f"  {ends[0]} {arrow} {ends[1]}")
    return lines


def _id(prefix: str, key: str) -> str:
    return prefix + key.replace("-", "_")
