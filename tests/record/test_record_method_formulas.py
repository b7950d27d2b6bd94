"""The formulas of custom Functions: what their methods computed, in the author's names."""

import numpy as np
import pytest

import minigrad as torch
from minigrad.autograd import Function
from minigrad.record.validate import validate
from tests.formulas.evaluated import NAMES
from tests.functions import custom

from .recorded import forward


class Cube(Function):
    @staticmethod
    def forward(x):
        slope = 3 * x**2
        return x**3, slope

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output[1])

    @staticmethod
    def backward(ctx, grad_output, grad_slope):
        x, slope = ctx.saved_tensors
        six = grad_slope * 6 * x
        return grad_output * slope + six

    @staticmethod
    def jvp(ctx, x_t):
        x, slope = ctx.saved_tensors
        return x_t * slope, 6 * x * x_t


Affine = custom(
    "Affine",
    forward=lambda ctx, x, weight, bias: ctx.save_for_backward(x, weight) or x @ weight.t() + bias,
    backward=lambda ctx, grad: (grad @ ctx.saved_tensors[1], grad.t() @ ctx.saved_tensors[0], grad.sum(0)),
)


class Kept(Function):
    """Keeps a tensor that is neither an argument nor a result."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.cos())
        ctx.twice = 2 * x.cos()
        return x.sin() * 3

    @staticmethod
    def backward(ctx, g):
        (cosine,) = ctx.saved_tensors
        return g * (cosine + ctx.twice)


class Swish(Function):
    """The factor of its gradient is a long expression, which the author has named."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.sigmoid()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        slope = x.sigmoid() * (1 + x - x * x.sigmoid()) + 0 * x.sigmoid() * x
        return g * slope


Nested = custom(
    "Nested",
    forward=lambda ctx, x: ctx.save_for_backward(x) or x**2,
    backward=lambda ctx, g: Double.apply(g) * ctx.saved_tensors[0],
)
Double = custom("Double", forward=lambda ctx, x: x + x, backward=lambda ctx, g: g + g)
Same = custom(
    "Same",
    forward=lambda ctx, x: x.clone(),
    backward=lambda ctx, grad_output: grad_output,
    jvp=lambda ctx, x_t: x_t,
)


class Copies(Function):
    """Two results, whose tangents are the one that arrives."""

    @staticmethod
    def forward(ctx, x):
        return x.clone(), x.clone()

    @staticmethod
    def backward(ctx, g, h):
        return g + h

    @staticmethod
    def jvp(ctx, x_t):
        return x_t, x_t


def vector():
    return torch.tensor([1.0, 2.0], dtype=torch.float64)


def cube(x):
    y, slope = Cube.apply(x)
    return (y * torch.tensor([2.0, 3.0]) + slope * slope).sum()


def cube_alone(x):
    return Cube.apply(x)[0].sum()


def affine(x, weight, bias):
    return (Affine.apply(x, weight, bias) * torch.arange(6.0).reshape(3, 2)).sum()


def matrices():
    return torch.arange(12.0).reshape(3, 4), torch.arange(8.0).reshape(2, 4), torch.ones(2)


PROGRAMS = {
    "two outputs": (cube, vector, ["grad_output * slope + grad_slope * 6 * x"], ["x_t * slope", "6 * x * x_t"]),
    "one of two outputs": (cube_alone, vector, ["grad_output * slope + grad_slope * 6 * x"], ["x_t * slope"]),
    "products of matrices": (affine, matrices, ["grad @ weight", "grad.t() @ x", "grad.sum(dim=0)"], []),
    "a named factor": (lambda x: Swish.apply(x).sum(), vector, ["g * slope"], []),
    "a Function in backward": (lambda x: Nested.apply(x).sum(), vector, ["Double.apply(g) * x"], []),
    "the identity": (lambda x: (Same.apply(x) * 2).sum(), vector, ["grad_output"], ["x_t"]),
    "copies": (lambda x: sum(y.sum() for y in Copies.apply(x * 3)), vector, ["g + h"], ["x_t", "x_t"]),
}


def content(record, value):
    return torch.tensor(record["values"][value]["summary"]["values"], dtype=torch.float64)


