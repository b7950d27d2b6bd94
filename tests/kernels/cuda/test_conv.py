"""Convolutions on the device: exactly those of the processor, for whole numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad
from minigrad.kernels.cuda import conv_cuda
from minigrad.kernels.cuda.device_array import to_device
from minigrad.ops.nn.conv import Conv, ConvBias, ConvInput, ConvWeight, Geometry

random = np.random.default_rng(0)


def numbers(*shape, dtype=np.float64):
    return random.integers(-5, 6, shape).astype(dtype)


def check(x, w, geometry):
    """The convolution and its two gradients."""
    out = Conv.impl(x, w, geometry)
    g = numbers(*out.shape, dtype=x.dtype)
    x_there, w_there, g_there = map(to_device, (x, w, g))
    same(Conv.impl(x_there, w_there, geometry), out)
    same(ConvInput.impl(g_there, w_there, x.shape[2:], geometry), ConvInput.impl(g, w, x.shape[2:], geometry))
    same(ConvWeight.impl(g_there, x_there, w.shape[2:], geometry), ConvWeight.impl(g, x, w.shape[2:], geometry))


def same(there, here):
    assert there.dtype == here.dtype and np.array_equal(there.to_host(), here)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize(
    "x, w, geometry",
    [
        ((2, 3, 8), (4, 3, 3), Geometry((1,), (0,), (1,))),
        ((2, 4, 9), (6, 2, 3), Geometry((2,), (1,), (2,), 2)),
        ((2, 4, 7, 6), (6, 2, 3, 3), Geometry((2, 1), (1, 2), (1, 2), 2)),
        ((3, 2, 4, 4), (2, 1, 3, 3), Geometry((1, 1), (1, 1), (1, 1), 2)),  # each channel on its own
        ((1, 2, 3, 4, 3), (2, 2, 2, 2, 2), Geometry((1, 2, 1), (1, 1, 1), (1, 1, 1))),
        ((1, 2, 7, 7), (3, 2, 1, 1), Geometry((2, 3), (0, 0), (1, 1))),  # places that no window meets
        ((1, 1, 9), (1, 1, 3), Geometry((2,), (0,), (2,))),  # phases that no element of the kernel meets
        ((1, 1, 5), (1, 1, 2), Geometry((1,), (3,), (1,))),  # windows within the padding
    ],
)
def test_convolutions_and_their_gradients(x, w, geometry, dtype):
    check(numbers(*x, dtype=dtype), numbers(*w, dtype=dtype), geometry)


@pytest.mark.slow
@settings(max_examples=25)
@given(st.data())
def test_every_geometry(data):
    n = data.draw(st.integers(1, 2))
    draw = lambda low, high: tuple(data.draw(st.integers(low, high)) for _ in range(n))
    kernel, stride, padding, dilation = draw(1, 3), draw(1, 3), draw(0, 2), draw(1, 2)
    size = tuple(
        max(1, d * (k - 1) + 1 - 2 * p) + data.draw(st.integers(0, 3)) for k, p, d in zip(kernel, padding, dilation)
    )
    groups, images = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2))
    x, w = numbers(images, 2 * groups, *size), numbers(groups * data.draw(st.integers(1, 2)), 2, *kernel)
    check(x, w, Geometry(stride, padding, dilation, groups))


@pytest.mark.parametrize("x, w", [((0, 3, 5), (4, 3, 3)), ((2, 0, 5), (4, 0, 3)), ((2, 3, 5), (0, 3, 3))])
def test_convolutions_of_nothing(x, w):
    check(np.zeros(x), np.zeros(w), Geometry((1,), (0,), (1,)))


def test_a_bias_is_added_to_each_channel():
    x, w, bias, geometry = numbers(2, 3, 5), numbers(4, 3, 2), numbers(4), Geometry((1,), (1,), (1,))
    same(ConvBias.impl(*map(to_device, (x, w, bias)), geometry), ConvBias.impl(x, w, bias, geometry))


def test_operands_in_any_order_in_memory():
    x, w, geometry = numbers(2, 5, 6, 3), numbers(3, 2, 3, 4), Geometry((1, 1), (0, 0), (1, 1))
    there = to_device(x).transpose(0, 3, 1, 2), to_device(w).transpose(1, 0, 3, 2)
    same(Conv.impl(*there, geometry), Conv.impl(x.transpose(0, 3, 1, 2), w.transpose(1, 0, 3, 2), geometry))


@pytest.mark.parametrize("apart", [lambda a: np.broadcast_to(a[:1, :1, :1], (8, 1, 1)), lambda a: a[::2, :1, :1]])
def test_operands_whose_elements_are_not_adjacent(apart):
    """As of an expanded weight, and of the gradient of a sum: one dimension, with steps between its elements."""
    geometry, x, w, y = Geometry((1,), (0,), (1,)), numbers(1, 1, 4), numbers(16, 4, 1), numbers(16, 4, 1)
    g = lambda y: np.broadcast_to(apart(y).swapaxes(0, 1), (1, 8, 4))
    there = [to_device(a) for a in (x, w, y)]
    same(Conv.impl(there[0], apart(there[1]), geometry), Conv.impl(x, apart(w), geometry))
    same(ConvInput.impl(g(there[2]), apart(there[1]), (4,), geometry), ConvInput.impl(g(y), apart(w), (4,), geometry))
    same(ConvWeight.impl(g(there[2]), there[0], (1,), geometry), ConvWeight.impl(g(y), x, (1,), geometry))


def test_places_behind_the_last_window_get_zeros():
    """output_padding adds these places to a transposed convolution."""
    y, w, geometry = numbers(1, 2, 3), numbers(2, 1, 2), Geometry((3,), (0,), (1,))
    same(ConvInput.impl(to_device(y), to_device(w), (10,), geometry), ConvInput.impl(y, w, (10,), geometry))


def test_tables_of_meta_arrays_are_not_kept_for_a_device():
    x, w = minigrad.ones(1, 2, 5, 7), minigrad.ones(3, 2, 2, 3)
    minigrad.nn.functional.conv2d(x.to("meta"), w.to("meta"))
    found = minigrad.nn.functional.conv2d(x.cuda(), w.cuda())
    assert found.cpu().equal(minigrad.full((1, 3, 4, 5), 12.0))


def test_tables_are_made_once_for_a_shape():
    x, w, geometry = to_device(numbers(1, 1, 4)), to_device(numbers(1, 1, 2)), Geometry((1,), (0,), (1,))
    conv_cuda.forward(x, w, None, (3,), geometry)
    made = conv_cuda.kept_offsets.cache_info().misses
    conv_cuda.forward(x, w, None, (3,), geometry)
    assert conv_cuda.kept_offsets.cache_info().misses == made
