"""Random numbers on the device: the same stream as on the processor, so a seed gives the same numbers on both.

The stream is Philox's: each word is a function of its number, so a thread computes four words from its position, and the
processor only counts them. Uniform numbers, and large arrays of normal ones, are made this way. Other numbers, and small
arrays of normal ones, come from methods that take a varying number of words (a ziggurat, a shuffle): the processor draws
and copies them.

Source: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3 (2011).
"""

from __future__ import annotations

import math
import threading
from functools import cache
from typing import Any

import numpy as np

from ...arrays.meta import entered
from ..cpu import normal_rng
from ..formula import CUDA
from . import kernel_modules
from .device_array import DeviceArray, empty, to_device

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


@cache
def uniform_kernels() -> Any:
    """Return the kernels that make words and uniform numbers."""
    return kernel_modules.load("philox", SOURCE + WORDS + DOUBLES + SINGLES)


@cache
def normal_kernel(dtype: np.dtype) -> Any:
    """Return the kernel that makes pairs of normal numbers."""
    elements = "cuda.grid(1), second_.size, cuda.gridsize(1)"
    return kernel_modules.load(f"noise_{dtype.name}", normal_rng.text(dtype, CUDA, "cuda.jit", elements)).normal


class RandomStream:
    """A generator of random numbers on the device; `processor` is NumPy's generator, which has the position in the stream.

    It has the methods of NumPy's generators and of kernels/cpu/normal_rng.py.
    """

    def __init__(self, bits: np.random.Philox):
        self.bit_generator, self.processor = bits, np.random.Generator(bits)
        self.lock = threading.Lock()  # held while a kernel's position is read and advanced

    def random(self, size: Any = (), dtype: Any = np.float64) -> DeviceArray:
        """Return uniform numbers in [0, 1)."""
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

    def normal(self, size: tuple, dtype: np.dtype) -> DeviceArray:
        """Return numbers of mean 0 and variance 1, made as in kernels/cpu/normal_rng.py."""
        n = math.prod(size)
        if n < normal_rng.NOISE_FROM:
            return self.standard_normal(size, dtype)
        half = -(-n // 2)
        drawn = empty(-(-2 * half * dtype.itemsize // 8), np.uint64)
        with self.lock:
            self.fill("words", drawn)
        bits, pairs = drawn.view(f"u{dtype.itemsize}"), empty((2, half), dtype)
        normal_kernel(dtype)[kernel_modules.threads(half)](bits[:half], bits[half : 2 * half], pairs[0], pairs[1])
        return pairs.reshape(-1)[:n].reshape(size)

    def permutations(self, shape: tuple) -> DeviceArray:
        """Return the numbers below n in random order, along the last dimension of (..., n)."""
        with self.lock:
            return to_device(normal_rng.permutations(self.processor, shape))

    def __getattr__(self, name: str) -> Any:
        """Return NumPy's other methods: the processor draws the numbers and copies them."""
        method = getattr(self.processor, name)

        def drawn(*args: Any, **kwargs: Any) -> DeviceArray:
            args = tuple([a.to_host() if type(a) is DeviceArray else a for a in args])
            with self.lock:
                return to_device(method(*args, **kwargs))

        return drawn

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


class NoStream:
    """A generator whose arrays have no memory."""

    def __init__(self, bits: np.random.Philox):
        self.bit_generator = bits

    def random(self, size: Any = (), dtype: Any = np.float64) -> DeviceArray:
        """Return an array of a size."""
        with entered():
            return empty(size, dtype)

    normal = standard_normal = standard_exponential = random

    def integers(self, low: int, high: int, size: Any) -> DeviceArray:
        """Return an array of integers."""
        return self.random(size, np.int64)

    def permutations(self, shape: tuple) -> DeviceArray:
        """Return an array of integers."""
        return self.random(shape, np.int64)

    def poisson(self, rate: Any) -> DeviceArray:
        """Return an array of integers."""
        return self.random(rate.shape, np.int64)

    def binomial(self, count: Any, p: Any) -> DeviceArray:
        """Return an array of integers."""
        return self.random(count.shape, np.int64)
