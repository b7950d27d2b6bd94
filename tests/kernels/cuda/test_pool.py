"""Pooling on the device: exactly that of the processor."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigrad.kernels.cuda import pool_cuda as there
from minigrad.kernels.cuda.device_array import to_device
from minigrad.ops.nn.pool import MaxPool, SpreadWindows, WindowSum
from minigrad.ops.windows import count

random = np.random.default_rng(0)


def same(found, expected):
    for a, b in zip(
        found if isinstance(found, tuple) else (found,), expected if isinstance(expected, tuple) else (expected,)
    ):
        assert a.dtype == b.dtype and np.array_equal(a.to_host(), b, equal_nan=a.dtype.kind == "f")


@st.composite
def windows(draw):
    """Shape, kernel, stride, padding and dilation of windows that fit."""
    n = draw(st.integers(1, 2))
    each = lambda low, high: tuple(draw(st.integers(low, high)) for _ in range(n))
    kernel, stride, dilation = each(1, 3), each(1, 3), each(1, 2)
    padding = tuple(draw(st.integers(0, k // 2)) for k in kernel)
    size = tuple(
        max(1, d * (k - 1) + 1 - 2 * p) + draw(st.integers(0, 3)) for k, p, d in zip(kernel, padding, dilation)
    )
    return (2, *size), kernel, stride, padding, dilation


@settings(max_examples=40)
@given(windows(), st.booleans(), st.sampled_from([np.float32, np.float64, np.int64]))
def test_the_largest_elements_and_their_places(given_windows, ceil, dtype):
    shape, kernel, stride, padding, dilation = given_windows
    number = tuple(count(*s, ceil) for s in zip(shape[1:], kernel, stride, padding, dilation))
    x = random.integers(-3, 4, shape).astype(dtype)  # many are equal
    expected = MaxPool.impl(x, kernel, stride, padding, dilation, number)
    found = MaxPool.impl(to_device(x), kernel, stride, padding, dilation, number)
    same(found, expected)


@settings(max_examples=40)
@given(windows(), st.booleans())
def test_sums_of_windows_and_their_transpose(given_windows, ceil):
    shape, kernel, stride, padding, _ = given_windows
    number = tuple(count(m, k, s, p, 1, ceil) for m, k, s, p in zip(shape[1:], kernel, stride, padding))
    x, g = random.integers(-9, 10, shape).astype(np.float64), random.integers(-9, 10, (2, *number)).astype(np.float64)
    same(
        WindowSum.impl(to_device(x), kernel, stride, padding, number),
        WindowSum.impl(x, kernel, stride, padding, number),
    )
    same(SpreadWindows.impl(to_device(g), shape[1:], kernel, stride, padding),
         SpreadWindows.impl(g, shape[1:], kernel, stride, padding))  # fmt: skip


def test_nan_is_the_largest_and_the_last_counts():
    x = np.array([[1.0, np.nan, 3.0, np.nan, 5.0, -np.inf]])
    same(MaxPool.impl(to_device(x), (3,), (3,), (0,), (1,), (2,)), MaxPool.impl(x, (3,), (3,), (0,), (1,), (2,)))


def test_gradients_of_windows_that_overlap_are_added_at_one_place():
    g, place = np.array([[1.0, 2.0, 4.0]]), np.array([[1, 1, 3]])
    assert there.put(to_device(g), to_device(place), (1, 4), 1).to_host().tolist() == [[0, 3, 0, 4]]


@pytest.mark.parametrize("shape", [(0, 4), (2, 0, 4)])
def test_of_no_images(shape):
    best, place = MaxPool.impl(to_device(np.zeros(shape)), (2,), (2,), (0,), (1,), (2,))
    assert best.shape == place.shape == (*shape[:-1], 2)
    assert WindowSum.impl(to_device(np.zeros(shape)), (2,), (2,), (0,), (2,)).shape == (*shape[:-1], 2)


def test_images_in_any_order_in_memory():
    x = random.standard_normal((4, 3, 2))
    same(MaxPool.impl(to_device(x).T, (2, 2), (1, 1), (0, 0), (1, 1), (2, 3)),
         MaxPool.impl(x.T, (2, 2), (1, 1), (0, 0), (1, 1), (2, 3)))  # fmt: skip
