"""Custom Functions that return an input as it is: the result is a value of the record besides the input."""

import numpy as np
import pytest

import minigrad
from minigrad.func import grad, vmap
from minigrad.record.validate import validate
from tests.functions import custom

from .recorded import assert_adds_up, forward, number

Reversed = custom(
    "Reversed",
    generate_vmap_rule=True,
    forward=lambda x: x,
    setup_context=lambda ctx, inputs, output: None,
    backward=lambda ctx, g: -0.5 * g,
)
SeenAgain = custom("SeenAgain", forward=lambda ctx, x: x.view_as(x), backward=lambda ctx, g: 3 * g)
Second = custom("Second", forward=lambda ctx, x, y: y, backward=lambda ctx, g: (2 * g, 3 * g))
Swapped = custom("Swapped", forward=lambda ctx, x, y: (y, x), backward=lambda ctx, g, h: (2 * h, 3 * g))
Twice = custom("Twice", forward=lambda ctx, x: (x, x), backward=lambda ctx, g, h: 5 * g + 7 * h)
Marked = custom("Marked", forward=lambda ctx, x: ctx.mark_dirty(x) or x, backward=lambda ctx, g: 4 * g)
Outer = custom("Outer", forward=lambda ctx, x: Reversed.apply(x), backward=lambda ctx, g: 5 * g)


def product(a, b):
    return (a * a * b).sum()


PROGRAMS = {
    "a leaf": lambda x, y: Reversed.apply(x).pow(2).sum(),
    "a result": lambda x, y: Reversed.apply(x * y).pow(2).sum(),
    "twice in a row": lambda x, y: Reversed.apply(Reversed.apply(x)).pow(2).sum(),
    "beside the input": lambda x, y: (Reversed.apply(x) * x).sum(),
    "the output of the program": lambda x, y: Reversed.apply(x),
    "a view": lambda x, y: SeenAgain.apply(x).pow(2).sum(),
    "one of two": lambda x, y: Second.apply(x, y).pow(2).sum(),
    "two, swapped": lambda x, y: product(*Swapped.apply(x, y)),
    "one, twice": lambda x, y: product(*Twice.apply(x)),
    "marked as dirty": lambda x, y: product(Marked.apply(x * 1), y),
    "inside another Function": lambda x, y: Outer.apply(x).pow(2).sum(),
    "under vmap": lambda x, y: vmap(lambda a: Reversed.apply(a).pow(2))(x).sum(),
    "under grad": lambda x, y: (grad(lambda a: Reversed.apply(a).pow(2).sum())(x) * y).sum(),
}


def leaves():
    return [minigrad.tensor(numbers, requires_grad=True) for numbers in ([1.0, 3.0], [2.0, -1.0])]


@pytest.mark.parametrize("how", PROGRAMS)
def test_a_function_that_returns_its_input_is_recorded_with_the_gradients_that_it_gave(how):
    x, y = leaves()
    expected = minigrad.autograd.grad(PROGRAMS[how](x, y).sum(), (x, y), allow_unused=True)
    document = minigrad.record(PROGRAMS[how], x, y, passes=("forward", "backward"), inside=True).to_dict()
    validate(document)
    if how != "under grad":  # it has edges of two derivatives
        assert_adds_up(document)
    found = {value["name"]: document["gradients"].get(str(value["id"])) for value in document["values"]}
    for name, gradient in zip("xy", expected):
        assert gradient is None or np.allclose(number(document, found[name]), gradient)


@pytest.mark.parametrize("switch", [minigrad.no_grad, minigrad.inference_mode])
def test_the_result_is_another_value_without_gradients_too(switch):
    with minigrad.record() as rec, switch():
        Reversed.apply(minigrad.ones(2)).exp()
    function, exp = forward(rec.to_dict())
    assert function["inputs"] != function["outputs"] == exp["inputs"]


def test_an_explanation_of_a_function_that_returns_its_input_ends():
    said = str(minigrad.explain(PROGRAMS["a leaf"], *leaves(), of="x"))
    assert "-1" in said and "-3" in said
