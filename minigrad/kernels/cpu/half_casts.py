"""Conversions between float16 and float32, on the bits of the numbers.

NumPy converts them one at a time: 100,000 take 200 microseconds to widen and 350 to round, more than all work on them in
float32. These kernels take a fifth of that. They round to the nearest number, and of two to the even one, as NumPy does.
bfloat16 has the upper bits of a float32, and NumPy is as fast.
"""

import numpy as np

from ...arrays import halves
from ...arrays.dtypes import F2, F4
from .. import cache
from ..fallback import only_definitions, retried
from ..threads import launch

CAST_FROM = 4096  # elements; NumPy needs 10 microseconds for them, and a first lesson would wait for the compiler

SOURCE = '''"""float16 and float32; h are the bits of a float16, b those of a float32."""

from numba import njit
from numpy import float32, uint16, uint32

SIGN, INFINITY = uint32(0x80000000), uint32(0x7F800000)
HALF_SIGN, HALF_INFINITY, HALF_NAN = uint32(0x8000), uint32(0x7C00), uint32(0x7E00)
TOO_LARGE = uint32(0x47800000)  # 2.0**16
LEAST_NORMAL = uint32(0x38800000)  # 2.0**-14
HALF = uint32(0x3F000000)  # 0.5: beside it, the last digit of a float32 is the least float16, 2.0**-24
BIAS = uint32(0x38000000)  # the difference of the two exponents of the same number, 112, at its place
SCALE = float32(2.0**112)


@njit(nogil=True)
def widen(x_, out_):
    for i in range(out_.size):
        h = uint32(x_[i])
        rest = h & ~HALF_SIGN
        b = float32(uint32(rest << uint32(13)).view(float32) * SCALE).view(uint32)
        b = b | INFINITY if rest >= HALF_INFINITY else b
        out_[i] = uint32(b | ((h & HALF_SIGN) << uint32(16)))


@njit(nogil=True)
def narrow(x_, out_):
    for i in range(out_.size):
        b = x_[i]
        sign, rest = b & SIGN, b & ~SIGN
        few = uint32(float32(uint32(rest).view(float32) + float32(0.5)).view(uint32) - HALF)
        many = uint32(rest - BIAS + uint32(0xFFF) + ((rest >> uint32(13)) & uint32(1))) >> uint32(13)
        h = few if rest < LEAST_NORMAL else many
        h = (HALF_NAN if rest > INFINITY else HALF_INFINITY) if rest >= TOO_LARGE else h
        out_[i] = uint16(h | (sign >> uint32(16)))
'''


def cast(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return an array in a dtype, by a kernel if it is a large one of float16 or float32, and the dtype the other."""
    kernel = {(F2, F4): "widen", (F4, F2): "narrow"}.get((a.dtype, dtype)) if a.size >= CAST_FROM else None
    by_numpy = kernel is None or type(a) is not np.ndarray or not a.flags.forc or only_definitions()
    return a.astype(dtype) if by_numpy else by_bits(kernel, a, dtype)


@retried
def by_bits(kernel: str, a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the result of a kernel, in the memory order of a."""
    if only_definitions():  # the compiler has just failed
        return a.astype(dtype)
    out, order = np.empty_like(a, dtype), "C" if a.flags.c_contiguous else "F"
    flat = [x.reshape(-1, order=order).view(f"u{x.itemsize}") for x in (a, out)]
    launch(getattr(cache.load("half_casts", SOURCE), kernel), flat)
    return out


halves.cast = cast
