"""Explanations of each operation: the steps to a gradient add up, and dimensions come from where the rules say."""

import numpy as np

import minigrad
from minigrad.autograd import grad
from minigrad.explain.shape_history import applied, origins
from minigrad.explain.steps import Step
from tests.explain.checked import adds_up
from tests.floats import some
from tests.table import NAMES, SMOOTH, each_operation, run, tracked


@each_operation(some(SMOOTH, 5))
def test_the_steps_to_a_gradient_add_up(name, sample):
    leaves = [leaf.detach().clone().requires_grad_() for leaf in run(name, sample)[1]]
    outs = tracked(run(name, sample, leaves=leaves)[0])
    if not outs:
        return
    random = np.random.default_rng(1)
    loss = sum([(o * minigrad.tensor(random.standard_normal(tuple(o.shape)))).sum() for o in outs])
    for leaf, g in zip(leaves, grad(loss, leaves, retain_graph=True, allow_unused=True)):
        if g is not None:
            e = minigrad.explain(loss, leaf)
            numbers = [g.numpy()[i] for i in e.elements] if g.ndim else [g.item()]
            assert np.allclose(numbers, e.numbers, equal_nan=True)
            assert all(part.known for step in e.steps if isinstance(step, Step) for part in step.parts)
            adds_up(e)


@each_operation(NAMES)
def test_a_dimension_has_the_size_of_its_origin(name, sample):
    with minigrad.record(passes=("forward",)) as rec:
        run(name, sample)
    rec.settle()
    for group, event in [(g, e) for g in rec.groups for e in g.events]:
        for out in event.outputs:
            op = applied(rec, group, event, out)
            found = origins(op)
            assert len(found) == len(op.out)
            for size, origin in zip(op.out, found):
                sizes = [op.shapes[k][d] for k, d in origin.sources]
                assert origin.why or all(s == size for s in sizes), f"{event.cls}: {op.shapes}, {op.out}, {found}"
