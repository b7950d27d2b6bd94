"""Scans on the device: NumPy's, of rows and columns short and long, forwards and backwards."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigrad.kernels.cuda import scans_cuda
from minigrad.kernels.cuda.device_array import to_device

random = np.random.default_rng(0)
SHAPES = [
    ((0, 3), 0),
    ((0, 3), 1),
    ((1,), 0),
    ((40,), 0),
    ((3, 65), 1),
    ((300, 2), 0),
    ((2, 50, 3), 1),
    ((700,), 0),
    ((5, 2, 3), 2),
]
LONG = pytest.param((2, 1500), 1, marks=pytest.mark.slow)
UFUNCS = (np.add, np.multiply, np.maximum, np.minimum, np.logaddexp)


def close(found, here, tolerance=1e-6):
    """Check that the device gives the same as NumPy, in the same dtype."""
    assert found.dtype == here.dtype and found.shape == here.shape
    np.testing.assert_allclose(found.to_host(), here, tolerance, tolerance)


@pytest.mark.parametrize("shape, dim", [*SHAPES, LONG])
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_running(ufunc, shape, dim):
    x = random.standard_normal(shape)
    close(ufunc.accumulate(to_device(x), axis=dim), ufunc.accumulate(x, axis=dim))
    backwards = np.flip(ufunc.accumulate(np.flip(x, dim), axis=dim), dim)
    close(scans_cuda.running(ufunc, to_device(x), dim, reverse=True), backwards)


@pytest.mark.parametrize("dtype", ["float32", "int64", "int32", "uint8", "bool"])
def test_sums_of_any_dtype(dtype):
    x = random.integers(0, 3, (3, 40)).astype(dtype)
    close(np.cumsum(to_device(x), 1), np.cumsum(x, 1, None if dtype in ("float32", "int64") else np.int64))
    close(np.maximum.accumulate(to_device(x), axis=1), np.maximum.accumulate(x, axis=1))


def test_float32_is_summed_in_float64():
    x = np.full(500, 0.1, np.float32)
    close(np.cumsum(to_device(x)), np.cumsum(x, dtype=np.float64).astype(np.float32), 0)


@pytest.mark.parametrize("shape, dim", [*(s for s in SHAPES if s[0][s[1]]), LONG])
@pytest.mark.parametrize("dtype", ["float16", "float32", "int64", "bool"])
def test_extremes_and_their_places(shape, dim, dtype):
    x = random.integers(-3, 4, shape).astype(dtype)
    if dtype.startswith("float"):
        x[random.random(shape) < 0.02] = np.nan
    for ufunc in (np.maximum, np.minimum):
        values, places = scans_cuda.running_extreme(ufunc, to_device(x), dim)
        close(values, ufunc.accumulate(x, axis=dim))
        order = np.arange(shape[dim]).reshape((-1,) + (1,) * (len(shape) - dim - 1))
        latest = np.where((x == values.to_host()) | (x != x), order, 0)
        close(places, np.maximum.accumulate(latest, axis=dim))


@given(st.integers(1, 200), st.integers(1, 4), st.booleans())
@settings(max_examples=15)
def test_recurrence(n, width, reverse):
    a, b = random.uniform(-1, 1, (2, n, width)), random.standard_normal((2, n, width))
    here, last, order = np.empty(b.shape), np.zeros((2, width)), range(n)[:: -1 if reverse else 1]
    for i in order:
        here[:, i] = last = a[:, i] * last + b[:, i]
    close(scans_cuda.recurrence(to_device(a), to_device(b), 1, reverse), here)


def test_strided_operands():
    x = random.standard_normal((4, 3, 70))
    close(np.add.accumulate(to_device(x).transpose(2, 0, 1), axis=0), np.add.accumulate(x.transpose(2, 0, 1), axis=0))
    close(np.add.accumulate(to_device(x)[:, ::2, ::-1], axis=2), np.add.accumulate(x[:, ::2, ::-1], axis=2))


def test_differences():
    x = random.standard_normal(5)
    close(np.diff(to_device(x)), np.diff(x))
