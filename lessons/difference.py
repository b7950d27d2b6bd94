"""Differences between a learner's graph and the expected one: extra or missing operations and wrong numbers, drawn as notes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import minigrad
from minigrad import Tensor
from minigrad.record.build import numbered
from viz import Drawing
from viz.record_diff import Change, compare, same
from viz.text import contents
from viz.view import passes_of


@dataclass
class Difference:
    """Records of two functions called with the same arguments, and the changes from the expected one to the learner's."""

    yours: Ran
    expected: Ran
    changes: list[Change]

    @classmethod
    def between(cls, answer: Callable, expected: Callable, args: tuple) -> Difference:
        """Run and compare both, with the backward pass if an argument requires grad."""
        yours, wanted = Ran.of(answer, args), Ran.of(expected, args)
        return cls(yours, wanted, compare(_bare(wanted.record), _bare(yours.record)))

    def words(self) -> str:
        """Describe the first three changes, and count the others."""
        texts = [f"{change.title} {_described(change)}" for change in self.changes[:3]]
        more = [f"and {len(self.changes) - 3} more"] if len(self.changes) > 3 else []
        return "; ".join([*texts, *more])

    def drawing(self, graph: bool = False) -> Drawing | None:
        """Return the learner's graph with notes at the differences, or None if it has no operation.

        Compare single steps if both graphs have the same ones, or must have (`graph`).  Otherwise a right answer may take
        other steps: compare only results and gradients.
        """
        record = self.yours.record
        forward = [op for op in record["ops"] if op["phase"] == "forward"]
        if not forward:
            return None
        notes = self.steps() if graph or all(change.kind == "changed" for change in self.changes) else self.ends()
        missing = [change.title for change in self.changes if graph and change.kind == "removed"]
        if missing:
            notes.append((forward[-1], f"missing in this graph: {', '.join(missing)}"))
        for entry, words in notes:
            entry["note"] = f"{entry['note']}; {words}" if "note" in entry else f"✗ {words}"
        return Drawing(record, passes_of(record)[0])

    def steps(self) -> list[tuple[dict, str]]:
        """Return each operation of the learner's graph that differs, with a note."""
        ops = {op["id"]: op for op in self.yours.record["ops"]}
        return [(ops[change.after], _described(change)) for change in self.changes if change.after is not None]

    def ends(self) -> list[tuple[dict, str]]:
        """Return notes on wrong results, at the operations that return them, and on wrong gradients of arguments."""
        notes = []
        for (op, given), (_, wanted) in zip(self.yours.results(), self.expected.results()):
            if op is not None and not same(given["summary"], wanted["summary"]):
                notes.append((op, f"expected {contents(wanted)}"))
        for given, wanted in zip(self.yours.gradients(), self.expected.gradients()):
            if given and wanted and not same(given["summary"], wanted["summary"]):
                notes.append((given, f"expected {contents(wanted)}"))
        return notes


@dataclass
class Ran:
    """The record of a call, and the numbers of its arguments among the record's values."""

    record: dict
    arguments: list[int | None]

    @classmethod
    def of(cls, f: Callable, args: tuple) -> Ran:
        """Run a function, and its backward pass if an argument requires grad."""
        passes = ("forward", "backward") if any(getattr(a, "requires_grad", False) for a in args) else ("forward",)
        rec = minigrad.record(f, *copies(args), passes=passes, name="yours", inside=True)
        _, number = numbered(rec)
        tensors = sum(isinstance(a, Tensor) for a in args)  # the record notes them first, in order
        rec.file = ""
        return cls(rec.to_dict(), [number.new.get(i) for i in range(tensors)])

    def results(self) -> list[tuple[dict | None, dict]]:
        """Return the function's results, each after the operation that computed it."""
        made = {o: op for op in self.record["ops"] if op["phase"] == "forward" for o in op["outputs"]}
        return [(made.get(o), self.record["values"][o]) for o in self.record["outputs"]]

    def gradients(self) -> list[dict | None]:
        """Return the gradient of each tensor argument."""
        found = [self.record["gradients"].get(str(value)) for value in self.arguments]
        return [None if gradient is None else self.record["values"][gradient] for gradient in found]


def _described(change: Change) -> str:
    """Describe the mistake in an operation; the lines of a change read `name: expected → given`."""
    if change.kind != "changed":
        return "is missing" if change.kind == "removed" else "is not expected"
    parts = [re.fullmatch(r"(.*?): (.*) → (.*)", line) for line in change.lines]
    return "; ".join(f"{part[1]} is {part[3]}, expected {part[2]}" for part in parts if part)


def copies(args: tuple) -> tuple:
    """Copy the tensors among arguments, so that a call that modifies them does not affect another."""
    return tuple(a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a for a in args)


def _bare(record: dict) -> dict:
    """Remove all that may differ between right answers: lines, formulas, names of values and of custom Functions."""
    ops: list[dict[str, Any]] = [{**op, "where": None, "formula": ""} for op in record["ops"]]
    ops = [{**op, "name": "Function", "function": "Function"} if op["function"] else op for op in ops]
    values = [
        {**value, "name": value["name"] if value["kind"] in ("parameter", "input") else ""}
        for value in record["values"]
    ]
    return {**record, "ops": ops, "values": values}
