"""The normal distribution of vectors."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..linalg import cholesky, solve_triangular
from ..ops.linalg import cholesky_inverse
from .constraints import lower_cholesky, positive_definite, real_vector
from .continuous import noise
from .distribution import HALF_LOG_2PI, Parametric, either, formula
from .utils import lazy_property


class MultivariateNormal(Parametric):
    """Normal distribution of vectors with mean `loc` and covariance L @ L.mT.

    Give one of `covariance_matrix`, its inverse `precision_matrix`, and `scale_tril` = L, a lower triangular matrix with a
    positive diagonal; the others follow.  L is the cheapest.

    >>> import minigrad
    >>> d = minigrad.distributions.MultivariateNormal(minigrad.zeros(2), minigrad.eye(2))
    >>> d.event_shape, d.log_prob(minigrad.zeros(2))
    (minigrad.Size([2]), tensor(-1.8379))
    """

    has_rsample = True
    arg_constraints = {
        "loc": real_vector,
        "covariance_matrix": positive_definite,
        "precision_matrix": positive_definite,
        "scale_tril": lower_cholesky,
    }
    support = real_vector
    mean = mode = formula(lambda d: d.loc)
    variance = formula(lambda d: d.scale_tril.square().sum(-1))

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        names = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = either("MultivariateNormal", **names)
        ((name, matrix),) = given.items()
        n = loc.shape[-1] if loc.ndim else 0
        if tuple(matrix.shape[-2:]) not in ((n, n), (1, n)) or not n:
            what = f"loc has shape {tuple(loc.shape)}, but {name} has shape {tuple(matrix.shape)}"
            raise error(ValueError, "MultivariateNormal", what, "pass a vector of n numbers and an n x n matrix")
        super().__init__({"loc": loc, **given}, validate_args, (n,))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """Return the lower triangular L with covariance L @ L.mT."""
        if "precision_matrix" not in self._given:
            return cholesky(self.covariance_matrix)
        # with P = M @ M.mT for the flipped matrix, L is the inverse of M, flipped back and transposed
        turned = cholesky(self.precision_matrix.flip(-2, -1)).flip(-2, -1).mT
        return solve_triangular(turned, self._identity(), upper=False)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """Return the covariances of the entries."""
        return self.scale_tril @ self.scale_tril.mT

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """Return the inverse of the covariance matrix."""
        return cholesky_inverse(self.scale_tril)

    def _identity(self) -> Tensor:
        return self.loc.new_ones(self.event_shape).diag_embed()

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        e = noise("normal", self._extended_shape(sample_shape), self.loc)
        return self.loc + (self.scale_tril @ e.unsqueeze(-1)).squeeze(-1)

    def _log_prob(self, x: Tensor) -> Tensor:
        d = (x - self.loc).unsqueeze(-1)
        n, lower = d.shape[-2], self.scale_tril
        z = solve_triangular(lower.expand((*d.shape[:-2], n, n)), d, upper=False)
        return -0.5 * z.square().sum((-2, -1)) - self._half_log_det() - n * HALF_LOG_2PI

    def _half_log_det(self) -> Tensor:
        """Return half the log of the covariance's determinant."""
        return self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def entropy(self) -> Tensor:
        return self.event_shape[0] * (HALF_LOG_2PI + 0.5) + self._half_log_det()
