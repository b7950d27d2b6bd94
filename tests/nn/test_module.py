"""Modules: registration, walking, state, modes, hooks, text, copies."""

import copy
import pickle

import numpy as np
import pytest

import minigrad
from minigrad import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(3, 1))
        self.scale = nn.Parameter(minigrad.ones(()))
        self.register_buffer("count", minigrad.zeros(()))
        self.register_buffer("cache", minigrad.zeros(2), persistent=False)

    def forward(self, x):
        return self.rest(self.first(x)) * self.scale


NAMES = ["scale", "first.weight", "first.bias", "rest.1.weight", "rest.1.bias"]


def test_parameters_have_dotted_names_in_the_order_of_assignment():
    assert [n for n, _ in Net().named_parameters()] == NAMES


def test_state_dict_has_parameters_and_persistent_buffers():
    assert list(Net().state_dict()) == ["scale", "count", *NAMES[1:]]


def test_shared_module_and_parameter_are_walked_once():
    net = nn.Sequential(layer := nn.Linear(2, 2), layer)
    net.register_parameter("again", layer.weight)
    assert len(list(net.parameters())) == 2 and len(list(net.modules())) == 2
    assert len(net.state_dict()) == 5


def test_parameter_shares_memory_and_is_a_leaf():
    t = minigrad.zeros(3)
    p = nn.Parameter(t)
    t.add_(1)
    assert isinstance(p, minigrad.Tensor) and p.is_leaf and p.requires_grad and p.tolist() == [1, 1, 1]
    assert not nn.Parameter(t, requires_grad=False).requires_grad


def test_a_parameter_that_is_set_to_none_has_no_name():
    net = Net()
    net.scale = None
    assert "scale" not in dict(net.named_parameters())


def test_replacing_a_plain_attribute_by_a_module_registers_it():
    net = nn.Module()
    net.part = None
    net.part = nn.Linear(1, 1)
    assert len(list(net.parameters())) == 2
    del net.part
    assert not hasattr(net, "part")


@pytest.mark.parametrize("name, kind", [("a.b", KeyError), ("", KeyError), ("scale", KeyError)])
def test_names_with_dots_and_taken_ones_are_refused(name, kind):
    with pytest.raises(kind):
        Net().register_buffer(name, minigrad.zeros(1))


def test_the_state_of_one_module_loads_into_another():
    a, b = Net(), Net()
    found = b.load_state_dict(a.state_dict())
    assert str(found) == "<All keys matched successfully>"
    x = minigrad.randn(4, 2)
    assert np.array_equal(a(x).detach().numpy(), b(x).detach().numpy())


def test_state_may_be_numpy_arrays():
    net = nn.Linear(2, 1)
    net.load_state_dict({"weight": np.array([[1.0, 2.0]]), "bias": [3.0]})
    assert net(minigrad.ones(2)).item() == 6 and net.weight.dtype is minigrad.float32


def test_wrong_state_names_every_key_and_shape():
    state = Net().state_dict()
    state["more"] = state.pop("scale")
    state["first.bias"] = minigrad.zeros(7)
    with pytest.raises(RuntimeError) as e:
        Net().load_state_dict(state)
    for words in (
        'Unexpected key(s) in state_dict: "more"',
        'Missing key(s) in state_dict: "scale"',
        "size mismatch for first.bias",
    ):
        assert words in str(e.value)


def test_loading_without_strict_returns_the_differences():
    found = Net().load_state_dict({"more": minigrad.zeros(1), "scale": minigrad.zeros(())}, strict=False)
    assert found.unexpected_keys == ["more"] and found.missing_keys == ["count", *NAMES[1:]]


def test_training_mode_reaches_every_module():
    net = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.BatchNorm1d(2)))
    assert not any(m.training for m in net.eval().modules())
    assert all(m.training for m in net.train().modules())


def test_frozen_module_has_no_gradients_to_give():
    net = Net().requires_grad_(False)
    assert not net(minigrad.ones(1, 2)).requires_grad


def test_zero_grad_forgets_or_fills():
    net = nn.Linear(1, 1)
    net(minigrad.ones(1)).backward()
    net.zero_grad(set_to_none=False)
    assert net.bias.grad.tolist() == [0]
    net.zero_grad()
    assert net.bias.grad is None


def test_double_converts_parameters_in_place_and_leaves_integers():
    net = nn.BatchNorm1d(2)
    weight = net.weight
    assert net.double() is net and net.weight is weight
    assert weight.dtype is minigrad.float64 and net.running_mean.dtype is minigrad.float64
    assert net.num_batches_tracked.dtype is minigrad.int64
    net.double()(minigrad.randn(4, 2, dtype=minigrad.float64)).sum().backward()
    assert weight.grad.dtype is minigrad.float64


