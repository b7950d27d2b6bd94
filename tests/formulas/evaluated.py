"""Evaluate the texts in a document of a record: calls give results, formulas gradients on edges, pushes tangents."""

import re

import numpy as np

import minigrad
from minigrad.core.tensor import wrap
from minigrad.formulas.traced_rules import Program, Step, written
from minigrad.record.build import consumed, ends, numbered
from minigrad.record.labels import tangent
from tests.table import tensors

NAMES = {
    name: value for name, value in [*vars(minigrad.nn.functional).items(), *vars(minigrad).items()] if name[0] != "_"
}
NAMES["special"] = minigrad.special  # imported when it is first named
RANDOM = {
    "bernoulli",
    "binomial",
    "normal",
    "poisson",
    "multinomial",
    "gumbel_softmax",
    "dropout",
    "rand",
    "randn",
    "randint",
}


def document(f, *args):
    """Return the document of a program, and the arrays of its values by their numbers."""
    return read(minigrad.record(f, *args))


def read(rec):
    """Return the document of a record, and the arrays of its values by their numbers."""
    made, number = numbered(rec)
    arrays = {new: held(rec.values[old]) for old, new in number.new.items()}
    arrays = {new: a for new, a in arrays.items() if a is not None}
    assert not rec.notes or all("no formula" not in note for note in rec.notes), rec.notes
    return made, arrays


def held(noted):
    """Return a value's numbers: all, or the summary's if the value is small; None if they are unknown."""
    if noted.lost:
        numbers = noted.summary.get("values")
        return None if numbers is None else np.array(numbers, noted.dtype).reshape(noted.shape)
    return None if noted.array is None else np.asarray(noted.numbers())


def check(made, arrays, calls=True):
    """Evaluate all that the document says of values that are known; return how many sayings there were."""
    labels = {v.label: wrap(arrays[v.id].copy()) for v in made.values if v.id in arrays}
    assert len({v.label for v in made.values}) == len(made.values) and all(v.label.isidentifier() for v in made.values)
    unknown = re.compile(rf"\b({'|'.join([v.label for v in made.values if v.id not in arrays] or ['(?!)'])})\b")
    taken = {v.label for v in made.values if v.kind != "tangent"}
    said = 0
    for op in made.ops:
        if (
            calls
            and op.phase == "forward"
            and op.name not in RANDOM
            and set(op.outputs) <= set(arrays)
            and not unknown.search(op.call)
        ):
            check_call(op, labels, arrays)
            said += 1
        for edge in op.edges:
            ids = {edge.gives, *edge.upstreams} - {None}
            if not ids <= set(arrays) or unknown.search(edge.formula):
                continue
            given = [zeros(op, k, arrays) if u is None else wrap(arrays[u]) for k, u in enumerate(edge.upstreams)]
            names = {**NAMES, **labels, "g": given[0] if len(given) == 1 else given}
            same(eval(edge.formula, names), arrays[edge.gives], edge.formula)
            assert edge.latex.startswith(r"\bar{") or len(edge.formula) > 3000  # too long to typeset
            said += 1
        tangents = {
            tangent(made.values[v].label, taken): wrap(arrays[t]) for v, t in op.tangents.items() if t in arrays
        }
        for push in op.pushes if set(op.tangents.values()) <= set(arrays) else ():
            if unknown.search(push["formula"]):
                continue
            same(
                eval(push["formula"], {**NAMES, **labels, **tangents}),
                arrays[op.tangents[push["output"]]],
                push["formula"],
            )
            said += 1
    return said


def zeros(op, k, arrays):
    return wrap(np.zeros_like(arrays[op.outputs[k]]))


def check_call(op, labels, arrays):
    found = eval(op.call, {**NAMES, **{k: t.clone() for k, t in labels.items()}})
    flat = tensors(found)
    assert len(flat) >= len(op.outputs), op.call
    for o, t in zip(op.outputs, flat if len(flat) == len(op.outputs) else matching(flat, op.outputs, arrays)):
        same(t, arrays[o], op.call)


def matching(flat, outputs, arrays):
    """Return those results of several that the program uses."""
    return [
        next(t for t in flat if tuple(t.shape) == arrays[o].shape and np.allclose(t.numpy(), arrays[o]))
        for o in outputs
    ]


def same(found, expected, text):
    assert tuple(found.shape) == expected.shape, text
    few = 1e-4 if expected.dtype == np.float32 else 1e-8
    largest = max(1.0, np.max(np.abs(expected), initial=0, where=np.isfinite(expected)))
    assert np.allclose(found.numpy(), expected, few, few * largest, equal_nan=True), text


def check_all_tangents(rec):
    """Check the formulas of tangents where each operand has a tangent, constants of the program as well."""
    used, random = consumed(rec.groups, rec.outputs), np.random.default_rng(0)
    label, numbers = "x{}".format, lambda ref: rec.values[ref].numbers()
    for group in rec.groups:
        if group.phase != "forward" or not group.edges:
            continue
        inputs, outputs = ends(group, used)
        refs = [i for i in inputs if isinstance(i, int)]
        names = {label(ref): wrap(numbers(ref)) for ref in [*refs, *outputs]}
        floats = [i for i in dict.fromkeys(refs) if rec.values[i].dtype == np.float64]
        tangents = {i: random.uniform(-1, 1, rec.values[i].shape) for i in floats}
        names |= {f"{label(i)}_t": wrap(t) for i, t in tangents.items()}
        program = Program([Step(e.cls, e.inputs, e.outputs) for e in group.events], numbers, label, outputs)
        for ref, moved in program.pushed(tangents, "x{}_t".format).items():
            assert tuple(moved.shape) == rec.values[ref].shape
            text = written(moved)
            same(eval(text, {**NAMES, **names}), moved._value.numpy(), text)
