"""The graph of any autograd engine as a record: nodes with `value` (or `data`), `grad` and `parents`, such as a learner's own.

A node is drawn with what it has.  `op` names its operation, `local_grads` has the derivative with respect to each parent (a
parent may also be a pair of the node and its derivative), `name` or `label` names its value, `tangent` adds the jvp pass.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Number
from typing import Any

import numpy as np

from minigrad import Tensor
from minigrad.errors import error
from minigrad.record import schema
from minigrad.record.constants import brief
from minigrad.record.labels import Labels
from minigrad.record.summary import summary
from minigrad.record.values import NOWHERE

from ..text import counted

NEEDED = (("value", "data"), ("grad",), ("parents",))
FIX = "give each node the attributes value (or data), grad (None before backward) and parents (a tuple, () for a leaf)"


@dataclass
class GraphRecord(schema.Document):
    """The record of a graph that is not minigrad's; `notes` say why a pass is missing."""

    notes: list[str] = field(default_factory=list)


def is_node(what: Any) -> bool:
    """Return True for an object with two of the three attributes of a node: the third may be forgotten."""
    return (
        not isinstance(what, (type, Tensor)) and sum(any(hasattr(what, name) for name in names) for names in NEEDED) > 1
    )


def record_of_graph(result: Any, variables: Mapping[str, Any]) -> GraphRecord:
    """Return the record of the graph behind a node, with names from the caller's variables.

    The backward pass is as the nodes have it: their gradients, and the contributions where local derivatives are known.
    Raise TypeError for a node without a needed attribute, with parents or values that cannot be drawn, and ValueError for a
    cycle.

    >>> from types import SimpleNamespace as Node
    >>> w = Node(value=3.0, grad=6.0, parents=())
    >>> made = record_of_graph(Node(value=9.0, grad=1.0, parents=(w, w), op="*"), {"w": w})
    >>> made.ops[0].call, made.program["passes"]
    ('w * w', ['forward', 'backward'])
    """
    return Builder(older_first(result, names(variables)), names(variables)).document()


def names(variables: Mapping[str, Any]) -> dict[int, str]:
    """Return names by id: of variables, and of what lists, tuples and dictionaries hold.  No object's own code runs."""
    found: dict[int, str] = {}
    for name, value in variables.items():
        if name == "Out":  # a notebook's results
            continue
        found[id(value)] = name
        parts = dict(enumerate(value)) if type(value) in (list, tuple) else value if type(value) is dict else {}
        for key, part in parts.items():
            if type(key) in (int, str):
                found.setdefault(id(part), f'{name}["{key}"]' if type(key) is str else f"{name}[{key}]")
    return found


def older_first(result: Any, known: Mapping[int, str]) -> list[Any]:
    """Return all nodes behind a node, parents first; a loop, since a graph may be deeper than Python's stack."""
    order: list[Any] = []
    done: set[int] = set()
    above = {id(result)}  # the nodes between the result and the place of the search
    stack = [(result, iter(parents_of(result, known)))]
    while stack:
        node, rest = stack[-1]
        following = next((one for one, _ in rest if id(one) not in done and not is_constant(one)), None)
        if following is None:
            stack.pop()
            above.discard(id(node))
            done.add(id(node))
            order.append(node)
            continue
        if id(following) in above:
            problem = f"{called(following, known)} is computed from itself: the graph has a cycle"
            fix = "make a new node for each result, and keep the parents of old ones"
            raise error(ValueError, "draw", problem, fix)
        above.add(id(following))
        stack.append((following, iter(parents_of(following, known))))
    return order


def parents_of(node: Any, known: Mapping[int, str]) -> list[tuple[Any, Any]]:
    """Return each parent of a node with its local derivative, None where that is unknown."""
    name = called(node, known)
    for wanted in NEEDED:
        if not any(hasattr(node, one) for one in wanted):
            raise error(TypeError, "draw", f"{name} has no {' or '.join(wanted)}", FIX)
    parents = () if node.parents is None else node.parents
    if isinstance(parents, str) or not isinstance(parents, Iterable):
        raise error(TypeError, "draw", f"the parents of {name} are a {type(parents).__name__}, not a tuple", FIX)
    pairs = [one if isinstance(one, tuple) and len(one) == 2 else (one, None) for one in parents]
    for parent, _ in pairs:
        if not is_constant(parent) and not any(hasattr(parent, one) for wanted in NEEDED for one in wanted):
            problem = f"a parent of {name} is a {type(parent).__name__}, neither a node nor a number"
            raise error(TypeError, "draw", problem, FIX)
    local = getattr(node, "local_grads", None)
    if local is None:
        return pairs
    if len(local := list(local)) != len(pairs):
        problem = f"{name} has {counted(len(pairs), 'parent')} and {counted(len(local), 'local derivative')}"
        raise error(ValueError, "draw", problem, "give one local derivative for each parent")
    return [(parent, d) for (parent, _), d in zip(pairs, local)]