def test_apply_visits_children_first():
    seen = []
    nn.Sequential(nn.ReLU(), nn.Tanh()).apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["ReLU", "Tanh", "Sequential"]


def test_hooks_see_and_replace_arguments_and_results():
    net, seen = nn.Identity(), []
    with net.register_forward_pre_hook(lambda m, args: (args[0] + 1,)):
        handle = net.register_forward_hook(lambda m, args, out: seen.append((args[0].item(), out.item())) or out * 10)
        assert net(minigrad.tensor(1.0)).item() == 20
        handle.remove()
    assert net(minigrad.tensor(1.0)).item() == 1 and seen == [(2.0, 2.0)]


def test_hook_with_keywords():
    class Add(nn.Module):
        def forward(self, x, *, other):
            return x + other

    net = Add()
    net.register_forward_pre_hook(lambda m, args, kwargs: (args, {"other": kwargs["other"] * 2}), with_kwargs=True)
    assert net(minigrad.tensor(1.0), other=3).item() == 7


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_independent_and_keep_their_kind(twin):
    net = Net()
    other = twin(net)
    assert all(type(p) is nn.Parameter and p.requires_grad for p in other.parameters())
    with minigrad.no_grad():
        other.scale.fill_(5)
    assert net.scale.item() == 1
    assert np.array_equal((net(minigrad.ones(2)) * 5).detach().numpy(), other(minigrad.ones(2)).detach().numpy())


def test_text_shows_the_tree():
    assert repr(Net()) == (
        "Net(\n  (first): Linear(in_features=2, out_features=3, bias=True)\n  (rest): Sequential(\n    (0): ReLU()\n"
        "    (1): Linear(in_features=3, out_features=1, bias=True)\n  )\n)"
    )


def test_lists_and_dictionaries_of_modules():
    layers = nn.ModuleList(nn.Linear(1, 1) for _ in range(3))
    layers.insert(1, nn.ReLU())
    del layers[0]
    assert [type(m).__name__ for m in layers] == ["ReLU", "Linear", "Linear"] and len(layers[1:]) == 2
    assert list(layers.state_dict()) == ["1.weight", "1.bias", "2.weight", "2.bias"]
    named = nn.ModuleDict({"a": nn.ReLU(), "b": layers[-1]})
    assert list(named.keys()) == ["a", "b"] and "a" in named and len(list(named.parameters())) == 2
    assert len(nn.ParameterList([minigrad.ones(2), minigrad.ones(3)])[1]) == 3


def test_sequential_may_be_sliced_and_named():
    net = nn.Sequential({"a": nn.Linear(1, 2), "b": nn.ReLU()})
    assert net.a is net[0] and type(net[:1]) is nn.Sequential and len(net[:1]) == 1


def test_submodules_are_found_by_name():
    net = Net()
    assert net.get_submodule("rest.1") is net.rest[1] and net.get_parameter("rest.1.bias") is net.rest[1].bias
    with pytest.raises(AttributeError):
        net.get_submodule("rest.7")


@pytest.mark.parametrize("shape, bound", [((7, 4), 0.5), ((6, 4, 3, 3), 1 / 6)])
def test_default_weights_are_uniform_up_to_one_over_the_root_of_fan_in(shape, bound):
    minigrad.manual_seed(0)
    layer = nn.Linear(4, 7) if len(shape) == 2 else nn.Conv2d(4, 6, 3)
    w = layer.weight.detach().numpy()
    assert w.shape == shape and 0.8 * bound < abs(w).max() <= bound and abs(layer.bias.detach().numpy()).max() <= bound


def test_orthogonal_matrices_are_orthogonal():
    w = nn.init.orthogonal_(minigrad.empty(3, 5, dtype=minigrad.float64), gain=2.0).numpy()
    assert np.allclose(w @ w.T, 4 * np.eye(3))


def test_initialising_a_parameter_is_not_recorded():
    p = nn.Parameter(minigrad.empty(2, 2))
    assert nn.init.eye_(p) is p and p.is_leaf and p.tolist() == [[1, 0], [0, 1]]


def test_gradients_are_clipped_together():
    p, q = (nn.Parameter(minigrad.zeros(2)) for _ in range(2))
    p.grad, q.grad = minigrad.tensor([3.0, 0.0]), minigrad.tensor([0.0, 4.0])
    assert nn.utils.clip_grad_norm_([p, q], 1.0).item() == 5
    assert np.allclose(p.grad.numpy(), [0.6, 0]) and np.allclose(q.grad.numpy(), [0, 0.8])
    nn.utils.clip_grad_value_(q, 0.5)
    assert q.grad.tolist() == [0, 0.5]


