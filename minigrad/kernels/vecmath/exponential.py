"""Exponentials: exp, exp2, expm1, and the functions built on them, sigmoid, sinh, cosh and tanh.

x = k * log(2) + r with an integer k, and exp(x) = 2**k * (1 + r + r*r*P(r)). P is the polynomial with the smallest maximal
relative error over |r| <= log(2) / 2 (exchange algorithm of Remez, in 60 digits).
"""

import math
from typing import Any

from .lanes import Lane, fast_two_sum, function, nearest, polynomial, pow2, quotient, scale, sign_of, where

LOG2E = 1 / math.log(2)
LN2 = (0.693359375, 0.693147180369123816490)  # leading digits, so few that k * LN2 is exact: Cephes, fdlibm
LN2_LOW = (-2.12194440054690583e-4, 1.90821492927058770002e-10)  # the rest of log(2)
EXP = (
    (0.499999934483899552, 0.166665206265789684, 0.0416683877074944672, 0.00836871749175752443, 0.00138146283923441556),
    (0.500000000000001063, 0.166666666666664125, 0.0416666666665301478, 0.00833333333349443379, 0.0013888888943633289,
     0.000198412695066673423, 0.0000248014930953548058, 2.75575862715497256e-6, 2.76302497250572549e-7,
     2.5000100923086432e-8),
)  # fmt: skip
# one more degree, for results as small as r and for float32 results computed in float64
EXP_LONG = (0.500000006768688885, 0.166666658691162878, 0.0416662949314290869, 0.00833349701983942437,
            0.00139446607521247929, 0.000197903788342331057)  # fmt: skip
LOWEST, HIGHEST = (-104.0, -746.0), (89.0, 710.0)  # beyond, exp is 0 or infinite
TINY = (2.0**-13, 2.0**-28)  # below, odd functions with derivative 1 at 0 are x itself,
NEGLIGIBLE = (2.0**-25, 2.0**-54)  # and other functions that begin with x


def clamp(x: Lane, lowest: float, highest: float) -> Lane:
    """Return x limited to [lowest, highest]; NaN stays NaN."""
    x = where(x > highest, highest, x)
    return where(x < lowest, lowest, x)


def reduce(x: Lane, low: Any = 0.0) -> tuple[Lane, Lane]:
    """Return t and k so that exp(x + low) is (1 + t) * 2**k."""
    k, i = nearest(x, LOG2E)
    r, lost = fast_two_sum(x - k * x.pick(*LN2), low - k * x.pick(*LN2_LOW))
    return r + (r * r * polynomial(r, x.pick(*EXP)) + lost), i


def exp_single(x: Lane) -> Lane:
    """Return exp in float64 with float32 accuracy, for arguments and results in the range of float32."""
    k, i = nearest(x, LOG2E)
    r = x - k * math.log(2)
    return polynomial(r, (1.0, 1.0, *EXP_LONG)) * pow2(i)


def exp_of(x: Lane, shift: int = 0) -> Lane:
    """Return exp(x) * 2**shift."""
    return exp_inside(clamp(x, x.pick(*LOWEST), x.pick(*HIGHEST) + 1.0), shift)


def exp_inside(x: Lane, shift: int = 0) -> Lane:
    """Return exp(x) * 2**shift, for x not far beyond the range where exp is finite and not 0."""
    k, i = nearest(x, LOG2E)
    r = x - k * x.pick(*LN2) - k * x.pick(*LN2_LOW)
    return scale(polynomial(r, (1.0, 1.0, *x.pick(*EXP))), i + shift)


@function
def exp(x):
    """Return e to the power of x."""
    return exp_of(x)


@function
def exp2(x):
    """Return 2 to the power of x."""
    x = clamp(x, *x.pick((-151.0, 129.0), (-1076.0, 1025.0)))
    k, i = nearest(x, 1.0)
    r = (x - k) * math.log(2)
    return scale(polynomial(r, (1.0, 1.0, *x.pick(*EXP))), i)


@function
def expm1(x):
    """Return exp(x) - 1, accurate also for small x."""
    y = clamp(x, x.pick(-18.0, -40.0), x.pick(*HIGHEST))
    k, i = nearest(y, LOG2E)
    high, low = y - k * x.pick(*LN2), k * x.pick(*LN2_LOW)
    r, lost = fast_two_sum(high, -low)
    rest = r * r * polynomial(r, x.pick(EXP_LONG, EXP[1])) + lost
    half = pow2(i - 1)  # 2**k would be infinite for the largest x
    total, lost = fast_two_sum(half - 0.5, half * r)
    return where(abs(x) < x.pick(*NEGLIGIBLE), x, 2 * (total + (lost + half * rest)))


@function
def sigmoid(x):
    """Return 1 / (1 + exp(-x)), computed from the exponential that cannot overflow."""
    t, i = reduce(clamp(-abs(x), x.pick(*LOWEST), 0.0))
    total, lost = fast_two_sum(1, scale(1 + t, i))
    q, left, _ = quotient(x.like(1.0), total)
    low = (left - q * lost) * q
    return where(x < 0, scale(q + (q * t + low * (1 + t)), i), q + low)


# Sources: Cephes, tanh.c, tanhf.c, sinh.c, sinhf.c (Moshier 1989 to 1995): rational functions of x*x.
TANH = ((-3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2, 2.06390887954e-2, -5.70498872745e-3),
        (-1.61468768441708447952e3, -9.92877231001918586564e1, -9.64399179425052238628e-1))  # fmt: skip
TANH_BELOW = ((1.0,), (4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2, 1.0))
SINH = ((1.66667160211e-1, 8.33028376239e-3, 2.03721912945e-4),
        (-3.51754964808151394800e5, -1.15614435765005216044e4, -1.63725857525983828727e2,
         -7.89474443963537015605e-1))  # fmt: skip
SINH_BELOW = ((1.0,), (-2.11052978884890840399e6, 3.61578279834431989373e4, -2.77711081420602794433e2, 1.0))


@function
def tanh(x):
    """Return the hyperbolic tangent: x + x**3 * P(x*x) / Q(x*x) near 0, else 1 - 2 / (exp(2x) + 1)."""
    a, z = abs(x), x * x
    near = a < 0.625
    over = where(near, a * z * polynomial(z, x.pick(*TANH)), -2.0)
    below = where(near, polynomial(z, x.pick(*TANH_BELOW)), exp_of(2 * a) + 1)
    return where(a < x.pick(*TINY), x, sign_of(where(near, a, 1.0) + over / below, x))


@function
def sinh(x):
    """Return the hyperbolic sine: a rational function below 1, else half of exp(x) - exp(-x)."""
    a, z = abs(x), x * x
    near = a < 1
    half = exp_of(a, -1)
    quotient = where(near, a * z * polynomial(z, x.pick(*SINH)), -0.25) / where(
        near, polynomial(z, x.pick(*SINH_BELOW)), half
    )
    return where(a < x.pick(*TINY), x, sign_of(where(near, a, half) + quotient, x))


@function
def cosh(x):
    """Return the hyperbolic cosine, half of exp(x) + exp(-x)."""
    half = exp_of(abs(x), -1)
    return half + 0.25 / half
