"""Merge the records of several ranks into one: equal ranks share a lane, and a collective is one operation of its lanes.

Each operation comes after the operations that make its inputs, and ids are counted anew.  A message is an output of the
operation that sends it, and an input of the operation that receives it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from minigrad.record.labels import tangent
from minigrad.record.schema import SCHEMA

from ..graph import updates
from ..graph.modules import tensors
from ..view import PASSES

LABEL = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


def lanes_of(records: Sequence[dict]) -> list[list[int]]:
    """Return the ranks of each lane: equal ranks, in the order of their first ranks."""
    found: dict[tuple, list[int]] = {}
    for rank, record in enumerate(records):
        found.setdefault(signature(record), []).append(rank)
    return list(found.values())


def signature(record: dict) -> tuple:
    """Return a key that is equal for ranks with the same operations, inputs, outputs, shapes, lines, gradients and transfers.

    The values' numbers are no part of it.  Ids of values are counted from 0, so ranks may differ in earlier operations.
    """
    order: dict[int | None, int] = {None: -1}
    place = lambda values: tuple(order.setdefault(value, len(order)) for value in values)
    ops = {op["id"]: i for i, op in enumerate(record["ops"])}
    does = []
    for op in record["ops"]:
        where = op["where"]
        flows = [place((edge["input"], edge["upstream"], edge["gives"])) for edge in op["edges"]]
        moved = [
            (t["words"], t["group"], *t["ranks"], t["peer"], t["tag"], t["label"], t["number"] is None)
            for t in op["transfers"]
        ]
        ends = place(tensors(op)), place(op["outputs"]), ops.get(op["of"])
        does.append((op["phase"], op["name"], where["file"], where["line"], *op["module"], *ends, *flows, *moved))
    values = {value["id"]: value for value in record["values"]}
    shapes = [(values[v]["kind"], *values[v]["shape"], values[v]["dtype"]) for v in order if v is not None]
    return (*does, *shapes, place(record["outputs"]), *record["program"]["passes"])


def merged(records: Sequence[dict], apart: bool = False) -> dict:
    """Return the record of all ranks; `apart` gives each rank its own lane, even equal ranks.

    >>> merged([{"program": {"passes": ["forward"]}, "values": [], "ops": [], "outputs": [], "gradients": {}}] * 3)["lanes"]
    [{'ranks': [0, 1, 2]}]
    """
    lanes = [[rank] for rank in range(len(records))] if apart else lanes_of(records)
    parts = [_Part(i, ranks, records[ranks[0]], records) for i, ranks in enumerate(lanes)]
    made = _Merge(parts)
    ran = {name for part in parts for name in part.record["program"]["passes"]}
    return {
        "schema": SCHEMA,
        "program": {**records[0]["program"], "passes": [name for name in PASSES if name in ran]},
        "values": made.values,
        "ops": made.ops,
        "outputs": [part.values[v] for part in parts for v in part.record["outputs"]],
        "gradients": {str(value): gradient for value, gradient in made.gradients.items()},
        "lanes": [{"ranks": ranks} for ranks in lanes],
    }


class _Part:
    """The record of a lane's first rank, and the ids of its values and operations in the merged record."""

    def __init__(self, lane: int, ranks: list[int], record: dict, records: Sequence[dict]):
        self.lane, self.ranks, self.record = lane, ranks, record
        self.values: dict[int, int] = {}
        self.ops: dict[int, int] = {}
        self.labels: dict[str, str] = {}
        same = zip(*(records[rank]["ops"] for rank in ranks))
        self.transfers = {ops[0]["id"]: [t for op in ops for t in op["transfers"]] for ops in same}  # of all its ranks

    def words(self, formula: str) -> str:
        """Return a formula with the labels of the merged record."""
        return LABEL.sub(lambda m: self.labels.get(m[0], m[0]), formula)


Entry = tuple[_Part, int]  # an operation of a lane


