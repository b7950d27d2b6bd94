"""Custom Functions that return an input as it is: the result is a value of the record besides the input."""

import numpy as np
import pytest

import minigrad
from minigrad.autograd import Function
from minigrad.func import grad, vmap
from minigrad.record.validate import validate

from .recorded import assert_adds_up, forward, number


class Reversed(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return -0.5 * g


class SeenAgain(Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return 3 * g


class Second(Function):
    @staticmethod
    def forward(ctx, x, y):
        return y

    @staticmethod
    def backward(ctx, g):
        return 2 * g, 3 * g


class Swapped(Function):
    @staticmethod
    def forward(ctx, x, y):
        return y, x

    @staticmethod
    def backward(ctx, g, h):
        return 2 * h, 3 * g


class Twice(Function):
    @staticmethod
    def forward(ctx, x):
        return x, x

    @staticmethod
    def backward(ctx, g, h):
        return 5 * g + 7 * h


class Marked(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return 4 * g


class Outer(Function):
    @staticmethod
    def forward(ctx, x):
        return Reversed.apply(x)

    @staticmethod
    def backward(ctx, g):
        return 5 * g


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
