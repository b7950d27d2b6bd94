"""Probability distributions under torch.distributions's names: samples, densities, moments, divergences.

distribution.py has the base class, continuous.py shows the scheme of one kind of distribution.
"""

from ..diagnose.boundary import guard as _guard
from ..diagnose.missing_names import explained as _explained
from . import constraints, kl, transforms
from .compound import Independent, MixtureSameFamily, TransformedDistribution
from .continuous import Beta, Exponential, Gamma, Gumbel, Laplace, Normal, Uniform
from .discrete import (
    Bernoulli,
    Categorical,
    ContinuousBernoulli,
    Multinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from .distribution import Distribution
from .kl import kl_divergence
from .transforms import AffineTransform, ExpTransform, SigmoidTransform, TanhTransform, Transform
from .vectors import Dirichlet, MultivariateNormal

__getattr__ = _explained(__name__)

_guard(__name__)