class _Merge:
    """The operations and values of all lanes."""

    def __init__(self, parts: list[_Part]):
        self.values: list[dict] = []
        for part in parts:
            self._take_values(part)
        sends = dict(messages(parts))
        order = in_order(parts, sends)
        for i, together in enumerate(order):
            for part, op in together:
                part.ops[op["id"]] = i
        self.ops = [joined([renumbered(part, op) for part, op in together]) for together in order]
        self.gradients = {p.values[int(v)]: p.values[g] for p in parts for v, g in p.record["gradients"].items()}
        for (part, op), (source, sent) in sends.items():
            self._deliver(self.ops[source.ops[sent]], self.ops[part.ops[op]])

    def _take_values(self, part: _Part) -> None:
        suffix = f"_r{part.ranks[0]}" * bool(part.lane)
        for value in part.record["values"]:
            old, part.values[value["id"]] = value["label"], len(self.values)
            part.labels |= {old: old + suffix, tangent(old): tangent(old + suffix)}
            self.values.append({**value, "id": len(self.values), "label": old + suffix, "lanes": [part.lane]})

    def _deliver(self, sender: dict, receiver: dict) -> None:
        """Add an output to the sender that the receiver reads; the gradient flows back from the receiver to the sender."""
        (received, *_), message = receiver["outputs"], len(self.values)
        like, gradient = self.values[received], self.gradients.get(received)
        sent = next(iter(tensors(sender)), received)  # whose name the message has
        label = f"{self.values[sent]['label'].rpartition('_r')[0]}_r{sender['transfers'][0]['rank']}_{message}"
        new = {"id": message, "name": "", "label": label, "kind": "computed", "lanes": sender["lanes"]}
        self.values.append({**like, **new})
        sender["outputs"].append(message)
        receiver["inputs"].append(message)
        if (tangent := receiver["tangents"].get(str(received))) is not None:
            sender["tangents"][str(message)] = receiver["tangents"][str(message)] = tangent
        if gradient is not None and receiver["phase"] == "forward":
            self.gradients[message] = gradient
            flow = {"input": message, "partial": "1", "formula": "g", "latex": "", "upstream": gradient}
            receiver["edges"].append({**flow, "upstreams": [gradient], "gives": gradient})


def renumbered(part: _Part, op: dict) -> dict:
    """Return an operation of a lane with the ids and labels of the merged record."""
    values, ops, words = part.values, part.ops, part.words
    to = lambda value: None if value is None else values[value]
    edges = [
        {**edge, **formula(part, edge), "input": values[edge["input"]], "upstream": to(edge["upstream"])}
        | {"gives": to(edge["gives"]), "upstreams": [to(up) for up in edge["upstreams"]]}
        for edge in op["edges"]
    ]
    saved = [{**one, "value": values[one["value"]], "freed_by": ops.get(one["freed_by"])} for one in op["saved"]]
    same = lambda ran: {inner: values[outer] for inner, outer in ran["same"].items()}
    return {
        **op,
        "id": ops[op["id"]],
        "call": words(op["call"]),
        "inputs": [i if isinstance(i, dict) else values[i] for i in op["inputs"]],
        "outputs": [values[o] for o in op["outputs"]],
        "of": ops.get(op["of"]),
        "saved": saved,
        "edges": edges,
        "tangents": {str(values[int(v)]): values[t] for v, t in op["tangents"].items()},
        "pushes": [{**one, **formula(part, one), "output": values[one["output"]]} for one in op["pushes"]],
        "inside": [{**ran, "same": same(ran)} for ran in op["inside"]],
        "transfers": part.transfers[op["id"]],
        "lanes": [part.lane],
    }


def formula(part: _Part, of: dict) -> dict:
    """Return the formula of an edge or push in the merged record; a formula with names keeps them."""
    if of["names"] is None:
        return {"formula": part.words(of["formula"])}
    return {"names": {word: part.values[value] for word, value in of["names"].items()}}


def joined(ops: list[dict]) -> dict:
    """Combine the operations of a collective, one per lane, into one."""
    first, *others = ops
    if not others:
        return first
    lists = ("inputs", "outputs", "saved", "edges", "pushes", "transfers", "lanes")
    tangents = {value: tangent for op in ops for value, tangent in op["tangents"].items()}
    every = {key: [part for op in ops for part in op[key]] for key in lists}
    return {**first, "call": "", "tangents": tangents, **every}


