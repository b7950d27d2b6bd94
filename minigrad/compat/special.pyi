"""torch.special: functions that mostly have another name at the top level."""

# `make contents` writes this file from the declarations in ops/.
from collections.abc import Sequence

from ..core.tensor import Tensor
from ..nn.functional import log_softmax, softmax
from ..nn.functional import sigmoid as expit

__all__ = [
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
    "zeta",
]

def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Derivative of lgamma."""

def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function: 2 / sqrt(pi) times the integral of exp(-t*t) from 0 to x."""

def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(x), accurate where erf is close to 1 too."""

def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of x."""

def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x) - 1, accurate for small x too."""

def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + x), accurate for small x too."""

def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the n-th derivative of digamma.  Raises RuntimeError for negative n.

    From n = 171 on its factor n! is infinite, as in PyTorch.

    >>> import minigrad
    >>> minigrad.polygamma(1, minigrad.tensor(1.))  # pi**2 / 6
    tensor(1.6449)
    """

def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi x) / (pi x); 1 at 0."""

def xlogy(input: Tensor | float, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """x * log(y); 0 where x is 0 (unless y is NaN)."""

def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Derivative of lgamma."""

def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the absolute value of the gamma function; infinite at 0, -1, -2, ..."""

def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the error function; infinite at -1 and 1, NaN beyond."""

def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return log(x / (1 - x)), the inverse of sigmoid: NaN outside [0, 1], unless `eps` clamps x to [eps, 1 - eps] first.

    >>> import minigrad
    >>> minigrad.logit(minigrad.tensor([0.5, 0.75]))
    tensor([0.0000, 1.0986])
    """

def logsumexp(input: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return log(sum(exp(input))) over the dimensions `dim`, without overflow; -inf for an empty sum.

    Integers are converted to the default dtype.

    >>> import minigrad
    >>> minigrad.logsumexp(minigrad.tensor([100., 100.]), 0)
    tensor(100.6931)
    """

def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """Round to the nearest integer, to the even one in a tie; or to `decimals` decimals (floats only).

    >>> import minigrad
    >>> minigrad.round(minigrad.tensor([0.5, 1.5, 2.345]), decimals=2)
    tensor([0.5000, 1.5000, 2.3400])
    """

def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The entropy -x * log(x): 0 at 0, and -inf for negative x."""

def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x*x) times erfc(x), which does not underflow."""

def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind and order 0."""

def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(-|x|) times i0, which does not overflow."""

def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind and order 1."""

def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(-|x|) times i1, which does not overflow."""

def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of ndtr, accurate for small probabilities too."""

def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the probability that a standard normal variable is below x.

    >>> import minigrad
    >>> minigrad.special.ndtr(minigrad.tensor([0., 1.96]))
    tensor([0.5000, 0.9750])
    """

def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The quantile of the standard normal distribution at probability x: the inverse of ndtr."""

def xlog1py(input: Tensor | float, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """x * log1p(y); 0 where x is 0 (unless y is NaN)."""

def zeta(input: Tensor | float, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """Hurwitz's zeta function, the sum of (k + q)**-x over k = 0, 1, ...; only q has a derivative."""

def multigammaln(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of the gamma function of p dimensions, which normalizes Wishart's distribution: the sum over
    i < p of lgamma(x - i/2), plus p * (p-1) / 4 * log(pi).

    Raises RuntimeError for p < 1.
    """
