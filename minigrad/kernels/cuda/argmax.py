"""Where the extreme of elements stands: argmax and argmin, in one pass over the memory.

Each thread of a team keeps its best element and where that is, as in reductions_cuda.py, whose teams these are.  Where
there are few results, they are computed in parts, of which the best is found the same way.
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any

import numpy as np

from . import kernel_modules, pointwise_cuda
from .device_array import DeviceArray, empty
from .functions import of_arrays
from .reductions_cuda import BLOCK, GRAIN, I8, THREADS, WARP, dimensions, given, identity, joined, kept_in, numbers

SOURCE = '''"""The place of the {name}, of elements{of_parts}, kept in {acc}."""

from numba import cuda
from numpy import int64, {acc} as acc{imports}

ALL = 0xFFFFFFFF


@cuda.jit(device=True)
def comes_first(a, i, b, k):
    """Whether a, at place i, goes before b, at k: as the more extreme one, and NaN is that; of equal ones the first."""
    if (a != a) != (b != b):
        return a != a
    return i < k if (a == b) | (a != a) else a {sign} b


@cuda.jit
def {name}({args}best_, place_, worst, lanes):
    """best_ and place_[o, p, j], from part p of x_[o, :, j]; `lanes` neighbouring threads are a team."""
    n, parts, inner = x_.shape[1], place_.shape[1], place_.shape[2]
    team, lane = cuda.grid(1) // lanes, cuda.grid(1) % lanes
    o, p, j = team // (parts * inner), team // inner % parts, team % inner
    best, place = worst, int64({end})
    if team < place_.size:
        for i in range(p * lanes + lane, n, parts * lanes):
            x, at = acc({x}), {at}
            if comes_first(x, at, best, place):
                best, place = x, at
    distance = lanes // 2
    while distance:  # all threads of a warp come here, those beyond the last team too
        x, at = cuda.shfl_xor_sync(ALL, best, distance), cuda.shfl_xor_sync(ALL, place, distance)
        if comes_first(x, at, best, place):
            best, place = x, at
        distance //= 2
    if lane == 0 and team < place_.size:
        best_[o, p, j], place_[o, p, j] = best, place
'''
SIGNS = {"argmax": (">", -math.inf), "argmin": ("<", math.inf)}  # and what any element goes before
END = 2**63 - 1  # a place behind all


@cache
def kernel(name: str, acc: np.dtype, read: str, of_parts: bool) -> Any:
    """The kernel for elements that are read so, or for parts, which are elements with their places."""
    text = SOURCE.format(
        name=name,
        of_parts=" of parts" * of_parts,
        acc=acc.name,
        imports=pointwise_cuda.imports([read]),
        args="x_, at_, " if of_parts else "x_, ",
        sign=SIGNS[name][0],
        end=END,
        x=read.format("x_[o, i, j]"),
        at="at_[o, i, j]" if of_parts else "int64(i)",
    )
    return getattr(kernel_modules.load(f"{name}_{acc.name}", text), name)


def best_place(name: str, x: DeviceArray, at: DeviceArray | None, acc: np.dtype, read: str = "{}") -> DeviceArray:
    """The places in (outer, 1, inner) of the extremes of (outer, n, inner), whose own places are `at`, or their numbers."""
    outer, n, inner = x.shape
    lanes = min(WARP, 1 << (n - 1).bit_length()) if inner == 1 else 1
    parts = max(1, min(THREADS // max(outer * inner * lanes, 1), n // (lanes * GRAIN)))
    best, place = empty((outer, parts, inner), acc), empty((outer, parts, inner), I8)
    args = [x] if at is None else [x, at]
    worst = acc.type(identity(SIGNS[name][1], acc))
    if place.size:
        found = kernel(name, acc, read, at is not None)
        found[-(-place.size * lanes // BLOCK), BLOCK](*args, best, place, worst, lanes)
    return place if parts == 1 else best_place(name, best, place, acc)


def place(name: str, a: Any, axis: int | None = None, out: Any = None, *, keepdims: Any = False) -> Any:
    """np.argmax and np.argmin: the first place where the extreme stands, or the first NaN."""
    x = a.reshape(-1) if axis is None or not a.ndim else a
    (dim,) = dimensions(0 if axis is None else axis, x.ndim)
    if not x.shape[dim]:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    over = range(a.ndim) if axis is None else dimensions(axis, a.ndim)
    elements, acc = joined(numbers(x), list(x.shape), dim, dim + 1), kept_in("same", x.dtype)
    found = best_place(name, elements, None, acc, pointwise_cuda.how_read(x.dtype))
    shape = [1 if d in over else n for d, n in enumerate(a.shape) if keepdims is True or d not in over]
    return given(found.reshape(shape), out)


of_arrays(np.argmax)(partial(place, "argmax"))
of_arrays(np.argmin)(partial(place, "argmin"))
