"""Inverses of matrices, and solutions of linear equations, also by triangular and Cholesky factors.

lapack.py computes large matrices with SciPy's LAPACK, and NumPy's functions all others.  A gradient consists of matrix products
and solutions, so it can be differentiated again.  Source of the formulas: Giles, "An extended collection of matrix derivative
results", 2008.

Related functions: determinants.py, decompositions.py, lu.py, rank.py (pseudo-inverse), solutions.py (least squares), norms.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import return_types
from ..arrays.devices import contiguous_format
from ..arrays.dtypes import FLOATS
from ..arrays.kinds import on_device, to_device_of
from ..arrays.memory import sum_down
from ..arrays.meta import has_numbers
from ..arrays.shapes import broadcast_shape
from ..core.backward import sum_to
from ..core.tensor import Tensor
from ..errors import MinigradRuntimeError, error
from ..return_types import TriangularSolution
from ..tensors.printing import error_notes
from . import lapack
from .base.families import Operation
from .base.layouts import column_major, wrap_near
from .base.registry import op
from .matmul import broadcasting
from .products import broadcast, linalg, one_dtype, refused


class LinAlgError(MinigradRuntimeError):
    """Error for a matrix that lacks a required property: it is singular, or not positive definite, or holds NaN.

    >>> import minigrad
    >>> try:
    ...     minigrad.linalg.inv(minigrad.zeros(2, 2))
    ... except minigrad.linalg.LinAlgError as e:
    ...     print(str(e).split(":")[0])
    linalg.inv
    """


# ---------------------------------------------------------------------- the operations
class OfMatrices(Operation):
    """An operation on the last two dimensions of its one tensor, for any dimensions in front."""

    autocast = "float32"
    batch = lambda *args: args


class Inv(OfMatrices):
    """The inverse of each matrix.  Singular matrices raise LinAlgError named `who`, or give NaN if `who` is ""."""

    call = "linalg.inv(x)"
    layout = column_major
    node = "LinalgInvEx"
    impl = lambda x, who: inverses(x, who)
    dx = lambda g, out: -(out.mT @ g @ out.mT)


class InvTriangular(Inv):
    """The inverse of each upper triangular matrix; singular ones raise LinAlgError."""

    name = "inv"
    impl = lambda x, who: guarded(who, triangle_inverse, x)


class Solution(Operation):
    """The solution X of A X = B; the batches of both are broadcast."""

    autocast = "float32"
    layout = column_major

    def vmap(info: Any, in_dims: tuple, a: Tensor, b: Tensor, *settings: bool) -> tuple:
        """Broadcast the batches."""
        a, b = (t if d is None else t.movedim(d, 0) for t, d in zip((a, b), in_dims))
        return broadcasting(info.function, in_dims, a, b, *settings), 0

    @classmethod
    def arrays(cls, gs: tuple, bound: tuple) -> tuple | None:
        """Return both gradients on arrays, from one solution."""
        a, b, *settings, out = bound
        if on_device(a):
            return None
        db = cls.impl(np.swapaxes(a, -1, -2), gs[0], *cls.transposed(*settings))
        da = None if out is None else cls.part(-(db @ np.swapaxes(out, -1, -2)), *settings)
        return None if da is None else sum_down(da, a.shape), sum_down(db, tuple(b)), *[None] * len(settings)


class Solve(Solution):
    """The solution for square matrices A."""

    call = "linalg.solve(a, b)"
    node = "LinalgSolveEx"
    impl = lambda a, b: guarded("linalg.solve", lapack.solve, a, b)
    transposed, part = lambda: (), lambda da: da
    da = lambda g, a, out, shape: sum_to(-(Solve.apply(a.mT, g) @ out.mT), shape)
    db = lambda g, a, shape: sum_to(Solve.apply(a.mT, g), shape)


class SolveTriangular(Solution):
    """The solution for A's upper (or lower) triangle, with a diagonal of 1 if `unit`."""

    call = "linalg.solve_triangular(a, b, upper=upper, unitriangular=unit)"
    node = "LinalgSolveTriangular"
    impl = lambda a, b, upper, unit: substitute(a, b, upper, unit)
    transposed = lambda upper, unit: (not upper, unit)
    part = lambda da, upper, unit: np.triu(da, int(unit)) if upper else np.tril(da, -int(unit))
    da = lambda g, a, out, upper, unit, shape: sum_to(
        triangle(-(transposed_solve(a, g, upper, unit) @ out.mT), upper, int(unit)), shape
    )
    db = lambda g, a, upper, unit, shape: sum_to(transposed_solve(a, g, upper, unit), shape)


