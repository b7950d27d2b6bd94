"""argmax and argmin: the first place of the extreme, of NaN before all, whatever the sizes, dtypes and layouts."""

import numpy as np
import pytest

from minigrad.kernels.cuda import kernel_modules, reductions_cuda
from minigrad.kernels.cuda.device_array import to_device

RANDOM = np.random.default_rng(0)
SHAPES = [
    ((7,), 0),
    ((7,), None),
    ((3, 40), 1),
    ((40, 3), 0),
    ((2, 5, 3), 1),
    ((2, 3, 4), None),
    ((3, 1), 1),
    ((0, 3), 1),
    ((), 0),
    ((), None),
]
DTYPES = ["float16", "float32", "float64", "uint8", "int32", "int64", "bool"]


def same(name, x, axis):
    for keepdims in (False, True):
        there = getattr(np, name)(to_device(x), axis, keepdims=keepdims)
        expected = getattr(np, name)(x, axis, keepdims=keepdims)
        assert there.dtype == np.int64 and there.shape == np.shape(expected)
        np.testing.assert_array_equal(there.to_host(), expected)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, axis", SHAPES)
def test_first_places(name, dtype, shape, axis):
    same(name, RANDOM.integers(0, 4, shape).astype(dtype), axis)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_nan_and_infinities(name, odd):
    x = RANDOM.standard_normal((3, 70)).astype(np.float32)
    x[1, [20, 40]] = odd
    x[2] = odd
    same(name, x, 1)
    same(name, x, None)
    same(name, np.where(x == 0, 0, -x).T, 0)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_smallest_and_largest_integers(name):
    limits = np.iinfo(np.int64)
    same(name, np.array([[limits.min] * 3, [limits.max] * 3, [limits.min, 0, limits.max]]), 1)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("shape, axis", [((300,), 0), ((2, 90), 1), ((90, 2), 0)])
def test_parts(name, shape, axis, monkeypatch):
    monkeypatch.setattr(reductions_cuda, "GRAIN", 2)
    same(name, RANDOM.integers(0, 3, shape).astype(np.float32), axis)


def test_elements_are_read_once(monkeypatch):
    seen, launched = [], kernel_modules.CudaKernel.launch
    x = to_device(RANDOM.standard_normal((4, 6)))

    def noted(kernel, grid, block, *args):
        seen.extend([kernel.name for a in args if getattr(a, "address", None) == x.address])
        return launched(kernel, grid, block, *args)

    monkeypatch.setattr(kernel_modules.CudaKernel, "launch", noted)
    np.argmax(x, 1)
    assert seen == ["argmax"]
