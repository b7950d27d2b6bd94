"""Folding: a graph in which operations that belong together are one box with a count.

A box holds operations that follow one another in the program, so a folded graph has no cycles, whatever is put together:
the operations of a module, of a function, of a source line or of one round of a loop.  The result is a Graph like any
other, so every format can draw it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from math import ceil

from . import text, user_formula
from .drawn_graph import Graph

MOST = 500  # nodes; a graph with more is folded
FEW = 8  # boxes; a folding that leaves fewer shows too little of a large graph

Key = Callable[[dict], tuple]


@dataclass
class Box:
    """Operations that become one node, and what that is called."""

    kind: str  # module | function | line | round
    name: str
    ops: list[dict]


def fold(graph: Graph, most: int = MOST, depth: int | None = None) -> Graph:
    """The graph itself if it has at most `most` nodes, else one with boxes in it that has.

    `depth` says how many levels stay open, whatever the size: the modules around an operation are its levels, or the
    function that it stands in where there are none.

    >>> value = {"kind": "computed", "name": "", "shape": [], "dtype": "float64", "device": "cpu", "bytes": 8}
    >>> op = {"phase": "forward", "name": "sin", "where": {"file": "f.py", "line": 1, "code": "y = y.sin()"}}
    >>> ops = [{**op, "id": i, "inputs": [i], "outputs": [i + 1]} for i in range(100)]
    >>> values = [{**value, "id": i} for i in range(101)]
    >>> graph = fold(Graph({"program": {}, "values": values, "ops": ops, "outputs": [100]}), most=20)
    >>> graph.nodes[1].record["name"], len(graph.nodes) <= 20
    ('rounds 1 to 6', True)
    """
    if depth is not None:
        graph = folded(graph, boxes(graph, "module", at_depth(depth)))
    if len(graph.nodes) <= most:
        return graph
    found = sorted((list(boxes(graph, kind, key)) for kind, key in foldings(graph)), key=len)
    small = [folded(graph, one) for one in found if 1 < len(one) <= most]
    fitting = [made for made in small if FEW <= len(made.nodes) <= most]
    if fitting:
        return max(fitting, key=lambda made: len(made.nodes))
    finer = next((one for one in found if len(one) >= most), found[-1])
    together = ceil(len(finer) / max(most, 1))
    while True:
        made = folded(graph, merged(finer, together))
        if len(made.nodes) <= most or together >= len(finer):
            return made
        together = ceil(together * max(1.1, len(made.nodes) / max(most, 1)))


def foldings(graph: Graph) -> Iterator[tuple[str, Key]]:
    """The ways to fold a graph."""
    rounds = rounds_of(graph.ops)
    yield "round", lambda op: (rounds[op["id"]],)
    yield "line", lambda op: (rounds[op["id"]], *user_formula.line_of(op))
    for depth in range(1, max((len(op.get("module", ())) for op in graph.ops), default=0) + 1):
        yield "module", at_depth(depth)
    yield "function", lambda op: ((op.get("where") or {}).get("function"),)


def at_depth(depth: int) -> Key:
    """Operations with the same outermost `depth` levels go together; those above that depth stay alone."""

    def key(op: dict) -> tuple:
        levels = tuple(op.get("module") or [(op.get("where") or {}).get("function")])
        return levels[:depth] if len(levels) >= depth else ("", op["id"])

    return key


def rounds_of(ops: list[dict]) -> dict[int, int]:
    """Which round of the program's loops each operation belongs to: one ends where an expression comes again.

    >>> line = {"file": "f.py", "line": 1, "columns": [1, 5]}
    >>> rounds_of([{"id": i, "name": name, "where": line} for i, name in enumerate(["mul", "sin", "mul", "sin"])])
    {0: 1, 1: 1, 2: 2, 3: 2}
    """
    rounds, seen, now = {}, set(), 1
    for op in ops:
        mark = (
            *user_formula.line_of(op),
            *(op.get("where") or {}).get("columns", ()),
            op["name"],
            *op.get("module", ()),
        )
        if mark in seen:
            now, seen = now + 1, set()
        seen.add(mark)
        rounds[op["id"]] = now
    return rounds


def boxes(graph: Graph, kind: str, key: Key) -> Iterator[Box]:
    """The operations in runs with the same key."""
    for number, (mark, run) in enumerate(groupby(graph.ops, key), 1):
        ops = list(run)
        where = ops[0].get("where") or {}
        yield Box(kind, _title(kind, mark, number, where), ops)


def _title(kind: str, mark: tuple, number: int, where: dict) -> str:
    if kind == "round":
        return f"round {number}"
    if kind == "line":
        return f"{text.file_name(where.get('file'))}:{where.get('line', '?')}"
    return str(mark[-1] or text.file_name(where.get("file")) or "operations")


def merged(runs: list[Box], together: int) -> list[Box]:
    """So many neighbouring boxes in one."""
    groups = [runs[i : i + together] for i in range(0, len(runs), together)]
    return [Box(group[0].kind, _span(group), [op for box in group for op in box.ops]) for group in groups]


def _span(group: list[Box]) -> str:
    """What boxes together are called.

    >>> _span([Box("round", f"round {i}", []) for i in (3, 4, 5)]), _span([Box("line", "a.py:1", [])])
    ('rounds 3 to 5', 'a.py:1')
    """
    first, last = group[0].name, group[-1].name
    if first == last:
        return first
    return f"rounds {first.split()[-1]} to {last.split()[-1]}" if group[0].kind == "round" else f"{first} to {last}"


def folded(graph: Graph, runs: Iterator[Box] | list[Box]) -> Graph:
    """The graph with one node for each box; a box of one operation is that operation."""
    runs = list(runs)
    home = {op["id"]: i for i, box in enumerate(runs) for op in box.ops}
    readers: dict[int, set[int]] = defaultdict(set)
    for op in graph.ops:
        for value in op["inputs"]:
            if not isinstance(value, dict):
                readers[value].add(home[op["id"]])
    for value in graph.outputs:
        readers[value].add(-1)
    ops = [
        {**box.ops[0], "edges": graph.flows[box.ops[0]["id"]]} if len(box.ops) == 1 else _box(graph, box, i, readers)
        for i, box in enumerate(runs)
    ]
    ops += [op for op in graph.record["ops"] if op["phase"] == "update"]
    gradients = {str(value): gradient for value, gradient in graph.gradients.items()}
    return Graph({**graph.record, "ops": ops, "gradients": gradients}, graph.names, graph.view)


def _box(graph: Graph, box: Box, place: int, readers: dict[int, set[int]]) -> dict:
    """The record's entry for a box: what goes in and out, what it keeps, and what flows back out of it."""
    made = {value for op in box.ops for value in op["outputs"]}
    read = dict.fromkeys(v for op in box.ops for v in op["inputs"] if not isinstance(v, dict) and v not in made)
    inner = [v for v in read if readers[v] == {place} and graph.kind(v) in ("parameter", "constant")]
    inputs = [v for v in read if v not in set(inner)]
    outputs = [v for op in box.ops for v in op["outputs"] if readers[v] - {place}]
    seen = {*inputs, *outputs}
    tangents = {v: t for op in box.ops for v, t in op.get("tangents", {}).items() if int(v) in seen}
    saved = {entry["value"]: entry for op in box.ops for entry in op.get("saved", ())}
    first, last = box.ops[0], box.ops[-1]
    return {
        **first,
        "name": box.name,
        "formula": "",
        "inputs": inputs,
        "outputs": outputs or last["outputs"],
        "inplace": False,
        "function": None,
        "saved": list(saved.values()),
        "edges": _flows(graph, box, inputs),
        "tangents": tangents,
        "folded": {
            "kind": box.kind,
            "ops": [op["id"] for op in box.ops],
            "lines": lines_of(box.ops),
            "names": dict(Counter(op.get("function") or op["name"] for op in box.ops).most_common()),
            "parameters": sum(graph.kind(v) == "parameter" for v in inner),
            "elements": sum(graph.elements(v) for v in inner if graph.kind(v) == "parameter"),
        },
    }


def lines_of(ops: list[dict]) -> list[int]:
    """The first and the last line that operations stand on, if they stand in one file."""
    places = [user_formula.line_of(op) for op in ops]
    numbers = [line for file, line in places if file and file == places[0][0]]
    return [min(numbers), max(numbers)] if len(numbers) == len(places) else []


def _flows(graph: Graph, box: Box, inputs: list[int]) -> list[dict]:
    """What goes back out of a box to each of its inputs; where that is a sum, the gradient if nothing else adds to it."""
    found: dict[int, list[dict]] = defaultdict(list)
    for op in box.ops:
        for flow in graph.flows[op["id"]]:
            found[flow["input"]].append(flow)
    flows = []
    for value in inputs:
        parts = found.get(value, [])
        if parts:
            whole = graph.gradients.get(value) if len(parts) == len(graph.back[value]) else None
            gives = parts[0]["gives"] if len(parts) == 1 else whole
            partial = "" if len(parts) == 1 else f"{len(parts)} contributions"
            flows.append({"input": value, "partial": partial, "upstream": None, "gives": gives})
    return flows
