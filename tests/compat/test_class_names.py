"""While programs import minigrad as `torch`, classes name PyTorch's modules; minigrad itself still knows its own."""

import importlib
import inspect
import pickle

import pytest

import minigrad
from minigrad.compat.class_names import HOMES
from minigrad.places import home


@pytest.fixture
def torch():
    with minigrad.as_torch() as torch:
        yield torch


def kinds(torch):
    nn, optim = torch.nn, torch.optim
    return {
        torch.ones(2): "torch",
        torch.float32: "torch",
        nn.Parameter(torch.ones(2)): "torch.nn.parameter",
        nn.Conv2d(1, 1, 1): "torch.nn.modules.conv",
        nn.LazyLinear(1): "torch.nn.modules.linear",
        nn.Threshold(0.1, 20.0): "torch.nn.modules.activation",
        nn.MSELoss(): "torch.nn.modules.loss",
        optim.AdamW([nn.Parameter(torch.ones(2))]): "torch.optim.adamw",
        torch.distributions.MultivariateNormal(torch.zeros(1), torch.eye(1)): "torch.distributions.multivariate_normal",
        torch.utils.data.TensorDataset(torch.ones(2)): "torch.utils.data.dataset",
        torch.return_types.sort: "torch.return_types",
        torch.autograd.Function: "torch.autograd.function",
    }


def test_guards_of_programs_read_pytorchs_modules(torch):
    for value, module in kinds(torch).items():
        assert value.__module__ == module
    assert str(type(torch.ones(2))) == "<class 'torch.Tensor'>"


def test_classes_of_users_keep_their_module(torch):
    class Net(torch.nn.Module):
        pass

    assert Net().__module__ == __name__ == home(Net())


def test_names_are_restored_when_the_last_as_torch_closes():
    with minigrad.as_torch():
        with minigrad.as_torch():
            pass
        assert minigrad.nn.Linear.__module__ == "torch.nn.modules.linear"
    assert minigrad.nn.Linear.__module__ == "minigrad.nn.basic_layers"
    assert not HOMES


def test_every_class_can_be_imported_and_pickled_by_its_name(torch):
    kinds(torch)
    for cls in list(HOMES):
        assert getattr(importlib.import_module(cls.__module__), cls.__name__) is cls
        assert pickle.loads(pickle.dumps(cls)) is cls


def test_a_model_pickled_in_one_state_is_read_in_the_other():
    with minigrad.as_torch() as torch:
        file = pickle.dumps(torch.nn.Linear(2, 1))
        assert b"torch.nn.modules.linear" in file
        own = pickle.loads(file)
    with minigrad.as_torch() as torch:
        assert type(pickle.loads(pickle.dumps(own))) is type(own) is torch.nn.Linear


def test_minigrad_still_knows_its_own_classes(torch):
    for value in kinds(torch):
        assert home(value).startswith("minigrad.")
    assert home(torch.relu).startswith("minigrad.")


def test_the_kernels_of_an_optimizer_still_run(torch):
    from minigrad.compile.allowed import is_library

    assert is_library(torch.optim.SGD)
    assert is_library(torch.nn.Linear)


def test_the_source_of_a_class_can_be_read(torch):
    for cls in (torch.nn.Linear, torch.Tensor, torch.optim.SGD):
        assert inspect.getsource(cls).startswith(f"class {cls.__name__}(")
        assert "minigrad" in inspect.getfile(cls)
    assert inspect.getsource(Net).startswith("class Net")
    with pytest.raises(TypeError, match="built-in"):
        inspect.getfile(int)


def test_inspect_is_restored():
    before = inspect.getfile
    with minigrad.as_torch():
        assert inspect.getfile is not before
    assert inspect.getfile is before


class Net(minigrad.nn.Module):
    """A user's module."""
