"""PyTorch's stream of random numbers on the processor: words of MT19937, and the numbers that it makes of them.

A seed gives the numbers that PyTorch 2.13 draws: integers and uniform numbers bit for bit, others to the last digits, which
depend on how a library rounds logarithms. NumPy's generator holds the state. Kernels write into the same memory and make
words fifteen times as fast, since the next 227 depend on none of each other; without a compiler NumPy draws the words.

Sources: Matsumoto and Nishimura, Mersenne twister (1998). Box and Muller, A note on the generation of random normal
deviates (1958). Marsaglia and Tsang, A simple method for generating gamma variables (2000). Hoermann, The generation of
binomial random variates (1993), and The transformed rejection method for generating Poisson random variables (1993).
"""

from __future__ import annotations

import ctypes
import math
import struct
import threading
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...arrays.dtypes import F4
from ...arrays.halves import narrowed
from ...errors import error
from .. import cache as modules
from ..fallback import again, is_ready, only_definitions

WORDS, BLOCK = 624, 16  # words of the state; normal numbers are made in blocks of 16
WIDE_FROM = 1 << 28  # a range of at least this many integers takes two words for each
LAYOUT = struct.Struct("<QiiQ 4992s 3d i4x f?3x")  # PyTorch's state of a generator

ENGINE = '''"""Words of MT19937 and the numbers made of them; the state is its 624 words and the place of the next one."""

from math import ceil, cos, exp, floor, inf, lgamma, log, log1p, pi, sin, sqrt
from numba import njit
from numpy import float32, int64, int64 as whole, uint32

HIGHEST, LOWER, TWIST = uint32(0x80000000), uint32(0x7FFFFFFF), uint32(0x9908B0DF)


@njit
def mixed(first, second, far):
    """Return the word that replaces the first of two, from a word 397 places further."""
    y = (first & HIGHEST) | (second & LOWER)
    return uint32(far ^ (y >> uint32(1)) ^ (uint32(uint32(0) - (y & uint32(1))) & TWIST))


@njit
def twist(k):
    """Replace all words of the state, in three loops without dependences."""
    for i in range(227):
        k[i] = mixed(k[i], k[i + 1], k[i + 397])
    for i in range(227):
        k[i + 227] = mixed(k[i + 227], k[i + 228], k[i])
    for i in range(169):
        k[i + 454] = mixed(k[i + 454], k[i + 455], k[i + 227])
    k[623] = mixed(k[623], k[0], k[396])


@njit
def tempered(y):
    """Return the random word of a word of the state."""
    y = uint32(y ^ (y >> uint32(11)))
    y = uint32(y ^ (uint32(y << uint32(7)) & uint32(0x9D2C5680)))
    y = uint32(y ^ (uint32(y << uint32(15)) & uint32(0xEFC60000)))
    return uint32(y ^ (y >> uint32(18)))


@njit
def word(state):
    """Return the next word."""
    if state[624] == 624:
        twist(state)
        state[624] = 0
    state[624] += uint32(1)
    return int64(tempered(state[state[624] - 1]))
'''
MANY = '''

@njit
def {name}(state, out):
    """Write {what} of the next words."""
    at, done = int64(state[624]), 0
    while done < out.size:
        if at == 624:
            twist(state)
            at = 0
        n = min(out.size - done, 624 - at)
        part, key = out[done : done + n], state[at : at + n]
        for i in range(n):
            part[i] = {number}
        done, at = done + n, at + n
    state[624] = at
'''
UNIFORM = "float32(tempered(key[i]) & uint32(0xFFFFFF)) * float32(2.0**-24)"
ENGINE += MANY.format(name="words", what="the bits", number="tempered(key[i])")
ENGINE += MANY.format(name="singles", what="numbers in [0, 1) with 24 bits each", number=UNIFORM)

