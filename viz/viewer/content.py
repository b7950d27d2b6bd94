"""What the viewer's page is told of a record: operations and values by their place in a list, formulas in the user's words.

Everything that needs Python's grammar or the rules of `user_formula.py` is worked out here; what changes from step to step,
and every layout, is the page's own business.  Keys are short because a page may hold a hundred thousand operations.
"""

from __future__ import annotations

import re
from typing import Any

from .. import text, user_formula
from ..cards import called, partial_of, rule_of, terms_of
from ..drawn_graph import Edge, Graph, Node
from .sources import sources

DIGITS = 7  # what float32 holds
LABEL = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


def content(graph: Graph) -> dict:
    """The record of a graph as the page reads it.

    >>> value = {"id": 0, "name": "x", "kind": "input", "shape": [], "dtype": "float32", "device": "cpu", "bytes": 4,
    ...          "summary": {"values": 0.1}}
    >>> made = content(Graph({"program": {"name": "f", "passes": ["forward"]}, "values": [value], "ops": []}))
    >>> made["passes"], made["values"]
    (['forward'], [{'id': 0, 'name': 'x', 'kind': 'input', 'shape': [], 'dtype': 'float32', 'bytes': 4, 'all': 0.1}])
    """
    record = graph.record
    told = Teller(graph)
    nodes = [node for node in graph.nodes if node.is_op]
    places = [node.record["where"] for node in nodes if (node.record.get("where") or {}).get("file")]
    files, in_file = sources(places)
    numbers = iter(in_file)
    ops = [told.op(node, numbers) for node in nodes]
    program = record["program"]
    values = [described(value, graph.name(value["id"])) for value in record["values"]]
    for updated in set(graph.updated) & set(told.place):  # a parameter stays one after a step of training
        values[told.place[updated]]["kind"] = graph.values[told.origin(updated)]["kind"]
    return {
        "program": {"name": text.clean(program.get("name") or ""), "file": text.file_name(program.get("file"))},
        "passes": graph.passes,
        "values": values,
        "ops": ops,
        "outputs": told.places(record.get("outputs", ())),
        "gradients": told.pairs(graph.gradients),
        "tangents": told.pairs(graph.tangents),
        "backward": told.order(nodes),
        "files": files,
    }


