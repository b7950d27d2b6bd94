"""The scalar formula of each of NumPy's ufuncs: that of the operation it stands for, or one that only arrays need."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import scipy.special

from ..formula import OPERATIONS
from .device_functions import digamma, erf, erfc, erfinv, exp, lgamma, log1p, where

WHERE = lambda c, x, y: where(c, x, y)
LOG_TWO = 0.6931471805599453
MORE: dict[np.ufunc, Callable] = {
    np.equal: lambda x, y: x == y,
    np.not_equal: lambda x, y: x != y,
    np.logical_and: lambda x, y: (x != 0) & (y != 0),
    np.logical_or: lambda x, y: (x != 0) | (y != 0),
    np.logical_xor: lambda x, y: (x != 0) ^ (y != 0),
    np.logical_not: lambda x: x == 0,
    np.positive: lambda x: x,
    np.floor_divide: lambda x, y: x // y,
    np.power: lambda x, y: x**y,
    np.sign: lambda x: where(x > 0, 1, where(x < 0, -1, x)),
    scipy.special.psi: lambda x: digamma(x),
    scipy.special.erf: lambda x: erf(x),
    scipy.special.erfc: lambda x: erfc(x),
    scipy.special.gammaln: lambda x: lgamma(x),
    scipy.special.erfinv: lambda x: erfinv(x),
    np.maximum: lambda x, y: where(x != x, x, where(x > y, x, y)),
    np.minimum: lambda x, y: where(x != x, x, where(x < y, x, y)),
    np.logaddexp: lambda x, y: where(x == y, x + LOG_TWO, where(x > y, x + log1p(exp(y - x)), y + log1p(exp(x - y)))),
}


@functools.cache
def formulas() -> dict[np.ufunc, Callable]:
    """The formulas by ufunc."""
    found: dict[np.ufunc, Callable] = dict(MORE)
    for cls in OPERATIONS.values():
        if isinstance(cls.ufunc, np.ufunc):
            found.setdefault(cls.ufunc, cls.kernel)
    return found
