"""The error function, its complement and its inverse.

Below a limit erf(x) = x + x * P(x*x). Above, erf(x) = 1 - exp(L(x - 1)), up to where that is 1, and
erfc(x) = exp(-x*x) / (1 + 2x) * R(t) with t = (x - K) / (x + K): a function so smooth that one polynomial serves up to the
largest x whose erfc is not 0. Source of that form: Shepherd and Laframboise, Chebyshev approximation of
(1 + 2x) exp(x**2) erfc x, Mathematics of Computation 36 (1981). The coefficients are Remez fits in 60 digits: P and R for
the relative error, L for the absolute error of erf.

The inverse is x + x * P(w) with w = -log(1 - x*x) below 5, else s + s * Q((s - 3) / (s + 3)) with s = sqrt(w); P and Q are
fits for the relative error. Source of w: Giles, Approximating the erfinv function, GPU Computing Gems 2 (2011).
"""

from .exponential import clamp, exp_inside, reduce
from .lanes import (
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
LOG_ERFC, ERF_END = (
    (-1.84960551648021131, -2.63896681593725693, -0.843118336400838533, -0.0415006880153089621, 0.00989089090287127611,
     -0.00182616203269030465, 0.000185573580659973843),
    (-1.84960550993324826, -2.63896751423478825, -0.843107256358676767, -0.0415610980418095135, 0.0100338253744219701,
     -0.001977902568008412, 0.000237322481886685794, 0.0000262778738684702046, -0.000027159109932711024,
     9.60889741428151521e-6, -2.05976936066630868e-6, 1.42873528906160381e-7, 9.75483668219963002e-8,
     -5.20382826063519639e-8, 1.49115749423260967e-8, -2.86406786958580704e-9, 3.68252364328614027e-10,
     -2.88159757888431997e-11, 1.03911819828739278e-12),
), (4.0, 6.0)  # fmt: skip
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
FIRST_LOW = (5.02645e-08, -4.4e-17)  # rounding error of the first coefficient of ERFC

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
    """Return the error function: 2 / sqrt(pi) times the integral of exp(-t*t) from 0 to x."""
    a = abs(x)
    near = x + x * polynomial(x * x, x.pick(*ERF))
    far = 1 - exp_inside(polynomial(where(a > x.pick(*ERF_END), x.pick(*ERF_END), a) - 1, x.pick(*LOG_ERFC)))
    return where(a < 1, near, sign_of(far, x))


@function
def erfc(x):
    """Return 1 - erf(x), accurate also where erf is close to 1."""
    end, k, coefficients = x.pick(*ERFC_END), x.pick(*ERFC_K), x.pick(*ERFC)
    near = x + x * polynomial(x * x, x.pick(*ERF))
    a = clamp(abs(x), 0.0, end)
    t = (a - k) / (a + k)
    r, r_low = fast_two_sum(coefficients[0], t * polynomial(t, coefficients[1:]))
    r_low = r_low + x.pick(*FIRST_LOW)
    square, lost = two_product(a, a)
    e, i = reduce(-square, -lost)
    p, p_low = fast_two_sum(1, e)
    below, rest = two_sum(1, 2 * a)
    over, low = two_product(p, r)
    q, left, inverse = quotient(over, below)
    far = scale(q + (left + (low + (p_low * r + p * r_low) - q * rest)) * inverse, i)
    return where(abs(x) < 0.5, 1 - near, where(x < 0, 2 - far, far))


@function
def erfinv(x):
    """Return the number whose error function is x; infinite at -1 and 1, NaN beyond."""
    a = abs(x)
    w = -log_of((1 - a) * (1 + a))
    s = call("sqrt", w)
    far = s + s * polynomial((s - 3) / (s + 3), x.pick(*INVERSE_FAR))
    result = where(w < 5, a + a * polynomial(w, x.pick(*INVERSE_NEAR)), far)
    return sign_of(where(a == 1, INF, result), x)
