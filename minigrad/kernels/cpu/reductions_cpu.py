"""Sums, sums of squares, products and extremes over some dimensions of large arrays.

Memory is read in its order. Reductions along it run in several lanes at once and add halves pairwise; reductions across it
go row by row, in short sums that are added up in double precision. So sums are as accurate as NumPy's pairwise ones, and
three to five times faster. None means that NumPy is as fast.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache

import numpy as np

from ...arrays.kinds import contiguous, on_device
from .. import cuda_kernels
from ..cache import by_dtype
from ..fallback import is_spoilt, only_definitions, worth
from ..threads import GRAIN, launch

REDUCE_FROM = 1 << 12  # elements; below, NumPy takes microseconds, and a first lesson would wait for the compiler
LOOPS_FROM = 256  # the same for products and extremes of rows, which NumPy computes one by one
WORK = 8  # additions that take as long as an element of other kernels, whose work threads.py counts
CHUNK = 1 << 12  # a long row is summed in pieces of this size, which threads can share

SHORT = 1024  # elements that are added up in lanes without halving

PAIRWISE = """

@njit(nogil=True, fastmath={{"reassoc"}})
def NAME_of_few(ARGUMENTS):
    total = real(0)
    for i in range(x.size):
        total += TERM
    return total


@njit(nogil=True)
def NAME_of_many(ARGUMENTS):
    if x.size <= SHORT:
        return NAME_of_few(ARGUMENTS)
    half = x.size // 128 * 64
    return NAME_of_many(FIRST) + NAME_of_many(REST)


@njit(nogil=True, forceinline=True)
def NAME_of(ARGUMENTS):
    return NAME_of_few(ARGUMENTS) if x.size <= SHORT else NAME_of_many(ARGUMENTS)
"""


def pairwise(name: str, term: str, arrays: str = "x") -> str:
    """Return the text of a sum along memory, whose terms use `arrays` at i; other kernels include it."""
    first, rest = (", ".join([f"{a}[{part}]" for a in arrays]) for part in (":half", "half:"))
    words = {
        "NAME": name,
        "TERM": term,
        "SHORT": str(SHORT),
        "ARGUMENTS": ", ".join(arrays),
        "FIRST": first,
        "REST": rest,
    }
    return re.sub("|".join(words), lambda m: words[m[0]], PAIRWISE)


SUM, SQUARES = pairwise("sum", "x[i]"), pairwise("squares", "x[i] * x[i]")
KNOWN = pairwise("known", "x[i] if x[i] == x[i] else real(0)")

# Extremes of floats are taken on integers, which LLVM vectorises without permission to ignore NaN: once the bits of
# negative floats are inverted, integers have the order of the floats, and NaN is beyond one of the infinities.
ORDER = """
BELOW_SIGN, SIGN = whole(np.iinfo(whole).max), whole(8 * np.dtype(whole).itemsize - 1)


@njit(nogil=True, forceinline=True)
def turned(bits):
    return whole(bits ^ ((bits >> SIGN) & BELOW_SIGN))
"""

HEAD = (
    '''"""Reductions of {real}."""

from math import inf

import numpy as np
from numba import njit
from numpy import {real} as real, {whole} as whole

INFINITY, NAN = np.array([np.inf, np.nan], real).view(whole)
'''
    + ORDER
    + SUM
    + SQUARES
    + KNOWN
    + """

@njit(nogil=True, fastmath={{"reassoc"}})
def product_of_few(x):
    total = real(1)
    for i in range(x.size):
        total *= x[i]
    return total


product_of = product_of_few
"""
)

BITS = """

@njit(nogil=True)
def {name}_of_few(bits):
    low, high = INFINITY, turned(whole(INFINITY ^ ~BELOW_SIGN))
    for i in range(bits.size):
        low, high = whole(min(low, turned(bits[i]))), whole(max(high, turned(bits[i])))
    odd = high > INFINITY or low < turned(whole(INFINITY ^ ~BELOW_SIGN))
    return NAN if odd else turned({of})