# ---------------------------------------------------------------------- inverse and solutions
@op("S(3, 3)", "S(2, 3, 3)", "T(0, 2, 2)", "T(0, 0)", out=True)
def inverse(A: Tensor) -> Tensor:
    """Return the inverse of each square matrix of a batch (..., n, n).

    Raises LinAlgError for a singular one, and names it; RuntimeError for matrices that are not square.
    """
    square("linalg.inv", A)
    return Inv.apply(A, "linalg.inv")


@linalg(
    "S(3, 3), T(3, 2)",
    "S(3, 3), T(3)",
    "S(2, 3, 3), T(2, 3)",
    "S(2, 3, 3), T(3)",
    "S(2, 1, 3, 3), T(4, 3, 2)",
    "S(3, 3), T(2, 3), left=False",
    "S(3, 3), T(3, 0)",
    "T(0, 0), T(0, 2)",
    node="LinalgSolveEx",
)
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """Return the solution X of A X = B, or of X A = B with left=False.

    A is (..., n, n).  B is a vector (n), a batch of vectors as long as A's batch of matrices, or matrices (..., n, k);
    batches are broadcast.  Raises LinAlgError for a singular A, RuntimeError if the shapes do not fit.

    >>> import minigrad
    >>> solve(minigrad.tensor([[2., 0.], [0., 4.]]), minigrad.tensor([2., 12.]))
    tensor([1., 3.])
    """
    square("linalg.solve", A)
    one_dtype("linalg.solve", A, B, names=("A", "B"))
    vector = B.ndim == 1 or A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1])
    if vector and not left:
        raise refused(
            "linalg.solve",
            f"B of shape {tuple(B.shape)} holds vectors, which left=False does not allow",
            "pass rows, B.unsqueeze(-2)",
        )
    a, b = (A, B.unsqueeze(-1) if vector else B) if left else (A.mT, B.mT)
    fitting("linalg.solve", A, B, a, b)
    out = Solve.apply(a, b)
    return out.squeeze(-1) if vector else out if left else out.mT


@linalg(
    "S(3, 3), T(3, 2), upper=True",
    "S(2, 3, 3), T(3, 2), upper=False",
    "S(3, 3), T(2, 3), upper=True, left=False",
    "T(2, 1, 3, 3), T(4, 3, 2), upper=False, unitriangular=True",
    "S(3, 3), T(3, 0), upper=True",
    "S(5, 2, 2), T(5, 2, 2), upper=True",
)
def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """Return the solution X of A X = B, or X A = B with left=False, for triangular A (..., n, n) and B (..., n, k).

    Only A's upper or lower triangle is read, without its diagonal if `unitriangular`.  A singular A gives inf and NaN.
    """
    square("linalg.solve_triangular", A)
    one_dtype("linalg.solve_triangular", A, B, names=("A", "B"))
    a, b, up = (A, B, upper) if left else (A.mT, B.mT, not upper)
    fitting("linalg.solve_triangular", A, B, a, b)
    out = SolveTriangular.apply(a, b, bool(up), bool(unitriangular))
    return out if left else out.mT


@op("T(3, 2), S(3, 3)", "T(2, 3, 1), S(3, 3), False", "T(3, 2), S(2, 3, 3), True, True, True", out=True,
    node="TriangularSolve")  # fmt: skip
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> TriangularSolution:
    """Return (X, a copy of A) with A X = input, or A^T X = input with `transpose`, for triangular A; see solve_triangular."""
    a = A.mT if transpose else A
    solution = solve_triangular(a, input, upper=upper != transpose, unitriangular=unitriangular)
    coefficient = A.expand((*solution.shape[:-2], *A.shape[-2:])).clone(memory_format=contiguous_format)
    return return_types.triangular_solve(solution, coefficient)


