"""kernels/cpu/gemm.py against NumPy, for all layouts and sizes."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from numba import njit

from minigrad.kernels.cpu.gemm import product


@njit
def run(x, y, out):
    product(x, y, out)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("x_order", "y_order"), list(itertools.product("CF", repeat=2)))
def test_products_are_those_of_numpy(dtype, x_order, y_order):
    random = np.random.default_rng(0)
    for m, k, n in itertools.product([0, 1, 2, 7], repeat=3):
        x = np.asarray(random.standard_normal((m, k)), dtype, x_order)
        y = np.asarray(random.standard_normal((k, n)), dtype, y_order)
        out = np.full((m, n), np.nan, dtype)
        run(x, y, out)
        np.testing.assert_allclose(out, x @ y, 1e-5, 1e-5)


def test_nan_and_infinity_go_through():
    x, y = np.array([[np.nan, 1.0], [np.inf, 0.0]]), np.array([[1.0, 0.0], [2.0, 1.0]])
    out = np.empty((2, 2))
    run(x, y, out)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(out, x @ y)


@pytest.mark.parametrize("turn", [lambda a: a, lambda a: a.T])
def test_rows_and_columns_may_lie_apart(turn):
    random = np.random.default_rng(0)
    for m, k, n in itertools.product([0, 2, 7], repeat=3):
        x, y = turn(random.standard_normal((9, 3, 8))[:m, 1, :k]), turn(random.standard_normal((8, 2, 9))[:k, 0, :n])
        left, right = (x, y) if turn(x) is x else (y, x)
        out = np.empty((left.shape[0], right.shape[1]))
        run(left, right, out)
        np.testing.assert_allclose(out, left @ right, 1e-12, 1e-12)


def test_blas_alone_leaves_scipy_as_it_is():
    program = (
        "import sys; from minigrad.kernels import compiler; from minigrad.kernels.cpu import scipy_blas as blas; "
        "compiler.load_numba(); blas.load(); assert blas.module() is not None and 'scipy.linalg' not in sys.modules; "
        "import scipy.linalg; assert scipy.linalg.cython_blas.__pyx_capi__"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
