"""A graph as DOT text, for Graphviz and other readers: one node per card, one edge per use.

Nodes and edges have the ids and classes of the SVG.  Backward edges keep the direction of the graph and only reverse their
arrow (dir=back), so Graphviz lays out all passes alike.
"""

import re

from .. import text
from ..cards.content import flow_text, words
from ..cards.frames import OpenCard, clustered, ends_of
from ..cards.parts import Card
from ..graph.backward_passes import passed
from ..graph.drawn_graph import Edge, Frame, Graph
from ..graph.modules import Region
from ..layout.themes import LIGHT, Theme

ENTITY = re.compile(r"&(?=#?\w+;)")
SHAPES = {"function": "component", "fold": "box3d", "transfer": "tab", "error": "octagon"}
STYLES = {
    "cut": "dashed,filled",
    "input": "rounded,filled",
    "parameter": "diagonals,filled",
    "constant": "dashed,filled",
    "computed": "dashed,filled",
    "copy": "diagonals,dashed,filled",
    "port": "rounded,filled",
    "saved": "filled",
}
PAPER = ("copy", "port", "saved")  # cards without a band


def dot(graph: Graph, cards: dict[str, Card], passes: list[str], theme: Theme = LIGHT) -> str:
    """Write the passes as DOT; several passes become clusters."""
    name, program = "".join(passes[:1]) * (len(passes) == 1), graph.record["program"]
    about = text.shorten(program.get("name") or "", 60), program.get("iteration"), passed(name, graph.origins)
    title = " · ".join(one for one in about if one and one != name)
    page, ink = ({"bgcolor": quoted(theme.page)} if theme.page else {}), quoted(theme.texts["call"].colour)
    line = quoted(theme.looks["paper-op"].stroke)
    whole = {"labelloc": "t", "fontname": "Helvetica", "label": quoted(title), "fontcolor": ink, **page}
    out = [
        "digraph minigrad {",
        f"  graph {_written(whole)}",
        f"  rankdir={graph.view.rankdir}",
        f"  node [fontname=monospace, fontsize=10, shape=box, style=filled, color={line}, fontcolor={ink}]",
        f"  edge [fontname=monospace, fontsize=9, color={quoted(theme.looks['edge'].stroke)}, fontcolor={ink}]",
    ]
    for name in passes:
        if len(passes) == 1:
            out += _pass(graph, cards, name, "", theme)
        else:
            inner = _pass(graph, cards, name, f"{name}-", theme)
            out += [f"  subgraph cluster_{name} {{", f"  label={quoted(passed(name, graph.origins))}", *inner, "  }"]
    return "\n".join([*out, "}", ""])


def quoted(*lines: str, end: str = "") -> str:
    r"""Quote lines as one DOT string, each with its `end`; backslashes, quotes and HTML's entities in them are escaped.

    >>> print(quoted('a "b"', r"\N &lt; & c", end=r"\l"))
    "a \"b\"\l\\N &amp;lt; & c\l"
    """
    lines = tuple(ENTITY.sub("&amp;", line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "".join(line + end for line in lines) + '"'


def _pass(graph: Graph, cards: dict[str, Card], name: str, prefix: str, theme: Theme) -> list[str]:
    drawn = {key: _node(graph, card, name, prefix, theme) for key, card in cards.items()}
    lane = lambda number, inner: _cluster(f"{prefix}lane_{number}", f"label={quoted(graph.lane_title(number))}", inner)
    lines = clustered(graph, drawn, lambda one, inner: _module(one, inner, prefix, theme), lane)
    return lines + [_edge(edge, cards, name, prefix, theme) for edge in graph.edges]


def _node(graph: Graph, card: Card, name: str, prefix: str, theme: Theme) -> list[str]:
    if isinstance(card, OpenCard):
        return _frame(card, name, prefix, theme)
    kind = card.node.kind
    output = bool(graph.outputs & set(card.node.outputs)) and kind != "copy"
    attributes = {
        "id": quoted(prefix + card.node.key),
        "class": quoted(f"node {kind}" + " output" * output),
        "label": quoted(*words(card, name), end="\\l"),
        "fillcolor": quoted(theme.looks[f"paper-{kind}" if kind in PAPER else f"band-{kind}"].fill),
    }
    attributes |= {"shape": SHAPES[kind]} if kind in SHAPES else {}
    attributes |= {"style": quoted(STYLES[kind])} if kind in STYLES else {}
    attributes |= {"penwidth": "2.5"} if output else {}
    return [f"  {quoted(prefix + card.node.key)} {_written(attributes)}"]


def _cluster(key: str, about: str, inner: list[str]) -> list[str]:
    """Return lines with a frame around them."""
    cluster = re.sub(r"\W", "_", f"cluster_{key}")
    return [f"  subgraph {cluster} {{", f"  {about}", *inner, "  }"]


def _module(one: Region, inner: list[str], prefix: str, theme: Theme) -> list[str]:
    """Write the frame of an open module as a cluster."""
    look = theme.looks["module"]
    about = {"id": quoted(prefix + one.key), "class": quoted("module"), "label": quoted(one.title)}
    about |= {"style": quoted("rounded,filled"), "fillcolor": quoted(look.fill), "color": quoted(look.stroke)}
    return _cluster(prefix + one.key, f"graph {_written(about)}", inner)


def _frame(card: OpenCard, name: str, prefix: str, theme: Theme) -> list[str]:
    """Write an open node as a cluster; a frame that runs backward keeps the direction of the graph, as edges do."""
    room = card.seen_in(name)
    frame = room.frame
    shown = "forward" if frame.shows == "forward" else name
    look = theme.looks["frame"]
    style = {"style": "filled", "fillcolor": quoted(look.fill), "color": quoted(look.stroke)}
    about = {"id": quoted(prefix + card.node.key), "class": quoted(f"node {card.node.kind} open"), **style}
    lines = [line for inner in room.cards.values() for line in _node(frame.graph, inner, shown, prefix, theme)]
    lines += [_edge(edge, room.cards, shown, prefix, theme, frame) for edge in frame.graph.edges]
    return _cluster(prefix + card.node.key, f"graph {_written({'label': quoted(frame.heading), **about})}", lines)


def _edge(edge: Edge, cards: dict[str, Card], name: str, prefix: str, theme: Theme, frame: Frame | None = None) -> str:
    """Write an edge of a pass, or of a frame, which has one colour."""
    ends = [quoted(prefix + key) for key in ends_of(cards, edge, name)]
    about = {"id": quoted(prefix + edge.key), "class": quoted("edge")}
    if name == "backward" and not edge.flow:
        about |= {"class": quoted("edge no-gradient"), "dir": "none", "style": "dotted"}
    elif name == "backward":
        about |= {"dir": "back", "label": quoted(*flow_text(cards, edge), end="\\l")}
        about["color"] = quoted(theme.looks["edge-backward"].stroke)
    if frame:
        about["color"] = quoted(theme.looks["edge" + frame.hue].stroke)
    if frame and frame.turned:
        about["dir"] = "back"
        ends.reverse()
    return f"  {' -> '.join(ends)} {_written(about)}"


def _written(attributes: dict[str, str]) -> str:
    return "[" + ", ".join(f"{key}={value}" for key, value in attributes.items()) + "]"
