"""Scalar functions for kernels: CUDA's own (libdevice) on a GPU, NumPy's, which never raise, in the simulator.

Generated modules import them by the names that formulas use. float32 stays float32 in both. Functions that neither library
has are written here once, for both.
"""

# ruff: noqa: F401, F405  kernels import them from here

import math
from importlib.util import find_spec
from math import e, inf, nan, pi, tau

import numpy as np

from . import simulator
from .machine import WIDEST

if simulator.SIMULATED or not find_spec("numba_cuda"):
    from .by_numpy import *  # noqa: F403
else:
    from math import (
        acos,
        acosh,
        asin,
        asinh,
        atan,
        atan2,
        atanh,
        copysign,
        cos,
        cosh,
        erf,
        erfc,
        exp,
        exp2,
        expm1,
        fmod,
        hypot,
        isfinite,
        isinf,
        isnan,
        lgamma,
        log,
        log1p,
        log2,
        log10,
        sin,
        sinh,
        sqrt,
        tan,
        tanh,
    )

    from llvmlite import ir
    from numba import cuda, types
    from numba.cuda import libdevice
    from numba.cuda.extending import intrinsic, overload

    @cuda.jit(device=True)
    def umul64hi(x, y):
        """Return the upper half of the product of two unsigned 64-bit integers."""
        return np.uint64(libdevice.umul64hi(x, y))  # Numba treats it as signed

    def by_type(name, of_short, of_long, kinds=(types.float32, types.float64)):
        """Return a function that calls one of libdevice's for each of two types; other types pass through unchanged."""

        def chosen(x):
            raise NotImplementedError(f"{name} is for kernels")

        @overload(chosen)
        def chosen_for(x):
            if x not in kinds:
                return lambda x: x
            return (lambda x: of_short(x)) if x == kinds[0] else (lambda x: of_long(x))

        return chosen

    ceil, floor, trunc, round, erfinv = [
        by_type(name, getattr(libdevice, name + "f"), getattr(libdevice, name))
        for name in ("ceil", "floor", "trunc", "rint", "erfinv")
    ]
    bits = by_type("bits", libdevice.float_as_int, libdevice.double_as_longlong)
    of_bits = by_type("of_bits", libdevice.int_as_float, libdevice.longlong_as_double, (types.int32, types.int64))

    def pow(x, y):
        """Return x to the power of y."""
        raise NotImplementedError("pow is for kernels")

    @overload(pow)
    def pow_of_library(x, y):
        if x == types.float64 or y == types.float64:
            return lambda x, y: libdevice.pow(x, y)
        return lambda x, y: libdevice.powf(x, y)

    def vector(builder, context, a, array, i, n):
        """Return the address of n elements of a flat array as a vector, and its alignment in bytes."""
        begin = builder.gep(context.make_array(a)(context, builder, array).data, [i])
        kind = ir.VectorType(begin.type.pointee, n).as_pointer(begin.type.addrspace)
        return builder.bitcast(begin, kind), step(context, a, n)

    def step(context, a, n):
        """Return the alignment in bytes for reads of n elements; for one, its size."""
        return min(n * context.get_abi_sizeof(context.get_data_type(a.dtype)), WIDEST)

    def vector_load(n):
        """Return the function load(a, i): n elements of a flat array in one instruction; a[i] is aligned to their size."""

        @intrinsic
        def load(typing, a, i):
            def emit(context, builder, signature, args):
                place, align = vector(builder, context, a, *args, n)
                loaded, model = builder.load(place, align=align), context.data_model_manager[a.dtype]
                elements = [builder.extract_element(loaded, ir.Constant(ir.IntType(32), q)) for q in range(n)]
                elements = [model.from_data(builder, e) for e in elements]
                return context.make_tuple(builder, signature.return_type, elements)

            return types.UniTuple(a.dtype, n)(a, types.int64), emit

        return load

    @intrinsic
    def store4(typing, a, i, elements):
        """Write four elements of a flat array, the way load4 reads them."""

        def emit(context, builder, signature, args):
            place, align = vector(builder, context, a, *args[:2], 4)
            together, model = ir.Constant(place.type.pointee, ir.Undefined), context.data_model_manager[a.dtype]
            for q, kind in enumerate(elements):
                element = context.cast(builder, builder.extract_value(args[2], q), kind, a.dtype)
                element = model.as_data(builder, element)
                together = builder.insert_element(together, element, ir.Constant(ir.IntType(32), q))
            builder.store(together, place, align=align)

        return types.void(a, types.int64, elements), emit

    @intrinsic
    def aligned4(typing, a):
        """Return True if load4 and store4 can access a one-dimensional array: adjacent elements, aligned to groups of four."""

        def emit(context, builder, signature, args):
            array, whole = context.make_array(a)(context, builder, args[0]), ir.IntType(64)
            rest = builder.and_(builder.ptrtoint(array.data, whole), ir.Constant(whole, step(context, a, 4) - 1))
            aligned = builder.icmp_unsigned("==", rest, ir.Constant(whole, 0))
            if a.layout == "C":
                return aligned
            adjacent = ir.Constant(whole, step(context, a, 1))  # a sum's gradient has one element, at steps of 0 bytes
            return builder.and_(aligned, builder.icmp_signed("==", builder.extract_value(array.strides, 0), adjacent))

        return types.boolean(a), emit

    def function(f):
        """Mark a function as callable from kernels."""
        return cuda.jit(device=True)(f)


