"""The names of a record's values: a label for formulas, and the same name as people write it.

A value is called by its name in the program. Values of one variable are counted: h, h[1], h[2] in a loop, and x, x₂ elsewhere.
Values without a name are v0, v1, ... in the order in which one reads a picture, and a number names one value in all of it. The
gradient and the tangent of x are x_grad and x_t.
A label is an identifier, so formulas of labels can be evaluated; `shown` may be an expression such as net[0].weight.
"""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count, dropwhile
from types import MappingProxyType
from typing import Any, NamedTuple

from ..ops.base.registry import TABLE
from . import schema

LONGEST = 48  # characters of a path in formulas
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
# a number of more digits than people write, in no string
COMPUTED = re.compile(r"(?<![\w.'\"])(?=[\d.]{10})\d+\.\d+(?:e[+-]?\d+)?(?![\w.'\"])")
INDEX = re.compile(r"(\[[^]]+\])*$")
ELEMENT = re.compile(r"^(\d+)(?=\[|$)")  # a number in a path, perhaps before the key of a dictionary
WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
GRAD, TANGENT = "grad of ", "tangent of "  # begin the shown names of gradients and tangents


RESERVED = frozenset(keyword.kwlist) | {"g", "linalg", "pi", "inf", "nan", "tensor", "float64", "int64", "bool"}
# functions that formulas call by bare names, which values must not have
BARE = frozenset(entry.name.rpartition(".")[2] for entry in TABLE.values() if entry.cls is not None) | set(
    "where cat stack pad einsum softmax log_softmax one_hot zeros ones full zeros_like ones_like arange eye conv1d conv2d "
    "conv3d conv_transpose1d conv_transpose2d conv_transpose3d".split()
)


def is_free(name: str) -> bool:
    """Return True if a name is an identifier without a meaning in formulas."""
    return name.isidentifier() and name not in RESERVED and name not in BARE


def is_state(v: schema.Value) -> bool:
    """Return True for a parameter, and for a buffer, which has the path in its module as its name."""
    *path, last = v.name.split(".")
    return bool(v.name) and (v.kind == "parameter" or bool(path) and not last.isdigit())


def subscript(n: int) -> tuple[str, str]:
    """Return what the n-th content of a variable adds to its name, in its label and its shown name."""
    return f"_{n}", str(n).translate(SUBSCRIPTS)


class Frame(NamedTuple):
    """The labels in a call of a Function's method, and the operation of the Function."""

    op: schema.Op
    method: str
    inner: Labels


