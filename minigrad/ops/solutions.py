"""Linear equations beyond square matrices: least squares, and equations of tensors, whose dimensions are flattened first."""

from __future__ import annotations

import math

from .. import return_types
from ..arrays.meta import has_numbers
from ..core.saved import plain_tensor
from ..core.tensor import Tensor
from ..errors import error
from ..return_types import LeastSquares
from .decompositions import svdvals
from .linalg import LinAlgError, inverse, matrices, solve
from .products import broadcast, linalg, one_dtype, refused
from .rank import linalg_pinv, matrix_rank

DRIVERS = ("gelsy", "gels", "gelsd", "gelss")  # LAPACK's


@linalg("T(4, 3), T(4, 2)", "T(3, 4), T(3, 2), driver='gelsd'", "T(2, 4, 3), T(2, 4)", "T(4, 2), T(4), driver='gels'",
        "T(2, 5, 2), T(2, 5), rcond=0.01, driver='gelss'", node="LinalgLstsq")  # fmt: skip
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> LeastSquares:
    """Return the X of least |A X - B|, for A (..., m, n) and B (..., m, k) or vectors (..., m); the smallest X of several.

    `solution` is X, pinv(A) @ B.  As in PyTorch the other results depend on LAPACK's `driver`: "gelsy", the default, gives the
    `rank` of A, "gels" (for full rank) the `residuals` |A X - B|**2 of the columns if m > n, "gelsd" and "gelss" both and the
    `singular_values`; missing results are empty.  Singular values up to rcond times the largest count as 0.
    Raises RuntimeError if shapes do not fit, and for other drivers; LinAlgError for less than full rank by "gels".

    >>> import minigrad
    >>> A = minigrad.tensor([[1., 0.], [1., 1.], [1., 2.]])  # a line through three points
    >>> minigrad.linalg.lstsq(A, minigrad.tensor([[1.], [3.], [5.]])).solution
    tensor([[1.0000],
            [2.0000]])
    """
    who, driver = "linalg.lstsq", driver or "gelsy"
    matrices(who, A)
    one_dtype(who, A, B, names=("A", "B"))
    if driver not in DRIVERS:
        what = f"parameter `driver` should be one of {', '.join(DRIVERS)}, got {driver!r}"
        raise refused(who, what, "leave driver= out")
    vector = A.ndim - 1 == B.ndim and tuple(B.shape[:-1]) == tuple(A.shape[:-2])
    b = B.unsqueeze(-1) if vector else B
    if b.ndim < 2 or b.shape[-2] != A.shape[-2]:
        what = f"A of shape {tuple(A.shape)} and B of shape {tuple(B.shape)} need the same number of rows"
        raise refused(who, what, f"give B {A.shape[-2]} rows: B.mT if these are its columns")
    broadcast(who, A.shape[:-2], b.shape[:-2], ("A", "B"))
    x = linalg_pinv(A, rtol=rcond) @ b
    known = A.detach()
    ranks = matrix_rank(known, rtol=rcond)
    m, n = A.shape[-2:]
    full = everywhere(ranks, min(m, n))
    if driver == "gels" and not full:
        raise error(LinAlgError, who, "a matrix does not have full rank, which 'gels' needs", "leave driver= out")
    none = A.new_zeros((0,))
    return return_types.linalg_lstsq(
        x.squeeze(-1) if vector else x,
        ((A @ x - b) ** 2).sum(-2) if full and m > n and driver != "gelsy" else none,
        ranks if driver != "gels" else none.long(),
        svdvals(known) if driver in ("gelsd", "gelss") else none,
    )


@linalg("T(6, 2, 3), ind=1", "T(2, 3, 6)", "T(4, 4), 1", node="ReshapeAlias")
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """Return the inverse for tensordot(A, X, ind): A as a matrix, with its first `ind` dimensions as rows, inverted.

    Raises RuntimeError if that matrix is not square.
    """
    if ind < 1:
        what = f"Expected a strictly positive integer for 'ind', but got {ind}"
        raise refused("linalg.tensorinv", what, "write ind=2: the first two dimensions are rows")
    rows, columns = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    as_square("linalg.tensorinv", rows, columns)
    return inverse(A.reshape(math.prod(rows), -1)).reshape(*columns, *rows)


@linalg("T(2, 3, 6), T(2, 3)", "T(2, 6, 3), T(2, 3), dims=(1,)", "T(4, 2, 2), T(4)", node="View")
def tensorsolve(A: Tensor, B: Tensor, dims: tuple | int | None = None) -> Tensor:
    """Return the X with tensordot(A, X, X.ndim) = B, after moving the dimensions `dims` of A behind the others.

    Raises RuntimeError if A, with B's dimensions as rows, is not a square matrix.
    """
    moved = () if dims is None else (dims,) if isinstance(dims, int) else tuple(dims)
    a = A.movedim(moved, tuple(range(A.ndim - len(moved), A.ndim))) if moved else A
    rows, columns = tuple(a.shape[: B.ndim]), tuple(a.shape[B.ndim :])
    as_square("linalg.tensorsolve", rows, columns)
    return solve(a.reshape(math.prod(rows), -1), B.flatten()).reshape(columns)


def as_square(who: str, rows: tuple, columns: tuple) -> None:
    """Raise RuntimeError if the dimensions for rows and for columns hold different numbers of elements."""
    m, n = math.prod(rows), math.prod(columns)
    if m != n:
        what = f"the dimensions {rows} make {m} rows, but {columns} make {n} columns"
        raise refused(who, what, "check A.shape; linalg.lstsq solves equations that are not square")


def everywhere(ranks: Tensor, n: int) -> bool:
    """Return True if all ranks are n, for all examples under vmap; meta tensors count as full rank."""
    found = plain_tensor(ranks)._a
    return not has_numbers(found) or bool((found == n).all())