SAMPLERS = '''

@{mark}
def unit(state):
    """Return a number in [0, 1) with 53 random bits, of which the first word has the upper ones."""
    first = word(state) & 0x1FFFFF
    return float(first * 4294967296 + word(state)) * 2.0**-53


@{mark}
def normal(state, spare):
    """Return a normal number: the second of a pair waits in `spare`, whose other number says whether it does."""
    if spare[1]:
        spare[1] = 0.0
        return spare[0]
    angle, length = 2 * pi * unit(state), sqrt(-2 * log1p(-unit(state)))
    spare[0], spare[1] = length * sin(angle), 1.0
    return length * cos(angle)


@{mark}
def normals(state, spare, out, mean, std):
    """Write normal numbers, one by one."""
    for i in range(out.size):
        out[i] = normal(state, spare) * std + mean


@{mark}
def shuffle(state, out):
    """Exchange each place with itself or a later one, which the next word chooses."""
    for i in range(out.size - 1):
        k = i + whole(uint32(word(state)) % uint32(out.size - i))
        out[i], out[k] = out[k], out[i]


@{mark}
def log_gamma(state, spare, shape):
    """Return the logarithm of a number of a gamma distribution, by Marsaglia and Tsang's method; for a shape below 1 from
    that of shape + 1. The number itself is too small for a float where the shape is."""
    scale = 0.0
    if shape < 1:
        if shape == 0:
            return -inf
        scale = log(1 - unit(state)) / shape
        shape += 1
    d = shape - THIRD
    c = 1 / sqrt(9 * d)
    while True:
        x = normal(state, spare)
        y = 1 + c * x
        while y <= 0:
            x = normal(state, spare)
            y = 1 + c * x
        v, u = y * y * y, 1 - unit(state)
        if u < 1 - 0.0331 * (x * x) * (x * x) or log(u) < 0.5 * (x * x) + d * (1 - v + log(v)):
            return scale + log(d * v)


@{mark}
def poisson(state, spare, rate):
    """Return a count of mean `rate`: from 10 on by transformed rejection, below by multiplying uniform numbers."""
    if rate == 0:
        return 0
    if rate < 10:
        product, k = unit(state), 0
        while product > exp(-rate):
            product *= unit(state)
            k += 1
        return k
    b = 0.931 + 2.53 * sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse, limit = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = unit(state) - 0.5, unit(state)
        us = 0.5 - abs(u)
        k = floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= limit:
            return k
        if k >= 0 and (us >= 0.013 or v <= us):
            if log(v) + log(inverse) - log(a / (us * us) + b) <= -rate + k * log(rate) - lgamma(k + 1.0):
                return k


@{mark}
def few_successes(state, n, p):
    """Return a number of successes in n trials, by the lengths of the runs of failures: for n * p < 10."""
    total, k = 0.0, -1
    while total <= n:
        total += ceil(log(unit(state)) / log1p(-p))
        k += 1
    return k


@{mark}
def many_successes(state, n, p):
    """Return a number of successes in n trials, by transformed rejection: for n * p >= 10."""
    deviation = sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a, alpha, m = -0.0873 + 0.0248 * b + 0.01 * p, (2.83 + 5.1 / b) * deviation, floor((n + 1) * p)
    while True:
        u, v = unit(state) - 0.5, unit(state)
        us = 0.5 - abs(u)
        k = floor((2 * a / us + b) * u + n * p + 0.5)
        if us >= 0.07 and v <= 0.92 - 4.2 / b:
            return k
        if 0 <= k <= n:  # is v below the probability of k beside that of the likeliest number, m?
            ways = lgamma(m + 1.0) + lgamma(n - m + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0)
            if log(v * alpha / (a / (us * us) + b)) <= ways + (k - m) * log(p / (1 - p)):
                return k


@{mark}
def binomial(state, spare, n, p):
    """Return a number of successes in n trials of probability p; failures are counted where p > 0.5."""
    if n == 0 or p == 0 or p == 1:
        return n * p
    q = min(p, 1 - p)
    k = many_successes(state, n, q) if n * q >= 10 else few_successes(state, n, q)
    return k if p <= 0.5 else n - k
'''
EACH = '''

@{{mark}}
def {name}s(state, spare, {parameters} out):
    """Write a number for each element of the parameters."""
    for i in range(out.size):
        out[i] = {name}(state, spare, {elements})
'''
for name, parameters in {"log_gamma": "shapes,", "poisson": "rates,", "binomial": "counts, ps,"}.items():
    SAMPLERS += EACH.format(name=name, parameters=parameters, elements=parameters.replace(",", "[i],"))