@op(
    "T(3, 2), torch.tril(S(3, 3))",
    "T(2, 3, 1), torch.tril(S(3, 3))",
    "T(3, 2), torch.triu(S(3, 3)), True",
    out=True,
    node="CholeskySolve",
)
def cholesky_solve(input: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """Return the solution X of A X = input, given A's Cholesky factor L (A = L L^T, or with upper=True A = L^T L)."""
    first, then = (L.mT, L) if upper else (L, L.mT)
    return solve_triangular(then, solve_triangular(first, input, upper=False), upper=True)


@op("torch.tril(S(3, 3))", "torch.triu(S(3, 3)), True", out=True, node="CholeskyInverse")
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """Return the inverse of the matrix with the given Cholesky factor.  Raises LinAlgError for a singular factor."""
    square("cholesky_inverse", input)
    u = input.triu() if upper else input.tril().mT
    return SolveTriangular.apply(u, InvTriangular.apply(u, "cholesky_inverse").mT, True, False)


# ---------------------------------------------------------------------- determinants
@linalg("T(3, 4)", "T(2, 3, 3), offset=1", "T(2, 3, 4), dim1=0, dim2=1", out=False)
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return the diagonals of the matrices in two dimensions, by default the last two, as a view."""
    return A.diagonal(offset, dim1, dim2)


# ---------------------------------------------------------------------- on arrays
def guarded(who: str, f: Callable, a: np.ndarray, *rest: Any) -> Any:
    """Call f(a, ...), a function of batches of matrices; a LinAlgError names the batch element that caused it."""
    try:
        if f in (lapack.svd, lapack.svdvals) and has_numbers(a) and not np.isfinite(a).all():  # LAPACK may never return
            raise np.linalg.LinAlgError("SVD did not converge")
        return f(a, *rest)
    except np.linalg.LinAlgError as e:
        raise matrix_error(who, a, e) from None


def factor(a: np.ndarray) -> np.ndarray:
    """Return the Cholesky factors.  LAPACK may overlook NaN, which reaches the last element of a factor."""
    out = lapack.cholesky(a)
    if has_numbers(out) and np.isnan(out[..., -1:, -1:]).any():
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return out


def matrix_error(who: str, a: np.ndarray, cause: Exception) -> Exception:
    """Return the error for the first matrix that LAPACK rejects."""
    inverted = ("linalg.inv", "linalg.solve", "cholesky_inverse")
    tries = {"linalg.cholesky": factor} | dict.fromkeys(inverted, lapack.inv)
    element = next((i for i in np.ndindex(a.shape[:-2]) if who in tries and fails(tries[who], a[i])), None)
    where_ = f"(Batch element {element[0] if len(element) == 1 else element}): " if element else ""
    size = f"the input matrix of size {a.shape[-2]}x{a.shape[-1]}"
    if who == "linalg.cholesky":
        what = f"{where_}{size} is not positive-definite"
        return error(LinAlgError, who, what, "add a small multiple of the identity: A + 1e-6 * eye(n)")
    if who in tries:
        return error(
            LinAlgError, who, f"{where_}{size} is singular", "use linalg.pinv, or add a small multiple of the identity"
        )
    what = f"{cause}: {size} may hold inf or NaN"
    return error(LinAlgError, who, what, "check minigrad.isfinite(A).all(), or run it inside `with minigrad.debug():`")


def fails(f: Callable, a: np.ndarray) -> bool:
    """Return True if f fails for this matrix."""
    try:
        f(a)
    except np.linalg.LinAlgError:
        return True
    return False


def inverses(x: np.ndarray, who: str) -> np.ndarray:
    """Return the inverses; singular matrices raise LinAlgError named `who`, or give NaN if it is empty."""
    if who:
        return guarded(who, lapack.inv, x)
    try:
        return lapack.inv(x)
    except np.linalg.LinAlgError:
        out = np.full_like(x, np.nan)
        for i in np.ndindex(x.shape[:-2]):
            if not fails(lapack.inv, x[i]):
                out[i] = lapack.inv(x[i])
        return out


def triangle_inverse(x: np.ndarray) -> np.ndarray:
    """Return the inverse of upper triangular matrices; raise LinAlgError if a diagonal has a 0."""
    if has_numbers(x) and not x.diagonal(0, -2, -1).all():
        raise np.linalg.LinAlgError("Singular matrix")
    return substitute(x, to_device_of(np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape), x), True, False)


def substitute(a: np.ndarray, b: np.ndarray, upper: bool, unit: bool) -> np.ndarray:
    """Substitute back: by BLAS for each matrix of a short batch, row by row for all matrices of a long one."""
    shape, n = broadcast_shape(a.shape[:-2], b.shape[:-2]), a.shape[-1]
    if not shape and b.size and not on_device(a):
        return lapack.substituted(a, b, upper, unit)
    a, b = np.broadcast_to(a, (*shape, n, n)), np.broadcast_to(b, (*shape, *b.shape[-2:]))
    out = np.empty_like(b, order="C")
    if not out.size:
        return out
    if math.prod(shape) <= n and not on_device(a):
        return lapack.each_matrix(lapack.substituted, a, b, upper, unit)
    for i in range(n)[:: -1 if upper else 1]:
        known = slice(i + 1, n) if upper else slice(0, i)
        row = b[..., i, :] - np.matmul(a[..., i, None, known], out[..., known, :])[..., 0, :]
        out[..., i, :] = row if unit else row / a[..., i, i, None]
    return out


# ---------------------------------------------------------------------- in formulas
def transposed_solve(a: Tensor, g: Tensor, upper: bool, unit: bool) -> Tensor:
    """Return the solution of A^T X = g for the triangle of A."""
    return SolveTriangular.apply(a.mT, g, not upper, unit)


def triangle(x: Tensor, upper: bool, skip: int) -> Tensor:
    """Return the upper or lower triangle, without the first `skip` diagonals."""
    return x.triu(skip) if upper else x.tril(-skip)


def identity(like: Tensor) -> Tensor:
    """Return the identity matrix of the size and dtype of a tensor's matrices."""
    return wrap_near(np.eye(like.shape[-1], dtype=like._np_dtype), like)


# ---------------------------------------------------------------------- checks
def floating(who: str, x: Tensor) -> None:
    """Raise RuntimeError for integers."""
    if x._np_dtype not in FLOATS:
        raise refused(who, f"expected a floating point tensor as input, got {x.dtype}", "convert it: x.float()")


def matrices(who: str, x: Tensor) -> None:
    """Raise RuntimeError unless x is a batch of matrices of floating-point numbers."""
    if x.ndim < 2:
        raise refused(
            who,
            f"the input tensor must have at least 2 dimensions, got shape {tuple(x.shape)}",
            "write x.unsqueeze(0) for a matrix of one row, x.unsqueeze(1) for one column",
        )
    floating(who, x)


def square(who: str, x: Tensor) -> None:
    """Raise RuntimeError unless x is a batch of square matrices."""
    matrices(who, x)
    if x.shape[-1] != x.shape[-2]:
        raise refused(
            who,
            f"A must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices "
            f"(shape {tuple(x.shape)})",
            "use a square matrix, or linalg.lstsq, linalg.pinv and linalg.svd for others",
        )


def fitting(who: str, A: Tensor, B: Tensor, a: Tensor, b: Tensor) -> None:
    """Raise RuntimeError if the shapes of a x = b do not fit; A and B are the user's tensors."""
    if b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise refused(
            who,
            f"incompatible shapes of A {tuple(A.shape)} and B {tuple(B.shape)}: A has {a.shape[-1]} unknowns, "
            f"B {b.shape[-2] if b.ndim > 1 else b.numel()}",
            f"give B {a.shape[-1]} rows: B.mT if these are its columns",
            notes=error_notes({"A": A, "B": B}, marked=()),
        )
    broadcast(who, a.shape[:-2], b.shape[:-2])
