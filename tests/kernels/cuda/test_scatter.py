"""Combining at places that may be repeated, and what is counted so."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigrad.kernels.cuda import indexing, scatter
from minigrad.kernels.cuda.device_array import to_device

random = np.random.default_rng(0)
UFUNCS = (np.add, np.multiply, np.maximum, np.minimum)
DTYPES = ("float16", "float32", "float64", "int64", "int32", "int16", "int8", "uint8", "bool")


def combine(ufunc, x, index, values):
    """ufunc.at(x, index, values) on the device."""
    places = lambda x: indexing.selected(x, (0,), (to_device(index),))
    scatter.combine(ufunc.__name__, x, places, to_device(values))


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 40])
def test_at_repeated_places(ufunc, dtype, n):
    x, values = (np.abs(random.standard_normal((m, 2))) * 3 for m in (5, n))
    x, values, index = x.astype(dtype), values.astype(dtype), random.integers(-5, 5, n)
    found = to_device(x)
    combine(ufunc, found, index, values)
    ufunc.at(x, index, values)
    assert found.dtype == x.dtype
    np.testing.assert_allclose(found.to_host(), x, 1e-2 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum], ids=lambda u: u.__name__)
def test_nan_stays(ufunc):
    x, values, index = np.array([1.0, np.nan, 2.0, 0.0]), np.array([np.nan, 5.0, 3.0, -1.0]), np.array([0, 1, 2, 2])
    found = to_device(x)
    combine(ufunc, found, index, values)
    with np.errstate(invalid="ignore"):
        ufunc.at(x, index, values)
    np.testing.assert_array_equal(found.to_host(), x)


@given(st.sampled_from(["add", "multiply", "maximum", "minimum"]), st.integers(0, 1), st.booleans())
@settings(max_examples=20)
def test_along_a_dimension(how, dim, strided):
    x, index = random.standard_normal((4, 6)), random.integers(0, 4, (3, 4))
    src = random.standard_normal((4, 3)).T if strided else random.standard_normal((3, 4))
    found = to_device(x)
    assert scatter.scatter(found, dim, to_device(index), to_device(src), how)
    others = np.arange(index.shape[1 - dim]).reshape((-1, 1) if dim else (1, -1))
    getattr(np, how).at(x, (others, index) if dim else (index, others), src)
    np.testing.assert_allclose(found.to_host(), x)


def test_writing_along_a_dimension():
    x, index = np.zeros((3, 4)), np.array([[2, 0, 1, 2]])
    found = to_device(x)
    assert scatter.scatter(found, 0, to_device(index), 1.5, "write")
    np.put_along_axis(x, index, 1.5, 0)
    np.testing.assert_array_equal(found.to_host(), x)


def test_slices_are_added():
    x, index, rows = np.zeros((2, 5, 3), np.float32), np.array([[1, -1], [1, 4]]), random.standard_normal((2, 2, 2, 3))
    found = to_device(x)
    assert scatter.add(found, (1,), (to_device(index),), to_device(rows.astype(np.float32)), known=True)
    np.add.at(x, (slice(None), index), rows.astype(np.float32))
    np.testing.assert_allclose(found.to_host(), x, 1e-6)
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 1 with size 5"):
        scatter.add(found, (1,), (to_device(np.array([5])),), to_device(np.ones((2, 1, 3), np.float32)), known=False)


def test_counting():
    x, weights = random.integers(0, 6, 30), random.standard_normal(30)
    np.testing.assert_array_equal(np.bincount(to_device(x)).to_host(), np.bincount(x))
    np.testing.assert_array_equal(np.bincount(to_device(x), minlength=9).to_host(), np.bincount(x, minlength=9))
    np.testing.assert_allclose(np.bincount(to_device(x), to_device(weights)).to_host(), np.bincount(x, weights))
    np.testing.assert_array_equal(np.bincount(to_device(x[:0]), minlength=2).to_host(), [0, 0])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_histogram(dtype):
    x = np.concatenate([random.standard_normal(50), np.linspace(-1, 1, 11), [np.nan, np.inf]]).astype(dtype)
    for bins in (1, 7, 10):
        here, edges = np.histogram(x, bins, (-1.0, 1.0))
        found, theirs = np.histogram(to_device(x), bins, (-1.0, 1.0))
        np.testing.assert_array_equal(found.to_host(), here)
        np.testing.assert_array_equal(theirs, edges)