class Labels:
    """Chooses the labels and shown names of values, which it stores in them; `tangent` names tangents in formulas.

    `program` are the operations that the program ran, which excludes the engine's backward on arrays. Values in `last` are not
    shown, so they have the last numbers. Of the contents of a parameter, only the one not in `others` has its plain name.
    """

    def __init__(
        self,
        values: Sequence[schema.Value],
        program: Iterable[schema.Op],
        others: Collection[int] = (),
        last: Collection[int] = (),
        same: Mapping[int, Any] = MappingProxyType({}),
    ):
        self.values = {v.id: v for v in values}
        self.others, self.last = others, last
        self.same = same  # by value, what it is the same value by in the records of a Function's methods
        self.program = list(program)
        self.made = {o: op for op in self.program for o in op.outputs}
        self.taken = {op.name for op in self.program}  # calls may use them, as in t(x)
        self.said: set[str] = set()  # the shown names
        self.frames: list[Frame] = []

    def write(self, ops: Iterable[schema.Op], *more: Any) -> dict[int, str]:
        """Store the labels and shown names, and return the labels; the arguments are those of `begin`."""
        self.begin(ops, *more)
        self.finish()
        self.number_saved()
        return {v.id: v.label for v in self.values.values()}

    def begin(
        self,
        ops: Iterable[schema.Op],
        gradients: Iterable[tuple[int, int]],
        saved: Mapping[int, str] = MappingProxyType({}),
        grads: Iterable[tuple[int, int]] = (),
    ) -> None:
        """Store the names that values have in the program; the others follow when all names of a picture are known.

        `gradients` are pairs of a value and its gradient in a backward pass, `grads` of a leaf and a content of its `.grad`;
        `saved` are the names that Functions save by.
        """
        self.ops = list(ops)
        self.name_variables()
        self.inner = self.inner_values(saved)
        detached = {op.outputs[0]: op for op in self.program if op.cut == op.name in schema.CALLS and op.outputs}
        self.detached = {i: op for i, op in detached.items() if not self.values[i].label}
        self.owners = owned(self.ops, gradients)
        self.sums = {after for _, after in grads} - self.owners.keys()
        self.owners |= {after: v for v, after in grads if after in self.sums}

    def finish(self) -> None:
        """Give numbers to values without a name, here and in frames, in a reader's order; name derivatives after values."""
        every = [self, *self.all_frames()]
        taken = set[str]().union(*[named.taken for named in every])
        free = (label for n in count() if (label := f"v{n}") not in taken)
        known = {self.same[v.id]: v for v in self.values.values() if v.label and v.id in self.same}
        for named in every:
            named.free, named.known = free, known
        for _, named, v in sorted(self.unnamed(), key=lambda one: one[0]):
            named.number(v)
        for named in every:
            for i, op in named.detached.items():  # by their call: x.detach()
                of = named.values[op.inputs[0]]
                shown = schema.CALLS[op.name].format(of.shown or of.kind)
                named.give(named.values[i], f"{of.label or of.kind}_{op.name}", shown)
            named.tangents = {i: named.spelled_tangent(i, t) for i, t in tangents_of(named.ops).items()}
            named.name_derivatives()

    def number_saved(self) -> None:
        """Give numbers to the values that only operations know, which save them, if these have no other name."""
        for v in self.inner:
            if not v.label:
                self.number(v)

    def number(self, v: schema.Value) -> None:
        """Give a value the next number, or its name in another record of the picture."""
        like = self.known.setdefault(self.same.get(v.id, id(v)), v)
        if like is v or like.label in self.taken:
            self.give(v, next(self.free))
        else:
            self.give(v, like.label, like.shown)

    def give(self, v: schema.Value, label: str, shown: str = "") -> None:
        """Give a value its label, with an underscore if it is taken."""
        while label in self.taken:
            label += "_"
        self.taken.add(label)
        v.label, v.shown = label, shown if shown and shown not in self.said else label
        self.said.add(v.shown)

    # ------------------------------------------------------------------ variables
    def name_variables(self) -> None:
        """Name the values that have a usable name in the program: plain names first, so that they keep them."""
        groups: dict[str, list[schema.Value]] = {}
        for v in self.values.values():
            if as_expression(v.name):
                groups.setdefault(v.name, []).append(v)
        found = [(v, mark) for several in groups.values() for v, mark in zip(several, self.marks(several))]
        for v, (label, shown) in sorted(found, key=lambda one: one[1][0] != ""):
            self.give(v, as_label(v.name) + label, as_expression(v.name) + shown)

    def marks(self, several: list[schema.Value]) -> list[tuple[str, str]]:
        """Return what distinguishes the values of a variable, in their labels and their shown names; empty for the plain name.

        Contents of a parameter are counted, and the one that is shown has the plain name. The values of a variable are counted
        in the order in which the program binds them, those that are shown first: h, h[1], h[2] in a loop, x, x₂ elsewhere.
        """
        written = all(v.id not in self.made or self.made[v.id].inplace for v in several[1:])
        if written and all(map(is_state, several)):
            current = next((k for k, v in enumerate(several) if v.id not in self.others), 0)
            return [("", "") if k == current else subscript(k + 1) for k in range(len(several))]
        found, bound, number = {}, 0, 0
        hidden = [v for v in several if v.id in self.last]
        for part in ([v for v in several if v.id not in self.last], hidden):
            lines = [self.line(v) for v in part]
            again = {line for line, many in Counter(lines).items() if line and many > 1}
            for v, line in zip(part, lines):
                number += 1
                if not again or not found and line not in again:
                    found[v.id] = subscript(number) if number > 1 else ("", "")
                else:
                    bound += 1
                    found[v.id] = f"_{bound}", f"[{bound}]"
        return [found[v.id] for v in several]

    def line(self, v: schema.Value) -> tuple | None:
        """Return the line that binds a variable to a value; None for a value from outside, and for one written in place."""
        op = self.made.get(v.id)
        return (op.where.file, op.where.line) if op and v.kind == "computed" and not op.inplace else None

    # ------------------------------------------------------------------ values without a name
    def inner_values(self, saved: Mapping[int, str]) -> list[schema.Value]:
        """Return the values that exist only inside operations, which save them; name those that have a name in `saved`."""
        outside = {v for op in self.ops for v in (*op.inputs, *op.outputs) if isinstance(v, int)}
        kept = dict.fromkeys(s.value for op in self.ops for s in op.saved if s.value not in outside)
        found = [i for i in kept if not self.values[i].label]
        for i in [i for i in found if saved.get(i)]:
            label = as_label(saved[i])
            free = next(one for n in count(1) if (one := label + f"_{n}" * (n > 1)) not in self.taken)
            self.give(self.values[i], free)
        return [self.values[i] for i in found if not self.values[i].label]

    def unnamed(self) -> Iterator[tuple[tuple, Labels, schema.Value]]:
        """Yield the values that need a number, here and in frames, each with its place in the order of a reader."""
        first: dict[int, tuple] = {}
        for op in self.program:
            is_drawn = op.phase in ("forward", "update") or op.edges
            ends = [(i, 0) for i in op.inputs if isinstance(i, int)] + [(o, 2) for o in op.outputs]
            for v, end in ends:
                first[v] = min(first.get(v, (9,)), (0 if is_drawn else 1, op.id, end))
        read = {i for op in self.program for i in op.inputs if isinstance(i, int)}
        for v in self.values.values():
            flows = v.kind in ("gradient", "tangent") and not self.is_ordinary(v, read)
            if not v.label and not flows and v not in self.inner and v.id not in self.detached:
                yield (v.id in self.last, *first.get(v.id, (2,)), v.id), self, v
        drawn = {(op.id, method): number for number, (op, method, _) in enumerate(self.frames)}  # the last call
        for number, (op, method, inner) in enumerate(self.frames):
            hidden = all(o in self.last for o in op.outputs) or drawn[op.id, method] != number
            rank = {"forward": 0, "setup_context": 0, "jvp": 2}.get(method, 1)
            for place, named, v in inner.unnamed():
                yield (hidden, rank, op.id, 1, number, *place), named, v

    def all_frames(self) -> Iterator[Labels]:
        """Yield the labels in frames, and in the frames there."""
        for frame in self.frames:
            yield frame.inner
            yield from frame.inner.all_frames()

    def is_ordinary(self, v: schema.Value, read: set[int]) -> bool:
        """Return True for a gradient or tangent that the program computes itself, as in a derivative of a derivative."""
        return v.id in self.made or v.id in read and v.id not in self.owners

    def name_derivatives(self) -> None:
        """Name gradients and tangents after their values, some of which are gradients or tangents themselves."""
        left = [v for v in self.values.values() if not v.label and v not in self.inner]
        while left:
            ready = [v for v in left if v.id in self.owners and self.values[self.owners[v.id]].label]
            for v in ready:
                of, is_tangent = self.values[self.owners[v.id]], v.kind == "tangent"
                self.give(v, self.tangent(of.id) if is_tangent else f"{of.label}_grad")
                v.shown = (TANGENT if is_tangent else GRAD) + of.shown
                v.shown = f"{of.shown}.grad" if v.id in self.sums else v.shown
            for v in [] if ready else left:  # nothing is known about them
                self.give(v, v.kind)
            left = [v for v in left if not v.label]

    def tangent(self, value: int) -> str:
        """Return the name of a value's tangent in formulas."""
        return self.tangents.get(value) or tangent(self.values[value].label)

    def spelled_tangent(self, value: int, tangent_of_it: int) -> str:
        """Return the name of a value's tangent in formulas: its own name if the program gave it one, else x_t."""
        t = self.values[tangent_of_it]
        return t.label if t.name and t.label and t.kind != "tangent" else tangent(self.values[value].label, self.taken)


