"""The error function, its complement and its inverse.

Below a limit erf(x) = x + x * P(x*x).  Above, erfc(x) = exp(-x*x) / (1 + 2x) * R(t) with t = (x - K) / (x + K): a function so
tame that one polynomial serves up to the largest x whose erfc is not 0.  Source of that form: Shepherd and Laframboise,
Chebyshev approximation of (1 + 2x) exp(x**2) erfc x, Mathematics of Computation 36 (1981).  The coefficients are the best
in the sense of Remez, computed in 60 digits: P for the relative error, R of erf for the absolute one (as 1 - erfc).

The inverse is x + x * P(w) with w = -log(1 - x*x) below 5, else s + s * Q((s - 3) / (s + 3)) with s = sqrt(w); P and Q are
again the best for the relative error.  Source of w: Giles, Approximating the erfinv function, GPU Computing Gems 2 (2011).
"""

from __future__ import annotations

from .exponential import clamp, exp_of, exp_single, reduce
from .lanes import (
    F64,
    INF,
    call,
    fast_two_sum,
    function,
    polynomial,
    quotient,
    scale,
    sign_of,
    two_product,
    two_sum,
    where,
)
from .logarithm import log_of

ERF = (
    (0.128379165726729966, -0.3761262582436316032, 0.1128358514993430965, -0.02685381198689077542,
     0.005188327779920564277, -0.0008010194427963342628, 0.00007853863927983877816),
    (0.128379167095512566, -0.3761263890318351955, 0.1128379167094418496, -0.026866170643111501, 0.00522397760611872146,
     -0.0008548325929325238837, 0.0001205529357719622944, -0.00001492471230731222671, 1.644713163309041001e-6,
     -1.620631420956881986e-7, 1.371098226838837069e-8, -7.779471849573042739e-10),
)  # fmt: skip
FAR, FAR_K, FAR_END = (
    (1.276978451742065616, -0.09276195681882122075, -0.1660332946547272715, 0.1637499239836609888,
     -0.05659042674015642522, -0.0153637576448312705),
    (1.276978381552526707, -0.09276382658567069597, -0.1660303976113896961, 0.1640512800474934898,
     -0.0542200016142790874, -0.0080340207450984552, 0.00872266265754569745, 0.001271613025465018167,
     -0.001455962644190855301, -0.0004563302696570814609, 0.0001904386840383647423, 0.0001238084703425715006),
), 2, (4.0, 6.0)  # fmt: skip
ERFC, ERFC_K, ERFC_END = (
    (1.253008058267707284, -0.1356211059778489044, -0.04756229390264461592, 0.1296451474835025945,
     -0.1192736799271923185, 0.06830827200928878992, -0.02377029007187268608, 0.002527111663543403661,
     0.001887279593530806638, -0.0007695259703469790165, -0.0001009742113854813048, 0.0001026075225070830946),
    (1.232995118625552511, -0.1396211168405624981, 0.01537965210261902182, 0.06809705425469044957,
     -0.1010390660362532082, 0.0937328349984452665, -0.06633036581362431905, 0.03716751553556638017,
     -0.01619773403802690919, 0.00503196999954990367, -0.0007577734504271983277, -0.0001992568446077670358,
     0.0001506225024718783533, -0.0000243985339947042936, -0.00001122475040065104261, 5.70767028224547253e-6,
     2.995837117500771085e-7, -8.212727962120367549e-7, 6.700530939264911996e-8, 1.047294057109156396e-7,
     -1.221839340193151316e-8, -1.017633574837564624e-8),
), (3, 4), (10.2, 27.3)  # fmt: skip
FIRST_LOW = -4.4e-17  # what the first coefficient of ERFC loses in float64

