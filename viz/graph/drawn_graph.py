"""A record as a graph to draw: its forward operations and the leaf values that feed them, joined by edges.

The backward and jvp passes add no nodes: gradients and tangents are looked up by value (`gradient`, `tangent`), and
contributions are stored on edges (`flow`), so one graph and one layout serve all three.  A leaf with many uses, or with one
far away, is drawn once, at its first use, and as a small copy elsewhere: a hub would make every edge cross every other.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from .. import text
from ..layout.style import STYLES
from ..view import PASSES, SMALL, WHOLE, View
from .backward_passes import Accumulated, Origin, origins
from .modules import ids_of, open_modules, tensors, with_variables

MANY, FAR = 3, 8  # a leaf with more uses, or a use more operations after the first, is drawn as a copy


@dataclass(slots=True)
class Node:
    """A card of the picture: an operation, a leaf value, or a small copy of a leaf."""

    key: str  # its id in the picture: op-3, fold-3-7, value-1, value-1-copy-2; op-3-backward-op-0 in a frame
    # op | function | fold | transfer | cut | error | input | parameter | constant | computed | copy; in frames port | saved
    kind: str
    record: dict  # the record's entry: an operation or a value
    outputs: list[int]  # its output values, one port each
    inputs: list[Edge] = field(default_factory=list)  # in the order of the arguments
    held: list[Held] = field(default_factory=list)  # the parameters inside its card
    label: str = ""  # the text of a port, or of a saved tensor in a frame
    frames: dict[str, Frame] = field(default_factory=dict)  # by pass, what an open node has inside; {}: it is closed

    @property
    def is_op(self) -> bool:
        """True if the node is an operation."""
        return self.kind in ("op", "function", "fold", "transfer", "cut", "error")

    @property
    def is_function(self) -> bool:
        """True if the node is a custom Function that can be opened; of those that raised, if one of its methods did."""
        inside = self.record.get("inside", ()) if self.kind == "error" else ()
        return self.kind == "function" or any(ran.get("error") for ran in inside)

    @property
    def lanes(self) -> tuple[int, ...]:
        """The node's lanes in a record of several processes; empty in other records."""
        return tuple(self.record.get("lanes", ()))


@dataclass(slots=True)
class Edge:
    """A use of a value by an operation."""

    key: str  # edge-<value>-<operation>-<place among the inputs>
    value: int
    source: Node
    port: int  # which output of the source
    target: Node
    slot: int  # which input of the target
    flow: dict | None = None  # its gradient contribution: formula, upstream, gives; parts, if there are several


@dataclass(slots=True)
class Held:
    """A parameter inside the card of the only operation that uses it."""

    value: int
    flow: dict | None = None  # its gradient contribution


@dataclass(slots=True)
class Frame:
    """The inside of an open node in one pass: a graph that is laid out by itself, within the node's card.

    The card is as large as its largest frame needs, so all passes keep one outer layout.  Edges of the outer graph end at the
    card's border, and ports continue them inside.
    """

    title: str
    graph: Graph
    entries: dict[int, str] = field(default_factory=dict)  # slot of the node -> key of its port
    exits: dict[int, str] = field(default_factory=dict)  # output of the node -> key of its port
    turned: bool = False  # True if it runs from the exits to the entries, as gradients do
    shows: str = "forward"  # the pass in which its cards are drawn
    hue: str = ""  # "-backward" or "-jvp": the colour of its edges
    notes: list[str] = field(default_factory=list)  # what else happens in the pass, such as "frees 24 B"

    @property
    def heading(self) -> str:
        """The title with the notes."""
        return " · ".join([self.title, *self.notes])

    @property
    def first(self) -> list[str]:
        """The keys of the ports where the frame begins, in order."""
        return list(dict.fromkeys((self.exits if self.turned else self.entries).values()))

    @property
    def last(self) -> list[str]:
        """The keys of the ports where the frame ends, in order."""
        return list(dict.fromkeys((self.entries if self.turned else self.exits).values()))


