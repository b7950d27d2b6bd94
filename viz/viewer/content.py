"""The data of the viewer's page: operations and values by their index in a list, formulas in the user's names.

Everything that needs Python's grammar is computed here; the page itself computes the steps and every layout.  Keys are short
because a page may contain a hundred thousand operations.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from .. import text
from ..cards.content import flow_formula, push_of, pushed
from ..cards.error import error_texts
from ..cards.heads import called, constant
from ..graph.backward_passes import which
from ..graph.cuts import sentences
from ..graph.drawn_graph import Edge, Graph, Node, is_detached
from ..graph.functions import Names
from ..graph.trimmed_record import mentioned
from ..graph.views import without_dead_ends
from ..ranks import travelling
from ..view import SMALL
from .rooms import lines, rooms
from .sources import headline, sources

INFINITY = float("inf")
STATISTICS = ("min", "max", "mean", "std", "nan", "inf", "-inf")
READ = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?![\w(])(?!=[^=])")  # a name in a formula that is not a function or keyword


def content(graph: Graph, open: Names = None) -> dict:
    """Return the record of a graph in the page's form; values and operations are generated lazily.

    >>> value = {"id": 0, "name": "x", "kind": "input", "shape": [], "dtype": "float32", "device": "cpu", "bytes": 4,
    ...          "summary": {"values": 0.1}}
    >>> made = content(Graph({"program": {"name": "f", "passes": ["forward"]}, "values": [value], "ops": [],
    ...          "outputs": [0]}))
    >>> made["passes"], list(made["values"])
    (['forward'], [{'id': 0, 'name': 'x', 'kind': 'input', 'shape': [], 'dtype': 'float32', 'bytes': 4, 'all': 0.1}])
    """
    if graph.operations > SMALL and not graph.lanes:
        graph = without_dead_ends(graph)
    record = graph.record
    translator = Translator(graph, open)
    nodes = [node for node in graph.nodes if node.is_op]
    places = [node.record["where"] for node in nodes if (node.record.get("where") or {}).get("file")]
    methods = [*lines(room for one in translator.rooms.values() for room in one["rooms"].values())]
    files, in_file = sources([*places, *({**box["at"], "code": box["at"]["code"].split("\n")[0]} for box in methods)])
    for box, number in zip(methods, in_file[len(places) :]):
        box["at"] = [number, box["at"]["line"]]
    numbers = iter(in_file)
    program = record["program"]
    shown = mentioned(record)
    name, file = text.clean(program.get("name") or ""), text.file_name(program.get("file"))
    about = file, program.get("iteration"), which(graph.origins)
    return {
        "program": {"name": name, "file": " · ".join(filter(None, about)), **headline(name, file, files)},
        "passes": graph.passes,
        "values": (described(value, graph.name(value["id"]), value["id"] in shown) for value in record["values"]),
        "ops": (translator.op(node, numbers) for node in nodes),
        "outputs": translator.places(record.get("outputs", ())),
        "gradients": translator.pairs(graph.gradients),
        "tangents": translator.pairs(graph.tangents),
        "held": translator.held(),
        "backward": translator.order(nodes),
        "files": files,
        "classes": program.get("classes", {}),
        "color": graph.view.color,
        "special": translator.special(),
    } | translator.lanes()


class Translator:
    """Translates the parts of a graph for the page; ids become list indices."""

    def __init__(self, graph: Graph, open: Names = None):
        self.graph = graph
        self.place = {value["id"]: i for i, value in enumerate(graph.record["values"])}
        self.ran = {op["id"]: i for i, op in enumerate(graph.ops)}
        self.rooms = rooms(graph, open)
        back = [op for op in graph.record["ops"] if op["phase"] == "backward" and not op.get("again")]
        self.back = {op["id"]: op.get("of") for op in back}

    def lanes(self) -> dict:
        """Return the lanes' names and titles, and the lane of each value; empty for a record of one process."""
        graph = self.graph
        if not graph.lanes:
            return {}
        names, titles = ([named(i) for i in range(len(graph.lanes))] for named in (graph.lane_name, graph.lane_title))
        lanes = [graph.lane(value["id"]) for value in graph.record["values"]]
        return {"lanes": names, "titles": titles, "laneOf": lanes}

    def places(self, ids: Any) -> list[int]:
        """Return the list indices of values."""
        return [self.place[i] for i in ids if i in self.place]

    def pairs(self, ids: dict[int, int]) -> list[tuple[int, int]]:
        """Translate a mapping between values into pairs of indices."""
        return [(self.place[a], self.place[b]) for a, b in ids.items() if a in self.place and b in self.place]

    def special(self) -> list[tuple]:
        """Return where each pass has its first NaN and infinity, by index, with the numbers that made them."""
        index = {"op": self.ran, "value": self.place}
        found = {key: words for key, words in self.graph.specials().items() if key[2] in index[key[1]]}
        return [(name, kind, index[kind][i], words) for (name, kind, i), words in found.items()]

    def held(self) -> list[tuple[int, str]]:
        """Return what the `.grad` of leaves holds after the passes if it was not empty before."""
        leaves = [value for value in self.graph.record["values"] if value["kind"] == "parameter"]
        each = [(value["id"], one) for value in leaves for one in self.graph.passes_apart(value["id"])]
        return [(self.place[i], words) for i, one in each if (words := self.graph.grad_words(i, one))]

    def order(self, nodes: list[Node]) -> list[int]:
        """Return the operations in the order in which backward ran them."""
        went = [self.ran[of] for of in self.back.values() if of in self.ran]
        through = [self.ran[node.record["id"]] for node in reversed(nodes) if any(read.flow for read in reads(node))]
        return list(dict.fromkeys([*went, *through]))

    def op(self, node: Node, files: Any) -> dict:
        """Describe an operation: its call and formula, inputs and outputs, saved tensors and gradient contributions."""
        op, where = node.record, node.record.get("where") or {}
        name, call, shown = called(self.graph, node)
        each = [apart(edge) for edge in reads(node)]
        edges, places = [one for some in each for one in some], iter(each)
        # an argument along which several passes send gradients is listed once for each
        arguments = [one for entry in op["inputs"] for one in (next(places) if isinstance(entry, int) else [entry])]
        if node.kind == "transfer":
            name, call, shown = travelling.called(op), "", ""
        elif is_detached(op):
            name, shown = shown, ""
        entry: dict[str, Any] = {
            "id": op["id"],
            "name": name,
            "call": call,
            "in": [self._input(one.value if isinstance(one, Edge) else one) for one in arguments],
            "out": self.places(op["outputs"]),
        }
        more = {
            "formula": shown,
            "at": [next(files), where["line"]] if where.get("file") else None,
            "within": text.clean(where.get("function") or ""),
            "columns": where.get("columns"),
            "module": [text.clean(module) for module in op.get("module", ())],
            "alone": self.graph.alone.get(node.key),
            "custom": node.kind == "function",
            "inplace": bool(op.get("inplace")),
            "cut": sentences(self.graph, op),
            "ends": node.kind == "cut",
            "error": error_texts(self.graph, node),
            "raised": node.kind == "error",
            "layer": [text.clean(layer) for layer in op.get("layer", ())],
            "views": [{**view, "layer": text.clean(view["layer"])} for view in op.get("views", ())],
            "saved": [self._saved(entry) for entry in op.get("saved", ()) if entry["value"] in self.place],
            "flows": [self._flow(edge) for edge in edges] if any(edge.flow for edge in edges) else [],
            "held": [slot for slot, edge in enumerate(edges) if not edge.key],
            "rule": self._rule(node),
            "lanes": list(node.lanes),
            "times": {name: found[op["id"]] for name, found in self.graph.times.items() if op["id"] in found},
            "transfer": self._transfer(node),
            "inside": [{"method": ran["method"], "steps": self._steps(ran)} for ran in op.get("inside", ())],
        }
        return entry | {key: value for key, value in (more | self.rooms.get(op["id"], {})).items() if value}

    def _transfer(self, node: Node) -> dict | None:
        """Describe a collective or message: the text of its card, and the waiting time of each lane by pass."""
        if node.kind != "transfer":
            return None
        lines = travelling.head(self.graph, node).lines
        waits = lambda name: travelling.waits(self.graph, node, name)
        waited = {name: {block.lane: block.lines[0].text for block in waits(name)} for name in self.graph.passes}
        details = [line.text for line in lines[1:] if line.left[0][1] != "tag"]
        return {"whom": lines[0].right[0] if lines[0].right else "", "details": details, "waited": waited}

    def _rule(self, node: Node) -> str:
        moved = next((value for value in node.record["outputs"] if self.graph.tangent(value)), None)
        push = None if moved is None else push_of(node, moved)
        return "= " + text.clean(self.graph.said(pushed(node, push), push)) if push else ""

    def _input(self, entry: Any) -> Any:
        return self.place.get(entry) if isinstance(entry, int) else [constant(entry)]

    def _saved(self, entry: dict) -> list:
        """Return a saved tensor's value, its bytes, and the operation whose backward frees it."""
        return [self.place[entry["value"]], entry["bytes"], self.ran.get(self.back.get(entry.get("freed_by"), -1))]

    def _steps(self, ran: dict) -> list[dict]:
        """List the operations that a method of a custom Function ran, with the names that its lines use."""
        inner = Graph({"program": {}, **ran})
        given = {value["id"] for value in ran["values"] if value.get("name")}
        outside = {int(i): self.graph.names[o] for i, o in ran["same"].items() if o in self.graph.names}
        made = {i: f"({step})" for step, op in enumerate(inner.ops, 1) for i in op["outputs"]}
        inner.names.update({value["id"]: value["name"] for value in ran["values"] if value.get("name")})
        inner.names.update({i: name for i, name in outside.items() if i not in given and i not in made})
        unnamed = {i: name for i, name in made.items() if not inner.values[i].get("name")}
        inner.names.update(unnamed)  # their names are their numbers in the list
        return [self._step(inner, node) for node in inner.nodes if node.is_op]

    def _step(self, inner: Graph, node: Node) -> dict:
        names = {inner.values[i].get("label"): inner.name(i) for i in inner.values}
        name, call, shown = [READ.sub(lambda m: names.get(m[0], m[0]), words) for words in called(inner, node)]
        where = node.record.get("where") or {}
        results = [described(inner.values[i], inner.name(i)) for i in node.outputs]
        return {"text": shown or name + call, "out": results, "line": where.get("line", 0)}

    def _flow(self, edge: Edge) -> dict | None:
        """Describe the contribution along an edge: the formula, also with numbers for values of one element."""
        if edge.flow is None or edge.flow["gives"] not in self.place or edge.flow["upstream"] not in self.place:
            return None
        up, gives = edge.flow["upstream"], edge.flow["gives"]
        contribution = {"up": self.place[up], "gives": self.place[gives], "rule": flow_formula(self.graph, edge)}
        figures = self._figures(edge.target.record, edge.flow)
        return {**contribution, "figures": figures} if figures else contribution

    def _figures(self, op: dict, flow: dict) -> list[str | int]:
        """Divide a formula at its names, which are replaced by values; return nothing unless all are single numbers."""
        formula = flow.get("formula") or ""
        entries = [self._entry(i) for i in (*op["inputs"], *op["outputs"])]
        labelled = {**{entry.get("label"): entry for entry in entries}, "g": self._entry(flow["upstream"])}
        if (names := flow.get("names")) is not None:
            labelled = {name: self._entry(value) for name, value in names.items()}
        pieces: list[str | int] = []
        end = 0
        for found in READ.finditer(formula):
            entry = labelled.get(found[0]) or {}
            if not text.whole(entry, 1) or entry["id"] not in self.place:
                return []
            pieces += [formula[end : found.start()], self.place[entry["id"]]]
            end = found.end()
        return [piece for piece in [*pieces, formula[end:]] if piece != ""] if pieces else []

    def _entry(self, value: Any) -> dict:
        return self.graph.values.get(value, {}) if isinstance(value, int) else {}


