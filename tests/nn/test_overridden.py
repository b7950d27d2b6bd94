"""Subclasses that override what a module is made of: their methods run, wherever the module stands in a model."""

import pytest

import minigrad
from minigrad import nn


class Frozen(nn.Module):
    """A batch norm that stays in evaluation mode."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(2)

    def train(self, mode=True):
        super().train(mode)
        self.norm.eval()
        return self

    def forward(self, x):
        return self.norm(x)


@pytest.mark.parametrize("wrap", [nn.Sequential, lambda m: nn.ModuleList([nn.ModuleDict({"a": m})]), lambda m: m])
def test_a_parts_train_keeps_its_norm_frozen(wrap):
    frozen = Frozen()
    model = wrap(frozen)
    model.train()
    assert frozen.training and not frozen.norm.training
    frozen(minigrad.tensor([[1.0, 5.0], [3.0, 9.0]]))
    assert frozen.norm.running_mean.tolist() == [0, 0]
    model.eval()
    assert not frozen.training


class Scaled(nn.Module):
    """A module with a number beside its weight, saved with it; loading doubles the weight."""

    def __init__(self, scale=1.0):
        super().__init__()
        self.weight, self.scale, self.table = nn.Parameter(minigrad.ones(1)), scale, minigrad.ones(1)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = minigrad.tensor(self.scale)

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        self.scale = state_dict.pop(prefix + "scale").item()
        super()._load_from_state_dict(state_dict, prefix, *rest)
        self.weight.data.mul_(2)  # the loaded numbers are there

    def _apply(self, fn, recurse=True):
        self.table = fn(self.table)
        return super()._apply(fn, recurse)


def test_a_parts_own_state_is_saved_and_loaded():
    a, b = nn.Sequential(nn.ReLU(), Scaled(7.0)), nn.Sequential(nn.ReLU(), Scaled())
    with minigrad.no_grad():
        a[1].weight.fill_(5)
    state = a.state_dict()
    assert list(state) == ["1.weight", "1.scale"]
    assert b.load_state_dict(state) == ([], []) and (b[1].scale, b[1].weight.item()) == (7, 10)


def test_a_direct_load_of_one_part_writes():
    part, missing, unexpected, faults = nn.Linear(1, 1), [], [], []
    state = {"a.weight": minigrad.ones(1, 1) * 3, "a.other": minigrad.ones(1)}
    part._load_from_state_dict(state, "a.", {}, True, missing, unexpected, faults)
    assert part.weight.item() == 3 and (missing, unexpected, faults) == (["a.bias"], ["a.other"], [])


@pytest.mark.parametrize("convert", ["double", "half", "bfloat16", "cpu", "share_memory"])
def test_conversions_reach_what_a_part_holds_besides(convert):
    part = Scaled()
    getattr(nn.Sequential(part), convert)()
    assert part.table.dtype == part.weight.dtype


def test_a_hook_may_rename_the_keys_of_its_part():
    part = nn.Linear(1, 1)

    def rename(state, prefix, *rest):
        state[prefix + "weight"] = state.pop(prefix + "w")

    part._register_load_state_dict_pre_hook(rename)
    net = nn.Sequential(part)
    net.load_state_dict({"0.w": minigrad.ones(1, 1) * 3, "0.bias": minigrad.ones(1)})
    assert part.weight.item() == 3


def test_another_feed_forward_network_is_used():
    class Layer(nn.TransformerDecoderLayer):
        def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
            return x * 0

        def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
            return x * 0

        def _ff_block(self, x):
            return x * 2

    x = minigrad.randn(3, 1, 4)
    y = nn.TransformerDecoder(Layer(4, 2, 8, norm_first=True, dropout=0.0), 1)(x, x)
    assert minigrad.allclose(y, x + 2 * nn.functional.layer_norm(x, (4,)))


def test_a_slice_keeps_the_names_of_its_parts():
    net = nn.Sequential(nn.Linear(1, 1), nn.ReLU(), nn.Linear(1, 1))
    assert list(net[1:].state_dict()) == ["2.weight", "2.bias"] and list(net[::2]._modules) == ["0", "2"]
    net[1:].load_state_dict({"2.weight": minigrad.ones(1, 1) * 3, "2.bias": minigrad.ones(1)})
    assert net[2].weight.item() == 3


def test_calls_run_an_overridden_call_impl():
    class Doubled(nn.Linear):
        def _call_impl(self, *args, **kwargs):
            return super()._call_impl(*args, **kwargs) * 2

    layer, x = Doubled(2, 1), minigrad.ones(1, 2)
    layer.register_forward_hook(lambda module, args, out: out + 1)
    assert minigrad.allclose(layer(x), 2 * (layer.forward(x) + 1))


def test_attributes_of_common_names_do_not_disturb_a_module():
    class Watched(nn.Linear):
        def __init__(self):
            super().__init__(2, 1)
            self._hooks, self._options, self.settings, self.function = [], {}, None, None
            self._hooks.append(self.register_forward_hook(lambda module, args, out: out + 1))

    layer = Watched()
    assert layer(minigrad.ones(1, 2)).item() == pytest.approx(layer.forward(minigrad.ones(1, 2)).item() + 1)


def test_a_custom_cell_has_as_many_gates_as_it_says():
    class Two(nn.RNNCellBase):
        def __init__(self):
            super().__init__(3, 4, bias=True, num_chunks=2)

    assert Two().weight_ih.shape == (8, 3) and nn.RNNBase("GRU", 3, 4)(minigrad.ones(5, 2, 3))[0].shape == (5, 2, 4)
