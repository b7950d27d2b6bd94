"""Say what a record holds in words that can be typed in: labels, calls, and formulas of both passes.

`call` is the operation as the user would write it, `formula` what an edge gives, in the labels of values, `g` for the gradient
of the operation's result and `d` before a label for a tangent.  The folder formulas/ makes them.
"""

from __future__ import annotations

import ast
import keyword
import linecache
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import cache, lru_cache
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.function import DelayedError
from ..core.tensor import Box
from ..formulas import expression as e
from ..formulas.elementwise import SYMBOLS
from ..formulas.latex import latex, symbol
from ..formulas.terms import is_tame
from ..formulas.traced_rules import Program, Step, tidied
from ..ops.base.registry import TABLE
from . import schema
from .values import Flow, Group, Noted, Ref

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
    tangent = lambda n: len(n) > 1 and n[0] == "d" and (count[n[1:]] or re.fullmatch(r"dv\d+_*", n))
    found = {i: n for i, n in names.items() if usable(n) and not tangent(n)}
    taken = set(found.values())
    for i in names.keys() - found.keys():
        label = f"v{i}"
        while label in taken:
            label += "_"
        found[i] = label
    return found


class Wording:
    """Words for the operations of one record.

    An operation on values of the same shapes says the same with other labels: its words are kept as templates, in which a
    value's label stands as its place between two marks, unless what they say was decided by the values' numbers.
    """

    def __init__(self, rec: Record, number: Numbers, names: dict[int, str]):
        self.rec, self.number, self.names = rec, number, names

    def label(self, ref: int) -> str:
        """Return what formulas call a value of the recording."""
        return self.names[self.number(ref)]

    def array(self, ref: int) -> np.ndarray:
        """Return what a value held, for one example of a vmap that runs around the recording; numbers where that is lost."""
        noted = self.rec.values[ref]
        if noted.array is None or noted.lost:
            held = (noted.summary or {}).get("values")
            return invented(noted) if held is None else np.array(held, noted.dtype).reshape(noted.shape)
        return example(noted, self.rec.around)

    def write(self, op: schema.Op, group: Group, flows: list[Flow], inputs: list, outputs: list) -> None:
        """Fill in what an operation of the document says."""
        if not group.events or group.events[0].cls is DelayedError:
            return
        if not group.events[0].cls.primitive:
            return self.write_custom(op, group)
        words = Words(self, group, outputs)
        op.call = self.call(group, words)
        runs: dict[int, dict] = {}
        for edge, flow in zip(op.edges, flows):
            arrived = {v: g for run, v, g in group.upstreams if run == flow.run and v in outputs}
            edge.upstreams = [self.number(arrived[o]) if o in arrived else None for o in outputs]
            if (found := runs.get(flow.run)) is None:
                found = runs[flow.run] = words.edges(arrived, flow.run)
            if (text := found.get(words.end(flow))) is not None:
                edge.formula, edge.latex = words.filled(text[0]), words.filled(text[1])
        if op.tangents:
            moving = {i: group.tangents[i] for i in inputs if isinstance(i, int) and i in group.tangents}
            for o, text in words.pushes(moving).items():
                formula, set_formula = map(words.filled, text)
                op.pushes.append({"output": self.number(words.refs[o]), "formula": formula, "latex": set_formula})

    def write_custom(self, op: schema.Op, group: Group) -> None:
        """Name the methods of a custom Function."""
        event, name = group.events[0], op.name
        args = [repr(i["const"]) if isinstance(i, dict) else self.label(i) for i in event.inputs]
        op.call = f"{name}.apply({', '.join(args)})"
        grads = "g" if len(op.outputs) == 1 else ", ".join(f"g[{k}]" for k in range(len(op.outputs)))
        for edge in op.edges:
            edge.formula, edge.upstreams = f"{name}.backward({grads})", [edge.upstream]
        moving = [f"d{self.label(i)}" for i in event.inputs if isinstance(i, int) and i in group.tangents]
        for o in [o for o in event.outputs if o in group.tangents and self.number(o) in op.outputs]:
            op.pushes.append({"output": self.number(o), "formula": f"{name}.jvp({', '.join(moving)})", "latex": ""})

    def call(self, group: Group, words: Words) -> str:
        """Return the operation as the user would write it."""
        plain = len(group.events) == 1 and not group.inplace and group.name in AS_OPERATORS
        if plain or group.given is None:
            return words.filled(words.computed() or "")
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