load1, load2, load4 = [vector_load(n) for n in (1, 2, 4)]


@function
def of_bfloat16(n):
    """Return the float32 whose upper half is these 16 bits."""
    return of_bits(np.int32(np.int32(n) << np.int32(16)))


@function
def to_bfloat16(x):
    """Return the upper 16 bits of a float32, rounded to nearest, ties to even. NaN stays NaN."""
    n = np.int32(bits(np.float32(x)))
    upper = n >> np.int32(16)
    if x != x:
        return np.uint16((upper | 0x40) & 0xFFFF)
    return np.uint16(((n + 0x7FFF + (upper & 1)) >> 16) & 0xFFFF)


@function
def where(condition, x, y):
    """Return x if the condition holds, else y."""
    return x if condition else y


@function
def rsqrt(x):
    """Return 1 / sqrt(x)."""
    return type(x)(1) / sqrt(x)


@function
def sigmoid(x):
    """Return 1 / (1 + exp(-x))."""
    return type(x)(1) / (type(x)(1) + exp(-x))


@function
def remainder(x, y):
    """Return the remainder of x / y rounded down, with the sign of y."""
    rest = fmod(x, y)
    if rest != 0 and (rest < 0) != (y < 0):
        return rest + y
    return copysign(rest, y) if rest == 0 else rest


@function
def floor_divide(x, y):
    """Return x / y rounded down: exact even where rounding makes x / y one too large."""
    if y == 0:
        return x / y
    rest = fmod(x, y)
    quotient = (x - rest) / y
    if rest != 0 and (rest < 0) != (y < 0):
        quotient -= type(x)(1)
    nearest = round(quotient)
    return copysign(nearest, x / y) if nearest == 0 else nearest


@function
def digamma(x):
    """Return the derivative of lgamma, by recurrence below 10, then the asymptotic series (Abramowitz and Stegun, 6.3.18).

    float32 is computed in float64. Infinite at 0, NaN at -1, -2, ..., as in PyTorch.
    """
    z = np.float64(x)
    if z == 0:
        return type(x)(copysign(math.inf, -z))
    if z < 0 and z == floor(z):
        return type(x)(math.nan)
    total = 0.0
    if z < 0:  # reflection
        total = -math.pi / tan(math.pi * (z - floor(z)))
        z = 1.0 - z
    while z < 10.0:
        total -= 1.0 / z
        z += 1.0
    s = 1.0 / (z * z)
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132 - s * (691 / 32760 - s / 12))))))
    return type(x)(total + log(z) - 0.5 / z - series)


@function
def trigamma(x):
    """Return the derivative of digamma (Abramowitz and Stegun, 6.4.12), by recurrence, reflection and asymptotic series."""
    z = np.float64(x)
    sign, total = 1.0, 0.0
    if z < 0.5:
        sine = sin(math.pi * (z - floor(z)))
        total = math.pi * math.pi / (sine * sine) if sine != 0 else math.inf
        sign, z = -1.0, 1.0 - z
    rest = 0.0
    while z < 10.0:
        rest += 1.0 / (z * z)
        z += 1.0
    s = 1.0 / (z * z)
    series = s * (1 / 6 - s * (1 / 30 - s * (1 / 42 - s * (1 / 30 - s * (5 / 66 - s * (691 / 2730 - s * 7 / 6))))))
    return type(x)(total + sign * (rest + 1.0 / z + 0.5 * s + series / z))


# (2k)! / B(2k) for k = 1 to 12
EULER_MACLAURIN = (12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1892437580.3183791606, 74724249600.0,
                   -2950130727918.164224, 116467828143500.67249, -4597978722407472.6105, 181521054019435467.73,
                   -7166165256175667011.3)  # fmt: skip


@function
def zeta(s, q):
    """Return Hurwitz's zeta function, the sum of 1 / (q + k)**s over k = 0, 1, ..., for s > 1.

    Ten terms, then the Euler-Maclaurin formula, as in Moshier's Cephes library (zeta.c). float32 is computed in float64.
    Infinite if q is 0 or a negative integer, NaN for other negative q unless s is an integer.
    """
    x, a = np.float64(s), np.float64(q)
    if a <= 0:
        if a == floor(a):
            return type(q)(math.inf)
        if x != floor(x):
            return type(q)(math.nan)
    total = pow(a, -x)
    term = total
    steps = 0
    while steps < 9 or a <= 9.0:
        steps += 1
        a += 1.0
        term = pow(a, -x)
        total += term
    total += term * a / (x - 1.0) - 0.5 * term
    factor, k = 1.0, 0.0
    for divisor in EULER_MACLAURIN:
        factor *= x + k
        term /= a
        total += factor * term / divisor
        factor *= x + k + 1.0
        term /= a
        k += 2.0
    return type(q)(total)
