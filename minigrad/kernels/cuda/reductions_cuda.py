"""Reductions on the device: sums, products, extremes and truths over dimensions.

The dimensions are joined to three, (outer, n, inner), of which the middle one is reduced.  A team of threads shares what
becomes one result: where n lies along memory up to a warp, whose threads read neighbours and join what they have by shuffles;
where it lies across, one thread for each column, so that again neighbours read neighbours.  Where there are few results, each
is first computed in several parts, by teams of their own.  Sums of floats are kept in float64: the memory is slower than these
additions, and they are then at least as accurate as NumPy's pairwise ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ...arrays.dtypes import FLOATS
from . import kernel_modules, pointwise_cuda, simulator
from .device_array import DeviceArray, empty, plain
from .functions import of_arrays

WARP = 32
BLOCK = WARP if simulator.SMALL else 256
THREADS = 1 << 18  # as many as the largest GPUs run at once; with more there is nothing to gain from parts
GRAIN = 16  # elements that are worth a thread
F4, F8, I8 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)


class Reduction(NamedTuple):
    """How elements become one: the term of each, how two results `a` and `b` are joined, and the result of none.

    Terms read x, further arrays by the names in `reads`, and the element's number i of n.  Results are kept in float64 or
    int64, which is `wide`, or in the `same` dtype as the elements, if they are floats, or as `whole` numbers in any case.
    """

    term: str
    join: str
    start: Any
    kept: str = "wide"
    reads: tuple = ("x",)
    joined_by: str = ""  # the reduction that joins results, where not this one


LARGER, SMALLER = (f"a if (a {sign} b) | (a != a) else b" for sign in "><")
NAMED = {
    "sum": Reduction("x", "a + b", 0),
    "squares": Reduction("x * x", "a + b", 0, joined_by="sum"),
    "known": Reduction("x if x == x else acc(0)", "a + b", 0, joined_by="sum"),
    "spread": Reduction("(x - m) * (x - m)", "a + b", 0, reads=("x", "m"), joined_by="sum"),
    "product": Reduction("x", "a * b", 1),
    "maximum": Reduction("x", LARGER, -math.inf, "same"),
    "minimum": Reduction("x", SMALLER, math.inf, "same"),
    "any": Reduction("acc(x != 0)", "a | b", 0, "whole"),
    "all": Reduction("acc(x != 0)", "a & b", 1, "whole"),
    "nonzero": Reduction("acc(x != 0)", "a + b", 0, "whole", joined_by="sum"),
    "bitwise_or": Reduction("acc(x)", "a | b", 0, "whole"),
    "bitwise_and": Reduction("acc(x)", "a & b", -1, "whole"),
    "bitwise_xor": Reduction("acc(x)", "a ^ b", 0, "whole"),
}

SOURCE = """\"\"\"The reduction {name}, kept in {acc}.\"\"\"

from numba import cuda
from numpy import {acc} as acc{imports}

ALL = 0xFFFFFFFF


@cuda.jit(device=True)
def join(a, b):
    return {join}


@cuda.jit
def {name}({args}, out_, start, lanes):
    \"\"\"out_[o, p, j], from part p of x_[o, :, j]; `lanes` neighbouring threads are a team.

    Parts are interleaved: all teams of a result read the memory in its order together.
    \"\"\"
    n, parts, inner = x_.shape[1], out_.shape[1], out_.shape[2]
    team, lane = cuda.grid(1) // lanes, cuda.grid(1) % lanes
    o, p, j = team // (parts * inner), team // inner % parts, team % inner
    total = start
    if team < out_.size:
        for i in range(p * lanes + lane, n, parts * lanes):
{reads}            total = join(total, {term})
    distance = lanes // 2
    while distance:  # all threads of a warp come here, those beyond the last team too
        total = join(total, cuda.shfl_xor_sync(ALL, total, distance))
        distance //= 2
    if lane == 0 and team < out_.size:
        out_[o, p, j] = {result}
