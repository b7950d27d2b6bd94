"""Linear algebra, with PyTorch's names (torch.linalg).  All functions take batches of matrices."""

from .ops.chains import matrix_exp, matrix_power, multi_dot
from .ops.decompositions import householder_product, svdvals
from .ops.decompositions import linalg_cholesky as cholesky
from .ops.decompositions import linalg_eigh as eigh
from .ops.decompositions import linalg_eigvalsh as eigvalsh
from .ops.decompositions import linalg_qr as qr
from .ops.decompositions import linalg_svd as svd
from .ops.determinants import det, slogdet
from .ops.grids import linalg_vander as vander
from .ops.linalg import LinAlgError, solve, solve_triangular
from .ops.linalg import inverse as inv
from .ops.linalg import linalg_diagonal as diagonal
from .ops.lu import cholesky_ex, inv_ex, lu, lu_factor, lu_factor_ex, lu_solve, solve_ex
from .ops.matmul import linalg_cross as cross
from .ops.matmul import matmul, vecdot
from .ops.norms import cond, matrix_norm, vector_norm
from .ops.norms import linalg_norm as norm
from .ops.rank import linalg_pinv as pinv
from .ops.rank import matrix_rank
from .ops.solutions import lstsq, tensorinv, tensorsolve

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