def is_constant(parent: Any) -> bool:
    """Return True for a parent that is a number, an array, a tensor, or None."""
    return parent is None or isinstance(parent, (Number, np.ndarray, Tensor))


def called(node: Any, known: Mapping[int, str]) -> str:
    """Return a node's name for an error message."""
    kind = type(node).__name__
    return f"{known[id(node)]} (a {kind})" if id(node) in known else f"a {kind}"


def numbers(of: Any, what: str) -> np.ndarray:
    """Return numbers as an array; raise TypeError for anything else.  The value of a node may be a node of another engine."""
    while is_node(of) and hasattr(of, "parents"):
        of = of.value if hasattr(of, "value") else of.data
    try:
        made = of.detach().numpy() if isinstance(of, Tensor) else np.asarray(of)
    except (TypeError, ValueError):
        made = np.asarray(None)
    if made.dtype.kind not in "biufc":
        raise error(TypeError, "draw", f"{what} is a {type(of).__name__}, not a number, an array or a tensor", FIX)
    return made


def written(local: np.ndarray) -> str:
    """Return a local derivative as text: a number as printed values are."""
    return f"{local.item():.4g}" if local.ndim == 0 else brief(local.tolist())


def operation(node: Any) -> str:
    """Return the name of a node's operation: its `op`, a name, function or class; else the name of the node's class."""
    op = getattr(node, "op", None)
    return op if isinstance(op, str) and op else getattr(op, "__name__", "") or type(op or node).__name__


def call(op: str, names: Sequence[str]) -> str:
    """Return an operation as people write it.

    >>> call("*", ["a", "b"]), call("**2", ["a"]), call("-", ["a"]), call("relu", ["a"])
    ('a * b', 'a**2', '-a', 'relu(a)')
    """
    if re.match(r"\w", op):
        return f"{op}({', '.join(names)})"
    return f" {op} ".join(names) if len(names) > 1 else f"{names[0]}{op}" if re.search(r"\w", op) else f"{op}{names[0]}"


