"""The trigamma function, the second derivative of log(gamma).

From 1/2 on it is the sum of 1 / (x + k)**2 for k < 8, as one fraction, and the asymptotic series at x + 8, whose coefficients
are Bernoulli's numbers; below by reflection, pi**2 / sin(pi x)**2 less its value at 1 - x.  Source: Abramowitz and Stegun,
Handbook of Mathematical Functions, 6.4.  float32 is computed in float64, which errs by at most 10
units in the last place: where both terms of the reflection are of one size.
"""

from __future__ import annotations

from .lanes import F64, Lane, call, function, polynomial, where
from .trigonometric import turned

PI = 3.141592653589793
STEPS, NEAR = 8, 12.0  # from NEAR on the series needs no steps
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def fraction(x: Lane, first: int, n: int) -> tuple[Lane, Lane]:
    """The sum of 1 / (x + k)**2 for n numbers k, as numerator and denominator."""
    if n == 1:
        return x.like(1.0), (x + float(first)) * (x + float(first))
    (a, b), (c, d) = fraction(x, first, n // 2), fraction(x, first + n // 2, n // 2)
    return a * d + c * b, b * d


def from_half(x: Lane) -> Lane:
    """trigamma(x) for x >= 1/2."""
    near = x < NEAR
    over, below = fraction(where(near, x, 1.0), 0, STEPS)
    inverse = 1 / where(near, x + float(STEPS), x)
    square = inverse * inverse
    far = inverse + 0.5 * square + inverse * square * polynomial(square, BERNOULLI)
    return far + where(near, over / below, 0.0)


@function
def trigamma(x):
    """The derivative of digamma; infinite at 0, -1, -2, ..."""
    kind, x = x.v.type, x.to(F64)
    low = x < 0.5
    value = from_half(where(low, 1 - x, x))
    sine = turned(PI * (x - call("rint", x)), 0)
    return where(low, PI * PI / (sine * sine) - value, value).to(kind)
