"""A record as a graph to draw: its forward operations and the leaf values that feed them, joined by edges.

Backward and jvp pass bring no nodes of their own: what they add is looked up by value (`gradient`, `tangent`) or hangs
on an edge (`flow`), so one graph and one layout serve all three.  A leaf with many uses is drawn once, at its first
use, and as a small copy at the others, and so is a use far away: hub-like leaves would make every edge cross every
other, and the layout not end.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from . import user_formula

PASSES = ("forward", "backward", "jvp")
SHOW: tuple[str, ...] = (
    "values",
    "grads",
    "shapes",
    "saved",
    "lines",
)  # what cards show besides operations and their formulas
RANKDIRS = ("TB", "BT", "LR", "RL")
MANY, FAR = 3, 8  # more uses, or operations since the first use: a copy


def passes_of(record: dict, notes: Sequence[str] = ()) -> tuple[tuple[str, ...], dict[str, str]]:
    """The passes that a record holds, and for each of the others why it is not there.

    A jvp pass that stops at a custom Function would be half a pass, and counts as none.
    """
    stops = [op["function"] for op in record["ops"] if any(f"stops at {op['function']}," in note for note in notes)]
    have = tuple(one for one in PASSES if one in record["program"]["passes"] and not (one == "jvp" and stops))
    others = [note for note in notes if not note.startswith("the jvp pass")]
    reasons = dict.fromkeys(PASSES, "nothing in it requires grad")
    reasons |= {"backward": others[0]} if others else {}
    reasons |= {"jvp": f"{stops[0]} has no jvp"} if stops else {}
    return have, {one: reasons[one] for one in PASSES if one not in have}


@dataclass(frozen=True)
class View:
    """What of a graph is shown, and which way it runs."""

    show: frozenset[str] = frozenset(SHOW)
    rankdir: str = "TB"  # TB | BT | LR | RL: where the first operations lie, and where the last


WHOLE = View()


@dataclass
class Node:
    """A card of the picture: an operation, a leaf value, or a small copy of a leaf."""

    key: str  # its id in the picture: op-3, fold-3-7, value-1, value-1-copy-2
    kind: str  # op | function | fold | input | parameter | constant | computed | copy
    record: dict  # the record's entry: an operation or a value
    outputs: list[int]  # values that leave it, one port each
    inputs: list[Edge] = field(default_factory=list)  # in the order of the arguments

    @property
    def is_op(self) -> bool:
        """Whether the node is an operation."""
        return self.kind in ("op", "function", "fold")


@dataclass
class Edge:
    """A value on its way into an operation."""

    key: str  # edge-<value>-<operation>-<place among the inputs>
    value: int
    source: Node
    port: int  # which output of the source
    target: Node
    slot: int  # which input of the target
    flow: dict | None = None  # what goes back along it: partial, upstream, gives; parts, where that are several flows


class Graph:
    """The drawable graph of a record.

    >>> value = {"name": "", "kind": "input", "shape": [], "dtype": "float64", "device": "cpu", "bytes": 8}
    >>> values = [{**value, "id": 0, "name": "x"}, {**value, "id": 1, "kind": "computed"}]
    >>> sine = {"id": 0, "phase": "forward", "name": "sin", "inputs": [0], "outputs": [1]}
    >>> graph = Graph({"program": {"passes": ["forward"]}, "values": values, "ops": [sine], "outputs": [1]})
    >>> [node.key for node in graph.nodes], [edge.key for edge in graph.edges]
    (['value-0', 'op-0'], ['edge-0-0-0'])
    """

    def __init__(self, record: dict, names: dict[int, str] | None = None, view: View = WHOLE):
        self.record, self.view = record, view
        self.values = {value["id"]: value for value in record["values"]}
        labels = {value["id"]: value["label"] for value in record["values"] if value.get("label")}
        self.names = names or user_formula.names(record) | labels
        # a backward that was differentiated itself is a part of the program like any other operation
        self.ops = [
            op for op in record["ops"] if op["phase"] == "forward" or op["phase"] == "backward" and op.get("edges")
        ]
        self.outputs = set(record.get("outputs", ()))
        self.passes = [name for name in PASSES if name in record["program"].get("passes", PASSES)]
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.flows: dict[int, list[dict]] = defaultdict(list)  # what goes back through an operation
        self._attach()
        self.updated = {op["outputs"][0]: op["inputs"][0] for op in record["ops"] if _is_update(op)}
        self.gradients = self._gradients()
        self.tangents = self._tangents()
        self._build()
        self.shown = {value for node in self.nodes for value in node.outputs}
        self.back: dict[int, list[dict]] = defaultdict(list)  # flows by the value they reach
        for edge in self.edges:
            if edge.flow:
                self.back[edge.value].extend(edge.flow.get("parts", [edge.flow]))

    @property
    def operations(self) -> int:
        """How many operations there are, also in boxes of several."""
        return sum(len(op["folded"]["ops"]) if "folded" in op else 1 for op in self.ops)

    def name(self, value: int) -> str:
        """What a value is called."""
        return self.names[value]

    def kind(self, value: int) -> str:
        """The kind of a leaf: a parameter stays one after a step of training; what is no leaf here was computed before."""
        while value in self.updated:
            value = self.updated[value]
        kind = self.values[value]["kind"]
        return kind if kind in ("input", "parameter", "constant") else "computed"

    def elements(self, value: int) -> int:
        """How many numbers a value holds; 0 where the record does not know it."""
        return math.prod(self.values[value]["shape"]) if value in self.values else 0

    def gradient(self, value: int) -> dict | None:
        """The value that is the gradient of `value`."""
        return self.values.get(self.gradients.get(value))

    def tangent(self, value: int) -> dict | None:
        """The value that is the tangent of `value`."""
        return self.values.get(self.tangents.get(value))

    def contributions(self, value: int) -> list[dict | None]:
        """The values that add up to the gradient of `value`, one for each edge back into it; None for one not known."""
        return [self.values.get(flow["gives"]) for flow in self.back.get(value, ())]

    def saved(self, op: dict, freed: bool = False) -> dict[int, int]:
        """Bytes by value that an operation keeps for backward, or of these only what backward has `freed`."""
        kept = [entry for entry in op.get("saved", ()) if not freed or entry.get("freed_by") is not None]
        return {entry["value"]: entry["bytes"] for entry in kept}

    def saved_bytes(self) -> int:
        """Bytes kept for backward by all operations; what several keep counts once."""
        return sum({value: size for op in self.ops for value, size in self.saved(op).items()}.values())

    def _attach(self) -> None:
        """Hang the edges of backward on the operation that they go back through."""
        for op in self.record["ops"]:
            self.flows[op["id"]].extend(op.get("edges", ()))

    def _gradients(self) -> dict[int, int]:
        """Gradient by value; where the record names none, what is upstream of the operation that made the value."""
        known = {int(value): gradient for value, gradient in self.record.get("gradients", {}).items()}
        for op in self.ops:
            for edge in self.flows[op["id"]] if len(op["outputs"]) == 1 else ():
                known.setdefault(op["outputs"][0], edge["upstream"])
        return known

    def _tangents(self) -> dict[int, int]:
        return {int(value): tangent for op in self.record["ops"] for value, tangent in op.get("tangents", {}).items()}

    def _build(self) -> None:
        made = {value: (op["id"], port) for op in self.ops for port, value in enumerate(op["outputs"])}
        uses = Counter(i for op in self.ops for i in op["inputs"] if not isinstance(i, dict) and i not in made)
        homes: dict[int, Node] = {}  # by operation
        leaves: dict[int, Node] = {}
        first: dict[int, int] = {}  # by leaf, when it is first used
        copies: Counter = Counter()
        for time, op in enumerate(self.ops):
            node = _operation(op)
            pending = list(self.flows[op["id"]])
            slot = 0
            for i, value in enumerate(op["inputs"]):
                if isinstance(value, dict):  # a Python constant: written in the card
                    continue
                if value in made and made[value][0] in homes:
                    source, port = homes[made[value][0]], made[value][1]
                elif value in leaves and (uses[value] > MANY or time - first[value] > FAR):
                    copies[value] += 1
                    source, port = Node(f"value-{value}-copy-{copies[value]}", "copy", self.values[value], [value]), 0
                    self.nodes.append(source)
                else:
                    source, port = self._leaf(value, leaves), 0
                    first.setdefault(value, time)
                flow = _take(pending, value, last=value not in op["inputs"][i + 1 :])
                edge = Edge(f"edge-{value}-{op['id']}-{slot}", value, source, port, node, slot, flow)
                node.inputs.append(edge)
                self.edges.append(edge)
                slot += 1
            homes[op["id"]] = node
            self.nodes.append(node)
        for value in sorted(self.outputs - set(made) - set(self.gradients.values())):  # an output that is an input
            self._leaf(value, leaves)

    def _leaf(self, value: int, leaves: dict[int, Node]) -> Node:
        if value not in leaves:
            leaves[value] = Node(f"value-{value}", self.kind(value), self.values[value], [value])
            self.nodes.append(leaves[value])
        return leaves[value]


def _operation(op: dict) -> Node:
    """The node of an operation, or of several that were folded."""
    if inner := op.get("folded"):
        return Node(f"fold-{inner['ops'][0]}-{inner['ops'][-1]}", "fold", op, op["outputs"])
    return Node(f"op-{op['id']}", "function" if op.get("function") else "op", op, op["outputs"])


def _take(flows: list[dict], value: int, last: bool) -> dict | None:
    """The next flow into `value`: the record lists them in the order of the arguments.

    The last argument takes all that are left: an operation with several outputs may send back one for each of them.
    """
    here = [flow for flow in flows if flow["input"] == value]
    taken = here if last else here[:1]
    flows[:] = [flow for flow in flows if not any(flow is one for one in taken)]
    if len(taken) > 1:
        words = f"{len(taken)} contributions"
        return {"input": value, "partial": words, "upstream": None, "gives": None, "parts": taken}
    return taken[0] if taken else None


def _is_update(op: dict) -> bool:
    """Whether an operation is a training step's write to a parameter."""
    return (
        op["phase"] == "update"
        and op.get("inplace", False)
        and bool(op["outputs"])
        and isinstance(op["inputs"][0], int)
    )
