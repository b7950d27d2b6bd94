"""The record as JSON holds it after --show, --depth and --max-nodes: the same schema, with less in it."""

from __future__ import annotations

from .drawn_graph import SHOW, Graph

FLOWS = ("gradient", "tangent")


def document(record: dict, whole: Graph, graph: Graph) -> dict:
    """The record of a graph; where that is folded, an entry with `folded` stands for the operations of each box."""
    if graph is not whole:
        record = {**record, "ops": graph.record["ops"]}
    hidden = frozenset(SHOW) - graph.view.show
    if not hidden:
        return record
    values = [_value(value, hidden) for value in record["values"]]
    ops = [_op(op, hidden) for op in record["ops"]]
    gradients = {} if "grads" in hidden else record["gradients"]
    return {**record, "values": values, "ops": ops, "gradients": gradients}


def _value(value: dict, hidden: frozenset[str]) -> dict:
    """A value without its numbers, or without shape, dtype and bytes."""
    if ("grads" if value["kind"] in FLOWS else "values") in hidden:
        value = {**value, "summary": {}}
    return {**value, "shape": [], "dtype": "", "bytes": 0} if "shapes" in hidden else value


def _op(op: dict, hidden: frozenset[str]) -> dict:
    """An operation without what it keeps, what flows through it, or its line."""
    less: dict = {"saved": []} if "saved" in hidden else {}
    less |= {"edges": [], "tangents": {}} if "grads" in hidden else {}
    less |= {"where": {"file": "", "line": 0, "code": "", "function": "", "columns": []}} if "lines" in hidden else {}
    return {**op, **less}
