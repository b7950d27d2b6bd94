"""The words for cuts: operations through which no gradient passes, which have scissors and a sentence in every format."""

from __future__ import annotations

from . import text
from .drawn_graph import Graph, is_cut

SCISSORS = "✂"


def sentence(graph: Graph, op: dict) -> str:
    """Return the sentence on the card of a cut: its call, or the reason if that is not the operation itself.

    >>> where = {"file": "gan.py", "line": 6}
    >>> op = {"name": "detach", "cut": "detach", "phase": "forward", "call": "x.detach()", "where": where}
    >>> sentence(Graph({"program": {}, "values": [], "ops": []}), op)
    'no gradient beyond here: x.detach(), gan.py:6'
    """
    call = text.clean(graph.words(op.get("call") or "")) if op["cut"] == op["name"] else ""
    shown = frozenset(("lines",)) <= graph.view.show and text.source({**(op.get("where") or {}), "code": ""})
    place = f", {shown.strip()}" if shown else ""
    return f"no gradient beyond here: {text.shorten(call or op['cut'], 48)}{place}"


def sentences(graph: Graph, op: dict) -> list[str]:
    """Return the sentences of an operation, or of those in a box."""
    if "folded" in op:
        return op["folded"].get("cuts", [])
    return [sentence(graph, op)] if is_cut(op) else []
