"""The `cuda` module that simulated kernels see: Numba's fake module, with a thread's number as a plain attribute.

Numba's asks the operating system which thread runs. Here one thread runs at a time, and the scheduler sets `threadIdx` and
the like before each step. In addition to Numba's functions this has the operations of a warp, and shared memory that belongs
to its block and is filled with garbage, as on a GPU.
"""

import math
import sys
from collections import ChainMap
from collections.abc import Callable
from functools import cache, partial
from types import ModuleType
from typing import Any

import numpy as np
from numba.cuda.simulator.kernelapi import Dim3, FakeCUDAAtomic, FakeCUDALocal, FakeCUDAModule

from .block import Barrier, ThreadBlock

WARP = 32
GARBAGE = 0x7F  # the byte that fills uninitialised memory


class OutsideAccess(IndexError):
    """An access outside an array: the access ("reads", "writes", "updates"), the array, and the index."""

    def __init__(self, does: str, array: np.ndarray, index: Any, name: str = "an array"):
        super().__init__(does, array, index, name)
        self.does, self.array, self.index, self.name = does, array, index, name


class FakeCuda(FakeCUDAModule):
    """The module as the running thread sees it."""

    threadIdx = blockIdx = None  # properties in Numba's class
    number = 0  # of the thread in its block

    def __init__(self) -> None:
        super().__init__((1, 1, 1), (1, 1, 1), 0)
        self._local, self._shared, self._atomic = Local(), Shared(self), Atomic()
        self.block: Any = None
        self.launch: Any = None  # records the threads' accesses, if they are watched

    def configure(self, grid: tuple, block: tuple) -> None:
        """Set the sizes of a launch."""
        self.gridDim, self.blockDim = Dim3(*grid), Dim3(*block)
        self.indices = indices(block)

    def act_as(self, number: int) -> None:
        """Act for this thread of the block from now on."""
        self.number, self.threadIdx = number, self.indices[number]

    @property
    def laneid(self) -> int:
        return self.number % WARP

    @property
    def first_lane(self) -> int:
        """The number of the first thread in this warp."""
        return self.number - self.laneid

    # ------------------------------------------------------------------ barriers of a block
    def everyone(self, name: str, value: Any, answer: Callable) -> Barrier:
        """Return a barrier for the whole block."""
        return Barrier(name, (1 << len(self.indices)) - 1, value, answer)

    def syncthreads(self) -> Barrier:
        return self.everyone("syncthreads", None, lambda met: None)

    def syncthreads_count(self, value: Any) -> Barrier:
        return self.everyone("syncthreads_count", bool(value), lambda met: sum(met.values()))

    def syncthreads_and(self, value: Any) -> Barrier:
        return self.everyone("syncthreads_and", bool(value), lambda met: int(all(met.values())))

    def syncthreads_or(self, value: Any) -> Barrier:
        return self.everyone("syncthreads_or", bool(value), lambda met: int(any(met.values())))

    # ------------------------------------------------------------------ operations of a warp
    def warp(self, name: str, mask: int, value: Any, answer: Callable) -> Barrier:
        """Return a barrier for the lanes of this warp that are in the mask."""
        lanes = int(mask) & 0xFFFFFFFF
        if not lanes >> self.laneid & 1:
            raise ValueError(f"{name}: the mask {lanes:#x} leaves out the calling lane {self.laneid}")
        return Barrier(name, lanes << self.first_lane & (1 << len(self.indices)) - 1, value, answer)

    def syncwarp(self, mask: int = 0xFFFFFFFF) -> Barrier:
        return self.warp("syncwarp", mask, None, lambda met: None)

    def shfl_sync(self, mask: int, value: Any, lane: int) -> Barrier:
        return self.warp("shfl_sync", mask, value, lambda met: self.of_lane(met, lane % WARP))

    def shfl_up_sync(self, mask: int, value: Any, delta: int) -> Barrier:
        return self.warp("shfl_up_sync", mask, value, lambda met: self.of_lane(met, self.laneid - delta))

    def shfl_down_sync(self, mask: int, value: Any, delta: int) -> Barrier:
        return self.warp("shfl_down_sync", mask, value, lambda met: self.of_lane(met, self.laneid + delta))

    def shfl_xor_sync(self, mask: int, value: Any, lanes: int) -> Barrier:
        return self.warp("shfl_xor_sync", mask, value, lambda met: self.of_lane(met, self.laneid ^ lanes))

    def all_sync(self, mask: int, value: Any) -> Barrier:
        return self.warp("all_sync", mask, bool(value), lambda met: all(met.values()))

    def any_sync(self, mask: int, value: Any) -> Barrier:
        return self.warp("any_sync", mask, bool(value), lambda met: any(met.values()))

    def ballot_sync(self, mask: int, value: Any) -> Barrier:
        return self.warp("ballot_sync", mask, bool(value), lambda met: sum(v << n % WARP for n, v in met.items()))

    def of_lane(self, met: dict, lane: int) -> Any:
        """Return the value of another lane: its own value beyond the warp's ends, garbage from an inactive lane."""
        mine = met[self.number]
        if not 0 <= lane < WARP:
            return mine
        other = self.first_lane + int(lane)
        return met[other] if other in met else garbage(np.empty(1, np.asarray(mine).dtype))[0]