MARK, SYMBOL = "\0", "\1"  # around the place of a value whose label, or symbol, belongs there
TEMPLATES: dict[tuple, Any] = {}
MOST = 10_000  # templates that are kept


class Words:
    """The words of one operation, with places for the labels of its values."""

    def __init__(self, wording: Wording, group: Group, outputs: list):
        self.wording, self.group, self.outputs = wording, group, outputs
        refs = [i for event in group.events for i in (*event.inputs, *event.outputs) if isinstance(i, int)]
        self.refs = list(dict.fromkeys((*refs, *outputs)))
        self.place = {ref: k for k, ref in enumerate(self.refs)}
        try:
            self.key: tuple | None = self.pattern()
        except TypeError:  # an argument that has no key
            self.key = None

    def pattern(self) -> tuple:
        """Return what decides about the words, but for numbers: operations, plain arguments, shapes and dtypes."""
        values = [self.wording.array(r) for r in self.refs]
        known = lambda i: plain(i["const"]) if isinstance(i, dict) else self.place[i]
        steps = [
            (event.cls, event.moving, *map(known, event.inputs), MARK, *map(known, event.outputs))
            for event in self.group.events
        ]
        shapes = [(v.shape, v.dtype, is_tame(v)) for v in values]
        return (*steps, *shapes, *[self.place[o] for o in self.outputs])

    def kept(self, what: tuple, make: Callable[[Program], Any]) -> Any:
        """Return the words of a kind: those of an operation of the same pattern, or new ones."""
        key = None if self.key is None else (*what, *self.key)
        if key is not None and (found := TEMPLATES.get(key)) is not None:
            return found
        steps = [Step(event.cls, event.inputs, event.outputs, event.moving) for event in self.group.events]
        try:
            program = Program(steps, self.wording.array, self.marked, self.outputs)
            made = make(program)
        except Exception as e:  # a record without a formula is better than none; the note says so
            self.wording.rec.notes.append(f"no formula for {self.group.name}: {type(e).__name__}: {e}")
            return None
        if key is not None and not program.layer.decided:
            if len(TEMPLATES) >= MOST:
                TEMPLATES.clear()
            TEMPLATES[key] = made
        return made

    def marked(self, ref: int) -> str:
        """Return a value's place in a template."""
        return f"{MARK}{self.place[ref]}{MARK}"

    def symbol(self, ref: int) -> str:
        """Return the place of a value's symbol in a template."""
        return f"{SYMBOL}{self.place[ref]}{SYMBOL}"

    def filled(self, template: str) -> str:
        """Return a template with the labels of this operation's values."""
        for mark, say in ((MARK, str), (SYMBOL, symbol)):
            if mark in template:
                pieces = template.split(mark)
                pieces[1::2] = [say(self.wording.label(self.refs[int(k)])) for k in pieces[1::2]]
                template = "".join(pieces)
        return template

    def computed(self) -> str:
        """Return the expression of the operation's results."""

        def make(program: Program) -> str:
            found = [t._extra.tree for t in program.computed()]
            return e.text(found[0] if len(found) == 1 else ast.Tuple(found))

        return self.kept(("call",), make)

    def end(self, flow: Flow) -> Any:
        """Return under what `edges` has the formula of a flow: of several steps a value's place, of one the argument's."""
        return self.place[flow.value] if len(self.group.events) > 1 else (0, flow.position)

    def edges(self, arrived: dict[int, int], run: int) -> dict[Any, tuple]:
        """Return the formula and the LaTeX of each edge, by its end, for gradients that arrived at outputs in a run."""
        numbers = {event: k for k, event in enumerate(self.group.events)}
        there = sorted({(numbers[f.event], f.position) for f in self.group.edges if f.run == run})

        def make(program: Program) -> dict:
            pulled = program.pulled({o: self.beside(o, g) for o, g in arrived.items()})
            bars = [rf"\bar{{{self.symbol(o)}}}" for o in self.outputs]
            names = {"g": bars[0]} | ({f"g[{k}]": n for k, n in enumerate(bars)} if len(bars) > 1 else {})
            several = len(self.group.events) > 1
            ends: dict = program.merged(pulled, there) if several else pulled
            found = {}
            for end, t in ends.items():
                ref = end if several else self.group.events[0].inputs[end[1]]
                tree, set_names = tidied(t), self.symbols(names)
                text = rf"\bar{{{self.symbol(ref)}}} = {latex(tree, set_names, self.numbers())}"
                found[self.place[ref] if several else end] = e.text(tree), text
            return found

        return self.kept(("edges", *there, *[o in arrived for o in self.outputs]), make) or {}

    def pushes(self, moving: dict[int, int]) -> dict[int, tuple]:
        """Return the formula and the LaTeX of each output's tangent, by its place, for arguments that have tangents."""

        def make(program: Program) -> dict:
            found = {}
            for o, t in program.pushed({i: self.beside(i, v) for i, v in moving.items()}, self.marked).items():
                tree, dots = tidied(t), {"d" + self.marked(i): rf"\dot{{{self.symbol(i)}}}" for i in moving}
                text = latex(tree, self.symbols(dots), self.numbers())
                found[self.place[o]] = e.text(tree), rf"\dot{{{self.symbol(o)}}} = {text}"
            return found

        return self.kept(("pushes", *sorted(self.place[i] for i in moving)), make) or {}

    def beside(self, ref: int, other: int) -> np.ndarray:
        """Return a value's gradient or tangent; one of those that a vmap computes for it at once."""
        a, shape = self.wording.array(other), self.wording.array(ref).shape
        while a.ndim > len(shape):
            a = a[0]
        return a if a.shape == shape else np.ones(shape, a.dtype)

    def symbols(self, more: dict[str, str]) -> dict[str, str]:
        """Return how names are set."""
        return {self.marked(ref): self.symbol(ref) for ref in self.refs} | more

    def numbers(self) -> set[str]:
        """Return the names of single numbers, g and tangents too."""
        shapes = {ref: self.wording.array(ref).shape for ref in self.refs}
        single = {self.marked(ref) for ref, shape in shapes.items() if not shape}
        whole = all(not shapes[o] for o in self.outputs)
        return single | {"d" + n for n in single} | ({"g"} if whole else set())


