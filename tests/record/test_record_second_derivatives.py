"""Records of derivatives of derivatives: the number of each backward pass, and tangents of a jvp that the program calls."""

import numpy as np
import pytest

import minigrad
from minigrad import func, tensor


def cubes(x):
    return (x**3).sum()


def recorded(program):
    """Return the record of a block, and the shown names and contents of its values."""
    with minigrad.record() as rec:
        rec.outputs = [rec.ref(program())]
    document = rec.to_dict()
    return document, {value["id"]: value for value in document["values"]}


def content(value):
    return np.array(value["summary"]["values"])


def test_operations_know_the_number_of_their_backward_pass():
    x = tensor([1.0, 2.0], requires_grad=True)

    def program():
        (first,) = minigrad.autograd.grad(cubes(x), x, create_graph=True)
        return minigrad.autograd.grad(first.sum(), x)[0]

    document, _ = recorded(program)
    assert [(op["phase"], op["run"]) for op in document["ops"] if op["phase"] != "jvp"] == [
        ("forward", 0),
        ("forward", 0),
        ("backward", 1),
        ("backward", 1),
        ("forward", 0),
        ("backward", 2),
        ("backward", 2),
    ]


def test_a_hessian_is_the_tangent_of_a_gradient():
    x = tensor([1.0, 2.0])
    document, values = recorded(lambda: func.hessian(cubes)(x))
    assert document["program"]["passes"] == ["forward", "backward", "jvp"]
    (power,) = [op for op in document["ops"] if op["phase"] == "backward" and op["name"] == "pow"]
    (gradient,) = power["outputs"]
    np.testing.assert_allclose(content(values[gradient]), 3 * np.array([1.0, 4.0]))
    tangent = values[power["tangents"][str(gradient)]]
    np.testing.assert_allclose(content(tangent), np.diag([6.0, 12.0]))
    assert tangent["kind"] == "tangent" and tangent["shown"] == f"tangent of {values[gradient]['shown']}"
    (push,) = power["pushes"]
    names = {value["label"]: content(value) for value in document["values"]}
    np.testing.assert_allclose(eval(push["formula"], names), content(tangent))
    np.testing.assert_allclose(content(values[document["outputs"][0]]), np.diag([6.0, 12.0]))


def test_the_operations_of_a_jvp_read_and_make_no_tangents():
    x, v = tensor([1.0, 2.0]), tensor([1.0, 0.0])
    document, values = recorded(lambda: func.jvp(func.grad(cubes), (x,), (v,))[1])
    tangents = {tangent for op in document["ops"] for tangent in op["tangents"].values()}
    for op in [op for op in document["ops"] if op["phase"] != "jvp"]:
        assert tangents.isdisjoint(i for i in (*op["inputs"], *op["outputs"]) if isinstance(i, int)), op["name"]
    pushed = [(op["name"], op["of"]) for op in document["ops"] if op["phase"] == "jvp"]
    assert pushed == [("pow", 0), ("sum", 1), ("pow", 3)]
    np.testing.assert_allclose(content(values[document["outputs"][0]]), [6.0, 0.0])


@pytest.mark.parametrize("direction", [1.0, -2.0])
def test_tangents_that_grad_differentiates_are_values(direction):
    x, v = tensor(2.0), tensor(direction)
    document, values = recorded(lambda: func.grad(lambda x: func.jvp(lambda x: x**3, (x,), (v,))[1])(x))
    assert not any(op["tangents"] for op in document["ops"])
    np.testing.assert_allclose(content(values[document["outputs"][0]]), 12.0 * direction)


def test_the_name_of_a_jacobian_is_that_of_its_last_operation():
    x = tensor([1.0, 2.0])
    with minigrad.record() as rec:
        H = func.hessian(cubes)(x)
    named = [value["label"] for value in rec.to_dict()["values"] if value["name"].startswith("H")]
    assert named == ["H"] and H.shape == (2, 2)
