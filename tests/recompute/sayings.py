"""The expressions in a record: each with the values of its names, and the values that it has to give."""

import re
from typing import NamedTuple

import numpy as np

import minigrad
from minigrad.record.labels import tangent
from minigrad.testing.samples import call
from tests.formulas.evaluated import read
from tests.table import tensors, tracked

TOLERANCE = {"float64": 1e-12, "float32": 2e-6}


class Saying(NamedTuple):
    """An expression of the record."""

    text: str
    names: dict
    expected: list


def recorded(entry, sample, dtype):
    """Return the record of a sample with leaves of a dtype, with another gradient for each result."""
    leaves = call(minigrad, entry.function, entry, sample, dtype=dtype)[1]
    leaves = [x.detach().requires_grad_(entry.differentiable) for x in leaves]
    program, passes = weighted(entry, sample)
    return read(minigrad.record(program, *leaves, passes=passes))


def weighted(entry, sample):
    """Return a program of a sample, with another gradient for each result, and its passes."""

    def program(*leaves):
        result, _ = call(minigrad, entry.function, entry, sample, leaves=leaves)
        if not entry.differentiable:
            return tensors(result)
        weights = np.random.default_rng(0)
        return [t * minigrad.tensor(weights.uniform(0.5, 1.5, tuple(t.shape)), dtype=t.dtype) for t in tracked(result)]

    return program, ("forward", "backward", "jvp") if entry.differentiable else ("forward",)


def sayings(made, arrays):
    """Yield the calls, formulas and pushes of a document whose values are known."""
    labels = {v.label: arrays[v.id] for v in made.values if v.id in arrays}
    taken = {v.label for v in made.values if v.kind != "tangent"}
    for op in made.ops:
        if op.phase == "forward" and set(op.outputs) <= set(arrays):
            yield saying(op.call, labels, [arrays[o] for o in op.outputs])
        for edge in op.edges:
            zeros = [np.zeros_like(arrays[o]) for o in op.outputs]
            g = [zeros[k] if u is None else arrays[u] for k, u in enumerate(edge.upstreams)]
            yield saying(edge.formula, {**labels, "g": g if len(g) > 1 else g[0]}, [arrays[edge.gives]])
        moving = {tangent(made.values[v].label, taken): arrays[t] for v, t in op.tangents.items()}
        for push in op.pushes:
            yield saying(push["formula"], {**labels, **moving}, [arrays[op.tangents[push["output"]]]])


def saying(text, known, expected):
    """Return an expression with the values of the names in it."""
    words = set(re.findall(r"\w+", text))
    return Saying(text, {name: a for name, a in known.items() if name in words}, expected)


def compare(found, expected, text):
    """Check all results of an expression; a program may use only some of them."""
    if len(found) != len(expected):
        found = [next((a for a in found if equal(a, e)), None) for e in expected]
    for a, e in zip(found, expected, strict=True):
        assert a is not None and a.shape == e.shape, text
        assert equal(a, e), f"{text}: {a} instead of {e}"


def equal(a, e):
    """Return True if arrays agree to the tolerance of their dtype; NaN and infinities agree with themselves."""
    if e.dtype.name not in TOLERANCE:
        return np.array_equal(a, e)
    largest = max(1.0, np.max(np.abs(e), initial=0, where=np.isfinite(e)))
    few = TOLERANCE[e.dtype.name]
    return a.shape == e.shape and np.allclose(a, e, few, few * largest, equal_nan=True)
