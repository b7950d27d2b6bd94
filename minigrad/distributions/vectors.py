"""Distributions of vectors: normal, and Dirichlet's of nonnegative numbers with sum 1.  continuous.py has the scheme."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..linalg import cholesky, solve_triangular
from ..ops.elementary import digamma, lgamma, xlogy
from ..ops.linalg import cholesky_inverse
from .constraints import independent, lower_cholesky, positive, positive_definite, real_vector, simplex
from .continuous import NOISE, dirichlet, expanded
from .distribution import HALF_LOG_2PI, Parametric, either, formula, lazy_property


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
    _half_log_det = formula(lambda d: d.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1))  # of the covariance
    _entropy = lambda d: d._event_shape[0] * (HALF_LOG_2PI + 0.5) + d._half_log_det
    _draw = lambda d, shape: d.loc + (d.scale_tril @ NOISE["normal"](shape, d.loc).unsqueeze(-1)).squeeze(-1)

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
        return solve_triangular(turned, self.loc.new_ones(self.event_shape).diag_embed(), upper=False)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """Return the covariances of the entries."""
        return self.scale_tril @ self.scale_tril.mT

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """Return the inverse of the covariance matrix."""
        return cholesky_inverse(self.scale_tril)

    def _log_prob(self, x: Tensor) -> Tensor:
        d = (x - self.loc).unsqueeze(-1)
        n, lower = d.shape[-2], self.scale_tril
        z = solve_triangular(lower.expand((*d.shape[:-2], n, n)), d, upper=False)
        return -0.5 * z.square().sum((-2, -1)) - self._half_log_det - n * HALF_LOG_2PI

    def _kl(self, q: Any) -> Tensor:
        n, lower = self.event_shape[0], q.scale_tril
        mixed = solve_triangular(lower, self.scale_tril, upper=False).square().sum((-2, -1))
        off = solve_triangular(lower, (q.loc - self.loc).unsqueeze(-1), upper=False).square().sum((-2, -1))
        return q._half_log_det - self._half_log_det + 0.5 * (mixed + off - n)


class Dirichlet(Parametric):
    """Dirichlet distribution of vectors: the product of x[i]**(a[i] - 1), divided by B(a), where a is `concentration`.

    >>> import minigrad
    >>> d = minigrad.distributions.Dirichlet(minigrad.tensor([1., 2., 3.]))
    >>> d.event_shape, d.mean
    (minigrad.Size([3]), tensor([0.1667, 0.3333, 0.5000]))
    """

    has_rsample = True
    arg_constraints = {"concentration": independent(positive, 1)}
    support = simplex
    _total = formula(lambda d: d.concentration.sum(-1))
    mean = formula(lambda d: d.concentration / d._total.unsqueeze(-1))
    # nan if no concentration is above 1: then the density is largest in all corners
    mode = formula(lambda d: (m := (d.concentration - 1).clamp(min=0)) / m.sum(-1, True))
    variance = formula(
        lambda d: (d.concentration * ((t := d._total.unsqueeze(-1)) - d.concentration)) / (t**2 * (t + 1))
    )
    _log_beta = formula(lambda d: lgamma(d.concentration).sum(-1) - lgamma(d._total))  # log B(a)
    _log_prob = lambda d, x: xlogy(d.concentration - 1, x).sum(-1) - d._log_beta
    _draw = lambda d, shape: dirichlet(expanded(d.concentration, shape))

    def __init__(self, concentration: Tensor, validate_args: bool | None = None):
        super().__init__({"concentration": concentration}, validate_args, concentration.shape[-1:])

    def _entropy(self) -> Tensor:
        a, total = self.concentration, self._total
        inner = ((a - 1) * digamma(a)).sum(-1) - (total - a.shape[-1]) * digamma(total)
        return self._log_beta - inner

    def _kl(self, q: Any) -> Tensor:
        a, b = self.concentration, q.concentration
        inner = (a - b) * (digamma(a) - digamma(a.sum(-1, True)))
        return q._log_beta - self._log_beta + inner.sum(-1)
