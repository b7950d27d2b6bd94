"""Linear algebra on the device: a library computes decompositions, as in PyTorch; the rest is built from other kernels.

The library is cuSOLVER, through CuPy, if that is installed. Else the matrices are copied to main memory and the result back:
the only computation that leaves the device without being asked to. It waits for the device, and takes as long as on the
processor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays.nowhere import inside
from . import machine, simulator
from .device_array import DeviceArray, empty, to_device
from .functions import of_arrays


@functools.cache
def cupy() -> Any:
    """Return CuPy, or None if it cannot be used here."""
    if simulator.SIMULATED:
        return None
    try:
        import cupy
    except ImportError:
        return None
    return cupy


def by_library(function: Callable) -> Callable:
    """Return a function of np.linalg for arrays on the device."""

    @functools.wraps(function)
    def there(*args: Any, **kwargs: Any) -> Any:
        if inside.yes:
            return shapes_alone(function, args, kwargs)
        empty_ones = any([isinstance(a, DeviceArray) and not a.size for a in args])
        if cupy() is None or empty_ones:
            found = function(*[a.to_host() if type(a) is DeviceArray else a for a in args], **kwargs)
            return each(to_device, found)
        return by_cupy(function.__name__, args, kwargs)

    return there


def shapes_alone(function: Callable, args: tuple, kwargs: dict) -> Any:
    """Return results for meta arrays: their shapes come from empty stacks of matrices, with the batch in front."""
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    batch = np.broadcast_shapes(*[a.shape[:-2] for a in arrays])
    none = iter([np.empty((0, *a.shape[-2:]), a.dtype) for a in arrays])
    found = function(*[next(none) if isinstance(a, np.ndarray) else a for a in args], **kwargs)
    return each(lambda a: empty((*batch, *a.shape[1:]), a.dtype), found)


def each(f: Callable, found: Any) -> Any:
    """Return f of a result, or of all results in NumPy's type of tuple."""
    if not isinstance(found, tuple):
        return f(found)
    results = [f(a) for a in found]
    return type(found)(*results) if hasattr(found, "_fields") else tuple(results)


def by_cupy(name: str, args: tuple, kwargs: dict) -> Any:
    """Return the result of CuPy's function on the same memory; it raises for singular matrices, as NumPy's does."""
    import cupyx  # type: ignore[import-not-found]

    of_cupy = cupy()
    machine.current().synchronize()  # CuPy has a separate stream
    with cupyx.errstate(linalg="raise"):
        found = getattr(of_cupy.linalg, name)(*[lent(a) if type(a) is DeviceArray else a for a in args], **kwargs)

    def taken(a: Any) -> DeviceArray:
        out = empty(a.shape, a.dtype)
        lent(out)[...] = a
        return out

    results = each(taken, tuple(found) if isinstance(found, tuple) else found)
    of_cupy.cuda.get_current_stream().synchronize()
    return results


def lent(a: DeviceArray) -> Any:
    """Return an array as a CuPy array, without a copy."""
    of_cupy = cupy()
    memory = of_cupy.cuda.UnownedMemory(a.address, a.nbytes, a)
    return of_cupy.ndarray(a.shape, a.dtype, of_cupy.cuda.MemoryPointer(memory, 0), a.strides)


for name in "inv solve det slogdet cholesky qr svd svdvals eigh eigvalsh".split():
    of_arrays(getattr(np.linalg, name))(by_library(getattr(np.linalg, name)))


@of_arrays(np.cross)
def cross(x: Any, y: Any, axis: int = -1) -> Any:
    """Return the vector product of vectors of three elements."""
    (x0, x1, x2), (y0, y1, y2) = [[np.moveaxis(v, axis, 0)[i] for i in range(3)] for v in (x, y)]
    return np.stack([x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0], axis)


@of_arrays(np.vecdot)
def vecdot(x: Any, y: Any) -> Any:
    """Return the dot products of vectors along the last dimension."""
    return (x * y).sum(-1)
