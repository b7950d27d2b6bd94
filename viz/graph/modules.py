"""Modules in a picture: their names and classes, and the frames around the cards of those that are open."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from itertools import accumulate, groupby
from typing import TYPE_CHECKING

from .. import text

if TYPE_CHECKING:
    from .drawn_graph import Graph, Node


BEGUN = re.compile(r"\.weight_ih_l(\d+(_reverse)?)$")  # the parameter that a layer of a recurrent module reads first
LAYER = re.compile(r" layer \d+( reverse)?$")


@dataclass
class Region:
    """An open module: the cards in its frame, in order, and the frames inside of it."""

    path: tuple[str, ...]
    title: str = ""
    nodes: list[Node] = field(default_factory=list)
    inner: list[Region] = field(default_factory=list)

    @property
    def all(self) -> list[Node]:
        """All nodes in the frame, also those in inner frames."""
        return self.nodes + [node for one in self.inner for node in one.all]

    def within(self, keys: Container[str]) -> Region | None:
        """Return the part of a frame whose cards have these keys, as those of one row of a slide; None if there are none."""
        inner = [part for one in self.inner if (part := one.within(keys))]
        nodes = [node for node in self.nodes if node.key in keys]
        return Region(self.path, self.title, nodes, inner) if inner or nodes else None

    @property
    def key(self) -> str:
        """The id of the frame in the picture: module-3-9, after its first and last operation."""
        ids = [i for node in self.all if node.is_op for i in ids_of(node.record)]
        return f"module-{min(ids)}-{max(ids)}"


def ids_of(op: dict) -> list[int]:
    """Return the ids of the operations that an entry stands for, with hidden views."""
    return op["folded"]["ops"] if "folded" in op else [op["id"], *op.get("hides", ())]


def tensors(op: dict) -> list[int]:
    """Return the values that an operation reads."""
    return [value for value in op["inputs"] if not isinstance(value, dict)]


def in_order(needs: Mapping[int, Collection[int]]) -> list[int]:
    """Return numbers so that each comes after those that it needs, and else in their order; without those in a circle.

    >>> in_order({0: [2], 1: [], 2: [1], 3: [4], 4: [3]})
    [1, 2, 0]
    """
    sorter, ready, done = TopologicalSorter(needs), [], []
    with suppress(CycleError):
        sorter.prepare()
    while sorter.is_active():
        for i in sorter.get_ready():
            heappush(ready, i)
        done.append(heappop(ready))
        sorter.done(done[-1])
    return done


def module_name(levels: Sequence[str]) -> str:
    """Return the name of the innermost of nested modules, as Python writes it.

    >>> module_name(["Net", "layers", "layers.0"]), module_name(["net", "4", "4.0"]), module_name(["Net"])
    ('layers[0]', 'net[4][0]', 'Net')
    """
    if len(levels) < 2:
        return str(*levels)
    first, *rest = levels[-1].split(".")
    begun = f"{levels[0]}[{first}]" if first.isdigit() else first
    return begun + "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in rest)


def module_title(levels: Sequence[str], classes: Mapping[str, Mapping[str, str]]) -> str:
    """Return the name of a module and its class, if the record has it."""
    kind = classes.get(levels[0], {}).get(levels[-1] if len(levels) > 1 else "")
    return module_name(levels) + (f" · {kind}" if kind else "")


def with_variables(record: dict) -> dict:
    """Return the record with the variable of an outermost module before its class, where a parameter's name tells it.

    Each layer of a recurrent module becomes a module in it.

    >>> values = [{"id": 0, "name": "net.0.weight"}, {"id": 1, "name": ""}]
    >>> op = {"phase": "forward", "inputs": [0, 1], "module": ["Sequential", "0"]}
    >>> made = with_variables({"program": {"classes": {"Sequential": {"0": "Linear"}}}, "values": values, "ops": [op]})
    >>> made["ops"][0]["module"], module_title(["net", "0"], made["program"]["classes"])
    (['net', '0'], 'net[0] · Linear')
    """
    if not any(op.get("module") for op in record["ops"]):
        return record
    names = {value["id"]: value.get("name") or "" for value in record["values"]}
    known = record["program"].get("classes", {})
    classes, found = dict(known), {}
    forward = [op for op in record["ops"] if op["phase"] == "forward"]
    for outermost, group in groupby(forward, lambda op: (op.get("module") or [""])[0]):
        stretch = list(group)
        owners = [variable_of(op, names) for op in stretch] if outermost else []
        now, layer, within = next(filter(None, owners), ""), "", []
        for op, owner in zip(stretch, owners):
            now = owner or now
            own = now and now.lower() != outermost.lower()  # else it has no variable, and is called after its class
            path = [now if own else outermost, *op["module"][1:]] if outermost else []
            if own:
                found[id(op)] = path
                classes[now] = {**known.get(outermost, {}), "": outermost}
            reads = [BEGUN.search(names.get(i, "")) for i in tensors(op)]
            begun = next((one[1] for one in reads if one), "")
            layer, within = (begun, path) if begun else (layer, within)
            if layer and path == within:
                found[id(op)] = [*path, f"{module_name(path)} layer {layer.replace('_', ' ')}"]
    ops = [{**op, "module": found[id(op)]} if id(op) in found else op for op in record["ops"]]
    return {**record, "program": {**record["program"], "classes": classes}, "ops": ops}


def steps_of(level: str, ops: list[dict]) -> int:
    """Return the number of time steps in a layer of nn.LSTM, nn.GRU or nn.RNN; 0 for another module."""
    weights = [op["inputs"][1] for op in ops if op["name"] == "linear"] if LAYER.search(level) else []
    return max(Counter(weights).values(), default=0)


def variable_of(op: dict, names: Mapping[int, str]) -> str:
    """Return the variable of the outermost module around an operation, from the names of its parameters; "" if unknown."""
    levels = op["module"]
    inside = f".{levels[-1]}." if len(levels) > 1 else "."
    for value in tensors(op):
        before, dot, rest = names.get(value, "").partition(inside)
        if dot and (len(levels) > 1 or "." not in rest):
            return before
    return ""


def calls(ops: Sequence[dict]) -> dict[int, int]:
    """Return by operation the number of the call of its outermost module.

    A module that is called several times in a row begins again with its first operation, and no call reads a result of
    another one, as a round of a loop in its forward does.

    >>> op = {"name": "sin", "module": ["Net"]}
    >>> calls([{**op, "id": i, "inputs": [i], "outputs": [i + 10]} for i in range(3)])
    {0: 1, 1: 2, 2: 3}
    >>> calls([{**op, "id": i, "inputs": [i], "outputs": [i + 1]} for i in range(3)])
    {0: 1, 1: 1, 2: 1}
    """
    found: dict[int, int] = {}
    number = 0
    for outermost, group in groupby(ops, lambda op: (op.get("module") or [""])[0]):
        stretch = [*group]
        begin = lambda op: (op.get("module"), op.get("function") or op["name"])
        turns = [*accumulate(int(begin(op) == begin(stretch[0])) for op in stretch)]
        made = {value: turn for op, turn in zip(stretch, turns) for value in op["outputs"]}
        alone = all(made.get(value, turn) == turn for op, turn in zip(stretch, turns) for value in tensors(op))
        found |= {op["id"]: number + (turn if outermost and alone else 1) for op, turn in zip(stretch, turns)}
        number = found[stretch[-1]["id"]]
    return found


def open_modules(graph: Graph) -> tuple[list[Region], dict[str, str]]:
    """Return the frames of the modules that are open, and by card the name of the module that runs only its operation."""
    classes = graph.record["program"].get("classes", {})
    readers = Counter(edge.value for edge in graph.edges)
    whole = Region(())
    around, numbers, call = [whole], calls(graph.ops), 0
    for node in graph.nodes:
        if not node.is_op:
            continue
        if numbers[node.record["id"]] != call:
            call, around = numbers[node.record["id"]], [whole]
        path = tuple(node.record.get("module") or ())
        while around[-1].path != path[: len(around) - 1]:
            around.pop()
        while len(around) <= len(path):
            levels = path[: len(around)]
            around[-1].inner.append(Region(levels, text.clean(module_title(levels, classes))))
            around.append(around[-1].inner[-1])
        around[-1].nodes += [*own_leaves(graph, node, readers), node]
    alone: dict[str, str] = {}
    return ([] if graph.bands or graph.lanes else list(kept(whole, alone, classes))), alone


def own_leaves(graph: Graph, node: Node, readers: Mapping[int, int]) -> Iterator[Node]:
    """Yield the cards of parameters that only this operation reads: the frame of its module has them, too."""
    for edge in node.inputs:
        named = "." in (graph.values[edge.value].get("name") or "")
        if not edge.source.is_op and (edge.source.kind == "copy" or named and readers[edge.value] == 1):
            yield edge.source


def kept(region: Region, alone: dict[str, str], classes: Mapping) -> Iterator[Region]:
    """Yield the frames inside of a region that hold at least two operations; others leave their cards to the region."""
    for one in region.inner:
        inner = list(kept(one, alone, classes))
        one.inner = inner
        ops = [node for node in one.all if node.is_op]
        if len(ops) > 1 and (one.nodes or len(inner) != 1):
            yield one
            continue
        yield from inner
        region.nodes += one.nodes
        outermost, *deeper = one.path
        named = deeper or "" in classes.get(outermost, {})
        if named and len(ops) == 1 and ops[0].kind != "fold" and tuple(ops[0].record["module"]) == one.path:
            alone[ops[0].key] = text.clean(module_name(one.path))
