"""Tensors of modules that are computed from others: what stays true of the module, and what is refused."""

import copy
import pickle

import pytest

import minigrad as torch
from minigrad import nn
from minigrad.nn.utils import parametrizations, parametrize
from tests.refusals import each


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).T

    def right_inverse(self, A):
        return A.triu()


class Doubled(nn.Module):
    def forward(self, X):
        return 2 * X


class Split(nn.Module):
    """A tensor as the sum of two."""

    def forward(self, a, b):
        return a + b

    def right_inverse(self, X):
        return X / 2, X / 2


class Wrong(nn.Module):
    """Return it."""

    def __init__(self, there, back=lambda x: x):
        super().__init__()
        self.there, self.back = there, back

    def forward(self, *x):
        return self.there(*x)

    def right_inverse(self, x):
        return self.back(x)


def symmetric():
    return parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())


def test_the_original_remains_the_optimizers_parameter():
    layer = nn.Linear(3, 3)
    before = layer.weight
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert layer.parametrizations.weight.original is before
    layer(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    assert torch.equal(layer.weight, layer.weight.T) and not torch.equal(before, before.T)
    parametrize.remove_parametrizations(layer, "weight")
    assert layer.weight is before and torch.equal(before, before.T) and type(layer) is nn.Linear


def test_removing_a_parametrization_restores_the_original():
    layer = symmetric()
    original = layer.parametrizations.weight.original.tolist()
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert layer.weight.tolist() == original


def test_assigning_uses_the_right_inverse():
    layer = symmetric()
    layer.weight = torch.ones(3, 3)
    assert layer.weight.tolist() == torch.ones(3, 3).tolist()
    assert layer.parametrizations.weight.original.tolist() == torch.ones(3, 3).triu().tolist()


def test_parametrizations_are_applied_in_order():
    layer = symmetric()
    now = layer.weight.detach()
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert torch.equal(layer.weight, 2 * now)


def test_a_tensor_may_be_made_of_several_parameters():
    layer = nn.Linear(3, 3)
    value = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Split())
    assert torch.allclose(layer.weight, value) and len(list(layer.parameters())) == 3
    layer.weight = 2 * value
    assert torch.allclose(layer.parametrizations.weight.original1, value)
    parametrize.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter) and torch.allclose(layer.weight, 2 * value)


def test_buffers_may_be_parametrized():
    norm = nn.BatchNorm1d(2)
    parametrize.register_parametrization(norm, "running_var", Doubled())
    assert norm.running_var.tolist() == [2.0, 2.0]
    assert "parametrizations.running_var.original" in dict(norm.named_buffers())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copies_go_their_own_way(copied):
    layer = parametrizations.weight_norm(nn.Linear(3, 2))
    other = copied(layer)
    parametrize.remove_parametrizations(layer, "weight")
    assert parametrize.is_parametrized(other, "weight") and torch.allclose(other.weight, layer.weight)
    assert type(other).__name__ == "ParametrizedLinear" and isinstance(other, nn.Linear)


def test_a_cached_parametrization_is_computed_once_and_dropped():
    calls = []
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Wrong(lambda x: calls.append(1) or x * 2))
    del calls[:]
    with parametrize.cached():
        with parametrize.cached():
            assert layer.weight is layer.weight
        assert layer.weight is layer.weight and len(calls) == 1
        layer.weight = torch.zeros(2, 2)
        assert layer.weight.sum() == 0
    assert layer.weight is not layer.weight


def test_a_parametrization_cached_under_no_grad_is_used_only_there():
    layer = parametrizations.weight_norm(nn.Linear(2, 2))
    with parametrize.cached():
        with torch.no_grad():
            assert not layer.weight.requires_grad
        torch.func.grad(lambda x: layer(x).sum())(torch.ones(2))
        layer(torch.ones(2)).sum().backward()
    assert all(p.grad is not None for p in layer.parameters())


def test_a_compiled_step_trains_the_originals():
    torch.manual_seed(0)
    layer, x = parametrizations.weight_norm(nn.Linear(3, 2)), torch.randn(4, 3)
    other = copy.deepcopy(layer)
    for module, wrap in ((layer, torch.compile), (other, lambda f: f)):
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)

        def step(x, module=module, optimizer=optimizer):
            optimizer.zero_grad()
            (module(x) ** 2).sum().backward()
            optimizer.step()

        run = wrap(step)
        for _ in range(4):
            run(x)
    assert torch.allclose(layer.weight, other.weight, rtol=1e-5)