"""


@cache
def kernel(name: str, acc: np.dtype, reads: tuple, write: str) -> Any:
    """The kernel of a reduction whose results are kept in a dtype; how it reads elements, and writes results."""
    how = NAMED[name]
    kept = "{}" if how.kept == "whole" else "acc({})"  # what is only compared stays as it is
    lines = [f"            {n} = {kept.format(read.format(f'{n}_[o, i, j]'))}\n" for n, read in zip(how.reads, reads)]
    text = SOURCE.format(
        name=name,
        acc=acc.name,
        imports=pointwise_cuda.imports((*reads, write)),
        args=", ".join([f"{r}_" for r in how.reads]),
        reads="".join(lines),
        term=how.term,
        join=how.join,
        result=write.format("total"),
    )
    return getattr(kernel_modules.load(f"{name}_{acc.name}", text), name)


# ---------------------------------------------------------------------- over dimensions
def reduce(name: str, arrays: Sequence, dims: Sequence, keepdim: bool, dtype: Any = None, start: Any = None) -> Any:
    """A reduction over dimensions, its result in `dtype`; what it reads beside the first array is broadcast to that."""
    x, dims = arrays[0], set(dims)
    dtype = x.dtype if dtype is None else np.dtype(dtype)
    acc = kept_in(NAMED[name].kept, dtype)
    begin = acc.type(identity(NAMED[name].start, acc) if start is None else start)
    if x.size:
        found = groups(name, list(arrays), dims, dtype, begin)
    else:
        found = empty([n for d, n in enumerate(x.shape) if d not in dims], dtype)
        found.fill(begin)
    return found.reshape([1 if d in dims else n for d, n in enumerate(x.shape)]) if keepdim else found


def kept_in(kind: str, dtype: np.dtype) -> np.dtype:
    """The dtype of what is joined, for results of another: one that a warp can shuffle."""
    if dtype not in FLOATS or kind == "whole":
        return I8
    return F8 if kind == "wide" or dtype == F8 else F4


def identity(start: float, dtype: np.dtype) -> float:
    """The result of no elements: of infinities the integer that comes next to them."""
    if not math.isinf(start) or dtype in FLOATS:
        return start
    limits = np.iinfo(I8 if dtype.kind == "b" else dtype)
    return limits.max if start > 0 else limits.min


def numbers(a: DeviceArray) -> DeviceArray:
    """An array as kernels take it: bools as numbers, bfloat16 as bits."""
    return a.view(np.uint8) if a.dtype.kind == "b" else plain(a)


def groups(name: str, arrays: list, dims: set, dtype: np.dtype, start: Any) -> DeviceArray:
    """The reduction, one group of dimensions that are neighbours in memory at a time, the nearest first."""
    shape, steps = arrays[0].shape, arrays[0].strides
    order = sorted([d for d, n in enumerate(shape) if n != 1], key=lambda d: -abs(steps[d]))
    arrays = [
        np.broadcast_to(a, shape).transpose([*order, *(d for d, n in enumerate(shape) if n == 1)]) for a in arrays
    ]
    sizes, left = [shape[d] for d in order], [d not in dims for d in order]
    while arrays:
        end = len(left)
        while end and left[end - 1] and not all(left):
            end -= 1
        first = end
        while first and not left[first - 1]:
            first -= 1
        last = all(left[:first])
        found = over_middle(name, [joined(a, sizes, first, end) for a in arrays], dtype if last else start.dtype, start)
        del sizes[first:end], left[first:end]
        name, arrays = NAMED[name].joined_by or name, [] if last else [found]
    kept = [d for d in order if d not in dims]
    found = found.reshape(sizes).transpose([kept.index(d) for d in sorted(kept)])
    return found.reshape([n for d, n in enumerate(shape) if d not in dims])


def joined(a: DeviceArray, sizes: list, first: int, end: int) -> DeviceArray:
    """An array as (outer, n, inner), where n are dimensions first to end - 1: a view if its memory allows it.

    What is repeated along n is so in the view too.
    """
    outer, n, inner = math.prod(sizes[:first]), math.prod(sizes[first:end]), math.prod(sizes[end:])
    if any(a.strides[first:end]):
        return a.reshape(outer, n, inner)
    once = a[(slice(None),) * first + (slice(1),) * (end - first)]
    return np.broadcast_to(once.reshape(outer, 1, inner), (outer, n, inner))


def over_middle(name: str, arrays: list, dtype: np.dtype, start: Any) -> DeviceArray:
    """The reduction of (outer, n, inner) to (outer, 1, inner)."""
    outer, n, inner = arrays[0].shape
    lanes = min(WARP, 1 << (n - 1).bit_length()) if inner == 1 else 1
    parts = max(1, min(THREADS // (outer * inner * lanes), n // (lanes * GRAIN)))
    out = empty((outer, parts, inner), dtype if parts == 1 else start.dtype)
    grid = -(-out.size * lanes // BLOCK)
    reads = tuple([pointwise_cuda.how_read(a.dtype) for a in arrays])
    chosen = kernel(name, start.dtype, reads, pointwise_cuda.how_written(out.dtype))
    chosen[grid, BLOCK](*[numbers(a) for a in (*arrays, out)], start, lanes)
    return out if parts == 1 else over_middle(NAMED[name].joined_by or name, [out], dtype, start)


# ---------------------------------------------------------------------- NumPy's functions
UFUNCS = {
    np.add: "sum",
    np.multiply: "product",
    np.maximum: "maximum",
    np.minimum: "minimum",
    np.logical_or: "any",
    np.logical_and: "all",
    np.bitwise_or: "bitwise_or",
    np.bitwise_and: "bitwise_and",
    np.bitwise_xor: "bitwise_xor",
}


def of_ufunc(ufunc: np.ufunc, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False,
             initial: Any = np._NoValue, where: Any = True) -> Any:  # fmt: skip
    """ufunc.reduce."""
    name, dims = UFUNCS[ufunc], dimensions(axis, a.ndim)
    start = None if initial is np._NoValue else initial
    if start is None and math.isinf(NAMED[name].start) and not math.prod([a.shape[d] for d in dims]):
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    dtype = result_dtype(ufunc, a.dtype) if dtype is None else np.dtype(dtype)
    if where is not True:
        a = np.where(where, a, a.dtype.type(identity(NAMED[name].start, a.dtype)))
    if NAMED[name].kept == "same":
        a = a.astype(dtype, copy=False)
    once = (
        start is not None and NAMED[name].kept == "wide"
    )  # every team begins with `start`, which does not count twice
    found = reduce(name, [a], dims, keepdims, dtype, None if once else start)
    return given(ufunc(found, dtype.type(start)) if once else found, out)


for ufunc in UFUNCS:
    of_arrays((ufunc, "reduce"))(partial(of_ufunc, ufunc))


@cache
def result_dtype(ufunc: np.ufunc, dtype: np.dtype) -> np.dtype:
    """The dtype that NumPy's reduction has of elements of another: small integers are added up as large ones."""
    return ufunc.reduce(np.ones(1, dtype)).dtype


