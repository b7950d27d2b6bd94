"""The product on the device equals NumPy's for operands in every memory layout."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigrad.kernels.cuda import matmul_cuda, simulator
from minigrad.kernels.cuda.device_array import to_device
from minigrad.kernels.cuda.watch import watch

random = np.random.default_rng(0)


def numbers(shape, dtype=np.float64):
    """Return small whole numbers, whose products are exact in every dtype and order."""
    return random.integers(-9, 10, shape).astype(dtype)


def check(x, y, x_there=None, y_there=None):
    """Check that np.matmul gives the same for arrays and for their copies on the device."""
    there = np.matmul(to_device(x) if x_there is None else x_there, to_device(y) if y_there is None else y_there)
    expected = np.matmul(x, y)
    assert there.dtype == expected.dtype and there.shape == expected.shape
    assert np.array_equal(there.to_host(), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "int8"])
@pytest.mark.parametrize(
    "x, y",
    [((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 1, 2, 3), (4, 3, 2)),
     ((1, 1), (1, 1)), ((8, 4), (4, 8)), ((9, 5), (5, 17)), ((3,), (2, 3, 2)), ((2, 3, 2), (2,))],
)  # fmt: skip
def test_products_of_all_ranks(x, y, dtype):
    check(numbers(x, dtype), numbers(y, dtype))


@pytest.mark.parametrize(
    "x, y", [((2, 0), (0, 3)), ((0, 2), (2, 3)), ((2, 3), (3, 0)), ((0, 2, 3), (3, 2)), ((0,), (0,))]
)
def test_products_of_nothing(x, y):
    check(numbers(x), numbers(y))


@settings(max_examples=30)
@given(
    st.integers(1, 19),
    st.integers(1, 19),
    st.integers(1, 19),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["f4", "f8"]),
)
def test_every_size_and_order(m, k, n, x_turned, y_turned, dtype):
    """Tiles that stick out, vector loads where they fit, operands that are read transposed."""
    x, y = numbers((k, m) if x_turned else (m, k), dtype), numbers((n, k) if y_turned else (k, n), dtype)
    x_there, y_there = to_device(x), to_device(y)
    turn = lambda a, turned: a.T if turned else a
    check(turn(x, x_turned), turn(y, y_turned), turn(x_there, x_turned), turn(y_there, y_turned))


def test_views_are_read_where_they_lie():
    x, y = numbers((6, 8)), numbers((2, 5, 4, 3))
    there, batch = to_device(x), to_device(y)
    for index in (np.s_[::2, 1:], np.s_[::-1, :], np.s_[1:4, ::3], np.s_[:, 2:6]):
        check(x[index], x[index].T, there[index], there[index].T)
    turned = y.transpose(0, 2, 1, 3)
    check(turned, turned.swapaxes(-1, -2), batch.transpose(0, 2, 1, 3), batch.transpose(0, 2, 1, 3).swapaxes(-1, -2))
    repeated = np.broadcast_to(x, (3, 6, 8))
    check(repeated, x.T, np.broadcast_to(there, (3, 6, 8)), there.T)


def test_batches_of_three_dimensions_that_cannot_be_joined():
    check(numbers((2, 1, 2, 3, 4)), numbers((1, 3, 1, 4, 2)))


def test_few_columns_are_computed_as_few_rows():
    check(numbers((40, 9)), numbers((9, 3)))


def test_long_sums_are_shared_among_blocks():
    check(numbers((3, 100)), numbers((100, 5)))
    check(numbers((2, 3, 50)), numbers((2, 50, 4)))


def test_dtypes_are_promoted_as_numpy_does():
    check(numbers((2, 3), "float32"), numbers((3, 2), "int64"))


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"\(2, 3\) and \(2, 3\)"):
        np.matmul(to_device(numbers((2, 3))), to_device(numbers((2, 3))))


@pytest.mark.skipif(not simulator.SIMULATED, reason="threads are watched in the simulator alone")
def test_threads_wait_for_each_other_where_they_have_to():
    with watch() as trace:
        check(numbers((9, 13)), numbers((13, 10)))
    assert not any(launch.races for launch in trace.launches)


def test_nan_and_infinity_stay_in_their_rows():
    x, y = numbers((9, 5)), numbers((5, 9))
    x[3, 1], y[2, 7] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        assert np.array_equal(np.matmul(to_device(x), to_device(y)).to_host(), x @ y, equal_nan=True)


def test_vector_loads_only_where_all_groups_begin_at_a_multiple():
    def width(there, rows, columns):
        return matmul_cuda.vector(matmul_cuda.matrices(there, 0, 0), there.dtype, rows, columns)

    there = to_device(numbers((8, 8), "float32"))
    assert width(there, 8, 8) == 4 and width(there.T, 8, 8) == 4
    assert width(there[:, 1:5], 8, 4) == 1  # begins in the middle
    assert width(there[:, :6], 8, 6) == 1  # ends there
    assert width(to_device(numbers((8, 6), "float32")), 8, 6) == 1
    assert width(to_device(numbers((8, 8))), 8, 8) == 2
    assert width(to_device(numbers((8, 8), "int64")), 8, 8) == 1


def test_large_products_have_large_tiles(monkeypatch):
    monkeypatch.setattr(matmul_cuda.simulator, "SMALL", False)
    float32 = np.dtype("float32")
    assert matmul_cuda.chosen_tile(float32, 4096, 4096, 1) is matmul_cuda.LARGE
    assert matmul_cuda.chosen_tile(np.dtype("float64"), 4096, 4096, 1) is matmul_cuda.MEDIUM
    assert matmul_cuda.chosen_tile(float32, 100, 100, 1) is matmul_cuda.MEDIUM
    assert matmul_cuda.chosen_tile(float32, 1, 4096, 1) is matmul_cuda.FLAT
    assert matmul_cuda.chosen_tile(float32, 64, 100352, 1) is matmul_cuda.WIDE
    for tile in (*matmul_cuda.tiles(float32), matmul_cuda.SMALL):
        assert tile.threads <= 256 and tile.m % tile.thread_m == 0 == tile.n % tile.thread_n


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "int8"])
@pytest.mark.parametrize("along_k", [(True, True), (True, False), (False, True), (False, False)])
def test_the_tiles_of_a_dtype_fit_into_shared_memory(dtype, along_k):
    dtype = np.dtype(dtype)
    for tile in matmul_cuda.tiles(dtype):
        text = matmul_cuda.text(dtype, tile, along_k=along_k, vectors=(1, 1))
        sizes = re.search(r"X_SHARED, Y_SHARED = (\d+), (\d+), 2 \* (\d+), 2 \* (\d+)", text)
        assert 2 * dtype.itemsize * (int(sizes[3]) + int(sizes[4])) <= 48 << 10, tile


@pytest.mark.parametrize(
    "tile", [matmul_cuda.Tile(16, 16, 8, 4, 4), matmul_cuda.Tile(8, 32, 16, 2, 4), matmul_cuda.Tile(4, 4, 4, 4, 4)]
)
def test_tiles_of_other_sizes(tile, monkeypatch):
    """The shapes of a GPU's tiles: groups of four rows and columns, more than one group, tiles that are not square."""
    monkeypatch.setattr(matmul_cuda, "SMALL", tile)
    for dtype in ("float32", "float64"):
        check(numbers((20, 12), dtype), numbers((12, 36), dtype))
        x, y = numbers((20, 33), dtype), numbers((33, 8), dtype)
        check(x, y)
        check(y.T, x.T, to_device(y).T, to_device(x).T)


def test_threads_beyond_the_end_affect_no_element():
    """They read the last row or column again."""
    x, y = numbers((9, 5)), numbers((5, 11))
    x[8], y[:, 10] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        expected = x @ y
    assert np.array_equal(np.matmul(to_device(x), to_device(y)).to_host(), expected, equal_nan=True)
