"""What a record's operations and edges say in words that can be typed in: labels, calls, and formulas of both passes.

`call` is the operation as the user would write it, `formula` what an edge gives, in the labels of values, `g` for the gradient
of the operation's result and `d` before a label for a tangent.  The folder formulas/ makes them.
"""

from __future__ import annotations

import ast
import keyword
import linecache
import re
from collections import Counter
from collections.abc import Collection, Iterable
from functools import cache
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.function import DelayedError
from ..core.tensor import Box
from ..formulas import expression as e
from ..formulas.elementwise import SYMBOLS
from ..formulas.latex import latex, symbol
from ..formulas.traced_rules import Program, Step, tidied
from ..ops.base.registry import TABLE
from . import schema
from .values import Group, Noted, Ref

if TYPE_CHECKING:
    from .build import Numbers
    from .recorder import Record

RESERVED = frozenset(keyword.kwlist) | {"g", "linalg", "pi", "inf", "nan", "tensor", "float64", "int64", "bool"}
# functions that formulas call by their bare names, so that no value may have them
BARE = frozenset(entry.name.rpartition(".")[2] for entry in TABLE.values() if entry.cls is not None) | set(
    "where cat stack pad einsum softmax log_softmax one_hot zeros ones full zeros_like ones_like arange eye conv1d conv2d "
    "conv3d conv_transpose1d conv_transpose2d conv_transpose3d".split()
)


def labels(values: Iterable[schema.Value], assigned: dict[int, str]) -> dict[int, str]:
    """Return what formulas call values: by their name where that is one and no other's, else v and the number."""
    names = {v.id: v.name or assigned.get(v.id, "") for v in values}
    count = Counter(names.values())
    usable = lambda n: n.isidentifier() and count[n] == 1 and n not in RESERVED and n not in BARE
    found = {i: n for i, n in names.items() if usable(n) and not (n[0] == "d" and count[n[1:]])}
    taken = set(found.values())
    for i in names.keys() - found.keys():
        label = f"v{i}"
        while label in taken:
            label += "_"
        found[i] = label
    return found


class Wording:
    """Words for the operations of one record."""

    def __init__(self, rec: Record, number: Numbers, names: dict[int, str]):
        self.rec, self.number, self.names = rec, number, names

    def label(self, ref: int) -> str:
        """Return what formulas call a value of the recording."""
        return self.names[self.number(ref)]

    def array(self, ref: int) -> np.ndarray:
        """Return what a value held, for one example of a vmap that runs around the recording; numbers where that is lost."""
        noted = self.rec.values[ref]
        if noted.array is None or noted.lost:
            return invented(noted)
        return example(noted, self.rec.around)

    def write(self, op: schema.Op, group: Group, inputs: list, outputs: list) -> None:
        """Fill in what an operation of the document says."""
        if not group.events or group.events[0].cls is DelayedError:
            return
        if not group.events[0].cls.primitive:
            return self.write_custom(op, group)
        steps = [Step(event.cls, event.inputs, event.outputs) for event in group.events]
        program = Program(steps, self.array, self.label, outputs)
        op.call = self.call(group, program, outputs)
        if op.edges:
            self.write_edges(op, group, program, outputs)
        if op.tangents:
            self.write_pushes(op, group, program, inputs, outputs)

    def write_custom(self, op: schema.Op, group: Group) -> None:
        """Name the methods of a custom Function."""
        event, name = group.events[0], op.name
        args = [self.text(i) for i in event.inputs]
        op.call = f"{name}.apply({', '.join(args)})"
        grads = "g" if len(op.outputs) == 1 else ", ".join(f"g[{k}]" for k in range(len(op.outputs)))
        for edge in op.edges:
            edge.formula = f"{name}.backward({grads})"

    def text(self, argument: Any) -> str:
        """Return an argument of an event as it is written."""
        return repr(argument["const"]) if isinstance(argument, dict) else self.label(argument)

    # ------------------------------------------------------------------ both passes
    def write_edges(self, op: schema.Op, group: Group, program: Program, outputs: list) -> None:
        """Say what each edge gives."""
        runs: dict[int, dict] = {}
        flows = [f for f in group.edges if f.upstream is not None]
        for edge, flow in zip(op.edges, flows, strict=True):
            arrived = {v: g for run, v, g in group.upstreams if run == flow.run and v in outputs}
            edge.upstreams = [self.number(arrived[o]) if o in arrived else None for o in outputs]
            if flow.run not in runs:
                runs[flow.run] = program.pulled({o: self.array(g) for o, g in arrived.items()})
            found = runs[flow.run].get((group.events.index(flow.event), flow.position))
            if found is not None:
                tree, bars = tidied(found), self.bars(outputs)
                to = rf"\bar{{{symbol(self.names[edge.input])}}} = "
                edge.formula, edge.latex = e.text(tree), to + latex(tree, bars, self.numbers(group))

    def write_pushes(self, op: schema.Op, group: Group, program: Program, inputs: list, outputs: list) -> None:
        """Say how the tangents of the arguments give those of the results."""
        moving = {i: self.array(group.tangents[i]) for i in inputs if isinstance(i, int) and i in group.tangents}
        for o, found in program.pushed(moving, self.label).items():
            tree, label = tidied(found), symbol(self.label(o))
            dots = {"d" + self.label(i): rf"\dot{{{symbol(self.label(i))}}}" for i in moving}
            text = rf"\dot{{{label}}} = {latex(tree, dots, self.numbers(group))}"
            op.pushes.append({"output": self.number(o), "formula": e.text(tree), "latex": text})

    def bars(self, outputs: list) -> dict[str, str]:
        """Return how the gradients of the results are set."""
        names = [rf"\bar{{{symbol(self.label(o))}}}" for o in outputs]
        return {"g": names[0]} | ({f"g[{k}]": n for k, n in enumerate(names)} if len(names) > 1 else {})

    def numbers(self, group: Group) -> set[str]:
        """Return the labels of values of an operation that are single numbers, and g and tangents where they are."""
        refs = [r for event in group.events for r in (*event.inputs, *event.outputs) if isinstance(r, int)]
        single = {self.label(r) for r in refs if self.number(r) in self.names and not self.rec.values[r].shape}
        every = all(not self.rec.values[o].shape for o in group.events[-1].outputs)
        return single | {"d" + n for n in single} | ({"g"} if every else set())

    # ------------------------------------------------------------------ the call
    def call(self, group: Group, program: Program, outputs: list) -> str:
        """Return the operation as the user would write it."""
        plain = len(group.events) == 1 and (group.given is None or group.name in AS_OPERATORS)
        if plain and not group.inplace or group.given is None:
            found = [t._extra.tree for t in program.computed()]
            return e.text(found[0] if len(found) == 1 else ast.Tuple(found))
        return e.text(self.called(group))

    def called(self, group: Group) -> ast.expr:
        """Return the call of the function of the table that an operation is."""
        given = dict(group.given or {})
        writes, entry = given.pop("_", False), TABLE.get(group.name)
        args, keywords = given_as_written(given, parameters(group.name))
        trees = [self.tree(a) for a in args]
        named = {k: self.tree(a) for k, a in keywords.items()}
        path = group.name if entry is None else entry.torch or entry.name
        if writes or path.startswith("Tensor.") or entry is None or by_method(group.where, group.name):
            word = path.rpartition(".")[2] + "_" * bool(writes)
            return e.method(trees[0], word, *trees[1:], **named)
        return e.call(path.removeprefix("nn.functional."), *trees, **named)

    def tree(self, a: Any) -> ast.expr:
        """Return an argument of a function as it is written."""
        if type(a) is Ref:
            return e.name(self.label(a.value))
        if isinstance(a, (tuple, list)):
            return (ast.Tuple if isinstance(a, tuple) else ast.List)([self.tree(x) for x in a])
        if isinstance(a, np.ndarray):
            return e.literal(a.tolist())
        if isinstance(a, np.generic):
            return e.literal(a.item())
        if isinstance(a, (int, float, str, bool, slice, type(None), type(Ellipsis), e.DType)):
            return e.literal(a)
        return e.literal(str(a))


