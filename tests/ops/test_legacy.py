"""The tensor types of PyTorch's first versions: constructors, isinstance, Tensor.type."""

import numpy as np
import pytest

import minigrad


def test_constructors_take_sizes_or_data():
    assert minigrad.FloatTensor(2, 3).shape == minigrad.FloatTensor(minigrad.Size([2, 3])).shape == (2, 3)
    assert minigrad.LongTensor([1.7]).tolist() == [1] and minigrad.LongTensor([1.7]).dtype == minigrad.int64
    assert minigrad.Tensor((2, 3)).tolist() == [2.0, 3.0] and minigrad.Tensor().shape == (0,)
    assert minigrad.BoolTensor(np.array([0, 2])).tolist() == [False, True]
    assert minigrad.ones(1, dtype=minigrad.int8).new([1, 2]).dtype == minigrad.int8
    assert minigrad.Tensor([1.0], device="cpu").tolist() == [1.0]


def test_a_tensor_made_of_a_tensor_shares_its_memory():
    x = minigrad.zeros(2)
    minigrad.Tensor(x)[0] = 1.0
    assert x.tolist() == [1.0, 0.0] and x._version == 1


@pytest.mark.parametrize(
    ("call", "kind"),
    [(lambda m: m.Tensor(3.0), TypeError), (lambda m: m.Tensor(None), TypeError), (lambda m: m.Tensor(-1), RuntimeError),
     (lambda m: m.Tensor(2, 3.0), TypeError), (lambda m: m.LongTensor(m.ones(2)), TypeError)],
)  # fmt: skip
def test_wrong_arguments_of_legacy_types_are_refused(call, kind):
    with pytest.raises(kind, match="Tensor: "):
        call(minigrad)


def test_they_are_types_of_tensors():
    x = minigrad.ones(2)
    assert isinstance(x, minigrad.FloatTensor) and not isinstance(x, minigrad.LongTensor)
    assert x.type() == "minigrad.FloatTensor" and x.type(minigrad.LongTensor).dtype == minigrad.int64
    assert x.type("torch.DoubleTensor").dtype == minigrad.float64


def test_range_has_its_end_and_is_of_floats():
    assert minigrad.range(1, 4).tolist() == [1.0, 2.0, 3.0, 4.0] and minigrad.range(1, 4).dtype == minigrad.float32
    assert minigrad.range(1, 4, 2, dtype=minigrad.int64).tolist() == [1, 3]


def test_functions_of_python_are_written_over_each_element():
    x = minigrad.arange(3.0)
    assert x.apply_(lambda v: v * 10) is x and x.tolist() == [0, 10, 20]
    assert x.map_(minigrad.ones(1), lambda v, w: v + w).tolist() == [1, 11, 21]
    assert x.map2_(x, x, lambda u, v, w: u + v + w).tolist() == [3, 33, 63]
    assert minigrad.arange(3).apply_(lambda v: v + 1.7).tolist() == [1, 2, 3]
    assert minigrad.zeros(0, 2).apply_(float).shape == (0, 2)


def test_powers_and_polygammas_are_written_in_place():
    x = minigrad.tensor([2.0, 3.0], dtype=minigrad.float64)
    assert x.float_power_(2) is x and x.tolist() == [4, 9]
    assert x.polygamma_(0) is x and minigrad.allclose(x, minigrad.digamma(minigrad.tensor([4.0, 9.0]).double()))
