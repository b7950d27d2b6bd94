"""Linear algebra of arrays on the device: NumPy's results, in NumPy's kinds of tuples."""

import numpy as np
import pytest

from minigrad.kernels.cuda.device_array import DeviceArray, to_device

random = np.random.default_rng(0)
a, b = random.standard_normal((2, 3, 3)) + 3 * np.eye(3), random.standard_normal((2, 3, 2))
symmetric = a @ a.swapaxes(-1, -2)


def check(function, *args):
    here, there = function(*args), function(*[to_device(x) if isinstance(x, np.ndarray) else x for x in args])
    assert type(there) is (type(here) if isinstance(here, tuple) else DeviceArray)
    for x, y in zip(*[r if isinstance(r, tuple) else (r,) for r in (here, there)]):
        assert type(y) is DeviceArray and y.dtype == x.dtype and np.allclose(x, y.to_host())
    return there


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "qr", "svd", "svdvals"])
def test_of_one_batch_of_matrices(name):
    check(getattr(np.linalg, name), a)
    check(getattr(np.linalg, name), a[0].astype(np.float32))


@pytest.mark.parametrize("name", ["cholesky", "eigh", "eigvalsh"])
def test_of_symmetric_matrices(name):
    check(getattr(np.linalg, name), symmetric)


def test_with_further_arguments():
    check(np.linalg.solve, a, b)
    check(np.linalg.qr, b, "r")
    check(np.linalg.svd, b, False)
    assert check(np.linalg.eigh, symmetric, "U").eigenvalues.shape == (2, 3)


def test_of_no_matrices():
    check(np.linalg.inv, np.zeros((0, 2, 2)))
    check(np.linalg.det, np.zeros((0, 0)))


def test_a_singular_matrix_is_refused():
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.inv(to_device(np.zeros((2, 2))))


def test_vector_products():
    x, y = random.standard_normal((2, 4, 3))
    check(np.vecdot, x, y)
    check(np.cross, x, y)
    there = np.cross(to_device(x.T), to_device(y.T), axis=0)
    assert np.allclose(there.to_host(), np.cross(x.T, y.T, axis=0))