class Orthogonal(nn.Module):
    """The exponential of a skew-symmetric matrix."""

    def forward(self, X):
        return torch.matrix_exp(X.triu(1) - X.triu(1).mT)


def test_weights_stay_orthogonal_while_they_train():
    layer = parametrize.register_parametrization(nn.Linear(4, 4).double(), "weight", Orthogonal())
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.05)
    x = torch.randn(5, 4, dtype=torch.float64)
    before = layer.weight.detach()
    for _ in range(5):
        optimizer.zero_grad()
        ((layer(x) - 1) ** 2).sum().backward()
        optimizer.step()
    assert not torch.allclose(layer.weight, before)
    assert torch.allclose(layer.weight.T @ layer.weight, torch.eye(4, dtype=torch.float64), atol=1e-12)


def test_the_exponential_of_a_turn():
    angle = torch.tensor(20.0, dtype=torch.float64, requires_grad=True)
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    found = torch.matrix_exp(angle * turn)
    assert torch.allclose(found[0], torch.stack([angle.cos(), -angle.sin()]), atol=1e-12)
    (slope,) = torch.autograd.grad(found[0, 0], angle)
    assert torch.allclose(slope, -angle.sin(), atol=1e-12)


def test_the_older_names_of_the_norms_are_the_parametrizations():
    assert nn.utils.weight_norm is parametrizations.weight_norm
    assert nn.utils.spectral_norm is parametrizations.spectral_norm


# fmt: off
CASES = [
    ("parametrize.register_parametrization(nn.Linear(2, 2), 'gain', nn.ReLU())", 'parametrize', "no parameter, buffer or",
     'look up the names in dict(module.named_parameters())'),
    ("parametrize.register_parametrization(nn.Linear(2, 3), 'weight', Wrong(lambda x: x.T))", 'parametrize',
     'the parametrization may not change dtype and shape', 'return a tensor of the same'),
    ("parametrize.register_parametrization(nn.Linear(2, 3), 'weight', Wrong(lambda x: 3))", 'parametrize',
     'the parametrization must return a tensor, but returned int', 'return a tensor'),
    ("parametrize.register_parametrization(nn.Linear(2, 3), 'weight', Wrong(lambda x: x, lambda x: 'no'))", 'parametrize',
     'right_inverse must return a tensor or a tuple', 'return the arguments of forward'),
    ("parametrize.register_parametrization(nn.Linear(2, 3), 'weight', Wrong(lambda x: x, lambda x: x.double()))",
     'parametrize', 'right_inverse may not change dtype and shape', 'pass unsafe=True'),
    ("parametrize.remove_parametrizations(nn.Linear(2, 3), 'weight')", 'parametrize', 'no parametrization on', 'choose one'),
    ("parametrize.remove_parametrizations(parametrizations.weight_norm(nn.Linear(2, 3)), 'weight', False)", 'parametrize',
     'computed from 2 tensors, none of which', 'pass leave_parametrized=True'),
    ("parametrize.ParametrizationList([], T(2))", 'parametrize', 'requires at least one module', 'pass [parametrization]'),
    ("setattr(parametrize.register_parametrization(nn.Linear(2, 2), 'weight', nn.Tanh()), 'weight', T(2, 2))",
     'right_inverse', 'Tanh has no right_inverse', 'define right_inverse'),
    ("parametrizations.spectral_norm(nn.Linear(2, 3), 'gain')", 'spectral_norm', "no parameter or buffer with name 'gain'",
     'look up the names'),
    ("parametrizations.spectral_norm(nn.Linear(2, 3), dim=2)", 'spectral_norm', 'dim=2 is out of range', 'from -2 to 1'),
    ("parametrizations.spectral_norm(nn.Linear(2, 3), n_power_iterations=0)", 'spectral_norm', 'but got 0', 'write n_power'),
]
# fmt: on


def lend(module, given):
    there = type(
        "Wrong", (module.nn.Module,), {k: v for k, v in vars(Wrong).items() if k in ("forward", "right_inverse")}
    )

    def wrong(*functions):
        made = there()
        made.there, made.back = (*functions, lambda x: x)[:2]
        return made

    utils = module.nn.utils
    return {"Wrong": wrong, "parametrize": utils.parametrize, "parametrizations": utils.parametrizations}


test_the_message_has_the_problem_and_the_fix = each(CASES, lend)
