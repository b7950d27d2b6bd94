"""The steps in which a page computes a record again: all three passes, and the methods of custom Functions.

Values have the record's ids. What it does not list, such as a part of a gradient or a result within a method, has an id from
`len(record["values"])` on. A gradient is a separate value for each value and each backward pass, even if it is the same array
as another one: a page may change the formula of one edge.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from minigrad.record.labels import tangent
from minigrad.record.schema import CALLS

from ..graph.modules import in_order
from ..graph.trimmed_record import mentioned
from .corners import everywhere
from .draws import drawn
from .flows import KEPT, UNKNOWN, Flows
from .scopes import LEAVES, Scope, flat, words
from .writes import base_of, set_item, views_between

PROGRAM = ("forward", "update")


class Plan:
    """The steps of one record."""

    def __init__(self, record: dict):
        self.record = record
        self.mentioned = mentioned(record)
        self.steps: list[dict] = []
        self.constants: list[dict] = []  # the leaves that the record does not list
        self.free = len(record["values"])
        self.made: set[int] = set()
        self.within: dict[int, list[Scope]] = {}  # by the operation of a Function: its forward and setup_context
        self.inside: dict[str, dict[int, int]] = {}  # by operation and call of a method, the ids of the values there
        self.totals: dict[str, int] = {}
        self.reads: list[dict] = [read_at(read) for read in record.get("reads", ()) if read["how"] not in CALLS]
        self.seeds = {str(o): g for o in record["outputs"] if (g := record["gradients"].get(str(o))) is not None}
        values = {v["id"]: v for v in record["values"]}
        self.top = Scope(values, record["ops"], {i: i for i in values}, outputs=record["outputs"])
        self.tangents = {int(v): t for op in reversed(record["ops"]) for v, t in op["tangents"].items()}
        self.program(self.top)
        Flows(self, self.top).add()
        self.missing()

    # ------------------------------------------------------------------ writing steps
    def new(self) -> int:
        """Return a free id."""
        self.free += 1
        return self.free - 1

    def step(self, outputs: list[int], text: str, names: dict[str, Any], **more: Any) -> None:
        """Add a step that an expression gives."""
        names = {word: names[word] for word in sorted(words(text)) if word in names}
        self.steps.append({"outputs": outputs, "text": text, "names": names, **more})
        self.made.update(outputs)

    def frozen(self, outputs: Iterable[int], reason: str, **more: Any) -> None:
        """Add a step whose results keep their recorded numbers."""
        if outputs := [o for o in outputs if o not in self.made]:
            self.steps.append({"outputs": outputs, "reason": reason, **more})
            self.made.update(outputs)

    def constant(self, value: dict, array: Any = None) -> int:
        """Return the id of a leaf that the record does not list."""
        new = self.new()
        summary = value["summary"] if array is None else {"values": array.tolist()}
        self.constants.append({"id": new, "label": value["label"], "kind": "constant", "shape": value["shape"],
                               "dtype": value["dtype"], "summary": summary})  # fmt: skip
        return new

    # ------------------------------------------------------------------ the program
    def program(self, scope: Scope, more: dict | None = None) -> None:
        """Add the operations that ran in a scope, also in a backward that is differentiated; `more` belongs to each step."""
        for op in scope.ops:
            if op["phase"] in PROGRAM or op["phase"] == "backward" and op["call"]:
                self.operation(scope, op, {**places(op), **(more or {})})
                if scope is self.top:
                    self.pushes(op)

    def operation(self, scope: Scope, op: dict, more: dict) -> None:
        """Add the step that computes an operation's results, or several for a custom Function."""
        outputs, call = [scope.ids[o] for o in op["outputs"]], op["call"]
        if op["transfers"]:
            return self.frozen(outputs, f"{op['name']} receives numbers from other processes", **more)
        if op["name"] == "NumPy":
            return self.frozen(outputs, f"{scope.name or 'the program'} computes in NumPy", **more)
        if op["function"] and op["phase"] != "backward":
            return self.function(scope, op, more)
        if not call or "…" in call:
            return self.frozen(outputs, f"the record has no call of {op['name']} that a page can compute", **more)
        names = scope.names
        unnamed = scope.unnamed(op)
        if unnamed and (drawing := drawn(op, scope.values[unnamed[0]]["label"])):
            call, more["noise"] = drawing, scope.ids[unnamed[0]]
        elif op["name"] == "setitem":
            call = set_item(call)
        elif op["inplace"] and unnamed:
            return self.write_to_view(scope, op, more)
        if each := scope.examples(op):
            more["each"] = each
        self.step(outputs, call, names, **more)

    def write_to_view(self, scope: Scope, op: dict, more: dict) -> None:
        """Add a write to a view, whose result is the base after it."""
        outputs, base = [scope.ids[o] for o in op["outputs"]], base_of(scope, op)
        views = views_between(scope, op["inputs"][0], base)
        if views is None:
            return self.frozen(outputs, "a write to a view that a page does not follow", **more)
        at, written = self.new(), self.new()
        self.step([at], "positions(base)", {"base": scope.ids[base]}, **more)
        for view in views:  # the positions in the base instead of its elements
            (read,) = [scope.values[i]["label"] for i in view["inputs"] if isinstance(i, int)]
            within, at = at, self.new()
            self.step([at], view["call"], {read: within}, **more)
        self.step([written], op["call"], scope.names, **more)
        names = {"base": scope.ids[base], "at": at, "written": written}
        return self.step(outputs, "placed(base, at, written, False)", names, **more)

    def pushes(self, op: dict) -> None:
        """Add the tangents of an operation's results."""
        moving = self.tangent_words
        names = {word: self.tangents[v] for word, v in moving.items()} | self.top.names
        written = self.tangents.get(op["inputs"][0]) if op["inplace"] and isinstance(op["inputs"][0], int) else None
        rules = {push["output"]: push for push in op["pushes"]}
        for output in op["outputs"]:
            t = self.tangents.get(output)
            if t is None or t in self.made or t == written:
                continue
            push = rules.get(output)
            if push is None and self.top.values[output]["kind"] in LEAVES:
                continue  # a parameter made by operations without grad
            if push is None:
                self.derived_view(op, output, t)
            elif push["names"] is None and op["function"] or op["function"] and op["inside"]:
                self.function_push(op, output, t, push)
            elif push["formula"] != self.top.values[t]["label"]:  # else the program gives it
                formula, reason = everywhere(op, push["formula"])
                each = self.top.examples(op, moving)
                more = {**places(op), "moves": True, **({"each": each} if each else {})}
                self.frozen([t], reason, **more) if reason else self.step([t], formula, names, **more)

    def derived_view(self, op: dict, output: int, t: int) -> None:
        """Add the tangent of a view that the recorder reads again after a write to its base: the same view of a tangent."""
        inputs = [i for i in op["inputs"] if isinstance(i, int)]
        moved = self.tangents.get(inputs[0]) if op["name"] == "index" and len(inputs) == 1 else None
        if moved is None:
            return self.frozen([t], "the record has no formula for this tangent", op=op["id"])
        return self.step([t], op["call"], {self.top.values[inputs[0]]["label"]: moved}, op=op["id"], moves=True)

    @cached_property
    def tangent_words(self) -> dict[str, int]:
        """The names of tangents in the formulas of pushes, with the values to which they belong."""
        values = self.top.values
        taken = {v["label"] for v in values.values() if v["kind"] != "tangent"}
        return {tangent(values[v]["label"], taken): v for v in self.tangents}

    # ------------------------------------------------------------------ custom Functions
    def function(self, scope: Scope, op: dict, more: dict) -> None:
        """Add what a custom Function's forward and setup_context compute."""
        outputs = [scope.ids[o] for o in op["outputs"]]
        ran = [m for m in op["inside"] if m["method"] in ("forward", "setup_context")]
        given = scope.arguments(op)
        if not ran or given is None:
            return self.frozen(outputs, f"{op['function']}.forward is Python that the record does not show", **more)
        within = self.within[id(op)] = []
        for method in ran:
            inner = Scope.of_method(op, method)
            self.bind(scope, inner, method, given if method["method"] == "forward" else [], op)
            self.program(inner, more)
            within.append(inner)
            if method["method"] == "forward":
                self.results(scope, op, inner, method, more)
        return self.frozen(outputs, f"{op['function']}.forward gives a result that the record does not follow", **more)

    def results(self, scope: Scope, op: dict, inner: Scope, method: dict, more: dict) -> None:
        """Connect the results of a forward with the outputs of its operation."""
        same, made = method["same"], method["outputs"]
        whole = len(made) == len(op["outputs"])
        for k, output in enumerate(op["outputs"]):
            found = [made[k]] if whole else [o for o in made if same.get(str(o)) == output]
            target = scope.ids[output]
            if found and inner.ids.get(found[0]) not in (None, target) and target not in self.made:
                self.step([target], "result", {"result": inner.ids[found[0]]}, **more)

    def bind(self, scope: Scope, inner: Scope, method: dict, given: list, op: dict) -> None:
        """Give the values of a method their ids: arguments, tensors that it shares with the scope, constants, results."""
        for argument, value in zip(method["inputs"], given):
            if argument is not None and value is not None:
                inner.ids[argument] = value
        computed = {o for ran in method["ops"] for o in ran["outputs"]}
        taken = set(inner.ids.values())
        for i, value in inner.values.items():
            outer = scope.ids.get(method["same"].get(str(i), -1))
            if i in inner.ids:
                continue
            if i in computed:  # a result that the scope knows has its id there
                inner.ids[i] = self.new() if outer is None or outer in self.made or outer in taken else outer
            elif outer is not None and outer in self.made:
                inner.ids[i] = outer
            else:
                inner.ids[i] = self.leaf(inner, value, outer, op)
            taken.add(inner.ids[i])
        if scope is self.top:
            call = next(k for k, ran in enumerate(op["inside"]) if ran is method)
            self.inside[f"{op['id']}:{call}"] = inner.ids
        boxed = any(ran["name"] == "NumPy" for ran in method["ops"])  # then results are frozen
        for read in method.get("reads", ()):
            if not (boxed and read["how"] == "numpy"):
                more = {"op": op["id"], "method": method["method"]}
                self.reads.append({**read_at(read), "value": inner.ids[read["value"]], **more})

    def leaf(self, inner: Scope, value: dict, outer: int | None, op: dict) -> int:
        """Return the id of a tensor that a method reads and did not compute.

        It may be one that forward has computed and put on ctx, if it has the same name there, or the same numbers. But if all
        of these are equal, it may as well be a constant: then it is frozen.
        """
        listed = outer is not None and outer in self.top.values
        if outer is not None and listed and self.top.values[outer]["kind"] in ("gradient", "tangent"):
            return outer
        earlier = self.within.get(id(op), ())
        same = [scope.ids[i] for scope in earlier for i in scope.like(value)]
        named = [scope.ids[i] for scope in earlier for i in scope.attributes(value["label"])]
        if not same:
            return outer if outer is not None and listed and value["kind"] in LEAVES else self.constant(value)
        if named or not uniform(value["summary"]):
            kept = (named or same)[-1]
            if outer is not None and outer not in self.made:
                self.step([outer], "kept", {"kept": kept}, op=op["id"])
            return kept
        one = self.constant(value)
        self.frozen([one], f"{inner.name} reads a tensor from ctx that the record does not follow", op=op["id"])
        return one

    def function_push(self, op: dict, output: int, t: int, push: dict) -> None:
        """Add the tangents that a custom Function's jvp computes."""
        ran = next((m for m in reversed(op["inside"]) if m["method"] == "jvp"), None)
        if ran is None:
            return self.frozen([t], f"{op['function']}.jvp is Python that the record does not show", op=op["id"])
        inner = Scope.of_method(op, ran)
        given = [self.tangents.get(i) if i is not None else None for i in self.top.positions(op)]
        self.bind(self.top, inner, ran, given, op)
        self.program(inner, {"op": op["id"], "moves": True})
        for made in ran["outputs"]:
            outer = ran["same"].get(str(made))
            if outer is not None and outer not in (*self.made, inner.ids[made]):
                self.step([outer], "moved", {"moved": inner.ids[made]}, op=op["id"], moves=True)
        if t not in self.made and len(ran["outputs"]) == len(op["outputs"]):  # a tangent that jvp returns as it got it
            made = ran["outputs"][op["outputs"].index(output)]
            self.step([t], "moved", {"moved": inner.ids[made]}, op=op["id"], moves=True)
        return self.frozen([t], f"{op['function']}.jvp gives a tangent that the record does not follow", op=op["id"])

    # ------------------------------------------------------------------ what no step gives
    def missing(self) -> None:
        """Give the values without a step a reason, apart from leaves."""
        moving = {self.tangents[v] for v in self.tangents if self.top.values[v]["kind"] in LEAVES}
        saved = {one["value"] for op in self.record["ops"] for one in op["saved"]}
        given = {t for op in self.record["ops"] for p in op["pushes"] if (t := op["tangents"].get(str(p["output"])))}
        seeds = {of for step in self.steps for of in flat(step.get("names", {}).values())}
        for i, value in self.top.values.items():
            if i not in self.mentioned or i in self.made or value["kind"] in LEAVES or i in moving or i in given:
                continue
            if value["kind"] != "gradient" or i not in seeds and i not in self.record["gradients"].values():
                self.frozen([i], KEPT if i in saved else UNKNOWN)

    def ordered(self) -> list[dict]:
        """Return the steps in an order in which each finds its operands, otherwise as they are."""
        makers: dict[int, int] = {}
        for k, step in enumerate(self.steps):
            for o in step["outputs"]:
                makers.setdefault(o, k)
        needs = {
            k: {makers[i] for i in flat(step.get("names", {}).values()) if i in makers} - {k}
            for k, step in enumerate(self.steps)
        }
        order = dict.fromkeys(in_order(needs))
        left = [step for k, step in enumerate(self.steps) if k not in order]  # a faulty record may go round in circles
        return [self.steps[k] for k in order] + [{"outputs": step["outputs"], "reason": UNKNOWN} for step in left]


def places(op: dict) -> dict[str, int]:
    """Return the operation that a step belongs to, and the one whose backward that is a part of."""
    return {"op": op["id"]} | ({"of": op["of"]} if op["phase"] == "backward" else {})


def read_at(read: dict) -> dict:
    """Return a read of elements with its line."""
    return {"value": read["value"], "how": read["how"], "line": (read.get("where") or {}).get("line")}


def uniform(summary: dict) -> bool:
    """Return True if all elements of a value are equal."""
    return len(set(np.ravel(summary["values"]))) < 2 if "values" in summary else summary["min"] == summary["max"]
