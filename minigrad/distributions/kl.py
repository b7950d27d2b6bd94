"""kl_divergence: the mean over p of log p(x) - log q(x), as a table of formulas for pairs of distributions.

Within one family there is a closed formula.  Between families the divergence is -entropy(p) minus the mean over p of
log q(x), which needs only a few moments of p: `Moments` computes these, `MEAN_LOG` the mean of log q(x) from them.
The divergence is infinite if p has values outside q's support.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..linalg import solve_triangular
from ..ops.compare import where
from ..ops.elementary import digamma, lgamma, xlogy
from ..ops.nn.activation import softplus
from .categorical import Categorical, OneHotCategorical
from .compound import Independent, TransformedDistribution, sum_last
from .continuous import Cauchy, Gumbel, Laplace, LogNormal, Normal, Uniform
from .discrete import Bernoulli, Binomial, Geometric, Poisson
from .distribution import EULER, HALF_LOG_2PI, Distribution, formula
from .multivariate_normal import MultivariateNormal
from .positive import Exponential, Gamma, HalfCauchy, HalfNormal, Pareto
from .simplex import Beta, Dirichlet

__all__ = ["kl_divergence", "register_kl"]

TABLE: dict[tuple[type, type], Callable] = {}  # (class of p, class of q) -> function of p and q


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the Kullback-Leibler divergence KL(p || q) in nats, of shape batch_shape.

    Raises NotImplementedError for pairs without a formula; `register_kl` adds one.

    >>> import minigrad
    >>> D = minigrad.distributions
    >>> D.kl_divergence(D.Normal(0., 1.), D.Normal(1., 2.))
    tensor(0.4431)
    """
    formula = dispatched(type(p), type(q))
    if formula is None:
        names = f"{type(p).__name__}, {type(q).__name__}"
        fix = f"add one with register_kl({names}), or estimate it: x = p.sample((1000,)); p.log_prob(x) - q.log_prob(x)"
        raise error(NotImplementedError, "kl_divergence", f"there is no formula for ({names})", fix)
    return formula(p, q)


def register_kl(type_p: type, type_q: type) -> Callable:
    """Return a decorator that registers a function of p and q as the divergence of such pairs, subclasses included.

    >>> import minigrad
    >>> D = minigrad.distributions
    >>> class Mine(D.Normal):
    ...     pass
    >>> @D.register_kl(Mine, Mine)
    ... def kl(p, q):
    ...     return (p.loc - q.loc).abs()
    >>> D.kl_divergence(Mine(0., 1.), Mine(3., 1.))
    tensor(3.)
    """
    for given in (type_p, type_q):
        if not (isinstance(given, type) and issubclass(given, Distribution)):
            what = f"takes two subclasses of Distribution, but got {given!r}"
            raise error(TypeError, "register_kl", what, "write @register_kl(Normal, Normal)")

    def enter(formula: Callable) -> Callable:
        TABLE[type_p, type_q] = formula
        return formula

    return enter


def dispatched(p: type, q: type) -> Callable | None:
    """Return the formula of the closest base classes of p and q; closeness to p counts first."""
    for above in p.__mro__:
        for other in q.__mro__:
            if (above, other) in TABLE:
                return TABLE[above, other]
    return None


# ---------------------------------------------------------------------- within one family
def normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


def laplace(p: Any, q: Any) -> Tensor:
    far = (p.loc - q.loc).abs()
    return (q.scale / p.scale).log() + far / q.scale + p.scale / q.scale * (-far / p.scale).exp() - 1


def gumbel(p: Any, q: Any) -> Tensor:
    ratio, off = p.scale / q.scale, (q.loc - p.loc) / q.scale
    return -off - ratio.log() + EULER * (ratio - 1) + (off + lgamma(1 + ratio)).exp() - 1


