"""Linear algebra of arrays on the device: NumPy's results, in NumPy's kinds of tuples."""

import contextlib
import sys
import types

import numpy as np
import pytest

from minigrad.kernels.cuda import linalg_cuda, machine, simulator
from minigrad.kernels.cuda.device_array import DeviceArray, to_device
from minigrad.kernels.cuda.numpy_protocol import OnAnotherDevice

random = np.random.default_rng(0)
a, b = random.standard_normal((2, 3, 3)) + 3 * np.eye(3), random.standard_normal((2, 3, 2))
symmetric = a @ a.swapaxes(-1, -2)


class CuPy:
    """CuPy's linear algebra over the simulator's memory: it knows less than NumPy's, and may choose other signs."""

    def __init__(self):
        self.linalg, self.cuda, self.broadcast_to = self, self, np.broadcast_to
        self.inv, self.det, self.cholesky, self.eigvalsh = [
            getattr(np.linalg, n) for n in ("inv", "det", "cholesky", "eigvalsh")
        ]

    def solve(self, a, b):
        if a.shape[:-1] != b.shape[:-1]:
            raise ValueError("a must have (..., M, M) shape and b must have (..., M, K) for multidimensional b")
        return np.linalg.solve(a, b)

    def slogdet(self, a):
        return tuple(np.linalg.slogdet(a))

    def qr(self, a, mode="reduced"):
        return np.linalg.qr(a, mode) if mode == "r" else tuple(np.linalg.qr(a, mode))

    def svd(self, a, full_matrices=True, compute_uv=True):
        if not compute_uv:
            return np.linalg.svd(a, compute_uv=False)
        u, s, vh = np.linalg.svd(a, full_matrices)
        return -u, s, -vh

    def eigh(self, a, UPLO="L"):
        values, vectors = np.linalg.eigh(a, UPLO)
        return values, -vectors

    UnownedMemory = MemoryPointer = staticmethod(lambda memory, *_: memory)  # an address
    get_current_stream = staticmethod(lambda: types.SimpleNamespace(synchronize=lambda: None))

    def ndarray(self, shape, dtype, address, strides):
        return machine.current().host(address, shape, dtype, strides)


@pytest.fixture(autouse=True, params=["without", "with"])
def library(request, monkeypatch):
    """Without CuPy and with it; a GPU has the one that is installed."""
    if request.param == "with":
        if not simulator.SIMULATED:
            pytest.skip("the installed library computes")
        found = CuPy()
        monkeypatch.setattr(linalg_cuda, "cupy", lambda: found)
        cupyx = types.SimpleNamespace(errstate=lambda **_: contextlib.nullcontext())
        monkeypatch.setitem(sys.modules, "cupyx", cupyx)


VECTORS = {
    np.linalg.eigh: {1: -2},
    np.linalg.svd: {0: -2, 2: -1},
}  # results with vectors, and the dimensions along these


def determined(function, found):
    """Return the results with vectors whose largest element is positive, because -v is an eigenvector as well as v."""
    results, along = found if isinstance(found, tuple) else (found,), VECTORS.get(function, {})
    return [positive(r, along[k]) if k in along else r for k, r in enumerate(results)]


def positive(vectors, dim):
    return vectors * np.sign(np.take_along_axis(vectors, np.argmax(abs(vectors), dim, keepdims=True), dim))


def check(function, *args):
    here, there = function(*args), function(*[to_device(x) if isinstance(x, np.ndarray) else x for x in args])
    assert type(there) is (type(here) if isinstance(here, tuple) else DeviceArray)
    for y in there if isinstance(there, tuple) else (there,):
        assert type(y) is DeviceArray
    host = type(there)(*[y.to_host() for y in there]) if isinstance(there, tuple) else there.to_host()
    for x, y in zip(determined(function, here), determined(function, host), strict=True):
        assert y.dtype == x.dtype and np.allclose(x, y)
    return there


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "qr", "svd", "svdvals"])
def test_of_one_batch_of_matrices(name):
    check(getattr(np.linalg, name), a)
    check(getattr(np.linalg, name), a[0].astype(np.float32))


@pytest.mark.parametrize("name", ["cholesky", "eigh", "eigvalsh"])
def test_of_symmetric_matrices(name):
    check(getattr(np.linalg, name), symmetric)


@pytest.mark.parametrize("right", [b, b[0], b[0, :, 0], b[:1], b[None]])
@pytest.mark.parametrize("left", [a, a[0]])
def test_equations_of_one_vector_or_of_matrices_that_are_broadcast(left, right):
    check(np.linalg.solve, left, right)


def test_arrays_in_main_memory_are_refused():
    with pytest.raises(OnAnotherDevice, match="linalg.solve"):
        np.linalg.solve(to_device(a), b)


def test_the_product_of_the_factors_is_the_matrix():
    u, s, vh = [x.to_host() for x in np.linalg.svd(to_device(b), False)]
    assert np.allclose(u * s[:, None] @ vh, b)
    values, vectors = [x.to_host() for x in np.linalg.eigh(to_device(symmetric))]
    assert np.allclose(vectors * values[:, None] @ vectors.swapaxes(-1, -2), symmetric)


def test_with_further_arguments():
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
