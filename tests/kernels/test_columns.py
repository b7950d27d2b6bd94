"""Kernels of softmax, log_softmax and cross-entropy along other dimensions than the last."""

import numpy as np
import pytest

import minigrad
from tests.floats import FLOATS, some
from tests.kernels.definitions import agree, numbers

F = minigrad.nn.functional
pytestmark = pytest.mark.filterwarnings(r"ignore:(?s).*\[one-class\]")  # sizes of 1 are tried, too


def loss(x, **options):
    target = np.arange(x.numel() // x.shape[1]).reshape(x.shape[0], *x.shape[2:]) * 7 % x.shape[1]
    return F.cross_entropy(x, minigrad.tensor(target), reduction="none", **options)


FUNCTIONS = {
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(1),
    "cross_entropy": loss,
    "cross_entropy without a class": lambda x: loss(x, ignore_index=1),
}
SHAPES = [(3, 7, 5), (2, 21, 8, 9), (1, 2, 1000), (2, 1, 40), (1, 9000, 3), (4, 3, 2)]


@FLOATS
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", some(FUNCTIONS, 2))
def test_kernels_compute_what_the_definitions_say(name, shape, dtype, monkeypatch):
    agree(monkeypatch, FUNCTIONS[name], numbers(shape, dtype), scale=60)


@pytest.mark.parametrize("name", some(FUNCTIONS, 2))
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_infinities_and_nan_stay_in_their_column(name, odd, monkeypatch):
    x = numbers((3, 7, 20))
    x[0, 3, 4] = x[1, 0, 5] = x[1, 6, 5] = odd
    x[2, :, 7] = odd
    agree(monkeypatch, FUNCTIONS[name], x)


def test_classes_are_checked():
    x = minigrad.tensor(numbers((20, 10, 30)))
    for wrong in (10, -1):
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds for 10 classes"):
            F.cross_entropy(x, minigrad.full((20, 30), wrong))
