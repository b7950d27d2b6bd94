"""Convolutions: their adjoint, padding that keeps the size, the third derivative."""

import numpy as np
import pytest

import minigrad
from minigrad.nn import functional as F
from tests.ops.linear import random


@pytest.mark.parametrize("stride, padding, dilation, extra", [(1, 0, 1, 0), (2, 1, 1, 1), (3, 0, 2, 2), (1, 1, 2, 1)])
def test_transposed_convolution_is_the_adjoint(stride, padding, dilation, extra):
    y, w = minigrad.tensor(random(2, 3, 5)), minigrad.tensor(random(3, 2, 3, seed=1))
    x = F.conv_transpose1d(y, w, stride=stride, padding=padding, dilation=dilation, output_padding=extra)
    v = minigrad.tensor(random(*x.shape, seed=2))
    forward = F.conv1d(v, w, stride=stride, padding=padding, dilation=dilation)[..., : y.shape[-1]]
    assert np.isclose(float((x * v).sum()), float((y * forward).sum()))


def test_third_derivative_of_a_convolution_with_itself():
    x = minigrad.tensor(random(1, 1, 4)).requires_grad_()
    w = minigrad.tensor(random(1, 1, 2, seed=1)).requires_grad_()
    f = F.conv1d(x, w).pow(3).sum()
    (gx,) = minigrad.autograd.grad(f, x, create_graph=True)
    (gw,) = minigrad.autograd.grad(gx.sum(), w, create_graph=True)
    (third,) = minigrad.autograd.grad(gw.sum(), w)

    def at(a, b):
        conv = [x.detach().numpy()[0, 0, i] * a + x.detach().numpy()[0, 0, i + 1] * b for i in range(3)]
        return sum(3 * c**2 * (a + b) for c in conv)  # sum of gx

    a, b = w.detach().numpy()[0, 0]
    h = 1e-3
    expected = [(at(a + h + k, b) + at(a - h + k, b) - 2 * at(a + k, b)) / h**2 for k in (0,)][0]
    mixed = (at(a + h, b + h) - at(a + h, b - h) - at(a - h, b + h) + at(a - h, b - h)) / (4 * h * h)
    assert np.isclose(third.numpy()[0, 0, 0], expected + mixed, rtol=1e-4)


@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
@pytest.mark.parametrize("dilation", [1, 2, 3])
def test_same_padding_keeps_the_size(kernel, dilation):
    x = minigrad.tensor(random(1, 2, 9))
    assert F.conv1d(
        x, minigrad.ones(3, 2, kernel, dtype=minigrad.float64), padding="same", dilation=dilation
    ).shape == (1, 3, 9)


def test_fold_of_unfolded_ones_counts_the_windows_of_each_element():
    x = minigrad.ones(1, 1, 4, 4)
    found = F.fold(F.unfold(x, 2), (4, 4), 2)
    edge = np.array([1, 2, 2, 1])
    assert np.array_equal(found.numpy()[0, 0], np.outer(edge, edge))
