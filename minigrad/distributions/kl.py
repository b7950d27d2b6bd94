"""kl_divergence: the mean over p of log p(x) - log q(x), from the formula `_kl` of the family of both distributions."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from .distribution import Distribution

__all__ = ["kl_divergence"]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the Kullback-Leibler divergence KL(p || q) in nats, of shape batch_shape; infinite where q cannot give p's draws.

    Both have to be of the same family: two Normals, for example.  Raises NotImplementedError for other pairs.

    >>> import minigrad
    >>> D = minigrad.distributions
    >>> D.kl_divergence(D.Normal(0., 1.), D.Normal(1., 2.))
    tensor(0.4431)
    """
    family: Any = next((kind for kind in type(p).__mro__ if "_kl" in vars(kind)), ())
    if not isinstance(q, family):
        what = f"there is no formula for ({type(p).__name__}, {type(q).__name__})"
        fix = "estimate it: x = p.sample((1000,)), then (p.log_prob(x) - q.log_prob(x)).mean(0)"
        raise error(NotImplementedError, "kl_divergence", what, fix)
    return family._kl(p, q)
