"""Decompositions: Cholesky, QR, eigenvalues of symmetric matrices, singular values.  Pseudo-inverse and rank: rank.py.

Each pull-back is a formula of the factors, which are tracked results: second derivatives follow.  Factors are unique only
up to signs, and their derivatives exist where eigenvalues (or singular values) differ.
Sources: PyTorch's FunctionsManual.cpp; Murray, "Differentiation of the Cholesky decomposition", 2016; Walter and
Lehmann, "Algorithmic differentiation of linear algebra functions", 2010.
"""

from __future__ import annotations

import numpy as np

from .. import return_types
from ..arrays.kinds import zeros
from ..core.tensor import Tensor
from ..return_types import QR, SVD, Eigen, SVDWithV
from . import lapack
from .base.layouts import column_major, wrap_near
from .base.registry import op
from .compare import where
from .create import eye
from .join import cat
from .linalg import OfMatrices, SolveTriangular, factor, guarded, matrices, solve_triangular, square, transposed_solve
from .products import linalg, refused


# ---------------------------------------------------------------------- the operations
class Cholesky(OfMatrices):
    """The lower triangular L with A = L L^T."""

    call = "linalg.cholesky(x)"
    layout = column_major
    node = "LinalgCholeskyEx"
    impl = lambda x: guarded("linalg.cholesky", factor, x)
    dx = lambda g, out: cholesky_gradient(g, out)


class Qr(OfMatrices):
    """Q and R, in one of NumPy's modes."""

    call = "linalg.qr(x, mode)"
    layout = column_major
    node = "LinalgQr"
    impl = lambda x, mode: factors(x, mode)
    dx = lambda g0, g1, out0, out1, mode: qr_gradient(g0, g1, out0, out1, mode)


class Eigh(OfMatrices):
    """Eigenvalues and eigenvectors of symmetric matrices; only one triangle is read."""

    call = "linalg.{name}(x, UPLO)"
    node = "LinalgEigh"
    impl = lambda x, UPLO: tuple(guarded("linalg.eigh", lapack.eigh, x, UPLO))
    dx = lambda g0, g1, out0, out1: eigh_gradient(g0, g1, out0, out1)


class Eigvalsh(OfMatrices):
    """Eigenvalues alone, in a fraction of the time; their derivative needs the vectors."""

    call = "linalg.{name}(x, UPLO)"
    node = "LinalgEigh"
    impl = lambda x, UPLO: guarded("linalg.eigvalsh", lapack.eigvalsh, x, UPLO)
    dx = lambda g, x, UPLO: eigh_gradient(g, None, *Eigh.apply(x, UPLO))


class Svd(OfMatrices):
    """U, S and Vh."""

    call = "linalg.svd(x, full_matrices=full)"
    node = "LinalgSvd"
    impl = lambda x, full: tuple(guarded("linalg.svd", lapack.svd, x, full))
    dx = lambda g0, g1, g2, out0, out1, out2: svd_gradient(g0, g1, g2, out0, out1, out2)


class Svdvals(OfMatrices):
    """Singular values alone."""

    call = "linalg.svdvals(x)"
    node = "LinalgSvd"
    impl = lambda x: guarded("linalg.svdvals", lapack.svdvals, x)
    dx = lambda g, x: svd_gradient(None, g, None, *Svd.apply(x, False))


# ---------------------------------------------------------------------- Cholesky and QR
@linalg(
    "(lambda x: x + x.mT)(S(3, 3))",
    "(lambda x: x + x.mT)(S(2, 3, 3))",
    "(lambda x: x + x.mT)(S(3, 3)), upper=True",
    "S(1, 1)",
    "S(0, 2, 2)",
)
def linalg_cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """Return the lower triangular L with A = L L^T of each symmetric positive-definite matrix (or with upper=True L^T).

    Raises LinAlgError for a matrix that is not positive-definite, and names it; RuntimeError if it is not square.
    """
    square("linalg.cholesky", A)
    return Cholesky.apply(A.mT).mT if upper else Cholesky.apply(A)


@op("(lambda x: x + x.mT)(S(3, 3))", "(lambda x: x + x.mT)(S(3, 3)), True", out=True, node="Cholesky")
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """Return the Cholesky factor of each symmetric positive-definite matrix (see linalg.cholesky)."""
    return linalg_cholesky(input, upper=upper)


