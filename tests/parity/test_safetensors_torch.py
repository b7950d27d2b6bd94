"""Files of safetensors both ways: PyTorch's functions read what minigrad's write, and the other way round."""

import pytest
import torch

pytest.importorskip("safetensors")

import safetensors.torch as theirs

import minigrad
from minigrad.utils import safetensors as ours

from .test_files_of_tensors import DTYPES, numbers

WAYS = ((minigrad, ours, theirs), (torch, theirs, ours))


@pytest.mark.parametrize("library, writer, reader", WAYS, ids=["minigrad to torch", "torch to minigrad"])
def test_tensors_come_over(tmp_path, library, writer, reader):
    made = {d: (library.arange(6) % 2).reshape(2, 3).to(getattr(library, d)) for d in DTYPES}
    made |= {"scalar": library.tensor(1.5), "none": library.zeros(2, 0)}
    writer.save_file(made, tmp_path / "x", {"by": "me"})
    found = reader.load_file(tmp_path / "x")
    assert found.keys() == made.keys()
    for name, t in made.items():
        assert str(found[name].dtype).rpartition(".")[2] == str(t.dtype).rpartition(".")[2]
        assert tuple(found[name].shape) == tuple(t.shape) and numbers(found[name]) == numbers(t)


@pytest.mark.parametrize("library, writer, reader", WAYS, ids=["minigrad to torch", "torch to minigrad"])
def test_models_with_tied_parameters_come_over(tmp_path, library, writer, reader):
    other = torch if library is minigrad else minigrad

    def tied(library):
        nn = library.nn
        model = nn.ModuleDict({"body": nn.Linear(2, 3), "head": nn.Linear(2, 3, bias=False), "norm": nn.BatchNorm1d(3)})
        model["head"].weight = model["body"].weight
        return model

    model, there = tied(library), tied(other)
    writer.save_model(model, tmp_path / "x")
    assert reader.load_model(there, tmp_path / "x") == (set(), [])
    for (name, a), (same, b) in zip(model.state_dict().items(), there.state_dict().items()):
        assert name == same and numbers(a) == numbers(b)
    writer.save_file({"body.weight": library.ones(3, 2), "more": library.ones(1)}, tmp_path / "x")
    told = []
    for module, functions in ((tied(library), writer), (tied(other), reader)):
        told.append(functions.load_model(module, tmp_path / "x", strict=False))
        with pytest.raises(RuntimeError, match=r'(?s)Missing key\(s\) in state_dict: "body.bias".*"more"'):
            functions.load_model(module, tmp_path / "x")
    assert told[0] == told[1]


@pytest.mark.parametrize("library, writer", [(minigrad, ours), (torch, theirs)], ids=["minigrad", "torch"])
def test_the_same_is_refused(tmp_path, library, writer):
    x = library.arange(6.0)
    for made, kind in (
        ({"a": x, "b": x[2:]}, RuntimeError),
        ({"a": x, "b": x}, RuntimeError),
        ({"a": x.reshape(2, 3).t()}, ValueError),
        ({"a": 1}, ValueError),
        ([x], ValueError),
    ):
        with pytest.raises(kind):
            writer.save_file(made, tmp_path / "x")
    writer.save_file({"a": x[:3], "b": x[3:]}, tmp_path / "x")
