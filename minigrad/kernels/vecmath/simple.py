"""What is a single instruction, or nearly: square roots, rounding, signs, choosing."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .lanes import call, function, sign_of


@function
def sqrt(x):
    """Square root; NaN for negative numbers."""
    return call("sqrt", x)


@function
def rsqrt(x):
    """1 / sqrt(x)."""
    return 1 / call("sqrt", x)


@function
def floor(x):
    """The largest integer that is not larger."""
    return call("floor", x)


@function
def ceil(x):
    """The smallest integer that is not smaller."""
    return call("ceil", x)


@function
def trunc(x):
    """The integer part."""
    return call("trunc", x)


@function
def copysign(x, y):
    """x with the sign of y."""
    return sign_of(x, y)


@intrinsic
def where(typing: Any, condition: Any, x: Any, y: Any) -> tuple:
    """x if the condition holds, else y, of whatever types; both are computed, and one is selected."""
    t = typing.unify_types(x, y)

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, values: list) -> ir.Value:
        return builder.select(context.cast(builder, values[0], condition, types.boolean), *values[1:])

    return t(condition, t, t), emit