{name}_of = {name}_of_few
"""

REDUCTION = '''

@njit(nogil=True)
def {name}_along(x_, out):
    for r in range(len(x_)):
        out[r] = {name}_of_few(x_[r]) if x_.shape[1] <= {short} else {name}_of(x_[r])  # a call costs as much as 50 elements


@njit(nogil=True, forceinline=True)
def {name}_step(total, x):
    return {step}


@njit(nogil=True)
def {name}_across(x_, out_):
    """Reduce the middle of (outer, n, inner), 64 rows and 512 columns at a time, which fit in the cache."""
    rows, width = x_.shape[1], min(x_.shape[2], 512)
    few, total = np.empty(width, np.{{real}}), np.empty(width, np.float64)
    for r in range(len(x_)):
        for first in range(0, x_.shape[2], width):
            here = slice(first, first + width)
            out = out_[r, here]
            total[:] = {start}
            for top in range(0, rows, 64):
                few[:] = {start}
                end = min(top + 64, rows)
                for n in range(top, end - 3, 4):
                    a, b, c, d = x_[r, n, here], x_[r, n + 1, here], x_[r, n + 2, here], x_[r, n + 3, here]
                    for i in range(a.size):
                        few[i] = {name}_step({name}_step({name}_step({name}_step(few[i], a[i]), b[i]), c[i]), d[i])
                for n in range(end - (end - top) % 4, end):
                    a = x_[r, n, here]
                    for i in range(a.size):
                        few[i] = {name}_step(few[i], a[i])
                for i in range(width):
                    total[i] = {join}(total[i], few[i])
            for i in range(out.size):
                out[i] = total[i]
'''

DEVIATIONS = """

@njit(nogil=True, fastmath={{"reassoc"}})
def deviations_along(x_, out_):
    for r in range(len(x_)):
        x, total, squares = x_[r], 0.0, 0.0
        for i in range(x.size):
            total += x[i]
        mean = total / x.size
        for i in range(x.size):
            squares += (x[i] - mean) * (x[i] - mean)
        out_[r] = squares


@njit(nogil=True)
def deviations_across(x_, out_):
    rows, mean = x_.shape[1], np.empty(min(x_.shape[2], 512))
    for r in range(len(x_)):
        for first in range(0, x_.shape[2], mean.size):
            here = slice(first, first + mean.size)
            out = out_[r, here]
            mean[:], out[:] = 0, 0
            for n in range(rows):
                x = x_[r, n, here]
                for i in range(x.size):
                    mean[i] += x[i]
            mean /= rows
            for n in range(rows):
                x = x_[r, n, here]
                for i in range(x.size):
                    out[i] += (x[i] - mean[i]) * (x[i] - mean[i])
