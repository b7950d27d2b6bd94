"""torch.special: functions that mostly have another name at the top level."""

from ..ops.elementary import digamma, erf, erfc, exp2, expm1, log1p, polygamma, sinc, xlogy
from ..ops.elementary import digamma as psi
from ..ops.elementary import lgamma as gammaln
from ..ops.elementary import sigmoid as expit
from ..ops.inverses import erfinv, logit
from ..ops.nn.softmax import log_softmax, logsumexp, softmax
from ..ops.rounding import round

__all__ = [
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "log1p",
    "log_softmax",
    "logit",
    "logsumexp",
    "polygamma",
    "psi",
    "round",
    "sinc",
    "softmax",
    "xlogy",
]
