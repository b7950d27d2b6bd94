"""Logic on bools and bits: logical_and, bitwise_xor, shifts, ...; and gcd and lcm of integers.

None of it has a derivative.  logical_ operations test any number for 0 and give bools; bitwise_ ones, which are the
operators & | ^ ~, work on integers and bools and keep the dtype.
"""

from __future__ import annotations

import numpy as np

from ..arrays.kinds import on_host
from .base.families import Pointwise
from .base.registry import functions
from .compare import Comparison

TRUTHS = ("B(3, 4), B(3, 4)", "B(3, 1), B(4)", "I(3, 2), B(3)", "T(3), B(3)", "T(0), B(0)", "B(), B()")


class LogicalAnd(Comparison):
    """True where both elements are true (not 0)."""

    ufunc, numpy_is = np.logical_and, "slow"
    kernel = lambda x, y: (x != 0) & (y != 0)
    samples = TRUTHS


class LogicalOr(Comparison):
    """True where one of the elements, or both, is true (not 0)."""

    ufunc, numpy_is = np.logical_or, "slow"
    kernel = lambda x, y: (x != 0) | (y != 0)
    samples = TRUTHS


class LogicalXor(Comparison):
    """True where exactly one of the elements is true (not 0)."""

    ufunc, numpy_is = np.logical_xor, "slow"
    kernel = lambda x, y: (x != 0) != (y != 0)
    samples = TRUTHS


class LogicalNot(Comparison):
    """True where the element is false (0)."""

    ufunc, numpy_is = np.logical_not, "slow"
    kernel = lambda x: x == 0
    samples = ("B(3, 4)", "I(3, 2)", "T(3)", "B(0)", "B()")


logical_and, logical_or, logical_xor, logical_not = functions(LogicalAnd, LogicalOr, LogicalXor, LogicalNot)


class Bitwise(Pointwise):
    """An operation on the bits of integers; on bools it is logic."""

    accepts, differentiable = "biu", False
    samples = (
        "I(3, 4, 9), I(3, 4, 9)",
        "I(3, 1, 9), I(4, 9)",
        "B(3), B(3)",
        "I(3, 9), 5",
        "B(3), I(3, 9)",
        "I(0, 9), I(0, 9)",
    )


class BitwiseAnd(Bitwise):
    """The bits that both have set; on bools, and."""

    ufunc = np.bitwise_and
    kernel = lambda x, y: x & y


class BitwiseOr(Bitwise):
    """The bits that one or both have set; on bools, or."""

    spelling = "leave_out_false"
    ufunc = np.bitwise_or
    kernel = lambda x, y: x | y


class BitwiseXor(Bitwise):
    """The bits that exactly one has set; on bools, exclusive or."""

    remedy = "in Python ^ is this operation, and a power is x ** y"
    ufunc = np.bitwise_xor
    kernel = lambda x, y: x ^ y


class BitwiseNot(Bitwise):
    """All bits inverted; on bools, not."""

    ufunc = np.invert
    kernel = lambda x: ~x
    samples = ("I(3, 4, 9)", "B(3)", "I(0, 9)", "I(9)")


class Shift(Bitwise):
    """A shift of the bits of integers; a negative shift, or one by the number of bits or more, shifts all of them out."""

    accepts = "iu"
    samples = ("I(3, 4, 9), I(3, 4, 9)", "I(3, 1, 9), I(4, 9)", "I(3, 9), 2", "I(3, 9), I(3, 99)", "B(3), I(3, 9)")


class BitwiseLeftShift(Shift):
    """The bits shifted up: `input * 2**other`."""

    ufunc = np.left_shift
    kernel = lambda x, y: x << y


class BitwiseRightShift(Shift):
    """The bits shifted down, with the sign kept: `floor(input / 2**other)`."""

    ufunc = np.right_shift
    kernel = lambda x, y: x >> y


bitwise_and, bitwise_or, bitwise_xor, bitwise_not, bitwise_left_shift, bitwise_right_shift = functions(
    BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot, BitwiseLeftShift, BitwiseRightShift
)


class OfIntegers(Pointwise):
    """A function of integers."""

    accepts, differentiable = "iu", False
    samples = ("I(3, 4, 9), I(3, 4, 9)", "I(3, 1, 9) - 4, I(4, 9)", "I(9), I(9)", "I(0, 2, 9), I(2, 9)")


class Gcd(OfIntegers):
    """The greatest common divisor of two integers; 0 for two zeros."""

    kernel = ufunc = lambda x, y: on_host(np.gcd, x, y)


class Lcm(OfIntegers):
    """The least common multiple of two integers; 0 if one of them is 0."""

    kernel = ufunc = lambda x, y: on_host(np.lcm, x, y)


class Isreal(Comparison):
    """True everywhere: there are no complex tensors."""

    kernel = lambda x: x == x
    ufunc = lambda x: np.ones_like(x, bool)
    samples = ("T(3, 4)", "I(3, 2)", "B(0)", "T()")


gcd, lcm, isreal = functions(Gcd, Lcm, Isreal)