@linalg(
    "T(4, 3)",
    "T(2, 3, 3)",
    "T(3, 5)",
    "T(3, 4), 'complete'",
    "T(3, 3), 'complete'",
    "T(1, 1)",
    "T(0, 3)",
    "T(2, 3, 2)",
)
def linalg_qr(A: Tensor, mode: str = "reduced") -> QR:
    """Return (Q, R) of each matrix (..., m, n): A = Q R with orthonormal columns in Q and upper triangular R.

    "reduced": k = min(m, n) columns in Q and rows in R; "complete": Q is (m, m); "r": R alone, Q is empty.
    "r" has no gradient, nor has "complete" if m > n: RuntimeError in backward.
    """
    matrices("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise refused("linalg.qr", f"unrecognized mode {mode!r}", "use 'reduced', 'complete' or 'r'")
    return return_types.linalg_qr(*Qr.apply(A, mode))


@op("T(4, 3)", "T(3, 4), False", out=True)
def qr(input: Tensor, some: bool = True) -> QR:
    """Return (Q, R), reduced or complete (see linalg.qr)."""
    return return_types.qr(*linalg_qr(input, "reduced" if some else "complete"))


@linalg("T(4, 3), T(3)", "T(2, 4, 3), T(2, 2)", node="LinalgHouseholderProduct")
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """Return the first n columns of the product of k reflections (I - tau_i v_i v_i^T), for (..., m, n) and (..., k).

    v_i has zeros above position i, 1 there, and below it column i of the input, as LAPACK's geqrf returns them.
    Raises RuntimeError unless m >= n >= k, and the batches agree.
    """
    matrices("linalg.householder_product", input)
    (m, n), k = input.shape[-2:], tau.shape[-1] if tau.ndim else -1
    if not m >= n >= k >= 0 or tau.shape[:-1] != input.shape[:-2]:
        what = (
            f"input of shape {tuple(input.shape)} and tau of shape {tuple(tau.shape)} are not (..., m, n) and (..., k)"
        )
        raise refused("linalg.householder_product", f"{what} with m >= n >= k", "pass one tau for each reflection")
    # the product is I - V T V^T with a triangular T (Schreiber and Van Loan, A storage-efficient WY representation, 1989)
    columns, diagonal = [eye(rows, n, dtype=input.dtype, device=input.device) for rows in (m, n)]
    vectors = (input.tril(-1) + columns)[..., :k]
    system = diagonal[:k, :k] + tau.unsqueeze(-1) * (vectors.mT @ vectors).triu(1)
    inner = solve_triangular(system, tau.unsqueeze(-1) * vectors[..., :n, :].mT, upper=True, unitriangular=True)
    return columns - vectors @ inner


# ---------------------------------------------------------------------- eigenvalues and singular values
SIGNS = "the signs of the vectors, which each library chooses"  # tes# tests/ops/test_linalg.py compares the rest


@linalg(
    "(lambda x: x + x.mT)(S(3, 3))",
    "(lambda x: x + x.mT)(T(2, 3, 3))",
    "(lambda x: x + x.mT)(T(3, 3)), 'U'",
    "T(1, 1)",
    "T(0, 0)",
    differs=SIGNS,
)
def linalg_eigh(A: Tensor, UPLO: str = "L") -> Eigen:
    """Return (eigenvalues, eigenvectors) of each symmetric matrix: (..., n) ascending, and (..., n, n) in columns.

    Only the lower triangle is read, or with UPLO="U" the upper.  Derivatives of eigenvectors need distinct eigenvalues.
    """
    square("linalg.eigh", A)
    return return_types.linalg_eigh(*Eigh.apply(A, triangle_of("linalg.eigh", UPLO)))


@linalg("(lambda x: x + x.mT)(T(3, 3))", "(lambda x: x + x.mT)(T(2, 3, 3)), UPLO='U'", "T(1, 1)")
def linalg_eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Return the eigenvalues of each symmetric matrix, ascending."""
    square("linalg.eigvalsh", A)
    return Eigvalsh.apply(A, triangle_of("linalg.eigvalsh", UPLO))


@linalg("T(4, 3), False", "T(3, 4), False", "T(2, 3, 3)", "T(1, 1)", "T(0, 3), False", differs=SIGNS)
def linalg_svd(A: Tensor, full_matrices: bool = True) -> SVD:
    """Return (U, S, Vh) of each matrix (..., m, n): A = U[..., :k] diag(S) Vh[..., :k, :], k = min(m, n), S descending.

    With full_matrices=False U has k columns and Vh k rows; else both are square, and the added vectors get no gradient.
    """
    matrices("linalg.svd", A)
    return return_types.linalg_svd(*Svd.apply(A, bool(full_matrices)))


@linalg("T(4, 3)", "T(2, 3, 4)", "T(0, 3)")
def svdvals(A: Tensor) -> Tensor:
    """Return the singular values of each matrix, descending."""
    matrices("linalg.svdvals", A)
    return Svdvals.apply(A)


@op("T(4, 3)", "T(3, 4)", out=True, differs=SIGNS)
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> SVDWithV:
    """Return (U, S, V), V not transposed (see linalg.svd); with compute_uv=False U and V are zeros."""
    matrices("svd", input)
    if not compute_uv:
        m, n = input.shape[-2:]
        lead = tuple(input.shape[:-2])
        return return_types.svd(input.new_zeros((*lead, m, m)), svdvals(input), input.new_zeros((*lead, n, n)))
    u, s, vh = linalg_svd(input, not some)
    return return_types.svd(u, s, vh.mT)


def triangle_of(who: str, UPLO: str) -> str:
    """Return "L" or "U"; raise RuntimeError for anything else."""
    if UPLO not in ("L", "U", "l", "u"):
        raise refused(who, f"expected UPLO to be 'L' or 'U', got {UPLO!r}", "write UPLO='L'")
    return UPLO.upper()


# ---------------------------------------------------------------------- on arrays
def factors(x: np.ndarray, mode: str) -> tuple:
    """Return NumPy's qr, with an empty Q for "r"."""
    if mode == "r":
        return zeros((0,), x), lapack.qr(x, "r")
    return tuple(lapack.qr(x, mode))


# ---------------------------------------------------------------------- pull-backs
def cholesky_gradient(g: Tensor, L: Tensor) -> Tensor:
    """Return L^-T P L^-1 with P the lower triangle of L^T g, made symmetric."""
    low = (L.mT @ g).tril()
    p = (low + low.tril(-1).mT) * 0.5
    half = transposed_solve(L, p, False, False)  # L^-T P
    return transposed_solve(L, half.mT, False, False).mT


def qr_gradient(gq: Tensor | None, gr: Tensor | None, q: Tensor, r: Tensor, mode: str) -> Tensor:
    """Return the gradient of QR; a wide matrix is [X | Y] = Q [R | S]: Y adds Q S to the uses of Q, and X has a QR itself."""
    if mode == "r":
        raise refused("linalg.qr", "the derivative depends on Q, which mode='r' does not compute", "use mode='reduced'")
    m, n = q.shape[-2], r.shape[-1]
    if mode == "complete" and m > n:
        raise refused(
            "linalg.qr",
            f"is not differentiable with mode='complete' and more rows ({m}) than columns ({n})",
            "use mode='reduced'",
        )
    gq = q.new_zeros(q.shape) if gq is None else gq
    gr = r.new_zeros(r.shape) if gr is None else gr
    if n <= m:
        return tall_qr_gradient(gq, gr, q, r)
    s, gs = r[..., m:], gr[..., m:]
    return cat([tall_qr_gradient(gq + q @ (s @ gs.mT), gr[..., :m], q, r[..., :m]), q @ gs], -1)


def tall_qr_gradient(gq: Tensor, gr: Tensor, q: Tensor, r: Tensor) -> Tensor:
    """Return [gQ + Q copyup(triu(R-part - Q-part))] R^-T, where copyup mirrors the upper triangle."""
    up = (gr @ r.mT - q.mT @ gq).triu()
    b = gq + q @ (up + up.triu(1).mT)
    return SolveTriangular.apply(r, b.mT, True, False).mT


def eigh_gradient(gw: Tensor | None, gv: Tensor | None, w: Tensor, v: Tensor) -> Tensor:
    """Return V [diag(gw) + (V^T gV) / (w_j - w_i)] V^T, made symmetric."""
    if gv is None:
        return (v * gw.unsqueeze(-2)) @ v.mT
    diagonal = eye_mask(w)
    turned = (v.mT @ gv) / where(diagonal, 1.0, w.unsqueeze(-2) - w.unsqueeze(-1))
    inner = where(diagonal, 0.0 if gw is None else gw.unsqueeze(-1), (turned + turned.mT) * 0.5)
    return v @ inner @ v.mT


def svd_gradient(gu: Tensor | None, gs: Tensor | None, gvh: Tensor | None, u: Tensor, s: Tensor, vh: Tensor) -> Tensor:
    """Return U [(skew(U^T gU) / E) S + S (skew(V^T gV) / E) + diag(gS)] V^T with E_ij = s_j^2 - s_i^2, plus the parts of gU
    and gV outside the spaces of U and V.
    """
    k, m, n = s.shape[-1], u.shape[-2], vh.shape[-1]
    u, vh = u[..., :k], vh[..., :k, :]
    if gu is None and gvh is None:
        return (u * gs.unsqueeze(-2)) @ vh
    gu = None if gu is None else gu[..., :k]
    gvh = None if gvh is None else gvh[..., :k, :]
    diagonal, squares = eye_mask(s), s * s
    gaps = where(diagonal, 1.0, squares.unsqueeze(-2) - squares.unsqueeze(-1))
    inner, beyond = None, None
    if gu is not None:
        inside = u.mT @ gu
        inner = (inside - inside.mT) / gaps * s.unsqueeze(-2)
        if m > k:
            beyond = ((gu - u @ inside) / s.unsqueeze(-2)) @ vh
    if gvh is not None:
        inside = vh @ gvh.mT
        of_v = s.unsqueeze(-1) * ((inside - inside.mT) / gaps)
        inner = of_v if inner is None else inner + of_v
        if n > k:
            past = (u / s.unsqueeze(-2)) @ (gvh - inside.mT @ vh)
            beyond = past if beyond is None else beyond + past
    out = u @ (inner if gs is None else where(diagonal, gs.unsqueeze(-1), inner)) @ vh
    return out if beyond is None else out + beyond


def eye_mask(s: Tensor) -> Tensor:
    """Return a square mask, True on the diagonal, of the vector's length."""
    return wrap_near(np.eye(s.shape[-1], dtype=bool), s)
