"""Files of safetensors: what comes back, and what is refused."""

import json
import os

import numpy as np
import pytest

import minigrad
from minigrad import nn

library = pytest.importorskip("safetensors")
from minigrad.utils import safetensors  # noqa: E402

DTYPES = [d for d in "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 bool".split()]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.safetensors"


def written(header, content=b""):
    """Return the bytes of a file."""
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_shape_comes_back(path, dtype):
    made = {
        str(shape): (minigrad.arange(int(np.prod(shape))) % 2).reshape(shape).to(getattr(minigrad, dtype))
        for shape in ((), (0,), (3,), (2, 0, 3), (2, 3, 2))
    }
    safetensors.save_file(made, path)
    found = safetensors.load_file(path)
    assert {k: (t.dtype, t.shape, t.tolist()) for k, t in found.items()} == {
        k: (t.dtype, t.shape, t.tolist()) for k, t in made.items()
    }
    for t in found.values():
        t += 0 if dtype != "bool" else False  # each is memory that may be written to


def test_parameters_come_back_as_tensors(path):
    model = nn.Linear(2, 1)
    safetensors.save_file(model.state_dict(keep_vars=True), path)
    assert not safetensors.load_file(path)["weight"].requires_grad


def test_parts_are_read_alone_and_texts_stand_beside(path):
    safetensors.save_file({"w": minigrad.arange(6).reshape(2, 3), "b": minigrad.ones(2)}, path, {"by": "me"})
    with safetensors.safe_open(path, framework="pt", device="cpu") as file:
        assert sorted(file.keys()) == ["b", "w"] and file.metadata() == {"by": "me"}
        part = file.get_slice("w")
        assert part.get_shape() == [2, 3] and part.get_dtype() == "I64" and part[1:, ::2].tolist() == [[3, 5]]
    with safetensors.safe_open(path, framework="np") as file:
        assert type(file.get_tensor("b")) is np.ndarray


def test_shared_memory_is_refused(path):
    x = minigrad.arange(6.0)
    with pytest.raises(RuntimeError, match=r"share memory.*\['a', 'b'\](.|\n)*save_model"):
        safetensors.save_file({"a": x, "b": x[2:4], "c": minigrad.ones(2)}, path)
    safetensors.save_file({"a": x[:3], "b": x[3:]}, path)  # parts that do not overlap are two tensors
    assert safetensors.load_file(path)["b"].tolist() == [3.0, 4.0, 5.0]


def test_what_is_no_tensor_in_rows_is_refused(path):
    with pytest.raises(ValueError, match=r"'a', of shape \(3, 2\)(.|\n)*contiguous\(\)"):
        safetensors.save_file({"a": minigrad.ones(2, 3).t()}, path)
    with pytest.raises(ValueError, match="key 'a' is invalid, expected a Tensor but received list"):
        safetensors.save_file({"a": [1]}, path)
    with pytest.raises(ValueError, match="expected a dict"):
        safetensors.save_file([minigrad.ones(1)], path)
    assert not os.path.exists(path)


class Tied(nn.Module):
    """Return a model with one parameter under two names, and one that is stored in columns."""

    def __init__(self):
        super().__init__()
        self.head, self.body = nn.Linear(2, 3, bias=False), nn.Linear(2, 3)
        self.head.weight = self.body.weight
        self.columns = nn.Parameter(minigrad.randn(2, 3).t())


def test_a_model_with_tied_parameters_comes_back(path):
    model, other = Tied(), Tied()
    safetensors.save_model(model, path, {"by": "me"})
    with safetensors.safe_open(path, "pt") as file:
        assert file.metadata() == {"by": "me", "head.weight": "body.weight"}
    assert safetensors.load_model(other, path) == (set(), [])
    assert all((a == b).all() for a, b in zip(model.parameters(), other.parameters()))
    with pytest.raises(ValueError, match="columns"):
        safetensors.save_model(model, path, force_contiguous=False)


def test_names_that_differ_are_listed(path):
    safetensors.save_file({"body.weight": minigrad.ones(3, 2), "other": minigrad.ones(1)}, path)
    told = r'Tied: Missing key\(s\) in state_dict: "body.bias", "columns"; Unexpected key\(s\) in state_dict: "other"'
    with pytest.raises(RuntimeError, match=told):
        safetensors.load_model(Tied(), path)
    assert safetensors.load_model(Tied(), path, strict=False) == ({"body.bias", "columns"}, ["other"])


def test_parts_of_one_memory_are_no_model():
    model = nn.Module()
    x = minigrad.ones(4)
    model.a, model.b = nn.Parameter(x[:3]), nn.Parameter(x[1:])
    with pytest.raises(RuntimeError, match="none is all of it"):
        safetensors.save_model(model, "nowhere")


def test_files_that_are_damaged_or_have_other_dtypes_are_refused(path):
    eight = {"x": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]}}
    path.write_bytes(written(eight, b"ab"))
    with pytest.raises(TypeError, match="'x' is a tensor of F8_E4M3, which minigrad does not have"):
        safetensors.load_file(path)
    odd = {"x": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}
    path.write_bytes(written(odd, b"\1\7"))
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        safetensors.load_file(path)
    safetensors.save_file({"a": minigrad.ones(3)}, path)
    whole = path.read_bytes()
    for n in range(len(whole)):
        path.write_bytes(whole[:n])
        with pytest.raises(library.SafetensorError):
            safetensors.load_file(path)