INVERSE_NEAR = (
    (-0.113773079504, 0.232013818089, 0.0115486536118, -0.00233429556552, -0.000127482324512, 4.45656315024e-5,
     3.98308909815e-6, -1.97643049274e-6, 2.2102710648e-7, -8.79086096186e-9),
    (-0.113773074547241986, 0.232013666534654365, 0.0115493420382746309, -0.00233510164165451387,
     -0.000128043294000243498, 0.0000466114395373862413, 2.01999045882139814e-6, -1.01255549119287627e-6,
     -3.72976570266035855e-8, 2.28022747698598688e-8, 7.39848924282541605e-10, -5.07979287801822886e-10,
     -2.96334138371306082e-11, 2.06671452863344539e-11, -3.70925817118957776e-12, 1.24197518946653108e-12,
     -4.55129682077976516e-13, 1.06192316300624381e-13, -1.59269041869338866e-14, 1.57941111103944928e-15,
     -1.01661774237354876e-16, 3.88895668052107863e-18, -6.76313224133489558e-20),
)  # fmt: skip
INVERSE_FAR = (
    (-0.055732674986, 0.116790211649, -0.0346607035465, -0.131306921774, 0.209560816124, 0.0425107961679,
     -0.745885016776, 0.791278981874),
    (-0.055732671740397029, 0.116790108624628299, -0.0346658446834314821, -0.131252054295809123,
     0.210824461167650838, 0.034376411680559235, -0.845590280591268432, 1.25709928734126793, 2.52670512922718806,
     -10.1715809558759247, -3.54781879974099919, 59.5810432777924873, -21.4046050851513408, -296.251367265959742,
     233.301354149103765, 1252.48739920308736, -1320.31182069178126, -3867.46703054769393, 3733.83140128060017,
     2290.29956819117739, 34930.9339732049971, -21989.1708561539451, -454341.215108260517, 1361569.42356922838,
     -1585607.81617968277, 695450.864932262866),
)  # fmt: skip


@function
def erf(x):
    """The error function: 2 / sqrt(pi) times the integral of exp(-t*t) from 0 to x."""
    a = abs(x)
    near = x + x * polynomial(x * x, x.pick(*ERF))
    b = clamp(a, 0.0, x.pick(*FAR_END))
    inverse = 1 / ((b + FAR_K) * (1 + 2 * b))
    t = (b - FAR_K) * (1 + 2 * b) * inverse
    rest = polynomial(t, x.pick(*FAR)) * exp_of(-b * b) * ((b + FAR_K) * inverse)
    return where(a < 1, near, sign_of(1 - rest, x))


@function
def erfc(x):
    """1 - erf(x), exact also where erf is close to 1."""
    single, kind = x.pick(True, False), x.v.type
    end, k = x.pick(*ERFC_END), x.pick(*ERFC_K)
    coefficients, limit = x.pick(*ERFC), x.pick(0.75, 0.5)
    x = x.to(F64)
    near = x + x * polynomial(x * x, ERF[1])
    a = clamp(abs(x), 0.0, end)
    t = (a - k) / (a + k)
    higher = t * polynomial(t, coefficients[1:])
    if single:
        far = exp_single(-a * a) * (coefficients[0] + higher) / (1 + 2 * a)
        return where(abs(x) < limit, 1 - near, where(x < 0, 2 - far, far)).to(kind)
    r, r_low = fast_two_sum(coefficients[0], higher)
    r_low = r_low + FIRST_LOW
    square, lost = two_product(a, a)
    e, i = reduce(-square, -lost)
    p, p_low = fast_two_sum(1, e)
    below, rest = two_sum(1, 2 * a)
    over, low = two_product(p, r)
    q, left, inverse = quotient(over, below)
    far = scale(q + (left + (low + (p_low * r + p * r_low) - q * rest)) * inverse, i)
    return where(abs(x) < limit, 1 - near, where(x < 0, 2 - far, far))


@function
def erfinv(x):
    """The number of which x is the error function; infinite at -1 and 1, NaN beyond."""
    a = abs(x)
    w = -log_of((1 - a) * (1 + a))
    s = call("sqrt", w)
    far = s + s * polynomial((s - 3) / (s + 3), x.pick(*INVERSE_FAR))
    result = where(w < 5, a + a * polynomial(w, x.pick(*INVERSE_NEAR)), far)
    return sign_of(where(a == 1, INF, result), x)
