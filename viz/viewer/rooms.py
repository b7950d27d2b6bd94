"""The inside of custom Functions for the page: the operations of each method with their lines, as in pictures."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import text
from ..cards.error import error_texts
from ..cards.heads import called
from ..graph.drawn_graph import Frame, Graph, Node
from ..graph.functions import FULL, SMALL, Names, frames, inner_nodes, named, names_of, size

MOST = 40  # operations of a method: the page lists longer ones only beside the drawing
# by identity, "operation:call" of the calls of methods that the page may compute (recompute/record.py)
Calls = dict[int, str]
Opens = Callable[[Node], bool]  # True for the custom Functions that open at once


def rooms(graph: Graph, open: Names = None) -> dict[int, dict[str, Any]]:
    """Return the inside of custom Functions, by operation and pass, and those that open at once, as in pictures."""
    functions = [node for node in graph.nodes if node.is_function]
    made = {node.record["id"]: (node, frames(graph, node, None, MOST)) for node in functions}
    calls = {id(ran): f"{n.record['id']}:{k}" for n in functions for k, ran in enumerate(n.record.get("inside", ()))}
    wanted = names_of(open)
    opens = small if open is None else lambda node: not wanted.isdisjoint({"all", *named(node)})
    many = (
        open is None
        and len(graph.nodes) + sum(inner_nodes(f, small) for node, f in made.values() if small(node)) > FULL
    )
    return {
        i: {"rooms": {name: room(one, opens, calls) for name, one in found.items()}, "open": not many and opens(node)}
        for i, (node, found) in made.items()
        if found
    }


def small(node: Node) -> bool:
    """Return True if the methods of a custom Function have few operations."""
    return size(node.record) <= SMALL


def room(frame: Frame, opens: Opens, calls: Calls) -> dict[str, Any]:
    """Describe one method: its boxes, the lines between them by index, output and input, and its ports at the border."""
    place = {node.key: i for i, node in enumerate(frame.graph.nodes)}
    return {
        "title": frame.title,
        "turned": frame.turned,
        "boxes": [box(frame.graph, node, opens, calls) for node in frame.graph.nodes],
        "lines": [[place[edge.source.key], place[edge.target.key], edge.port, edge.slot] for edge in frame.graph.edges],
        "entries": {slot: place[key] for slot, key in frame.entries.items()},
        "exits": {port: place[key] for port, key in frame.exits.items()},
    }


def box(graph: Graph, node: Node, opens: Opens, calls: Calls) -> dict[str, Any]:
    """Describe a box; that of an operation with its values, its line, and the inside of the Function that it applies."""
    if node.kind in ("port", "saved"):
        return {"kind": node.kind, "text": text.clean(node.label), "of": origin(node.record, calls)}
    if not node.is_op:
        ((name, gist, of),) = amounts(graph, node.outputs, calls)
        return {"kind": "leaf", "text": text.shorten(f"{name} = {gist}", 60), "of": of}
    name, call, shown = called(graph, node)
    where = node.record.get("where") or {}
    read = dict.fromkeys(edge.value for edge in (*node.inputs, *node.held))
    more = {
        "reads": amounts(graph, read, calls),
        "at": where if where.get("file") and where.get("code") else None,
        "room": room(node.frames["forward"], opens, calls) if node.frames else None,
        "open": bool(node.frames) and opens(node),
    }
    made = {
        "kind": node.kind,
        "text": text.shorten(shown or name + call, 60),
        "made": amounts(graph, node.outputs, calls),
        "said": [line for _, line in error_texts(graph, node)] if node.kind == "error" else [],
    }
    return made | {key: value for key, value in more.items() if value}


def amounts(graph: Graph, values: Iterable[int], calls: Calls) -> list[tuple[str, str, str]]:
    """Return the name of each value, its elements or their range, and its origin."""
    found = [(graph.name(i), graph.values[i]) for i in values]
    return [(text.clean(name), text.clean(text.gist(value)), origin(value, calls)) for name, value in found]


def origin(value: dict, calls: Calls) -> str:
    """Return the call of a method that a value is from, with its id there; nothing inside a Function that another applies."""
    ran, i = value.get("of", (None, 0))
    return f"{calls[id(ran)]}:{i}" if id(ran) in calls else ""


def lines(found: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the boxes that have a line of the program, of several rooms and of those in them."""
    for one in found:
        for made in one["boxes"]:
            yield from lines([made["room"]] if "room" in made else [])
            if "at" in made:
                yield made
