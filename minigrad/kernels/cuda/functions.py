"""Look up what NumPy's functions, and the operators of arrays, do on the device, in a table that the kernels' files fill.

DeviceArray looks up here what it is asked for, so it need not know the files that compute, each of which knows DeviceArray.
A file enters its functions as it is loaded: `@of_arrays(np.concatenate)`, and `@of_arrays(operator.getitem)` for x[index].
What is not in the table raises NotImplementedError: NumPy does not compute on the device's memory by mistake, nor copy it
unasked.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from ...arrays.nowhere import guarded
from ...errors import error

# NumPy's functions, Python's operators, (np.add, "reduce") for a ufunc's method, and np.ufunc for what all ufuncs do
FUNCTIONS: dict[Any, Callable] = {}
# the files that fill it
FILES = ("indexing linalg_cuda matmul_cuda moves_cuda numpy_protocol reductions_cuda scans_cuda scatter searching "
         "sorting views").split()  # fmt: skip


def of_arrays(*known_as: Any) -> Callable:
    """Enter a function as what these functions do with arrays on the device."""

    def enter(f: Callable) -> Callable:
        FUNCTIONS.update(dict.fromkeys(known_as, f))
        return f

    return enter


@functools.cache
def fill() -> None:
    """Load the files of kernels; they are not needed to find out whether there is a GPU."""
    for name in FILES:
        importlib.import_module(f"{__package__}.{name}")


def kernel_of(function: Any) -> Callable:
    """Look up what a function does with arrays on the device."""
    fill()
    found = FUNCTIONS.get(function)
    if found is None:
        raise no_kernel(getattr(function, "__name__", "numpy"))
    return guarded(found)


def no_kernel(name: str) -> Exception:
    """The error for what is not computed on the device."""
    what = "there is no kernel for this on the device"
    return error(NotImplementedError, name, what, "compute it on the processor: x.cpu()")
