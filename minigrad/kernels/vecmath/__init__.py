"""Mathematical functions for kernels, without branches, so that LLVM turns loops over them into vector instructions.

The C library's functions cannot be vectorised, and a kernel that calls them spends its time there. Here one text serves
float32 and float64, handles infinities, NaN, denormals and signed zeros, and errs by at most 2 units in the last place
(tests/kernels/test_vecmath.py). Importing this package imports Numba, so only compiled kernels import it.

Start with lanes.py, which has the building blocks.
"""

from .division import floor_divide, fmod, remainder
from .exponential import cosh, exp, exp2, expm1, sigmoid, sinh, tanh
from .gamma import lgamma, trigamma
from .logarithm import acosh, asinh, atanh, log, log1p, log2, log10
from .power import pow
from .running_totals import higher, peak, plus
from .simple import ceil, copysign, floor, hypot, rsqrt, sqrt, trunc, where
from .special import erf, erfc, erfinv
from .trigonometric import acos, asin, atan, atan2, cos, sin, tan
