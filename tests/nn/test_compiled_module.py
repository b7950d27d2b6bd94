"""A compiled module is a module: optimizers, state dicts, train() and eval(), copies, hooks, other modules around it."""

import copy
import pickle

import pytest

import minigrad as torch
from minigrad import nn


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 2))


X = torch.tensor([[1.0, -2.0, 0.5], [0.3, 0.2, -1.0]])


def test_it_is_trained_as_the_module_is():
    models = [model(), model()]
    for m, run in zip(models, (models[0], torch.compile(models[1]))):
        opt = torch.optim.Adam(run.parameters(), lr=0.1)
        for k in range(4):
            torch.manual_seed(k)
            run.train(k % 2 == 0)
            opt.zero_grad()
            run(X).pow(2).sum().backward()
            opt.step()
        assert m.training is run.training is False
    for p, q in zip(models[0].parameters(), models[1].parameters(), strict=True):
        assert torch.allclose(p, q, rtol=1e-4, atol=1e-6)


def test_the_state_of_a_compiled_module_has_pytorchs_prefix():
    m = model()
    c = torch.compile(m)
    assert [name for name, _ in c.named_parameters()] == [f"_orig_mod.{name}" for name, _ in m.named_parameters()]
    assert all(p is q for p, q in zip(c.parameters(), m.parameters(), strict=True)) and c._orig_mod is m
    other = torch.compile(nn.Sequential(*model()))
    other.load_state_dict(c.state_dict())
    assert torch.equal(other.eval()(X), c.eval()(X)) and isinstance(c, nn.Module) and len(c) == len(m)


def test_attributes_are_those_of_the_module_and_of_the_compiled_function():
    m = model()
    c = torch.compile(m)
    c.scale = 3
    assert m.scale == c.scale == 3
    c.eval()(X)
    assert len(c.versions) == 1 and "def " in c.source() and "specialisation" in c.explain()
    with pytest.raises(AttributeError, match="has no attribute 'weigth'"):
        _ = torch.compile(nn.Linear(2, 2)).weigth


def test_hooks_and_modules_around_it():
    c, seen = torch.compile(nn.Linear(3, 2)), []
    around = nn.Sequential(c, nn.ReLU())
    handle = c.register_forward_hook(lambda module, args, out: seen.append(type(module).__name__) or out * 2)
    assert torch.equal(around(X), (c._orig_mod(X) * 2).relu()) and seen == ["OptimizedModule"]
    handle.remove()
    assert torch.allclose(torch.compile(around)(X), around(X)) and len(list(around.parameters())) == 2


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))], ids=["deepcopy", "pickle"])
def test_copies_are_compiled_anew(copied):
    m = nn.Linear(3, 2)
    m.compile()
    for c in (torch.compile(nn.Linear(3, 2)), m):
        c(X)
        other = copied(c)
        with torch.no_grad():
            next(other.parameters()).add_(1)
        assert type(other) is type(c)
        assert torch.allclose(other(X), c(X) + X.sum(1, keepdim=True), atol=1e-5)


def test_a_module_compiled_in_place_is_itself():
    m, plain = model().eval(), model().eval()
    assert m.compile(fullgraph=True) is None
    for x in (X, X * 2, X[:1]):
        assert torch.allclose(m(x), plain(x), atol=1e-6)
    assert len(m.forward.versions) == 2 and list(m.state_dict()) == list(plain.state_dict())


def test_the_options_of_pytorch():
    m = nn.Linear(3, 2)
    assert (
        torch.compile(m, disable=True) is m and torch.compile(model=m, mode="max-autotune", dynamic=True)._orig_mod is m
    )
    double = torch.compile(fullgraph=True, dynamic=False, backend="inductor")(lambda x: x * 2)
    assert torch.equal(double(X), X * 2) and double.fullgraph
    c = torch.compile(m)
    assert torch.compile(c) is c and torch.compile(double) is double
    with pytest.raises(TypeError, match="custom backends are not supported"):
        torch.compile(m, backend=lambda graph, inputs: graph)