def assert_evaluates(record, part, gives):
    """The formula, with the record's values for its names, gives the record's number."""
    given = {name: content(record, value) for name, value in part["names"].items()}
    known = {**NAMES, "Double": Double}
    found, expected = eval(part["formula"], known | given), content(record, gives)
    assert found.shape == expected.shape and np.allclose(found.numpy(), expected.numpy()), part["formula"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_custom_functions_formulas_are_the_expressions_that_its_methods_computed(name):
    f, inputs, edges, pushes = PROGRAMS[name]
    given = inputs()
    record = torch.record(f, *(given if isinstance(given, tuple) else (given,)), inside=True).to_dict()
    validate(record)
    op = next(op for op in forward(record) if op["function"])
    assert [edge["formula"] for edge in op["edges"]] == edges
    assert [push["formula"] for push in op["pushes"]][: len(pushes)] == pushes
    for edge in op["edges"]:
        assert_evaluates(record, edge, edge["gives"])
    for push in op["pushes"]:
        assert_evaluates(record, push, op["tangents"][str(push["output"])])


def test_values_that_only_the_methods_know_join_the_record():
    record = torch.record(lambda x: Kept.apply(x).sum(), vector(), inside=True).to_dict()
    (op, _) = forward(record)
    (edge,) = op["edges"]
    assert_evaluates(record, edge, edge["gives"])
    cosine, twice = [value for name, value in edge["names"].items() if name != "g"]
    assert cosine == op["saved"][0]["value"]
    assert np.allclose(content(record, twice).numpy(), 2 * np.cos([1, 2])) and twice not in op["outputs"]
    assert len({v["label"] for v in record["values"]}) == len(record["values"])


def test_a_name_for_two_values_is_given_once():
    Shifted = custom(
        "Shifted",
        forward=lambda ctx, x, by: ctx.save_for_backward(x, by) or x * by,
        backward=lambda ctx, x: (x * ctx.saved_tensors[1], x * ctx.saved_tensors[0]),
    )
    f = lambda x, by: Shifted.apply(x, by).sum()
    record = torch.record(f, vector(), vector() + 1, passes=("forward", "backward"), inside=True).to_dict()
    for edge in forward(record)[0]["edges"]:
        assert edge["formula"].startswith("x * ") and len(edge["names"]) == 2
        assert_evaluates(record, edge, edge["gives"])


def long(g, x):
    for _ in range(12):
        g = g * x + x.sin() * g
    return g


def written(g, x):
    out = g.clone()
    out.mul_(2)
    return out * x


def several(g, x):
    largest, at = g.max(0)
    return largest * x + at


def in_numpy(g, x):
    return torch.from_numpy(g.numpy() * x.numpy()) * 1


OPAQUE = [(long, "48 operations"), (written, "3 operations"), (several, "3 operations"), (in_numpy, "2 operations")]


@pytest.mark.parametrize("rule, words", OPAQUE)
def test_what_is_no_short_expression_is_counted(rule, words):
    Opaque = custom(
        "Opaque",
        forward=lambda ctx, x: ctx.save_for_backward(x) or x * 1,
        backward=lambda ctx, g: rule(g, *ctx.saved_tensors),
    )
    record = torch.record(lambda x: Opaque.apply(x).sum(), vector(), inside=True).to_dict()
    (edge,) = forward(record)[0]["edges"]
    assert (edge["formula"], edge["names"]) == (f"backward: {words}", None)


def test_without_the_methods_the_formula_is_their_call():
    record = torch.record(cube, vector()).to_dict()
    edge = forward(record)[0]["edges"][0]
    assert (edge["formula"], edge["names"]) == ("Cube.backward(g[0], g[1])", None)


def test_each_run_of_backward_has_its_own_values():
    def twice(x):
        y = Kept.apply(x)
        return torch.autograd.grad(y.sum(), x, retain_graph=True)[0] + torch.autograd.grad((5 * y).sum(), x)[0]

    x = vector().requires_grad_()
    record = torch.record(twice, x, passes=("forward",), inside=True).to_dict()
    edges = [edge for op in forward(record) for edge in op["edges"] if op["function"]]
    assert len({edge["names"]["g"] for edge in edges}) == 2 == len(edges)
    for edge in edges:
        assert_evaluates(record, edge, edge["gives"])


def test_a_function_without_a_graph_is_opened_inside_a_method():
    record = torch.record(lambda x: Nested.apply(x).sum(), vector(), inside=True).to_dict()
    (backward,) = [ran for ran in forward(record)[0]["inside"] if ran["method"] == "backward"]
    inner = backward["ops"][0]
    assert [(ran["method"], [op["call"] for op in ran["ops"]]) for ran in inner["inside"]] == [("forward", ["x + x"])]