class Builder:
    """Builds the record: a value for each node, gradient and contribution, an operation for each node with parents."""

    def __init__(self, nodes: Sequence[Any], known: Mapping[int, str]):
        self.nodes, self.known = nodes, known
        self.values: list[schema.Value] = []
        self.contents: dict[int, np.ndarray] = {}
        self.ids: dict[int, int] = {}  # id of a node -> its value
        users = [{id(parent) for parent, _ in parents_of(node, known)} for node in nodes]
        self.users = Counter(one for parents in users for one in parents)

    def document(self) -> GraphRecord:
        """Return the whole record, with the passes that the nodes have."""
        for node in self.nodes:
            given = getattr(node, "name", None) or getattr(node, "label", None)
            name = given if isinstance(given, str) else self.known.get(id(node), "")
            kind = "computed" if parents_of(node, self.known) else "parameter"
            data = node.value if hasattr(node, "value") else node.data
            self.ids[id(node)] = self.value(kind, numbers(data, f"the value of {called(node, self.known)}"), name)
        gradients, tangents = self.derivatives("grad", "gradient"), self.derivatives("tangent", "tangent")
        for v in self.values[: len(self.nodes)] if gradients else ():  # a leaf without a gradient needs none
            v.kind = "input" if v.kind == "parameter" and v.id not in gradients else v.kind
        ops = [op for node in self.nodes if (op := self.forward(node, gradients))]
        for number, op in enumerate(ops):
            op.id = number
            op.tangents = {i: tangents[i] for i in (*op.inputs, *op.outputs) if isinstance(i, int) and i in tangents}
        later = derived(ops)
        for number, op in enumerate(later, len(ops)):
            op.id = number
        result = self.ids[id(self.nodes[-1])]
        passes = [one for one in ("forward", "backward", "jvp") if one in {"forward", *(op.phase for op in later)}]
        name = self.values[result].name or type(self.nodes[-1]).__name__
        labels = Labels(self.values, ops).write([*ops, *later], gradients.items())
        for op in ops:
            op.call = call(op.name, [labels[i] if isinstance(i, int) else str(i["const"]) for i in op.inputs])
            op.formula = op.call
            for edge in op.edges:
                edge.partial = edge.partial or f"∂{labels[op.outputs[0]]}/∂{labels[edge.input]}"
        notes = [] if gradients else ["no node has a gradient: call your backward first"]
        program = {"file": "", "name": name, "passes": passes}
        return GraphRecord(program, self.values, [*ops, *later], [result], gradients, notes=notes)

    def value(self, kind: str, a: np.ndarray | None, name: str = "", like: int = 0) -> int:
        """Add a value and return its number; without numbers, it has the shape and dtype of the value `like`."""
        i, same = len(self.values), self.values[like] if self.values else None
        if a is not None:
            self.contents[i] = a
            shape, dtype, size = list(a.shape), str(a.dtype), a.nbytes
            content = summary(a, kind in schema.LEAVES)
        else:
            assert same is not None
            shape, dtype, size, content = same.shape, same.dtype, same.bytes, {}
        self.values.append(schema.Value(i, name, "", "", kind, shape, dtype, "cpu", size, content))
        return i

    def derivatives(self, attribute: str, kind: str) -> dict[int, int]:
        """Return the gradient or tangent of each value that has one; none if all are 0, as before backward."""
        found = {}
        for node in self.nodes:
            if (d := getattr(node, attribute, None)) is not None and not callable(d):
                found[self.ids[id(node)]] = numbers(d, f"the {attribute} of {called(node, self.known)}")
        if not any(a.any() for a in found.values()):
            return {}
        return {i: self.value(kind, a) for i, a in found.items()}

    def forward(self, node: Any, gradients: Mapping[int, int]) -> schema.Op | None:
        """Return the operation that computed a node, with the contributions of its gradient; None for a leaf."""
        pairs = parents_of(node, self.known)
        if not pairs:
            return None
        out, edges, inputs = self.ids[id(node)], [], []
        for parent, local in pairs:
            if is_constant(parent):
                plain = parent is None or isinstance(parent, Number)
                inputs.append({"const": parent} if plain else self.value("input", numbers(parent, "a parent")))
                continue
            i = self.ids[id(parent)]
            if out in gradients and (local is not None or i in gradients and i not in inputs):
                gives = self.contribution(parent, local, gradients, out)
                factor = "" if local is None else written(numbers(local, "a local derivative"))
                formula = f"g * {factor}" if factor else ""
                edges.append(schema.Edge(i, factor, gradients[out], gives, formula, upstreams=[gradients[out]]))
            inputs.append(i)
        return entry("forward", operation(node), inputs, [out], edges=edges)

    def contribution(self, parent: Any, local: Any, gradients: Mapping[int, int], out: int) -> int:
        """Return the value of the gradient that an operation adds to its parent's: one without numbers if that is unknown."""
        i = self.ids[id(parent)]
        alone = self.users[id(parent)] == 1 and i in gradients
        if local is None:
            return gradients[i] if alone else self.value("gradient", None, like=i)
        with np.errstate(all="ignore"):
            product = self.contents[gradients[out]] * numbers(local, "a local derivative")
        if alone and np.array_equal(product, self.contents[gradients[i]], equal_nan=True):
            return gradients[i]
        return self.value("gradient", product if list(product.shape) == self.values[i].shape else None, like=i)


def entry(phase: str, name: str, inputs: list, outputs: list, of: int | None = None, edges: Sequence = ()) -> schema.Op:
    """Return an operation of the record; its number follows later."""
    return schema.Op(0, phase, name, "", "", [], inputs, outputs, of, False, NOWHERE, None, edges=list(edges))


def derived(ops: Sequence[schema.Op]) -> list[schema.Op]:
    """Return the operations of the backward and jvp pass: those that the forward operations have gradients and tangents for."""
    made = []
    for op in reversed(ops):
        if op.edges:
            gives = dict.fromkeys(edge.gives for edge in op.edges)
            made.append(entry("backward", op.name, [op.edges[0].upstream], [*gives], op.id))
    for op in ops:
        if op.outputs[0] in op.tangents:
            read = [op.tangents[i] for i in op.inputs if isinstance(i, int) and i in op.tangents]
            made.append(entry("jvp", op.name, read, [op.tangents[op.outputs[0]]], op.id))
    return made
