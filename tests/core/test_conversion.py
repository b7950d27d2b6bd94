"""Tensors and what is not one: NumPy's functions and operators, Python's protocols, pickles and copies."""

import copy
import operator
import pickle

import numpy as np
import pytest

import minigrad


def test_numpys_functions_of_tensors_give_tensors():
    x = minigrad.tensor([0.0, 1.0])
    assert isinstance(np.exp(x), minigrad.Tensor) and np.exp(x).dtype == minigrad.float32
    np.testing.assert_allclose(np.exp(x), np.exp([0.0, 1.0]), rtol=1e-6)
    assert np.add(x, 1).tolist() == [1.0, 2.0] and np.add.reduce(x).item() == 1.0
    quotient, rest = np.divmod(x, 2)
    assert quotient.tolist() == [0.0, 0.0] and rest.tolist() == [0.0, 1.0]


def test_numpys_functions_do_not_lose_gradients_silently():
    x = minigrad.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        np.exp(x)


@pytest.mark.cpu("arrays of NumPy lie in the computer's memory")
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul",
                                  "lt", "le", "gt", "ge", "eq", "ne"])  # fmt: skip
def test_an_array_on_the_left_of_an_operator_is_an_operand(name):
    apply = getattr(operator, name)
    a, x = np.array([1.0, 5.0]), minigrad.tensor([2.0, 3.0], dtype=minigrad.float64)
    found = apply(a, x)
    assert isinstance(found, minigrad.Tensor)
    np.testing.assert_allclose(found, apply(a, x.numpy()), rtol=1e-15)


@pytest.mark.cpu("arrays of NumPy lie in the computer's memory")
def test_an_array_on_the_left_keeps_the_gradient():
    x = minigrad.ones(2, requires_grad=True)
    (np.array([2.0, 3.0]) * x).sum().backward()
    (np.float32(4) * x).sum().backward()
    assert x.grad.tolist() == [6.0, 7.0]


def test_arrays_take_tensors_in_place():
    a = np.zeros(2)
    a += minigrad.tensor([1.0, 2.0])
    np.multiply(a, minigrad.tensor([2.0, 2.0]), out=a)
    assert a.tolist() == [2.0, 4.0]


def test_reversed_flips_the_first_dimension():
    assert [t.tolist() for t in reversed(minigrad.arange(4).reshape(2, 2))] == [[2, 3], [0, 1]]
    assert reversed(minigrad.tensor(3)).item() == 3


@pytest.mark.parametrize("t", [minigrad.tensor([1, 2]), minigrad.tensor(1.0)])
def test_wrong_indices_are_refused(t):
    with pytest.raises(TypeError, match="index"):
        [1, 2, 3][t]


def test_pickles_keep_layout_and_sharing():
    x = minigrad.arange(6.0)
    whole, part, turned = pickle.loads(pickle.dumps((x, x[2:], x.view(2, 3).t())))
    whole[3] = 9.0
    assert part.tolist() == [2.0, 9.0, 4.0, 5.0] and turned.tolist() == [[0.0, 9.0], [1.0, 4.0], [2.0, 5.0]]
    assert part.storage_offset() == 2 and turned.stride() == (1, 3)


def test_copies_keep_the_attributes_of_a_tensor():
    for x in (minigrad.ones(2, requires_grad=True), minigrad.nn.Parameter(minigrad.ones(2))):
        x.note = ["mine"]
        for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
            assert type(y) is type(x) and y.requires_grad and y.note == ["mine"] and y.note is not x.note
        assert copy.copy(x).note is x.note


def test_deepcopy_of_an_expanded_tensor_is_expanded():
    x = copy.deepcopy(minigrad.arange(3.0)[1:2].expand(4))
    assert x.stride() == (0,) and x.tolist() == [1.0] * 4 and x.storage_offset() == 1
