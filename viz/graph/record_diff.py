"""The differences between two records: added and removed operations, and changed results of the others.

Operations are matched in program order, by name and line; ids may differ.
"""

import math
from dataclasses import dataclass
from difflib import SequenceMatcher

from .. import text
from .drawn_graph import Graph


@dataclass
class Change:
    """One operation that differs: its ids in both records, its title, and the differences."""

    kind: str  # added | removed | changed
    before: int | None  # id in the first record
    after: int | None
    title: str
    lines: list[str]


def compare(before: dict, after: dict, tolerance: float = 1e-6) -> list[Change]:
    """Return the changes from one record to another; numbers within the relative tolerance are equal.

    >>> compare({"program": {}, "values": [], "ops": []}, {"program": {}, "values": [], "ops": []})
    []
    """
    old, new = Graph(before), Graph(after)
    changes = []
    for kind, i1, i2, j1, j2 in _matched([_mark(op) for op in old.ops], [_mark(op) for op in new.ops]):
        left, right = old.ops[i1:i2], new.ops[j1:j2]
        inner = [("equal", 0, len(left), 0, len(right))] if kind == "equal" else _by_name(left, right)
        for same, a1, a2, b1, b2 in inner:
            pairs = list(zip(left[a1:a2], right[b1:b2])) if same == "equal" else []
            for before_it, after_it in pairs:
                if lines := dict.fromkeys(_differences(old, new, before_it, after_it, tolerance)):
                    ids = before_it["id"], after_it["id"]
                    changes.append(Change("changed", *ids, _title(new, after_it), list(lines)))
            if not pairs:
                changes += [Change("removed", op["id"], None, _title(old, op), []) for op in left[a1:a2]]
                changes += [Change("added", None, op["id"], _title(new, op), []) for op in right[b1:b2]]
    return changes


def _matched(old: list[tuple], new: list[tuple]) -> list[tuple]:
    """Match two lists of marks, as difflib does; the common beginning and end are cut off first, for speed."""
    head = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    rest = min(len(old), len(new)) - head
    tail = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    middle = [marks[head : len(marks) - tail] for marks in (old, new)]
    inner = SequenceMatcher(None, *middle, autojunk=False).get_opcodes()
    shifted = [(kind, i1 + head, i2 + head, j1 + head, j2 + head) for kind, i1, i2, j1, j2 in inner]
    ends = ("equal", len(old) - tail, len(old), len(new) - tail, len(new))
    return [("equal", 0, head, 0, head), *shifted, ends]


def _mark(op: dict) -> tuple:
    where = op.get("where") or {}
    return op["name"], op.get("function"), (where.get("code") or "").strip()


def _by_name(old: list[dict], new: list[dict]) -> list[tuple]:
    """Match operations whose lines differ by their names alone."""
    names = [[op["name"] for op in ops] for ops in (old, new)]
    return SequenceMatcher(None, *names, autojunk=False).get_opcodes()


def _title(graph: Graph, op: dict) -> str:
    name = op.get("function") or op["name"]
    inputs = [str(i["const"]) if isinstance(i, dict) else text.shorten(graph.name(i), 16) for i in op["inputs"]]
    where = text.source(op.get("where"))
    return text.clean(f"{name}({text.shorten(', '.join(inputs), 60)})" + (f"   {where}" if where else ""))


def _differences(old: Graph, new: Graph, a: dict, b: dict, tolerance: float) -> list[str]:
    """List the differences between an operation and its earlier version."""
    lines = []
    if (a.get("where") or {}).get("code") != (b.get("where") or {}).get("code"):
        lines.append(f"line: {text.source(a.get('where'))} → {text.source(b.get('where'))}")
    if a.get("formula") != b.get("formula"):
        lines.append(f"formula: {text.clean(a.get('formula') or '')} → {text.clean(b.get('formula') or '')}")
    for x, y in zip(a["outputs"], b["outputs"]):
        name = text.shorten(new.name(y), 24)
        lines += _values(name, old.values[x], new.values[y], tolerance)
        lines += _values(f"gradient of {name}", old.gradient(x), new.gradient(y), tolerance)
        lines += _values(f"tangent of {name}", old.tangent(x), new.tangent(y), tolerance)
    for x, y in zip(a["inputs"], b["inputs"]):
        if isinstance(x, dict) or isinstance(y, dict):
            if x != y:
                lines.append(f"argument: {x.get('const') if isinstance(x, dict) else old.name(x)} → "
                             f"{y.get('const') if isinstance(y, dict) else new.name(y)}")  # fmt: skip
        elif old.values[x]["kind"] != "computed":
            name = text.shorten(new.name(y), 24)
            lines += _values(name, old.values[x], new.values[y], tolerance)
            lines += _values(f"gradient of {name}", old.gradient(x), new.gradient(y), tolerance)
    kept = [sum(graph.saved(op).values()) for graph, op in ((old, a), (new, b))]
    if kept[0] != kept[1]:
        lines.append(f"saved for backward: {text.size(kept[0])} → {text.size(kept[1])}")
    return lines


def _values(name: str, old: dict | None, new: dict | None, tolerance: float) -> list[str]:
    """Describe how a value changed: its shape and dtype, else its contents."""
    if old is None or new is None:
        return [] if old is new else [f"{name}: {_text(old)} → {_text(new)}"]
    types = [f"{value['dtype']} {text.shape(value['shape'])}" for value in (old, new)]
    if types[0] != types[1]:
        return [f"{name}: {types[0]} → {types[1]}"]
    return [] if same(old.get("summary"), new.get("summary"), tolerance) else [f"{name}: {_text(old)} → {_text(new)}"]


def _text(value: dict | None) -> str:
    return "none" if value is None else text.contents(value) or "not known"


def same(a, b, tolerance: float = 1e-6) -> bool:
    """Return True if two summaries, or parts of them, are equal within the tolerance."""
    if isinstance(a, dict) and isinstance(b, dict):
        seldom = {"grid", "-inf"}  # older records lack them
        shared = a.keys() & b.keys() - {"grid"}  # rounded: a small difference is no change
        return a.keys() - seldom == b.keys() - seldom and all(same(a[key], b[key], tolerance) for key in shared)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, tolerance) for x, y in zip(a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance * 1e-6) or (a != a and b != b)
    return a == b
