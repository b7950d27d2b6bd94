"""Exact values of the functions of vecmath, arguments to try them at, and errors in units of the last place."""

import functools

import mpmath as mp
import numpy as np
from numba import njit

from minigrad.kernels import vecmath

mp.mp.prec = 200
INF, NAN = float("inf"), float("nan")

# name -> its exact function and, for float32 and float64, the range in which it is neither trivial nor infinite
UNARY = {
    "exp": (mp.exp, (-105, 89), (-746, 710)),
    "exp2": (lambda x: mp.mpf(2) ** x, (-151, 128.5), (-1076, 1024.5)),
    "expm1": (mp.expm1, (-20, 89), (-40, 710)),
    "log": (mp.log, (0.01, 10), (0.01, 10)),
    "log1p": (mp.log1p, (-0.999, 3), (-0.999, 3)),
    "log2": (lambda x: mp.log(x) / mp.log(2), (0.01, 10), (0.01, 10)),
    "log10": (mp.log10, (0.01, 10), (0.01, 10)),
    "sin": (mp.sin, (-30, 30), (-30, 30)),
    "cos": (mp.cos, (-30, 30), (-30, 30)),
    "tan": (mp.tan, (-30, 30), (-30, 30)),
    "asin": (mp.asin, (-1, 1), (-1, 1)),
    "acos": (mp.acos, (-1, 1), (-1, 1)),
    "atan": (mp.atan, (-4, 4), (-4, 4)),
    "sinh": (mp.sinh, (-90, 90), (-711, 711)),
    "cosh": (mp.cosh, (-90, 90), (-711, 711)),
    "tanh": (mp.tanh, (-10, 10), (-20, 20)),
    "asinh": (mp.asinh, (-4, 4), (-4, 4)),
    "acosh": (mp.acosh, (1, 4), (1, 4)),
    "atanh": (mp.atanh, (-1, 1), (-1, 1)),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), (-105, 20), (-746, 40)),
    "erf": (mp.erf, (-4.2, 4.2), (-6.2, 6.2)),
    "erfc": (mp.erfc, (-4.2, 10.3), (-6.2, 27.3)),
    "erfinv": (mp.erfinv, (-1, 1), (-1, 1)),
    "sqrt": (mp.sqrt, (0, 10), (0, 10)),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), (0, 10), (0, 10)),
}
BINARY = {"pow": mp.power, "atan2": mp.atan2, "hypot": mp.hypot}
DTYPES = [np.float32, np.float64]


@functools.cache
def loop(name, arity=1):
    """Return a Numba loop over a function."""
    f = getattr(vecmath, name)

    def one(x_, o_):
        for i in range(o_.size):
            o_[i] = f(x_[i])

    def two(x_, y_, o_):
        for i in range(o_.size):
            o_[i] = f(x_[i], y_[i])

    return njit(error_model="numpy", nogil=True)(one if arity == 1 else two)


def evaluate(name, *arrays):
    """Return a function on arrays, in their dtype."""
    out = np.empty_like(arrays[0])
    loop(name, len(arrays))(*arrays, out)
    return out


def samples(name, dtype, n, seed=0):
    """Return arguments of a function: dense where it does something, random of every size, and near 0, 1 and pi / 2 * k."""
    r = np.random.default_rng(seed)
    low, high = UNARY[name][1 + (dtype == np.float64)]
    top = np.log10(float(np.finfo(dtype).max))
    parts = [
        np.linspace(low, high, n),
        r.uniform(low, high, n),
        r.choice([-1, 1], n) * 10.0 ** r.uniform(-top - 5, top, n),
        r.choice([-1, 1], n) * 10.0 ** r.uniform(-4, 1, n),
        1 + 10.0 ** r.uniform(-8, 0, n) * r.choice([-1, 1], n),
        np.round(r.uniform(-6e5, 6e5, n)) * (np.pi / 2),
    ]
    with np.errstate(all="ignore"):
        x = np.concatenate(parts).astype(dtype)
    return x[np.isfinite(x)]


def in_domain(name, x):
    """Return the arguments for which a function has a finite real value."""
    if name in ("log", "log2", "log10", "rsqrt"):
        return x[x > 0]
    return {
        "log1p": lambda: x[x > -1],
        "sqrt": lambda: x[x >= 0],
        "acosh": lambda: x[x >= 1],
        "atanh": lambda: x[np.abs(x) < 1],
        "erfinv": lambda: x[np.abs(x) < 1],
        "asin": lambda: x[np.abs(x) <= 1],
        "acos": lambda: x[np.abs(x) <= 1],
        **dict.fromkeys(("exp", "expm1", "exp2", "sinh", "cosh", "sigmoid"), lambda: x[np.abs(x) < 1e4]),
        **dict.fromkeys(("erf", "erfc"), lambda: x[np.abs(x) < 100]),
    }.get(name, lambda: x)()


def worst(values, exact, dtype):
    """Return the largest error of values in units of the last place of the exact ones, and where it is."""
    digits, smallest = (24, -149) if dtype == np.float32 else (53, -1074)
    limit = mp.mpf(float(np.finfo(dtype).max)) + mp.ldexp(1, (127 if dtype == np.float32 else 1023) - digits)
    errors = []
    for value, right in zip(values.tolist(), exact, strict=True):
        if abs(right) >= limit:  # rounds to infinity
            errors.append(0.0 if abs(value) == INF or abs(right) < limit * (1 + mp.ldexp(1, 1 - digits)) else INF)
        elif not np.isfinite(value):
            errors.append(INF)
        else:
            unit = max(mp.frexp(right)[1] - digits, smallest) if right else smallest
            errors.append(float(mp.ldexp(abs(value - right), -unit)))
    at = int(np.argmax(errors))
    return errors[at], at