class Local(FakeCUDALocal):
    """Arrays of one thread."""

    def array(self, shape: Any, dtype: Any, alignment: int | None = None) -> np.ndarray:
        return garbage(super().array(shape, dtype))


class Shared(Local):
    """Arrays of a block: the n-th array that a thread requests is the n-th of its block, on whatever line."""

    def __init__(self, cuda: FakeCuda):
        self.cuda = cuda

    def array(self, shape: Any, dtype: Any, alignment: int | None = None) -> Any:
        block: ThreadBlock = self.cuda.block
        n = block.requests.get(self.cuda.number, 0)
        block.requests[self.cuda.number] = n + 1
        if n == len(block.shared):
            made, launch = super().array(shape, dtype), self.cuda.launch
            block.shared.append(made if launch is None else launch.shared(made, sys._getframe(1)))
        return block.shared[n]


def garbage(array: np.ndarray) -> np.ndarray:
    """Fill memory as if uninitialised: NaN, large integers, True."""
    if array.dtype.kind in "fc":
        array.fill(np.nan)
    else:
        array.reshape(-1).view(np.uint8).fill(1 if array.dtype.kind == "b" else GARBAGE)
    return array


class Atomic:
    """Numba's atomic operations on elements, with errors for indices outside the array."""

    def __init__(self) -> None:
        for name in (name for name in dir(FakeCUDAAtomic) if not name.startswith("__")):
            setattr(self, name, partial(self.apply, getattr(FakeCUDAAtomic(), name)))

    @staticmethod
    def apply(operation: Callable, array: Any, *args: Any) -> Any:
        """Run the operation; a watched array records it as one access."""
        index = (0,) * array.ndim if operation.__name__ == "compare_and_swap" else args[0]
        if hasattr(array, "atomic"):
            return array.atomic(operation, index, args)
        try:
            return operation(array, *args)
        except IndexError:
            raise OutsideAccess("updates", array, index) from None


@cache
def indices(shape: tuple[int, int, int]) -> list:
    """Return the index of each thread of a block, or of each block of a grid, in the order of their numbers."""
    nx, ny, nz = shape
    return [Dim3(x, y, z) for z in range(nz) for y in range(ny) for x in range(nx)]


@cache
def gpu_math() -> ModuleType:
    """Return Python's `math` as a GPU computes it: through NumPy, which keeps float32 and gives infinities for errors."""
    from . import by_numpy

    found, known = ModuleType("math"), ChainMap(vars(by_numpy), vars(np), vars(math))
    vars(found).update({name: known[name] for name in vars(math) if not name.startswith("_")})
    return found