def plain(a: Any) -> Any:
    """Return a key of a plain argument; TypeError where it has none."""
    if isinstance(a, (tuple, list)):
        return (type(a), *map(plain, a))
    if isinstance(a, slice):
        return slice, a.start, a.stop, a.step
    if isinstance(a, np.ndarray):
        raise TypeError
    return type(a), repr(a) if isinstance(a, float) else a


AS_OPERATORS = frozenset(cls.name for cls in SYMBOLS) | {
    "div",
    "neg",
    "bitwise_not",
    "matmul",
    "getitem",
    "permute",
    "abs",
}


def given_as_written(given: dict, known: dict[str, Parameter]) -> tuple[list, dict]:
    """Return the arguments by position and by keyword: what has no default first, then what is not the default."""
    args, keywords = [], {}
    for name, a in given.items():
        parameter = known.get(name)
        if parameter is not None and parameter.kind is Parameter.VAR_POSITIONAL:
            args += a
        elif (
            parameter is not None and parameter.kind is Parameter.KEYWORD_ONLY and parameter.default is Parameter.empty
        ):
            keywords[name] = a
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
    return len(where.columns) == 2 and calls_method(where.file, where.line, *where.columns, name)


@lru_cache(maxsize=4096)
def calls_method(file: str, line: int, first: int, last: int, name: str) -> bool:
    """Return whether an expression in a file calls an object's method of this name, and no function of a module."""
    text = linecache.getline(file, line).encode()[first - 1 : last].decode(errors="replace")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return False
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Attribute) or tree.func.attr.rstrip("_") != name:
        return False
    root = tree.func.value
    while isinstance(root, ast.Attribute):
        root = root.value
    return not (isinstance(root, ast.Name) and root.id in imported(file))


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
    array, t, dims = np.asarray(noted.numbers()), noted.tensor, []
    while type(t) is Box:
        if t._layer in around and t._layer.name == "vmap" and t._extra is not None:
            dims.append(t._extra)
        t = t._value
    for d in reversed(dims):
        array = array.take(0, axis=d)
    return array
