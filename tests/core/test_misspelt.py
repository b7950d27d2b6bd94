"""Misspelt attributes of tensors are refused, all others are welcome."""

import copy
import pickle

import pytest

import minigrad


@pytest.mark.parametrize("name", ["require_grad", "requires_gradient", "gradient", "grads", "retain_grads"])
def test_a_misspelling_is_refused_and_is_not_there(name):
    for t in (minigrad.ones(2), minigrad.nn.Parameter(minigrad.ones(2))):
        with pytest.raises(AttributeError, match=f"tensors have no attribute {name}"):
            setattr(t, name, True)
        assert not hasattr(t, name)
        assert name not in dir(t)


@pytest.mark.parametrize("name", ["retain_grad", "requires_grad_"])
def test_a_method_cannot_be_assigned_to(name):
    t = minigrad.ones(2)
    with pytest.raises(AttributeError, match=f"{name} is a method"):
        setattr(t, name, True)
    assert getattr(t, name).__self__ is t
    assert getattr(minigrad.Tensor, name).__name__ == name


def test_other_attributes_travel_with_the_tensor():
    t = minigrad.ones(2)
    t.label, t.grad_norm = "x", 1.0
    assert copy.deepcopy(t).label == pickle.loads(pickle.dumps(t)).label == "x"
