"""The logarithm of gamma, and trigamma, its second derivative.

trigamma: from 1/2 on, the sum of 1 / (x + k)**2 for k < 8 as one fraction, plus the asymptotic series at x + 8, whose
coefficients are Bernoulli numbers; below, by reflection, pi**2 / sin(pi x)**2 minus its value at 1 - x. float32 is computed
in float64, and errs by at most 10 units in the last place, where both terms of the reflection have the same size.

lgamma: likewise with eight steps, Stirling's series and reflection, all products under one logarithm, in float64 for
float32. For float64, which would lose digits where lgamma is close to 0, it is the C library's function.

Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 6.1 and 6.4.
"""

from .lanes import F64, INF, Lane, call, declared, function, polynomial, where
from .logarithm import log_of
from .trigonometric import turned

PI = 3.141592653589793
STEPS, NEAR = 8, 12.0  # from NEAR on the series needs no steps
HALF_LOG_TWO_PI = 0.9189385332046727
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def fraction(x: Lane, first: int, n: int) -> tuple[Lane, Lane]:
    """Return the sum of 1 / (x + k)**2 for n numbers k, as numerator and denominator."""
    if n == 1:
        return x.like(1.0), (x + float(first)) * (x + float(first))
    (a, b), (c, d) = fraction(x, first, n // 2), fraction(x, first + n // 2, n // 2)
    return a * d + c * b, b * d


def from_half(x: Lane) -> Lane:
    """Return trigamma(x) for x >= 1/2."""
    near = x < NEAR
    over, below = fraction(where(near, x, 1.0), 0, STEPS)
    inverse = 1 / where(near, x + float(STEPS), x)
    square = inverse * inverse
    far = inverse + 0.5 * square + inverse * square * polynomial(square, BERNOULLI)
    return far + where(near, over / below, 0.0)


@function
def trigamma(x):
    """Return the derivative of digamma; infinite at 0, -1, -2, ..."""
    kind, x = x.v.type, x.to(F64)
    low = x < 0.5
    value = from_half(where(low, 1 - x, x))
    sine = turned(PI * (x - call("rint", x)), 0)
    return where(low, PI * PI / (sine * sine) - value, value).to(kind)


@function
def lgamma(x):
    """Return the logarithm of the absolute value of gamma; infinite at 0, -1, -2, ... and at both infinities."""
    if x.pick(False, True):
        return by_library(x)
    kind, x = x.v.type, x.to(F64)
    low = x < 0.5
    z = where(low, 1 - x, x)
    near = z < NEAR
    below, product = where(near, z, 1.0), x.like(1.0)
    for k in range(STEPS):
        product = product * (below + float(k))
    product = where(near, product, 1.0)
    z = where(near, z + float(STEPS), z)
    inverse = 1 / z
    stirling = (z - 0.5) * log_of(z) - z + (HALF_LOG_TWO_PI + inverse * polynomial(inverse * inverse, STIRLING))
    sine = abs(turned(PI * (x - call("rint", x)), 0))
    rest = log_of(where(low, PI * product, 1.0) / where(low, sine, product))
    value = where((x == 1) | (x == 2), 0.0, where(low, rest - stirling, rest + stirling))
    return where(abs(x) == INF, INF, value).to(kind)


def by_library(x: Lane) -> Lane:
    """Return the C library's lgamma."""
    return x.new(x.b.call(declared(x.b.module, "lgamma", F64), [x.v]))
