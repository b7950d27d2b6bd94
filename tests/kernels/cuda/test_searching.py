"""Searches on the device give NumPy's results."""

import numpy as np
import pytest

from minigrad.kernels.cuda import searching
from minigrad.kernels.cuda.device_array import to_device

random = np.random.default_rng(0)


def same(found, here):
    """Check that the device gives the same as NumPy."""
    assert (found.dtype, found.shape) == (here.dtype, here.shape)
    np.testing.assert_array_equal(found.to_host(), here)


MASKS = [
    random.integers(0, 2, (3, 4, 5)),
    random.integers(0, 2, (6, 4)).T,
    random.random(100) < 0.3,
    np.zeros((2, 3)),
    np.array([]),
    np.array(2.0),
    np.array(0),
]


@pytest.mark.parametrize("x", MASKS, ids=lambda x: str(x.shape))
def test_places_of_what_is_not_zero(x):
    same(np.argwhere(to_device(x)), np.argwhere(x))
    if x.ndim:
        for found, here in zip(np.nonzero(to_device(x)), np.nonzero(x)):
            same(found, here)
        same(np.flatnonzero(to_device(x)), np.flatnonzero(x))


@pytest.mark.parametrize("side", ["left", "right"])
def test_where_values_belong(side):
    a, v = np.sort(random.integers(0, 9, 20)), random.standard_normal((3, 4)) * 9
    same(np.searchsorted(to_device(a), to_device(v), side), np.searchsorted(a, v, side))
    same(np.searchsorted(to_device(a), a, side), np.searchsorted(a, a, side))
    known = np.array([1.0, 2.0, np.nan])
    same(np.searchsorted(to_device(known), to_device(known), side), np.searchsorted(known, known, side))
    same(searching.insertion_positions(to_device(a[:0]), to_device(v), True), np.zeros(v.shape, np.int64))
    rows, values = np.sort(random.standard_normal((2, 3, 5)), -1), random.standard_normal((2, 3, 4))
    here = [np.searchsorted(r, v, side) for r, v in zip(rows.reshape(6, 5), values.reshape(6, 4))]
    same(
        searching.insertion_positions(to_device(rows), to_device(values), side == "right"),
        np.stack(here).reshape(2, 3, 4),
    )


def test_membership():
    x = random.integers(0, 9, (3, 5))
    for tests in (np.array([1, 7, 1]), np.array([2.0, 2.5]), np.array([], int), np.array(3)):
        same(np.isin(to_device(x), tests), np.isin(x, tests))
        same(np.isin(to_device(x), to_device(tests)), np.isin(x, tests))


ASKED = {"return_inverse": True, "return_counts": True, "equal_nan": False}


@pytest.mark.parametrize("x", [random.integers(0, 4, 30), random.integers(0, 3, (4, 5)), np.zeros((0, 3)),
                               np.array([np.nan, 1.0, np.nan])], ids=lambda x: str(x.shape))  # fmt: skip
def test_different_elements(x):
    for found, here in zip(np.unique(to_device(x), axis=None, **ASKED), np.unique(x, **ASKED)):
        same(found, here)


def test_different_slices():
    x = random.integers(0, 2, (6, 2, 2))
    for axis in (0, 1):
        for found, here in zip(np.unique(to_device(x), axis=axis, **ASKED), np.unique(x, axis=axis, **ASKED)):
            same(found, here)
