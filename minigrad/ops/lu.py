"""LU decomposition, A = P L U: the factors, solutions by them, and `info`, which reports failures of the `_ex` functions.

L is lower triangular with ones on its diagonal, U upper triangular; one matrix `LU` holds both.  `pivots` is the row, counted
from 1, that each row was swapped with.  Source of the derivative: PyTorch's FunctionsManual.cpp, here block by block.
"""

from __future__ import annotations

import numpy as np

from .. import return_types
from ..arrays.kinds import on_host
from ..arrays.meta import has_numbers
from ..core.tensor import Tensor
from ..errors import error
from ..return_types import LU, PLU, CholeskyEx, InverseEx, LUEx, SolutionEx
from . import lapack
from .base.families import NonDifferentiable
from .base.registry import op
from .decompositions import cholesky_gradient
from .join import cat
from .linalg import (
    Inv,
    LinAlgError,
    OfMatrices,
    SolveTriangular,
    fitting,
    identity,
    matrices,
    square,
    transposed_solve,
)
from .products import linalg, one_dtype, refused

MATRICES = ("S(3, 3)", "T(2, 3, 3)", "T(4, 3)", "T(3, 4)", "T(2, 2, 3)")
FACTORED = "*torch.linalg.lu_factor(S(3, 3))"


# ---------------------------------------------------------------------- the operations
class LuFactor(OfMatrices):
    """LU, pivots, and the index of the first pivot that is 0, counted from 1, or 0."""

    call = "linalg.{name}(x)"
    name, node = "lu_factor_ex", "LinalgLuFactorEx"
    impl = lambda x, who: reported(who, on_host(factored, x))
    dx = lambda g0, out0, out1: lu_gradient(g0, out0, out1)


class Permutation(NonDifferentiable):
    """The matrix P of these pivots, with the dtype and the number of rows of LU."""

    call = "lu_unpack(lu, pivots)[0]"
    impl = lambda lu, pivots: on_host(permutation, lu, pivots)
    batch = lambda lu, pivots: (lu, pivots)


class CholeskyInfo(OfMatrices):
    """The Cholesky factor, and the order of the first minor that is not positive-definite, or 0."""

    call = "linalg.{name}(x)"
    name, node = "cholesky_ex", "LinalgCholeskyEx"
    impl = lambda x, who: reported(who, on_host(cholesky_factored, x))
    dx = lambda g0, out0: cholesky_gradient(g0, out0)


# ---------------------------------------------------------------------- LU
@linalg(*MATRICES, out=True)
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> LUEx:
    """Return (LU, pivots, info) of each matrix (..., m, n); `info` is the place of the first 0 on U's diagonal, from 1, or 0.

    Raises RuntimeError for pivot=False, which PyTorch has only on GPUs, and with check_errors if a pivot is 0.
    """
    matrices("linalg.lu_factor_ex", A)
    with_pivots("linalg.lu_factor_ex", pivot)
    return return_types.linalg_lu_factor_ex(*LuFactor.apply(A, "linalg.lu_factor_ex" if check_errors else ""))


@linalg(*MATRICES, node="LinalgLuFactorEx", out=True)
def lu_factor(A: Tensor, *, pivot: bool = True) -> LU:
    """Return (LU, pivots) of each matrix (..., m, n), for lu_solve.  Raises RuntimeError if a pivot is 0.

    >>> import minigrad
    >>> LU, pivots = minigrad.linalg.lu_factor(minigrad.tensor([[1., 2.], [2., 2.]]))
    >>> minigrad.linalg.lu_solve(LU, pivots, minigrad.tensor([[3.], [4.]]))
    tensor([[1.],
            [1.]])
    """
    matrices("linalg.lu_factor", A)
    with_pivots("linalg.lu_factor", pivot)
    return return_types.linalg_lu_factor(*LuFactor.apply(A, "linalg.lu_factor")[:2])


@linalg(*MATRICES, out=True, node="LinalgLu")
def lu(A: Tensor, *, pivot: bool = True) -> PLU:
    """Return (P, L, U) of each matrix (..., m, n) with A = P L U: P a permutation, L (m, k), U (k, n), k = min(m, n)."""
    matrices("linalg.lu", A)
    with_pivots("linalg.lu", pivot)
    packed, pivots, _ = LuFactor.apply(A, "")
    return return_types.linalg_lu(Permutation.apply(packed, pivots), *triangles(packed))


