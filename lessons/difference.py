"""Where a learner's graph is not the expected one: operations too many, missing, or with other numbers, drawn in the former."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import minigrad
from minigrad import Tensor
from viz import Drawing
from viz.compare import Change, compare
from viz.drawing import passes_of


@dataclass
class Difference:
    """Two records of functions called with the same arguments, and what changed from the expected one to the learner's."""

    yours: dict
    changes: list[Change]

    @classmethod
    def between(cls, answer: Callable, expected: Callable, args: tuple) -> Difference:
        """Run both, with their backward passes as far as they have one, and compare."""
        yours, wanted = _recorded(answer, args), _recorded(expected, args)
        return cls(yours, compare(_bare(wanted), _bare(yours)))

    def words(self) -> str:
        """The first changes in words."""
        said = [f"{change.title} {_told(change)}" for change in self.changes[:3]]
        more = [f"and {len(self.changes) - 3} more"] if len(self.changes) > 3 else []
        return "; ".join([*said, *more])

    def drawing(self) -> Drawing | None:
        """The learner's graph, with a note at each operation that differs; None where nothing was recorded."""
        forward = [op for op in self.yours["ops"] if op["phase"] == "forward"]
        if not forward:
            return None
        missing = [change.title for change in self.changes if change.kind == "removed"]
        for op in forward:
            notes = [_told(change) for change in self.changes if change.after == op["id"]]
            if missing and op is forward[-1]:
                notes.append(f"missing in this graph: {', '.join(missing)}")
            if notes:
                op["note"] = "✗ " + "; ".join(notes)
        return Drawing(self.yours, passes_of(self.yours)[0])


def _told(change: Change) -> str:
    """What is wrong with an operation; a change's lines say `name: expected → given`."""
    if change.kind != "changed":
        return "is missing" if change.kind == "removed" else "is not expected"
    parts = [re.fullmatch(r"(.*?): (.*) → (.*)", line) for line in change.lines]
    return "; ".join(f"{part[1]} is {part[3]}, expected {part[2]}" for part in parts if part)


def copies(args: tuple) -> tuple:
    """Arguments with tensors of their own, so that a call that writes to them harms no other."""
    return tuple(a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a for a in args)


def _recorded(f: Callable, args: tuple) -> dict:
    """The record of a call, with a backward pass where an argument wants a gradient."""
    passes = ("forward", "backward") if any(getattr(a, "requires_grad", False) for a in args) else ("forward",)
    document = minigrad.record(f, *copies(args), passes=passes, name="yours", inside=True).to_dict()
    return {**document, "program": {**document["program"], "file": ""}}


def _bare(record: dict) -> dict:
    """A record without what may differ between right answers: lines, formulas in the learner's names, names of values."""
    ops: list[dict[str, Any]] = [{**op, "where": None, "formula": ""} for op in record["ops"]]
    values = [
        {**value, "name": value["name"] if value["kind"] in ("parameter", "input") else ""}
        for value in record["values"]
    ]
    return {**record, "ops": ops, "values": values}
