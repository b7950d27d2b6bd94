"""The table of NumPy functions and operators that have kernels on the device.

DeviceArray looks functions up here, so it does not depend on the files with kernels, all of which depend on it. A file
enters its functions when it is imported: `@of_arrays(np.concatenate)`, and `@of_arrays(operator.getitem)` for x[index].
A function without an entry raises NotImplementedError: NumPy neither computes on device memory by mistake nor copies it
implicitly.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from ...arrays.meta import call
from ...errors import error

# NumPy's functions, Python's operators, (np.add, "reduce") for a ufunc's method, and np.ufunc for all ufuncs
FUNCTIONS: dict[Any, Callable] = {}
# the files that fill it
FILES = ("indexing linalg_cuda matmul_cuda moves_cuda numpy_protocol reductions_cuda repeats scans_cuda scatter searching "
         "sorting views").split()  # fmt: skip


def of_arrays(*known_as: Any) -> Callable:
    """Return a decorator that enters a function as the device's version of these functions."""

    def enter(f: Callable) -> Callable:
        FUNCTIONS.update(dict.fromkeys(known_as, f))
        return f

    return enter


@functools.cache
def fill() -> Callable:
    """Import the files with kernels, which finding a GPU does not need; return the function for repeated calls."""
    for name in FILES:
        importlib.import_module(f"{__package__}.{name}")
    return FUNCTIONS["repeated call"]


@functools.cache
def kernel_of(function: Any) -> Callable:
    """Return the device's version of a function."""
    repeating = fill()
    found = FUNCTIONS.get(function)
    if found is None:
        raise no_kernel(getattr(function, "__name__", "numpy"))
    return functools.partial(call, functools.partial(repeating, found))


def no_kernel(name: str) -> Exception:
    """Return the error for a function without a kernel on the device."""
    what = "has no kernel on the device"
    return error(NotImplementedError, name, what, "compute it on the processor: x.cpu()")
