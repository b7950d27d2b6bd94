"""Lazy modules: made at the first call, ordinary ones from then on."""

import copy
import pickle

import pytest

import minigrad
from minigrad import nn

SHAPE = (2, 3, 5, 6, 7)  # of an input
LAYERS = (
    {nn.LazyLinear: ((4,), SHAPE[:2])}
    | {  # lazy class -> settings, shape of an input
        getattr(nn, f"Lazy{kind}{n}d"): (given, SHAPE[: n + 2])
        for kind, given in {"Conv": (4, 2), "BatchNorm": ()}.items()
        for n in (1, 2)
    }
)
each = pytest.mark.parametrize("lazy", LAYERS, ids=lambda c: c.__name__)


def settings(lazy):
    """Return the settings with which a norm has parameters and buffers."""
    return {"affine": True, "track_running_stats": True} if "Norm" in lazy.__name__ else {}


def made(lazy):
    """Return a lazy layer, and an input for it."""
    given, shape = LAYERS[lazy]
    return lazy(*given, **settings(lazy)), minigrad.randn(*shape)


@each
def test_the_first_call_initializes_like_the_plain_layer(lazy):
    layer, x = made(lazy)
    minigrad.manual_seed(3)
    out = layer(x)
    minigrad.manual_seed(3)
    plain = lazy.cls_to_become(3, *LAYERS[lazy][0], **settings(lazy))
    assert type(layer) is type(plain) and repr(layer) == repr(plain) and vars(layer).keys() == vars(plain).keys()
    assert minigrad.equal(out, plain(x))
    assert all(minigrad.equal(a, b) for a, b in zip(layer.state_dict().values(), plain.state_dict().values()))


@each
def test_making_one_draws_no_numbers(lazy):
    minigrad.manual_seed(3)
    made(lazy)
    drawn = minigrad.rand(2)
    minigrad.manual_seed(3)
    minigrad.randn(*LAYERS[lazy][1])  # the input
    assert minigrad.equal(drawn, minigrad.rand(2))


@each
def test_before_the_first_call_the_state_dict_has_names_without_numbers(lazy):
    layer, _ = made(lazy)
    state = layer.state_dict()
    assert layer.has_uninitialized_params()
    assert list(state) == list(lazy.cls_to_become(3, *LAYERS[lazy][0], **settings(lazy)).state_dict())
    shown = {repr(t) for n, t in state.items() if n != "num_batches_tracked"}
    assert shown <= {"<UninitializedParameter>", "<UninitializedBuffer>"}


@each
def test_a_loaded_state_is_kept_at_the_first_call(lazy):
    first, x = made(lazy)
    first(x)
    second, _ = made(lazy)
    second.load_state_dict(first.state_dict())
    assert not second.has_uninitialized_params() and type(second) is lazy
    assert minigrad.equal(first.eval()(x), second.eval()(x)) and type(second) is lazy.cls_to_become
    assert repr(second) == repr(first)


@each
def test_copies_and_pickles_stay_lazy(lazy):
    layer, x = made(lazy)
    for again in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert type(again) is lazy and again.has_uninitialized_params()
        assert again(x).shape == layer(x).shape
        layer, _ = made(lazy)


@each
def test_dtype_and_requires_grad_apply_to_the_parameters(lazy):
    layer, x = made(lazy)
    layer.double().requires_grad_(False)
    assert layer(x.double()).dtype == minigrad.float64
    assert all(t.dtype == minigrad.float64 for n, t in layer.state_dict().items() if n != "num_batches_tracked")
    assert not any(p.requires_grad for p in layer.parameters())


def test_an_optimizer_made_before_the_first_call_trains_the_layer():
    net = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(1))
    optimizer = minigrad.optim.Adam(net.parameters(), lr=0.1)
    x, before = minigrad.randn(8, 3), list(net.parameters())
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = ((net(x) - x.sum(1, keepdim=True)) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] and all(a is b for a, b in zip(before, net.parameters()))


def test_a_dry_run_lets_apply_see_plain_layers():
    def init(module):
        if type(module) is nn.Linear or type(module) is nn.Conv2d:
            nn.init.constant_(module.weight, 0.5)

    net = nn.Sequential(nn.LazyConv2d(2, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    net(minigrad.ones(1, 1, 4, 4))
    net.apply(init)
    assert (net[0].weight == 0.5).all() and (net[3].weight == 0.5).all() and net[3].in_features == 8


def test_hooks_of_the_lazy_layer_remain_after_its_initialization():
    layer, seen = nn.LazyLinear(2), []
    layer.register_forward_hook(lambda module, args, out: seen.append(type(module)))
    layer(minigrad.ones(1, 3))
    layer(minigrad.ones(1, 3))
    assert seen == [nn.Linear, nn.Linear]


def test_the_first_call_may_be_inside_a_transform():
    x = minigrad.randn(4, 5)
    for call in (minigrad.vmap, lambda f: minigrad.func.grad(lambda x: f(x).sum()), minigrad.no_grad()):
        layer = nn.LazyLinear(3)
        call(layer)(x)
        assert layer.in_features == 5 and layer.weight.is_leaf and layer.weight.requires_grad
        layer(x).sum().backward()
        assert layer.weight.grad is not None


def test_a_users_lazy_module_keeps_its_class_and_is_initialized_once():
    class Scale(nn.lazy.LazyModuleMixin, nn.Module):
        calls = 0

        def __init__(self):
            super().__init__()
            self.factors = nn.UninitializedParameter()
            self.register_buffer("mean", nn.UninitializedBuffer())

        def initialize_parameters(self, x):
            self.calls += 1
            self.factors.materialize(x.shape[-1:], dtype=minigrad.float64)
            self.mean.materialize((2, 2))
            nn.init.ones_(self.factors)

        def forward(self, x):
            return self.factors * x

    scale = Scale()
    scale(minigrad.ones(3))
    assert scale(minigrad.ones(3)).tolist() == [1, 1, 1] and scale.calls == 1 and type(scale) is Scale
    assert type(scale.mean) is minigrad.Tensor and scale.factors.dtype == minigrad.float64


def test_an_uninitialized_state_loads_only_into_a_lazy_layer():
    nn.LazyLinear(3).load_state_dict(nn.LazyLinear(3).state_dict())
    with pytest.raises(RuntimeError, match="shape of an uninitialized"):
        nn.Linear(2, 3).load_state_dict(nn.LazyLinear(3).state_dict())
