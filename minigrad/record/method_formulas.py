"""The formulas of a custom Function: what its backward or jvp computed, as one expression in the author's names.

A method ran under a separate recording (inner_calls.py). The calls of its operations are put into one another, until only the
method's arguments and the tensors that it read are left. So `result = grad_output * dx + grad_dx * 6 * x` is the formula of the
edge to x, in whatever lines it was computed.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Collection, Iterator
from typing import Any

from ..formulas import expression as e
from . import schema
from .call_style import gives_one_tensor

LONGEST = 60  # characters of a formula; of a longer one, people only need the number of its operations
BACK = ("backward", "vjp")


class Opaque(Exception):
    """A value that cannot be written as an expression."""


def compose(op: schema.Op, values: list[schema.Value]) -> None:
    """Write the formulas of a custom Function's edges and pushes; values that only its methods know join the document's.

    A Function that communicates keeps the call of its method: the collective is more than the operations in it.
    """
    if op.transfers:
        return
    known = {outer: inner for ran in op.inside if ran.method == "forward" for inner, outer in named(ran)}
    runs = [Composition(ran, known, values) for ran in op.inside if ran.method in (*BACK, "jvp")]
    for edge in op.edges:
        if back := [run for run in runs if run.ran.method in BACK and run.ran.run in (edge.run, 0)]:
            edge.formula, edge.names = formula(back, edge.gives)
    for push in op.pushes:
        if moved := [run for run in runs if run.ran.method == "jvp"]:
            place = op.outputs.index(push["output"])
            push["formula"], push["names"] = formula(moved, op.tangents[push["output"]], (place, len(op.outputs)))


def named(ran: schema.Method) -> Iterator[tuple[str, int]]:
    """Yield the author's names for values of the document."""
    yield from ((value["name"], ran.same[value["id"]]) for value in ran.values if value["id"] in ran.same)


def formula(runs: list[Composition], result: int, place: tuple[int, int] = (0, 0)) -> tuple[str, dict | None]:
    """Return the expression of a result, a value of the document, with the values of its names; or a few words and None.

    A tangent that `jvp` returns as it got it is another value in the document, and known only by its place among as many.
    """
    for run in reversed(runs):
        for output in run.ran.outputs:
            if run.ran.same.get(output) == result:
                return run.text(output)
    at, number = place
    if len(runs[-1].ran.outputs) == number:
        return runs[-1].text(runs[-1].ran.outputs[at])
    return runs[-1].words(), None


class Composition:
    """One call of a method; `known` are the author's names for values of the document in other methods."""

    def __init__(self, ran: schema.Method, known: dict[int, str], values: list[schema.Value]):
        self.ran, self.known, self.values = ran, known, values
        self.inner = {value["id"]: value for value in ran.values}
        self.by_label = {value["label"]: value["id"] for value in ran.values}
        self.made = {output: op for op in ran.ops if op["phase"] == "forward" for output in op["outputs"]}
        self.moving = {i for i, outer in ran.same.items() if i not in self.made and self.is_flow(outer)}
        for op in ran.ops:
            if not self.moving.isdisjoint([i for i in op["inputs"] if isinstance(i, int)]):
                self.moving.update(op["outputs"])

    def is_flow(self, value: int) -> bool:
        """Return True if a value of the document is a gradient or a tangent."""
        return self.values[value].kind in ("gradient", "tangent")

    def text(self, output: int) -> tuple[str, dict | None]:
        """Return the expression of an output with the values of its names, or words and None.

        In a long expression, values that the author has named stay names, if they are factors: computed from no incoming
        gradient or tangent. An expression without one is not the whole computation: the method left the recording, for
        example for NumPy.
        """
        factors = {i for i, value in self.inner.items() if value["name"] and i in self.made and i not in self.moving}
        for stays in (frozenset(), frozenset(factors - {output})):
            names: dict[int, str] = {}
            try:
                found = e.text(Instead(self, names, stays).tree(output))
            except Opaque:
                continue
            if len(found) <= LONGEST and not self.moving.isdisjoint(names):
                return found, {word: self.outside(i) for i, word in names.items()}
        return self.words(), None

    def words(self) -> str:
        """Return the number of operations of the method; "NumPy", if there is no other."""
        if self.ran.ops and all(op["name"] == "NumPy" for op in self.ran.ops):
            return f"{self.ran.method}: NumPy"
        number = len(self.ran.ops)
        return f"{self.ran.method}: {number} operation{'s' * (number != 1)}"

    def name(self, value: int, taken: Collection[str]) -> str:
        """Return a name for a value that no other one has: the author's, in this method or another, or else a label."""
        outer = self.ran.same.get(value)
        words = [self.inner[value]["name"]]
        words += [] if outer is None else [self.known.get(outer, ""), self.values[outer].name]
        words = [word for word in words if word.isidentifier() and not keyword.iskeyword(word)]
        called = {node.id for op in self.ran.ops for node in functions(op["call"])}
        label = self.inner[value]["label"]
        return next((word for word in words if word not in taken and word not in called), label)

    def outside(self, value: int) -> int:
        """Return the value of the document that is a value of the method; a new one, if only the method knows it."""
        if value not in self.ran.same:
            number, labels, label = len(self.values), {v.label for v in self.values}, self.inner[value]["label"]
            while label in labels:
                label += "_"
            self.ran.same[value] = number
            own = {"id": number, "name": "", "label": label, "shown": label}
            self.values.append(schema.Value(**{**self.inner[value], **own}))
        return self.ran.same[value]


class Instead(ast.NodeTransformer):
    """Replaces the labels of values in calls by the values' own expressions; `names` collects the values that it names."""

    def __init__(self, of: Composition, names: dict[int, str], stays: frozenset[int]):
        self.of, self.names, self.stays = of, names, stays
        self.length = 0  # the expression has at least as many characters

    def tree(self, value: int) -> ast.expr:
        """Return the expression of a value."""
        op = self.of.made.get(value)
        self.length += 1
        if self.length > LONGEST or op is not None and value not in self.stays and not is_expression(op):
            raise Opaque
        if op is not None and value not in self.stays:
            return self.visit(e.parsed(op["call"]))
        if value not in self.names:
            self.names[value] = self.of.name(value, self.names.values())
        return e.name(self.names[value])

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the expression of the value with this label."""
        value = self.of.by_label.get(node.id)
        return node if value is None else self.tree(value)


def is_expression(op: dict) -> bool:
    """Return True if an operation's call, put into a formula, is its only result."""
    if op["inplace"] or not op["call"] or "…" in op["call"] or len(op["outputs"]) != 1:
        return False
    if op["function"]:
        return [len(ran["outputs"]) for ran in op["inside"] if ran["method"] == "forward"] == [1]
    return gives_one_tensor(op["name"])


def functions(call: str) -> Iterator[ast.Name]:
    """Yield the names of functions that are called by a bare name."""
    try:
        tree: Any = ast.parse(call)
    except SyntaxError:
        return
    yield from (n.func for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))
