"""Logarithms: log, log1p, log2, log10, and the inverse hyperbolic functions.

x = 2**k * (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), and log(1 + f) = f - f*f/2 + tail(f).
"""

import math

from .exponential import LN2, LN2_LOW, NEGLIGIBLE, TINY
from .lanes import (
    BIAS,
    INF,
    MANTISSA,
    NAN,
    Lane,
    bits,
    call,
    fast_two_sum,
    from_bits,
    function,
    polynomial,
    quotient,
    sign_of,
    to_real,
    two_product,
    two_sum,
    where,
)

NORMAL = (2.0**-126, 2.0**-1022)  # the smallest normal number
LIFT = (24, 54)  # denormals are multiplied by 2**LIFT
ROOT_HALF = (0x3F3504F3, 0x3FE6A09E667F3BCD)  # the bits of sqrt(1/2)
# float32: tail(f) = f**3 * P(f), a Remez fit. float64: fdlibm, e_log.c (Sun Microsystems 1993).
TAIL = (0.333333126043, -0.250000095995, 0.200021186378, -0.166679958304, 0.142195527763, -0.124055896932,
        0.118881601171, -0.116756459431, 0.0674663754999)  # fmt: skip
TAIL_ATANH = (6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
              1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01)  # fmt: skip


def split(x: Lane) -> tuple[Lane, Lane]:
    """Return k, as a real number, and f."""
    tiny = x < x.pick(*NORMAL)
    i = bits(where(tiny, x * x.pick(*[2.0**n for n in LIFT]), x))
    mantissa, bias = x.pick(*MANTISSA), x.pick(*BIAS)
    k = ((i + ((bias << mantissa) - x.pick(*ROOT_HALF))) >> mantissa) - bias
    f = from_bits(i - (k << mantissa)) - 1
    return to_real(k) - where(tiny, float(x.pick(*LIFT)), x.like(0.0)), f


def tail(f: Lane) -> Lane:
    """Return log(1 + f) - f + f*f/2."""
    if f.pick(True, False):
        return f * f * f * polynomial(f, TAIL)
    s = f / (2 + f)
    z = s * s
    return s * (0.5 * f * f + z * polynomial(z, TAIL_ATANH))


def edges(x: Lane, result: Lane) -> Lane:
    """Return a logarithm of x with its values at 0, infinity, and negative x."""
    result = where(x == INF, INF, result)
    return where(x > 0, result, where(x == 0, -INF, x.like(NAN)))


def log_of(x: Lane, low: Lane | None = None) -> Lane:
    """Return log(x + low)."""
    k, f = split(x)
    rest = tail(f) + k * x.pick(*LN2_LOW)
    if low is not None:
        rest = rest + low / x
    return edges(x, k * x.pick(*LN2) + (f - (0.5 * f * f - rest)))


@function
def log(x):
    """Return the natural logarithm."""
    return log_of(x)


@function
def log1p(x):
    """Return log(1 + x), accurate also for small x."""
    total, lost = two_sum(1, x)
    return where(abs(x) < x.pick(*NEGLIGIBLE), x, where(x == INF, INF, log_of(total, lost)))


def to_base(x: Lane, factor: tuple, step: tuple) -> Lane:
    """Return log(x) * factor, where `step` is log(2) * factor; both are sums of two numbers, so exact powers stay exact."""
    k, f = split(x)
    square, lost = two_product(f, 0.5 * f)
    high, low = fast_two_sum(f, -square)
    low = low - lost + tail(f)
    high, low = fast_two_sum(high, low)
    p, rest = two_product(high, factor[0])
    total, lost = fast_two_sum(k * step[0], p)
    return edges(x, total + (lost + (rest + high * factor[1] + low * factor[0] + k * step[1])))


@function
def log2(x):
    """Return the logarithm to base 2."""
    factor = x.pick((1.4426950216293335, 1.925963033500011e-8), (1.4426950408889634, 2.0355273740931033e-17))
    return to_base(x, factor, (1.0, 0.0))


@function
def log10(x):
    """Return the logarithm to base 10."""
    factor = x.pick((0.4342944920063019, -1.0103049952192578e-8), (0.4342944819032518, 1.098319650216765e-17))
    step = x.pick((0.301025390625, 4.605039066518657e-6), (0.301029995663157, 8.241712586023572e-13))
    return to_base(x, factor, step)


@function
def asinh(x):
    """Return the inverse hyperbolic sine, log(a + sqrt(a*a + 1)) for a = |x|; log(2a) if a*a might overflow."""
    a = abs(x)
    big = a > x.pick(2.0**30, 2.0**60)
    b = where(big, 0.0, a)
    u, low = two_sum(1, b + b * b / (1 + call("sqrt", b * b + 1)))
    result = log_of(where(big, a, u), where(big, 0.0, low)) + where(big, math.log(2), x.like(0.0))
    return where(a < x.pick(*TINY), x, sign_of(result, x))


@function
def acosh(x):
    """Return the inverse hyperbolic cosine, log(x + sqrt(x*x - 1)); NaN below 1."""
    big = x > x.pick(2.0**30, 2.0**60)
    t = where(big, 1.0, x) - 1
    above, lost = two_sum(t, 2)
    w, w_low = two_product(t, above)
    root = call("sqrt", w)
    p, rest = two_product(root, root)
    root_low = where(w > 0, ((w - p) - rest + (w_low + t * lost)) * (0.5 / root), 0.0)
    v, v_low = two_sum(t, root)
    u, low = two_sum(1, v)
    result = log_of(where(big, x, u), where(big, 0.0, low + (v_low + root_low))) + where(big, math.log(2), x.like(0.0))
    return where(x < 1, x.like(NAN), result)


@function
def atanh(x):
    """Return the inverse hyperbolic tangent, half of log(1 + 2a / (1 - a)), a = |x|; NaN outside [-1, 1]."""
    a = abs(x)
    below, below_low = fast_two_sum(1, -a)
    q, left, inverse = quotient(2 * a, below)
    total, low = two_sum(1, q)
    result = 0.5 * log_of(total, low + (left - q * below_low) * inverse)
    result = where(a == 1, INF, result)
    return where(a < x.pick(*TINY), x, sign_of(result, x))
