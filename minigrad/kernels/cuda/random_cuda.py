"""Random numbers on the device: the same stream as on the processor, so a seed gives the same numbers on both.

The stream is Philox's: its words are a function of their numbers, so each thread computes four of them from where it
stands, and the processor only notes how many were taken.  Uniform numbers, and many normal ones, are made so.  The others,
few normal ones among them, come from methods that take as many words as it happens (a ziggurat, a shuffle): the processor
draws them, and they are copied.

Source: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3 (2011).
"""

from __future__ import annotations

import math
import threading
from functools import cache
from typing import Any

import numpy as np

from ...arrays.nowhere import entered
from ..cpu import normal_rng
from ..formula import CUDA
from . import kernel_modules
from .device_array import DeviceArray, empty, to_device

SOURCE = '''"""The words of Philox 4x64-10, as they are, and as numbers in [0, 1)."""

from minigrad.kernels.cuda.device_functions import umul64hi
from numba import cuda
from numpy import float32, float64, int64, uint64

FIRST, SECOND = uint64(0xD2E7470EE14C6C93), uint64(0xCA5A826395121157)
FIRST_STEP, SECOND_STEP = uint64(0x9E3779B97F4A7C15), uint64(0xBB67AE8584CAA73B)
LOWER = uint64(0xFFFFFFFF)


@cuda.jit(device=True)
def four(number, key0, key1):
    """The words 4 * number to 4 * number + 3: ten rounds stir the number with the key, which takes a step in each."""
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
WORDS = EACH.format(name="words", title="The words from number `start` on.", number="found[k]")
DOUBLES = EACH.format(
    name="doubles",
    title="A number in [0, 1) from the upper 53 bits of each word.",
    number="float64(found[k] >> uint64(11)) * 2.0**-53",
)
SINGLES = '''

@cuda.jit
def singles(start, key0, key1, out):
    """Two numbers in [0, 1) from each word: from the upper 24 bits of its lower half, and of its upper half."""
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
    """The kernels that make words and uniform numbers."""
    return kernel_modules.load("philox", SOURCE + WORDS + DOUBLES + SINGLES)


@cache
def normal_kernel(dtype: np.dtype) -> Any:
    """The kernel that makes pairs of normal numbers."""
    elements = "cuda.grid(1), second_.size, cuda.gridsize(1)"
    return kernel_modules.load(f"noise_{dtype.name}", normal_rng.text(dtype, CUDA, "cuda.jit", elements)).normal


class Stream:
    """A generator of random numbers whose arrays are on the device; `processor` is NumPy's, and knows the place in the stream.

    It has the methods of NumPy's, and those of kernels/cpu/normal_rng.py.
    """

    def __init__(self, bits: np.random.Philox):
        self.bit_generator, self.processor = bits, np.random.Generator(bits)
        self.lock = threading.Lock()  # the place is read before, and set after, a kernel is launched

    def random(self, size: Any = (), dtype: Any = np.float64) -> DeviceArray:
        """Uniform numbers in [0, 1)."""
        out = empty(size, dtype)
        with self.lock:
            if out.size and out.dtype == np.float32:
                self.fill_singles(out.reshape(-1))
            elif out.size:
                self.fill("doubles", out.reshape(-1))
        return out

    def fill(self, kernel: str, out: DeviceArray) -> None:
        """Numbers from a word each."""
        getattr(uniform_kernels(), kernel)[kernel_modules.threads(-(-out.size // 4))](*self.place(), out)
        self.skip(out.size)

    def fill_singles(self, out: DeviceArray) -> None:
        """Numbers from half a word each.  The processor keeps what is left of a word, so it draws those at both ends too."""
        if self.bit_generator.state["has_uint32"]:
            out[:1] = self.processor.random(dtype=np.float32)
            out = out[1:]
        if out.size:
            uniform_kernels().singles[kernel_modules.threads(-(-out.size // 8))](*self.place(), out)
            self.skip((out.size - 1) // 2)
            self.processor.random(2 - out.size % 2, np.float32)

    def normal(self, size: tuple, dtype: np.dtype) -> DeviceArray:
        """Numbers of mean 0 and variance 1, as kernels/cpu/normal_rng.py makes them."""
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
        """The numbers below n in random order, along the last dimension of (..., n)."""
        with self.lock:
            return to_device(normal_rng.permutations(self.processor, shape))

    def __getattr__(self, name: str) -> Any:
        """NumPy's other methods: drawn by the processor, and copied."""
        method = getattr(self.processor, name)

        def drawn(*args: Any, **kwargs: Any) -> DeviceArray:
            args = tuple([a.to_host() if type(a) is DeviceArray else a for a in args])
            with self.lock:
                return to_device(method(*args, **kwargs))

        return drawn

    # ------------------------------------------------------------------ the place in the stream
    def place(self) -> tuple:
        """The number of the next word, and the key.  A block of four has been computed ahead of the words taken from it."""
        state = self.bit_generator.state
        number = 4 * int(state["state"]["counter"][0]) + state["buffer_pos"]
        return np.uint64(number), *state["state"]["key"]

    def skip(self, words: int) -> None:
        """Leave out so many words; half of one that is kept stays."""
        bits, number = self.bit_generator, int(self.place()[0]) + words
        state = bits.state
        state["state"]["counter"][0], state["buffer_pos"] = number // 4 - 1, 4
        bits.state = state
        if number % 4:
            bits.random_raw(number % 4)


class NoStream:
    """A generator whose arrays are nowhere."""

    def __init__(self, bits: np.random.Philox):
        self.bit_generator = bits

    def random(self, size: Any = (), dtype: Any = np.float64) -> DeviceArray:
        """Make an array of a size."""
        with entered():
            return empty(size, dtype)

    normal = standard_normal = standard_exponential = random

    def integers(self, low: int, high: int, size: Any) -> DeviceArray:
        """Make an array of integers."""
        return self.random(size, np.int64)

    def permutations(self, shape: tuple) -> DeviceArray:
        """Make an array of integers."""
        return self.random(shape, np.int64)

    def poisson(self, rate: Any) -> DeviceArray:
        """Make an array of integers."""
        return self.random(rate.shape, np.int64)
