"""Distances between all points of two sets, as sums of absolute differences, and their gradient.

Each thread handles a pair of points, or a coordinate of a point. On the processor, ops/norms.py has the definition.
"""

from ..cache import by_dtype
from . import kernel_modules
from .device_array import DeviceArray, empty

SOURCE = '''"""Sums of absolute differences of {real}: arrays are (sets, points, coordinates)."""

from numba import cuda
from numpy import {real} as real


@cuda.jit
def distances(x, y, out):
    rows, columns = out.shape[1], out.shape[2]
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        a, row, column, total = i // (rows * columns), i // columns % rows, i % columns, real(0)
        for d in range(x.shape[2]):
            total += abs(x[a, row, d] - y[a, column, d])
        out[a, row, column] = total


@cuda.jit
def pulls(x, y, g, dx):
    """Pull each point by g towards each of the others."""
    rows, size = dx.shape[1], dx.shape[2]
    for i in range(cuda.grid(1), dx.size, cuda.gridsize(1)):
        a, row, d, total = i // (rows * size), i // size % rows, i % size, real(0)
        for j in range(y.shape[1]):
            if x[a, row, d] > y[a, j, d]:
                total += g[a, row, j]
            elif x[a, row, d] < y[a, j, d]:
                total -= g[a, row, j]
        dx[a, row, d] = total
'''


module = by_dtype("distances", SOURCE, kernel_modules.load)


def distances(x: DeviceArray, y: DeviceArray) -> DeviceArray:
    """Return the distances between all rows of x (..., n, d) and y (..., m, d)."""
    return launched("distances", empty((*x.shape[:-1], y.shape[-2]), x.dtype), x, y)


def pulls(g: DeviceArray, x: DeviceArray, y: DeviceArray) -> DeviceArray:
    """Return the gradient of x."""
    return launched("pulls", empty(x.shape, x.dtype), x, y, g)


def launched(name: str, out: DeviceArray, *given: DeviceArray) -> DeviceArray:
    """Run a kernel on batches of matrices, with one thread per element of the result."""
    if not all([a.size for a in given]):
        out.fill(0)
    elif out.size:
        sets = [a.reshape(-1, *a.shape[-2:]) for a in (*given, out)]
        getattr(module(out.dtype), name)[kernel_modules.threads(out.size)](*sets)
    return out