def described(value: dict, name: str, shown: bool = True) -> dict:
    """Describe a value: its type, and if the page shows it, all its elements or their statistics."""
    fields = {"id": value["id"], "name": text.clean(name)}
    fields |= {key: value[key] for key in ("kind", "shape", "dtype", "bytes")}
    if value.get("device", "cpu") != "cpu":
        fields["device"] = value["device"]
    summary = (shown and value.get("summary")) or {}
    if "values" in summary:
        return {**fields, "all": text.each(rounded, summary["values"])}
    if not summary:
        return fields
    statistics = [rounded(summary.get(key)) for key in STATISTICS]
    fields |= {"statistics": statistics, "histogram": summary.get("histogram", {}).get("counts", [])}
    return {**fields, "grid": summary["grid"]} if "grid" in summary else fields


def summary_of(value: dict) -> dict:
    """Return the summary of a value in the page's form as records have it.

    >>> summary_of({"all": [1.0, 2.0]})
    {'values': [1.0, 2.0]}
    """
    return {"values": value["all"]} if "all" in value else dict(zip(STATISTICS, value.get("statistics", ())))


def packed(data: dict) -> dict:
    """Compress the data: what values share (kind, shape, dtype, bytes, device) is stored once, default names and ids never.

    >>> value = {"id": 0, "name": "v0", "kind": "input", "shape": [], "dtype": "float32", "bytes": 4, "all": 0.1}
    >>> made = packed({"values": [value, {**value, "id": 1, "name": "x"}]})
    >>> list(made["values"]), made["sorts"]
    ([{'sort': 0, 'all': 0.1}, {'sort': 0, 'name': 'x', 'all': 0.1}], [['input', [], 'float32', 4]])
    """
    sorts: list[list] = []  # complete when the last value has been generated
    return {**data, "values": _sorted(data["values"], sorts), "sorts": sorts}


