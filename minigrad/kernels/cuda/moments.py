"""Two sums in one pass over memory: what batch norm has of its input, and of the gradient of its result.

The neighbouring dimensions that are last among the reduced ones are summed by teams of threads, as in reductions_cuda.py, from
which the way through them is; what is left is small, and summed there.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from . import kernel_modules, pointwise_cuda
from .device_array import DeviceArray, empty
from .device_functions import where
from .reductions_cuda import BLOCK, F8, GRAIN, THREADS, WARP, joined, reduce

TERMS = {  # what is read of each element, and the terms of the two sums
    "distances": (("x", "s"), "x - s", "(x - s) * (x - s)"),
    "gradients": (("g", "x", "m"), "g", "g * (x - m)"),
}

SOURCE = '''"""The sums of {first} and of {second}."""

from numba import cuda
from numpy import float64

ALL = 0xFFFFFFFF


@cuda.jit
def {name}({args}, out_, lanes):
    """out_[:, o, p, j], from part p of the elements at [o, :, j]; `lanes` neighbouring threads are a team."""
    n, (outer, parts, inner) = {leader}_.shape[1], out_.shape[1:]
    team, lane = cuda.grid(1) // lanes, cuda.grid(1) % lanes
    o, p, j = team // (parts * inner), team // inner % parts, team % inner
    one, two = float64(0), float64(0)
    if o < outer:
        for i in range(p * lanes + lane, n, parts * lanes):
            {reads}
            one += {first}
            two += {second}
    distance = lanes // 2
    while distance:  # all threads of a warp come here, those beyond the last team too
        one += cuda.shfl_xor_sync(ALL, one, distance)
        two += cuda.shfl_xor_sync(ALL, two, distance)
        distance //= 2
    if lane == 0 and o < outer:
        out_[0, o, p, j], out_[1, o, p, j] = one, two
'''


@cache
def kernel(name: str) -> Any:
    """The kernel of two sums."""
    names, first, second = TERMS[name]
    args, values = ", ".join([f"{n}_" for n in names]), ", ".join([f"float64({n}_[o, i, j])" for n in names])
    reads = f"{', '.join(names)} = {values}"
    text = SOURCE.format(name=name, args=args, leader=names[0], reads=reads, first=first, second=second)
    return getattr(kernel_modules.load(name, text), name)


def two_sums(name: str, arrays: list, dims: tuple) -> DeviceArray:
    """Two sums over dimensions, which are kept as 1 behind one of 2, in float64; further arrays are broadcast to the first."""
    shape, dims = arrays[0].shape, tuple(sorted(dims))
    end = dims[-1] + 1
    first = next(d for d in range(end - 1, -1, -1) if d - 1 not in dims)
    seen = [joined(np.broadcast_to(a, shape), list(shape), first, end) for a in arrays]
    outer, n, inner = seen[0].shape
    lanes = min(WARP, 1 << (n - 1).bit_length()) if inner == 1 else 1
    parts = max(1, min(THREADS // (outer * inner * lanes), n // (lanes * GRAIN)))
    out = empty((2, outer, parts, inner), F8)
    kernel(name)[-(-outer * parts * inner * lanes // BLOCK), BLOCK](*seen, out, lanes)
    left = out.reshape(2, *shape[:first], parts, *shape[end:])
    found = reduce("sum", [left], [*[1 + d for d in dims if d < first], 1 + first], False)
    return found.reshape(2, *[1 if d in dims else n for d, n in enumerate(shape)])


def mean_and_variance(x: DeviceArray, dims: tuple) -> tuple[DeviceArray, DeviceArray]:
    """Over dimensions, which are kept as 1, in the dtype of x.

    Sums are of the distances from one of the elements, so that an offset that all have costs no digits.
    """
    one = x[tuple([slice(1) if d in dims else slice(None) for d in range(x.ndim)])]
    sums, n = two_sums("distances", [x, one], dims), float(math.prod([x.shape[d] for d in dims]))
    mean, variance = empty(one.shape, x.dtype), empty(one.shape, x.dtype)
    values = {"s": one, "one": sums[0], "two": sums[1], "n": n}
    pointwise_cuda.run("mean_and_variance", FORMULAS, values, F8, [mean, variance])
    return mean, variance


FORMULAS = {
    "mean": lambda s, one, n: s + one / n,
    "variance": lambda one, two, n: where(two * n > one * one, two / n - (one / n) * (one / n), 0 * two),
}
