"""Functions of the rank of a matrix: the pseudo-inverse and the rank itself.

Singular values up to max(atol, rtol * the largest) count as 0.  Source of the derivative: Golub and Pereyra, "The
differentiation of pseudo-inverses and nonlinear least squares problems", 1973.
"""

from __future__ import annotations

import numpy as np

from ..arrays.dtypes import finfo
from ..core.tensor import Tensor
from . import lapack
from .base.families import NonDifferentiable
from .base.registry import op
from .linalg import OfMatrices, guarded, matrices
from .products import linalg


class Pinv(OfMatrices):
    """The pseudo-inverse; singular values up to max(atol, rtol * the largest) count as 0."""

    call = lambda atol: "linalg.{name}(x, atol=atol, rtol=rtol)" if atol else "linalg.{name}(x, rtol=rtol)"
    node = "LinalgPinv"
    impl = lambda x, atol, rtol: pseudo_inverse(x, atol, rtol)
    dx = lambda g, x, out: pinv_gradient(g, x, out)


class MatrixRank(NonDifferentiable):
    """The number of singular values above max(atol, rtol * the largest)."""

    call = lambda atol: "linalg.{name}(x, atol=atol, rtol=rtol)" if atol else "linalg.{name}(x, rtol=rtol)"
    impl = lambda x, atol, rtol: above(guarded("linalg.matrix_rank", lapack.svdvals, x), atol, rtol).sum(-1)
    batch = lambda x, atol, rtol: (x, atol, rtol)


@linalg("T(4, 3)", "T(3, 4)", "T(2, 3, 3)", "T(3, 1) * T(1, 3)", "T(0, 3)", "T(3, 2), rtol=0.001")
def linalg_pinv(
    A: Tensor,
    rcond: float | None = None,
    hermitian: bool = False,
    *,
    atol: float | None = None,
    rtol: float | None = None,
) -> Tensor:
    """Return the Moore-Penrose pseudo-inverse of each matrix; singular values up to max(atol, rtol * the largest) count as 0.

    `rtol` defaults to max(m, n) * eps (0 if `atol` is given).  The derivative holds while the rank does not change.
    `hermitian` promises a symmetric A; the result is the same.
    """
    matrices("linalg.pinv", A)
    return Pinv.apply(A, *tolerances(A, atol, rcond if rtol is None else rtol))


@op("T(4, 3)", "T(3, 4), 0.001")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Return the pseudo-inverse (see linalg.pinv)."""
    return linalg_pinv(input, rtol=rcond)


@linalg("T(4, 3)", "T(2, 3, 1) * T(1, 4)", "T(3, 3), 0.5", differentiable=False)
def matrix_rank(
    A: Tensor,
    tol: float | None = None,
    hermitian: bool = False,
    *,
    atol: float | None = None,
    rtol: float | None = None,
) -> Tensor:
    """Return the rank of each matrix as int64: the number of singular values above max(atol, rtol * the largest).

    `rtol` defaults to max(m, n) * eps (0 if `atol` is given); `tol` is the older name of `atol`.
    """
    matrices("linalg.matrix_rank", A)
    return MatrixRank.apply(A, *tolerances(A, tol if atol is None else atol, rtol))


def tolerances(A: Tensor, atol: float | None, rtol: float | None) -> tuple:
    """Return (atol, rtol) with PyTorch's defaults."""
    if rtol is None:
        rtol = max(A.shape[-2:]) * finfo(A.dtype).eps if not atol else 0.0
    return 0.0 if atol is None else float(atol), float(rtol)


# ---------------------------------------------------------------------- on arrays, and the pull-back
def above(s: np.ndarray, atol: float, rtol: float) -> np.ndarray:
    """Return a mask of the singular values (descending) that count."""
    return s > np.maximum(s[..., :1] * rtol, np.asarray(atol, s.dtype)) if s.shape[-1] else s > 0


def pseudo_inverse(x: np.ndarray, atol: float, rtol: float) -> np.ndarray:
    """Return V diag(1/s) U^T over the singular values that count."""
    u, s, vh = guarded("linalg.pinv", lapack.svd, x, False)
    counts = above(s, atol, rtol)
    scale = np.where(counts, 1 / np.where(counts, s, 1), 0)
    return np.swapaxes(vh, -1, -2) @ (scale[..., None] * np.swapaxes(u, -1, -2))


def pinv_gradient(g: Tensor, a: Tensor, p: Tensor) -> Tensor:
    """Return -P^T g P^T + (I - A P) g^T P P^T + P^T P g^T (I - P A), expanded so that it needs no large identity."""
    left, right = g.mT @ (p @ p.mT), (p.mT @ p) @ g.mT
    return left - a @ (p @ left) + right - (right @ p) @ a - p.mT @ g @ p.mT
