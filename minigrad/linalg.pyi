"""Linear algebra, with PyTorch's names (torch.linalg).  All functions take batches of matrices."""

# `make contents` writes this file from the declarations in ops/.
from collections.abc import Sequence

from .arrays.dtypes import dtype
from .core.tensor import Tensor
from .ops.linalg import LinAlgError
from .return_types import LU, PLU, QR, SVD, CholeskyEx, Eigen, InverseEx, LeastSquares, LUEx, SignAndLog, SolutionEx

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]

def matrix_exp(input: Tensor) -> Tensor:
    """Return the exponential of each square matrix, I + A + A @ A / 2 + A @ A @ A / 6 + ...

    >>> import minigrad
    >>> minigrad.matrix_exp(minigrad.tensor([[0., 1.], [0., 0.]]))
    tensor([[1., 1.],
            [0., 1.]])
    """

def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """Raise each square matrix to an integer power by repeated squaring; a negative power inverts first."""

def multi_dot(tensors: Tensor | Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Multiply a sequence of matrices in the order that takes the fewest multiplications.

    The first and the last may be vectors.  Raises RuntimeError for fewer than two and for other ranks.
    Source of the order: Cormen et al., Introduction to Algorithms, section 15.2.
    """

def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the first n columns of the product of k reflections (I - tau_i v_i v_i^T), for (..., m, n) and (..., k).

    v_i has zeros above position i, 1 there, and below it column i of the input, as LAPACK's geqrf returns them.
    Raises RuntimeError unless m >= n >= k, and the batches agree.
    """

def svdvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the singular values of each matrix, descending."""

def cholesky(A: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """Return the lower triangular L with A = L L^T of each symmetric positive-definite matrix (or with upper=True L^T).

    Raises LinAlgError for a matrix that is not positive-definite, and names it; RuntimeError if it is not square.
    """

def eigh(A: Tensor, UPLO: str = "L", *, out: tuple[Tensor, ...] | None = None) -> Eigen:
    """Return (eigenvalues, eigenvectors) of each symmetric matrix: (..., n) ascending, and (..., n, n) in columns.

    Only the lower triangle is read, or with UPLO="U" the upper.  Derivatives of eigenvectors need distinct eigenvalues.
    """

def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
    """Return the eigenvalues of each symmetric matrix, ascending."""

def qr(A: Tensor, mode: str = "reduced", *, out: tuple[Tensor, ...] | None = None) -> QR:
    """Return (Q, R) of each matrix (..., m, n): A = Q R with orthonormal columns in Q and upper triangular R.

    "reduced": k = min(m, n) columns in Q and rows in R; "complete": Q is (m, m); "r": R alone, Q is empty.
    "r" has no gradient, nor has "complete" if m > n: RuntimeError in backward.
    """

def svd(A: Tensor, full_matrices: bool = True, *, out: tuple[Tensor, ...] | None = None) -> SVD:
    """Return (U, S, Vh) of each matrix (..., m, n): A = U[..., :k] diag(S) Vh[..., :k, :], k = min(m, n), S descending.

    With full_matrices=False U has k columns and Vh k rows; else both are square, and the added vectors get no gradient.
    """

def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the determinant of each matrix of a batch (..., n, n).

    Its gradient, the cofactors, exists for singular ones too.  Raises RuntimeError for matrices that are not square.
    """

def slogdet(A: Tensor, *, out: tuple[Tensor, ...] | None = None) -> SignAndLog:
    """Return (sign, logabsdet) of determinants that may be too large or small for a number; (0, -inf) if singular."""

def vander(x: Tensor, *, N: int | None = None, out: Tensor | None = None) -> Tensor:
    """Return the powers x**0 to x**(N-1) of each number of x (..., n), along a new last dimension; N defaults to n."""

def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """Return the solution X of A X = B, or of X A = B with left=False.

    A is (..., n, n).  B is a vector (n), a batch of vectors as long as A's batch of matrices, or matrices (..., n, k);
    batches are broadcast.  Raises LinAlgError for a singular A, RuntimeError if the shapes do not fit.

    >>> import minigrad
    >>> solve(minigrad.tensor([[2., 0.], [0., 4.]]), minigrad.tensor([2., 12.]))
    tensor([1., 3.])
    """

def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False, out: Tensor | None = None
) -> Tensor:
    """Return the solution X of A X = B, or X A = B with left=False, for triangular A (..., n, n) and B (..., n, k).

    Only A's upper or lower triangle is read, without its diagonal if `unitriangular`.  A singular A gives inf and NaN.
    """

def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of each square matrix of a batch (..., n, n).

    Raises LinAlgError for a singular one, and names it; RuntimeError for matrices that are not square.
    """

def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return the diagonals of the matrices in two dimensions, by default the last two, as a view."""

def cholesky_ex(
    A: Tensor, *, upper: bool = False, check_errors: bool = False, out: tuple[Tensor, ...] | None = None
) -> CholeskyEx:
    """Return (L, info) of each symmetric matrix: info is 0, or the order of the first minor that is not positive-definite.

    L then holds LAPACK's remainder.  With check_errors such a matrix raises LinAlgError.
    """

