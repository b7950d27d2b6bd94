"""Products from NVIDIA's library cuBLAS, if it is installed: NVIDIA tunes large products for every GPU.

cuBLAS is optional: without it, and for cases that it does not cover, our own kernel (matmul_cuda.py) computes products.

    pip install nvidia-cublas        # with the extra cuda13
    pip install nvidia-cublas-cu12   # with the extra cuda12
"""

import ctypes
import functools
import math
import threading
from typing import Any

import numpy as np

from ...arrays.meta import inside
from ...errors import error
from . import machine, simulator

# multiplications, 256 x 256 x 256; below, a launch takes longer than the computation, with any kernel
LIBRARY_FROM = 1 << 24
FUNCTIONS = {
    "float32": ("cublasSgemmStridedBatched", ctypes.c_float),
    "float64": ("cublasDgemmStridedBatched", ctypes.c_double),
}
NORMAL, TRANSPOSED = 0, 1  # cublasOperation_t
POINTER, INT, LONG = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
LARGEST = 2**31 - 1  # its sizes are C ints


@functools.cache
def library() -> Any:
    """Return cuBLAS, as installed by pip, conda or the CUDA toolkit; None if it is missing."""
    if simulator.SIMULATED:
        return None
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        return ctypes.CDLL(load_nvidia_dynamic_lib("cublas").abs_path)
    except (ImportError, OSError, RuntimeError):
        return None


def handle() -> ctypes.c_void_p:
    """Return the thread's handle of the library, which computes in the stream of the thread's kernels."""
    made = getattr(_kept, "handle", None)
    if made is None:
        made = _kept.handle = ctypes.c_void_p()
        check("cublasCreate_v2", library().cublasCreate_v2(ctypes.byref(made)))
    check("cublasSetStream_v2", library().cublasSetStream_v2(made, POINTER(machine.current().stream)))
    return made


_kept = threading.local()


def check(name: str, status: int) -> None:
    """Raise RuntimeError if a function of the library failed."""
    if status:
        raise error(
            RuntimeError, "matmul", f"{name} of cuBLAS returned status {status}", "run it on the processor: x.cpu()"
        )


def product(x: Any, y: Any, out: Any, batch: tuple, rows: int, columns: int, depth: int) -> bool:
    """Compute out = x @ y with cuBLAS; return False, with nothing done, if cuBLAS is missing or does not fit."""
    dtype = out.memory.dtype.name
    small = math.prod(batch) * rows * columns * depth < LIBRARY_FROM
    if small or inside.active or dtype not in FUNCTIONS or library() is None:
        return False
    if not out.along_rows:  # cuBLAS writes columns, so it gets the transposed product
        x, y, out, rows, columns = y.T, x.T, out.T, columns, rows
    given = arguments(x, y, out, batch, rows, columns, depth)
    if given is None:
        return False
    name, number = FUNCTIONS[dtype]
    one, zero = number(1), number(0)
    machine.refuse_repeats()
    turns, sizes, (y_step, y_next), (x_step, x_next), (out_step, out_next), count = given
    f = getattr(library(), name)
    f.argtypes = [POINTER, *[INT] * 5, POINTER, *[POINTER, INT, LONG] * 2, POINTER, POINTER, INT, LONG, INT]
    operands = y.memory.address, y_step, y_next, x.memory.address, x_step, x_next
    result = out.memory.address, out_step, out_next, count
    check(name, f(handle(), *turns, *sizes, ctypes.byref(one), *operands, ctypes.byref(zero), *result))
    return True


def arguments(x: Any, y: Any, out: Any, batch: tuple, rows: int, columns: int, depth: int) -> tuple | None:
    """Return BLAS's arguments: transpositions, sizes, for each operand the steps to the next column and matrix, and the number
    of matrices. None for operands that BLAS cannot describe, such as the tables of convolutions.

    BLAS is column-major: it sees rows transposed, and (y.T @ x.T) is (x @ y).T.
    """
    found = [turned(y, depth, columns), turned(x, rows, depth), turned(out, rows, columns)]
    if any([f is None for f in found]) or found[2][0] != NORMAL or min(batch) > 1:
        return None
    inner = batch[1] > 1
    steps = [(f[1], a.inner if inner else a.outer) for f, a in zip(found, (y, x, out))]
    if max(rows, columns, depth, *[s for s, _ in steps]) > LARGEST:
        return None
    return (found[0][0], found[1][0]), (columns, rows, depth), *steps, max(batch)


def turned(a: Any, rows: int, columns: int) -> tuple | None:
    """Return NORMAL or TRANSPOSED if rows or columns are contiguous, and the step to the next one; None if neither is."""
    if not all([isinstance(s, (int, np.integer)) for s in (a.rows, a.columns)]):
        return None
    if a.columns == 1 and a.rows >= columns:
        return NORMAL, a.rows
    if a.rows == 1 and a.columns >= rows:
        return TRANSPOSED, a.columns
    return None
