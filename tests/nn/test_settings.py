"""Modules that are a function and its settings: their signature, text, buffers and subclasses."""

import copy
import inspect
import pickle

import minigrad as torch
from minigrad import nn


def test_the_signature_has_the_settings():
    assert str(inspect.signature(nn.LeakyReLU)) == "(negative_slope: 'float' = 0.01, inplace: 'bool' = False)"
    assert list(inspect.signature(nn.MaxPool2d.__init__).parameters)[:3] == ["self", "kernel_size", "stride"]
    assert {p.kind.name for p in inspect.signature(nn.GaussianNLLLoss).parameters.values()} == {"KEYWORD_ONLY"}


def test_a_tensor_among_the_settings_is_a_buffer():
    loss = nn.BCEWithLogitsLoss(torch.ones(3), pos_weight=torch.ones(1))
    assert list(loss.state_dict()) == ["weight", "pos_weight"]
    assert nn.BCEWithLogitsLoss().weight is None


def test_a_subclass_with_more_annotations_keeps_the_settings():
    class Scaled(nn.MSELoss):
        scale: float = 2.0

        def forward(self, *inputs):
            return self.scale * super().forward(*inputs)

    assert inspect.signature(Scaled) == inspect.signature(nn.MSELoss)
    assert Scaled()(torch.ones(2), torch.zeros(2)).item() == 2.0


def test_a_subclass_with_an_init_has_its_signature():
    class Wide(nn.ConstantPad1d):
        def __init__(self, n):
            super().__init__(n, 1.0)

    assert list(inspect.signature(Wide).parameters) == ["n"]
    assert Wide(2)(torch.zeros(1, 1)).tolist() == [[1.0, 1.0, 0.0, 1.0, 1.0]]


def test_copies_and_pickles_keep_the_settings():
    pool = nn.MaxPool2d(2, return_indices=True)
    for other in (copy.deepcopy(pool), pickle.loads(pickle.dumps(pool))):
        assert repr(other) == repr(pool) and other.return_indices
