"""sin, cos, tan and their inverses.

x = k * pi/2 + r with an integer k. Polynomials give sine and cosine of r, and the last two bits of k select one of them and
its sign. Subtracting k * pi/2 in three parts is accurate enough for |x| <= 1e6, however close x is to a multiple of pi/2;
larger arguments go to the C library (see `rarely`). For float32 this needs fused multiplications: without them, and for
tangents and inverses, float32 is computed in float64.
"""

import math
from typing import Any

from .exponential import TINY
from .lanes import (
    F32,
    F64,
    INF,
    Lane,
    bits,
    call,
    fast_two_sum,
    from_bits,
    function,
    fused,
    has,
    libm,
    nearest,
    polynomial,
    quotient,
    rarely,
    sign_of,
    two_product,
    two_sum,
    where,
)

HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
HALF_PI_SINGLE = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
LARGEST = 1e6
# Source of the polynomials: fdlibm, k_sin.c and k_cos.c (Sun Microsystems 1993), and FreeBSD, k_sinf.c and k_cosf.c.
SIN = (-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
       2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10)  # fmt: skip
COS = (4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
       -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11)  # fmt: skip
SIN_SINGLE = (-0.166666666416265235595, 0.0083333293858894631756, -0.000198393348360966317347,
              0.0000027183114939898219064)  # fmt: skip
COS_SINGLE = (-0.499999997251031003120, 0.0416666233237390631894, -0.00138867637746099294692,
              0.0000243904487962774090654)  # fmt: skip


def is_large(x: Lane) -> Lane:
    """Return True if an argument goes to the C library, as infinities do."""
    return abs(x) > LARGEST


def sine_and_cosine(x: Lane, single: bool) -> tuple:
    """Return sine and cosine of r, each as a sum of two numbers, and k; with `single`, only as accurate as float32 needs."""
    k, i = nearest(x, 2 / math.pi)
    if x.pick(True, False):
        r = x
        for part in HALF_PI_SINGLE:  # the first step is exact: all remaining digits fit
            r = fused(-k, part, r)
    else:
        p, lost = two_product(k, HALF_PI[0])
        r = (x - p) - lost  # exact
    if single:
        r = r if x.pick(True, False) else r - k * HALF_PI[1]
        z = r * r
        return (r + r * z * polynomial(z, SIN_SINGLE), 0.0), (1 + z * polynomial(z, COS_SINGLE), 0.0), i
    p, lost = two_product(k, HALF_PI[1])
    r, low = two_sum(r, -p)
    r, low = fast_two_sum(r, (low - lost) - k * HALF_PI[2])
    z = r * r
    v, half = z * r, 0.5 * z
    sine = fast_two_sum(r, v * SIN[0] - (z * (0.5 * low - v * polynomial(z, SIN[1:])) - low))
    cosine, rest = fast_two_sum(1, -half)
    return sine, fast_two_sum(cosine, rest + (z * z * polynomial(z, COS) - r * low)), i


def turned(x: Lane, quarter: int) -> Lane:
    """Return sin(x + quarter * pi/2)."""
    (sine, _), (cosine, _), i = sine_and_cosine(x if has("fma") else x.to(F64), x.pick(True, False))
    i = i + quarter
    result = where((i & 1) == 0, sine, cosine)
    return from_bits(bits(result) ^ ((i & 2) << i.pick(30, 62))).to(x.v.type)


@function
def sin(x):
    """Return the sine of x in radians."""
    return rarely("sin", is_large, libm("sin"), where(abs(x) < x.pick(*TINY), x, turned(x, 0)), x)


@function
def cos(x):
    """Return the cosine of x in radians."""
    return rarely("cos", is_large, libm("cos"), turned(x, 1), x)


@function
def tan(x):
    """Return the tangent of x in radians."""
    (s, s_low), (c, c_low), i = sine_and_cosine(x.to(F64), x.pick(True, False))
    even = (i & 1) == 0
    over, below = where(even, s, -c), where(even, c, s)
    if x.pick(True, False):
        result = (over / below).to(F32)
    else:
        q, left, inverse = quotient(over, below)
        over_low, below_low = where(even, s_low, -c_low), where(even, c_low, s_low)
        result = q + (left + (over_low - q * below_low)) * inverse
    return rarely("tan", is_large, libm("tan"), where(abs(x) < x.pick(*TINY), x, result), x)


