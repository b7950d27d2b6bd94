"""Express a record in code that can be pasted: labels, calls, and formulas of the backward and jvp pass.

`call` is the operation as the user would write it; `formula` is the gradient along an edge in terms of labels, with `g` for the
gradient of the operation's result and `_t` after a label for a tangent. The folder formulas/ computes them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.meta import is_meta
from ..autograd.function import DelayedError
from ..core.tensor import Box, Tensor
from ..errors import no_room
from ..formulas import expression as e
from ..formulas.latex import latex, symbol
from ..formulas.terms import is_tame
from ..formulas.traced_rules import Program, Step, tidied
from ..ops.base.families import Linear
from ..ops.base.registry import TABLE
from ..ops.join import Join
from ..ops.reduce import Mean, Sum
from . import schema
from .call_style import FUNCTIONS, as_operator, as_ordered, by_method, given_as_written, gives_one_tensor, parameters
from .constants import brief
from .cuts import Detach
from .failure import Failed
from .labels import Labels, as_label
from .numpy_box import NumPy
from .unkept import Unkept
from .values import NOTHING, UNKNOWN, Event, Flow, OpEntry, Ref, ValueInfo, refs_in

if TYPE_CHECKING:
    from .build import Numbers
    from .recorder import Record


class Wording:
    """The texts for the operations of one record.

    The same operation on values of the same shapes has the same text with other labels. So texts are kept as templates, with a
    value's position between two marks instead of its label, unless the values' numbers influenced the text.
    """

    def __init__(self, rec: Record, number: Numbers, named: Labels):
        self.rec, self.number, self.named = rec, number, named
        self.kinds: dict[int, tuple] = {}
        self.symbols: dict[int, str] = {}

    def label(self, ref: int) -> str:
        """Return the label of a value in formulas."""
        return self.named.values[self.number.new[ref]].label

    def shown(self, ref: int) -> str:
        """Return the name of a value for people."""
        return self.named.values[self.number.new[ref]].shown

    def tangent(self, ref: int) -> str:
        """Return the name of a value's tangent in formulas."""
        return self.named.tangent(self.number.new[ref])

    def symbol(self, ref: int) -> str:
        """Return the symbol of a value in LaTeX."""
        if (found := self.symbols.get(ref)) is None:
            found = self.symbols[ref] = symbol(self.named.values[self.number.new[ref]].shown)
        return found

    def kind(self, ref: int) -> tuple:
        """Return the properties of a value that formulas depend on: shape, dtype, tame numbers or not; a constant's bytes."""
        if (found := self.kinds.get(ref)) is None:
            found = self.kinds[ref] = kind_of(self.array(ref))
            if ref in self.number.constants:
                found = self.kinds[ref] = (*found, self.array(ref).tobytes())
        return found

    def words(self, ran: Words, outputs: list, events: Sequence[Event]) -> Words:
        """Return the words of an operation as some events show it, with their outputs; the words as it ran, if some of
        the values that they read have no label."""
        if events is ran.events:
            return ran
        made = {o for event in events for o in event.outputs}
        read = {i for event in events for i in event.inputs if isinstance(i, int)} - made - self.number.constants
        given = [o for o in outputs if o in made]
        return Words(self, ran.group, given, events) if given and read <= self.number.new.keys() else ran

    def array(self, ref: int) -> np.ndarray:
        """Return a value's content, for one example of a vmap around the recording; substitute numbers if it is lost."""
        noted = self.rec.values[ref]
        if noted.array is None or noted.lost or is_meta(noted.array):
            known = None if noted.array is not None and is_meta(noted.array) else noted.content()
            return invented(noted) if known is None else known
        return example(noted, self.rec.around)

    def write(self, op: schema.Op, group: OpEntry, flows: list[Flow], inputs: list, outputs: list) -> None:
        """Fill in the texts of an operation of the document."""
        if group.transfers and not group.function:
            op.call = f"{group.name}({', '.join(self.label(i) for i in inputs)})"
            return
        if not group.events or group.events[0].cls in (DelayedError, NumPy, Unkept):
            return
        if (cls := group.events[0].cls) is Detach or cls is Failed:
            op.call = self.refused(group) if cls is Failed else schema.CALLS[group.name].format(self.label(inputs[0]))
            return
        if not group.events[0].cls.primitive:
            return self.write_custom(op, group, flows, outputs)
        words = Words(self, group, outputs, group.events)
        self.name_saved(words)
        called = within = self.words(words, outputs, group.called())
        if called.dims and group.phase == "backward" and "vmap" not in group.layers:  # jacrev's batch, seen as a whole
            called = words
        op.call = self.call(group, called)
        runs: dict[int, tuple[Words, dict, dict]] = {}
        for edge, flow in zip(op.edges, flows):
            if flow.run not in runs:
                seen = self.words(words, outputs, group.same_layer(flow.event))
                arrived = {v: g for run, v, g in group.upstreams if run == flow.run and v in seen.outputs}
                runs[flow.run] = seen, arrived, seen.edges(arrived, flow.run)
            seen, arrived, found = runs[flow.run]
            edge.upstreams = [self.number(arrived[o]) if o in arrived else None for o in seen.outputs]
            if (text := found.get(seen.end(flow))) is not None:
                edge.formula, edge.latex = seen.filled(text[0]), seen.filled(text[1])
        # an output without a gradient: the rule was only transposed halfway, which is no derivative of the program
        op.edges = [edge for edge in op.edges if any(up is not None for up in edge.upstreams)]
        if group.name == "make_dual":
            (o,), t = outputs, group.tangents[outputs[0]]
            set_formula = rf"\dot{{{self.symbol(o)}}} = {self.symbol(t)}"
            op.pushes.append({"output": self.number(o), "formula": self.label(t), "latex": set_formula, "names": None})
        elif op.tangents:
            moving = {i: group.tangents[i] for i in inputs if isinstance(i, int) and i in group.tangents}
            # a transform sees other values
            seeing = [one for one in (called, within, words) if moving.keys() <= one.place.keys()]
            pushed = ((one, one.pushes(moving)) for one in seeing)
            seen, texts = next((found for found in pushed if found[1]), (words, {}))
            for o, text in texts.items():
                formula, set_formula = map(seen.filled, text)
                out = self.number(seen.refs[o])
                if out not in op.tangents:  # integers
                    continue
                op.pushes.append({"output": out, "formula": formula, "latex": set_formula, "names": None})

    def name_saved(self, words: Words) -> None:
        """Name values that only the operation knows, because it saves them, by their expressions if these are short."""
        for ref in dict.fromkeys(ref for ref, _, _ in words.group.kept):
            v = self.named.values.get(self.number.new.get(ref, -1))
            if v in self.named.inner and not v.label and (text := words.saved(ref)):
                shown = words.filled(text, self.shown)
                if len(shown) <= SHORT:
                    self.named.give(v, as_label(words.filled(text)), shown)

    def write_custom(self, op: schema.Op, group: OpEntry, flows: list[Flow], outputs: list) -> None:
        """Fill in the texts of a custom Function, by the names of its methods."""
        event, name = group.events[0], op.name
        op.call = f"{name}.apply({self.operands(event)})"
        grads = "g" if len(op.outputs) == 1 else ", ".join(f"g[{k}]" for k in range(len(op.outputs)))
        for edge, flow in zip(op.edges, flows):
            arrived = {v: self.number(g) for run, v, g in group.upstreams if run == flow.run}
            edge.formula, edge.upstreams = f"{name}.backward({grads})", [arrived.get(o) for o in outputs]
        moving = [self.tangent(i) for i in event.inputs if isinstance(i, int) and i in group.tangents]
        for o in [o for o in event.outputs if o in group.tangents and self.number(o) in op.outputs]:
            formula = f"{name}.jvp({', '.join(moving)})"
            op.pushes.append({"output": self.number(o), "formula": formula, "latex": "", "names": None})

    def call(self, group: OpEntry, words: Words) -> str:
        """Return the operation as the user would write it; a plain call if an operand is unknown."""
        if len(words.events) == 1 and any(i is UNKNOWN for i in words.events[0].inputs):
            return f"{group.name}({self.operands(words.events[0])})"
        plain = len(words.events) == 1 and not group.inplace and as_operator(group.name)
        if plain or group.given is None:
            return as_ordered(words.filled(words.computed() or ""), group.where)
        return words.filled(words.written())

    def operands(self, event: Event) -> str:
        """Return the arguments of an event, separated by commas."""
        operands = (
            "…" if i is UNKNOWN else brief(i["const"]) if isinstance(i, dict) else self.label(i) for i in event.inputs
        )
        return ", ".join(operands)

    def called(self, group: OpEntry, label: Callable[[int], str]) -> ast.AST:
        """Return the call of the operation's function of the table, with labels for its values."""
        given = dict(group.given or {})
        writes, entry = given.pop("_", False), TABLE.get(group.name)
        args, keywords = given_as_written(given, parameters(group.name))
        trees = [self.tree(a, label) for a in args]
        named = {k: self.tree(a, label) for k, a in keywords.items()}
        if group.name == "getitem":
            return e.subscript(*trees)
        if group.name == "setitem":
            return e.assignment(e.subscript(*trees[:2]), trees[2])
        path = group.name if entry is None else entry.torch or entry.name
        method = path.startswith("Tensor.") or entry is None and path not in FUNCTIONS
        same = entry is None or entry.method is True  # else its parameters differ: x.where(c, y) is where(c, x, y)
        if writes or method or same and hasattr(Tensor, group.name) and by_method(group.where, group.name):
            word = path.rpartition(".")[2] + "_" * bool(writes)
            return e.method(trees[0], word, *trees[1:], **named)
        return e.call(path.removeprefix("nn.functional."), *trees, **named)

    def refused(self, group: OpEntry) -> str:
        """Return the call that raised, as far as its arguments tell it."""
        given = list((group.given or {}).values())
        try:
            if group.name in SYMBOLS and len(given) == 2:
                return e.text(e.operator(SYMBOLS[group.name], *[self.tree(a, self.label) for a in given]))
            return e.text(self.called(group, self.label)) if given else ""
        except (TypeError, ValueError, IndexError, KeyError):  # arguments that do not fit the function
            return ""

    def tree(self, a: Any, label: Callable[[int], str]) -> ast.expr:
        """Return an argument of a function as it is written."""
        if type(a) is Ref:
            return e.name(label(a.value))
        if isinstance(a, (tuple, list)):
            return (ast.Tuple if isinstance(a, tuple) else ast.List)([self.tree(x, label) for x in a])
        if isinstance(a, np.ndarray):
            return e.literal(a.tolist())
        if isinstance(a, np.generic):
            return e.literal(a.item())
        if isinstance(a, (int, float, str, bool, slice, type(None), type(Ellipsis), e.DType)):
            return e.literal(a)
        return e.literal(str(a))


