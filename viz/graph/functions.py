"""Custom Functions from the inside: frames made from a record's calls of forward, backward and jvp.

Each pass shows the method that it runs.  What a method shares with the program is a port at the frame's border; a saved
tensor has a tag where `forward` makes it and where the other methods read it.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from .. import text
from ..errors import Undrawable
from . import cuts
from .backward_passes import beginning
from .drawn_graph import Edge, Frame, Graph, Node

SMALL = 8  # operations: a Function whose methods have more stays closed, unless it is named
FULL = 40  # nodes: in a picture that would have more with its Functions open, they stay closed, unless they are named
METHODS = {"forward": ("forward", "setup_context"), "backward": ("backward", "vjp"), "jvp": ("jvp",)}
WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
Names = str | Iterable[str] | None  # the custom Functions to open; "all", "none", or None for the small ones
HUES = {"forward": "", "backward": "-backward", "jvp": "-jvp"}


class UnknownFunction(Undrawable):
    """A Function to open is not in the picture."""


def names_of(open: Names) -> set[str]:
    """Return the words of an argument `open`: names of Functions, "all" or "none"."""
    return {open} if isinstance(open, str) else {*(open or ())}


def check_names(graph: Graph, open: Names) -> None:
    """Raise UnknownFunction if `open` names a custom Function that a graph does not have."""
    known = {*chain.from_iterable(named(node) for node in graph.nodes if node.is_function)}
    if unknown := sorted(names_of(open) - known - {"all", "none"}):
        there = f"The picture has {', '.join(sorted(known))}" if known else "The picture has none"
        raise UnknownFunction(f"draw: open names {unknown[0]!r}, which is no custom Function here. {there}.")


def opened(graph: Graph, open: Names) -> Graph:
    """Open the custom Functions of a graph that `open` names; None opens small ones, "all" all, "none" none."""
    wanted = names_of(open) - {"none"}
    functions = [node for node in graph.nodes if node.is_function]
    chosen = None if open is None or "all" in wanted else wanted
    many = len(graph.nodes)
    for node in functions:
        node.frames = frames(graph, node, chosen, SMALL if open is None else None) if open is None or wanted else {}
        many += inner_nodes(node.frames)
        if open is None and many > FULL:
            return opened(graph, "none")
    for node in functions:
        if node.frames and node.held:
            graph.take_out(node)
            node.frames = frames(graph, node, chosen, SMALL if open is None else None)
    return graph


def inner_nodes(found: dict[str, Frame], opens: Callable[[Node], bool] = lambda node: True) -> int:
    """Return the number of nodes in the frame of the pass that has most, and in the frames there that open."""
    inside = [frame.graph.nodes for frame in found.values()]
    within = lambda nodes: sum(inner_nodes(node.frames, opens) for node in nodes if opens(node))
    return max((len(nodes) + within(nodes) for nodes in inside), default=0)


def named(node: Node) -> set[str]:
    """Return the names of a custom Function and of those that its methods apply."""
    inner = chain.from_iterable(ran["ops"] for ran in node.record.get("inside", ()))
    names = (named(Node("", "function", op, [])) for op in inner if op.get("function"))
    return {node.record["function"]}.union(*names)


def methods(op: dict, pass_name: str) -> list[dict]:
    """Return the calls of methods that a pass shows: forward with setup_context, and the last call of any other."""
    calls = [ran for ran in op.get("inside", ()) if ran["method"] in METHODS[pass_name]]
    return calls if pass_name == "forward" else calls[-1:]


def size(op: dict) -> int:
    """Return the number of operations of a custom Function's largest method."""
    return max((sum(len(ran["ops"]) for ran in methods(op, name)) for name in METHODS), default=0)


def summary(op: dict) -> str:
    """Return what a closed custom Function does: the number of operations in forward, and the first line of these."""
    ops = [inner for ran in methods(op, "forward") for inner in ran["ops"]]
    if not ops:
        return ""
    code = ((ops[0].get("where") or {}).get("code") or "").strip().splitlines()
    begun = f": {text.shorten(code[0], 40)}" + " …" * (len(ops) > 1 or len(code) > 1) if code else ""
    return text.counted(len(ops), "operation") + begun


