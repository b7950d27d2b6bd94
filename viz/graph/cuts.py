"""The words for cuts: operations through which no gradient passes, which have scissors and a sentence in every format."""

from .. import text
from .backward_passes import line
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
    return said(graph, call or op["cut"], op.get("where"))


def said(graph: Graph, call: str, where: dict | None) -> str:
    """Return the sentence for a call and its line."""
    place = line(where) if "lines" in graph.view.show else ""
    return f"no gradient beyond here: {text.shorten(call, 48)}{', ' * bool(place)}{place}"


def sentences(graph: Graph, op: dict) -> list[str]:
    """Return the sentences of an operation, or of those in a box."""
    if "folded" in op:
        return op["folded"].get("cuts", [])
    own = [sentence(graph, op)] if is_cut(op) else []
    return own + [one for value in op["outputs"] for one in of_reads(graph, value)]


def of_reads(graph: Graph, value: int) -> list[str]:
    """Return the sentences of the places where Python reads the numbers of a value, each once."""
    from minigrad.record.schema import CALLS  # the record was made by minigrad, so this costs no import time

    call = lambda how: CALLS.get(how, f"{{}}.{how}()").format(graph.name(value))
    words = [said(graph, call(one["how"]), one.get("where")) for one in graph.reads.get(value, ())]
    return list(dict.fromkeys(words))
