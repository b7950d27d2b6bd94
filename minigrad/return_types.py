"""Results of operations that return several tensors: named tuples that print like PyTorch's (torch.return_types).

A class below defines the fields; each operation has its own subclass, named after it.

>>> import minigrad
>>> minigrad.max(minigrad.tensor([[1., 3.], [2., 0.]]), dim=1)
minigrad.return_types.max(
values=tensor([3., 2.]),
indices=tensor([1, 0]))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import config
from .errors import Unread

if TYPE_CHECKING:
    from .core.tensor import Tensor


def shown(self: Any) -> str:
    """Return the operation's name and the fields, one per line."""
    fields = ",\n".join([f"{name}={value!r}" for name, value in zip(self._fields, self)])
    return f"{config.library_name}.return_types.{type(self).__name__}(\n{fields})"


def not_there(self: Any, name: str) -> Any:
    """Raise for an attribute that a result lacks; mostly a method of tensors, meant for one of its fields."""
    fields, kind = self._fields, type(self).__name__
    what = f"returns a named tuple of {', '.join(fields)}, which has no attribute {name}"
    raise Unread(kind, lambda: (what, f"use one of the tensors: {kind}(...).{fields[0]}.{name}"))


class Selected(NamedTuple):
    """Values and their positions."""

    values: Tensor
    indices: Tensor


class Extremes(NamedTuple):
    """The smallest and the largest value."""

    min: Tensor
    max: Tensor


class SignAndLog(NamedTuple):
    """Sign and logarithm of the absolute value of a determinant."""

    sign: Tensor
    logabsdet: Tensor


class QR(NamedTuple):
    """A = Q R with orthonormal columns in Q and an upper triangular R."""

    Q: Tensor
    R: Tensor


class Eigen(NamedTuple):
    """Eigenvalues of a symmetric matrix, in ascending order, and its eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class SVD(NamedTuple):
    """A = U diag(S) Vh with S in descending order."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class SVDWithV(NamedTuple):
    """A = U diag(S) V^T, as in the older torch.svd."""

    U: Tensor
    S: Tensor
    V: Tensor


class TriangularSolution(NamedTuple):
    """The solution of linear equations with a triangular matrix, and a copy of this matrix."""

    solution: Tensor
    cloned_coefficient: Tensor


class LU(NamedTuple):
    """L (below the diagonal) and U in one matrix, and for each row the row that it was swapped with, counted from 1."""

    LU: Tensor
    pivots: Tensor


class LUEx(NamedTuple):
    """LU, and the position of the first zero pivot, or 0."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


class PLU(NamedTuple):
    """A = P L U with a permutation P, a lower triangular L and an upper triangular U."""

    P: Tensor
    L: Tensor
    U: Tensor


class InverseEx(NamedTuple):
    """The inverse, and info, which is 0 if it exists."""

    inverse: Tensor
    info: Tensor


class SolutionEx(NamedTuple):
    """The solution of linear equations, and info, which is 0 if it exists."""

    result: Tensor
    info: Tensor


class CholeskyEx(NamedTuple):
    """The Cholesky factor, and info, which is 0 if it exists."""

    L: Tensor
    info: Tensor


class LeastSquares(NamedTuple):
    """The X that minimizes A X - B, its sums of squares, the rank of A and its singular values."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


def of(fields: Any, name: str) -> Any:
    """Return the result type of one operation."""
    own = {
        "__slots__": (),
        "__module__": __name__,
        "__doc__": fields.__doc__,
        "__repr__": shown,
        "__getattr__": not_there,
    }
    return type(name, (fields,), own)


max, min, median, nanmedian, mode = [of(Selected, n) for n in ("max", "min", "median", "nanmedian", "mode")]
cummax, cummin, sort, topk, kthvalue = [of(Selected, n) for n in ("cummax", "cummin", "sort", "topk", "kthvalue")]
aminmax, slogdet = of(Extremes, "aminmax"), of(SignAndLog, "slogdet")
qr, linalg_qr = of(QR, "qr"), of(QR, "linalg_qr")
svd, linalg_svd, linalg_eigh = of(SVDWithV, "svd"), of(SVD, "linalg_svd"), of(Eigen, "linalg_eigh")
linalg_lu_factor, linalg_lu_factor_ex = of(LU, "linalg_lu_factor"), of(LUEx, "linalg_lu_factor_ex")
linalg_lu, lu_unpack = of(PLU, "linalg_lu"), of(PLU, "lu_unpack")
linalg_inv_ex, linalg_solve_ex = of(InverseEx, "linalg_inv_ex"), of(SolutionEx, "linalg_solve_ex")
linalg_cholesky_ex, linalg_lstsq = of(CholeskyEx, "linalg_cholesky_ex"), of(LeastSquares, "linalg_lstsq")
triangular_solve = of(TriangularSolution, "triangular_solve")
