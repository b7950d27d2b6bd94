"""Gradients in a record: what edges give sums to the gradient of each value, in unusual programs and of any order."""

import numpy as np
import pytest

import minigrad
from tests.functions import custom

from .recorded import assert_adds_up, forward, number

Triple = custom("Triple", forward=lambda ctx, x: ctx.mark_dirty(x) or x.mul_(3), backward=lambda ctx, g: g * 3)


def write_through_views(x):
    y = x * 1
    row = y[0]
    row.mul_(2)
    y[1, 1:] = 5.0
    y.add_(x)
    z = y.t()
    return (z * z).sum() + row.sum()


def a_function_writes(x):
    y = x * 1
    Triple.apply(y[0])
    return (y * y).sum()


def twice(x):
    (x * x).sum().backward()
    (x * 3).sum().backward()


def again(x):
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()


def second_derivative(x):
    (g,) = minigrad.autograd.grad((x**3 + x.exp()).sum(), x, create_graph=True)
    (g * g).sum().backward()


@pytest.mark.parametrize("program", [write_through_views, a_function_writes, twice, again, second_derivative])
def test_the_gives_of_edges_sum_to_the_gradient_for_unusual_programs(program):
    x = minigrad.tensor(np.random.default_rng(0).standard_normal((2, 3)), requires_grad=True)
    with minigrad.record() as rec:
        result = program(x)
        if result is not None:
            result.backward()
    document = rec.to_dict()
    assert_adds_up(document)
    for op in document["ops"]:
        for edge in op["edges"]:
            assert edge["input"] in op["inputs"], op["name"]
            shapes = [document["values"][edge[end]]["shape"] for end in ("input", "gives")]
            assert shapes[0] == shapes[1], op["name"]
    if program is not second_derivative:  # grad() adds nothing to .grad
        leaf = next(v["id"] for v in document["values"] if v["kind"] == "parameter")
        assert np.allclose(number(document, document["gradients"][str(leaf)]), x.grad.numpy())


@pytest.mark.parametrize(
    "program, name",
    [
        (lambda x: x.T, "permute"),
        (lambda x: x.mT, "transpose"),
        (lambda x: x.clone().zero_(), "zero"),
        (lambda x: x.clone().copy_(x), "copy"),
        (lambda x: x.clone().uniform_(), "uniform"),
        (lambda x: minigrad.addmm(x, x, x.T), "addmm"),
    ],
)
def test_operations_have_the_name_that_was_called(program, name):
    with minigrad.record() as rec:
        program(minigrad.eye(2))
    last = rec.to_dict()["ops"][-1]
    assert last["name"] == name and last["formula"].startswith(f"{name}(")


def test_a_function_that_returns_a_list_makes_values():
    class TripleInList(Triple):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return [x.mul_(3), x * 1]

        @staticmethod
        def backward(ctx, g, h):
            return g * 3 + h * 3

    def program(x):
        changed, copied = TripleInList.apply(x * 1)
        return changed * copied

    document = minigrad.record(program, minigrad.tensor([1.0, 2.0], requires_grad=True)).to_dict()
    _, triple, product = forward(document)
    assert triple["inplace"] and triple["outputs"] == product["inputs"]
    assert_adds_up(document)


WithNote = custom(
    "WithNote",
    forward=lambda ctx, x: ctx.save_for_backward(x) or ("a note", x * x),
    backward=lambda ctx, _, g: g * 2 * ctx.saved_tensors[0],
)


def test_results_that_are_no_tensors_get_no_gradient():
    def program(x):
        _, y = WithNote.apply(x)
        return y * y

    x = minigrad.tensor(3.0, requires_grad=True)
    for document in (minigrad.record(program, x).to_dict(), minigrad.record_of(program(x)).to_dict()):
        assert_adds_up(document)


# ---------------------------------------------------------------------- derivatives of derivatives
def cube(x):
    return x**3


def nested(x):
    return minigrad.func.grad(minigrad.func.grad(cube))(x)


def two_gradients(x):
    leaf = x.detach().requires_grad_()
    (slope,) = minigrad.autograd.grad(cube(leaf), leaf, create_graph=True)
    return minigrad.autograd.grad(slope, leaf)[0]


@pytest.mark.parametrize("f", [nested, two_gradients])
def test_the_first_gradient_is_not_added_to_the_second_derivative(f):
    x = minigrad.tensor(5.0)
    record = minigrad.record(f, x, passes=("forward",)).to_dict()
    values = {v["id"]: v for v in record["values"]}
    number = lambda i: values[i]["summary"]["values"]
    (cubed,) = [op for op in record["ops"] if op["phase"] == "forward" and op["name"] == "pow"]
    (first,) = [op for op in record["ops"] if op["phase"] == "backward" and op["of"] == cubed["id"]]
    assert number(first["outputs"][0]) == 75.0  # 3 x², computed by the first backward, whose result is differentiated
    assert [(e["input"], number(e["gives"])) for e in first["edges"]] == [(first["inputs"][0], 30.0)]  # 6 x
    assert cubed["edges"] == []  # what the first backward sent along is no part of the second derivative
    assert number(record["gradients"][str(first["inputs"][0])]) == 30.0
    assert str(cubed["outputs"][0]) not in record["gradients"]


def test_a_penalty_on_the_gradient_counts_once():
    x = minigrad.tensor(2.0, requires_grad=True)

    def loss():
        y = cube(x)
        (slope,) = minigrad.autograd.grad(y, x, create_graph=True)
        return y + slope * slope

    with minigrad.record() as rec:
        loss().backward()
    record = rec.to_dict()
    values = {v["id"]: v["summary"].get("values") for v in record["values"]}
    into = [values[e["gives"]] for op in record["ops"] for e in op["edges"] if record["values"][e["input"]]["name"] == "x" or
            record["values"][e["input"]]["kind"] == "parameter"]  # fmt: skip
    (leaf,) = [v["id"] for v in record["values"] if v["kind"] == "parameter"]
    assert values[record["gradients"][str(leaf)]] == x.grad.item() == 12.0 + 2 * 12.0 * 12.0
    assert sorted(into) == [12.0, 288.0]


def test_two_backward_passes_add_up_as_in_grad():
    x = minigrad.tensor(2.0, requires_grad=True)
    with minigrad.record() as rec:
        y = cube(x)
        y.backward(retain_graph=True)
        y.backward()
    record = rec.to_dict()
    values = {v["id"]: v["summary"].get("values") for v in record["values"]}
    assert [values[g] for v, g in record["gradients"].items() if values[int(v)] == 2.0] == [24.0]