AS_OPERATORS = frozenset(cls.name for cls in SYMBOLS) | {"neg", "bitwise_not", "matmul", "getitem", "permute", "abs"}


def given_as_written(given: dict, known: dict[str, Parameter]) -> tuple[list, dict]:
    """Return the arguments by position and by keyword: what has no default first, then what is not the default."""
    args, keywords = [], {}
    for name, a in given.items():
        parameter = known.get(name)
        if parameter is not None and parameter.kind is Parameter.VAR_POSITIONAL:
            args += a
        elif parameter is None or parameter.default is Parameter.empty:
            args.append(a)
        elif not (a is parameter.default or type(a) is type(parameter.default) and a == parameter.default):
            keywords[name] = a
    return args, keywords


@cache
def parameters(name: str) -> dict[str, Parameter]:
    """Return the parameters of a function of the table, by name."""
    entry = TABLE.get(name)
    return {} if entry is None else dict(signature(entry.function).parameters)


def by_method(where: schema.Where, name: str) -> bool:
    """Return whether the user's line calls a tensor's method of this name, as far as it tells: not `torch.sum(x)`."""
    if len(where.columns) != 2:
        return False
    line = linecache.getline(where.file, where.line)
    text = line.encode()[where.columns[0] - 1 : where.columns[1]].decode(errors="replace")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return False
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Attribute) or tree.func.attr.rstrip("_") != name:
        return False
    root = tree.func.value
    while isinstance(root, ast.Attribute):
        root = root.value
    return not (isinstance(root, ast.Name) and root.id in imported(where.file))


@cache
def imported(file: str) -> frozenset[str]:
    """Return the names that a file binds by importing."""
    found: set[str] = set()
    for line in linecache.getlines(file):
        if m := re.match(r"\s*(?:from\s+[\w.]+\s+)?import\s+(.+)", line):
            for part in m[1].split("#")[0].strip("() \n").split(","):
                found.add(part.split()[-1].partition(".")[0] if part.split() else "")
    return frozenset(found)


# ---------------------------------------------------------------------- values
def invented(noted: Noted) -> np.ndarray:
    """Return numbers for a value of which only shape and dtype are known: formulas then say what holds in general."""
    dtype = np.dtype(noted.dtype or "f4")
    if dtype.kind == "f":
        return np.random.default_rng(noted.index).uniform(0.5, 1.5, noted.shape).astype(dtype)
    return np.zeros(noted.shape, dtype)


def example(noted: Noted, around: Collection) -> np.ndarray:
    """Return the array of a value, of one example where a vmap around the recording has several."""
    array, t, dims = noted.numbers(), noted.tensor, []
    while type(t) is Box:
        if t._layer in around and t._layer.name == "vmap" and t._extra is not None:
            dims.append(t._extra)
        t = t._value
    for d in reversed(dims):
        array = array.take(0, axis=d)
    return array
