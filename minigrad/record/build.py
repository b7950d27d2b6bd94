"""From what a recording noted to the document of the schema: values and operations renumbered in program order, names, and
what each operation kept and when it was freed.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Iterator
from functools import cache
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.devices import CPU, CUDA
from ..arrays.kinds import on_device
from ..core.saved import Freed
from ..kernels import formula
from . import schema
from .in_words import Wording, labels
from .inner_calls import Inside
from .values import Event, Flow, Group, Noted, Ref

if TYPE_CHECKING:
    from .recorder import Record

DEVICE, GPU = str(CPU), str(CUDA)


class Numbers:
    """Program order: a value gets its number in the document when it is first mentioned."""

    def __init__(self, rec: Record):
        self.rec, self.noted = rec, rec.values
        self.new: dict[int, int] = {}
        groups = [g for g in rec.groups if g.events or g.phase == "backward"]
        self.ops = {g: i for i, g in enumerate(groups)}

    def __call__(self, ref: Any) -> Any:
        """A reference of the recording as one of the document."""
        if isinstance(ref, dict):
            return schema.jsonable(ref)
        return self.new.setdefault(ref, len(self.new))

    def values(self) -> list:
        """The values that were mentioned, in the order of their new numbers."""
        return [value(self.noted[old], new) for old, new in self.new.items()]


def numbered(rec: Record) -> tuple[schema.Document, Numbers]:
    """The document of a recording, and the numbers that its values have there."""
    rec.settle()
    number = Numbers(rec)
    ids, groups = number.ops, list(number.ops)
    used = consumed(groups, rec.outputs)
    sides = {g: ends(g, used) for g in groups}
    freeing = {g.of: ids[g] for g in reversed(groups) if g.of is not None}  # operation -> its first backward entry
    ops = [entry(g, ids, sides, number, freeing.get(g)) for g in groups]
    for ref in [r for g in groups if g.given for r in refs_in(list(g.given.values()))]:
        number(ref)  # a call names also what only tells a shape, as in x.view_as(y)
    ops += tangent_entries(groups, ids, sides, number, len(ops))
    gradients = {number(v): number(g) for v, g in sorted(rec.gradients.items()) if v in number.new}
    passes = [p for p, ran in (("forward", True), ("backward", rec.ran_backward), ("jvp", rec.ran_jvp)) if ran]
    program = {"file": rec.file, "name": rec.program_name, "passes": passes}
    outputs = [number(o) for o in rec.outputs]
    for g, ran in insides(rec):
        if g in ids:
            ops[ids[g]].inside.append(method(ran, rec, number))
    document = schema.Document(program, number.values(), ops, outputs, gradients)
    write_words(rec, document, number, sides)
    return document, number


def write_words(rec: Record, document: schema.Document, number: Numbers, sides: dict) -> None:
    """Give the values labels, and operations and edges what they say in them."""
    names = labels(document.values, assigned_names(document.ops))
    for v in document.values:
        v.label = names[v.id]
    wording = Wording(rec, number, names)
    for group, i in number.ops.items():
        wording.write(document.ops[i], group, flows_of(group, number), *sides[group])


def insides(rec: Record) -> Iterator[tuple[Group, Inside]]:
    """What methods of custom Functions did, with the operation that they ran for."""
    home = {node: g for g in rec.groups if g.phase == "forward" for node in g.nodes}
    forward = None  # it runs before there is a ctx, where setup_context gets it
    for ran in rec.insides:
        if ran.ctx is None:
            forward = ran
        elif ran.ctx in home:
            if ran.name == "setup_context" and forward is not None:
                yield home[ran.ctx], forward
                forward = None
            yield home[ran.ctx], ran


def method(ran: Inside, rec: Record, number: Numbers) -> schema.Method:
    """What one method did, as a record of its own; `same` says which of its values are values outside."""
    document, inner = numbered(ran.record)
    outside = {id(number.noted[old].array): new for old, new in number.new.items()}
    outside |= {array: number.new[old] for array, old in rec._ids.items() if old in number.new}  # gradients' tensors
    at = {new: id(inner.noted[old].array) for old, new in inner.new.items()}
    same = {new: outside[array] for new, array in at.items() if array in outside}
    made = document.to_dict()
    return schema.Method(ran.name, made["values"], made["ops"], made["outputs"], same)


def value(noted: Noted, new: int) -> schema.Value:
    """One value with what is in it, as far as it is known."""
    if noted.summary is None:
        noted.summary = {} if noted.array is None else schema.summary(noted.held())
    dtype = np.dtype(noted.dtype or "f4")
    size = math.prod(noted.shape) * dtype.itemsize
    place = GPU if on_device(noted.array) else DEVICE
    return schema.Value(new, noted.name, "", noted.kind, list(noted.shape), name_of(dtype), place, size, noted.summary)


@cache
def name_of(dtype: np.dtype) -> str:
    """The dtype in words, which takes NumPy 3 us to find."""
    return str(dtype)


def consumed(groups: list[Group], outputs: list) -> dict:
    """Value -> the groups that read it (None for the caller of the program)."""
    found: dict[int, set] = {o: {None} for o in outputs}
    for g in groups:
        for event in g.events:
            for i in event.inputs:
                if not isinstance(i, dict):
                    found.setdefault(i, set()).add(g)
    return found


def ends(group: Group, used: dict) -> tuple[list, list]:
    """What goes into a group from outside, in the order of the arguments, and what of its results is used outside."""
    results = [o for e in group.events for o in e.outputs]
    made = set(results)
    if len(group.events) == 1:
        (event,) = group.events
        inputs = list(event.inputs)
        if hasattr(event.cls, "_nested"):
            inputs.pop()  # the call of a NestedIOFunction, which knows how its tensors are nested
    else:
        read = [i for e in group.events for i in e.inputs if not isinstance(i, dict) and i not in made]
        inputs = [i for i in dict.fromkeys([*group.arguments.values(), *read]) if i in set(read)]
    outputs = [o for o in dict.fromkeys(results) if used.get(o, set()) - {group}]
    return inputs, outputs or [o for e in group.events for o in shown(e) if group not in used.get(o, ())]


def refs_in(given: Any) -> Iterator[int]:
    """The values among the arguments of a function."""
    if type(given) is Ref:
        yield given.value
    elif isinstance(given, (tuple, list)):
        for a in given:
            yield from refs_in(a)


def flows_of(g: Group, number: Numbers) -> list[Flow]:
    """What flowed back along the edges of an operation, one for each edge: of one made of several, one for each value."""
    flows = [f for f in g.edges if f.upstream is not None]
    if len(g.events) < 2:
        return flows
    merged: dict[tuple, Flow] = {}
    for flow in flows:
        before = merged.get((flow.run, flow.value))
        merged[flow.run, flow.value] = (
            flow if before is None else before._replace(gives=number.rec.plus(before.gives, flow.gives))
        )
    return list(merged.values())


def assigned_names(ops: list[schema.Op]) -> dict[int, str]:
    """The variables that lines assign their results to: value -> name."""
    found: dict[int, str] = {}
    lines = [op for op in ops if op.phase == "forward"]
    for op, following in zip(lines, [*lines[1:], None]):
        last = following is None or (op.where.file, op.where.line) != (following.where.file, following.where.line)
        if last and len(op.outputs) == 1 and (name := assigned(op.where.code)):
            found.setdefault(op.outputs[0], name)
    return found


@cache
def assigned(code: str) -> str:
    """The variable that a line assigns its whole result to, or ""."""
    try:
        (statement,) = ast.parse(code.strip()).body
    except (SyntaxError, ValueError):
        return ""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""


def shown(event: Event) -> list:
    """The results of an event without those that only formulas read."""
    return event.outputs[: len(event.outputs) - event.cls.n_internal] if event.cls.primitive else event.outputs


def entry(g: Group, ids: dict, sides: dict, number: Numbers, back: int | None) -> schema.Op:
    """One operation of the document."""
    inputs, outputs = sides[g]
    if g.phase == "backward" and g.of is not None and not g.events:
        edges = [flow for flow in g.of.edges if flow.run == g.run]
        inputs = list(dict.fromkeys([flow.upstream for flow in edges if flow.upstream is not None]))
        outputs = list(dict.fromkeys([flow.gives for flow in edges]))
    refs_in, refs_out = [number(i) for i in inputs], [number(o) for o in outputs]
    op = operation(g, ids[g], g.phase, refs_in, refs_out, None if g.of is None else ids[g.of])
    op.inplace = g.inplace
    if g.phase == "forward" and g.events:
        op.views = [schema.View(layer, inputs) for layer, inputs in g.events[0].views]
    if g.phase != "backward" or g.events:
        flows = flows_of(g, number)
        op.edges = [schema.Edge(number(f.value), f.partial, number(f.upstream), number(f.gives)) for f in flows]
        for v, size, node in g.kept:
            op.saved.append(schema.SavedValue(number(v), size, back if type(node._saved) is Freed else None))
        op.tangents = {number(v): number(t) for v, t in g.tangents.items() if v in inputs or v in outputs}
    return op


def tangent_entries(groups: list[Group], ids: dict, sides: dict, number: Numbers, start: int) -> list:
    """The jvp pass: one entry for each operation whose result has a tangent."""
    made = []
    for g in groups:
        inputs, outputs = sides[g]
        if any(o in g.tangents for o in outputs):
            tangents_in = [number(g.tangents[v]) for v in inputs if not isinstance(v, dict) and v in g.tangents]
            tangents_out = [number(g.tangents[v]) for v in outputs if v in g.tangents]
            made.append(operation(g, start + len(made), "jvp", tangents_in, tangents_out, ids[g]))
    return made


def operation(g: Group, id: int, phase: str, inputs: list, outputs: list, of: int | None) -> schema.Op:
    """An operation of the document with what all passes say of it alike."""
    return schema.Op(
        id, phase, g.name, words(g), "", g.layers, inputs, outputs, of, False, g.where, g.function, module=g.modules
    )


def words(g: Group) -> str:
    """What an operation computes, as text: its kernel, or the call with the arguments that are no tensors."""
    if not g.events:
        return "; ".join(dict.fromkeys(flow.partial for flow in g.of.edges)) if g.of else ""
    if len(g.events) > 1:
        return f"{g.name}({', '.join(g.arguments)})"
    event = g.events[0]
    kernel = getattr(event.cls, "kernel", None)
    if kernel is not None and (text := formula.shown(kernel)):
        return text
    if not event.cls.primitive:
        return f"{g.name}({', '.join(forward_parameters(event.cls))})"
    names = event.cls.names
    named = zip(chain(names, repeat(names[-1])), event.inputs)  # the last one is that of all that follow
    said = [f"{name}={i['const']!r}" if isinstance(i, dict) else name for name, i in named]
    return f"{g.name}({', '.join(dict.fromkeys(said))})"


def forward_parameters(cls: Any) -> list:
    """The parameters of a custom Function's forward, without ctx."""
    return list(inspect.signature(cls.forward).parameters)[cls.combined :]
