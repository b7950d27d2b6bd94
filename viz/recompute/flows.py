"""The gradients of a record as steps: one for each edge, and sums of what arrives at a value in each backward pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .corners import everywhere
from .scopes import Scope, numbers, words

if TYPE_CHECKING:
    from .steps import Plan

KEPT = "an operation computes it for its backward"
UNKNOWN = "the record does not say how this number follows"


class Flows:
    """The gradients of a scope: a step for each edge, and sums of what arrives at a value in each backward pass."""

    def __init__(self, plan: Plan, scope: Scope):
        self.plan, self.scope = plan, scope
        # (value, pass): ids, and recorded ones
        self.arriving: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        self.at: dict[tuple[int, int], int] = {}  # (value, pass): the gradient
        self.first: set[int | None] = set()  # those from which a pass starts
        self.begins = self.beginnings()
        self.saved = {one["value"] for op in scope.ops for one in op["saved"]}
        self.known_as: dict[int, int | None] = {}  # the recorded gradients that have other ids here
        self.ran: dict[int, Scope] = {}  # the calls of backward
        passes = plan.record.get("backwards", ())
        self.own = {(int(v), one["run"]): g for one in passes for v, g in one["gradients"].items()}
        self.edges = list(self.in_order())
        self.runs: dict[int, set[int]] = defaultdict(set)  # by value, the passes that give it a gradient
        for run, op, k in self.edges:
            edge = op["edges"][k]
            part = plan.new()
            self.known_as[part] = edge["gives"]
            self.arriving[edge["input"], run].append((part, edge["gives"]))
            self.runs[edge["input"]].add(run)

    def beginnings(self) -> set[Any]:
        """Return what the first operations of the backward passes read."""
        first = {op["run"]: op["inputs"] for op in reversed(self.scope.ops) if op["phase"] == "backward"}
        return {i for inputs in first.values() for i in inputs if isinstance(i, int)}

    def in_order(self) -> Iterator[tuple[int, dict, int]]:
        """Yield the edges in the order of the backward passes, with the numbers of these."""
        left = {(op["id"], k) for op in self.scope.ops for k in range(len(op["edges"]))}
        ops = {op["id"]: op for op in self.scope.ops}
        for back in self.scope.ops:
            if back["phase"] != "backward" or back["of"] is None:
                continue
            of, upstream = ops[back["of"]], {i for i in back["inputs"] if isinstance(i, int)}
            for k, edge in enumerate(of["edges"]):
                arrives = {u for u in edge["upstreams"] if u is not None}
                if (of["id"], k) in left and edge["gives"] in back["outputs"] and arrives <= upstream:
                    left.remove((of["id"], k))
                    yield back["run"], of, k
        for i, k in sorted(left, reverse=True):
            yield 0, ops[i], k

    def add(self) -> None:
        """Add all steps of the backward passes."""
        taken: dict[tuple[int, int], int] = defaultdict(int)
        for run, op, k in self.edges:
            key = op["edges"][k]["input"], run
            part, gives = self.arriving[key][taken[key]]
            taken[key] += 1
            self.edge(run, op, k, part)
        for value, total in self.plan.record["gradients"].items():
            self.total(int(value), total)
        for one in self.plan.record.get("grads", ()):
            self.accumulated(one["before"], one["gives"], one["after"])

    def accumulated(self, before: int | None, gives: int, after: int) -> None:
        """Add what the `.grad` of a leaf holds after a pass has added to it."""
        if before is None or after in self.plan.made:
            return
        self.plan.frozen([i for i in (before, gives) if i not in self.first], UNKNOWN, back=True)
        self.plan.step([after], "before + gives", {"before": before, "gives": gives}, back=True)

    def edge(self, run: int, op: dict, k: int, part: int) -> None:
        """Add the step of an edge."""
        plan, edge = self.plan, op["edges"][k]
        more: dict = {"op": op["id"], "edge": k, "back": True, "is": edge["gives"]}
        named = {self.scope.by_label.get(word) for one in op["edges"] for word in words(one["formula"])}
        unnamed = {one["value"] for one in op["saved"]} - named
        g = [self.arrived(op, j, u, run) for j, u in enumerate(edge["upstreams"])]
        outputs = self.also(part, edge["gives"])
        if not op["function"] or op["phase"] == "backward":
            if unnamed:
                more["reads"] = sorted(unnamed)
            formula, reason = everywhere(op, edge["formula"])
            if reason or not formula:
                return plan.frozen(outputs, reason or "the record has no formula for this edge", **more)
            return plan.step(outputs, formula, {**self.scope.names, "g": g if len(g) > 1 else g[0]}, **more)
        flows = {u: at for u, at in zip(edge["upstreams"], g) if u is not None}
        more["named"] = {word: flows.get(i, i) for word, i in (edge["names"] or {}).items()}
        found = self.backward(op, edge, g, run)
        if found is None:
            return plan.frozen(outputs, f"{op['function']}.backward is Python that the record does not follow", **more)
        return plan.step(outputs, "gradient", {"gradient": found}, **more)

    def backward(self, op: dict, edge: dict, g: list[int], run: int) -> int | None:
        """Return the id of what a custom Function's backward computes for an edge; its steps are added once for each pass."""
        for ran in reversed(op["inside"]):
            made = [o for o in ran["outputs"] if ran["same"].get(str(o)) == edge["gives"]]
            if ran["method"] not in ("backward", "vjp") or not made:
                continue
            if id(ran) not in self.ran:
                inner = self.ran[id(ran)] = Scope.of_method(op, ran)
                given = g if len(ran["inputs"]) == len(g) else []
                self.plan.bind(self.scope, inner, ran, given, op)
                self.plan.program(inner, {"op": op["id"], "back": True})
            return self.ran[id(ran)].ids[made[0]]
        return None

    def arrived(self, op: dict, k: int, upstream: int | None, run: int) -> int:
        """Return the gradient of an operation's k-th output in a pass; zeros if there is none."""
        plan, output = self.plan, op["outputs"][min(k, len(op["outputs"]) - 1)]
        if (output, run) in self.at:
            return self.at[output, run]
        parts = self.arriving.get((output, run), [])
        if upstream is None and not parts:
            made = plan.new()
            plan.step([made], "zeros_like(result)", {"result": self.scope.ids[output]}, op=op["id"], back=True)
        else:
            made = self.sum(output, parts, upstream)
        self.at[output, run] = made
        self.runs[output].add(run)
        return made

    def sum(self, value: int, parts: list[tuple[int, int]], recorded: int | None) -> int:
        """Return the sum of what arrives at a value; at a result of the program, also the gradient that starts backward."""
        if not parts:
            return self.start(value, recorded)
        ids = [part for part, _ in parts]
        if value in self.scope.outputs and (seed := self.seed(value, parts, recorded)) is not None:
            ids.append(seed)
            self.plan.seeds[str(value)] = seed
        return ids[0] if len(ids) == 1 and recorded in (None, parts[0][1]) else self.added(ids, recorded)

    def added(self, ids: list[int], recorded: int | None) -> int:
        """Return the id of a sum."""
        made, names = self.plan.new(), {f"part{n}": i for n, i in enumerate(ids)}
        self.known_as[made] = recorded
        self.plan.step(self.also(made, recorded), " + ".join(names), names, back=True, **{"is": recorded})
        return made

    def start(self, value: int, recorded: int | None) -> int:
        """Return a gradient that no edge gives: a pass begins with it, or the record does not say whence it comes."""
        assert recorded is not None
        self.first.add(recorded)
        self.known_as[recorded] = recorded
        if value not in self.scope.outputs and recorded not in self.begins:
            saved = value not in self.scope.makers and value in self.saved
            self.plan.frozen([recorded], KEPT if saved else UNKNOWN, back=True)
        return recorded

    def also(self, made: int, recorded: int | None) -> list[int]:
        """Return the ids of a gradient: its own, and the recorded one if that has no step yet and starts no pass."""
        return [made] if recorded is None or recorded in self.plan.made | self.first else [made, recorded]

    def seed(self, value: int, parts: list[tuple[int, int]], recorded: int | None) -> int | None:
        """Return the gradient from which backward starts at a value that the program also uses; None if it does not."""
        record, about = self.plan.record, self.scope.values[value]
        whole, *others = [None if i is None else numbers(record, i) for i in (recorded, *(gives for _, gives in parts))]
        known = [a for a in others if a is not None]
        if whole is None or len(known) < len(others):
            return self.plan.constant(about, np.ones(about["shape"]))
        rest = whole - np.sum(known, axis=0)
        is_more = np.abs(rest).max(initial=0) > 1e-6 * np.abs(whole).max(initial=1)
        return self.plan.constant(about, rest) if is_more else None

    def total(self, value: int, recorded: int) -> None:
        """Add the complete gradient of a value, over all passes."""
        runs = sorted(self.runs[value])
        if not runs:
            self.plan.totals[str(value)] = self.start(value, recorded)
            return
        if len(runs) == 1 and (value, runs[0]) not in self.at:
            self.plan.totals[str(value)] = self.sum(value, self.arriving[value, runs[0]], recorded)
            return
        parts = []
        for run in runs:
            if (value, run) not in self.at:
                self.at[value, run] = self.sum(value, self.arriving[value, run], self.own.get((value, run)))
            parts.append(self.at[value, run])
        alone = len(parts) == 1 and self.known_as.get(parts[0]) == recorded
        self.plan.totals[str(value)] = parts[0] if alone else self.added(parts, recorded)
