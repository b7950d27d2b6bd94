"""Misspelt attributes of tensors are refused, all others are welcome."""

import copy
import pickle

import pytest

import minigrad


@pytest.mark.parametrize("name", ["require_grad", "requires_gradient", "gradient", "grads", "retain_grads"])
def test_a_misspelt_attribute_is_refused_and_not_set(name):
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


def test_other_attributes_are_copied_with_the_tensor():
    t = minigrad.ones(2)
    t.label, t.grad_norm = "x", 1.0
    assert copy.deepcopy(t).label == pickle.loads(pickle.dumps(t)).label == "x"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("to_sparse", "keep indices and values as two tensors"),
        ("reshap", r"(?s)tensors have no attribute reshap\n.*use x\.reshape"),
        ("gradient", r"use x\.grad"),
        ("of_no_operation_at_all", r"docs/howto/port\.md"),
    ],
)
def test_reading_a_missing_attribute_suggests_the_right_one(name, says):
    with pytest.raises(AttributeError, match=says):
        getattr(minigrad.ones(2), name)
    with pytest.raises(AttributeError, match=says):
        minigrad.func.grad(lambda x: getattr(x, name))(minigrad.ones(()))


def test_a_missing_name_with_an_underscore_raises_a_plain_error():
    with pytest.raises(AttributeError, match="^'Tensor' object has no attribute '_anything'$"):
        minigrad.ones(2)._anything  # noqa: B018


def test_attributes_of_the_class_are_not_on_tensors():
    assert not hasattr(minigrad.ones(2), "__name__")


@pytest.mark.cpu("is about the processor")
def test_a_property_that_raises_keeps_its_message():
    with pytest.raises(AttributeError, match=r"use x\.cuda\(\)"):
        minigrad.ones(2).__cuda_array_interface__  # noqa: B018