# ---------------------------------------------------------------------- inverses
# (f(x) - x) / x**3 as polynomials of x*x, Remez fits: atan for |x| <= tan(pi/8), asin for |x| <= 1/2.
ATAN = (
    (-0.333333317857740523, 0.1999954461561342888, -0.1426406433555681512, 0.1074464390820662415, -0.0645430295060775523),
    (-0.3333333333333333322, 0.1999999999999980665, -0.1428571428566027823, 0.1111111110519256838,
     -0.09090908755056372521, 0.0769229641265322613, -0.06666425445280000884, 0.0587893424743555708,
     -0.05230485150973087736, 0.04551702197570198926, -0.03457262419853439086, 0.01628729763687590177),
)  # fmt: skip
ASIN = (
    (0.1666666631706134148, 0.07500098752722123056, 0.0445980218135231667, 0.03111642051546995415,
     0.01707598946050941642, 0.03380978880909024537),
    (0.1666666666666666792, 0.07499999999998327236, 0.04464285714655997669, 0.03038194412304830998,
     0.02237217354696882394, 0.01735237879369996403, 0.01397141611779019578, 0.01147722816665745935,
     0.01033528434814375622, 0.005404841167225711801, 0.01754187446296910956, -0.01506864898275234112,
     0.02890360027897670921),
)  # fmt: skip
ENDLESS = (2.0**30, 2.0**60)  # atan of larger x is pi/2
HALF, HALF_LOW = (1.5707963705062866, 1.5707963267948966), (-4.371138828673793e-08, 6.123233995736766e-17)


def arctangent(a: Lane, low: Any = 0.0) -> Lane:
    """Return atan(a + low) for a >= 0, from -1/a or (a - 1) / (a + 1) if these are smaller."""
    a = where(a > a.pick(*ENDLESS), a.like(a.pick(*ENDLESS)), a)
    far, middle = a > 1 + math.sqrt(2), a > math.sqrt(2) - 1
    (under, under_low), (above, above_low) = two_sum(a, -1), two_sum(a, 1)
    over, over_low = (
        where(far, -1.0, where(middle, under, a)),
        where(far, 0.0, where(middle, under_low + low, a.like(low))),
    )
    below = where(far, a, where(middle, above, a.like(1.0)))
    below_low = where(far, low, where(middle, above_low + low, a.like(0.0)))
    t, left, inverse = quotient(over, below)
    t_low = (left + (over_low - t * below_low)) * inverse
    share = where(far, 1.0, where(middle, 0.5, a.like(0.0)))
    z = t * t
    rest = t * z * polynomial(z, a.pick(*ATAN)) + (t_low + share * a.pick(*HALF_LOW))
    return share * a.pick(*HALF) + (t + rest)


@function
def atan(x):
    """Return the angle in (-pi/2, pi/2) whose tangent is x."""
    a = abs(x)
    return where(a < x.pick(*TINY), x, sign_of(arctangent(a), x))


@function
def atan2(y, x):
    """Return the angle in [-pi, pi] of the point (x, y), in float64 for float32."""
    kind, y, x = x.v.type, y.to(F64), x.to(F64)
    a, b = abs(x), abs(y)
    steep = b > a
    over, below = where(steep, a, b), where(steep, b, a)
    q = over / below
    p, lost = two_product(q, below)
    low = where((over > 2.0**-900) & (below < INF), ((over - p) - lost) / below, 0.0)  # denormals lose too many digits
    q = where(over == below, where(below == 0, 0.0, x.like(1.0)), q)
    angle = arctangent(q, low)
    left = sign_of(x.like(1.0), x) < 0
    angle = where(steep, HALF[1] - (angle - HALF_LOW[1]), angle)
    angle = where(left, 2 * HALF[1] - (angle - 2 * HALF_LOW[1]), angle)
    return where((x != x) | (y != y), x + y, sign_of(angle, y)).to(kind)


def arc(a: Lane) -> tuple[Lane, Lane, Lane]:
    """Return asin(t) as a sum of two numbers, for t = a if a <= 1/2, else sqrt((1 - a) / 2); and True for the second case."""
    far = a > 0.5
    z = where(far, 0.5 - 0.5 * a, a * a)
    t = where(far, call("sqrt", z), a)
    p, lost = two_product(t, t)
    low = where(far & (t > 0), ((z - p) - lost) / (2 * t), 0.0)  # rounding error of the square root
    return t, t * z * polynomial(z, a.pick(*ASIN)) + low, far


@function
def asin(x):
    """Return the angle in [-pi/2, pi/2] whose sine is x; NaN outside [-1, 1]."""
    a = abs(x)
    t, rest, far = arc(a)
    high, low = fast_two_sum(x.pick(*HALF), -2 * t)
    result = where(far, high + (low + (x.pick(*HALF_LOW) - 2 * rest)), t + rest)
    return where(a < x.pick(*TINY), x, sign_of(result, x))


@function
def acos(x):
    """Return the angle in [0, pi] whose cosine is x; NaN outside [-1, 1]."""
    t, rest, far = arc(abs(x))
    side = sign_of(x.like(1.0), x)
    high, low = fast_two_sum(x.pick(*HALF), -t * side)
    near = high + (low + (x.pick(*HALF_LOW) - rest * side))
    high, low = fast_two_sum(2 * x.pick(*HALF), -2 * t)
    beyond = where(x > 0, 2 * (t + rest), high + (low + (2 * x.pick(*HALF_LOW) - 2 * rest)))
    return where(far, beyond, near)
