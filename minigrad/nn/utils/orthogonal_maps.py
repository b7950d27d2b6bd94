"""Maps onto orthogonal matrices: the exponential of a skew-symmetric matrix, Cayley's map, products of reflections.

Each reads the lower triangle of X (..., n, k), n >= k, and returns Q with Q.mT @ Q = I.
Source: Lezcano-Casado, Martinez-Rubio, "Cheap orthogonal constraints in neural networks", 2019.
"""

from __future__ import annotations

from ...core.tensor import Tensor
from ...ops.chains import matrix_exp
from ...ops.compare import where
from ...ops.create import eye
from ...ops.decompositions import linalg_qr
from ...ops.join import cat
from ...ops.linalg import solve


def skew(X: Tensor) -> Tensor:
    """Return the square skew-symmetric matrix whose lower triangle begins with the columns of X."""
    n, k = X.shape[-2:]
    X = X.tril()
    if n != k:
        X = cat([X, X.new_zeros(*X.shape[:-1], n - k)], -1)
    return X - X.mT


def identity(A: Tensor) -> Tensor:
    """Return the identity matrix of the size of A."""
    return eye(A.shape[-1], dtype=A.dtype, device=A.device)


def exponential(X: Tensor) -> Tensor:
    """Return exp(A) of the skew-symmetric A: rotations."""
    return matrix_exp(skew(X))[..., : X.shape[-1]]


def cayley(X: Tensor) -> Tensor:
    """Return (I - A/2)^-1 (I + A/2) of the skew-symmetric A: rotations by less than half a turn."""
    A = skew(X)
    return solve(identity(A) - A / 2, identity(A) + A / 2)[..., : X.shape[-1]]


def householder(X: Tensor) -> Tensor:
    """Return the first k columns of (I - tau_1 v_1 v_1') ... (I - tau_k v_k v_k'); v_i is the i-th column of X below a 1.

    The product is I - V T V' with T^-1 = triu(V' V, 1) + diag(1 / tau).  The diagonal of X, of 1 and -1, flips the sign of
    columns.  Source: Puglisi, "Modification of the Householder method based on the compact WY representation", 1992.
    """
    n, k = X.shape[-2:]
    A = X.tril(-1)
    E = eye(n, k, dtype=X.dtype, device=X.device)
    V = A + E
    S = (V.mT @ V).triu(1) + ((1 + (A * A).sum(-2)) / 2).diag_embed()
    Q = E - V @ solve(S, V[..., :k, :].mT)
    return Q * X.detach().diagonal(dim1=-2, dim2=-1).unsqueeze(-2)


def reflections(Q: Tensor) -> Tensor:
    """Return the X that `householder` maps to Q, for Q with orthonormal columns: LAPACK's geqrf, column by column."""
    R = Q.clone()
    for j in range(R.shape[-1]):
        x = R[..., j:, j].clone()
        head, tail = x[..., :1], x[..., 1:]
        still = (tail == 0).all(-1, keepdim=True)  # LAPACK makes no reflection here, but `householder` makes one
        beta = where(head < 0, 1.0, -1.0).to(x.dtype) * x.norm(dim=-1, keepdim=True)
        below = (tail / (head - beta)).masked_fill(still, 0.0)
        v = cat([head * 0 + 1, below], -1).unsqueeze(-1)
        tau = (2 / (v * v).sum((-2, -1), keepdim=True)).masked_fill(still.unsqueeze(-1), 0.0)
        rest = R[..., j:, j + 1 :]
        rest.sub_(tau * (v @ (v.mT @ rest)))
        R[..., j + 1 :, j] = below
        R[..., j, j] = (beta.sign().masked_fill(still, 0.0) - head.sign() * still).squeeze(-1)
    return R


def orthogonalized(A: Tensor) -> Tensor:
    """Return the Q of A = QR whose R has no negative number on its diagonal."""
    Q, R = linalg_qr(A)
    return Q * R.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)


MAPS = {"matrix_exp": exponential, "cayley": cayley, "householder": householder}
