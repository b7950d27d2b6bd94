"""Whole records computed again in a page, with the recorded numbers or with others."""

from typing import Any, NamedTuple

import numpy as np

from minigrad.record.schema import jsonable
from tests.formulas.evaluated import read
from viz.recompute.record import live_record

from .node import received, sent, whole


class Again(NamedTuple):
    """A run of a page: numbers by the ids of the record's values, and the reasons why others do not follow."""

    numbers: dict[int, np.ndarray]
    frozen: dict[int, str]
    behind: dict[int, str]
    lost: dict[str, str]
    otherwise: list[dict]


def computed(live: Any, changes: Any = (), page: Any = None, **options: Any) -> Again:
    """Return what a page computes from a live record with other numbers for some values; by default it has everything."""
    question = {"record": live, "changes": {i: sent(a) for i, a in dict(changes).items()}, "options": options}
    found = (page or whole()).ask(question)
    listed = range(live["size"])
    itself = {str(i): i for i in listed}
    gives = {f"{op['id']}:{k}": edge["gives"] for op in live["ops"] for k, edge in enumerate(op["edges"])}
    where = {"contributions": gives, "values": itself, "gradients": live["gradients"], "tangents": live["tangents"]}
    numbers = {where[kind][i]: received(t[0]) for kind in where for i, t in found[kind].items()}
    frozen, behind = [{int(i): text for i, text in found[name].items()} for name in ("frozen", "behind")]
    return Again(numbers, frozen, behind, found["lost"], found["otherwise"])


def recorded(record: Any) -> tuple[Any, dict, dict[int, np.ndarray]]:
    """Return the live record of a record with contents, its document, and the arrays of its values."""
    _, arrays = read(record)
    document = record.to_dict()
    listed = {v["id"]: v["summary"].get("values") for v in document["values"]}
    arrays = {i: a for i, a in arrays.items() if listed[i] is None or jsonable(a.tolist()) == listed[i]}
    return live_record(document), document, arrays  # without values that only methods of Functions know


def leaves(live: Any, document: Any) -> set[int]:
    """Return the ids of the values that the program is given and no step of the page computes."""
    made = {o for step in live["steps"] for o in step["outputs"]}
    return {v["id"] for v in document["values"] if v["kind"] in ("parameter", "input", "constant")} - made