def inv_ex(A: Tensor, *, check_errors: bool = False, out: tuple[Tensor, ...] | None = None) -> InverseEx:
    """Return (inverse, info) of each square matrix: info is 0, or the place of a 0 among its pivots, with an inverse of NaN.

    With check_errors a singular matrix raises LinAlgError.
    """

def lu(A: Tensor, *, pivot: bool = True, out: tuple[Tensor, ...] | None = None) -> PLU:
    """Return (P, L, U) of each matrix (..., m, n) with A = P L U: P a permutation, L (m, k), U (k, n), k = min(m, n)."""

def lu_factor(A: Tensor, *, pivot: bool = True, out: tuple[Tensor, ...] | None = None) -> LU:
    """Return (LU, pivots) of each matrix (..., m, n), for lu_solve.  Raises RuntimeError if a pivot is 0.

    >>> import minigrad
    >>> LU, pivots = minigrad.linalg.lu_factor(minigrad.tensor([[1., 2.], [2., 2.]]))
    >>> minigrad.linalg.lu_solve(LU, pivots, minigrad.tensor([[3.], [4.]]))
    tensor([[1.],
            [1.]])
    """

def lu_factor_ex(
    A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: tuple[Tensor, ...] | None = None
) -> LUEx:
    """Return (LU, pivots, info) of each matrix (..., m, n); `info` is the place of the first 0 on U's diagonal, from 1, or 0.

    Raises RuntimeError for pivot=False, which PyTorch has only on GPUs, and with check_errors if a pivot is 0.
    """

def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False, out: Tensor | None = None
) -> Tensor:
    """Return the solution X of A X = B, given A's `lu_factor`; of X A = B with left=False, of A^T X = B with adjoint=True.

    LU is (..., n, n), B (..., n, k); batches are broadcast.  Raises RuntimeError if the shapes do not fit.
    """

def solve_ex(
    A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: tuple[Tensor, ...] | None = None
) -> SolutionEx:
    """Return (result, info) of A X = B, or X A = B with left=False: info is 0, or the place of a 0 among A's pivots.

    With check_errors a singular matrix raises LinAlgError.
    """

def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Return the vector product along a dimension of size 3; the others are broadcast."""

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix product, `x @ y`.

    Two vectors give their scalar product; a matrix and a vector, or a vector and a matrix, a vector; otherwise the last
    two dimensions are matrices, and the others are broadcast.  Raises RuntimeError for different inner sizes, for 0-d
    tensors and for two dtypes.

    >>> import minigrad
    >>> minigrad.tensor([[1., 2.], [3., 4.]]) @ minigrad.tensor([1., 10.])
    tensor([21., 43.])
    """

def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Return the scalar products of vectors along one dimension of broadcast tensors."""

def cond(A: Tensor, p: float | str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the condition number of each matrix: its largest singular value over the smallest, or norm(A) * norm(inv(A)).

    It is inf for singular matrices, 0 for empty ones.
    """

def matrix_norm(
    A: Tensor,
    ord: float | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return a norm of each matrix in two dimensions.

    "fro": the root of the sum of squares; "nuc": the sum of the singular values; 2, -2: the largest, the smallest singular
    value; 1, -1: the largest, the smallest column sum of |A|; inf, -inf: the largest, the smallest row sum.
    """

def vector_norm(
    x: Tensor,
    ord: float | str = 2,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the norm (sum |x|^ord)^(1/ord) of all elements as one vector, or over the dimensions `dim`.

    ord=inf is the largest |x|, -inf the smallest, 0 the number of elements that are not zero.
    Raises RuntimeError for integers, and for ord=inf and -inf of an empty tensor.
    """

def norm(
    A: Tensor,
    ord: float | str | None = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return a vector or matrix norm, by the number of dimensions in `dim` (see vector_norm and matrix_norm).

    Without `ord` it is the root of the sum of squares; without `dim` the tensor must have one or two dimensions.
    """

def pinv(
    A: Tensor,
    rcond: float | None = None,
    hermitian: bool = False,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the Moore-Penrose pseudo-inverse of each matrix; singular values up to max(atol, rtol * the largest) count as 0.

    `rtol` defaults to max(m, n) * eps (0 if `atol` is given).  The derivative holds while the rank does not change.
    `hermitian` promises a symmetric A; the result is the same.
    """

def matrix_rank(
    A: Tensor,
    tol: float | None = None,
    hermitian: bool = False,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the rank of each matrix as int64: the number of singular values above max(atol, rtol * the largest).

    `rtol` defaults to max(m, n) * eps (0 if `atol` is given); `tol` is the older name of `atol`.
    """

def lstsq(
    A: Tensor,
    B: Tensor,
    rcond: float | None = None,
    *,
    driver: str | None = None,
    out: tuple[Tensor, ...] | None = None,
) -> LeastSquares:
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

def tensorinv(A: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse for tensordot(A, X, ind): A as a matrix, with its first `ind` dimensions as rows, inverted.

    Raises RuntimeError if that matrix is not square.
    """

def tensorsolve(A: Tensor, B: Tensor, dims: tuple | int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the X with tensordot(A, X, X.ndim) = B, after moving the dimensions `dims` of A behind the others.

    Raises RuntimeError if A, with B's dimensions as rows, is not a square matrix.
    """