class Graph:
    """The drawable graph of a record; a folded graph takes names, values and their gradients from the `whole` graph.

    >>> value = {"name": "", "kind": "input", "shape": [], "dtype": "float64", "device": "cpu", "bytes": 8}
    >>> values = [{**value, "id": 0, "name": "x"}, {**value, "id": 1, "kind": "computed"}]
    >>> sine = {"id": 0, "phase": "forward", "name": "sin", "inputs": [0], "outputs": [1]}
    >>> graph = Graph({"program": {"passes": ["forward"]}, "values": values, "ops": [sine], "outputs": [1]})
    >>> [node.key for node in graph.nodes], [edge.key for edge in graph.edges]
    (['value-0', 'op-0'], ['edge-0-0-0'])
    """

    def __init__(self, record: dict, view: View = WHOLE, whole: Graph | None = None):
        self.record, self.view = with_variables(record) if whole is None else record, view
        # a backward operation that was itself differentiated is part of the program
        drawn = lambda op: op["phase"] in ("forward", "update") or op["phase"] == "backward" and op.get("edges")
        self.ops = [op for op in self.record["ops"] if drawn(op)]
        self.error: dict | None = record.get("error")  # the exception with which the program ended
        self.failing = None if self.error is None else self.error["op"]  # the operation that raised
        self.special: dict | None = None if whole is None else whole.special
        if whole is None:
            self._read()
        else:
            self.values, self.names, self.words = whole.values, whole.names, whole.words
            self.rounded = whole.rounded
            self.gradients, self.tangents, self.transfers = whole.gradients, whole.tangents, whole.transfers
            self.times, self.origins, self.accumulated = whole.times, whole.origins, whole.accumulated
            self.origin_of, self.turns, self.having = whole.origin_of, whole.turns, whole.having
        self.lanes: list[dict] = record.get("lanes", [])
        self.bands: list[dict] = record.get("bands", [])  # the passes of a story (stories.py)
        self.outputs = set(record.get("outputs", ()))
        self.passes = [name for name in PASSES if name in record["program"].get("passes", PASSES)]
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.ends: tuple[list[str], list[str]] = ([], [])  # nodes that layouts keep in the first and in the last row
        self.again = {op["of"] for op in record["ops"] if op.get("again")}  # operations that a checkpoint recomputes
        self.reads = self._reads()
        self.gradient_of = {gradient: value for value, gradient in self.gradients.items()}
        self._build()
        self.shown = {value for node in self.nodes for value in node.outputs}
        self.shown |= {held.value for node in self.nodes for held in node.held}
        # frames of modules; by card, the module that runs only its operation
        self.regions, self.alone = open_modules(self)
        self.scales: dict | None = None  # the colour scales of its heat maps, when they are known (scales.py)
        self.back: dict[int, list[dict]] = defaultdict(list)  # gradient contributions by value
        for use in (*self.edges, *(held for node in self.nodes for held in node.held)):
            if use.flow:
                self.back[use.value].extend(use.flow.get("parts", [use.flow]))

    def first_special(self, name: str, node: Node) -> str:
        """Return the words on a pass's first NaN or infinity, if it is made at a node: "first NaN here: 0 / 0"."""
        found = self.specials()
        if not found or node.kind == "copy":
            return ""
        if not node.is_op:
            return found.get((name, "value", node.outputs[0]), "")
        op = node.record
        return "; ".join(found[name, "op", i] for i in ids_of(op) if (name, "op", i) in found)

    def specials(self) -> dict[tuple[str, str, int], str]:
        """Return where each pass has its first NaN and infinity."""
        if self.special is None:
            from minigrad.record.first_special import first_special  # as in _read

            self.special = first_special(self.record)
        return self.special

    @property
    def operations(self) -> int:
        """The number of operations, including those inside boxes and hidden views."""
        return sum(len(ids_of(op)) for op in self.ops)

    @property
    def ranks(self) -> str:
        """The number of ranks as text, such as "4 ranks"; "" for a record of one process."""
        many = sum(len(lane["ranks"]) for lane in self.lanes)
        return text.counted(many, "rank") if many else ""

    def name(self, value: int) -> str:
        """Return the name of a value."""
        return self.names[value]

    @cached_property
    def by_id(self) -> dict[int, dict]:
        """The operations of the record by their ids."""
        return {op["id"]: op for op in self.record["ops"]}

    def said(self, formula: str, owner: dict) -> str:
        """Return the formula of an edge or a push in shown names; one with `names` is in the author's words already."""
        return self.rounded(formula) if owner.get("names") is not None else self.words(formula)

    def kind(self, value: int) -> str:
        """Return the kind of a leaf; "computed" if it was computed before the recording."""
        kind = self.values[value]["kind"]
        return kind if kind in ("input", "parameter", "constant") else "computed"

    def lane(self, value: int) -> int | None:
        """Return the lane of a value in a record of several processes, else None."""
        return next(iter(self.values[value].get("lanes", ())), None)

    def lane_name(self, lane: int) -> str:
        """Return the name of a lane.

        >>> Graph({"program": {}, "values": [], "ops": [], "lanes": [{"ranks": [0, 1, 2, 5]}]}).lane_name(0)
        'ranks 0–2, 5'
        """
        return text.ranks(self.lanes[lane]["ranks"])

    def lane_title(self, lane: int) -> str:
        """Return a lane's name; if several ranks share it, also the rank whose values it shows.

        >>> Graph({"program": {}, "values": [], "ops": [], "lanes": [{"ranks": [0, 1]}]}).lane_title(0)
        'ranks 0, 1 (values of rank 0)'
        """
        first, *others = self.lanes[lane]["ranks"]
        values = bool(others) and not self.view.show.isdisjoint(("values", "grads"))
        return self.lane_name(lane) + f" (values of rank {first})" * values

    def whose(self, node: Node) -> str:
        """Return the title of a node's lane, or the ranks of its lanes if there are several."""
        if len(node.lanes) == 1:
            return self.lane_title(node.lanes[0])
        return text.ranks(sorted(rank for lane in node.lanes for rank in self.lanes[lane]["ranks"]))

    def elements(self, value: int) -> int:
        """Return the number of elements of a value; 0 if the record does not have it."""
        return math.prod(self.values[value]["shape"]) if value in self.values else 0

    def band(self, node: Node) -> dict | None:
        """Return the band of a node in a story; that of its first use for a leaf."""
        if not self.bands:
            return None
        if node.is_op:
            number = node.record["band"]
        else:
            uses = [edge.target.record["band"] for edge in self.edges if edge.source is node]
            number = min([use for use in uses if use is not None], default=None)
        return None if number is None else self.bands[number]

    def gradient(self, value: int, origin: Origin | None = None) -> dict | None:
        """Return the record's entry for the gradient of `value`, of one backward pass if it is named, or None."""
        return self.values.get((self.gradients if origin is None else origin.gradients).get(value))

    def passes_apart(self, value: int) -> list[Origin | None]:
        """Return the passes that reach a value, whose gradients are apart; a list of None if the picture shows only one."""
        return self.passes_of(self.back.get(value, ()), self.having.get(value, ()))

    def passes_of(self, flows: Iterable[dict], others: Iterable[Origin] = ()) -> list[Origin | None]:
        """Return the passes of some contributions, and others, in their order; a list of None as for `passes_apart`."""
        if len(self.origins) < 2:
            return [None]
        through = {self.origin_of[flow["run"]] for flow in flows if flow.get("run") in self.origin_of}
        return [*sorted(through.union(others), key=self.turns.__getitem__)]

    def grad_words(self, value: int, origin: Origin | None) -> str:
        """Return what the `.grad` of a leaf holds after a pass if it was not empty before."""
        return self.accumulated.words(value, self.origin_of if origin is None else origin.runs)

    def tangent(self, value: int) -> dict | None:
        """Return the record's entry for the tangent of `value`, or None."""
        return self.values.get(self.tangents.get(value))

    def contributions(self, value: int, origin: Origin | None = None) -> list[dict | None]:
        """Return the contributions to the gradient of `value`, one per edge; None for one that the record lacks."""
        flows = [flow for flow in self.back.get(value, ()) if origin is None or flow.get("run") in origin.runs]
        return [self.values.get(flow["gives"]) for flow in flows]

    def adds(self, value: int) -> bool:
        """Return True if several contributions of one pass add up at a value."""
        return any(len(self.contributions(value, one)) > 1 for one in self.passes_apart(value))

    def styled(self, style: str, origin: Origin | None) -> str:
        """Return the name of a style in the colour of a pass; the first pass has the usual one."""
        turn = 0 if origin is None else self.turns[origin] % STYLES
        return style if not turn else f"{style}-{turn + 1}"

    def saved(self, op: dict, freed: bool = False) -> dict[int, int]:
        """Return the bytes of each tensor that an operation saves for backward, or only of those that backward `freed`."""
        kept = [entry for entry in op.get("saved", ()) if not freed or entry.get("freed_by") is not None]
        return {entry["value"]: entry["bytes"] for entry in kept}

    def saved_bytes(self) -> int:
        """Return the bytes saved for backward by all operations; a tensor saved several times counts once."""
        return sum({value: size for op in self.ops for value, size in self.saved(op).items()}.values())

    def _read(self) -> None:
        """Look up the names, gradients and tangents of values."""
        from minigrad.record.labels import ShownNames  # the record was made by minigrad, so this costs no import time

        values = self.record["values"]
        shown = ShownNames(values)
        self.values, self.names, self.words = {value["id"]: value for value in values}, shown.names, shown.words
        self.rounded = shown.rounded
        self.gradients, self.tangents = self._gradients(), self._tangents()
        self.times = self._times()
        self.origins = origins(self.record)  # the backward passes that it shows
        self.turns = {one: turn for turn, one in enumerate(self.origins)}
        self.origin_of = {run: one for one in self.origins for run in one.runs}
        self.having: dict[int, list[Origin]] = defaultdict(list)  # by value, the passes that gave it a gradient
        for one in self.origins:
            for value in one.gradients:
                self.having[value].append(one)
        self.accumulated = Accumulated(self.record, self.values)
        self.transfers: dict[int, dict[str, list[dict]]] = defaultdict(dict)  # collectives, by operation and pass
        for op in self.record["ops"]:
            if op.get("transfers"):
                self.transfers[op["id"] if op.get("of") is None else op["of"]][op["phase"]] = op["transfers"]

    def _gradients(self) -> dict[int, int]:
        """Return the gradient of each value; if the record names none, the incoming gradient of the operation that made it."""
        known = {int(value): gradient for value, gradient in self.record.get("gradients", {}).items()}
        for op in self.ops:
            for edge in op.get("edges", ()) if len(op["outputs"]) == 1 else ():
                known.setdefault(op["outputs"][0], edge["upstream"])
        if self.error is not None:  # the gradient that came to the operation that raised
            given = [edge for op in self.ops for edge in op.get("edges", ()) if edge["upstream"] is not None]
            many = Counter(edge["input"] for edge in given)
            known = {edge["input"]: edge["gives"] for edge in given if many[edge["input"]] == 1} | known
        return known

    def _tangents(self) -> dict[int, int]:
        moved = [op["tangents"] for op in self.record["ops"] if op.get("tangents")]
        return {int(value): tangent for tangents in moved for value, tangent in tangents.items()}

    def _reads(self) -> dict[int, list[dict]]:
        """Return the reads by Python where no gradient passes, by value; not those of a result, which is often printed."""
        found: dict[int, list[dict]] = defaultdict(list)
        boxed = {v for op in self.ops if is_cut(op) and not op.get("call") for v in op["inputs"] if isinstance(v, int)}
        for read in self.record.get("reads", ()):
            if read.get("cut") and read["value"] not in self.outputs | boxed:
                found[read["value"]].append(read)
        return found

    def _times(self) -> dict[str, Counter]:
        """Return the seconds of each operation by pass, if the record has them."""
        known, found = self.record.get("times") or {}, {name: Counter() for name in PASSES}
        own = {op["id"] for op in self.ops}
        for op in self.record["ops"] if known else ():
            for name, of in (("forward", op["id"]), (op["phase"], op.get("of"))):
                if of in own and name in found:
                    found[name][of] += known.get(str(op["id"]), 0.0)
        return found

    def _build(self) -> None:
        made = {value: (op["id"], port) for op in self.ops for port, value in enumerate(op["outputs"])}
        uses = Counter(i for op in self.ops for i in op["inputs"] if not isinstance(i, dict) and i not in made)
        homes: dict[int, Node] = {}  # by operation
        leaves: dict[int, Node] = {}
        first: dict[int, int] = {}  # by leaf, the index of the operation that uses it first
        copies: Counter = Counter()
        held, hidden = self._held(uses), self._without_gradient(uses)
        # boxes of a slide are large, and an edge from a leaf to the next but one would pass below the card between
        many = 1 if self.view.slide and any("folded" in op for op in self.ops) else MANY
        for time, op in enumerate(self.ops):
            node = _operation(op, op["id"] == self.failing)
            pending = list(op.get("edges", ()))
            slot = 0
            for i, value in enumerate(op["inputs"]):
                if isinstance(value, dict):  # a Python constant: it is text on the card
                    continue
                flow = _take(pending, value, last=value not in op["inputs"][i + 1 :]) if pending else None
                if value in held and node.kind != "transfer":
                    node.held.append(Held(value, flow))
                    continue
                if value in hidden and (i or "." in (self.values[value].get("name") or "")):
                    node.held += [Held(value)] * (not i)
                    continue
                if value in made and made[value][0] in homes:
                    source, port = homes[made[value][0]], made[value][1]
                elif value in leaves and (uses[value] > many or time - first[value] > FAR):
                    copies[value] += 1
                    source, port = Node(f"value-{value}-copy-{copies[value]}", "copy", self.values[value], [value]), 0
                    self.nodes.append(source)
                else:
                    source, port = self._leaf(value, leaves), 0
                    first.setdefault(value, time)
                edge = Edge(f"edge-{value}-{op['id']}-{slot}", value, source, port, node, slot, flow)
                node.inputs.append(edge)
                self.edges.append(edge)
                slot += 1
            homes[op["id"]] = node
            self.nodes.append(node)
            if node.kind == "error" and not node.inputs:  # it comes after all that ran
                self.ends[1].append(node.key)
        for value in sorted(self.outputs - set(made) - set(self.gradients.values())):  # an output that is an input
            self._leaf(value, leaves)

    def take_out(self, node: Node) -> None:
        """Give the parameters inside an operation's card cards and edges, in the order of its arguments."""
        order = tensors(node.record)
        for held in node.held:
            leaf = Node(f"value-{held.value}", self.kind(held.value), self.values[held.value], [held.value])
            self.nodes.insert(self.nodes.index(node), leaf)
            key = f"edge-{held.value}-{node.record['id']}-{order.index(held.value)}"
            node.inputs.append(Edge(key, held.value, leaf, 0, node, 0, held.flow))
            self.edges.append(node.inputs[-1])
        node.held = []
        node.inputs.sort(key=lambda edge: order.index(edge.value))
        for slot, edge in enumerate(node.inputs):
            edge.slot = slot

    def _held(self, uses: Counter[int]) -> set[int]:
        """Return the leaves inside the card of the only operation that uses them.

        They are the parameters and buffers of modules; beyond SMALL operations, all parameters.
        """
        once = {v for v, many in uses.items() if many == 1 and v not in self.outputs}
        if self.lanes or self.view.full:
            return set()
        if self.operations > SMALL or self.view.brief:
            return {v for v in once if self.kind(v) == "parameter"}
        return {v for v in once if "." in (self.values[v].get("name") or "")}

    def _without_gradient(self, uses: Counter[int]) -> set[int]:
        """Return the leaves that a picture of many operations leaves out: no gradient, and no variable of the program."""
        if self.lanes or self.view.full or self.operations <= SMALL or "backward" not in self.passes:
            return set()
        named = lambda v: (name := self.values[v].get("name") or "") and "." not in name
        return {v for v in uses if self.kind(v) != "parameter" and v not in self.gradients and not named(v)}

    def _leaf(self, value: int, leaves: dict[int, Node]) -> Node:
        if value not in leaves:
            leaves[value] = Node(f"value-{value}", self.kind(value), self.values[value], [value])
            self.nodes.append(leaves[value])
        return leaves[value]


