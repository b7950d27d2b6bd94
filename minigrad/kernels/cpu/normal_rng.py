"""Large arrays of normal numbers and large permutations.

Box and Muller's formula makes two normal numbers from each pair of uniform ones, in vector code (A note on the generation of
random normal deviates, 1958). NumPy's ziggurat has unpredictable branches; it serves small arrays, which then need no
compiler. Permutations are shuffled by Fisher and Yates's method.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from .. import cache as modules
from ..fallback import again, only_definitions
from ..formula import CPU, Target
from ..threads import launch

NOISE_FROM = 4096  # numbers; NumPy needs 40 microseconds for them, and a first lesson would wait for the compiler
TURN = 2 * math.pi

SOURCE = '''"""Normal numbers of {real} from random bits."""

from {functions} import cos, log, sin, sqrt
from numba import {imported}
from numpy import {real} as real, {signed} as signed

TURN = real(2 * 3.141592653589793)
UNIT = real(2.0**-{digits})


@{mark}
def normal(length_, angle_, first_, second_):
    """Make pairs from two integers each: the length comes from u in (0, 1], the angle is a part of a turn."""
    for i in range({elements}):
        length = sqrt(real(-2) * log(real(signed(length_[i] >> {spare}) + signed(1)) * UNIT))
        angle = real(signed(angle_[i] >> {spare})) * UNIT * TURN
        first_[i], second_[i] = length * cos(angle), length * sin(angle)
'''

SHUFFLE = '''"""Numbers in random order."""

from numba import njit
from numpy import int32 as whole, uint64 as at


@njit(nogil=True)
def shuffle(bits_, out_):
    """Exchange each place, from the last on, with itself or an earlier one, which 32 random bits choose."""
    for r in range(len(out_)):
        bits, out = bits_[r], out_[r]
        for i in range(out.size):
            out[i] = whole(i)
        for i in range(out.size - 1, 0, -1):
            k = at((bits[i] >> at(32)) * at(i + 1)) >> at(32)
            out[i], out[k] = out[k], out[i]
'''


@cache
def module(dtype: np.dtype) -> Any:
    """Return the kernels for one dtype."""
    return modules.load(f"noise_{dtype.name}", text(dtype, CPU, "njit(nogil=True)", "second_.size"))


def text(dtype: np.dtype, target: Target, mark: str, elements: str) -> str:
    """Return the text of the kernel for a dtype and a target; `elements` bounds its loop."""
    bits, digits = 8 * dtype.itemsize, np.finfo(dtype).nmant + 1
    return SOURCE.format(real=dtype.name, signed=f"int{bits}", digits=digits, spare=bits - digits, mark=mark,
                         elements=elements, functions=target.functions, imported=target.imported)  # fmt: skip


def normal(rng: np.random.Generator, size: tuple, dtype: np.dtype) -> np.ndarray:
    """Return numbers of mean 0 and variance 1."""
    if type(rng) is not np.random.Generator:  # a generator of a device
        return rng.normal(size, dtype)
    n = math.prod(size)
    if n < NOISE_FROM:
        return rng.standard_normal(size, dtype)
    half = -(-n // 2)
    bits = rng.bit_generator.random_raw(-(-2 * half * dtype.itemsize // 8)).view(f"u{dtype.itemsize}")
    pairs = np.empty((2, half), dtype)
    arrays = [bits[:half], bits[half : 2 * half], *pairs]
    try:
        launch(defined if only_definitions() else module(dtype).normal, arrays)
    except Exception as e:
        again(e, launch, defined, arrays)
    return pairs.reshape(-1)[:n].reshape(size)


def permutations(rng: np.random.Generator, shape: tuple) -> np.ndarray:
    """Return the numbers below n in random order, along the last dimension of (..., n)."""
    if type(rng) is not np.random.Generator:
        return rng.permutations(shape)
    n = shape[-1]
    if not NOISE_FROM <= n < 1 << 31 or only_definitions():
        return rng.permutation(n) if len(shape) == 1 else rng.permuted(np.broadcast_to(np.arange(n), shape), axis=-1)
    out = np.empty(shape, np.int32)  # half the memory, so that more of it stays in the cache
    state = rng.bit_generator.state
    bits = rng.bit_generator.random_raw(out.size).reshape(-1, n)
    try:
        modules.load("permutations", SHUFFLE).shuffle(bits, out.reshape(-1, n))
    except Exception as e:
        rng.bit_generator.state = state
        return again(e, permutations, rng, shape)
    return out


def defined(length: np.ndarray, angle: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
    """Compute with NumPy what the kernel computes."""
    digits, spare = np.finfo(first.dtype).nmant + 1, 8 * first.itemsize - np.finfo(first.dtype).nmant - 1
    u, v = ((a >> spare).astype(first.dtype) for a in (length, angle))
    r, turn = np.sqrt(-2 * np.log((u + 1) * first.dtype.type(2.0**-digits))), v * first.dtype.type(2.0**-digits * TURN)
    first[...], second[...] = r * np.cos(turn), r * np.sin(turn)
