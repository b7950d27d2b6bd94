"""Random numbers on the device, from a stream of its own: a seed gives other numbers than on the processor.

The stream is Philox's: each word is a function of its number, so a thread computes four words from its position, and the
processor only counts them. Uniform numbers, and large arrays of normal ones, are made this way, the latter by Box and
Muller's formula. Other numbers, and small arrays of normal ones, come from methods that take a varying number of words (a
ziggurat, a shuffle): the processor draws and copies them.

Source: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3 (2011).
"""

from __future__ import annotations

import math
import threading
from functools import cache
from typing import Any

import numpy as np

from ...arrays.dtypes import F4, HALVES
from ...arrays.meta import entered
from . import kernel_modules
from .device_array import DeviceArray, empty, to_device

NOISE_FROM = 4096  # numbers; fewer are drawn by the processor

SOURCE = '''"""The words of Philox 4x64-10, raw and as numbers in [0, 1)."""

from minigrad.kernels.cuda.device_functions import umul64hi
from numba import cuda
from numpy import float32, float64, int64, uint64

FIRST, SECOND = uint64(0xD2E7470EE14C6C93), uint64(0xCA5A826395121157)
FIRST_STEP, SECOND_STEP = uint64(0x9E3779B97F4A7C15), uint64(0xBB67AE8584CAA73B)
LOWER = uint64(0xFFFFFFFF)


@cuda.jit(device=True)
def four(number, key0, key1):
    """Return words 4 * number to 4 * number + 3: ten rounds mix the number with the key, which changes in each."""
    a, b, c, d = number, uint64(0), uint64(0), uint64(0)
    for step in range(10):
        a, b, c, d = (umul64hi(SECOND, c) ^ b ^ key0, SECOND * c, umul64hi(FIRST, a) ^ d ^ key1, FIRST * a)
        key0, key1 = key0 + FIRST_STEP, key1 + SECOND_STEP
    return a, b, c, d
'''

EACH = '''

@cuda.jit
def {name}(start, key0, key1, out):
    """{title}"""
    skipped = int64(start & uint64(3))
    for i in range(cuda.grid(1), (out.size + skipped + 3) // 4, cuda.gridsize(1)):
        found = four((start >> uint64(2)) + uint64(i), key0, key1)
        for k in range(4):
            at = 4 * i + k - skipped
            if 0 <= at < out.size:
                out[at] = {number}
'''
WORDS = EACH.format(name="words", title="Write the words from number `start` on.", number="found[k]")
DOUBLES = EACH.format(
    name="doubles",
    title="Write a number in [0, 1) from the upper 53 bits of each word.",
    number="float64(found[k] >> uint64(11)) * 2.0**-53",
)
SINGLES = '''

@cuda.jit
def singles(start, key0, key1, out):
    """Write two numbers in [0, 1) from each word: from the upper 24 bits of its lower half, and of its upper half."""
    skipped = int64(start & uint64(3))
    for i in range(cuda.grid(1), ((out.size + 1) // 2 + skipped + 3) // 4, cuda.gridsize(1)):
        found = four((start >> uint64(2)) + uint64(i), key0, key1)
        for k in range(4):
            at = 2 * (4 * i + k - skipped)
            if 0 <= at < out.size:
                out[at] = float32((found[k] & LOWER) >> uint64(8)) * float32(2.0**-24)
            if 0 <= at and at + 1 < out.size:
                out[at + 1] = float32(found[k] >> uint64(40)) * float32(2.0**-24)
'''


NORMALS = '''"""Normal numbers of {real} from random bits."""

from minigrad.kernels.cuda.device_functions import cos, log, sin, sqrt
from numba import cuda
from numpy import {real} as real, {signed} as signed

TURN = real(2 * 3.141592653589793)
UNIT = real(2.0**-{digits})


@cuda.jit
def normal(length_, angle_, first_, second_):
    """Make pairs from two integers each: the length comes from u in (0, 1], the angle is a part of a turn."""
    for i in range(cuda.grid(1), second_.size, cuda.gridsize(1)):
        length = sqrt(real(-2) * log(real(signed(length_[i] >> {spare}) + signed(1)) * UNIT))
        angle = real(signed(angle_[i] >> {spare})) * UNIT * TURN
        first_[i], second_[i] = length * cos(angle), length * sin(angle)
'''


@cache
def uniform_kernels() -> Any:
    """Return the kernels that make words and uniform numbers."""
    return kernel_modules.load("philox", SOURCE + WORDS + DOUBLES + SINGLES)


@cache
def normal_kernel(dtype: np.dtype) -> Any:
    """Return the kernel that makes pairs of normal numbers."""
    bits, digits = 8 * dtype.itemsize, np.finfo(dtype).nmant + 1
    text = NORMALS.format(real=dtype.name, signed=f"int{bits}", digits=digits, spare=bits - digits)
    return kernel_modules.load(f"noise_{dtype.name}", text).normal


