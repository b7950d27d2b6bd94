"""Sorting on the device: stable, NaN last, of rows shorter and longer than a tile."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigrad.kernels.cuda import radix, sorting
from minigrad.kernels.cuda.device_array import empty, to_device

random = np.random.default_rng(0)
LONG_KEYS = ("float32", "float64", "int64")  # each digit of a key takes a pass
DTYPES = ("float16", "float32", "float64", "int64", "int32", "uint8", "bool")


def numbers(shape, dtype):
    """Return numbers of which many are equal, and some are NaN."""
    x = (random.standard_normal(shape) * 3).round()
    x = np.abs(x).astype(dtype) if dtype == "uint8" else x.astype(dtype)
    if x.dtype.kind == "f":
        x[random.random(shape) < 0.1] = np.nan
    return x


def descending(x, dim):
    """Return the places of a stable sort, largest first."""
    return x.shape[dim] - 1 - np.flip(np.argsort(np.flip(x, dim), dim, kind="stable"), dim)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape, dim", [((5,), 0), ((3, 1), 1), ((0, 3), 0), ((2, 0), 1), ((7, 31), 1), ((70, 2), 0), ((2, 3, 33), -1)]
)
def test_sorting(shape, dim, dtype):
    x = numbers(shape, dtype)
    there = to_device(x)
    for found, here in (
        (np.sort(there, dim), np.sort(x, dim)),
        (np.argsort(there, dim), np.argsort(x, dim, kind="stable")),
    ):
        assert found.dtype == here.dtype and found.flags.c_contiguous
        np.testing.assert_array_equal(found.to_host(), here)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dtype", [*(pytest.param(d, marks=pytest.mark.slow) for d in LONG_KEYS), "int8", "uint8"])
def test_long_rows_are_sorted_by_their_digits(dtype, largest):
    """Signs, infinities, zeros of both signs, and tiles that are not full."""
    for n in (sorting.LONG, sorting.LONG + 1, sorting.LONG + 200):
        x = numbers((2, n), dtype)
        if x.dtype.kind == "f":
            x[:, 3:40:4], x[:, 7:90:8], x[0, ::9] = -0.0, np.inf, -np.inf
            x[:, 5::31] *= random.random()
        else:
            limits = np.iinfo(dtype)
            x[:, :2] = limits.min, limits.max
        places = descending(x, 1) if largest else np.argsort(x, 1, kind="stable")
        values, found = sorting.ordered(to_device(x), largest)
        np.testing.assert_array_equal(found.to_host(), places)
        expected = np.take_along_axis(x, places, 1)
        np.testing.assert_array_equal(values.to_host(), expected)
        if x.dtype.kind == "f":
            known = expected == expected
            assert np.array_equal(np.signbit(values.to_host())[known], np.signbit(expected)[known])


def test_places_beyond_32_bits(monkeypatch):
    x = numbers((1, 300), "float32")
    module = radix.module
    monkeypatch.setattr(radix, "module", lambda dtype, place, descending: module(dtype, "int64", descending))
    monkeypatch.setattr(radix, "empty", lambda shape, dtype: empty(shape, "int64" if dtype == "int32" else dtype))
    np.testing.assert_array_equal(radix.ordered(to_device(x), False)[1].to_host(), np.argsort(x, 1, kind="stable"))


@given(st.integers(1, 150), st.integers(1, 3), st.booleans(), st.data())
@settings(max_examples=25)
def test_the_first(n, rows, largest, data):
    k, x = data.draw(st.integers(0, n)), numbers((rows, n), "float32")
    here = (descending(x, 1) if largest else np.argsort(x, 1, kind="stable"))[:, :k]
    np.testing.assert_array_equal(sorting.top(to_device(x), k, 1, largest).to_host(), here)
    np.testing.assert_array_equal(sorting.top(to_device(x).T, k, 0, largest).to_host(), here.T)


def test_partitions_are_sorted():
    x = numbers((3, 40), "float64")
    np.testing.assert_array_equal(np.argpartition(to_device(x), 4, 1).to_host(), np.argsort(x, 1, kind="stable"))
