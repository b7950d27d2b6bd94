"""Programs that several tests record, and what they look for in the document."""

from collections import defaultdict

import numpy as np

import minigrad
from tests.functions import custom

Square = custom(
    "Square",
    forward=lambda ctx, x: ctx.save_for_backward(x) or ctx.save_for_forward(x) or x * x,
    backward=lambda ctx, g: g * 2 * ctx.saved_tensors[0],
    jvp=lambda ctx, t: 2 * ctx.saved_tensors[0] * t,
)


def layer(x, w, b):
    return (minigrad.tanh(x @ w + b) * x).sum()


def inputs():
    random = np.random.default_rng(0)
    x, w, b = (minigrad.tensor(random.standard_normal(s), requires_grad=True) for s in ((4, 3), (3, 3), (3,)))
    return x, w, b


def number(document, value):
    return np.array(document["values"][value]["summary"]["values"], float)


def forward(document):
    return [op for op in document["ops"] if op["phase"] == "forward"]


def assert_adds_up(document):
    """Over all edges into a value, what they give sums to the value's gradient."""
    gives = defaultdict(list)
    for op in document["ops"]:
        for edge in op["edges"]:
            gives[edge["input"]].append(number(document, edge["gives"]))
    assert gives
    for value, parts in gives.items():
        assert np.allclose(sum(parts), number(document, document["gradients"][str(value)])), document["values"][value]


def assert_sound(document):
    """Check the invariants of docs/record.md."""
    values, ops = document["values"], document["ops"]
    assert [v["id"] for v in values] == list(range(len(values)))
    assert [op["id"] for op in ops] == list(range(len(ops)))
    for op in ops:
        assert (op["of"] is not None) == (op["phase"] in ("backward", "jvp")), op["name"]
        assert all(values[t]["kind"] == "tangent" for t in op["tangents"].values()), op["name"]
        assert all(values[s["value"]]["bytes"] == s["bytes"] for s in op["saved"]), op["name"]
        for edge in op["edges"]:
            assert edge["input"] in op["inputs"], op["name"]
            assert values[edge["gives"]]["kind"] == values[edge["upstream"]]["kind"] == "gradient", op["name"]
    if any(op["edges"] for op in ops):
        assert_adds_up(document)


def tangent_of_output(document):
    """Return the tangent of the program's one result."""
    (out,) = document["outputs"]
    (found,) = {op["tangents"][str(out)] for op in document["ops"] if str(out) in op["tangents"]}
    return number(document, found)


def gradients_by_name(document):
    """Return name -> gradient of each parameter that has one."""
    named = {str(v["id"]): v["name"] for v in document["values"] if v["kind"] == "parameter"}
    return {named[value]: number(document, g) for value, g in document["gradients"].items() if value in named}