def frames(graph: Graph, node: Node, wanted: set[str] | None, most: int | None) -> dict[str, Frame]:
    """Return the frames of a custom Function by pass; {} if it is not wanted, too large, or one of them would be empty."""
    op = node.record
    unwanted = wanted is not None and wanted.isdisjoint(named(node))
    if unwanted or not 0 < size(op) <= (most or size(op)):
        return {}
    made = {}
    for name in graph.passes:
        if calls := methods(op, name):
            frame = made[name] = Method(graph, node, name, calls).frame
            for inner in frame.graph.nodes:
                if inner.is_function:
                    inner.frames = frames(frame.graph, inner, wanted, most)
    return made if all(frame.graph.nodes for frame in made.values()) else {}  # a backward in NumPy has no operations


class Method:
    """The frame of one method: its graph, ports and tags."""

    def __init__(self, outer: Graph, node: Node, name: str, calls: list[dict]):
        self.outer, self.node, self.name, self.op = outer, node, name, node.record
        self.outside = self.names_in_forward()
        record = merged(calls, self.outside)
        self.of: dict[int, int] = record.pop("same")  # inner value -> outer value
        self.given: list[int | None] = record.pop("inputs")
        if self.op.get("inplace") and name == "forward":
            self.pair_written(record["ops"])
        self.inner = {outer: inner for inner, outer in reversed(self.of.items())}
        self.results = record["outputs"]
        self.graph = Graph({**record, "outputs": [], "program": {"passes": ["forward"]}, "gradients": {}}, outer.view)
        self.name_arguments()
        self.maker = {v: (n, port) for n in self.graph.nodes for port, v in enumerate(n.outputs) if n.kind != "copy"}
        self.frame = Frame(f"{self.op['function']}.{calls[0]['method']}", self.graph)
        self.frame.turned, self.frame.hue = name == "backward", HUES[name]
        {"forward": self.forward, "backward": self.backward, "jvp": self.jvp}[name]()
        self.graph.ends = self.frame.first, self.frame.last
        self.rename()

    def pair_written(self, ops: list[dict]) -> None:
        """Pair written tensors before and after: they are the same tensor, which is found outside as the result."""
        for i, before in zip(self.given, self.op["inputs"]):
            if i is None or isinstance(before, dict):
                continue
            if (result := self.of.get(i)) is not None and result in self.op["outputs"]:
                self.of[i], after = before, i
                for op in ops:
                    if op.get("inplace") and op["inputs"][:1] == [after] and op["outputs"]:
                        after = op["outputs"][0]
                self.of.setdefault(after, result)

    def names_in_forward(self) -> dict[int, str]:
        """Return the names of outer values, as forward calls them if it does."""
        names = {i: n for i, n in self.outer.names.items() if n.isidentifier() and n != f"v{i}"}
        for ran in methods(self.op, "forward"):
            given = {v["id"]: v["name"] for v in ran["values"] if v.get("name")}
            names |= {int(outer): given[int(i)] for i, outer in ran["same"].items() if int(i) in given}
        return names

    def name_arguments(self) -> None:
        """Name values as the method does, also those whose name has a meaning in other formulas, such as g."""
        count = Counter(value["name"] for value in self.graph.values.values())
        given = {
            value.get("label"): value["name"]
            for i, value in self.graph.values.items()
            if value["name"].isidentifier() and count[value["name"]] == 1 and self.graph.names[i] == value.get("label")
        }
        words, names = self.graph.words, self.graph.names
        names.update({i: given[name] for i, name in names.items() if name in given})
        self.graph.words = lambda formula: words(WORD.sub(lambda m: given.get(m[0], m[0]), formula))

    def forward(self) -> None:
        """Let inputs in, results out, and tag what is saved."""
        for edge, place in self.places():
            if (inner := self.argument(place, edge.value)) is not None and self.is_read(inner):
                self.let_in(inner, self.frame.entries, edge.slot)
        for port, value in enumerate(self.op["outputs"]):
            name = text.shorten(self.outer.name(value), 32)
            self.let_out(self.result(value, self.op["outputs"], port), self.frame.exits, port, name)
        if "saved" in self.outer.view.show:
            for value, bytes in self.outer.saved(self.op).items():
                if value in self.inner and (inner := self.inner[value]) in self.maker:
                    self.sink("saved", inner, f"saves {self.graph.name(inner)} ({text.size(bytes)})")

    def backward(self) -> None:
        """Let gradients in at the outputs, and out at the inputs; of several, each says which output it belongs to."""
        entered: dict[int, list[str]] = {}  # one gradient can be that of two outputs
        for port, value in enumerate(self.op["outputs"]):
            arrived = [self.outer.gradients.get(value)]
            arrived += [edge["upstream"] for edge in self.op.get("edges", ()) if len(self.op["outputs"]) == 1]
            found = [self.argument(port, one) for one in arrived if one is not None]
            if (inner := next((one for one in found if one is not None), None)) is not None:
                self.let_in(inner, self.frame.exits, port)
                entered.setdefault(inner, []).append(self.outer.name(value))
        self.arguments()
        for inner, outputs in entered.items() if len(self.op["outputs"]) > 1 else ():
            node = self.maker[inner][0]
            node.label = f"grad of {' and '.join(outputs)}: {node.label}"
        self.frame.notes = notes(self.outer, self.node)
        edges = [edge for edge in self.node.inputs if edge.flow]
        for place, edge in enumerate(edges):
            gives = (edge.flow or {}).get("gives")
            result = self.result(gives, [None] * len(edges), place)
            label = text.shorten(f"grad of {self.outer.name(edge.value)}", 32)
            note = (self.outer.gradient(edge.value) or {}).get("note", "")  # of minigrad check: it is wrong
            self.let_out(result, self.frame.entries, edge.slot, f"{label} {note.partition(': ')[0]}".strip())

    def jvp(self) -> None:
        """Let tangents in at the inputs, and out at the outputs."""
        tangents = self.op.get("tangents", {})
        for edge, place in self.places():
            if (inner := self.argument(place, tangents.get(str(edge.value)))) is not None:
                self.let_in(inner, self.frame.entries, edge.slot)
        self.arguments()
        for port, value in enumerate(self.op["outputs"]):
            result = self.result(tangents.get(str(value)), self.op["outputs"], port)
            self.let_out(result, self.frame.exits, port, text.shorten(f"tangent of {self.outer.name(value)}", 32))

    def places(self) -> Iterator[tuple[Edge, int]]:
        """Yield the edges of the node, each with the number of the argument that it leads to."""
        left = list(enumerate(self.op["inputs"]))
        for edge in self.node.inputs:
            found = next(entry for entry in left if entry[1] == edge.value)
            left.remove(found)
            yield edge, found[0]

    def argument(self, place: int, outer: int | None) -> int | None:
        """Return the inner value of an outer value: argument number `place` of the method if that is the same."""
        given = self.given[place] if place < len(self.given) else None
        if outer is None:
            return None
        same = given is not None and self.of.get(given) == outer
        return given if same else self.inner.get(outer)

    def arguments(self) -> None:
        """Write the values of arguments and of saved tensors on their ports and tags."""
        saved = set(self.outer.saved(self.op))
        for node in self.graph.nodes:
            if node.is_op or not node.outputs or node.inputs:
                continue
            inner = node.outputs[0]
            if self.of.get(inner) in saved and node.kind != "port":
                node.kind, node.label = "saved", "saved " + self.with_amount(inner, "values")
            elif node.kind == "port" or node.kind == "input" and self.graph.values[inner]["name"]:
                node.kind, node.label = "port", self.with_amount(inner, "grads")

    def with_amount(self, inner: int, part: str) -> str:
        """Return a value's name and its elements if they are few, else its shape; only the name if `part` is hidden."""
        name, entry, show = self.graph.name(inner), self.graph.values[inner], self.outer.view.show
        if part in show and (amount := text.whole(entry)):
            return f"{name} = {amount}"
        return f"{name} {text.shape(entry['shape'])}" if part in show or "shapes" in show else name

    def is_read(self, inner: int) -> bool:
        """Return True if an operation reads a value, or it leaves the method."""
        return inner in self.maker or inner in self.results or self.of.get(inner) in self.outer.saved(self.op)

    def result(self, outer: int | None, among: Sequence, place: int) -> int | None:
        """Return the inner value of a result: by its outer value, or else by its place if all results are there.

        A result that was written in place is known outside by one value; its last content leaves.
        """
        if same := [inner for inner in self.results if outer is not None and self.of.get(inner) == outer]:
            return same[-1]
        if outer in self.inner:
            return self.inner[outer]
        return self.results[place] if len(self.results) == len(among) else None

    def let_in(self, inner: int, ports: dict[int, str], place: int) -> None:
        """Make the leaf of a value a port."""
        if inner not in self.maker:
            node = Node(f"value-{inner}", "port", self.graph.values[inner], [inner])
            self.graph.nodes.insert(0, node)
            self.maker[inner] = node, 0
        node = self.maker[inner][0]
        if not node.is_op:
            node.kind, node.label = "port", node.label or self.graph.name(inner)
            ports[place] = node.key

    def let_out(self, inner: int | None, ports: dict[int, str], place: int, label: str) -> None:
        """Lead a value to a port."""
        if inner in self.maker:
            ports[place] = self.sink("port", inner, label).key

    def sink(self, kind: str, inner: int, label: str) -> Node:
        """Add a node that a value leads to."""
        source, port = self.maker[inner]
        node = Node(f"{kind}-{len(self.graph.nodes)}", kind, self.graph.values[inner], [], label=label)
        edge = Edge(f"edge-{inner}-{node.key}", inner, source, port, node, 0)
        node.inputs.append(edge)
        self.graph.nodes.append(node)
        self.graph.edges.append(edge)
        return node

    def rename(self) -> None:
        """Make the ids of nodes and edges unique in the picture."""
        begin = f"{self.node.key}-{self.name}-"
        for one in (*self.graph.nodes, *self.graph.edges):
            one.key = begin + one.key
        for keys in self.graph.ends:
            keys[:] = [begin + key for key in keys]
        for ports in (self.frame.entries, self.frame.exits):
            ports.update({place: begin + key for place, key in ports.items()})


