"""Parametrized weights beside PyTorch: values, gradients, names in the state_dict, what can be set and removed."""

import numpy as np
import pytest
import torch

import minigrad

LIBRARIES = torch, minigrad
MAKES = {
    "weight_norm": lambda nn: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)),
    "weight_norm, columns": lambda nn: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3), dim=1),
    "weight_norm, whole": lambda nn: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3), dim=None),
    "weight_norm, bias": lambda nn: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3), "bias"),
    "weight_norm, conv": lambda nn: nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 3, 2)),
    "spectral_norm": lambda nn: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3), n_power_iterations=2),
    "spectral_norm, bias": lambda nn: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3), "bias"),
    "spectral_norm, transposed": lambda nn: nn.utils.parametrizations.spectral_norm(nn.ConvTranspose1d(4, 3, 2)),
    "spectral_norm, conv": lambda nn: nn.utils.parametrizations.spectral_norm(nn.Conv1d(4, 3, 2), dim=1),
    "two": lambda nn: nn.utils.parametrizations.spectral_norm(nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))),
}


def pair(make):
    """Return PyTorch's module and the same one here, with the same originals."""
    theirs, ours = make(torch.nn).double(), make(minigrad.nn).double()
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    return theirs, ours


@pytest.mark.parametrize("name", MAKES)
def test_values_gradients_and_names(name):
    modules = pair(MAKES[name])
    assert list(modules[0].state_dict()) == list(modules[1].state_dict())
    assert [n for n, _ in modules[0].named_parameters()] == [n for n, _ in modules[1].named_parameters()]
    told = []
    for lib, module in zip(LIBRARIES, modules):
        size = 4 if isinstance(module, (lib.nn.Linear, lib.nn.Conv1d, lib.nn.ConvTranspose1d)) else 0
        shape = (2, size) if isinstance(module, lib.nn.Linear) else (2, size, 5)
        x = lib.tensor(np.random.default_rng(0).standard_normal(shape))
        loss = (module(x) ** 3).sum() + (module(x) ** 2).sum()  # two passes before backward
        grads = lib.autograd.grad(loss, list(module.parameters()))
        module.eval()
        told.append([t.detach().numpy() for t in (module(x), module.weight, *grads, *module.buffers())])
    for a, b in zip(told[1], told[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", [n for n in MAKES if n != "two"])
def test_removing_gives_the_same_weights(name):
    told = []
    for lib, module in zip(LIBRARIES, pair(MAKES[name])):
        which, utils = "bias" if "bias" in name else "weight", lib.nn.utils
        utils.parametrize.remove_parametrizations(module, which)
        told.append({k: v.detach().numpy() for k, v in module.named_parameters()} | {"": str(module)})
    assert told[0].keys() == told[1].keys() and told[0].pop("") == told[1].pop("")
    for k, v in told[0].items():
        np.testing.assert_allclose(told[1][k], v, rtol=1e-9)


def test_a_state_of_the_older_weight_norm_is_taken():
    state = {"weight_g": np.ones((3, 1)), "weight_v": np.eye(3, 4), "bias": np.zeros(3)}
    for lib in LIBRARIES:
        module = lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(4, 3))
        module.load_state_dict({k: lib.tensor(v) for k, v in state.items()})
        assert module.weight.tolist() == np.eye(3, 4).tolist()
