"""Indices that are arrays: NumPy's own results, of elements read and written, and its errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigrad.kernels.cuda import indexing
from minigrad.kernels.cuda.device_array import DeviceArray, to_device

random = np.random.default_rng(0)
X = random.standard_normal((3, 4, 2, 5))
I, J = np.array([[0, -1], [1, 1]]), np.array([1, 0])
MASK = random.random((3, 4)) < 0.5
INDICES = [
    (I,), (slice(None), I), (I, I), (slice(None), I, J), (I, slice(None), J), (..., I), (None, I, ..., None),
    (slice(1, None), I, slice(None), slice(None, None, 2)), (1, I), (I, 1), (slice(None), I, slice(None), 1), (I, None, J),
    (MASK,), (MASK, slice(None), 1), (slice(None), MASK[0], J[:1]), (True,), (False,), ([0, 2],), (np.zeros((2, 0), int),),
    (np.array(1), slice(None), J), (J.astype(np.int32), ..., J.astype(np.uint8)),
]  # fmt: skip


def there(index):
    """Return an index with its arrays on the device."""
    return tuple([to_device(i) if isinstance(i, np.ndarray) else i for i in index])


def same(here, found):
    """Check that the device gives the same as NumPy."""
    assert type(found) is DeviceArray
    assert (here.dtype, here.shape) == (found.dtype, found.shape)
    np.testing.assert_array_equal(found.to_host(), here)


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_reading(index):
    same(X[index], to_device(X)[there(index)])
    same(X[index], to_device(X)[index])  # indices of the computer's memory are copied


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("dtype", ["float16", "float32", "bool"])
def test_writing(index, dtype):
    x = X.astype(dtype)
    for value in (1, x[index][..., ::-1].copy()):
        here, found = x.copy(), to_device(x)
        here[index] = value
        found[there(index)] = to_device(value) if isinstance(value, np.ndarray) else value
        if not (index is INDICES[0] or index is INDICES[2]):  # where places are repeated, any of the values may stay
            same(here, found)
        assert np.isin(found.to_host(), [*x.reshape(-1), 1]).all()


@pytest.mark.parametrize("layout", [lambda a: a.T, lambda a: a[:, ::2], lambda a: a[::-1], lambda a: a[:1] + 0 * a])
def test_any_layout(layout):
    x = layout(X)
    same(x[I % 2, :, J], layout(to_device(X))[to_device(I % 2), :, to_device(J)])


@pytest.mark.parametrize(
    "index",
    [(np.array([0, 3]),), (np.array([-4]),), (J, np.array([4, 0])), (slice(None), slice(2), I, np.array([7, 0]))],
)
def test_out_of_range_is_an_error(index):
    x = to_device(X)
    with pytest.raises(IndexError, match="out of bounds for dimension . with size"):
        x[there(index)]
    with pytest.raises(IndexError, match="out of bounds for dimension . with size"):
        x[there(index)] = 0.0
    with pytest.raises(IndexError, match="skip the empty tensor"):
        x[:0][there((J,))]
    with pytest.raises(IndexError, match="too many"):
        x[there((J,) * 5)]


@given(st.integers(0, 2), st.integers(0, 4), st.booleans())
@settings(max_examples=20)
def test_along_an_axis(axis, n, repeated):
    shape = [3, 4, 2]
    x, size = random.standard_normal(shape), [1 if repeated else m for m in shape]
    size[axis] = n
    index = random.integers(-shape[axis], shape[axis], size)
    same(np.take_along_axis(x, index, axis), np.take_along_axis(to_device(x), to_device(index), axis))
    same(np.take(x, index, axis), np.take(to_device(x), to_device(index), axis))
    here, found = x.copy(), to_device(x)
    np.put_along_axis(here, index, 7.0, axis)
    np.put_along_axis(found, to_device(index), 7.0, axis)
    same(here, found)


def test_what_kernels_of_places_ask_for():
    x, index = random.standard_normal((4, 3)), np.array([[0, 1], [3, 3]])
    same(np.take_along_axis(x[:, :2], index, 0), indexing.gather(to_device(x), 0, to_device(index)))
    assert indexing.slices(to_device(x), 0, to_device(np.array([-1])), False) is None
    same(x[[-1]], indexing.slices(to_device(x), 0, to_device(np.array([-1])), True))
    assert indexing.in_range(to_device(index), 4) and not indexing.in_range(to_device(index), 3)
    assert not indexing.in_range(to_device(-index), 4) and indexing.in_range(to_device(index[:0]), 0)