def _operation(op: dict, failing: bool) -> Node:
    """Return the node of an operation, or of a box of several."""
    if failing:
        return Node(f"op-{op['id']}", "error", op, op["outputs"])
    if inner := op.get("folded"):
        return Node(f"fold-{inner['ops'][0]}-{inner['ops'][-1]}", "fold", op, op["outputs"])
    kind = "transfer" if op.get("transfers") else "function" if op.get("function") else "cut" if is_cut(op) else "op"
    return Node(f"op-{op['id']}", kind, op, op["outputs"])


def is_cut(op: dict) -> bool:
    """Return True for an operation of the program through which no gradient passes."""
    return bool(op.get("cut")) and op["phase"] == "forward"


def is_detached(op: dict) -> bool:
    """Return True for a call that only takes a tensor out of its history: its result is the same value."""
    from minigrad.record.schema import CALLS  # the record was made by minigrad, so this costs no import time

    one = len(op["outputs"]) == 1 and [type(i) for i in op["inputs"]] == [int]
    return one and is_cut(op) and op["cut"] == op["name"] in CALLS


def _take(flows: list[dict], value: int, last: bool) -> dict | None:
    """Take the next contribution to `value`: the record lists them in the order of the arguments.

    Of several passes, each has one.  The last argument takes all that are left: an operation with several outputs may
    contribute once for each of them.
    """
    here = [flow for flow in flows if flow["input"] == value]
    taken = here if last else [*{flow.get("run"): flow for flow in reversed(here)}.values()][::-1]
    for flow in taken:
        flows.remove(flow)
    if len(taken) > 1:
        said = {(flow.get("formula"), flow.get("run") is None) for flow in taken}
        apart = len({flow.get("run") for flow in taken}) == len(taken)
        same = {key: taken[0].get(key) for key in ("formula", "latex", "names")} if apart and len(said) == 1 else {}
        words = {"formula": f"{len(taken)} contributions", **same}
        return {"input": value, **words, "upstream": None, "gives": None, "parts": taken}
    return taken[0] if taken else None
