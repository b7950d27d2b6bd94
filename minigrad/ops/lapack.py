"""LAPACK and BLAS for large matrices, through SciPy; small, empty and GPU matrices stay with NumPy.

NumPy's linear algebra always computes in float64.  Here float32 stays float32, as in PyTorch, which takes half the time.
Triangles are solved in blocks, mostly by matrix products: LAPACK's method takes twice as long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import numpy as np

from ..arrays.dtypes import F4, F8
from ..kernels.threads import limit_blas

LARGE = 64  # rows; below, the calls for each matrix take as long as the calculation
BLOCK = 64  # rows of a triangle to solve by BLAS: for 300 rows, 32 and 128 are slower


@cache
def library() -> Any:
    """Return SciPy's linear algebra, imported on first use, with its BLAS limited to the same number of threads as NumPy's."""
    import scipy.linalg

    limit_blas()
    return scipy.linalg


@cache
def routine(name: str, dtype: np.dtype) -> Any:
    """Return LAPACK's routine for matrices of a dtype, such as sgetrf or dgetrf."""
    return library().get_lapack_funcs((name,), dtype=dtype)[0]


def each_matrix(f: Callable, *args: Any) -> Any:
    """Call f on each matrix of a batch: matrices among the arguments are broadcast, the results stacked."""
    lead = np.broadcast_shapes(*[a.shape[:-2] for a in args if isinstance(a, np.ndarray)])
    if not lead:
        return f(*args)
    args = tuple([np.broadcast_to(a, lead + a.shape[-2:]) if isinstance(a, np.ndarray) else a for a in args])
    found = [f(*[a[i] if isinstance(a, np.ndarray) else a for a in args]) for i in np.ndindex(lead)]
    stacked = lambda parts: np.stack(parts).reshape(lead + parts[0].shape)
    return tuple(map(stacked, zip(*found))) if type(found[0]) is tuple else stacked(found)


def instead_of(numpys: Callable, *dtypes: np.dtype) -> Callable:
    """Replace NumPy's function, for large matrices of these dtypes, by a function of one matrix."""

    def enter(f: Callable) -> Callable:
        @wraps(f)
        def function(a: np.ndarray, *rest: Any) -> Any:
            here = all([type(x) is np.ndarray and x.size for x in (a, *rest) if isinstance(x, np.ndarray)])
            large = here and a.dtype in dtypes and min(a.shape[-2:]) >= LARGE
            return each_matrix(f, a, *rest) if large else numpys(a, *rest)

        return function

    return enter


# ---------------------------------------------------------------------- equations
def substituted(a: np.ndarray, b: np.ndarray, upper: bool, unit: bool) -> np.ndarray:
    """Return the solution X of A X = B for the upper, or lower, triangle A, with ones on its diagonal if `unit`."""
    trsm = library().blas.dtrsm if a.dtype == F8 else library().blas.strsm
    n, out = len(a), np.empty_like(b, order="C")
    for i in range(0, n, BLOCK)[:: -1 if upper else 1]:
        rows, known = slice(i, i + BLOCK), slice(i + BLOCK, n) if upper else slice(0, i)
        rest = b[rows] - a[rows, known] @ out[known]
        # BLAS is column-major and sees the transposes: X^T A^T = B^T
        out[rows] = trsm(1.0, a[rows, rows].T, rest.T, side=1, lower=upper, diag=unit, overwrite_b=1).T
    return out


def factored(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return LU of A^T with permuted rows, both triangles in one matrix, the permutation, and True if that is odd."""
    lu, pivots, _ = routine("getrf", a.dtype)(a.T)  # A^T is in the memory order of LAPACK
    order = list(range(len(a)))
    for i, k in enumerate(pivots.tolist()):
        order[i], order[k] = order[k], order[i]
    return lu, np.array(order), bool(np.count_nonzero(pivots != np.arange(len(a))) % 2)


def regular(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return LU and the row permutation of A^T; raise LinAlgError for a singular matrix."""
    lu, order, _ = factored(a)
    if not lu.diagonal().all():
        raise np.linalg.LinAlgError("Singular matrix")
    return lu, order


@instead_of(np.linalg.inv, F4, F8)
def inv(a: np.ndarray) -> np.ndarray:
    """Return the inverse."""
    lu, order = regular(a)
    rows = np.eye(len(a), dtype=a.dtype)[order]
    return substituted(lu, substituted(lu, rows, False, True), True, False).T


@instead_of(np.linalg.solve, F4, F8)
def solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the solution X of A X = B."""
    lu, order = regular(a)
    out = np.empty_like(b)
    out[order] = substituted(lu.T, substituted(lu.T, b, False, False), True, True)
    return out


@instead_of(np.linalg.det, F4)
def det(a: np.ndarray) -> np.float32:
    """Return the determinant."""
    lu, _, odd = factored(a)
    return np.float32(lu.diagonal().prod(dtype=F8) * (-1 if odd else 1))


@instead_of(np.linalg.slogdet, F4)
def slogdet(a: np.ndarray) -> tuple[np.float32, np.float32]:
    """Return the sign of the determinant and the logarithm of its absolute value."""
    lu, _, odd = factored(a)
    diagonal = lu.diagonal()
    sign = np.sign(diagonal).prod() * np.float32(-1 if odd else 1)
    return sign, np.float32(np.log(np.abs(diagonal), dtype=F8).sum())


# ---------------------------------------------------------------------- factors
def scipys(name: str, *args: Any, **kwargs: Any) -> Any:
    """Call a function of SciPy; return its results in row-major order, like NumPy's."""
    found = getattr(library(), name)(*args, check_finite=False, **kwargs)
    return tuple(map(np.ascontiguousarray, found)) if isinstance(found, tuple) else found


@instead_of(np.linalg.cholesky, F4, F8)
def cholesky(a: np.ndarray) -> np.ndarray:
    """Return the lower triangular Cholesky factor."""
    return scipys("cholesky", a, lower=True)


@instead_of(np.linalg.qr, F4)
def qr(a: np.ndarray, mode: str) -> Any:
    """Return Q and R, or R alone if the mode is "r"."""
    found = scipys("qr", a, mode="full" if mode == "complete" else "economic")
    return found[1] if mode == "r" else found


@instead_of(np.linalg.eigh, F4)
def eigh(a: np.ndarray, UPLO: str) -> Any:
    """Return eigenvalues and eigenvectors of a symmetric matrix."""
    return scipys("eigh", a, lower=UPLO == "L", driver="evd")


@instead_of(np.linalg.eigvalsh, F4)
def eigvalsh(a: np.ndarray, UPLO: str) -> np.ndarray:
    """Return the eigenvalues of a symmetric matrix."""
    return scipys("eigh", a, lower=UPLO == "L", driver="evd", eigvals_only=True)


@instead_of(np.linalg.svd, F4)
def svd(a: np.ndarray, full: bool) -> Any:
    """Return U, S and V^T."""
    return scipys("svd", a, full)


@instead_of(np.linalg.svdvals, F4)
def svdvals(a: np.ndarray) -> np.ndarray:
    """Return the singular values."""
    return scipys("svd", a, compute_uv=False)