@op(
    FACTORED,
    "*torch.linalg.lu_factor(T(2, 3, 4))",
    "*torch.linalg.lu_factor(T(4, 3))",
    method=False,
    node="LuUnpack",
    out=True,
)
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> PLU:
    """Return (P, L, U) from the result of lu_factor; parts that are not unpacked are empty."""
    none = LU_data.new_zeros((0,))
    P = Permutation.apply(LU_data, LU_pivots) if unpack_pivots else none
    return return_types.lu_unpack(P, *(triangles(LU_data) if unpack_data else (none, none)))


@linalg(f"{FACTORED}, T(3, 2)", f"{FACTORED}, T(2, 3), left=False", f"{FACTORED}, T(3, 2), adjoint=True",
        "*torch.linalg.lu_factor(S(2, 3, 3)), T(3, 2)", f"{FACTORED}, T(2, 3, 2)", out=True, node="LinalgLuSolve")  # fmt: skip
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """Return the solution X of A X = B, given A's `lu_factor`; of X A = B with left=False, of A^T X = B with adjoint=True.

    LU is (..., n, n), B (..., n, k); batches are broadcast.  Raises RuntimeError if the shapes do not fit.
    """
    who = "linalg.lu_solve"
    square(who, LU)
    one_dtype(who, LU, B, names=("LU", "B"))
    if pivots._np_dtype != np.int32 or tuple(pivots.shape) != tuple(LU.shape[:-1]):
        what = f"pivots are {pivots.dtype.name} of shape {tuple(pivots.shape)}, and LU has shape {tuple(LU.shape)}"
        raise refused(who, what, "pass both results of linalg.lu_factor(A) unchanged")
    b = B if left else B.mT
    fitting(who, LU, B, LU, b)
    P = Permutation.apply(LU, pivots)
    if adjoint is left:
        out = SolveTriangular.apply(LU.mT, SolveTriangular.apply(LU.mT, b, False, False), True, True)
        return P @ out if left else out.mT @ P.mT
    out = SolveTriangular.apply(LU, SolveTriangular.apply(LU, P.mT @ b, False, True), True, False)
    return out if left else out.mT


# ---------------------------------------------------------------------- with info
@linalg("S(3, 3)", "S(2, 3, 3)", out=True)
def inv_ex(A: Tensor, *, check_errors: bool = False) -> InverseEx:
    """Return (inverse, info) of each square matrix: info is 0, or the place of a 0 among its pivots, with an inverse of NaN.

    With check_errors a singular matrix raises LinAlgError.
    """
    square("linalg.inv_ex", A)
    info = LuFactor.apply(A.detach(), "linalg.inv_ex" if check_errors else "")[2]
    return return_types.linalg_inv_ex(Inv.apply(A, ""), info)


@linalg("S(3, 3), T(3, 2)", "S(2, 3, 3), T(2, 3)", "S(3, 3), T(2, 3), left=False", node="LinalgSolveEx", out=True)
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> SolutionEx:
    """Return (result, info) of A X = B, or X A = B with left=False: info is 0, or the place of a 0 among A's pivots.

    With check_errors a singular matrix raises LinAlgError.
    """
    square("linalg.solve_ex", A)
    packed, pivots, info = LuFactor.apply(A, "linalg.solve_ex" if check_errors else "")
    vector = B.ndim == 1 or A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1])
    out = lu_solve(packed, pivots, B.unsqueeze(-1) if vector else B, left=left)
    return return_types.linalg_solve_ex(out.squeeze(-1) if vector else out, info)


@linalg(
    "(lambda x: x + x.mT)(S(3, 3))", "(lambda x: x + x.mT)(S(2, 3, 3)), upper=True", out=True, node="LinalgCholeskyEx"
)
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> CholeskyEx:
    """Return (L, info) of each symmetric matrix: info is 0, or the order of the first minor that is not positive-definite.

    L then holds LAPACK's remainder.  With check_errors such a matrix raises LinAlgError.
    """
    square("linalg.cholesky_ex", A)
    L, info = CholeskyInfo.apply(A.mT if upper else A, "linalg.cholesky_ex" if check_errors else "")
    return return_types.linalg_cholesky_ex(L.mT if upper else L, info)


