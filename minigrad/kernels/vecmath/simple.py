"""Functions of a single instruction, or nearly: square roots, rounding, signs, selection."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .exponential import clamp
from .lanes import F32, F64, INF, bits, call, from_bits, function, sign_of, two_product, two_sum
from .lanes import where as select


@function
def sqrt(x):
    """Return the square root; NaN for negative numbers."""
    return call("sqrt", x)


@function
def rsqrt(x):
    """Return 1 / sqrt(x)."""
    return 1 / call("sqrt", x)


@function
def hypot(x, y):
    """Return sqrt(x*x + y*y), scaled by a power of two so that no square overflows or vanishes; float32 in float64."""
    kind, x, y = x.v.type, abs(x.to(F64)), abs(y.to(F64))
    if kind == F32:
        length = call("sqrt", x * x + y * y)
    else:
        larger = select(x > y, x, y)
        size = clamp(larger, 2.0**-1000, 2.0**1000)
        unit = from_bits(bits(size) & (0x7FF << 52))
        inverse = from_bits((2046 << 52) - bits(unit))
        a, b = x * inverse, y * inverse
        (aa, lost), (bb, more) = two_product(a, a), two_product(b, b)
        square, rest = two_sum(aa, bb)
        root = call("sqrt", square)
        p, back = two_product(root, root)
        low = select(root > 0, (((square - p) - back) + (rest + (lost + more))) * (0.5 / root), 0.0)
        length = (root + low) * unit
    return select((x == INF) | (y == INF), x.like(INF), length).to(kind)


@function
def floor(x):
    """Return the largest integer that is not larger."""
    return call("floor", x)


@function
def ceil(x):
    """Return the smallest integer that is not smaller."""
    return call("ceil", x)


@function
def trunc(x):
    """Return the integer part."""
    return call("trunc", x)


@function
def copysign(x, y):
    """Return x with the sign of y."""
    return sign_of(x, y)


@intrinsic
def where(typing: Any, condition: Any, x: Any, y: Any) -> tuple:
    """Return x if the condition holds, else y, of any types; both are computed, and one is selected."""
    t = typing.unify_types(x, y)

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, values: list) -> ir.Value:
        return builder.select(context.cast(builder, values[0], condition, types.boolean), *values[1:])

    return t(condition, t, t), emit
