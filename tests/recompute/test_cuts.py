"""Where no gradient passes, a page computes the value behind it again, and no derivative through it."""

import pytest

import minigrad

from .again import computed, recorded
from .sayings import equal


def detached(x):
    c = x.detach()
    return (x * c).sum()


def data(x):
    return (x * x.data * 2).sum()


def straight_through(x):
    return ((x + (x.round() - x).detach()) ** 2).sum()


def without_grad(x):
    with minigrad.no_grad():
        scale = x * 2
    return (x * scale).sum()


def mask(x):
    return (x * (x > 0.6)).sum()


def record(program, numbers):
    x = minigrad.tensor(numbers, dtype=minigrad.float64, requires_grad=True)
    return recorded(minigrad.record(program, x, contents=True))


@pytest.mark.parametrize("program", [detached, data, straight_through, without_grad, mask], ids=lambda f: f.__name__)
def test_moving_an_input_moves_the_value_behind_a_cut_and_not_the_derivative(program):
    live, document, _ = record(program, [0.4, 1.7])
    _, _, expected = record(program, [0.8, 1.2])
    (x,) = [v["id"] for v in document["values"] if v["name"] == "x" and v["kind"] == "parameter"]
    found = computed(live, {x: expected[x]})
    known = set(found.numbers) & set(expected)
    assert not found.frozen and known >= {x, *document["outputs"], *map(int, document["gradients"].values())}
    for i in known:
        assert equal(found.numbers[i], expected[i]), i