"""

EXTREMES = ("maximum", "minimum")
LOOPS = ("product", *EXTREMES)
JOIN = {"squares": "sum", "known": "sum"}  # the reduction that combines partial results, if it is another one


def reduction(name: str, start: str, step: str) -> str:
    """Return the text of a reduction that starts with `start` and combines `total` and `x` in `step`."""
    return REDUCTION.format(name=name, start=start, step=step, short=SHORT, join=f"{JOIN.get(name, name)}_step")


def extreme(name: str, of: str, start: str, sign: str) -> str:
    """Return the text of an extreme, which keeps NaN."""
    bits = BITS.replace("{name}", name).replace("{of}", of)
    return bits + reduction(name, start, f"x if (x {sign} total) | (x != x) else total")


SOURCE = (
    HEAD
    + reduction("sum", "0", "total + x")
    + reduction("squares", "0", "total + x * x")
    + reduction("known", "0", "total + (x if x == x else 0)")
    + reduction("product", "1", "total * x")
    + extreme("maximum", "high", "-inf", ">")
    + extreme("minimum", "low", "inf", "<")
    + DEVIATIONS
)

module = by_dtype("reductions", SOURCE)
calls: dict[tuple, Callable] = {}  # by the kind of array and the adjacent dimensions, on one thread
REMEMBERED = 1024


def reduce(name: str, x: np.ndarray, dims: tuple, keepdim: bool) -> np.ndarray | None:
    """Return a reduction over dimensions in increasing order.

    `name` is "sum", "squares" (sum of squares), "known" (sum without NaN), "product", "maximum" or "minimum"."""
    if on_device(x):
        return cuda_kernels("reductions_cuda").reduce(name, [x], dims, keepdim)
    small = x.size < GRAIN * WORK
    call = calls.get((name, x.shape, x.dtype, dims, keepdim)) if small else None
    if call is not None and x.flags.c_contiguous and not only_definitions():
        return call(x)
    if name in EXTREMES and len(dims) == x.ndim and small:
        return None  # NumPy takes 0.4 to 0.6 of one thread's time
    least = LOOPS_FROM if name in LOOPS else REDUCE_FROM
    if not dims or not x.flags.c_contiguous or not worth(x, x.size, least):
        return None
    if small and dims[-1] - dims[0] < len(dims):
        return prepared(name, x, dims, keepdim)(x)
    if len(dims) == x.ndim:
        return last_group(name, x, [x.size], 0, 1).reshape((1,) * (x.ndim * keepdim))
    kept = tuple([1 if d in dims else n for d, n in enumerate(x.shape)])
    left = [n for d, n in enumerate(x.shape) if d not in dims]
    total, sizes = x, list(x.shape)
    while dims:
        first = len(dims) - 1
        while first and dims[first - 1] == dims[first] - 1:
            first -= 1
        total, name = last_group(name, total, sizes, dims[first], dims[-1] + 1), JOIN.get(name, name)
        sizes[dims[first] : dims[-1] + 1] = [1] * (len(dims) - first)
        dims = dims[:first]
    return total.reshape(kept if keepdim else left)


def deviations(x: np.ndarray, dims: tuple, keepdim: bool) -> np.ndarray | None:
    """Return the sum over adjacent dimensions of the squared distances from the mean of float32, in float64.

    float64 has no kernel, because its sums have to be pairwise.
    """
    if x.dtype != np.float32 or not dims or not worth(x, x.size, 1):
        return None
    x = contiguous(x)
    call = calls.get(("deviations", x.shape, x.dtype, dims, keepdim)) or prepared("deviations", x, dims, keepdim)
    out = call(x)
    return None if is_spoilt(out) else out


def prepared(name: str, x: np.ndarray, dims: tuple, keepdim: bool) -> Callable:
    """Return the reduction over adjacent dimensions as a function of arrays like x: Python's steps take as long as the work."""
    parts, size = (x.shape[: dims[0]], x.shape[dims[0] : dims[-1] + 1], x.shape[dims[-1] + 1 :]), x.size
    outer, n, inner = map(math.prod, parts)
    shape, dtype = (*parts[0], *[1] * (len(dims) * keepdim), *parts[2]), np.float64 if name == "deviations" else x.dtype
    rows, results = ((outer, n), (outer,)) if inner == 1 else ((outer, n, inner), (outer, inner))
    kernel, seen = kernel_along(name, x.dtype) if inner == 1 else (getattr(module(x.dtype), f"{name}_across"), None)
    empty, many = np.empty, size >= GRAIN * WORK

    def call(x: np.ndarray) -> np.ndarray:
        x, out = x.reshape(rows), empty(results, dtype)
        if many:
            launch(kernel, [x, out], size // WORK)
        elif seen is None:
            kernel(x, out)
        else:
            kernel(x.view(seen), out.view(seen))
        return out if results == shape else out.reshape(shape)

    if len(calls) >= REMEMBERED:
        calls.clear()
    calls[name, x.shape, x.dtype, dims, keepdim] = call
    return call


def last_group(name: str, x: np.ndarray, sizes: list, first: int, end: int) -> np.ndarray:
    """Return the reduction over dimensions first to end - 1 of x, seen with these sizes; flat."""
    outer, n, inner = (math.prod(sizes[a:b]) for a, b in ((0, first), (first, end), (end, len(sizes))))
    if inner > 1:
        out = np.empty((outer, inner), x.dtype)
        launch(getattr(module(x.dtype), f"{name}_across"), [x.reshape(outer, n, inner), out], x.size // WORK)
        return out.reshape(-1)
    if outer > 1 or n < GRAIN * WORK:
        return along(name, x.reshape(outer, n))
    some, flat = n // CHUNK, x.reshape(-1)
    parts = along(name, flat[: some * CHUNK].reshape(some, CHUNK))
    rest = along(name, flat[some * CHUNK :].reshape(1, -1))
    return along(JOIN.get(name, name), np.append(parts, rest).reshape(1, -1))


def along(name: str, x: np.ndarray) -> np.ndarray:
    """Return the reduction of each row; extremes see the bits as integers."""
    out, (kernel, seen) = np.empty(len(x), x.dtype), kernel_along(name, x.dtype)
    launch(kernel, [x, out] if seen is None else [x.view(seen), out.view(seen)], x.size // WORK)
    return out


@cache
def kernel_along(name: str, dtype: np.dtype) -> tuple:
    """Return the kernel that reduces rows, and the dtype in which it sees them, if it is another one."""
    return getattr(module(dtype), f"{name}_along"), f"i{dtype.itemsize}" if name in EXTREMES else None