def dimensions(axis: Any, ndim: int) -> tuple:
    """`axis=` as dimensions counted from the front; all for None."""
    if axis is None:
        return tuple(range(ndim))
    return tuple([d % ndim for d in (axis if isinstance(axis, tuple) else (axis,))]) if ndim else ()


def given(found: DeviceArray, out: Any) -> DeviceArray:
    """The result, in `out=` if there is one."""
    out = out[0] if isinstance(out, tuple) else out
    if out is None or out is Ellipsis:
        return found
    out[...] = found
    return out


def whole_array(ufunc: np.ufunc, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
                **options: Any) -> Any:  # fmt: skip
    """np.sum and its like: ufunc.reduce, over all dimensions if none are named."""
    return of_ufunc(ufunc, a, axis, dtype, out, keepdims is True, **options)


of_arrays(np.sum)(partial(whole_array, np.add))
of_arrays(np.prod)(partial(whole_array, np.multiply))


def without_dtype(
    ufunc: np.ufunc, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **options: Any
) -> Any:
    """np.max and its like, which have no dtype=."""
    return of_ufunc(ufunc, a, axis, None, out, keepdims is True, **options)


of_arrays(np.max)(partial(without_dtype, np.maximum))
of_arrays(np.min)(partial(without_dtype, np.minimum))
of_arrays(np.any)(partial(without_dtype, np.logical_or))
of_arrays(np.all)(partial(without_dtype, np.logical_and))


@of_arrays(np.mean)
def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    dims = dimensions(axis, a.ndim)
    target = np.dtype(dtype) if dtype is not None else a.dtype if a.dtype in FLOATS else F8
    return given(reduce("sum", [a], dims, keepdims is True, target) / count(a, dims), out)


@of_arrays(np.array_equal)
def array_equal(a: Any, b: Any, equal_nan: bool = False) -> bool:
    """Whether two arrays have the same shape and elements."""
    if a.shape != b.shape:
        return False
    same = a == b
    return bool((same | ((a != a) & (b != b)) if equal_nan else same).all())


@of_arrays(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return given(np.max(a, axis, keepdims=keepdims) - np.min(a, axis, keepdims=keepdims), out)


@of_arrays(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return reduce("nonzero", [a], dimensions(axis, a.ndim), keepdims, I8)


def spread(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: Any = False,
           *, correction: float | None = None, root: bool = False) -> Any:  # fmt: skip
    """np.var, or np.std, its root: the squared distances from the mean are added up in a second pass."""
    dims = dimensions(axis, a.ndim)
    target = np.dtype(dtype) if dtype is not None else a.dtype if a.dtype in FLOATS else F8
    n, lost = count(a, dims), ddof if correction is None else correction
    middle = reduce("sum", [a], dims, True, F8) / n
    found = reduce("spread", [a, middle], dims, keepdims is True, F8) / max(n - lost, 0)
    return given((np.sqrt(found) if root else found).astype(target, copy=False), out)


of_arrays(np.var)(spread)
of_arrays(np.std)(partial(spread, root=True))


def count(a: Any, dims: Sequence) -> int:
    """How many elements become one."""
    return math.prod([a.shape[d] for d in dims])