class RandomStream:
    """A generator of random numbers on the device, with the methods of the one on the processor (kernels/cpu/mt19937.py).

    `processor` is NumPy's generator, which has the position in the stream.
    """

    SIZE = 14 * 8

    def __init__(self, seed: int):
        self.bit_generator = np.random.Philox(seed)
        self.processor = np.random.Generator(self.bit_generator)
        self.lock = threading.Lock()  # held while a kernel's position is read and advanced

    def uniform(self, size: tuple, dtype: np.dtype) -> DeviceArray:
        """Return numbers in [0, 1)."""
        out = empty(size, dtype)
        with self.lock:
            if out.size and out.dtype == np.float32:
                self.fill_singles(out.reshape(-1))
            elif out.size:
                self.fill("doubles", out.reshape(-1))
        return out

    def fill(self, kernel: str, out: DeviceArray) -> None:
        """Fill an array from one word per number."""
        getattr(uniform_kernels(), kernel)[kernel_modules.threads(-(-out.size // 4))](*self.place(), out)
        self.skip(out.size)

    def fill_singles(self, out: DeviceArray) -> None:
        """Fill an array from half a word per number. The processor buffers half-used words, so it draws the first and last."""
        if self.bit_generator.state["has_uint32"]:
            out[:1] = self.processor.random(dtype=np.float32)
            out = out[1:]
        if out.size:
            uniform_kernels().singles[kernel_modules.threads(-(-out.size // 8))](*self.place(), out)
            self.skip((out.size - 1) // 2)
            self.processor.random(2 - out.size % 2, np.float32)

    def normal(
        self, size: tuple, dtype: np.dtype, mean: float = 0.0, std: float = 1.0, blocks: bool = True
    ) -> DeviceArray:
        """Return normal numbers."""
        n, real = math.prod(size), F4 if dtype in HALVES else dtype
        if n < NOISE_FROM:
            found = self.drawn("standard_normal", size, real)
        else:
            half = -(-n // 2)
            words = empty(-(-2 * half * real.itemsize // 8), np.uint64)
            with self.lock:
                self.fill("words", words)
            bits, pairs = words.view(f"u{real.itemsize}"), empty((2, half), real)
            normal_kernel(real)[kernel_modules.threads(half)](bits[:half], bits[half : 2 * half], pairs[0], pairs[1])
            found = pairs.reshape(-1)[:n].reshape(size)
        return (found if (mean, std) == (0, 1) else found * real.type(std) + real.type(mean)).astype(dtype, copy=False)

    def drawn(self, name: str, *args: Any) -> DeviceArray:
        """Return what NumPy's generator draws on the processor."""
        given = [a.to_host() if type(a) is DeviceArray else a for a in args]
        with self.lock:
            return to_device(np.asarray(getattr(self.processor, name)(*given)))

    def integers(self, low: int, high: int, size: tuple, wide: bool | None = None) -> DeviceArray:
        """Return integers in [low, high)."""
        return self.drawn("integers", low, high, size)

    def exponential(self, size: tuple) -> DeviceArray:
        """Return exponential numbers of mean 1, as float64."""
        return self.drawn("standard_exponential", size)

    def permutations(self, shape: tuple) -> DeviceArray:
        """Return the numbers below n in random order, along the last dimension of (..., n)."""
        return self.drawn("permuted", np.broadcast_to(np.arange(shape[-1]), shape), -1)

    def gamma(self, shapes: DeviceArray) -> DeviceArray:
        """Return a number of the gamma distribution of each shape, as float64."""
        return self.drawn("standard_gamma", shapes)

    def poisson(self, rates: DeviceArray) -> DeviceArray:
        """Return a count of each mean."""
        return self.drawn("poisson", rates)

    def binomial(self, counts: DeviceArray, ps: DeviceArray) -> DeviceArray:
        """Return a number of successes for each number of trials and probability."""
        return self.drawn("binomial", counts.astype(np.int64), ps)

    # ------------------------------------------------------------------ the position in the stream
    def place(self) -> tuple:
        """Return the number of the next word, and the key. NumPy computes a block of four words ahead."""
        state = self.bit_generator.state
        number = 4 * int(state["state"]["counter"][0]) + state["buffer_pos"]
        return np.uint64(number), *state["state"]["key"]

    def skip(self, words: int) -> None:
        """Skip `words` words; a buffered half word stays."""
        bits, number = self.bit_generator, int(self.place()[0]) + words
        state = bits.state
        state["state"]["counter"][0], state["buffer_pos"] = number // 4 - 1, 4
        bits.state = state
        if number % 4:
            bits.random_raw(number % 4)

    def dump(self, seed: int) -> bytes:
        """Return the position, for `restore`."""
        with self.bit_generator.lock:
            state = self.bit_generator.state
        words = [*state["state"]["counter"], *state["state"]["key"], *state["buffer"]]
        words += [state["buffer_pos"], state["has_uint32"], state["uinteger"], seed]
        return np.array([int(w) for w in words], np.uint64).tobytes()

    def restore(self, recorded: bytes) -> int:
        """Go to a position that `dump` recorded, and return its seed."""
        words = np.frombuffer(recorded, np.uint64)
        position, has_uint32, uinteger, seed = [int(w) for w in words[10:]]
        with self.lock:
            self.bit_generator.state = {
                "bit_generator": "Philox",
                "state": {"counter": words[:4], "key": words[4:6]},
                "buffer": words[6:10],
                "buffer_pos": position,
                "has_uint32": has_uint32,
                "uinteger": uinteger,
            }
        return seed


class NoStream:
    """A generator whose arrays have no memory."""

    SIZE = 0

    def __init__(self, seed: int):
        pass

    def uniform(self, size: tuple, dtype: Any = np.float64, *others: Any) -> DeviceArray:
        """Return an array of a size."""
        with entered():
            return empty(size, dtype)

    normal = exponential = uniform

    def integers(self, low: int, high: int, size: tuple, wide: bool | None = None) -> DeviceArray:
        """Return an array of integers."""
        return self.uniform(size, np.int64)

    def permutations(self, shape: tuple) -> DeviceArray:
        """Return an array of integers."""
        return self.uniform(shape, np.int64)

    def gamma(self, parameters: Any, *others: Any) -> DeviceArray:
        """Return an array of the size of the parameters."""
        return self.uniform(parameters.shape)

    poisson = binomial = gamma
