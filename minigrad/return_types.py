"""What operations with several results return: tuples with names, which print as PyTorch's do (torch.return_types).

A class below says which fields there are; each operation has its own subclass, which bears its name.

>>> import minigrad
>>> minigrad.max(minigrad.tensor([[1., 3.], [2., 0.]]), dim=1)
minigrad.return_types.max(
values=tensor([3., 2.]),
indices=tensor([1, 0]))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import config

if TYPE_CHECKING:
    from .core.tensor import Tensor


def shown(self: Any) -> str:
    """The operation's name and, on a line each, the fields."""
    fields = ",\n".join([f"{name}={value!r}" for name, value in zip(self._fields, self)])
    return f"{config.library_name}.return_types.{type(self).__name__}(\n{fields})"


class Selected(NamedTuple):
    """Values, and where they stand."""

    values: Tensor
    indices: Tensor


class Extremes(NamedTuple):
    """The smallest and the largest."""

    min: Tensor
    max: Tensor


class SignAndLog(NamedTuple):
    """Sign and logarithm of the absolute value of a determinant."""

    sign: Tensor
    logabsdet: Tensor


class QR(NamedTuple):
    """A = Q R with orthonormal columns of Q and an upper triangular R."""

    Q: Tensor
    R: Tensor


class Eigen(NamedTuple):
    """The eigenvalues of a symmetric matrix, ascending, and its eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class SVD(NamedTuple):
    """A = U diag(S) Vh with descending S."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class SVDWithV(NamedTuple):
    """A = U diag(S) V^T, as the older torch.svd gives it."""

    U: Tensor
    S: Tensor
    V: Tensor


class LU(NamedTuple):
    """L below the diagonal and U from it on, in one matrix; with which row each was exchanged, from 1 on."""

    LU: Tensor
    pivots: Tensor


class LUEx(NamedTuple):
    """The same with the place of the first pivot that is 0, or 0."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


class PLU(NamedTuple):
    """A = P L U with a permutation P, a lower triangular L and an upper triangular U."""

    P: Tensor
    L: Tensor
    U: Tensor


class InverseEx(NamedTuple):
    """The inverse, and 0 where there is one."""

    inverse: Tensor
    info: Tensor


class SolutionEx(NamedTuple):
    """The solution of linear equations, and 0 where there is one."""

    result: Tensor
    info: Tensor


class CholeskyEx(NamedTuple):
    """The Cholesky factor, and 0 where there is one."""

    L: Tensor
    info: Tensor


class LeastSquares(NamedTuple):
    """The X that makes A X - B smallest, its squares' sums, the rank of A and its singular values."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


class Binary(NamedTuple):
    """mantissa * 2**exponent."""

    mantissa: Tensor
    exponent: Tensor


def of(fields: Any, name: str) -> Any:
    """The results of one operation."""
    return type(
        name, (fields,), {"__slots__": (), "__module__": __name__, "__doc__": fields.__doc__, "__repr__": shown}
    )


max, min, median, nanmedian, mode = [of(Selected, n) for n in ("max", "min", "median", "nanmedian", "mode")]
cummax, cummin, sort, topk, kthvalue = [of(Selected, n) for n in ("cummax", "cummin", "sort", "topk", "kthvalue")]
aminmax, slogdet = of(Extremes, "aminmax"), of(SignAndLog, "slogdet")
qr, linalg_qr = of(QR, "qr"), of(QR, "linalg_qr")
svd, linalg_svd, linalg_eigh = of(SVDWithV, "svd"), of(SVD, "linalg_svd"), of(Eigen, "linalg_eigh")
linalg_lu_factor, linalg_lu_factor_ex = of(LU, "linalg_lu_factor"), of(LUEx, "linalg_lu_factor_ex")
linalg_lu, lu_unpack = of(PLU, "linalg_lu"), of(PLU, "lu_unpack")
linalg_inv_ex, linalg_solve_ex = of(InverseEx, "linalg_inv_ex"), of(SolutionEx, "linalg_solve_ex")
linalg_cholesky_ex, linalg_lstsq = of(CholeskyEx, "linalg_cholesky_ex"), of(LeastSquares, "linalg_lstsq")
frexp = of(Binary, "frexp")
