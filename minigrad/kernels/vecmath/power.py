"""x to the power of y, as exp(y * log(x)).

float64 needs a logarithm of about 68 bits, because y * log(x) may be as large as 745: a sum of two numbers, from the series
log(m) = 2s + 2/3 s**3 + s**5 * R(s*s), s = (m - 1) / (m + 1), with the first two terms in doubled precision and a Remez fit
for R. float32 is computed in float64.
"""

from .exponential import LN2, clamp, exp_single, reduce
from .lanes import F64, INF, Lane, call, fast_two_sum, function, polynomial, quotient, scale, two_product, where
from .logarithm import split

LN2_LOW = 1.9082149292705877e-10
R = (0.3999999999999999982, 0.2857142857142937318, 0.2222222222165176148, 0.1818181833630457608, 0.1538459486712995953,
     0.1333480978924650675, 0.1170610199741313195, 0.1172456447996996971)  # fmt: skip
R_SINGLE = (0.6666666666738154838, 0.3999999878932009325, 0.2857175606602336495, 0.2219130854849074936,
            0.193643756017557824)  # fmt: skip
TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)


def log_single(x: Lane) -> Lane:
    """Return log(x) in float64 with 40 bits, for positive normal x."""
    k, f = split(x)
    s = f / (2 + f)
    return k * 0.6931471805599453 + (2 * s + s * s * s * polynomial(s * s, R_SINGLE))


def log_double(x: Lane) -> tuple[Lane, Lane]:
    """Return log(x) as a sum of two numbers, for positive x."""
    k, f = split(x)
    below, lost = fast_two_sum(2, f)
    s, left, inverse = quotient(f, below)
    s_low = (left - s * lost) * inverse
    z, z_low = two_product(s, s)
    z_low = z_low + 2 * s * s_low
    cube, cube_low = two_product(z, s)
    cube_low = cube_low + (z * s_low + z_low * s)
    third, third_low = two_product(cube, TWO_THIRDS[0])
    third_low = third_low + (cube * TWO_THIRDS[1] + cube_low * TWO_THIRDS[0]) + cube * z * polynomial(z, R)
    total, e1 = fast_two_sum(k * LN2[1], 2 * s)
    total, e2 = fast_two_sum(total, third)
    return fast_two_sum(total, (e1 + e2) + (k * LN2_LOW + (2 * s_low + third_low)))


@function
def pow(x, y):
    """Return x to the power of y; NaN for negative x and fractional y. Any x to the power of 0 is 1."""
    kind, single = x.v.type, x.pick(True, False)
    x, y = x.to(F64), y.to(F64)
    a, times = abs(x), clamp(y, -1e25, 1e25)  # for larger |y| the result is 0, 1 or infinite
    if single:
        result = exp_single(clamp(times * log_single(a), -120.0, 120.0))
    else:
        high, low = log_double(a)
        p, lost = two_product(times, high)
        inside = abs(p) < 800
        q, i = reduce(clamp(p, -800.0, 800.0), where(inside, lost + times * low, 0.0))
        result = scale(1 + q, i)
    result = where(a == INF, where(y > 0, INF, x.like(0.0)), result)
    result = where(a == 0, where(y > 0, 0.0, x.like(INF)), result)
    whole = call("floor", y) == y
    odd = whole & (call("floor", 0.5 * y) * 2 != y)
    negative = call("copysign", x.like(1.0), x) < 0
    result = where(negative & odd, -result, result)
    result = where((x < 0) & ~whole & (a < INF), x.like(float("nan")), result)
    result = where((x != x) | (y != y), x + y, result)
    return where((y == 0) | (x == 1), 1.0, result).to(kind)
