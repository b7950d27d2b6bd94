"""Lazy modules learn at the first call what PyTorch's learn, and are plain layers from then on."""

import copy
import pickle

import pytest
import torch

import minigrad
from tests.parity.in_both import same_in_both

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SHAPES = {1: (6,), 2: (6, 5)}
LAYERS = [("LazyLinear(3)", (2, 4)), ("LazyLinear(3, bias=False)", (4,))] + [
    (call.format(n=n), (*batch, 3, *SHAPES[n]))
    for n in SHAPES
    for call, batches in [
        ("LazyConv{n}d(4, 2, stride=2)", [(2,), ()]),
        ("LazyConv{n}d(6, kernel_size=2, groups=3, bias=False)", [(2,)]),
        ("LazyBatchNorm{n}d()", [(2,)]),
        ("LazyBatchNorm{n}d(affine=False)", [(2,)]),
    ]
    for batch in batches
]


def described(layer):
    """Return the properties of a layer that do not depend on its numbers."""
    tensors = {**dict(layer.named_parameters()), **dict(layer.named_buffers())}
    return {
        "text": str(layer),
        "class": type(layer).__name__,
        "tensors": {k: type(t).__name__ for k, t in tensors.items() if "Uninit" in type(t).__name__},
        "shapes": {k: tuple(t.shape) for k, t in tensors.items() if "Uninit" not in type(t).__name__},
        "keys": list(layer.state_dict()),
    }


@pytest.mark.parametrize(("call", "shape"), LAYERS)
@same_in_both
def test_a_layer_is_pytorchs_before_and_after_its_first_call(m, call, shape):
    layer = eval(f"m.nn.{call}", {"m": m})
    before, parameters = described(layer), [*layer.parameters()]
    out = layer(m.ones(*shape))
    assert [id(p) for p in layer.parameters()] == [id(p) for p in parameters]
    return (before, tuple(out.shape), described(layer))


@pytest.mark.parametrize("call", ["LazyLinear(3)", "LazyBatchNorm2d()"])
def test_dtypes_are_taken_before_the_first_call(call):
    for m in (minigrad, torch):
        layer = eval(f"m.nn.{call}", {"m": m}).double()
        layer(m.ones(2, 3, 4, 4, dtype=m.float64))
        assert {t.dtype for t in layer.parameters()} == {m.float64}


def test_an_optimizer_made_before_the_first_call_trains():
    for m in (minigrad, torch):
        m.manual_seed(0)
        net = m.nn.Sequential(m.nn.LazyLinear(8), m.nn.ReLU(), m.nn.LazyLinear(1))
        net[0].weight.data.normal_(0, 0.1)  # as PyTorch takes it, on what is empty
        optimizer = m.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        x = m.linspace(-1, 1, 16).reshape(8, 2)
        losses = []
        for _ in range(60):
            loss = ((net(x) - x.sum(1, keepdim=True)) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.5 * losses[0]


def test_states_are_exchanged_between_lazy_and_plain_layers():
    for m in (minigrad, torch):
        plain, lazy = m.nn.Linear(3, 2), m.nn.LazyLinear(2)
        lazy.load_state_dict(plain.state_dict())
        x = m.ones(1, 3)
        assert m.equal(lazy(x), plain(x)) and type(lazy) is m.nn.Linear and lazy.in_features == 3
        with pytest.raises(RuntimeError, match="shape"):
            m.nn.Linear(3, 2).load_state_dict(m.nn.LazyLinear(2).state_dict())
        other = m.nn.LazyLinear(2)
        other.load_state_dict(m.nn.LazyLinear(2).state_dict())
        assert other.has_uninitialized_params()


@pytest.mark.parametrize("again", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))])
def test_copies_are_lazy_too(again):
    for m in (minigrad, torch):
        layer = m.nn.LazyLinear(2)
        other = again(layer)
        assert other(m.ones(1, 3)).shape == (1, 2) and layer.has_uninitialized_params()


@pytest.mark.parametrize(
    ("use", "kind"),
    [
        ("p.shape", RuntimeError),
        ("p + 1", ValueError),
        ("p.numel()", ValueError),
        ("p.sum()", ValueError),
        ("m.nn.init.normal_(p)", (ValueError, RuntimeError)),
        ("m.nn.LazyConv2d(2, 3)(m.ones(3))", RuntimeError),
        ("m.nn.LazyConv2d(2, 3, groups=2)(m.ones(1, 3, 4, 4))", ValueError),
        ("m.nn.LazyBatchNorm1d()(m.ones(1, 3, 4, 4))", ValueError),
        ("Never()(m.ones(1))", NotImplementedError),
        ("Half()(m.ones(1))", RuntimeError),
    ],
)
def test_what_cannot_be_used_yet_says_so(use, kind):
    for m, mixin in ((minigrad, minigrad.nn.lazy.LazyModuleMixin), (torch, torch.nn.modules.lazy.LazyModuleMixin)):

        class Never(mixin, m.nn.Module):
            pass

        class Half(Never):
            def __init__(self):  # noqa: B023
                super().__init__()
                self.w = m.nn.UninitializedParameter()  # noqa: B023

            def initialize_parameters(self, x):
                pass

        names = {"m": m, "p": m.nn.LazyLinear(2).weight, "Never": Never, "Half": Half}
        with pytest.raises(kind, match="To fix" if m is minigrad else ""):
            eval(use, names)


def test_a_lazy_module_of_ones_own_becomes_what_it_says():
    for m, mixin in ((minigrad, minigrad.nn.lazy.LazyModuleMixin), (torch, torch.nn.modules.lazy.LazyModuleMixin)):

        class Scale(m.nn.Module):
            def forward(self, x):
                return self.w * x

        class LazyScale(mixin, Scale):
            cls_to_become = Scale

            def __init__(self):
                super().__init__()
                self.w = m.nn.UninitializedParameter()  # noqa: B023

            def initialize_parameters(self, x):
                if self.has_uninitialized_params():
                    self.w.materialize(x.shape[1:])
                    m.nn.init.constant_(self.w, 2.0)  # noqa: B023

        scale = LazyScale()
        assert scale(m.ones(2, 3)).tolist() == [[2.0] * 3] * 2
        assert type(scale) is Scale and not scale._forward_pre_hooks if m is torch else type(scale) is Scale
