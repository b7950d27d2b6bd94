"""The scalar formula of each of NumPy's ufuncs: that of the operation it stands for, or one that only arrays need."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import scipy.special

from ..formula import OPERATIONS
from .device_functions import digamma, erf, erfc, erfinv, lgamma, where

WHERE = lambda c, x, y: where(c, x, y)
MORE: dict[np.ufunc, Callable] = {
    np.positive: lambda x: x,
    np.floor_divide: lambda x, y: x // y,
    np.power: lambda x, y: x**y,
    np.sign: lambda x: where(x > 0, 1, where(x < 0, -1, x)),
    scipy.special.psi: lambda x: digamma(x),
    scipy.special.erf: lambda x: erf(x),
    scipy.special.erfc: lambda x: erfc(x),
    scipy.special.gammaln: lambda x: lgamma(x),
    scipy.special.erfinv: lambda x: erfinv(x),
}


@functools.cache
def formulas() -> dict[np.ufunc, Callable]:
    """The formulas by ufunc."""
    found: dict[np.ufunc, Callable] = dict(MORE)
    for cls in OPERATIONS.values():
        if isinstance(cls.ufunc, np.ufunc):
            found.setdefault(cls.ufunc, cls.kernel)
    return found
