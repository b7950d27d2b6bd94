"""Convolutions against their definition, their adjoint relations, and their errors."""

import itertools

import numpy as np
import pytest

import minigrad
from minigrad.nn import functional as F


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def convolve(x, w, stride, padding, dilation, groups):
    """Return the convolution by its definition, element by element."""
    n, (k0, k1) = len(x), w.shape[2:]
    x = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    size = [(m - d * (k - 1) - 1) // s + 1 for m, d, k, s in zip(x.shape[2:], dilation, (k0, k1), stride)]
    out = np.zeros((n, len(w), *size))
    per = len(w) // groups
    for o, i, j in itertools.product(range(len(w)), *map(range, size)):
        channels = slice(o // per * w.shape[1], (o // per + 1) * w.shape[1])
        rows = slice(i * stride[0], i * stride[0] + dilation[0] * (k0 - 1) + 1, dilation[0])
        cols = slice(j * stride[1], j * stride[1] + dilation[1] * (k1 - 1) + 1, dilation[1])
        out[:, o, i, j] = (x[:, channels, rows, cols] * w[o]).sum((1, 2, 3))
    return out


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(
    "stride, padding, dilation", [((1, 1), (0, 0), (1, 1)), ((2, 3), (1, 2), (1, 1)), ((1, 2), (2, 0), (2, 1))]
)
def test_conv2d_is_the_sum_over_windows(groups, stride, padding, dilation):
    x, w = random(2, 4, 7, 8), random(8, 4 // groups, 3, 2, seed=1)
    found = F.conv2d(minigrad.tensor(x), minigrad.tensor(w), None, stride, padding, dilation, groups)
    assert np.allclose(found.numpy(), convolve(x, w, stride, padding, dilation, groups))


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


def test_float32_is_kept_in_every_gradient():
    x, w, b = (minigrad.tensor(random(*s).astype("f4")).requires_grad_() for s in ((2, 2, 4, 4), (3, 2, 2, 2), (3,)))
    out = F.conv2d(x, w, b)
    out.sum().backward()
    assert {t.dtype for t in (out, x.grad, w.grad, b.grad)} == {minigrad.float32}


def test_fold_of_unfolded_ones_counts_the_windows_of_each_element():
    x = minigrad.ones(1, 1, 4, 4)
    found = F.fold(F.unfold(x, 2), (4, 4), 2)
    edge = np.array([1, 2, 2, 1])
    assert np.array_equal(found.numpy()[0, 0], np.outer(edge, edge))