def notes(graph: Graph, node: Node) -> list[str]:
    """Return what a closed card says about backward besides gradients: that it starts or ends here, and what it frees."""
    show = graph.view.show
    begins = [v for v in node.outputs if v in graph.outputs and graph.gradient(v) and not graph.back.get(v)]
    freed = sum(graph.saved(node.record, freed=True).values())
    said = [beginning(graph.origins, value) for value in begins[:1] if "grads" in show]
    said += [f"frees {text.size(freed)}"] * bool(freed and "saved" in show)
    return said + [f"{cuts.SCISSORS} {one}" for one in cuts.sentences(graph, node.record)]


def merged(calls: Iterable[dict], names: dict[int, str]) -> dict:
    """Return calls of methods as one record, with the names of values that are also outside.

    `of` is the call that a value is from, with its id there.
    """
    values: list[dict] = []
    ops: list[dict] = []
    outputs: list[int] = []
    same: dict[int, int] = {}
    inputs: list[int | None] = []
    error: dict | None = None
    for ran in calls:
        outside = {int(i): outer for i, outer in ran["same"].items()}
        known = {outer: inner for inner, outer in same.items()}
        new: dict[int, int] = {}
        for value in ran["values"]:
            outer = outside.get(value["id"], -1)
            new[value["id"]] = known[outer] if outer in known else len(values)
            if outer not in known:
                name = value.get("name") or names.get(outer, "")
                shown = value.get("shown", "") if value.get("name") or not name else name
                values.append({**value, "id": len(values), "name": name, "shown": shown, "of": (ran, value["id"])})
        same |= {new[i]: outer for i, outer in outside.items()}
        inputs = inputs or [new.get(i) for i in ran.get("inputs", ())]
        outputs += [new[i] for i in ran.get("outputs", ())]
        if raised := ran.get("error"):
            shapes = [{**one, "value": new.get(one["value"])} for one in raised["shapes"]]
            error = {**raised, "op": raised["op"] + len(ops), "shapes": shapes}
        ops += [renumbered(op, len(ops), new) for op in ran["ops"]]
    return {"values": values, "ops": ops, "outputs": outputs, "same": same, "inputs": inputs, "error": error}


def renumbered(op: dict, first: int, new: dict[int, int]) -> dict:
    """Return an operation with other ids."""
    inputs = [i if isinstance(i, dict) else new[i] for i in op["inputs"]]
    inside = [{**ran, "same": {i: new[outer] for i, outer in ran["same"].items()}} for ran in op.get("inside", ())]
    outputs = [new[i] for i in op["outputs"]]
    alone = {"edges": [], "saved": [], "layer": [], "module": []}  # what the frame's title says already
    return {**op, **alone, "id": first + op["id"], "inputs": inputs, "outputs": outputs, "inside": inside}