def with_pivots(who: str, pivot: bool) -> None:
    """Raise RuntimeError for pivot=False."""
    if not pivot:
        raise refused(who, "LU without pivoting is not implemented on the CPU", "leave pivot=False out")


def triangles(packed: Tensor) -> tuple[Tensor, Tensor]:
    """Return L and U."""
    k = min(packed.shape[-2:])
    left = packed[..., :k].tril(-1)
    ones = identity(packed[..., :k, :k])
    below = packed.shape[-2] - k
    ones = cat([ones, ones.new_zeros((below, k))], -2) if below else ones
    return left + ones, packed[..., :k, :].triu()


# ---------------------------------------------------------------------- on arrays
def reported(who: str, found: tuple) -> tuple:
    """Return the results of a factorization; raise an error in the name of `who`, unless "", for the first nonzero info."""
    info = found[-1]
    if not who or not has_numbers(info) or not info.any():
        return found
    i = int(info[info != 0].reshape(-1)[0])
    if who.startswith("linalg.lu"):
        what = f"U[{i},{i}] is zero, and lu_solve would divide by it"
        raise refused(who, what, "use linalg.lu_factor_ex(A), or linalg.lstsq for a solution")
    minor = f"the leading minor of order {i} is not positive-definite"
    what = (
        minor if who == "linalg.cholesky_ex" else f"the input matrix is singular: the diagonal element {i} of U is zero"
    )
    raise error(LinAlgError, who, what, "add a small multiple of the identity: A + 1e-6 * eye(n)")


def factored(x: np.ndarray) -> tuple:
    """Return LU, pivots counted from 1, and info."""
    k = min(x.shape[-2:])
    if not x.size:
        lead = x.shape[:-2]
        return x.copy(), np.zeros((*lead, k), np.int32), np.zeros(lead, np.int32)
    getrf = lapack.routine("getrf", x.dtype)

    def one(a: np.ndarray) -> tuple:
        packed, pivots, info = getrf(a)
        return np.ascontiguousarray(packed), (pivots + 1).astype(np.int32), np.array(max(info, 0), np.int32)

    return lapack.each_matrix(one, x)


def cholesky_factored(x: np.ndarray) -> tuple:
    """Return the lower factor, and info."""
    if not x.size:
        return x.copy(), np.zeros(x.shape[:-2], np.int32)
    potrf = lapack.routine("potrf", x.dtype)

    def one(a: np.ndarray) -> tuple:
        factor, info = potrf(a, lower=1)
        return np.tril(factor), np.array(info, np.int32)

    return lapack.each_matrix(one, x)


def permutation(lu: np.ndarray, pivots: np.ndarray) -> np.ndarray:
    """Return the matrix P: the identity's columns, permuted by the swaps."""
    m = lu.shape[-2]
    out = np.zeros((*pivots.shape[:-1], m, m), lu.dtype)
    for i in np.ndindex(pivots.shape[:-1]):
        order = list(range(m))
        for a, b in enumerate(pivots[i].tolist()):
            order[a], order[b - 1] = order[b - 1], order[a]
        out[i][order, np.arange(m)] = 1
    return out


# ---------------------------------------------------------------------- pull-back
def lu_gradient(g: Tensor, packed: Tensor, pivots: Tensor) -> Tensor:
    """Return P L^-T [tril(L^T gL, -1) + triu(gU U^T)] U^-T; rows below the square, or columns beside it, add to gU or gL."""
    m, n = packed.shape[-2:]
    k = min(m, n)
    inner, gl, gu, beyond = packed[..., :k, :k], g[..., :k, :k].tril(-1), g[..., :k, :k].triu(), None
    if n > k:
        beyond = transposed_solve(inner, g[..., k:], False, True)
        gl = gl - (beyond @ packed[..., k:].mT).tril(-1)
    if m > k:
        beyond = SolveTriangular.apply(inner, g[..., k:, :].mT, True, False).mT
        gu = gu - (packed[..., k:, :].mT @ beyond).triu()
    low, up = triangles(inner)
    middle = (low.mT @ gl).tril(-1) + (gu @ up.mT).triu()
    out = transposed_solve(inner, SolveTriangular.apply(inner, middle.mT, True, False).mT, False, True)
    out = out if beyond is None else cat([out, beyond], -1 if n > k else -2)
    return Permutation.apply(packed, pivots) @ out