def _sorted(values: Iterable[dict], sorts: list[list]) -> Iterator[dict]:
    """Yield values without the fields that are stored in `sorts`."""
    known: dict[tuple, int] = {}
    for i, value in enumerate(values):
        place = [value["device"]] if "device" in value else []  # the CPU is the default
        sort = (value["kind"], tuple(value["shape"]), value["dtype"], value["bytes"], *place)
        if sort not in known:
            known[sort] = len(sorts)
            sorts.append([value["kind"], value["shape"], *sort[2:]])
        usual = {"id": i, "name": f"v{value['id']}"}
        own = {key: value[key] for key in usual if value[key] != usual[key]}
        rest = {key: value[key] for key in ("all", "statistics", "histogram", "grid") if key in value}
        yield {"sort": known[sort], **own, **rest}


def rounded(number: Any) -> Any:
    """Round a number to the seven digits of a float32; nan and inf become strings for JSON.

    >>> [*map(rounded, (0.1 + 0.2, 5, "nan", float("inf")))]
    [0.3, 5, 'nan', 'inf']
    """
    if isinstance(number, float):
        return float(f"{number:.7g}") if abs(number) < INFINITY else repr(number)
    return number if number is None or isinstance(number, (int, bool)) else text.clean(str(number))


def apart(edge: Edge) -> list[Edge]:
    """Return an edge for each backward pass whose gradient flows along it; the edge itself if there is one."""
    parts = (edge.flow or {}).get("parts", ())
    several = len({part.get("run") for part in parts}) == len(parts) > 1
    return [replace(edge, flow=part) for part in parts] if several else [edge]


def reads(node: Node) -> list[Edge]:
    """Return an edge for each tensor argument of an operation; one without a key has no line in pictures."""
    lines, held, found = list(node.inputs), list(node.held), []
    for value in [entry for entry in node.record["inputs"] if isinstance(entry, int)]:
        if lines and lines[0].value == value:
            found.append(lines.pop(0))
        else:
            flow = held.pop(0).flow if held and held[0].value == value else None
            found.append(Edge("", value, node, 0, node, len(found), flow))
    return found
