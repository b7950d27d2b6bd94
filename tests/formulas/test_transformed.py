"""A record of operations inside transforms is true of each transform's values: under vmap, of every example."""

import numpy as np
import pytest

import minigrad
from minigrad import func
from minigrad.core.tensor import wrap
from minigrad.nn import functional as F
from minigrad.record.build import consumed, ends, flows_of, numbered
from minigrad.record.labels import tangent
from minigrad.record.operation_texts import Wording, Words

from .evaluated import NAMES

RANDOM = np.random.default_rng(0)
MANY = 7  # examples: a size that nothing else has
W = minigrad.tensor(RANDOM.standard_normal((3, 4)))
X = minigrad.tensor(RANDOM.uniform(0.5, 1.5, (MANY, 4)))
V = minigrad.tensor(RANDOM.uniform(0.5, 1.5, 4))


def parts(x):
    first, second = x.chunk(2)
    return (first * second.sum()).sum()


FUNCTIONS = {
    "linear": lambda x: F.linear(x, W).tanh().sum(),
    "matmul": lambda x: (W @ x).softmax(0)[0],
    "broadcast": lambda x: (x.unsqueeze(0) * x.unsqueeze(1) + W[:1]).prod(),
    "expand": lambda x: (x.expand(3, 4) * W).std(),
    "einsum": lambda x: minigrad.einsum("i,ji->j", x, W).norm(),
    "parts": parts,
    "indices": lambda x: (x[1:] * x[minigrad.tensor([0, 2, 2])]).mean(),
    "norm": lambda x: (F.layer_norm(x, (4,)) * x).sum(),
    "cat": lambda x: minigrad.cat([x, x * 2]).log_softmax(-1)[2],
    "cumsum": lambda x: (x.cumsum(0) * x.flip(0)).max(),
}
PROGRAMS = {
    "vmap": (lambda f: minigrad.vmap(f), X),
    "vmap of columns": (lambda f: minigrad.vmap(f, in_dims=1), X.T.clone()),
    "grad": (lambda f: func.grad(f), V),
    "vmap of grad": (lambda f: minigrad.vmap(func.grad(f)), X),
    "vmap of grad of columns": (lambda f: minigrad.vmap(func.grad(f), in_dims=1), X.T.clone()),
    "grad of vmap": (lambda f: func.grad(lambda x: minigrad.vmap(f)(x).sum()), X),
    "both": (lambda f: lambda x: minigrad.vmap(func.grad(f))(x) + func.grad(lambda x: minigrad.vmap(f)(x).sum())(x), X),
    "grad of one for all": (lambda f: func.grad(lambda v: minigrad.vmap(lambda x: f(x * v))(X).sum()), V),
    "vmap of grad of one for all": (lambda f: lambda v: minigrad.vmap(lambda x: func.grad(lambda v: f(x * v))(v))(X), V),
    "vmap of vmap": (lambda f: lambda x: minigrad.vmap(lambda a: minigrad.vmap(lambda b: f(a * b))(x))(x), X[:2].clone()),
    "jvp of grad": (lambda f: lambda v: func.jvp(func.grad(f), (v,), (v,)), V),
}  # fmt: skip


@pytest.mark.parametrize("transform", PROGRAMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_texts_of_an_operation_evaluate_for_each_example(name, transform):
    program, x = PROGRAMS[transform]
    rec = minigrad.record(program(FUNCTIONS[name]), x, passes=("forward",))
    document, number = numbered(rec)
    assert not any("no formula" in note for note in rec.notes), rec.notes
    said, used = 0, consumed([*number.ops], rec.outputs)
    wording = Wording(rec, number, {v.id: v.label for v in document.values})
    for group, i in number.ops.items():
        op = document.ops[i]
        for edge, flow in zip(op.edges, flows_of(group, number)):
            outputs = ends(group, used)[1]
            seen = wording.words(Words(wording, group, outputs, group.events), outputs, group.same_layer(flow.event))
            check_edge(rec, document, number, seen, edge, flow)
            said += 1
        if op.phase == "forward":
            check_call(rec, document, number, op, group.called())
            said += 1
    assert said


@pytest.mark.parametrize("transform", ["vmap", "vmap of columns", "vmap of vmap"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_texts_of_tangents_evaluate_for_each_example(name, transform):
    program, x = PROGRAMS[transform]
    rec = minigrad.record(program(FUNCTIONS[name]), x.clone().requires_grad_(), passes=("forward", "jvp"))
    document, number = numbered(rec)
    said = 0
    for group, i in number.ops.items():
        op, events = document.ops[i], group.called()
        for push in op.pushes:
            check_push(rec, document, number, op, events, push)
            said += 1
    assert said


def check_push(rec, document, number, op, events, push):
    old = {new: ref for ref, new in number.new.items()}
    dims = {number(ref): d for event in events for ref, d in event.dims.items()}
    for k in range(MANY):
        known, _ = names(rec, document, number, events, k)
        tangents = {v: example(rec.values[old[t]].numbers(), dims.get(v, ()), k) for v, t in op.tangents.items()}
        given = {tangent(document.values[v].label): wrap(t) for v, t in tangents.items()}
        same(eval(push["formula"], known | given), tangents[push["output"]], push["formula"])


def names(rec, document, number, events, k):
    """Return the values of the labels in example k, and the arrays of the values."""
    dims = {ref: d for event in events for ref, d in event.dims.items()}
    refs = {r for event in events for r in (*event.inputs, *event.outputs) if isinstance(r, int)} & {*number.new}
    arrays = {r: example(rec.values[r].numbers(), dims.get(r, ()), k) for r in refs}
    labels = {document.values[new].label: wrap(rec.values[old].numbers()) for old, new in number.new.items()}
    return NAMES | labels | {document.values[number(r)].label: wrap(a) for r, a in arrays.items()}, arrays


def example(array, dims, k):
    for d in dims:
        array = np.take(array, k % array.shape[d], axis=d)
    return np.asarray(array)


def gradient(rec, new, number, shape, k):
    """Return a gradient in example k: the surplus dimensions are batch dimensions."""
    array = next(rec.values[old].numbers() for old, n in number.new.items() if n == new)
    while array.ndim > len(shape):
        axis = next(d for d in range(array.ndim) if array.shape[d] == MANY)
        array = np.take(array, k, axis=axis)
    return wrap(np.asarray(array))


def check_edge(rec, document, number, seen, edge, flow):
    assert edge.formula and edge.latex.startswith(r"\bar{")
    for k in range(MANY):
        known, arrays = names(rec, document, number, seen.events, k)
        shapes = [arrays[o].shape for o in seen.outputs]
        gs = [
            wrap(np.zeros(s)) if u is None else gradient(rec, u, number, s, k)
            for s, u in zip(shapes, edge.upstreams, strict=True)
        ]
        found = eval(edge.formula, known | {"g": gs[0] if len(gs) == 1 else gs})
        expected = gradient(rec, edge.gives, number, arrays[flow.value].shape, k)
        same(found, expected.numpy(), edge.formula)


def check_call(rec, document, number, op, events):
    for k in range(MANY):
        known, arrays = names(rec, document, number, events, k)
        found = eval(op.call, known)
        flat = list(found) if isinstance(found, (tuple, list)) else [found]
        given = [arrays[r] for r in arrays if number(r) in op.outputs]  # rules may read more
        assert any(t.shape == a.shape and np.allclose(t.numpy(), a, rtol=1e-5) for t in flat for a in given), op.call


def same(found, expected, text):
    assert tuple(found.shape) == expected.shape, text
    assert np.allclose(found.numpy(), expected, rtol=1e-5, atol=1e-8), text