def owned(ops: list[schema.Op], gradients: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return the value that each gradient or tangent belongs to."""
    found = {g: v for v, g in reversed(list(gradients))}
    edges = [(op, edge) for op in ops for edge in op.edges]
    for op, edge in edges:
        for made, g in zip(op.outputs, edge.upstreams or [edge.upstream]):
            found.setdefault(g, made)
    for _, edge in edges:
        found.setdefault(edge.gives, edge.input)
    for op in ops:
        led_to = {edge.input for edge in ops[op.of].edges} if op.phase == "backward" and op.of is not None else ()
        if len(led_to) == 1:  # an edge gives the sum of these
            (input,) = led_to
            for g in op.outputs:
                found.setdefault(g, input)
    for v, t in tangents_of(ops).items():
        found.setdefault(t, v)
    return found


def tangents_of(ops: Iterable[schema.Op]) -> dict[int, int]:
    """Return the tangent of each value that has one."""
    return {v: t for op in ops for v, t in op.tangents.items()}


def tangent(name: str, taken: Collection[str] = ()) -> str:
    """Return the name of a value's tangent: x_t, or x_tangent if another value has that name.

    >>> tangent("x"), tangent("x", {"x_t"}), tangent("net[0].weight"), tangent("h[2]"), tangent('params["w"]')
    ('x_t', 'x_tangent', 'net[0].weight_t', 'h_t[2]', 'params_t["w"]')
    """
    stem = INDEX.sub("", name) if name.endswith("]") else name
    index = name[len(stem) :]
    endings = [f"{stem}_t{index}", f"{stem}_tangent{index}"]
    return next((one for one in endings if one not in taken), endings[-1])


class ShownNames:
    """The names of a record's values for people, by id, and formulas with these names.

    >>> values = [{"id": 3, "label": "net_0_weight", "shown": "net[0].weight"}, {"id": 4, "label": "x", "shown": "x"}]
    >>> shown = ShownNames(values)
    >>> shown.names, shown.words("g @ net_0_weight.mT + net_0_weight_t")
    ({3: 'net[0].weight', 4: 'x'}, 'g @ net[0].weight.mT + net[0].weight_t')
    """

    def __init__(self, values: Sequence[dict]):
        self.names = {v["id"]: called(v) for v in values}
        self.instead: dict[str, str] = {}  # label -> name
        taken = {v["label"] for v in values if v.get("label") and v.get("kind") != "tangent"}
        for v in values:
            label, name = v.get("label"), written(called(v))
            if label and name != label:
                self.instead |= {tangent(label, taken): tangent(name), label: name}

    @staticmethod
    def rounded(formula: str) -> str:
        """Return a formula with computed numbers rounded as printed values are."""
        return COMPUTED.sub(lambda m: f"{float(m[0]):.4g}", formula)

    def words(self, formula: str) -> str:
        """Return a formula with names instead of labels, and with computed numbers rounded as printed values are.

        >>> ShownNames([]).words("q @ k.mT / 2.8284271247461903 + 0.044715")
        'q @ k.mT / 2.828 + 0.044715'
        """
        formula = self.rounded(formula)
        return WORD.sub(lambda m: self.instead.get(m[0], m[0]), formula) if self.instead else formula


def called(value: dict) -> str:
    """Return the name of a value for people; its label or its name in a record that has no such names."""
    return value.get("shown") or value.get("label") or value.get("name") or f"v{value['id']}"


def written(name: str) -> str:
    """Return a name for people as an expression.

    >>> written("grad of w"), written("tangent of h[2]"), written("x")
    ('w.grad', 'h_t[2]', 'x')
    """
    if name.startswith(GRAD):
        return f"{written(name.removeprefix(GRAD))}.grad"
    return tangent(written(name.removeprefix(TANGENT))) if name.startswith(TANGENT) else name


def as_expression(name: str) -> str:
    """Return a name of the program as a Python expression, or "" if that is impossible.

    The name g gets an underscore, because it is the incoming gradient in formulas. Of a long path the end remains.

    >>> as_expression("net.0.weight"), as_expression("0.weight"), as_expression("mean"), as_expression("g")
    ('net[0].weight', '', 'mean', 'g_')
    >>> as_expression("model.text_encoder.layers.11.self_attention.q_proj.weight")
    'layers[11].self_attention.q_proj.weight'
    >>> as_expression('params["w"]'), as_expression("_"), as_expression('ws.0["b"].1')
    ('params["w"]', '', 'ws[0]["b"][1]')
    """
    first, *rest = name.split(".")
    variable = first.partition("[")[0]
    if not variable.strip("_").isidentifier() or keyword.iskeyword(variable):
        return ""
    while rest and len(".".join((first, *rest))) > LONGEST:
        first, *rest = dropwhile(str.isdigit, rest)
    first += "_" * (first == "g" and not rest)
    return first + "".join(ELEMENT.sub(r"[\1]", part) if part[:1].isdigit() else f".{part}" for part in rest)


def as_label(name: str) -> str:
    """Return the label for a name that is an expression.

    >>> as_label("net.0.weight"), as_label("w"), as_label("exp"), as_label('params["w"]'), as_label("1 - x")
    ('net_0_weight', 'w', 'exp_', 'params_w', '_1_x')
    """
    label = re.sub(r"\W+|^(?=\d)", "_", name.rstrip('"]'))
    return label if is_free(label) else f"{label}_"