SAMPLERS += f"\n\nTHIRD = {float(np.float32(1 / 3))!r}  # PyTorch rounds it to single precision\n"


@cache
def kernels() -> Any:
    """Return the compiled functions."""
    return modules.load("mt19937", ENGINE + SAMPLERS.format(mark="njit"))


@cache
def interpreted() -> Any:
    """Return what stands for the kernels without a compiler, on NumPy's generator: the samplers as Python runs them."""
    scope: dict[str, Any] = {**vars(math), "word": lambda bits: int(bits.random_raw()), "uint32": int, "whole": int}
    exec(SAMPLERS.format(mark="staticmethod"), scope)

    def words(bits: Any, out: np.ndarray) -> None:
        out[...] = bits.random_raw(out.size)

    def singles(bits: Any, out: np.ndarray) -> None:
        out[...] = bits.random_raw(out.size) & 0xFFFFFF
        out *= 2.0**-24

    return SimpleNamespace(**scope, words=words, singles=singles)


class Stream:
    """The stream of a seed, of which the lower 32 bits count.  Several threads may draw from it."""

    SIZE = LAYOUT.size

    def __init__(self):
        self.bits = np.random.MT19937(0)
        self.state = np.ctypeslib.as_array((ctypes.c_uint32 * (WORDS + 1)).from_address(self.bits.ctypes.state_address))
        self.spare = np.zeros(2)  # the second normal number of a pair, and whether it waits
        self.lock = threading.RLock()

    def seed(self, seed: int) -> None:
        """Start again from a seed."""
        with self.lock:
            np.random.RandomState(self.bits).seed(seed & 0xFFFFFFFF)
            self.spare[1] = 0

    def run(self, name: str, out: np.ndarray, *args: Any) -> np.ndarray:
        """Write numbers into a new array by a kernel, or as NumPy and Python do; return it."""
        if is_ready(out.size) and not only_definitions():
            try:
                getattr(kernels(), name)(self.state, *args)  # no other thread runs meanwhile
                return out
            except Exception as e:
                return again(e, self.run, name, out, *args)
        with self.lock:
            getattr(interpreted(), name)(self.bits, *args)
        return out

    def words(self, n: int) -> np.ndarray:
        """Return the next n words, as uint32."""
        return self.run("words", out := np.empty(n, np.uint32), out)

    def wide(self, n: int) -> np.ndarray:
        """Return n numbers of two words, the upper one first, as uint64."""
        pairs = self.words(2 * n)
        return (pairs[::2].astype(np.uint64) << np.uint64(32)) | pairs[1::2]

    def uniform(self, size: tuple, dtype: np.dtype) -> np.ndarray:
        """Return numbers in [0, 1) of float32, multiples of 2**-24, or of float64, multiples of 2**-53."""
        out = np.empty(size, dtype)
        if dtype == F4:
            return self.run("singles", out, out if out.ndim == 1 else out.reshape(-1))
        np.multiply(self.wide(out.size) & np.uint64(2**53 - 1), 2.0**-53, out=out.reshape(-1))
        return out

    def normal(
        self, size: tuple, dtype: np.dtype, mean: float = 0.0, std: float = 1.0, blocks: bool = True
    ) -> np.ndarray:
        """Return normal numbers: in blocks of 16, or one by one in double precision if there are fewer, or on request.

        The last 16 are drawn anew if the size is no multiple of 16.
        """
        n, half = math.prod(size), dtype.itemsize == 2
        real, whole = F4 if half else dtype, n // BLOCK * BLOCK
        if n < BLOCK or not blocks:
            out = np.empty(n, real)
            self.run("normals", out, self.spare, out, mean, std)
        elif n == whole:
            out = paired(self.uniform((n,), real), mean, std)
        else:
            drawn = self.uniform((BLOCK + (whole if half else n),), real)
            drawn[whole : whole + BLOCK] = drawn[-BLOCK:]
            paired(drawn[: whole + BLOCK], mean, std)
            out = drawn[:n].copy()
            out[-BLOCK:] = drawn[whole : whole + BLOCK]
        return (narrowed(out, dtype) if half else out).reshape(size)

    def integers(self, low: int, high: int, size: tuple, wide: bool | None = None) -> np.ndarray:
        """Return integers in [low, high), as int64; of two words each where the range is large, if `wide` does not say it."""
        out, span = np.empty(size, np.int64), high - low
        wide = span >= WIDE_FROM if wide is None else wide
        found = self.wide(out.size) % np.uint64(span) if wide else self.words(out.size) % np.uint32(span)
        return np.add(found.astype(np.int64), low, out=out.reshape(-1)).reshape(size)

    def permutations(self, shape: tuple) -> np.ndarray:
        """Return the numbers below n in random order, one row after the other of shape (..., n)."""
        rows = [np.arange(shape[-1]) for _ in range(math.prod(shape[:-1]))]
        return np.array([self.run("shuffle", row, row) for row in rows], np.int64).reshape(shape)

    def each(self, name: str, *parameters: np.ndarray) -> np.ndarray:
        """Return a number for each element of the parameters, in double precision: `log_gammas`, `poissons` or `binomials`."""
        out = np.empty(parameters[0].size)
        flat = [np.ascontiguousarray(a, np.float64).reshape(-1) for a in parameters]
        return self.run(name, out, self.spare, *flat, out).reshape(parameters[0].shape)

    # ------------------------------------------------------------------ the position in the stream
    def dump(self, seed: int) -> bytes:
        """Return the state as PyTorch lays it out."""
        with self.lock:
            key, at, (value, waits) = self.state[:WORDS], int(self.state[WORDS]), self.spare
            left = 1 if at == WORDS else WORDS + 1 - at
            at = 0 if at == WORDS and key[0] == seed & 0xFFFFFFFF else at  # no word was drawn
            words, value = key.astype(np.uint64).tobytes(), value if waits else 0.0
            return LAYOUT.pack(seed, left, 1, at, words, 0.0, value, 0.0, int(waits), 0.0, False)

    def restore(self, state: bytes) -> int:
        """Go to a position that `dump` recorded, and return its seed; raise RuntimeError for other bytes."""
        seed, left, seeded, at, key, _, value, _, waits, _, _ = LAYOUT.unpack(state)
        if not (seeded and 0 < left <= WORDS and at <= WORDS):
            what = f"these are not the bytes of a state: word {at} of {WORDS}, {left} left"
            raise error(RuntimeError, "set_state", what, "pass the result of generator.get_state()")
        with self.lock:
            self.state[:WORDS] = np.frombuffer(key, np.uint64)
            self.state[WORDS] = WORDS if left == 1 else at
            self.spare[...] = value, waits
        return seed


def paired(out: np.ndarray, mean: float, std: float) -> np.ndarray:
    """Make normal numbers of uniform ones, in blocks of 16: lengths come from the first eight, angles from the others."""
    blocks = out.reshape(-1, 2, BLOCK // 2)
    length, angle = blocks[:, 0].copy(), blocks[:, 1] * out.dtype.type(2 * math.pi)
    np.log(np.subtract(1, length, out=length), out=length)
    np.sqrt(np.multiply(length, -2, out=length), out=length)
    np.multiply(length, np.cos(angle), out=blocks[:, 0])
    np.multiply(length, np.sin(angle, out=angle), out=blocks[:, 1])
    if (mean, std) != (0, 1):
        out *= std
        out += mean
    return out