def test_a_replaced_part_keeps_its_place():
    net = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 3), nn.Linear(3, 1))
    net[1] = nn.Linear(2, 3, bias=False)
    assert list(net.state_dict()) == ["0.weight", "0.bias", "1.weight", "2.weight", "2.bias"]
    assert net(minigrad.ones(1)).shape == (1,)
    other = Net()
    other.first = nn.Linear(2, 3)
    assert [n for n, _ in other.named_parameters()] == NAMES


def test_add_module_replaces_a_module_and_refuses_other_names():
    net = Net()
    net.add_module("first", nn.Identity())
    assert isinstance(net.first, nn.Identity)
    with pytest.raises(KeyError, match="already exists"):
        net.add_module("scale", nn.ReLU())
    with pytest.raises(TypeError, match="has to be a string"):
        net.register_buffer(3, minigrad.ones(1))


def test_parameters_and_buffers_are_not_confused():
    net = Net()
    assert net.get_buffer("count") is net.count
    with pytest.raises(AttributeError, match="not an nn.Parameter"):
        net.get_parameter("count")
    with pytest.raises(AttributeError, match="not a buffer"):
        net.get_buffer("scale")
    net.set_submodule("rest.0", nn.Tanh())
    assert isinstance(net.rest[0], nn.Tanh)


def test_extra_state_goes_with_the_rest():
    class Counted(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 3

        def get_extra_state(self):
            return {"n": self.n}

        def set_extra_state(self, state):
            self.n = state["n"]

    net, other = nn.Sequential(Counted()), nn.Sequential(Counted())
    net[0].n = 5
    state = net.state_dict()
    assert list(state) == ["0._extra_state"]
    other.load_state_dict(state)
    assert other[0].n == 5


def test_wrong_state_leaves_the_module_as_it_was():
    net = nn.Linear(1, 1)
    before = net.weight.item()
    with pytest.raises(RuntimeError):
        net.load_state_dict({"weight": minigrad.ones(1, 1) * 7})
    assert net.weight.item() == before


def test_lists_of_modules_add_and_repeat():
    net = nn.Sequential(nn.ReLU()) + nn.Sequential(nn.Tanh())
    assert [type(m).__name__ for m in net * 2] == ["ReLU", "Tanh"] * 2 and len(net) == 2
    net += nn.Sequential(nn.GELU())
    assert type(net.pop(0)) is nn.ReLU and len(net) == 2 and list(net._modules) == ["0", "1"]
    layers = nn.ModuleList([nn.ReLU()])
    layers += [nn.Tanh(), nn.Tanh()]
    assert repr(layers) == "ModuleList(\n  (0): ReLU()\n  (1-2): 2 x Tanh()\n)"
    with pytest.raises(TypeError, match="needs an iterable"):
        layers.extend(3)


def test_dictionary_of_parameters():
    named = nn.ParameterDict({"a": minigrad.ones(2)})
    named["b"] = nn.Parameter(minigrad.ones(3))
    assert list(named.keys()) == ["a", "b"] == list(named.state_dict()) and named["a"].requires_grad
    assert repr(named).splitlines()[1] == "    (a): Parameter containing: [minigrad.FloatTensor of size 2]"
    assert named.pop("a").shape == (2,) and "a" not in named and named.get("zz") is None


def test_an_older_state_dict_may_lack_a_newer_name():
    model = nn.Sequential(nn.BatchNorm1d(2))
    state = model.state_dict()
    assert state._metadata == {"": {"version": 1}, "0": {"version": 2}}
    del state["0.num_batches_tracked"]
    with pytest.raises(RuntimeError, match="Missing"):
        model.load_state_dict(state)  # it says that it is of version 2
    model.load_state_dict(dict(state))
    state._metadata["0"]["version"] = 1
    model.load_state_dict(state)


def test_a_dictionary_and_a_list_of_parameters_keep_other_values():
    held = minigrad.nn.ParameterDict({"w": minigrad.ones(1), "n": 3})
    held["n"], held["name"] = 4, "a"
    assert held["n"] == 4 and list(held) == ["n", "w", "name"] and [n for n, _ in held.named_parameters()] == ["w"]
    held["n"] = minigrad.ones(2)
    assert sorted(held.state_dict()) == ["n", "w"] and held.pop("name") == "a" and "name" not in held
    row = minigrad.nn.ParameterList([minigrad.ones(1), 3, None])
    row[1] = 5
    assert row[1] == 5 and row[-1] is None and len(row) == 3 and "(1): Object of type: int" in repr(row)
