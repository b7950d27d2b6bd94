"""Differences between a learner's graph and the expected one: extra or missing operations and wrong numbers, drawn as notes.

Both run with the incoming gradients, or tangents, that the check used, so a drawing has the numbers of its message.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import minigrad
from minigrad import Tensor
from minigrad.record.build import numbered
from viz import Drawing
from viz.graph.record_diff import Change, compare, same
from viz.text import contents
from viz.view import passes_of

from .incoming import arguments_of, called, copies, names_of

CHECKS = "exercises", "bank"  # folders whose lines are not the learner's


@dataclass
class Difference:
    """Records of two functions called with the same arguments, and the changes from the expected one to the learner's."""

    yours: Ran
    expected: Ran
    changes: list[Change]

    @classmethod
    def between(cls, answer: Callable, expected: Callable, args: tuple, tangents: tuple = ()) -> Difference:
        """Run and compare both, with the backward pass if an argument requires grad, or the jvp pass if there are tangents."""
        yours, wanted = Ran.of(answer, args, tangents), Ran.of(expected, args, tangents)
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
        shown, notes = ("", self.steps()) if graph else self.ends()
        if not graph and self.has_same_steps():
            notes = self.steps(shown)
        missing = [change.title for change in self.changes if graph and change.kind == "removed"]
        if missing:
            notes.insert(0, (forward[-1], f"missing in this graph: {', '.join(missing)}"))
        notes += self.yours.unread() if shown == "backward" else []
        for entry, words in notes:
            entry["note"] = f"{entry['note']}; {words}" if "note" in entry else f"✗ {words}"
        known = passes_of(record)[0]
        return Drawing(record, (shown,) if shown in known else known)

    def line(self) -> str:
        """Return the learner's line that computes the first wrong result or gradient, or ""."""
        for entry, _ in self.ends()[1]:
            if code := ((entry.get("where") or {}).get("code") or "").strip():
                return code.splitlines()[0]
        return ""

    def has_same_steps(self) -> bool:
        """Return True if both graphs have the same operations, none of them a custom Function."""
        functions = any(op["function"] for op in self.yours.forward)
        return not functions and all(change.kind == "changed" for change in self.changes)

    def steps(self, shown: str = "") -> list[tuple[dict, str]]:
        """Return each operation of the learner's graph that differs, with a note; of forward alone, if that is `shown`."""
        ops = {op["id"]: op for op in self.yours.record["ops"]}
        notes = [(ops[change.after], _described(change, shown)) for change in self.changes if change.after is not None]
        return [(op, words) for op, words in notes if words]

    def ends(self) -> tuple[str, list[tuple[dict, str]]]:
        """Return the pass with the first mistake, and notes on its wrong results, gradients or tangents.

        A note is at the operation that computes the number, in a custom Function the one inside its method, or else at the
        gradient.
        """
        yours, expected = self.yours, self.expected
        pairs = {
            "forward": zip(yours.results(), expected.results()),
            "backward": zip(yours.gradients(), expected.gradients()),
            "jvp": zip(yours.tangents(), expected.tangents()),
        }
        for name, found in pairs.items():
            notes = [
                (at, f"expected {contents(wanted)}")
                for (at, given), (_, wanted) in found
                if at and given and wanted and not same(given["summary"], wanted["summary"])
            ]
            if notes:
                return name, notes
        return "", []


