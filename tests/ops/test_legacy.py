"""The tensor types of PyTorch's first versions: constructors, isinstance, Tensor.type."""

import numpy as np

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


def test_they_are_types_of_tensors():
    x = minigrad.ones(2)
    assert isinstance(x, minigrad.FloatTensor) and not isinstance(x, minigrad.LongTensor)
    assert x.type() == "minigrad.FloatTensor" and x.type(minigrad.LongTensor).dtype == minigrad.int64
    assert x.type("torch.DoubleTensor").dtype == minigrad.float64


def test_types_of_tensors_on_a_gpu_are_others():
    with minigrad.as_torch() as torch:
        kind = torch.cuda.FloatTensor
        assert repr(kind) == "<class 'torch.cuda.FloatTensor'>" and not isinstance(torch.ones(2), kind)
        assert (kind if torch.cuda.is_available() else torch.FloatTensor)([1.0]).tolist() == [1.0]


def test_powers_and_polygammas_are_written_in_place():
    x = minigrad.tensor([2.0, 3.0], dtype=minigrad.float64)
    assert x.float_power_(2) is x and x.tolist() == [4, 9]
    assert x.polygamma_(0) is x and minigrad.allclose(x, minigrad.digamma(minigrad.tensor([4.0, 9.0]).double()))
