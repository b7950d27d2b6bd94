"""The conversions between float16 and float32 give NumPy's bits for all numbers of float16 and for those around them."""

import numpy as np
import pytest

from minigrad.arrays.dtypes import F2, F4
from minigrad.kernels.cpu import half_casts

ALL = np.arange(1 << 16, dtype=np.uint16).view(F2)


def same(found, expected):
    """Return True for equal bits, and a NaN where a NaN is expected."""
    bits = f"u{found.itemsize}"
    return np.all((found.view(bits) == expected.view(bits)) | np.isnan(found) & np.isnan(expected))


@pytest.mark.filterwarnings("ignore")
def test_all_numbers_and_their_neighbours():
    wide = ALL.astype(F4)
    assert same(half_casts.by_bits("widen", ALL, F4), wide)
    middle = ((wide.astype(float) + np.roll(wide, -1)) / 2).astype(F4)  # rounded to the even one of two
    above, below = (np.nextafter(middle, np.float32(limit)) for limit in (np.inf, -np.inf))
    random = np.random.default_rng(0).integers(0, 1 << 32, 1 << 16, np.uint32).view(F4)
    for numbers in (wide, middle, above, below, random):
        assert same(half_casts.by_bits("narrow", numbers, F2), numbers.astype(F2))


@pytest.mark.filterwarnings("error")
def test_large_numbers_become_infinities_without_a_warning():
    x = np.full(half_casts.CAST_FROM, -65520, F4)
    assert np.all(half_casts.by_bits("narrow", x, F2) == -np.inf)


def test_memory_order_and_other_dtypes():
    x = np.arange(90.0 * 91).reshape(90, 91).astype(F2)
    for a in (x, x.T, x[:, ::2], x[None]):
        found = half_casts.cast(a, F4)
        assert found.strides == a.astype(F4).strides and np.array_equal(found, a.astype(F4))
    assert half_casts.cast(x, np.dtype(int)).dtype == int
