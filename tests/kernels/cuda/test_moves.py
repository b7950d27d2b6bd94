"""Elements moved as they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigrad.kernels.cuda import moves_cuda
from minigrad.kernels.cuda.device_array import empty, to_device

random = np.random.default_rng(0)


def same(found, here):
    """Check that the device gives the same as NumPy."""
    assert (found.dtype, found.shape) == (here.dtype, here.shape)
    np.testing.assert_array_equal(found.to_host(), here)


@given(st.permutations(range(3)), st.tuples(st.integers(0, 3), st.integers(1, 20), st.integers(1, 20)),
       st.sampled_from(["float32", "float64", "uint8", "bool", "int16"]))  # fmt: skip
@settings(max_examples=40)
def test_transposed_copies(order, shape, dtype):
    x = (random.standard_normal(shape) * 9).astype(np.int8).astype(dtype)
    same(to_device(x).transpose(order).copy(), x.transpose(order).copy())
    target = empty(tuple([shape[d] for d in order])[::-1], dtype)
    target.T[...] = to_device(x).transpose(order)
    same(target.T, x.transpose(order))


def test_only_what_is_transposed_goes_by_tiles():
    x, out = to_device(random.standard_normal((2, 16, 24))), empty((2, 24, 16), np.float64)
    assert moves_cuda.transpose(out, x.transpose(0, 2, 1))
    assert not moves_cuda.transpose(empty(x.shape, np.float64), x)
    assert not moves_cuda.transpose(empty((24, 2, 1), np.float64), x[:, :1].transpose(2, 0, 1))  # tiles nearly empty


@pytest.mark.parametrize("diagonal", [-9, -1, 0, 2, 9])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 5), (0, 3), (1, 1)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "bool"])
def test_triangles(shape, diagonal, dtype):
    x = random.standard_normal(shape).astype(dtype)
    same(np.tril(to_device(x), diagonal), np.tril(x, diagonal))
    same(np.triu(to_device(x.swapaxes(-1, -2)), diagonal), np.triu(x.swapaxes(-1, -2), diagonal))


@pytest.mark.parametrize("shift, axis", [(-2, 0), (7, 1), ((1, 2), (0, 1)), ((1, 1), (0, 0)), (0, 1)])
def test_rolls(shift, axis):
    for x in (random.standard_normal((3, 4)), np.zeros((0, 2)), random.standard_normal((4, 3)).T):
        same(np.roll(to_device(x), shift, axis), np.roll(x, shift, axis))


def test_repeated_elements():
    x = random.standard_normal((2, 3))
    for repeats, axis in ((2, None), (2, 0), (0, 1), ([1, 0, 3], 1), ([2, 1], 0)):
        numbers = to_device(np.array(repeats)) if isinstance(repeats, list) else repeats
        same(np.repeat(to_device(x), numbers, axis), np.repeat(x, repeats, axis))


def test_conversions_cut_off_what_does_not_fit():
    x = np.array([300, -300, 7])
    for dtype in ("int8", "uint8", "int16", "bool", "float32"):
        same(to_device(x).astype(dtype), x.astype(dtype))


def test_copies_where_a_mask_holds():
    x, mask = random.standard_normal((3, 4)), random.random((3, 1)) < 0.5
    for value in (2, x[::-1], np.array(3.5), np.arange(4)):
        here, found = x.copy(), to_device(x)
        np.copyto(here, value, where=mask)
        np.copyto(found, to_device(value) if isinstance(value, np.ndarray) else value, where=to_device(mask))
        same(found, here)
    found = to_device(x)
    np.copyto(found, found[::-1], where=to_device(mask))
    np.copyto(x, x[::-1].copy(), where=mask)
    same(found, x)
