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

from ...arrays.meta import inside
from . import machine, simulator
from .device_array import DeviceArray, empty, to_device
from .functions import of_arrays
from .numpy_protocol import refuse_others


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
        refuse_others(f"linalg.{function.__name__}", args)
        if inside.active:
            return shapes_alone(function, args, kwargs)
        empty_ones = any([isinstance(a, DeviceArray) and not a.size for a in args])
        if cupy() is None or empty_ones:
            found = function(*[a.to_host() if type(a) is DeviceArray else a for a in args], **kwargs)
            return map_results(to_device, found)
        return by_cupy(function, args, kwargs)

    return there


def shapes_alone(function: Callable, args: tuple, kwargs: dict) -> Any:
    """Return results for meta arrays: their shapes come from empty stacks of matrices, with the batch in front."""
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    batch = np.broadcast_shapes(*[a.shape[:-2] for a in arrays])
    none = iter([np.empty((0, *a.shape[-2:]), a.dtype) for a in arrays])
    found = function(*[next(none) if isinstance(a, np.ndarray) else a for a in args], **kwargs)
    return map_results(lambda a: empty((*batch, *a.shape[1:]), a.dtype), found)


def map_results(f: Callable, found: Any) -> Any:
    """Return f of a result, or of all results in their named tuple."""
    return type(found)(*[f(a) for a in found]) if isinstance(found, tuple) else f(found)


# ---------------------------------------------------------------------- by CuPy
def by_cupy(function: Callable, args: tuple, kwargs: dict) -> Any:
    """Return the result of CuPy's function on the same memory; it raises for singular matrices, as NumPy's does."""
    import cupyx  # type: ignore[import-not-found]

    of_cupy, name = cupy(), function.__name__
    cupys = DIFFERENT.get(name) or getattr(of_cupy.linalg, name)
    machine.current().synchronize()  # CuPy has a separate stream
    with cupyx.errstate(linalg="raise"):
        found = cupys(*[as_cupy(a) if type(a) is DeviceArray else a for a in args], **kwargs)
    if isinstance(found, tuple):
        found = tuple_of(function)(*found)

    def taken(a: Any) -> DeviceArray:
        out = empty(a.shape, a.dtype)
        as_cupy(out)[...] = a
        return out

    results = map_results(taken, found)
    of_cupy.cuda.get_current_stream().synchronize()
    return results


@functools.cache
def tuple_of(function: Callable) -> type:
    """Return the named tuple of a NumPy function's results, which NumPy does not export; CuPy returns plain tuples."""
    return type(function(np.eye(1)))


def as_cupy(a: DeviceArray) -> Any:
    """Return an array as a CuPy array, without a copy."""
    of_cupy = cupy()
    memory = of_cupy.cuda.UnownedMemory(a.address, a.nbytes, a)
    return of_cupy.ndarray(a.shape, a.dtype, of_cupy.cuda.MemoryPointer(memory, 0), a.strides)


def solved(a: Any, b: Any) -> Any:
    """Return the solution X of A X = B for matrices of CuPy, which does not broadcast the batches of A and B."""
    if b.ndim == 1:
        return solved(a, b[:, None])[..., 0]
    of_cupy, batch = cupy(), np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return of_cupy.linalg.solve(*[of_cupy.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b)])


def singular_values(a: Any) -> Any:
    """Return the singular values of matrices of CuPy, which has no svdvals."""
    return cupy().linalg.svd(a, compute_uv=False)


DIFFERENT = {"solve": solved, "svdvals": singular_values}

for name in "inv solve det slogdet cholesky qr svd svdvals eigh eigvalsh".split():
    of_arrays(getattr(np.linalg, name))(by_library(getattr(np.linalg, name)))


# ---------------------------------------------------------------------- products of vectors
@of_arrays(np.cross)
def cross(x: Any, y: Any, axis: int = -1) -> Any:
    """Return the vector product of vectors of three elements."""
    (x0, x1, x2), (y0, y1, y2) = [[np.moveaxis(v, axis, 0)[i] for i in range(3)] for v in (x, y)]
    return np.stack([x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0], axis)


@of_arrays(np.vecdot)
def vecdot(x: Any, y: Any) -> Any:
    """Return the dot products of vectors along the last dimension."""
    return (x * y).sum(-1)
