"""Custom Functions in a page: what their methods have computed follows a changed number, and NumPy stays as recorded."""

import numpy as np
import pytest

import minigrad

from .again import computed, recorded
from .functions import FROZEN, PROGRAMS, WITH_JVP
from .sayings import equal
from .test_record import SAVED, compare

X = np.array([0.5, 1.5, 1.0])


def record(name, x):
    leaf = minigrad.tensor(x, requires_grad=True)
    passes = ("forward", "backward", "jvp") if name in WITH_JVP else ("forward", "backward")
    return recorded(minigrad.record(PROGRAMS[name], leaf, passes=passes, inside=True, contents=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_methods_follow_their_inputs(name):
    live, _, arrays = record(name, X)
    assert compare(computed(live), arrays)
    (x,) = [value["id"] for value in live["values"] if value["label"] == "x"]
    for other in (X + 0.25, X[::-1] * 1.25, X - 2):
        _, _, expected = record(name, other)
        found = computed(live, {x: other})
        assert compare(found, expected, without=found.behind)
        assert set(found.frozen.values()) - SAVED == ({FROZEN[name]} if name in FROZEN else set())
        assert bool(found.behind) == (name in FROZEN)


def test_what_follows_numpy_names_the_value_that_it_follows():
    live, document, _ = record("host", X)
    labels = {value["id"]: value["label"] for value in document["values"]}
    found = computed(live)
    (frozen,) = found.frozen
    assert {labels[i] for i in found.behind} == {"v1", "v2", "x_grad__"} - {labels[frozen]} | {
        "x_grad_"
    } or found.behind
    assert set(found.behind.values()) == {labels[frozen]}


def test_the_formula_of_an_edge_can_be_another_one():
    live, document, arrays = record("attribute", X)
    op, k = next((op, k) for op in document["ops"] for k, edge in enumerate(op["edges"]) if edge["names"])
    words = {i: word for word, i in op["edges"][k]["names"].items()}
    upstream = op["edges"][k]["upstream"]
    found = computed(live, formulas={f"{op['id']}:{k}": f"{words[upstream]} * 0"})
    gives = op["edges"][k]["gives"]
    assert not found.numbers[gives].any() and arrays[gives].any()
    (total,) = [g for v, g in document["gradients"].items() if live["values"][int(v)]["label"] == "x"]
    assert equal(found.numbers[total], arrays[total] - arrays[gives])
