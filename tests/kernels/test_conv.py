"""The kernels of convolutions and pooling say what the definitions say, for every geometry, dtype and layout."""

import itertools

import numpy as np
import pytest

import minigrad
from minigrad.kernels.cpu import conv_cost, conv_cpu
from minigrad.ops.nn.conv import Conv, ConvInput, ConvWeight, Geometry
from tests.floats import FLOATS, some
from tests.kernels.definitions import agree, kernels

F = minigrad.nn.functional


def numbers(shape, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.fixture
def always(monkeypatch):
    """Kernels also for small arrays."""
    with kernels(monkeypatch, True):
        yield


def defined(monkeypatch, f, *args):
    """Return the result of f without kernels."""
    with kernels(monkeypatch, False):
        return f(*args)


def close(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=0, atol=200 * np.finfo(a.dtype).eps * max(1, np.abs(b).max(initial=0)))


def three(x, w, geometry, extra=0):
    """Return the convolution of x and w, and both gradients."""
    y = Conv.impl(x, w, geometry)
    g = numbers(y.shape, y.dtype, 1)
    return y, ConvInput.impl(g, w, x.shape[2:], geometry), ConvWeight.impl(g, x, w.shape[2:], geometry)


def compare(monkeypatch, x, w, geometry):
    for found, expected in zip(three(x, w, geometry), defined(monkeypatch, three, x, w, geometry), strict=True):
        close(found, expected)


@FLOATS
@pytest.mark.parametrize("stride", some([(1, 1), (2, 2), (3, 1), (1, 2)], 4))
def test_kernels_compute_what_the_definitions_say(stride, dtype, always, monkeypatch):
    for padding, dilation, groups in itertools.product([(0, 0), (1, 1), (2, 0)], [(1, 1), (2, 1)], [1, 2, 6]):
        x, w = numbers((3, 6, 9, 11), dtype), numbers((12, 6 // groups, 3, 2), dtype, 2)
        compare(monkeypatch, x, w, Geometry(stride, padding, dilation, groups))


@FLOATS
@pytest.mark.parametrize("channels", [1, 3, 4, 5, 8, 9, 17])
def test_every_number_of_channels(channels, dtype, always, monkeypatch):
    x = numbers((2, channels, 8, 8), dtype)
    compare(monkeypatch, x, numbers((channels, channels, 3, 3), dtype, 2), Geometry((1, 1), (1, 1), (1, 1)))
    compare(monkeypatch, x, numbers((channels, 1, 3, 3), dtype, 2), Geometry((1, 1), (1, 1), (1, 1), channels))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [(1, 1), (5, 5), (9, 1), (1, 9), (9, 9)])
def test_windows_from_one_element_to_the_whole_input(kernel, always, monkeypatch):
    x, w = numbers((2, 2, 9, 9), "float64"), numbers((3, 2, *kernel), "float64", 2)
    for stride, padding in itertools.product([(1, 1), (4, 2)], [(0, 0), (kernel[0] - 1, kernel[1] // 2), (7, 0)]):
        compare(monkeypatch, x, w, Geometry(stride, padding, (1, 1)))


@pytest.mark.slow
def test_one_and_three_dimensions(always, monkeypatch):
    compare(monkeypatch, numbers((2, 4, 70), "float32"), numbers((6, 2, 5), "float32"), Geometry((2,), (2,), (3,), 2))
    x, w = numbers((2, 4, 5, 6, 7), "float64"), numbers((3, 4, 2, 3, 2), "float64")
    compare(monkeypatch, x, w, Geometry((1, 2, 1), (1, 0, 1), (1, 1, 2)))


@FLOATS
def test_more_images_than_are_worked_on_at_once(dtype, always, monkeypatch):
    monkeypatch.setattr(conv_cpu, "BLOCK", 1000)
    x, w = numbers((7, 3, 10, 10), dtype), numbers((8, 3, 3, 3), dtype)
    for stride in (1, 2):
        compare(monkeypatch, x, w, Geometry((stride, stride), (1, 1), (1, 1)))


@FLOATS
@pytest.mark.parametrize("outer", [3, 9, 12])
def test_planes_of_the_result_that_are_small_beside_those_of_the_input(outer, dtype, always, monkeypatch):
    for kernel, stride, padding in [((9, 8), (1, 1), (0, 0)), ((12, 14), (1, 1), (1, 0)), ((9, 5), (2, 3), (0, 2))]:
        x, w = numbers((3, 2, 14, 16), dtype), numbers((outer, 2, *kernel), dtype, 2)
        compare(monkeypatch, x, w, Geometry(stride, padding, (1, 1)))
    x, w = numbers((2, 2, 6, 14, 16), dtype), numbers((outer, 2, 3, 9, 8), dtype, 2)
    for stride in [(1, 1, 1), (2, 1, 1), (1, 3, 2)]:
        compare(monkeypatch, x, w, Geometry(stride, (1, 0, 0), (1, 1, 1)))


@FLOATS
def test_inputs_that_are_not_contiguous(dtype, always, monkeypatch):
    x = numbers((2, 9, 11, 6), dtype).transpose(0, 3, 1, 2)[:, ::-1]
    w = numbers((6, 12, 3, 3), dtype).swapaxes(0, 1)[::2]
    compare(monkeypatch, x, w, Geometry((1, 1), (1, 1), (1, 1)))


@FLOATS
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_infinities_and_nan_stay_in_their_windows(odd, dtype, always, monkeypatch):
    x, w = numbers((2, 3, 8, 8), dtype), numbers((5, 3, 3, 3), dtype)
    x[0, 1, 4, 7] = odd
    w[2, 0, 1, 1] = odd
    for geometry in (Geometry((1, 1), (1, 1), (1, 1)), Geometry((2, 2), (1, 1), (1, 1))):
        with np.errstate(all="ignore"):
            found, expected = three(x, w, geometry), defined(monkeypatch, three, x, w, geometry)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_sums_of_many_products_are_as_accurate_as_blas(monkeypatch):
    x, w = numbers((8, 64, 28, 28), "float32") + np.float32(1), numbers((16, 64, 3, 3), "float32")
    geometry = Geometry((1, 1), (1, 1), (1, 1))
    exact = defined(monkeypatch, three, x.astype("float64"), w.astype("float64"), geometry)
    ours, blas = three(x, w, geometry), defined(monkeypatch, three, x, w, geometry)
    g = numbers(exact[0].shape, "float32", 1)
    exact = exact[0], *defined(monkeypatch, gradients, g, x, w, geometry)
    for a, b, right in zip(ours, blas, exact, strict=True):
        scale = np.finfo("float32").eps * np.abs(right).max()
        assert np.abs(a - right).max() <= 2 * np.abs(b - right).max() + 2 * scale


def gradients(g, x, w, geometry):
    g, x, w = (a.astype("float64") for a in (g, x, w))
    return ConvInput.impl(g, w, x.shape[2:], geometry), ConvWeight.impl(g, x, w.shape[2:], geometry)


def convolved(x, w, b, v):
    """Return two convolutions with pooling."""
    hidden = F.max_pool2d(F.conv2d(x, w, b, padding=1).relu(), 2)
    return F.max_pool2d(F.conv2d(hidden, v, stride=2, padding=1), 3, 2, 1)


PARAMETERS = [numbers(s, "float64", i) for i, s in enumerate([(6, 3, 16, 16), (8, 3, 3, 3), (8,), (4, 8, 3, 3)])]


def test_networks_are_those_of_the_definitions(monkeypatch):
    agree(monkeypatch, convolved, *PARAMETERS, scale=200)


@pytest.mark.parametrize("images, out", [(2, 5), (40, 3), (2, 1)])
def test_windows_of_one_element_are_products_of_matrices(images, out):
    x, w, b = minigrad.randn(images, 4, 3, 2), minigrad.randn(out, 4, 1, 1), minigrad.randn(out)
    tracked = [t.double().requires_grad_() for t in (x, w, b)]
    found = F.conv2d(*tracked)
    wanted = minigrad.einsum("oc,nchw->nohw", tracked[1][:, :, 0, 0], tracked[0]) + tracked[2][:, None, None]
    assert minigrad.allclose(found, wanted)
    g = minigrad.randn(*found.shape, dtype=minigrad.float64)
    for a, b in zip(minigrad.autograd.grad(found, tracked, g), minigrad.autograd.grad(wanted, tracked, g), strict=True):
        assert minigrad.allclose(a, b)


@pytest.mark.parametrize(
    "number, images, weight, product",
    [
        ((4, 4), 2, (512, 512, 3, 3), True),
        ((8, 8), 2, (512, 256, 3, 3), True),
        ((32, 32), 2, (64, 64, 3, 3), False),
        ((16, 16), 8, (32, 16, 3, 3), False),
        ((4, 4), 100_000, (512, 512, 3, 3), False),  # too many windows for a copy
    ],
)
def test_many_channels_of_few_elements_are_a_product(number, images, weight, product):
    costs = [conv_cost.FORWARD, conv_cost.BY_INPUT, conv_cost.BY_WEIGHT]
    assert [c.favours_product(number, images, weight, 1) for c in costs] == [product] * 3


def test_a_product_is_what_the_kernel_gives(monkeypatch):
    x, w = minigrad.randn(2, 256, 4, 4, requires_grad=True), minigrad.randn(256, 256, 3, 3, requires_grad=True)
    results = []
    for windows in (conv_cost.WINDOWS, 0):
        monkeypatch.setattr(conv_cost, "WINDOWS", windows)
        out = F.conv2d(x, w, padding=1)
        results.append([out, *minigrad.autograd.grad(out, [x, w], minigrad.ones_like(out))])
    for a, b in zip(*results, strict=True):
        assert minigrad.allclose(a, b, rtol=1e-3, atol=1e-2)
