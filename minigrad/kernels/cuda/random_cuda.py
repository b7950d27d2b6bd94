"""Random numbers on the device, from a separate stream: a seed gives other numbers than on the processor.

The stream is Philox's: each block of four words is a function of its number, so that each thread finds its own. Uniform and
normal numbers are made this way. Others come from methods that take a varying number of words (a shuffle, rejection): the
processor draws them from its stream, and copies them.

Source: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3 (2011).
"""

import threading
from functools import cache
from typing import Any

import numpy as np

from ...arrays.dtypes import F4, HALVES
from ...arrays.meta import entered
from ..cpu.mt19937 import Stream
from . import kernel_modules
from .device_array import DeviceArray, empty, to_device

SOURCE = '''"""The words of Philox 4x64-10 as uniform and normal numbers of {real}."""

from minigrad.kernels.cuda.device_functions import cos, log, sin, sqrt, umul64hi
from numba import cuda
from numpy import {real} as real, uint64

FIRST, SECOND = uint64(0xD2E7470EE14C6C93), uint64(0xCA5A826395121157)
FIRST_STEP, SECOND_STEP = uint64(0x9E3779B97F4A7C15), uint64(0xBB67AE8584CAA73B)
SPARE, UNIT, TURN = uint64({spare}), real(2.0**-{digits}), real(2 * 3.141592653589793)


@cuda.jit(device=True)
def four(number, key):
    """Return the words of a block: ten rounds mix its number with the key, which changes in each."""
    a, b, c, d, key0, key1 = number, uint64(0), uint64(0), uint64(0), key, uint64(0)
    for step in range(10):
        a, b, c, d = (umul64hi(SECOND, c) ^ b ^ key0, SECOND * c, umul64hi(FIRST, a) ^ d ^ key1, FIRST * a)
        key0, key1 = key0 + FIRST_STEP, key1 + SECOND_STEP
    return a, b, c, d


@cuda.jit
def uniform(first, key, out):
    """Write numbers in [0, 1), one for each word from block `first` on."""
    for i in range(cuda.grid(1), (out.size + 3) // 4, cuda.gridsize(1)):
        found = four(first + uint64(i), key)
        for k in range(4):
            if 4 * i + k < out.size:
                out[4 * i + k] = real(found[k] >> SPARE) * UNIT


@cuda.jit
def normal(first, key, out):
    """Write normal numbers, by Box and Muller's formula: the length comes from u in (0, 1], the angle is a part of a turn."""
    for i in range(cuda.grid(1), (out.size + 3) // 4, cuda.gridsize(1)):
        found = four(first + uint64(i), key)
        for k in range(0, 4, 2):
            length = sqrt(real(-2) * log(real((found[k] >> SPARE) + uint64(1)) * UNIT))
            angle = real(found[k + 1] >> SPARE) * UNIT * TURN
            if 4 * i + k < out.size:
                out[4 * i + k] = length * cos(angle)
            if 4 * i + k + 1 < out.size:
                out[4 * i + k + 1] = length * sin(angle)
'''


@cache
def kernels(dtype: np.dtype) -> Any:
    """Return the kernels for numbers of a dtype."""
    digits = np.finfo(dtype).nmant + 1
    return kernel_modules.load(f"philox_{dtype.name}", SOURCE.format(real=dtype.name, digits=digits, spare=64 - digits))


class RandomStream:
    """A stream of random numbers on the device, with the methods of that on the processor (kernels/cpu/mt19937.py)."""

    SIZE = Stream.SIZE + 8

    def __init__(self):
        self.processor, self.key = Stream(), np.uint64(0)
        self.block = 0  # the number of the next one
        self.lock = threading.Lock()

    def seed(self, seed: int) -> None:
        """Start again from a seed."""
        with self.lock:
            self.processor.seed(seed)
            self.key, self.block = np.uint64(seed), 0

    def uniform(self, size: tuple, dtype: np.dtype) -> DeviceArray:
        """Return numbers in [0, 1)."""
        return self.made("uniform", size, dtype)

    def normal(
        self, size: tuple, dtype: np.dtype, mean: float = 0.0, std: float = 1.0, blocks: bool = True
    ) -> DeviceArray:
        """Return normal numbers."""
        real = F4 if dtype in HALVES else dtype
        found = self.made("normal", size, real)
        return (found if (mean, std) == (0, 1) else found * real.type(std) + real.type(mean)).astype(dtype, copy=False)

    def made(self, kernel: str, size: tuple, dtype: np.dtype) -> DeviceArray:
        """Return what a kernel makes of the next blocks."""
        out = empty(size, dtype)
        if n := -(-out.size // 4):
            with self.lock:
                first, self.block = np.uint64(self.block), self.block + n
            getattr(kernels(dtype), kernel)[kernel_modules.threads(n)](first, self.key, out.reshape(-1))
        return out

    def __getattr__(self, name: str) -> Any:
        """Return a method by which the processor draws numbers, and copies them."""
        method = getattr(self.processor, name)
        return lambda *args: to_device(method(*[a.to_host() if type(a) is DeviceArray else a for a in args]))

    def dump(self, seed: int) -> bytes:
        """Return the state, for `restore`."""
        with self.lock:
            return self.processor.dump(seed) + self.block.to_bytes(8, "little")

    def restore(self, state: bytes) -> int:
        """Go to a position that `dump` recorded, and return its seed."""
        with self.lock:
            seed = self.processor.restore(state[: Stream.SIZE])
            self.key, self.block = np.uint64(seed), int.from_bytes(state[Stream.SIZE :], "little")
        return seed


class NoStream:
    """A stream whose arrays have no memory."""

    SIZE = 0

    def uniform(self, size: tuple, dtype: Any = np.float64, *others: Any) -> DeviceArray:
        """Return an array of a size."""
        with entered():
            return empty(size, dtype)

    normal = uniform
    integers = lambda self, low, high, size, wide=None: self.uniform(size, np.int64)
    permutations = lambda self, shape: self.uniform(shape, np.int64)
    seed = lambda self, seed: None
    each = lambda self, name, *parameters: self.uniform(parameters[0].shape)