class Teller:
    """Says what the page is told of each part of a graph; ids become places in the lists."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.place = {value["id"]: i for i, value in enumerate(graph.record["values"])}
        self.ran = {op["id"]: i for i, op in enumerate(graph.ops)}
        self.back = {op["id"]: op.get("of") for op in graph.record["ops"] if op["phase"] == "backward"}

    def places(self, ids: Any) -> list[int]:
        """Values as places in the list."""
        return [self.place[i] for i in ids if i in self.place]

    def pairs(self, ids: dict[int, int]) -> list[tuple[int, int]]:
        """A mapping between values."""
        return [(self.place[a], self.place[b]) for a, b in ids.items() if a in self.place and b in self.place]

    def origin(self, value: int) -> int:
        """What a value was before the program updated it."""
        while value in self.graph.updated:
            value = self.graph.updated[value]
        return value

    def order(self, nodes: list[Node]) -> list[int]:
        """The operations in the order in which backward went through them."""
        went = [self.ran[of] for of in self.back.values() if of in self.ran]
        through = [self.ran[node.record["id"]] for node in reversed(nodes) if any(edge.flow for edge in node.inputs)]
        return list(dict.fromkeys([*went, *through]))

    def op(self, node: Node, files: Any) -> dict:
        """An operation: its call and formula, what went in and out, what it kept, what flows back through it."""
        op, where = node.record, node.record.get("where") or {}
        name, call, shown = called(self.graph, node)
        said: dict[str, Any] = {
            "id": op["id"],
            "name": name,
            "call": call,
            "in": [self._input(entry) for entry in op["inputs"]],
            "out": self.places(op["outputs"]),
        }
        more = {
            "formula": shown,
            "at": [next(files), where["line"]] if where.get("file") else None,
            "within": text.clean(where.get("function") or ""),
            "columns": where.get("columns"),
            "module": [text.clean(module) for module in op.get("module", ())],
            "custom": node.kind == "function",
            "inplace": bool(op.get("inplace")),
            "layer": [text.clean(layer) for layer in op.get("layer", ())],
            "views": [{**view, "layer": text.clean(view["layer"])} for view in op.get("views", ())],
            "saved": [self._saved(entry) for entry in op.get("saved", ()) if entry["value"] in self.place],
            "flows": [self._flow(edge) for edge in node.inputs] if any(edge.flow for edge in node.inputs) else [],
            "rule": self._rule(node),
            "inside": [{"method": ran["method"], "steps": self._steps(ran)} for ran in op.get("inside", ())],
        }
        return said | {key: value for key, value in more.items() if value}

    def _rule(self, node: Node) -> str:
        moved = [value for value in node.record["outputs"] if self.graph.tangent(value)]
        return rule_of(self.graph, node, moved[0]) if moved else ""

    def _input(self, entry: Any) -> Any:
        return self.place.get(entry) if isinstance(entry, int) else [_constant(entry)]

    def _saved(self, entry: dict) -> list:
        """Value, bytes, and the operation whose backward lets it go."""
        return [self.place[entry["value"]], entry["bytes"], self.ran.get(self.back.get(entry.get("freed_by"), -1))]

    def _steps(self, ran: dict) -> list[dict]:
        """What a method of a custom Function did, one operation after the other, in the names of its own lines."""
        inner = Graph({"program": {}, **ran}, user_formula.names(ran))
        given = {value["id"] for value in ran["values"] if value.get("name")}
        outside = {int(i): self.graph.names[o] for i, o in ran["same"].items() if o in self.graph.names}
        made = {i: f"({step})" for step, op in enumerate(inner.ops, 1) for i in op["outputs"]}
        inner.names.update({i: name for i, name in outside.items() if i not in given and i not in made})
        unnamed = {i: name for i, name in made.items() if inner.names[i] == f"v{i}"}
        inner.names.update(unnamed)  # called by their line in the list
        return [self._step(inner, node) for node in inner.nodes if node.is_op]

    def _step(self, inner: Graph, node: Node) -> dict:
        names = {inner.values[i].get("label"): inner.name(i) for i in inner.values}
        name, call, shown = [LABEL.sub(lambda m: names.get(m[0], m[0]), said) for said in called(inner, node)]
        where = node.record.get("where") or {}
        results = [described(inner.values[i], inner.name(i)) for i in node.outputs]
        return {"text": shown or name + call, "out": results, "line": where.get("line", 0)}

    def _flow(self, edge: Edge) -> dict | None:
        """What goes back along an edge: a product of upstream and local partial, or a rule that names the upstream g."""
        if edge.flow is None or edge.flow["gives"] not in self.place or edge.flow["upstream"] not in self.place:
            return None
        graph, partial = self.graph, partial_of(self.graph, edge)
        said: dict[str, Any] = {"up": self.place[edge.flow["upstream"]], "gives": self.place[edge.flow["gives"]]}
        if formula := text.clean(edge.flow.get("formula") or ""):
            return {**said, "rule": formula}
        terms = terms_of(graph, edge.target)
        if partial.endswith(".backward"):
            return {**said, "rule": f"{partial}(g)"}
        if not partial.startswith("∂") and user_formula.uses_upstream(partial):
            return {**said, "rule": terms.words(partial)}
        words = partial if partial.startswith("∂") else terms.words(partial)
        said["partial"] = words
        if graph.elements(edge.flow["upstream"]) > graph.elements(edge.flow["gives"]):
            said["summed"] = True
        figures = self._figures(edge.target, terms, partial)
        return {**said, "figures": figures} if figures not in ("", words) else said

    def _figures(self, node: Node, terms: user_formula.Terms, partial: str) -> str:
        """A local partial with numbers in the places of the operands, where they are single numbers."""
        if partial.startswith("∂"):
            return ""
        graph = self.graph
        shown = [text.whole(graph.values.get(i), 1) if isinstance(i, int) else "" for i in node.record["inputs"]]
        out = text.whole(graph.values.get(node.outputs[0]), 1) if node.outputs else ""
        named = user_formula.mentioned(partial)
        given: dict[str, str] = dict(zip(terms.own, shown)) | {"out": out}
        if not named or not all(given.get(name) for name in named):
            return ""
        bracketed = {name: f"({number})" if number.startswith("-") else number for name, number in given.items()}
        return user_formula.Terms(terms.formula, terms.own, shown, out).words(partial, **bracketed)


def described(value: dict, name: str) -> dict:
    """A value: what it is, and all of it or its statistics."""
    said = {"id": value["id"], "name": text.clean(name)}
    said |= {key: value[key] for key in ("kind", "shape", "dtype", "bytes")}
    if value.get("device", "cpu") != "cpu":
        said["device"] = value["device"]
    summary = value.get("summary") or {}
    if "values" in summary:
        return {**said, "all": rounded(summary["values"])}
    if not summary:
        return said
    statistics = [rounded(summary.get(key)) for key in ("min", "max", "mean", "std", "nan", "inf")]
    return {**said, "statistics": statistics, "histogram": summary.get("histogram", {}).get("counts", [])}


def packed(told: dict) -> dict:
    """The same in less room: what values share (kind, shape, dtype, bytes, device) stands once, usual names and ids nowhere.

    >>> value = {"id": 0, "name": "v0", "kind": "input", "shape": [], "dtype": "float32", "bytes": 4, "all": 0.1}
    >>> made = packed({"values": [value, {**value, "id": 1, "name": "x"}]})
    >>> made["sorts"], made["values"]
    ([['input', [], 'float32', 4]], [{'sort': 0, 'all': 0.1}, {'sort': 0, 'name': 'x', 'all': 0.1}])
    """
    sorts: dict[tuple, int] = {}
    values = []
    for i, value in enumerate(told["values"]):
        place = [value["device"]] if "device" in value else []  # the processor goes without saying
        sort = (value["kind"], tuple(value["shape"]), value["dtype"], value["bytes"], *place)
        usual = {"id": i, "name": f"v{value['id']}"}
        own = {key: value[key] for key in usual if value[key] != usual[key]}
        rest = {key: value[key] for key in ("all", "statistics", "histogram") if key in value}
        values.append({"sort": sorts.setdefault(sort, len(sorts)), **own, **rest})
    listed = [[kind, list(shape), *rest] for kind, shape, *rest in sorts]
    return {**told, "values": values, "sorts": listed}


def rounded(numbers: Any) -> Any:
    """Numbers, also in nested lists, to the digits that a float32 has; what JSON has not, as words.

    >>> rounded([[0.1 + 0.2, 5], "nan", float("inf")])
    [[0.3, 5], 'nan', 'inf']
    """
    if isinstance(numbers, (list, tuple)):
        return [rounded(x) for x in numbers]
    if isinstance(numbers, float):
        return float(f"{numbers:.{DIGITS}g}") if abs(numbers) < float("inf") else repr(numbers)
    return numbers if numbers is None or isinstance(numbers, (int, bool)) else text.clean(str(numbers))


def _constant(entry: Any) -> str:
    constant = entry.get("const") if isinstance(entry, dict) else entry
    return text.shorten(text.number(constant) if isinstance(constant, (int, float)) else str(constant), 20)