def gamma(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    known = lgamma(b) - lgamma(a) + (a - b) * digamma(a)
    return known + b * (p.rate / q.rate).log() + a * (q.rate / p.rate - 1)


def beta(p: Any, q: Any) -> Tensor:
    a, b, c, d = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    return (
        q._log_beta() - p._log_beta() + (a - c) * digamma(a) + (b - d) * digamma(b) + (c + d - a - b) * digamma(a + b)
    )


def dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    inner = (a - b) * (digamma(a) - digamma(a.sum(-1, True)))
    return q._log_beta() - p._log_beta() + inner.sum(-1)


def bernoulli(p: Any, q: Any) -> Tensor:
    one = xlogy(p.probs, p.probs) - where(p.probs == 0, 0.0, p.probs * -softplus(-q.logits))
    zero = xlogy(1 - p.probs, 1 - p.probs) + where(p.probs == 1, 0.0, (1 - p.probs) * softplus(q.logits))
    impossible = (q.probs == 0) & (p.probs > 0) | (q.probs == 1) & (p.probs < 1)
    return where(impossible, math.inf, one + zero)


def binomial(p: Any, q: Any) -> Tensor:
    each = p.total_count * bernoulli(p, q)
    return where(p.total_count > q.total_count, math.inf, where(p.total_count < q.total_count, math.nan, each))


def geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() + softplus(-q.logits) + p.mean * softplus(q.logits)


def poisson(p: Any, q: Any) -> Tensor:
    return xlogy(p.rate, p.rate) - xlogy(p.rate, q.rate) - p.rate + q.rate


def categorical(p: Any, q: Any) -> Tensor:
    terms = where(p.probs == 0, 0.0, p.probs * (p.logits - q.logits))
    return where((q.probs == 0) & (p.probs > 0), math.inf, terms).sum(-1)


def multivariate_normal(p: Any, q: Any) -> Tensor:
    n, lower = p.event_shape[0], q.scale_tril
    mixed = solve_triangular(lower, p.scale_tril, upper=False).square().sum((-2, -1))
    off = solve_triangular(lower, (q.loc - p.loc).unsqueeze(-1), upper=False).square().sum((-2, -1))
    return q._half_log_det() - p._half_log_det() + 0.5 * (mixed + off - n)


def pareto(p: Any, q: Any) -> Tensor:
    ratio = p.alpha / q.alpha
    inside = q.alpha * (p.scale / q.scale).log() + ratio.log() + 1 / ratio - 1
    return where(p.scale < q.scale, math.inf, inside)


def uniform(p: Any, q: Any) -> Tensor:
    inside = ((q.high - q.low) / (p.high - p.low)).log()
    return where((q.low > p.low) | (q.high < p.high), math.inf, inside)


def cauchy(p: Any, q: Any) -> Tensor:
    """Chyzak, Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy distributions", 2019."""
    near = (p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2
    return (near / (4 * p.scale * q.scale)).log()


def independent(p: Any, q: Any) -> Tensor:
    n = p.reinterpreted_batch_ndims
    if n != q.reinterpreted_batch_ndims:
        what = f"{n} dimensions of p belong to one event, but {q.reinterpreted_batch_ndims} of q"
        raise error(NotImplementedError, "kl_divergence", what, "give both the same reinterpreted_batch_ndims")
    return sum_last(kl_divergence(p.base_dist, q.base_dist), n)


def transformed(p: Any, q: Any) -> Tensor:
    """Return the divergence of the base distributions, which equal transforms leave unchanged."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        what = f"p is transformed by {p.transforms}, q by {q.transforms}"
        raise error(NotImplementedError, "kl_divergence", what, "use the same transforms, or estimate it from samples")
    return sum_last(kl_divergence(p.base_dist, q.base_dist), len(p.event_shape) - len(p.base_dist.event_shape))


def halves(p: Any, q: Any) -> Tensor:
    """Return the divergence of the distributions with both signs, whose two sides contribute equally."""
    return kl_divergence(p._both, q._both)


def exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


SAME = {
    Bernoulli: bernoulli, Beta: beta, Binomial: binomial, Categorical: categorical, Cauchy: cauchy, Dirichlet: dirichlet,
    Exponential: exponential, Gamma: gamma, Geometric: geometric, Gumbel: gumbel, HalfCauchy: halves,
    HalfNormal: halves,
    Independent: independent, Laplace: laplace, LogNormal: normal, MultivariateNormal: multivariate_normal, Normal: normal,
    OneHotCategorical: categorical, Pareto: pareto, Poisson: poisson, TransformedDistribution: transformed, Uniform: uniform,
}  # fmt: skip
TABLE.update({(family, family): formula for family, formula in SAME.items()})


# ---------------------------------------------------------------------- between families
class Moments:
    """The moments of p for formulas of q: `mean`, `square` of x**2, `log` of log(x), `exp(t)` of exp(-t * x)."""

    def __init__(self, p: Any):
        self.p, self.mean = p, p.mean

    square = formula(lambda m: m.p.variance + m.mean**2)
    log = formula(lambda m: LOG[type_in(m.p, LOG)](m.p))

    def exp(self, t: Tensor) -> Tensor:
        """Return the mean of exp(-t * x)."""
        return LAPLACE[type_in(self.p, LAPLACE)](self.p, t)


def type_in(p: Any, table: dict) -> type:
    """Return the most specific class of p that is in a table."""
    return next(kind for kind in type(p).__mro__ if kind in table)


def mean_log_uniform(p: Any) -> Tensor:
    """Return the mean of log(x), from its antiderivative x * log(x) - x."""
    low = p.low.clamp(min=0)
    return (xlogy(p.high, p.high) - xlogy(low, low)) / (p.high - low) - 1


LOG: dict[type, Callable] = {  # the mean of log(x)
    Beta: lambda p: digamma(p.concentration1) - digamma(p.concentration1 + p.concentration0),
    Exponential: lambda p: -EULER - p.rate.log(),
    Gamma: lambda p: digamma(p.concentration) - p.rate.log(),
    Pareto: lambda p: p.scale.log() + 1 / p.alpha,
    Uniform: mean_log_uniform,
}
LAPLACE: dict[type, Callable] = {  # the mean of exp(-t * x)
    Exponential: lambda p, t: p.rate / (p.rate + t),
    Gamma: lambda p, t: (p.rate / (p.rate + t)) ** p.concentration,
    Normal: lambda p, t: (0.5 * (t * p.scale) ** 2 - t * p.loc).exp(),
    Uniform: lambda p, t: ((-t * p.low).exp() - (-t * p.high).exp()) / (t * (p.high - p.low)),
}


def mean_log_laplace(q: Any, m: Moments) -> Tensor:
    """Return the mean for a normal p: |x - loc| is folded normal (Leone et al., "The Folded Normal Distribution", 1961)."""
    off = (m.p.loc - q.loc) / m.p.scale
    folded = m.p.scale * (math.sqrt(2 / math.pi) * (-0.5 * off**2).exp() + off * (off / math.sqrt(2)).erf())
    return -(2 * q.scale).log() - folded / q.scale


def mean_log_gumbel(q: Any, m: Moments) -> Tensor:
    """Return the mean of log q for a Gumbel distribution q."""
    return -(m.mean - q.loc) / q.scale - (q.loc / q.scale).exp() * m.exp(1 / q.scale) - q.scale.log()


MEAN_LOG: dict[type, Callable] = {  # the mean of log q(x)
    Exponential: lambda q, m: q.rate.log() - q.rate * m.mean,
    Gamma: lambda q, m: (
        q.concentration * q.rate.log() - lgamma(q.concentration) + (q.concentration - 1) * m.log - q.rate * m.mean
    ),
    Gumbel: mean_log_gumbel,
    Laplace: mean_log_laplace,
    Normal: lambda q, m: -0.5 * (m.square - 2 * q.loc * m.mean + q.loc**2) / q.scale**2 - q.scale.log() - HALF_LOG_2PI,
}


def by_moments(p: Any, q: Any) -> Tensor:
    """Return -entropy(p) minus the mean of log q; infinite if p has negative values but q has none."""
    kl = -p.entropy() - MEAN_LOG[type_in(q, MEAN_LOG)](q, Moments(p))
    return where(p.low < 0, math.inf, kl) if isinstance(p, Uniform) and isinstance(q, (Exponential, Gamma)) else kl


def outside(p: Any, q: Any) -> Tensor:
    """Return infinity: p has values outside q's support, whatever the parameters are."""
    a, b = (getattr(d, d._given[0]) for d in (p, q))
    return (a + b) * 0 + math.inf


def uniform_beta(p: Any, q: Any) -> Tensor:
    """Return the divergence; the mean of log(1 - x) is the mean of log(x) on the reflected interval."""
    turned = Uniform(1 - p.high, 1 - p.low, False)
    ends = (q.concentration1 - 1) * mean_log_uniform(p) + (q.concentration0 - 1) * mean_log_uniform(turned)
    return where((p.low < 0) | (p.high > 1), math.inf, -p.entropy() - ends + q._log_beta())


def uniform_pareto(p: Any, q: Any) -> Tensor:
    known = -p.entropy() - q.alpha.log() - xlogy(q.alpha, q.scale) + (q.alpha + 1) * mean_log_uniform(p)
    return where(p.low < q.scale, math.inf, known)


def pareto_normal(p: Any, q: Any) -> Tensor:
    return where(p.alpha <= 2, math.inf, by_moments(p, q))


PAIRS = {
    Beta: (Exponential, Gamma, Normal),
    Exponential: (Gamma, Gumbel, Normal),
    Gamma: (Exponential, Gumbel, Normal),
    Gumbel: (Normal,),
    Laplace: (Normal,),
    Normal: (Gumbel, Laplace),
    Pareto: (Exponential, Gamma),
    Uniform: (Exponential, Gamma, Gumbel, Normal),
}
OUTSIDE = {
    Beta: (Pareto,),
    Exponential: (Beta, Pareto, Uniform),
    Gamma: (Beta, Pareto, Uniform),
    Gumbel: (Beta, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, Uniform),
    Poisson: (Bernoulli, Binomial),
}
TABLE.update({(p, q): by_moments for p, qs in PAIRS.items() for q in qs})
TABLE.update({(p, q): outside for p, qs in OUTSIDE.items() for q in qs})
TABLE.update({
    (Bernoulli, Poisson): lambda p, q: -p.entropy() - (p.probs * q.rate.log() - q.rate),
    (Beta, Uniform): lambda p, q: where(
        (q.low > 0) | (q.high < 1), math.inf, -p.entropy() + (q.high - q.low).log()
    ),
    (Pareto, Normal): pareto_normal,
    (Uniform, Beta): uniform_beta,
    (Uniform, Pareto): uniform_pareto,
})  # fmt: skip
# a LogNormal is a subclass of Normal, but Normal's formulas do not apply to it
TABLE.update({
    (p, q): outside
    for p, q in [(Normal, LogNormal), (Laplace, LogNormal), (Gumbel, LogNormal)]
})  # fmt: skip