def with_arithmetic(record: dict) -> dict:
    """Return a record whose updates are arithmetic, as of one process: an operation for each parameter, p -= 0.1 * p.grad.

    What a collective makes of a gradient is `p.grad`, without the copy from a bucket into the `.grad` of its parameter.
    """
    values = {value["id"]: dict(value) for value in record["values"]}
    whose = {gradient: values[int(value)]["shown"] for value, gradient in record["gradients"].items()}
    reduced = {
        new: whose[old]
        for op in record["ops"]
        if op["phase"] == "update" and op["transfers"]
        for old, new in zip(tensors(op), op["outputs"])
        if old in whose
    }
    for new, name in reduced.items():
        values[new]["shown"] = f"{name}.grad"
    copies = {}
    for op in record["ops"]:
        if op["phase"] == "update" and op["name"] == "copy" and (source := tensors(op)[-1]) in reduced:
            (copy,) = op["outputs"]
            copies[copy], values[source]["label"] = source, values[copy]["label"]  # its name in what reads it
    read = lambda i: i if isinstance(i, dict) else copies.get(i, i)
    kept = [op for op in record["ops"] if copies.keys().isdisjoint(op["outputs"])]
    ops = [{**op, "inputs": [*map(read, op["inputs"])]} for op in kept]
    made = {**record, "values": [*values.values()]}
    for lane in range(len(record["lanes"])):
        own = [op for op in ops if op["phase"] == "update" and not op["transfers"] and op["lanes"] == [lane]]
        if steps := updates.steps(made, own):
            ops = [op for op in ops if op not in own] + steps
    return {**made, "ops": ops}


# ---------------------------------------------------------------------- what lanes do together
def collective(op: dict) -> tuple | None:
    """Return a key for a collective, equal on all its ranks: the pass, the group, and its number in the group."""
    of_a_group = [t for t in op["transfers"] if t["number"] is not None]
    return (op["phase"], of_a_group[0]["group"], of_a_group[0]["number"]) if of_a_group else None


def messages(parts: list[_Part]) -> Iterator[tuple[Entry, Entry]]:
    """Return each receiving operation with its sender: a channel keeps the order in which calls begin."""
    sent, received = defaultdict(list), defaultdict(list)
    for part in parts:
        for op in part.record["ops"]:
            for t in part.transfers[op["id"]] if op["phase"] in ("forward", "update") else ():
                if t["number"] is None and t["peer"] is not None:
                    ends = (t["rank"], t["peer"]) if t["name"] == "send" else (t["peer"], t["rank"])
                    channel = sent if t["name"] == "send" else received
                    channel[t["group"], *ends, t["tag"]].append((t["began"], (part, op["id"])))
    in_turn = lambda calls: [entry for _, entry in sorted(calls, key=itemgetter(0))]
    for channel, targets in received.items():
        yield from zip(in_turn(targets), in_turn(sent[channel]))


def in_order(parts: list[_Part], sends: dict[Entry, Entry]) -> list[list[tuple[_Part, dict]]]:
    """Return the operations of all lanes, each after the makers of its inputs, with a list for each collective.

    If the orders of the lanes contradict one another, a collective becomes several operations.
    """
    todo = {part: deque(part.record["ops"]) for part in parts}
    keys = Counter(collective(op) for part in parts for op in part.record["ops"])
    made: list[list[tuple[_Part, dict]]] = []
    done: set[Entry] = set()

    def ready(part: _Part, op: dict) -> bool:
        return (source := sends.get((part, op["id"]))) is None or source in done

    def alone(op: dict) -> bool:
        return (key := collective(op)) is None or keys[key] == 1

    def take(taking: Iterable[_Part]) -> None:
        made.append([(part, todo[part].popleft()) for part in taking])
        done.update((part, op["id"]) for part, op in made[-1])

    while any(todo.values()):
        before = len(made)
        waiting: dict[tuple | None, list[_Part]] = defaultdict(list)
        for part, ops in todo.items():
            while ops and alone(ops[0]) and ready(part, ops[0]):
                take([part])
            if ops and not alone(ops[0]):
                waiting[collective(ops[0])].append(part)
        for key, together in waiting.items():
            if len(together) == keys[key]:
                take(together)
        if len(made) == before:
            part = next(part for part, ops in todo.items() if ops)
            keys[collective(todo[part][0])] = 1
            sends.pop((part, todo[part][0]["id"]), None)
    return made