MARK, SYMBOL, TANGENT = "\0", "\1", "\2"  # around a value's position, for its label, its symbol or its tangent's name
MARKED = re.compile("([\0\1\2]\\d+[\0\1\2])")
TEMPLATES: dict[tuple, dict] = {}  # by pattern: the templates of each kind
SHORT = 40  # characters of an expression that stands for a saved value
SYMBOLS = {"matmul": "@", "add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}
LONGEST = 8_000  # characters of LaTeX: more is unreadable, and KaTeX does not render more
MOST = 3_000  # number of patterns whose templates are kept


class Words:
    """The texts of one operation, as it ran or as a transform saw it, with placeholders for the labels of its values."""

    def __init__(self, wording: Wording, group: OpEntry, outputs: list, events: Sequence[Event]):
        self.wording, self.group, self.outputs, self.events = wording, group, outputs, events
        self.dims = {ref: dims for event in events for ref, dims in event.dims.items() if dims}
        refs = [i for event in events for i in (*event.inputs, *event.outputs) if isinstance(i, int)]
        named = refs_in(list((group.given or {}).values()))  # also values used only for their shape, as in x.view_as(y)
        self.refs = list(dict.fromkeys((*refs, *outputs, *named)))
        self.place = {ref: k for k, ref in enumerate(self.refs)}
        try:
            self.known: dict | None = templates(self.pattern())
        except TypeError:  # an argument without a key
            self.known = None

    def array(self, ref: int) -> np.ndarray:
        """Return a value's content; for a vmap, the content of the first example."""
        ref = max(ref, ~ref)
        return first(self.wording.array(ref), self.dims.get(ref, ()))

    def kind(self, ref: int) -> tuple:
        """Return the properties of a value that formulas depend on."""
        return kind_of(self.array(ref)) if ref in self.dims else self.wording.kind(ref)

    def pattern(self) -> tuple:
        """Return everything but numbers that the texts depend on: operations, plain arguments, shapes and dtypes."""
        known = lambda i: plain(i["const"]) if isinstance(i, dict) else self.place[i]
        steps = [
            (event.cls, event.moving, *map(known, event.inputs), MARK, *map(known, event.outputs))
            for event in self.events
        ]
        return (*steps, *map(self.kind, self.refs), *[self.place[o] for o in self.outputs])

    def kept(self, what: tuple, make: Callable[[Program], Any], cut: Collection[int] = ()) -> Any:
        """Return the texts of a kind, from an operation of the same pattern or newly made.

        For later steps, values in `cut` seem to come from outside, with the complement of their number.
        """
        if self.known is not None and (found := self.known.get(what)) is not None:
            return found
        given = lambda i: ~i if isinstance(i, int) and i in cut else i
        steps = [Step(event.cls, [*map(given, event.inputs)], event.outputs, event.moving) for event in self.events]
        try:
            program = Program(steps, self.array, self.marked, self.outputs, self.wording.number.constants)
            made = make(program)
        except Exception as e:  # a record without a formula is better than none; a note reports it
            self.wording.rec.notes.append(f"no formula for {self.group.name}: {type(e).__name__}: {e}")
            return None
        if self.known is not None and not program.layer.decided:
            self.known[what] = made
        return made

    def marked(self, ref: int) -> str:
        """Return the placeholder of a value's label in a template."""
        return f"{MARK}{self.place[max(ref, ~ref)]}{MARK}"

    def moving(self, ref: int) -> str:
        """Return the placeholder of the name of a value's tangent in a template."""
        return f"{TANGENT}{self.place[max(ref, ~ref)]}{TANGENT}"

    def symbol(self, ref: int) -> str:
        """Return the placeholder of a value's symbol in a template."""
        return f"{SYMBOL}{self.place[ref]}{SYMBOL}"

    def filled(self, template: str, name: Callable[[int], str] | None = None) -> str:
        """Return a template filled with the labels of this operation's values, or with other names for them."""
        pieces, places = parsed(template)
        pieces = pieces.copy()
        for i, place, mark in places:
            ref = self.refs[place]
            pieces[i] = self.wording.tangent(ref) if mark == TANGENT else (name or self.wording.label)(ref)
            if mark == SYMBOL:
                pieces[i] = self.wording.symbol(ref)
        return "".join(pieces)

    def computed(self) -> str:
        """Return the expression of the operation's results."""

        def make(program: Program) -> str:
            found = [t._extra.tree for t in program.computed()]
            return e.text(found[0] if len(found) == 1 else ast.Tuple(found))

        return self.kept(("call",), make)

    def saved(self, ref: int) -> str:
        """Return the expression of a value that one of the operation's steps computes; "" for other values."""
        if not any(ref in event.outputs for event in self.events):
            return ""
        words = lambda program: e.text(program.computed([ref])[0]._extra.tree)
        return self.kept(("saved", self.place[ref]), words) or ""

    def written(self) -> str:
        """Return the call of the operation's function."""
        group, known = self.group, {} if self.known is None else self.known
        try:
            given = plain(tuple((group.given or {}).items()), self.place)
            what = "written", group.name, by_method(group.where, group.name), given
            found = known.get(what)
        except TypeError:  # an argument without a key
            return e.text(self.wording.called(group, self.marked))
        if found is None:
            found = known[what] = e.text(self.wording.called(group, self.marked))
        return found

    def end(self, flow: Flow) -> Any:
        """Return the key of a flow's formula in `edges`: a value's position for several steps, the argument's for one."""
        return self.place[flow.value] if len(self.events) > 1 else (0, flow.position)

    def edges(self, arrived: dict[int, int], run: int) -> dict[Any, tuple]:
        """Return the formula and the LaTeX of each edge, by its key, for the gradients of outputs in a run."""
        numbers = {event: k for k, event in enumerate(self.events)}
        there = sorted({(numbers[f.event], f.position) for f in self.group.edges if f.run == run})
        batches = max([self.batches(o, g) for o, g in arrived.items()], default=0)

        def make(program: Program) -> dict:
            pulled = program.pulled({o: self.derivative(o, g, batches) for o, g in arrived.items()}, batches)
            bars = [rf"\bar{{{self.symbol(o)}}}" for o in self.outputs]
            names = {"g": bars[0]} | ({f"g[{k}]": n for k, n in enumerate(bars)} if len(bars) > 1 else {})
            several, many = len(self.events) > 1, {"g"} if batches else set()
            ends: dict = program.merged(pulled, there) if several else pulled
            found = {}
            for end, t in ends.items():
                ref = end if several else self.events[0].inputs[end[1]]
                tree, set_names = tidied(t), self.symbols(names)
                text = rf"\bar{{{self.symbol(ref)}}} = {latex(tree, set_names, self.numbers() - many)}"
                found[self.place[ref] if several else end] = e.text(tree), text if len(text) <= LONGEST else ""
            return found

        # an output's gradient is complete: it includes contributions of the operation's own steps
        shapes = [self.wording.array(g).shape for g in arrived.values()] if batches else []
        return (
            self.kept(("edges", *there, *[o in arrived for o in self.outputs], *shapes), make, cut=self.outputs) or {}
        )

    def pushes(self, moving: dict[int, int]) -> dict[int, tuple]:
        """Return the formula and the LaTeX of each output's tangent, by its position, for arguments with tangents."""
        call = self.linear(moving)

        def make(program: Program) -> dict:
            if call is None:
                pushed = program.pushed({i: self.derivative(i, v) for i, v in moving.items()}, self.moving)
                trees = {o: tidied(t) for o, t in pushed.items()}
            else:
                trees = {self.outputs[0]: call}
            dots, found = {self.moving(i): rf"\dot{{{self.symbol(i)}}}" for i in moving}, {}
            for o, tree in trees.items():
                text = rf"\dot{{{self.symbol(o)}}} = {latex(tree, self.symbols(dots), self.numbers())}"
                found[self.place[o]] = e.text(tree), text if len(text) <= LONGEST else ""
            return found

        call_text = () if call is None else (e.text(call),)
        return self.kept(("pushes", *call_text, *sorted(self.place[i] for i in moving)), make) or {}

    def linear(self, moving: dict[int, int]) -> ast.expr | None:
        """Return the tangent of a linear operation, which is its call on tangents; None for other operations."""
        group = self.group
        if group.given is None or group.inplace or as_operator(group.name) or not gives_one_tensor(group.name):
            return None
        made = {o for event in self.events for o in event.outputs}
        for event in self.events:
            if not is_linear(event.cls):
                return None
            for i, moves in zip(event.inputs, event.moving or repeat(True)):
                if not isinstance(i, int) or i in made or (i in moving and moves):
                    continue
                if issubclass(event.cls, Join) or self.array(i).dtype.kind == "f":
                    return None
        return self.wording.called(group, lambda ref: self.moving(ref) if ref in moving else self.marked(ref))

    def batches(self, ref: int, other: int) -> int:
        """Return the number of dimensions that a value's gradient has more, because a vmap of jacrev computes several."""
        around = {layer for event in self.group.events for layer, _ in event.views}
        if self.dims or "vmap" in around.union(self.group.layers):  # then all texts are those of one example
            return 0
        return max(0, self.wording.array(other).ndim - self.array(ref).ndim)

    def derivative(self, ref: int, other: int, batches: int = 0) -> np.ndarray:
        """Return a value's gradient or tangent; if a vmap computes several at once, the first of them, or all `batches`."""
        a, shape = self.wording.array(other), self.array(ref).shape
        while a.ndim > len(shape) + batches:
            a = a[0]
        return a if a.shape[batches:] == shape else np.ones((*a.shape[:batches], *shape), a.dtype)

    def symbols(self, more: dict[str, str]) -> dict[str, str]:
        """Return the LaTeX placeholder of each name."""
        return {self.marked(ref): self.symbol(ref) for ref in self.refs} | more

    def numbers(self) -> set[str]:
        """Return the names of scalars, including g and tangents."""
        shapes = {ref: self.array(ref).shape for ref in self.refs}
        single = {self.marked(ref) for ref, shape in shapes.items() if not shape}
        whole = all(not shapes[o] for o in self.outputs)
        return single | {self.moving(ref) for ref, shape in shapes.items() if not shape} | ({"g"} if whole else set())


def templates(pattern: tuple) -> dict:
    """Return the templates of a pattern, by kind."""
    if (found := TEMPLATES.get(pattern)) is None:
        if len(TEMPLATES) >= MOST:
            TEMPLATES.clear()
        found = TEMPLATES[pattern] = {}
    return found


@lru_cache(maxsize=MOST)
def parsed(template: str) -> tuple[list[str], list[tuple[int, int, str]]]:
    """Return the pieces of a template and the placeholders among them: index, value's position, mark."""
    pieces = MARKED.split(template)
    return pieces, [(i, int(pieces[i][1:-1]), pieces[i][0]) for i in range(1, len(pieces), 2)]


def kind_of(a: np.ndarray) -> tuple:
    """Return an array's shape and dtype, and True if its numbers are tame."""
    return a.shape, a.dtype, is_tame(a)


def plain(a: Any, place: Mapping[int, int] = NOTHING) -> Any:
    """Return a hashable key of an argument, with positions for values; raise TypeError if it has none."""
    if type(a) is Ref:
        return Ref, place[a.value]
    if isinstance(a, (tuple, list)):
        return (type(a), *[plain(x, place) for x in a])
    if isinstance(a, slice):
        return slice, a.start, a.stop, a.step
    if isinstance(a, np.ndarray):
        raise TypeError
    return type(a), repr(a) if isinstance(a, float) else a


def is_linear(cls: Any) -> bool:
    """Return True if an operation, applied to tangents, gives the tangent of its result."""
    plain = issubclass(cls, Linear) and cls.pushforward.__func__ is Linear.pushforward.__func__
    return plain or issubclass(cls, (Join, Sum, Mean))


# ---------------------------------------------------------------------- values
def invented(noted: ValueInfo) -> np.ndarray:
    """Return numbers for a value with only shape and dtype known, so that formulas say what holds in general."""
    dtype = np.dtype(noted.dtype or "f4")
    try:
        if dtype.kind == "f":
            return np.random.default_rng(noted.index).uniform(0.5, 1.5, noted.shape).astype(dtype)
        return np.zeros(noted.shape, dtype)
    except MemoryError:
        raise no_room("record", noted.shape, dtype) from None


def example(noted: ValueInfo, around: Collection) -> np.ndarray:
    """Return the array of a value, for one example if a vmap around the recording has several."""
    array, t, dims = np.asarray(noted.numbers()), noted.tensor, []
    while type(t) is Box:
        if t._layer in around and t._layer.name == "vmap" and t._extra is not None:
            dims.append(t._extra)
        t = t._value
    return first(array, dims[::-1])


def first(array: np.ndarray, dims: Iterable[int]) -> np.ndarray:
    """Return index 0 of some dimensions, each counted after removing the ones before it."""
    for d in dims:
        array = np.asarray(array.take(0, axis=d))
    return array
