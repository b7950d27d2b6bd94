"""Folding: operations that belong together become one box with a count.

A box holds consecutive operations of the program, those of a module, a function, a source line or a loop iteration, so a
folded graph never has cycles.  The result is a Graph like any other, and every format can draw it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from math import ceil, inf

from .. import text
from ..view import SMALL
from . import cuts
from .drawn_graph import Graph
from .modules import calls, ids_of, module_name, module_title, steps_of, tensors
from .repeats import loop_of, mark, place, repeats, rounds_of
from .views import grouped, hidden_views, name_hidden, without_dead_ends, words_after

MOST = 40  # nodes; a graph with more is folded
ALIKE = 4  # equal neighbours: from this many on, all but the first are in one box
FEW = 8  # boxes; a folding with fewer shows too little of a large graph

Key = Callable[[dict], tuple]


@dataclass
class Box:
    """Operations that become one node, and its name."""

    kind: str  # module | function | line | round | repeat | run, of neighbouring operations | views
    name: str
    start: int  # index of its first operation
    stop: int  # index after its last operation
    times: int = 1  # the number of equal stretches in it


class Folding:
    """A way to fold a graph: consecutive operations with the same key form a box."""

    def __init__(self, graph: Graph, kind: str, key: Key):
        self.ops, self.kind, self.key = graph.ops, kind, key
        self.classes = graph.record["program"].get("classes", {})
        # a box stays in one lane or pass, and a collective is never in a box, nor an operation that raised
        alone = lambda op: op.get("transfers") or op["id"] == graph.failing
        numbers = calls(self.ops) if kind == "module" else {}
        places = [(*within(op), numbers.get(op["id"]), op["id"] if alone(op) else None) for op in self.ops]
        marks = [(place, key(op)) for place, op in zip(places, self.ops)]
        self.starts = [i for i, mark in enumerate(marks) if not i or mark != marks[i - 1]]
        self.places = [places[i] for i in self.starts]

    def boxes(self, together: int = 1) -> list[Box]:
        """Return the boxes, each of up to `together` neighbouring groups of one lane."""
        firsts: list[int] = []
        for n, lane in enumerate(self.places):
            if not firsts or n - firsts[-1] == together or lane != self.places[n - 1]:
                firsts.append(n)
        ends = [*firsts[1:], len(self.starts)]
        starts = [*self.starts, len(self.ops)]
        return [Box(self.kind, self.span(n, end - 1), starts[n], starts[end]) for n, end in zip(firsts, ends)]

    def span(self, first: int, last: int) -> str:
        """Return the name of a box that spans several groups."""
        one, other = self.title(first), self.title(last)
        if one == other:
            return one
        one, other = (name.partition(" · ")[0] for name in (one, other))
        return f"iterations {first + 1} to {last + 1}" if self.kind == "round" else f"{one} to {other}"

    def title(self, place: int) -> str:
        """Return the name of one group of operations."""
        op = self.ops[self.starts[place]]
        where = op.get("where") or {}
        if self.kind == "round":
            return f"iteration {place + 1}"
        levels = self.key(op) or ("",)
        if self.kind == "line" or self.kind == "function" and not levels[0]:
            end = [*self.starts, len(self.ops)][place + 1]
            places = [one.get("where") or {} for one in (op, self.ops[end - 1])]
            lines = [text.clean(at.get("code") or "").strip() or f"line {at.get('line', '?')}" for at in places]
            return " to ".join(dict.fromkeys(lines))
        if levels == ("", op["id"]):  # an operation by itself
            return op.get("function") or op["name"]
        if levels[0] and op.get("module"):
            return module_title(levels, self.classes)
        name = str(levels[-1] or "").rpartition(".<locals>.")[2]
        return name or text.file_name(where.get("file")) or "operations"


def fold(graph: Graph, most: int | None = MOST, depth: int | None = None) -> Graph:
    """Return the graph itself if it has at most `most` nodes, else a folded one that does; None means no limit.

    A graph of more than SMALL operations hides its views first, and folds equal modules after the first.  A graph that is
    larger than `most` also folds the rounds of loops, and modules from the inside out, level by level, so equal neighbours
    are all folded or all open.  Other programs fold by line, function or stretches.

    `depth` is the number of levels that stay open, whatever the size.  An operation's levels are the modules around it, or
    its function if there are none.

    >>> value = {"kind": "computed", "name": "", "shape": [], "dtype": "float64", "device": "cpu", "bytes": 8}
    >>> op = {"phase": "forward", "name": "sin", "where": {"file": "f.py", "line": 1, "code": "y = y.sin()"}}
    >>> ops = [{**op, "id": i, "inputs": [i], "outputs": [i + 1]} for i in range(100)]
    >>> values = [{**value, "id": i} for i in range(101)]
    >>> graph = fold(Graph({"program": {}, "values": values, "ops": ops, "outputs": [100]}), most=20)
    >>> graph.nodes[2].record["name"], len(graph.nodes) <= 20
    ('y = y.sin()', True)
    """
    if most is not None and "views" not in graph.view.show and not (graph.view.full or graph.lanes or graph.bands):
        graph = without_dead_ends(graph)
        if graph.operations > SMALL or graph.view.brief:
            graph = without_views(graph)
    if depth is not None:
        graph = Uses(graph).folded(Folding(graph, "module", at_depth(depth)).boxes())
    if most is None or len(graph.nodes) <= most and (depth is not None or graph.operations <= SMALL or graph.view.full):
        return graph
    return by_modules(graph, most) or by_size(graph, most)


def without_views(graph: Graph) -> Graph:
    """Return the graph with each view on the card of the operation whose result it looks at."""
    groups = grouped(graph)
    if len(groups) == len(graph.ops):
        return graph
    record = {**graph.record, "ops": [op for group in groups for op in group]}
    ordered, boxes, start = Graph(record, graph.view, graph), [], 0
    for group in groups:
        boxes.append(Box("views", "", start, start + len(group)))
        start += len(group)
    name_hidden(ordered, [op for group in groups for op in hidden_views(group)])
    return Uses(ordered).folded(boxes)


@dataclass
class Part:
    """A stretch of operations: a module with its parts, a single operation, or equal neighbours, which stay in one box."""

    start: int
    stop: int
    path: tuple = ()  # the modules around its operations, each with its lanes
    parts: list[Part] = field(default_factory=list)
    box: Box | None = None  # that it stays in

    @property
    def levels(self) -> list[str]:
        """The names of the modules around its operations."""
        return [level for level, *_ in self.path]

    def boxes(self, level: int, classes: Mapping) -> Iterator[Box]:
        """Yield the boxes of a picture in which the modules of the outer levels are open."""
        if self.box:
            yield self.box
        elif not self.parts or len(self.path) > level:
            yield Box("module", module_title(self.levels, classes) if self.path else "", self.start, self.stop)
        else:
            for part in self.parts:
                yield from part.boxes(level, classes)


def tree(ops: list[dict]) -> Part:
    """Return the operations as a tree of modules."""
    around, numbers = [Part(0, len(ops))], calls(ops)
    for i, op in enumerate(ops):
        levels = () if op.get("transfers") else op.get("module", ())
        path = tuple((level, *within(op), numbers[op["id"]]) for level in levels)
        while around[-1].path != path[: len(around) - 1]:
            around.pop()
        while len(around) <= len(path):
            part = Part(i, i, path[: len(around)])
            around[-1].parts.append(part)
            around.append(part)
        around[-1].parts.append(Part(i, i + 1, path))
        for part in around[1:]:
            part.stop = i + 1
    return around[0]


def by_modules(graph: Graph, most: int) -> Graph | None:
    """Fold equal neighbours after the first, and modules from the inside out, all those of a level; None if that is too much.

    In a graph that needs no folding, only equal modules are folded.
    """
    uses, classes = Uses(graph), graph.record["program"].get("classes", {})
    deepest = max((len(op.get("module", ())) for op in graph.ops), default=0)
    if len(graph.nodes) <= most:
        boxes = list(together(graph.ops, tree(graph.ops), True).boxes(deepest, classes))
        return uses.folded(boxes) if len(boxes) < len(graph.ops) else graph
    whole = together(graph.ops, tree(graph.ops), False)
    for level in range(deepest, -1, -1):
        made = uses.folded(list(whole.boxes(level, classes)))
        if len(made.nodes) <= most and (level == deepest or len(made.nodes) >= FEW):
            return made
    for level in range(1, deepest + 1):
        boxes = list(without_singles(graph.ops, list(whole.boxes(level, classes))))
        if len(boxes) >= FEW // 2 and len((made := uses.folded(boxes)).nodes) <= most:
            return made
    return None


def without_singles(ops: list[dict], boxes: list[Box]) -> Iterator[Box]:
    """Yield the boxes with each run of neighbouring single operations as one box; boxes of several stay as they are."""
    path = lambda op: tuple(op.get("module", ()))
    inside = Counter(path(op)[:n] for op in ops for n in range(1, len(path(op)) + 1))
    name = lambda op: module_name(path(op)) if inside[path(op)] == 1 else op.get("function") or op["name"]
    single = lambda box: box.stop - box.start == 1 and not ops[box.start].get("transfers")
    for _, run in groupby(boxes, lambda box: within(ops[box.start]) if single(box) else (box.start, box.stop)):
        first, *_, last = [*run] * 2
        title = f"{name(ops[first.start])} to {name(ops[last.start])}"
        yield first if first is last else Box("run", title, first.start, last.stop)


def together(ops: list[dict], part: Part, modules: bool) -> Part:
    """Put equal neighbours after the first of them into one part: modules, or also the rounds of a loop.

    The time steps of a layer of nn.LSTM are one part, too.
    """
    if part.path and (steps := steps_of(part.levels[-1], ops[part.start : part.stop])):
        part.box = Box("module", f"{part.levels[-1]} · {steps} time steps", part.start, part.stop)
        return part
    part.parts = [together(ops, one, modules) for one in part.parts]
    made, done = [], 0
    for start, period, rounds in repeats([mark(ops[one.start : one.stop]) for one in part.parts]):
        rest = part.parts[start + period : start + period * rounds]
        if rounds < ALIKE or modules and any(one.path == part.path for one in rest[:period]):
            continue
        box = Box("repeat", name_of(ops, part, rest, period), rest[0].start, rest[-1].stop, rounds - 1)
        made += [*part.parts[done : start + period], Part(box.start, box.stop, part.path, box=box)]
        done = start + period * rounds
    part.parts = made + part.parts[done:]
    return part


def name_of(ops: list[dict], around: Part, parts: list[Part], period: int) -> str:
    """Return the name of equal neighbours: that of the first and last module, or the head of their loop."""
    first, last = parts[0], parts[-1]
    if around.path in (first.path, last.path):
        return loop_of(ops[first.start : parts[period - 1].stop])
    one, other = module_name(first.levels), module_name(last.levels)
    return one if one == other else f"{one} to {other}"


def by_size(graph: Graph, most: int) -> Graph:
    """Fold by the kind of group that leaves the most visible, or else by stretches of one kind."""
    uses = Uses(graph)
    found = sorted(foldings(graph), key=lambda one: len(one.starts))
    small = [uses.folded(one.boxes()) for one in found if 1 < len(one.starts) <= most]
    fitting = [made for made in small if FEW <= len(made.nodes) <= most]
    if fitting:
        return max(fitting, key=lambda made: len(made.nodes))
    finer = next((one for one in found if len(one.starts) >= most), found[-1])
    many = len(finer.starts)
    together = ceil(many / max(most, 1))
    while True:
        made = uses.folded(finer.boxes(together))
        if len(made.nodes) <= most or together >= many:
            return made
        together = ceil(together * max(1.1, len(made.nodes) / max(most, 1)))


def foldings(graph: Graph) -> Iterator[Folding]:
    """Yield the ways to fold a graph."""
    # a derivative of a derivative runs the same rule twice without being in a loop
    rounds = rounds_of([op for op in graph.ops if not (graph.bands and op["band"])])
    if max(rounds.values(), default=1) > 1:
        yield Folding(graph, "round", lambda op: (rounds.get(op["id"]),))
    yield Folding(graph, "line", lambda op: (rounds.get(op["id"]), *place(op)[:2]))
    for depth in range(1, max((len(op.get("module", ())) for op in graph.ops), default=0) + 1):
        yield Folding(graph, "module", at_depth(depth))
    yield Folding(graph, "function", lambda op: ((op.get("where") or {}).get("function"),))


def at_depth(depth: int) -> Key:
    """Return a key that groups operations by their outermost `depth` levels; shallower operations stay single."""

    def key(op: dict) -> tuple:
        levels = tuple(op.get("module") or [(op.get("where") or {}).get("function")])
        return levels[:depth] if len(levels) >= depth else ("", op["id"])

    return key


def within(op: dict) -> tuple:
    """Return the lanes of an operation, and its band in a story: no box crosses their borders."""
    return (*op.get("lanes", ()), op.get("band"))


class Uses:
    """The first and last read of each value: they determine the inputs and outputs of any box."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.first: dict[int, int] = {}  # by value, the index of the first operation that reads it
        self.last: dict[int, float] = {}  # and of the last one; outputs are read after all operations
        for at, op in enumerate(graph.ops):
            for value in tensors(op):
                self.first.setdefault(value, at)
                self.last[value] = at
        self.last |= dict.fromkeys(graph.outputs, inf)

    def outside(self, value: int, box: Box) -> bool:
        """Return True if an operation outside a box reads a value."""
        if value not in self.last:
            return False
        return self.first.get(value, inf) < box.start or self.last[value] >= box.stop

    def folded(self, boxes: list[Box]) -> Graph:
        """Return the graph with one node per box; a box of one operation is that operation."""
        graph = self.graph
        ops = [graph.ops[box.start] if box.stop - box.start == 1 else self.entry(box) for box in boxes]
        return Graph({**graph.record, "ops": ops}, graph.view, graph)

    def entry(self, box: Box) -> dict:
        """Build the record's entry for a box: inputs, outputs, saved tensors and gradient contributions."""
        graph, ops = self.graph, self.graph.ops[box.start : box.stop]
        made = {value for op in ops for value in op["outputs"]}
        read = dict.fromkeys(v for op in ops for v in tensors(op) if v not in made)
        # on a slide each call of a module has all its parameters inside
        own = lambda v: not self.outside(v, box) or graph.view.slide and "." in (graph.values[v].get("name") or "")
        inner = {v for v in read if graph.kind(v) in ("parameter", "constant") and own(v)}
        inputs = [v for v in read if v not in inner]
        outputs = [v for op in ops for v in op["outputs"] if self.outside(v, box)] or ops[-1]["outputs"]
        seen = {*inputs, *outputs}
        tangents = {v: t for op in ops for v, t in op.get("tangents", {}).items() if int(v) in seen}
        saved = {entry["value"]: entry for op in ops for entry in op.get("saved", ())}
        made = {"outputs": outputs, "saved": list(saved.values()), "tangents": tangents}
        if box.kind == "views":
            return self.with_views(ops, made, read)
        return {
            **ops[0],
            **made,
            "name": self.pass_of(ops) or box.name,
            "module": around(ops)[: -1 if box.kind == "module" else None],
            "formula": "",
            "inputs": inputs,
            "inplace": False,
            "function": None,
            "edges": self.flows(ops, inputs),
            "folded": {
                "kind": "pass" if self.pass_of(ops) else box.kind,
                "times": box.times,
                "ops": [i for op in ops for i in ids_of(op)],
                "lines": lines_of(ops),
                "cuts": [sentence for op in ops for sentence in cuts.sentences(graph, op)],
                "names": dict(Counter(op.get("function") or op["name"] for op in ops).most_common()),
                "each": [op.get("function") or op["name"] for op in ops[: len(ops) // box.times] if box.times > 1],
                "parameters": sum(graph.kind(v) == "parameter" for v in inner),
                "elements": sum(graph.elements(v) for v in inner if graph.kind(v) == "parameter"),
                "gradients": [graph.gradients[v] for v in inner if v in graph.gradients],
            },
        }

    def pass_of(self, ops: list[dict]) -> str:
        """Return the title of the backward or jvp pass of a story whose operations these are; "" for a part of one."""
        bands, number = self.graph.bands, ops[0].get("band")
        if not bands or number is None or not bands[number]["hue"]:
            return ""
        return bands[number]["title"] * (len(ops) == sum(op["band"] == number for op in self.graph.ops))

    def with_views(self, ops: list[dict], made: dict, read: dict[int, None]) -> dict:
        """Return the entry of an operation with the views of its inputs and of its result."""
        hidden = hidden_views(ops)
        main = next(op for op in ops if op not in hidden)
        inputs = [*read, *(v for v in main["inputs"] if isinstance(v, dict))]
        then = words_after(self.graph, ops[ops.index(main) + 1 :])
        hides = [op["id"] for op in hidden]
        edges = self.flows(ops, list(read))
        return {**main, **made, "inputs": inputs, "edges": edges, "pushes": [], "then": then, "hides": hides}

    def flows(self, ops: list[dict], inputs: list[int]) -> list[dict]:
        """Return a box's contribution to each input; for a sum, the input's gradient if nothing else adds to it."""
        graph, found = self.graph, defaultdict(list)
        for op in ops:
            for flow in op.get("edges", ()):
                found[flow["input"]].append(flow)
        flows = []
        for value in inputs:
            parts = found.get(value, [])
            if parts:
                whole = graph.gradients.get(value) if len(parts) == len(graph.back[value]) else None
                gives = parts[0]["gives"] if len(parts) == 1 else whole
                words = parts[0].get("formula", "") if len(parts) == 1 else f"{len(parts)} contributions"
                flows.append({"input": value, "formula": words, "upstream": None, "gives": gives})
        return flows


def around(ops: list[dict]) -> list[str]:
    """Return the modules around all of some operations."""
    shared = zip(*(op.get("module", ()) for op in ops))
    return [level[0] for level in takewhile(lambda level: len(set(level)) == 1, shared)]


def lines_of(ops: list[dict]) -> list[int]:
    """Return the first and last source line of operations, if they are all in one file."""
    places = [place(op)[:2] for op in ops]
    numbers = [line for file, line in places if file and file == places[0][0]]
    return [min(numbers), max(numbers)] if len(numbers) == len(places) else []
