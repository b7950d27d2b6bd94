"""The names of a record's values: a label for formulas, and the same name as people write it.

A value is called by its name in the program. Values of one variable are counted: h, h[1], h[2] in the rounds of a loop, and
x, x₂ elsewhere. Values without a name are v0, v1, ... in program order. The gradient and the tangent of x are x_grad and x_t.
A label is an identifier, so formulas of labels can be evaluated; `shown` may be an expression such as net[0].weight.
"""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, dropwhile
from types import MappingProxyType

from ..ops.base.registry import TABLE
from . import schema

LONGEST = 48  # characters of a path in formulas
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
# a number of more digits than people write, in no string
COMPUTED = re.compile(r"(?<![\w.'\"])(?=[\d.]{10})\d+\.\d+(?:e[+-]?\d+)?(?![\w.'\"])")
INDEX = re.compile(r"(\[[^]]+\])*$")
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


def earlier(n: int) -> tuple[str, str]:
    """Return what the n-th content of a variable before its plain name adds to it, in its label and its shown name."""
    old = f"_old_{n}" if n > 1 else "_old"
    return old, old


class Labels:
    """Chooses the labels and shown names of values, which it stores in them; `tangent` names tangents in formulas.

    `program` are the operations that the program ran, which excludes the engine's backward on arrays. Values in `others`
    leave the plain name of their variable to another value. Values in `last` have the last numbers: they are shown by the
    names of another record, or not at all; in a `partial` record they are not counted, because it has not all rounds.
    """

    def __init__(
        self,
        values: Sequence[schema.Value],
        program: Iterable[schema.Op],
        others: Collection[int] = (),
        last: Collection[int] = (),
        partial: bool = False,
    ):
        self.values = {v.id: v for v in values}
        self.others, self.last, self.partial = others, last, partial
        self.program = list(program)
        self.lines: dict[int, tuple] = {o: (op.where.file, op.where.line) for op in self.program for o in op.outputs}
        self.taken = {op.name for op in self.program}  # calls may use them, as in t(x)

    def write(
        self,
        ops: Iterable[schema.Op],
        gradients: Iterable[tuple[int, int]],
        saved: Mapping[int, str] = MappingProxyType({}),
        grads: Iterable[tuple[int, int]] = (),
    ) -> dict[int, str]:
        """Store the labels and shown names, and return the labels; `saved` are the names that Functions save by.

        `gradients` are pairs of a value and its gradient in a backward pass, `grads` of a leaf and a content of its `.grad`.
        """
        ops = list(ops)
        self.name_variables()
        inner = self.inner_values(ops, saved)
        read = {i for op in self.program for i in op.inputs if isinstance(i, int)}
        owners = self.owners(ops, gradients)
        self.sums = {after for _, after in grads} - owners.keys()
        owners |= {after: v for v, after in grads if after in self.sums}
        detached = {op.outputs[0]: op for op in self.program if op.cut == op.name in schema.CALLS and op.outputs}
        detached = {i: op for i, op in detached.items() if not self.values[i].label}
        unnamed = [v for v in self.values.values() if not v.label and v.id not in inner and v.id not in detached]
        ordinary = [v for v in unnamed if v.kind not in ("gradient", "tangent") or self.is_ordinary(v, read, owners)]
        for n, v in enumerate(sorted(ordinary, key=lambda v: v.id in self.last)):
            self.give(v, f"v{n}")
        for i, op in detached.items():  # by their call: x.detach()
            of = self.values[op.inputs[0]]
            self.give(
                self.values[i], f"{of.label or of.kind}_{op.name}", schema.CALLS[op.name].format(of.shown or of.kind)
            )
        for i, name in inner.items():
            numbered = (f"{name}_{n}" for n in count(2))
            self.give(self.values[i], next(one for one in chain([name], numbered) if one not in self.taken))
        self.tangents = {i: self.spelled_tangent(i, t) for i, t in tangents_of(ops).items()}
        self.name_derivatives(owners)
        return {v.id: v.label for v in self.values.values()}

    def give(self, v: schema.Value, label: str, shown: str = "") -> None:
        """Give a value its label, with an underscore if it is taken."""
        while label in self.taken:
            label += "_"
            shown = ""
        self.taken.add(label)
        v.label, v.shown = label, shown or label

    # ------------------------------------------------------------------ variables
    def name_variables(self) -> None:
        """Name the values that have a usable name in the program: plain names first, so that they keep them."""
        groups: dict[str, list[schema.Value]] = {}
        for v in self.values.values():
            if as_expression(v.name):
                groups.setdefault(v.name, []).append(v)
        counted = []
        for name, several in groups.items():
            if self.partial and (past := [v for v in several if v.id in self.last]) != several:
                counted += [(v, name, earlier(n)) for n, v in enumerate(reversed(past), 1)]
                several = [v for v in several if v not in past]
            marked = list(self.marks(several))
            counted += [(v, name, mark) for v, mark in zip(several, marked) if mark]
            for v in [v for v, mark in zip(several, marked) if not mark]:
                self.give(v, as_label(name), as_expression(name))
        for v, name, (label, shown) in counted:
            self.give(v, as_label(name) + label, as_expression(name) + shown)

    def marks(self, several: list[schema.Value]) -> Iterator[tuple[str, str] | None]:
        """Yield what distinguishes each value of a variable in its label and its shown name; None for the plain name.

        Results of a line that runs repeatedly have their round, earlier contents of a parameter are old, others are counted.
        """
        lines = [self.lines.get(v.id) if v.kind == "computed" and not is_state(v) else None for v in several]
        loops = [line for line, count in Counter(lines).items() if line and count > 1]
        plain = next((k for k, v in enumerate(several) if v.id not in self.others), 0)
        turn = 0
        for k, line in enumerate(lines):
            number = k - plain + 1
            if len(loops) == 1 and line in loops:
                turn += 1
                yield f"_{turn}", f"[{turn}]"
            elif k < plain:
                yield earlier(plain - k)
            else:
                yield (f"_{number}", str(number).translate(SUBSCRIPTS)) if number > 1 else None

    # ------------------------------------------------------------------ values without a name
    def inner_values(self, ops: list[schema.Op], saved: Mapping[int, str]) -> dict[int, str]:
        """Return names for values that exist only inside operations, which save them: the author's, or softmax_saved.

        Further ones of the same name are counted: softmax_saved_2.
        """
        outside = {v for op in ops for v in (*op.inputs, *op.outputs) if isinstance(v, int)}
        kept = {s.value: op for op in ops for s in op.saved if s.value not in outside}
        found, count = {}, Counter[str]()
        for i in [i for i in kept if not self.values[i].label]:
            name = as_label(saved.get(i) or f"{kept[i].name}_saved")
            count[name] += 1
            found[i] = f"{name}_{count[name]}" if count[name] > 1 else name
        return found

    def owners(self, ops: list[schema.Op], gradients: Iterable[tuple[int, int]]) -> dict[int, int]:
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

    def is_ordinary(self, v: schema.Value, read: set[int], owners: dict[int, int]) -> bool:
        """Return True for a gradient or tangent that the program computes itself, as in a derivative of a derivative."""
        return v.id in self.lines or v.id in read and v.id not in owners

    def name_derivatives(self, owners: dict[int, int]) -> None:
        """Name gradients and tangents after their values, some of which are gradients or tangents themselves."""
        left = [v for v in self.values.values() if not v.label]
        while left:
            ready = [v for v in left if v.id in owners and self.values[owners[v.id]].label]
            for v in ready:
                of, is_tangent = self.values[owners[v.id]], v.kind == "tangent"
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

    Names with a meaning in formulas get an underscore. Of a long path the end remains.

    >>> as_expression("net.0.weight"), as_expression("0.weight"), as_expression("w"), as_expression("exp")
    ('net[0].weight', '', 'w', 'exp_')
    >>> as_expression("model.text_encoder.layers.11.self_attention.q_proj.weight")
    'layers[11].self_attention.q_proj.weight'
    >>> as_expression('params["w"]'), as_expression("_")
    ('params["w"]', '')
    """
    first, *rest = name.split(".")
    variable, _, key = first.partition("[")
    if not variable.strip("_").isidentifier() or keyword.iskeyword(variable):
        return ""
    while rest and len(".".join((first, *rest))) > LONGEST:
        first, *rest = dropwhile(str.isdigit, rest)
        key = ""
    first += "_" * (not is_free(first) and not rest and not key)
    return first + "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in rest)


def as_label(name: str) -> str:
    """Return the label for a name that is an expression.

    >>> as_label("net.0.weight"), as_label("w"), as_label("exp"), as_label('params["w"]')
    ('net_0_weight', 'w', 'exp_', 'params_w')
    """
    label = re.sub(r"\W+", "_", name.rstrip('"]'))
    return label if is_free(label) else f"{label}_"
