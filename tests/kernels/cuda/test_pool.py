"""Pooling on the device gives exactly the processor's results."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigrad.kernels.cuda import pool_cuda as there
from minigrad.kernels.cuda.device_array import to_device
from minigrad.ops.nn.pool_operations import AvgPool, EvenParts, MaxPool, Sliding, SpreadAvg
from minigrad.ops.windows import count

random = np.random.default_rng(0)


def same(found, expected):
    for a, b in zip(
        found if isinstance(found, tuple) else (found,), expected if isinstance(expected, tuple) else (expected,)
    ):
        assert a.dtype == b.dtype and np.array_equal(a.to_host(), b, equal_nan=a.dtype.kind == "f")


@st.composite
def shapes(draw):
    """Return windows that slide and fit, or even parts."""
    n = draw(st.integers(1, 3))
    each = lambda low, high: tuple(draw(st.integers(low, high)) for _ in range(n))
    if draw(st.booleans()):
        return EvenParts(each(1, 9), each(0, 11))
    kernel, stride, dilation = each(1, 3), each(1, 3), each(1, 2)
    padding = tuple(draw(st.integers(0, k // 2)) for k in kernel)
    size = tuple(
        max(1, d * (k - 1) + 1 - 2 * p) + draw(st.integers(0, 3)) for k, p, d in zip(kernel, padding, dilation)
    )
    ceil = draw(st.booleans())
    number = tuple(count(*s, ceil) for s in zip(size, kernel, stride, padding, dilation))
    return Sliding(size, number, kernel, stride, padding, dilation)


def row(size, number, kernel, stride):
    """Return windows of a row, without padding."""
    return Sliding((size,), (number,), (kernel,), (stride,), (0,), (1,))


@settings(max_examples=60)
@given(shapes(), st.sampled_from([np.float32, np.float64, np.int64]))
def test_the_largest_elements_and_their_places(shape, dtype):
    x = random.integers(-3, 4, (2, *shape.size)).astype(dtype)  # many are equal
    same(MaxPool.impl(to_device(x), shape), MaxPool.impl(x, shape))


@settings(max_examples=60)
@given(shapes(), st.booleans(), st.sampled_from([None, 1, 3]))
def test_means_of_windows_and_their_transpose(shape, count_pad, divisor):
    if isinstance(shape, Sliding):
        shape = shape._replace(dilation=(1,) * len(shape.size))
        shape = shape._replace(number=tuple(map(count, *shape[:1], *shape[2:])))
    x, g = (random.integers(-9, 10, (2, *n)).astype(np.float64) for n in (shape.size, shape.number))
    for f, a in ((AvgPool, x), (SpreadAvg, g)):
        found, expected = f.impl(to_device(a), shape, count_pad, divisor), f.impl(a, shape, count_pad, divisor)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.to_host(), expected, 1e-14, 1e-14)


def test_nan_is_the_largest_and_the_last_counts():
    x = np.array([[1.0, np.nan, 3.0, np.nan, 5.0, -np.inf]])
    same(MaxPool.impl(to_device(x), row(6, 2, 3, 3)), MaxPool.impl(x, row(6, 2, 3, 3)))


def test_gradients_of_windows_that_overlap_are_added_at_one_place():
    g, place = np.array([[1.0, 2.0, 4.0]]), np.array([[1, 1, 3]])
    assert there.put(to_device(g), to_device(place), (1, 4), 1).to_host().tolist() == [[0, 3, 0, 4]]


@pytest.mark.parametrize("shape", [(0, 4), (2, 0, 4)])
def test_of_no_images(shape):
    best, place = MaxPool.impl(to_device(np.zeros(shape)), row(4, 2, 2, 2))
    assert best.shape == place.shape == (*shape[:-1], 2)
    assert AvgPool.impl(to_device(np.zeros(shape)), row(4, 2, 2, 2), True, None).shape == (*shape[:-1], 2)


def test_images_in_any_order_in_memory():
    x = random.standard_normal((4, 3, 2))
    shape = Sliding((3, 4), (2, 3), (2, 2), (1, 1), (0, 0), (1, 1))
    same(MaxPool.impl(to_device(x).T, shape), MaxPool.impl(x.T, shape))
