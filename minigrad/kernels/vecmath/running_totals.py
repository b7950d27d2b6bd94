"""Running sums and maxima of generated loops, written so that LLVM vectorises the loops."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .lanes import Lane, bits, from_bits, where

REALS = {types.int32: types.float32, types.int64: types.float64}
NANS = (0x7FFFFF, 0xFFFFFFFFFFFFF)  # the number of positive NaNs


@intrinsic
def plus(typing: Any, total: Any, x: Any) -> tuple:
    """Add a term to a sum, in any order, so that a loop over it is vectorised."""
    t = typing.unify_types(total, x)
    return t(t, t), lambda context, b, signature, values: b.fadd(*values, flags=("reassoc", "nsz"))


@intrinsic
def higher(typing: Any, top: Any, x: Any) -> tuple:
    """Return the larger of a running maximum and x, or NaN; as integers in the same order, which vectorise."""

    def emit(context: Any, b: ir.IRBuilder, signature: Any, values: list) -> ir.Value:
        top, whole = Lane(b, values[0]), turned(bits(Lane(b, values[1])))
        whole -= whole.pick(*NANS)  # -nan turns into the largest
        return where(whole > top, whole, top).v

    return top(top, REALS[top]), emit


@intrinsic
def peak(typing: Any, top: Any) -> tuple:
    """Return the float of a running maximum."""

    def emit(context: Any, b: ir.IRBuilder, signature: Any, values: list) -> ir.Value:
        top = Lane(b, values[0])
        return from_bits(turned(top + top.pick(*NANS))).v

    return REALS[top](top), emit


def turned(whole: Lane) -> Lane:
    """Return a real number's bits as an integer in the order of the reals, or the bits for such an integer."""
    negative = whole < 0
    return where(negative, whole ^ whole.pick(2**31 - 1, 2**63 - 1), whole)
