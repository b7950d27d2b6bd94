"""save and load: what comes back, and what is not read."""

import io
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.kernels.cuda import device_array
from minigrad.tensors import conversion


def again(obj, **options):
    file = io.BytesIO()
    minigrad.save(obj, file)
    file.seek(0)
    return minigrad.load(file, **options)


def test_a_state_dict_comes_back_from_a_file(tmp_path):
    model, other = nn.Linear(3, 2), nn.Linear(3, 2)
    minigrad.save(model.state_dict(), tmp_path / "model.pt")
    other.load_state_dict(minigrad.load(tmp_path / "model.pt", map_location="cpu"))
    x = minigrad.ones(1, 3)
    assert (model(x) == other(x)).all()


def test_everything_plain_comes_back():
    x = minigrad.arange(6.0).view(2, 3).t()
    obj = {"x": x, "same": x, "part": x[1:], "dtype": minigrad.int8, "size": x.shape, "device": x.device,
           "leaf": minigrad.ones(2, requires_grad=True), "parameter": nn.Parameter(minigrad.ones(1)),
           "n": [1, 2.5, None, (True, "a")],
           "ordered": OrderedDict(a=1), "array": np.arange(3), "number": np.float64(2)}  # fmt: skip
    found = again(obj)
    assert found["x"] is found["same"] and found["x"].stride() == (1, 3)
    found["x"][1, 0] = 9.0
    assert found["part"][0, 0].item() == 9.0 and x[1, 0].item() == 1.0
    assert found["dtype"] is minigrad.int8 and found["size"] == (3, 2) and found["device"] == x.device
    assert found["leaf"].requires_grad and type(found["parameter"]) is nn.Parameter
    assert found["n"] == obj["n"] and found["ordered"] == obj["ordered"] and found["array"].tolist() == [0, 1, 2]


def test_code_is_read_only_from_trusted_files():
    model = nn.Linear(2, 1)
    with pytest.raises(pickle.UnpicklingError, match="weights_only"):
        again(model)
    assert (again(model, weights_only=False).weight == model.weight).all()
    with pytest.raises(pickle.UnpicklingError, match="builtins"):
        again(eval)


def test_a_gpu_is_not_there():
    assert not minigrad.cuda.is_available() and minigrad.cuda.device_count() == 0
    with pytest.raises(RuntimeError, match="CUDA"):
        again(1, map_location="cuda")


class OnGpu:
    """What the memory of a GPU is in a file."""

    def __reduce__(self):
        return device_array.uploaded, (np.ones(2, np.float32),)


class TensorOnGpu:
    """What a tensor there is."""

    def __reduce__(self):
        return conversion.restore_view, (minigrad.Tensor, OnGpu(), (2,), np.dtype(np.float32), 0, (4,), False)


@pytest.mark.skipif(minigrad.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("weights_only", [True, False])
def test_a_file_from_a_gpu_is_read_without_one_where_that_is_asked(weights_only):
    with pytest.raises(RuntimeError, match=r"2 elements on cuda:0(.|\n)*map_location='cpu'"):
        again(TensorOnGpu(), weights_only=weights_only)
    for where in ("cpu", {"cuda:0": "cpu"}, lambda memory, place: memory):
        found = again([TensorOnGpu()], map_location=where, weights_only=weights_only)
        assert found[0].tolist() == [1.0, 1.0]
