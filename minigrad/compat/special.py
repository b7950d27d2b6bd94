"""torch.special: functions that mostly have another name at the top level."""

from ..ops.elementary import digamma, erf, erfc, exp2, expm1, log1p, polygamma, sinc, xlogy
from ..ops.elementary import digamma as psi
from ..ops.elementary import lgamma as gammaln
from ..ops.elementary import sigmoid as expit
from ..ops.inverses import erfinv, logit
from ..ops.nn.softmax import log_softmax, logsumexp, softmax
from ..ops.rounding import round
from ..ops.special_functions import entr, erfcx, i0, i0e, i1, i1e, log_ndtr, ndtr, ndtri, xlog1py, zeta
from ..ops.special_functions import mvlgamma as multigammaln

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
