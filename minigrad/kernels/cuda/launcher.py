"""The launch of a kernel: the driver's function, called through compiled code, with all arguments packed into one buffer.

Only addresses differ between the launches of a repeated call (repeats.py), so all else stays packed.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any

from .. import cache

SOURCE = '''"""A call of the driver's cuLaunchKernel by its address."""

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic


@intrinsic
def call(typing, function, kernel, x, y, z, block_x, block_y, block_z, stream, extra):
    """Call int function(kernel, x, y, z, block_x, block_y, block_z, 0 bytes of shared memory, stream, NULL, extra)."""

    def emit(context, builder, signature, args):
        address, size = ir.IntType(8).as_pointer(), ir.IntType(32)
        kinds = [address, *[size] * 7, address, address, address]
        function, kernel, *sizes, stream, extra = args
        pointer = lambda value: builder.inttoptr(value, address)
        counts = [*[builder.trunc(n, size) for n in sizes], size(0)]
        given = [pointer(kernel), *counts, pointer(stream), address(None), pointer(extra)]
        return builder.call(builder.inttoptr(function, ir.FunctionType(size, kinds).as_pointer()), given)

    return types.int32(*[types.int64] * 10), emit


@njit(nogil=True)
def launch(function, kernel, x, y, z, block_x, block_y, block_z, stream, extra):
    return call(function, kernel, x, y, z, block_x, block_y, block_z, stream, extra)
'''
POINTER, SIZE, END = 1, 2, 0  # CU_LAUNCH_PARAM_BUFFER_POINTER and others of cuda.h


@functools.cache
def compiled() -> Callable:
    """Return the compiled launch of SOURCE."""
    return cache.load("launch", SOURCE).launch


@functools.cache
def driver_function() -> int:
    """Return the address of the driver's cuLaunchKernel."""
    library = ctypes.WinDLL("nvcuda.dll") if sys.platform == "win32" else ctypes.CDLL("libcuda.so.1")
    return ctypes.cast(library.cuLaunchKernel, ctypes.c_void_p).value or 0


def launch(kernel: Any, sizes: tuple, stream: int, arguments: Arguments) -> int:
    """Launch a kernel (kernel_modules.Ready) in a grid of `sizes` blocks and threads; return the driver's status."""
    return compiled()(driver_function(), kernel.handle, *sizes, stream, arguments.extra)


class Arguments:
    """Packed arguments of a kernel, in the form in which the driver takes them; `extra` is the address of that form."""

    def __init__(self, nbytes: int):
        self.buffer, self.size = ctypes.create_string_buffer(nbytes), ctypes.c_size_t(nbytes)
        whole = (POINTER, ctypes.addressof(self.buffer), SIZE, ctypes.addressof(self.size), END)
        self.whole = (ctypes.c_void_p * 5)(*whole)
        self.extra = ctypes.addressof(self.whole)

    def pack(self, layout: struct.Struct, fields: Sequence) -> None:
        """Write all fields."""
        layout.pack_into(self.buffer, 0, *fields)
        self.size.value = layout.size


class Prepared:
    """A launch whose arguments are packed, but for addresses: each is that of one of a call's arrays, plus a distance."""

    def __init__(self, kernel: Any, sizes: tuple, fields: Sequence, addresses: Sequence):
        self.kernel, self.sizes, self.addresses = kernel, sizes, addresses  # word, number of the array, distance
        self.arguments = Arguments(-(-kernel.arguments.size // 8) * 8)
        self.arguments.pack(kernel.arguments, fields)
        self.words = memoryview(self.arguments.buffer).cast("B").cast("q")

    def __call__(self, begins: list[int], stream: int) -> int:
        """Launch it with arrays that begin at these addresses; return the driver's status."""
        words = self.words
        for word, array, distance in self.addresses:
            words[word] = begins[array] + distance
        return launch(self.kernel, self.sizes, stream, self.arguments)