@dataclass
class Ran:
    """The record of a call of `f`, and the numbers of its arguments among the record's values."""

    record: dict
    arguments: list[int | None]
    f: Callable

    @classmethod
    def of(cls, f: Callable, args: tuple, tangents: tuple = ()) -> Ran:
        """Run a function, and its backward pass if an argument requires grad, or the jvp pass for the tangents."""
        names = arguments_of(f, len(args))

        def run(*args: Any) -> Any:
            return f(*args) if tangents else called(f, args).results

        if all(map(str.isidentifier, names)):
            run.__signature__ = inspect.Signature([  # type: ignore[attr-defined]
                inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names
            ])  # fmt: skip
        backward = any(getattr(a, "requires_grad", False) for a in args)
        passes = ("forward", *["backward"] * backward, *["jvp"] * bool(tangents))
        moving = dict(zip(names, tangents)) or None
        rec = minigrad.record(run, *copies(args), passes=passes, name="yours", inside=True, tangent=moving)
        _, number = numbered(rec)
        tensors = sum(isinstance(a, Tensor) for a in args)  # the record notes them first, in order
        rec.file = ""
        record = rec.to_dict()
        for op in record["ops"]:
            path = Path((op["where"] or {}).get("file") or "")
            if path.parent.name in CHECKS or path.stem in ("difference", "incoming"):
                op["where"] = None
        return cls(record, [number.new.get(i) for i in range(tensors)], f)

    @property
    def forward(self) -> list[dict]:
        """The operations of the forward pass."""
        return [op for op in self.record["ops"] if op["phase"] == "forward"]

    def results(self) -> Iterator[tuple[dict | None, dict]]:
        """Yield the function's results, each after the operation that computed it."""
        made = {o: op for op in self.forward for o in op["outputs"]}
        for o in self.record["outputs"]:
            yield self.inside(made.get(o), o, "forward") or made.get(o), self.record["values"][o]

    def gradients(self) -> Iterator[tuple[dict | None, dict | None]]:
        """Yield the gradient of each tensor argument, after the operation in a Function that computed it, or itself."""
        for value in self.arguments:
            found = self.record["gradients"].get(str(value))
            gradient = None if found is None else self.record["values"][found]
            yield self.inside(*self.computed(found), "backward", "vjp") or gradient, gradient

    def computed(self, gradient: int | None) -> tuple[dict | None, int | None]:
        """Return the operation whose backward computes a gradient, and its value there; not one that passes it on, as x * 1."""
        values = self.record["values"]
        found = [(op, e) for op in self.forward for e in op["edges"] if e["gives"] == gradient is not None]
        for op, edge in found:
            before = edge["upstreams"][0]
            if len(edge["upstreams"]) > 1 or op["function"] or before in (None, gradient):
                continue
            if same(values[before]["summary"], values[gradient]["summary"]):
                return self.computed(before)
        return next((op for op, _ in found if op["function"]), None), gradient

    def tangents(self) -> Iterator[tuple[dict | None, dict | None]]:
        """Yield the tangent of each result, after the operation that computed it."""
        for op in self.forward:
            for o in op["outputs"]:
                if o in self.record["outputs"] and (found := op["tangents"].get(str(o))) is not None:
                    yield self.inside(op, found, "jvp") or op, self.record["values"][found]

    def unread(self) -> list[tuple[dict, str]]:
        """Return notes on custom Functions whose backward does not read an incoming gradient, which no card shows then."""
        notes = []
        for op in self.forward:
            calls = [ran for ran in op.get("inside", ()) if ran["method"] in ("backward", "vjp") and op["edges"]]
            for ran in calls[-1:]:
                arrived = zip(names_of(self.f, len(ran["inputs"])), ran["inputs"], op["edges"][0]["upstreams"])
                values = [(name, self.record["values"][at]) for name, inner, at in arrived if inner is None is not at]
                notes += [(op, f"{name}, {contents(value)}, is not used") for name, value in values]
        return notes

    @staticmethod
    def inside(op: dict | None, value: int | None, *methods: str) -> dict | None:
        """Return the operation in a custom Function's method that computes a value; None if there is none."""
        for ran in (op or {}).get("inside", ()):
            known = {int(inner) for inner, outer in ran["same"].items() if outer == value}
            found = [inner for inner in ran["ops"] if known & set(inner["outputs"])]
            if ran["method"] in methods and found:
                return found[-1]
        return None


def _described(change: Change, shown: str = "") -> str:
    """Describe the mistake in an operation; the lines of a change read `name: expected → given`."""
    if change.kind != "changed":
        return "is missing" if change.kind == "removed" else "is not expected"
    parts = [re.fullmatch(r"(.*?): (.*) → (.*)", line) for line in change.lines]
    told = [part for part in parts if part and not (shown == "forward" and part[1].startswith("gradient of "))]
    return "; ".join(f"{part[1]} is {part[3]}, expected {part[2]}" for part in told)


def _bare(record: dict) -> dict:
    """Remove all that may differ between right answers: lines, formulas, names of values and of custom Functions."""
    ops: list[dict[str, Any]] = [{**op, "where": None, "formula": ""} for op in record["ops"]]
    ops = [{**op, "name": "Function", "function": "Function"} if op["function"] else op for op in ops]
    values = [
        {**value, "name": value["name"] if value["kind"] in ("parameter", "input") else ""}
        for value in record["values"]
    ]
    return {**record, "ops": ops, "values": values}
