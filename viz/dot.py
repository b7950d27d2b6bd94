"""A graph as DOT text, for Graphviz and whatever else reads it: one node for each card, one edge for each use.

Nodes and edges carry the ids and classes that the SVG has, so both can be searched alike.  Backward edges keep the
direction of the graph and turn their arrow (dir=back): laid out by Graphviz, the passes then lie alike too.
"""

from __future__ import annotations

from . import text
from .cards import Card, flow_text, words
from .drawn_graph import Edge, Graph
from .style import LOOKS

SHAPES = {"function": "component", "fold": "box3d"}
STYLES = {
    "input": "rounded,filled",
    "parameter": "diagonals,filled",
    "constant": "dashed,filled",
    "computed": "dashed,filled",
    "copy": "diagonals,dashed,filled",
}


def dot(graph: Graph, cards: dict[str, Card], passes: list[str]) -> str:
    """DOT text of the passes; with more than one, a cluster for each."""
    title = text.clean(graph.record["program"].get("name") or "")
    out = [
        "digraph minigrad {",
        f"  graph [labelloc=t, fontname=Helvetica, label={quoted(title)}]",
        f"  rankdir={graph.view.rankdir}",
        "  node [fontname=monospace, fontsize=10, shape=box, style=filled]",
        "  edge [fontname=monospace, fontsize=9]",
    ]
    for name in passes:
        if len(passes) == 1:
            out += _pass(graph, cards, name, "")
        else:
            out += [f"  subgraph cluster_{name} {{", f"  label={name}", *_pass(graph, cards, name, f"{name}-"), "  }"]
    return "\n".join([*out, "}", ""])


def quoted(*lines: str, end: str = "") -> str:
    r"""A DOT string of lines, each with its `end`; nothing in them is taken for an escape.

    >>> print(quoted('a "b"', r"\N", end=r"\l"))
    "a \"b\"\l\\N\l"
    """
    return '"' + "".join(line.replace("\\", "\\\\").replace('"', '\\"') + end for line in lines) + '"'


def _pass(graph: Graph, cards: dict[str, Card], name: str, prefix: str) -> list[str]:
    lines = []
    for key, card in cards.items():
        kind = card.node.kind
        output = bool(graph.outputs & set(card.node.outputs)) and kind != "copy"
        attributes = {
            "id": quoted(prefix + key),
            "class": quoted(f"node {kind}" + " output" * output),
            "label": quoted(*words(card, name), end="\\l"),
            "fillcolor": quoted(LOOKS["paper-copy" if kind == "copy" else f"band-{kind}"].fill),
        }
        attributes |= {"shape": SHAPES[kind]} if kind in SHAPES else {}
        attributes |= {"style": quoted(STYLES[kind])} if kind in STYLES else {}
        attributes |= {"penwidth": "2.5"} if output else {}
        lines.append(f"  {quoted(prefix + key)} {_written(attributes)}")
    for edge in graph.edges:
        ends = f"{quoted(prefix + edge.source.key)} -> {quoted(prefix + edge.target.key)}"
        lines.append(f"  {ends} {_written({'id': quoted(prefix + edge.key), **_edge(edge, cards, name)})}")
    return lines


def _edge(edge: Edge, cards: dict[str, Card], name: str) -> dict[str, str]:
    if name != "backward":
        return {"class": quoted("edge")}
    if not edge.flow:
        return {"class": quoted("edge no-gradient"), "dir": "none", "style": "dotted"}
    label = quoted(*flow_text(cards, edge), end="\\l")
    return {"class": quoted("edge"), "dir": "back", "label": label, "color": quoted(LOOKS["edge-backward"].stroke)}


def _written(attributes: dict[str, str]) -> str:
    return "[" + ", ".join(f"{key}={value}" for key, value in attributes.items()) + "]"
