"""Formulas can be typed in: each evaluates to the number beside it, in its shape."""

import numpy as np
import pytest

import minigrad
from minigrad.core.tensor import wrap
from minigrad.formulas.traced_rules import Program, Step, written
from minigrad.ops.base.registry import TABLE
from minigrad.record.build import consumed, ends
from minigrad.testing.samples import Maker
from tests import table

NAMES = {
    name: value for name, value in [*vars(minigrad.nn.functional).items(), *vars(minigrad).items()] if name[0] != "_"
}
NAMES["special"] = minigrad.special  # imported when it is first named
RANDOM = np.random.default_rng(0)


def leaves(entry, sample):
    """Return the float tensors of a sample, as leaves of a graph."""
    maker = Maker(minigrad, entry, sample)
    eval(f"(lambda *a, **k: None)({sample})", {"torch": minigrad, **{n: getattr(maker, n) for n in "TPISB"}})
    return [t.detach().requires_grad_() for t in maker.leaves]


def groups(name, sample):
    """Return a recording of a sample with its backward, and its operations with their inputs and outputs."""
    given = leaves(TABLE[name], sample)
    with minigrad.record() as rec:
        result, _ = table.run(name, sample, leaves=given)
        results = [t for t in table.floats(result) if t.requires_grad]
        if results:
            seeds = [minigrad.tensor(RANDOM.uniform(0.5, 1.5, tuple(t.shape))) for t in results]
            minigrad.autograd.grad(results, given, seeds, allow_unused=True)
    rec.settle()
    used = consumed(rec.groups, rec.outputs)
    return rec, [(g, *ends(g, used)) for g in rec.groups if g.phase == "forward" and g.edges]


def label(ref):
    return f"x{ref}"


def program(rec, group, outputs):
    steps = [Step(event.cls, event.inputs, event.outputs) for event in group.events]
    return Program(steps, lambda ref: rec.values[ref].numbers(), label, outputs)


def values(rec, inputs, outputs):
    """Return the value of each name in a formula."""
    refs = [i for i in inputs if not isinstance(i, dict)] + outputs
    return {**NAMES, **{label(ref): wrap(rec.values[ref].numbers()) for ref in refs}}


def assert_gives(text, names, expected):
    found = eval(text, names)
    assert tuple(found.shape) == expected.shape, text
    assert np.allclose(found.numpy(), expected, rtol=1e-6, atol=1e-9, equal_nan=True), text


@pytest.mark.parametrize(("name", "sample"), [(n, s) for n in table.SMOOTH for s in TABLE[n].samples])
def test_the_formulas_of_both_passes_give_the_numbers(name, sample):
    rec, found = groups(name, sample)
    for group, inputs, outputs in found:
        backward(rec, group, inputs, outputs)
        forward(rec, group, inputs, outputs)


def backward(rec, group, inputs, outputs):
    """Check that the gradient of each input is the sum of its formulas' values."""
    grads = {o: rec.values[rec.gradients[o]].numbers() if o in rec.gradients else None for o in outputs}
    given = [wrap(np.zeros(rec.values[o].shape, rec.values[o].dtype) if g is None else g) for o, g in grads.items()]
    names = {**values(rec, inputs, outputs), "g": given[0] if len(given) == 1 else given}
    wanted, texts = {}, {}
    for flow in group.edges:
        wanted[flow.value] = wanted.get(flow.value, 0) + rec.values[flow.gives].numbers()
    for (step, i), t in program(rec, group, outputs).pulled(grads).items():
        texts.setdefault(group.events[step].inputs[i], []).append(written(t))
    for ref, number in wanted.items():
        for text in texts[ref]:
            assert tuple(eval(text, names).shape) == number.shape, text
        assert_gives(" + ".join(f"({text})" for text in texts[ref]), names, np.asarray(number))


def forward(rec, group, inputs, outputs):
    """Check that the tangent of each output equals its formula's value and the result of the rule for tangents."""
    floats = [i for i in dict.fromkeys(r for r in inputs if isinstance(r, int)) if rec.values[i].dtype == np.float64]
    tangents = {i: RANDOM.uniform(-1, 1, rec.values[i].shape) for i in floats}
    names = values(rec, inputs, outputs) | {"d" + label(i): wrap(t) for i, t in tangents.items()}
    for o, t in program(rec, group, outputs).pushed(tangents, label).items():
        assert tuple(t.shape) == rec.values[o].shape
        assert_gives(written(t), names, t._value.numpy())
