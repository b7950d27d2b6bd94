"""Names of PyTorch's that newer ones have taken the place of, and activations that write into their input."""

import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn

WRITERS = ["celu_", "elu_", "hardtanh_", "leaky_relu_", "relu_", "selu_"]


@pytest.mark.parametrize("name", WRITERS)
def test_an_activation_with_an_underscore_writes_its_result(name):
    x = minigrad.tensor([-2.0, 0.5, 3.0])
    wanted = getattr(F, name[:-1])(x)
    assert getattr(F, name)(x) is x and minigrad.equal(x, wanted)


def test_those_with_more_arguments():
    x = minigrad.tensor([-2.0, 0.5, 3.0])
    assert F.threshold_(x, 1.0, 7.0).tolist() == [7, 7, 3] and minigrad.threshold_ is F.threshold_
    assert F.rrelu_(minigrad.tensor([-1.0, 2.0]), 0.5, 0.5, True).tolist() == [-0.5, 2]


def test_the_gradient_of_a_written_activation():
    x = minigrad.tensor([-2.0, 3.0], requires_grad=True)
    F.relu_(x * 2).sum().backward()
    assert x.grad.tolist() == [0, 2]


@pytest.mark.parametrize("name", ["constant", "kaiming_normal", "uniform", "xavier_uniform"])
def test_an_older_name_of_an_initial_value_is_the_newer_one(name):
    assert getattr(nn.init, name) is getattr(nn.init, f"{name}_")


@pytest.mark.parametrize("name", ["ones", "fan", "uniform__"])
def test_missing_initializers_are_attribute_errors(name):
    with pytest.raises(AttributeError, match=f"nn.init.{name}"):
        getattr(nn.init, name)


def test_a_module_that_shares_its_memory_is_itself():
    layer = nn.Linear(2, 2)
    assert layer.share_memory() is layer


def test_older_names_of_interpolate():
    x = minigrad.randn(1, 2, 3, 3)
    assert minigrad.equal(F.upsample(x, 6), F.interpolate(x, 6)) and minigrad.equal(
        F.upsample_nearest(x, 6), F.upsample(x, 6)
    )
    assert minigrad.equal(F.upsample_bilinear(x, 6), F.interpolate(x, 6, mode="bilinear", align_corners=True))


def test_the_weights_of_a_recurrent_layer_are_replaced_at_once():
    layer, other = nn.GRU(2, 3), nn.GRU(2, 3)
    x = minigrad.randn(4, 2)
    layer._flat_weights = other._flat_weights
    assert layer.weight_hh_l0 is other.weight_hh_l0 and layer(x)[0].tolist() == other(x)[0].tolist()
