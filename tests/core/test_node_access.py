"""Nodes are read many times in each backward, so that their slots have to be read in the quickest way that Python has."""

import pytest

import minigrad as torch
from minigrad.core.context import Ctx
from minigrad.core.graph import FullNode, Node


@pytest.mark.parametrize("kind", [Node, FullNode, Ctx, type(torch.ones(1, requires_grad=True).exp().grad_fn)])
def test_slots_are_read_without_a_hook(kind):
    for hook in ("__getattr__", "__setattr__"):
        assert getattr(kind, hook, None) is getattr(object, hook, None), f"{hook} makes every look at a slot slower"
    assert kind.__getattribute__ is object.__getattribute__


def test_unsaved_tensors_are_no_attributes_of_a_node():
    y = torch.ones(1, requires_grad=True) + 1
    with pytest.raises(AttributeError, match="_saved_self"):
        y.grad_fn._saved_self  # noqa: B018
    assert not hasattr(y.grad_fn, "_saved_result")


def test_a_node_lists_the_saved_tensors_that_it_has():
    x = torch.ones(3, requires_grad=True)
    for y, names in ((x * x, ["other", "self"]), (x.exp(), ["result"]), (x.sum(), [])):
        listed = [name for name in dir(y.grad_fn) if name.startswith("_saved_")]
        assert listed == [f"_saved_{name}" for name in names]
        assert all(getattr(y.grad_fn, name).shape == x.shape for name in listed)
    y.backward()
    assert not [name for name in dir(y.grad_fn) if name.startswith("_saved_")]
