"""Scalar functions from NumPy and SciPy, which never raise; kernels call them in the simulator
(device_functions.py)."""

# ruff: noqa: F401

import numpy as np
from numpy import abs as fabs
from numpy import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    ceil,
    copysign,
    cos,
    cosh,
    exp,
    exp2,
    expm1,
    floor,
    fmod,
    hypot,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    pow,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)
from scipy.special import erf, erfc, erfinv, gamma, gammaln


def lgamma(x):
    """Return the logarithm of the absolute value of gamma; SciPy's is -inf at -inf."""
    return abs(x) if isinf(x) else gammaln(x)


def round(x):
    """Return the nearest integer, or the even one of two."""
    return x if isinstance(x, np.integer) else np.rint(x)


def bits(x):
    """Return a float's bits as an integer of the same size."""
    return x.view(f"i{x.itemsize}")


def of_bits(n):
    """Return the float with these bits."""
    return n.view(f"f{n.itemsize}")


def vector_load(n):
    """Return the function load(a, i): a tuple of n elements of a flat array, from i on."""

    def load(a, i):
        check_adjacent(a)
        return tuple([a[i + q] for q in range(n)])

    return load


def store4(a, i, elements):
    """Write four elements of a flat array, from i on."""
    check_adjacent(a)
    for q, element in enumerate(elements):
        a[i + q] = element


def check_adjacent(a):
    """Raise ValueError for an array with steps between its elements: a GPU would access the memory in between."""
    if not a.flags.c_contiguous:
        raise ValueError(
            f"load and store take adjacent elements of {a.itemsize} bytes, not at steps of {a.strides} bytes"
        )


def aligned4(a):
    """Return True if an array has adjacent elements and begins at a multiple of four elements, or of 16 bytes."""
    return a.flags.c_contiguous and a.ctypes.data % min(4 * a.itemsize, 16) == 0


def umul64hi(x, y):
    """Return the upper half of the product of two unsigned 64-bit integers."""
    return np.uint64(int(x) * int(y) >> 64)


def function(f):
    """Mark a function as callable from kernels."""
    return f
