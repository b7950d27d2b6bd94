"""Reductions on the device: sums, products, extremes and their places, any and all over dimensions.

The dimensions are merged to three, (outer, n, inner), of which the middle one is reduced. A team of threads computes each
result: if n is along memory, up to a warp, whose threads read neighbours and combine their values by shuffles; if n is across
memory, one thread per column, so that neighbours again read neighbours. Few results are first computed in several parts, by
separate teams. A thread reads several elements before it adds them up: memory is fast only with many pending reads. Sums of
floats run in float64: memory is slower than these additions, and the sums are at least as accurate as NumPy's pairwise ones.
"""

import math
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ...arrays.dtypes import F4, F8, FLOATS, I8
from . import kernel_modules, pointwise_cuda, simulator
from .device_array import DeviceArray, empty, full, plain
from .functions import of_arrays

WARP = 32
BLOCK = WARP if simulator.SMALL else 256
BLOCKS = 5  # that a processor must be able to run at once, which leaves a thread 48 registers
THREADS = 1 << 17  # the largest GPUs run as many at once, and with them read at full speed
GRAIN = 16  # elements that are worth a thread
FEWEST = 1 if simulator.SMALL else 4  # parts of a result
AHEAD = 2 if simulator.SMALL else 8  # elements that a thread reads before it adds the first of them


class Reduction(NamedTuple):
    """A reduction: the term of each element, the combination of two results `a` and `b`, and the result of no elements.

    Terms read x, further arrays by the names in `reads`, and the element's number i. Results are float64 or int64 if
    `kept` is "wide", the dtype of the elements if it is "same" and they are floats, integers if it is "whole". Two results are
    a[0] and a[1], both of that dtype; with a "same" result, the other is a place.
    """

    term: str
    join: str
    start: Any
    kept: str = "wide"
    reads: tuple = ("x",)
    joined_by: str = ""  # the reduction that combines results, if not this one


LARGER, SMALLER = (f"a if (a {sign} b) | (a != a) else b" for sign in "><")
FIRST_LARGEST, FIRST_SMALLEST = (f"b if goes_before(b, a, b[0] {sign} a[0]) else a" for sign in "><")
BOTH = "a[0] + b[0], a[1] + b[1]"
END = 2**63 - 1  # a place after all others
NAMED = {
    "sum": Reduction("x", "a + b", 0),
    "squares": Reduction("x * x", "a + b", 0, joined_by="sum"),
    "known": Reduction("x if x == x else acc(0)", "a + b", 0, joined_by="sum"),
    "spread": Reduction("(x - m) * (x - m)", "a + b", 0, reads=("x", "m"), joined_by="sum"),
    "product": Reduction("x", "a * b", 1),
    "maximum": Reduction("acc(x)", LARGER, -math.inf, "same"),
    "minimum": Reduction("acc(x)", SMALLER, math.inf, "same"),
    "any": Reduction("acc(x != 0)", "a | b", 0, "whole"),
    "all": Reduction("acc(x != 0)", "a & b", 1, "whole"),
    "nonzero": Reduction("acc(x != 0)", "a + b", 0, "whole", joined_by="sum"),
    "bitwise_or": Reduction("acc(x)", "a | b", 0, "whole"),
    "bitwise_and": Reduction("acc(x)", "a & b", -1, "whole"),
    "bitwise_xor": Reduction("acc(x)", "a ^ b", 0, "whole"),
    "argmax": Reduction("acc(x), i", FIRST_LARGEST, (-math.inf, END), "same", joined_by="first_largest"),
    "argmin": Reduction("acc(x), i", FIRST_SMALLEST, (math.inf, END), "same", joined_by="first_smallest"),
    "first_largest": Reduction("x, at", FIRST_LARGEST, (-math.inf, END), "same", ("x", "at")),
    "first_smallest": Reduction("x, at", FIRST_SMALLEST, (math.inf, END), "same", ("x", "at")),
    "distances": Reduction("x - m, (x - m) * (x - m)", BOTH, (0, 0), reads=("x", "m"), joined_by="both_sums"),
    "gradients": Reduction("x, x * (y - m)", BOTH, (0, 0), reads=("x", "y", "m"), joined_by="both_sums"),
    "both_sums": Reduction("x, y", BOTH, (0, 0), reads=("x", "y")),
}

SOURCE = """\"\"\"The reduction {name}, computed in {acc}.\"\"\"

from numba import cuda
from numpy import uint64
from numpy import {acc} as acc{imports}

ALL = 0xFFFFFFFF
LAUNCH_BOUNDS = {{"{name}": ({block}, {blocks})}}  # threads of a block, and blocks of a processor


{helper}@cuda.jit(device=True)
def join(a, b):
    return {join}


@cuda.jit(device=True)
def term({args}, o, i, j):
{reads}    return {term}


@cuda.jit
def {name}({args}, {outs}, {starts}, lanes):
    \"\"\"Compute {outs}[o, p, j] from part p of x_[o, :, j]; `lanes` neighbouring threads form a team.

    Parts are interleaved, so that all teams of a result together read the memory in order.
    \"\"\"
    n, parts, inner = x_.shape[1], {first}.shape[1], {first}.shape[2]
    team, lane = cuda.grid(1) // lanes, cuda.grid(1) % lanes
    o, p, j = team // (parts * inner), team // inner % parts, team % inner
    total = {starts}
    i, step = p * lanes + lane, parts * lanes
    if team < {first}.size:
        while i + {last} * step < n:
{ahead}            i += {last} * step + step
        while i < n:
            total = join(total, term({args}, o, i, j))
            i += step
    distance = lanes // 2
    while distance:  # for all threads of a warp, even beyond the last team
        other = {other}
        total = join(total, other)
        distance //= 2
    if lane == 0 and team < {first}.size:
        {places} = {results}
"""

GOES_BEFORE = '''\
@cuda.jit(device=True)
def goes_before(b, a, further):
    """Return True if b comes before a: NaN first, then `further`; of equal ones the smaller place."""
    if (a[0] != a[0]) != (b[0] != b[0]):
        return b[0] != b[0]
    return b[1] < a[1] if (a[0] == b[0]) | (a[0] != a[0]) else further


'''


@cache
def kernel(name: str, acc: np.dtype, reads: tuple, write: str) -> Any:
    """Return the kernel of a reduction that computes in `acc`, with expressions that read elements and write results."""
    how = NAMED[name]
    two = isinstance(how.start, tuple)
    kept = "acc({})" if how.kept == "wide" else "{}"
    at = "uint64(o), uint64(i), uint64(j)"  # Numba tests signed indices for negative ones
    lines = [f"    {n} = {kept.format(read.format(f'{n}_[{at}]'))}\n" for n, read in zip(how.reads, reads)]
    args = ", ".join([f"{r}_" for r in how.reads])
    ahead = [f"            term{q} = term({args}, o, i + {q} * step, j)\n" for q in range(AHEAD)]
    ahead += [f"            total = join(total, term{q})\n" for q in range(AHEAD)]
    outs, totals = (["one_", "two_"], ["total[0]", "total[1]"]) if two else (["out_"], ["total"])
    text = SOURCE.format(
        name=name,
        acc=acc.name,
        imports=pointwise_cuda.imports((*reads, write)),
        block=BLOCK,
        blocks=BLOCKS,
        args=args,
        ahead="".join(ahead),
        last=AHEAD - 1,
        outs=", ".join(outs),
        first=outs[0],
        starts="start, second" if two else "start",
        reads="".join(lines),
        term=how.term,
        helper=GOES_BEFORE if "goes_before" in how.join else "",
        join=how.join,
        other=", ".join([f"cuda.shfl_xor_sync(ALL, {t}, distance)" for t in totals]),
        places=", ".join([f"{out}[o, p, j]" for out in outs]),
        results=", ".join([write.format(t) for t in totals]),
    )
    return getattr(kernel_modules.load(f"{name}_{acc.name}", text), name)


# ---------------------------------------------------------------------- over dimensions
def reduce(name: str, arrays: Sequence, dims: Sequence, keepdim: bool, dtype: Any = None) -> DeviceArray:
    """Return a reduction over dimensions, in `dtype`; further arrays broadcast to the first one."""
    return results(name, arrays, dims, keepdim, arrays[0].dtype if dtype is None else np.dtype(dtype))[0]


def results(name: str, arrays: Sequence, dims: Sequence, keepdim: bool, dtype: Any = None) -> list:
    """Return the one or two results of a reduction, in `dtype`, or in the dtype of the computation if it is None."""
    how, shape = NAMED[name], arrays[0].shape
    starts = how.start if isinstance(how.start, tuple) else (how.start,)
    acc = intermediate_dtype(how.kept, arrays[0].dtype if dtype is None else dtype)
    kinds = acc, I8 if how.kept == "same" else acc
    begin = [kind.type(identity(s, kind)) for kind, s in zip(kinds, starts)]
    dtypes = kinds if dtype is None else [dtype] * len(begin)
    if arrays[0].size:
        found = groups(name, list(arrays), set(dims), dtypes, begin)
    else:
        found = [full([n for d, n in enumerate(shape) if d not in dims], b, dtype) for b, dtype in zip(begin, dtypes)]
    kept = [1 if d in dims else n for d, n in enumerate(shape)]
    return [a.reshape(kept) for a in found] if keepdim else found


def intermediate_dtype(kind: str, dtype: np.dtype) -> np.dtype:
    """Return the dtype of intermediate results, which a warp must be able to shuffle."""
    if dtype not in FLOATS or kind == "whole":
        return I8
    return F8 if kind == "wide" or dtype == F8 else F4


def identity(start: float, dtype: np.dtype) -> float:
    """Return the result of no elements; for integer dtypes, the closest value to an infinity."""
    if not math.isinf(start) or dtype in FLOATS:
        return start
    limits = np.iinfo(I8 if dtype.kind == "b" else dtype)
    return limits.max if start > 0 else limits.min


def numbers(a: DeviceArray) -> DeviceArray:
    """Return an array as kernels take it: bools as integers, bfloat16 as bits."""
    return a.view(np.uint8) if a.dtype.kind == "b" else plain(a)


def groups(name: str, arrays: list, dims: set, dtypes: Sequence, begin: Sequence) -> list:
    """Return the reductions, one group of dimensions that are adjacent in memory at a time, the closest first."""
    shape, steps = arrays[0].shape, arrays[0].strides
    order = sorted([d for d, n in enumerate(shape) if n != 1], key=lambda d: -abs(steps[d]))
    arrays = [
        np.broadcast_to(a, shape).transpose([*order, *(d for d, n in enumerate(shape) if n == 1)]) for a in arrays
    ]
    sizes, left = [shape[d] for d in order], [d not in dims for d in order]
    last = False
    while not last:
        end = len(left)
        while end and left[end - 1] and not all(left):
            end -= 1
        first = end
        while first and not left[first - 1]:
            first -= 1
        last = all(left[:first])
        seen = [joined(a, sizes, first, end) for a in arrays]
        arrays = over_middle(name, seen, dtypes if last else [b.dtype for b in begin], begin)
        del sizes[first:end], left[first:end]
        name = NAMED[name].joined_by or name
    kept = [d for d in order if d not in dims]
    whole = [n for d, n in enumerate(shape) if d not in dims]
    return [a.reshape(sizes).transpose([kept.index(d) for d in sorted(kept)]).reshape(whole) for a in arrays]


def joined(a: DeviceArray, sizes: list, first: int, end: int) -> DeviceArray:
    """Return an array as (outer, n, inner), where n covers dimensions first to end - 1: a view if its memory allows it.

    An array that repeats along n repeats in the view too.
    """
    outer, n, inner = math.prod(sizes[:first]), math.prod(sizes[first:end]), math.prod(sizes[end:])
    if any(a.strides[first:end]):
        return a.reshape(outer, n, inner)
    once = a[(slice(None),) * first + (slice(1),) * (end - first)]
    return np.broadcast_to(once.reshape(outer, 1, inner), (outer, n, inner))


def over_middle(name: str, arrays: list, dtypes: Sequence, begin: Sequence) -> list:
    """Return the reductions of (outer, n, inner) to (outer, 1, inner)."""
    outer, n, inner = arrays[0].shape
    lanes = min(WARP, 1 << (n - 1).bit_length()) if inner == 1 else 1
    parts = max(1, min(THREADS // (outer * inner * lanes), n // (lanes * GRAIN)))
    parts = parts if parts > FEWEST else 1  # a second launch takes longer than a few more elements for each thread
    outs = [empty((outer, parts, inner), dtype if parts == 1 else b.dtype) for dtype, b in zip(dtypes, begin)]
    grid = -(-outs[0].size * lanes // BLOCK)
    reads = tuple([pointwise_cuda.read_expression(a.dtype) for a in arrays])
    chosen = kernel(name, begin[0].dtype, reads, pointwise_cuda.write_expression(outs[0].dtype))
    chosen[grid, BLOCK](*[numbers(a) for a in (*arrays, *outs)], *begin, lanes)
    return outs if parts == 1 else over_middle(NAMED[name].joined_by or name, outs, dtypes, begin)


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


def of_ufunc(ufunc: np.ufunc, a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,
             initial: Any = None, out: Any = ...) -> DeviceArray:  # fmt: skip
    """Return ufunc.reduce, over all dimensions if `axis` is None; also np.sum and the like.

    `out=...` asks NumPy for an array instead of a scalar; here the result always is one.
    """
    name, dims = UFUNCS[ufunc], dimensions(axis, a.ndim)
    if initial is None and math.isinf(NAMED[name].start) and not count(a, dims):
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    dtype = result_dtype(ufunc, a.dtype) if dtype is None else np.dtype(dtype)
    if NAMED[name].kept == "same":
        a = a.astype(dtype, copy=False)
    found = reduce(name, [a], dims, keepdims, dtype)
    return found if initial is None else ufunc(found, dtype.type(initial))


for ufunc in UFUNCS:  # a ufunc's method reduces the first dimension by default
    of_arrays((ufunc, "reduce"))(partial(of_ufunc, ufunc, axis=0))

for function, ufunc in {np.sum: np.add, np.prod: np.multiply, np.max: np.maximum, np.min: np.minimum, np.any: np.logical_or,
                        np.all: np.logical_and}.items():  # fmt: skip
    of_arrays(function)(partial(of_ufunc, ufunc))


@cache
def result_dtype(ufunc: np.ufunc, dtype: np.dtype) -> np.dtype:
    """Return the dtype of NumPy's reduction of elements of a dtype: small integers are added up as large ones."""
    return ufunc.reduce(np.ones(1, dtype)).dtype


def dimensions(axis: Any, ndim: int) -> tuple:
    """Return `axis=` as dimensions counted from the front; all for None."""
    if axis is None:
        return tuple(range(ndim))
    return tuple([d % ndim for d in (axis if isinstance(axis, tuple) else (axis,))]) if ndim else ()


def place(name: str, a: Any, axis: int | None = None, *, keepdims: bool = False) -> DeviceArray:
    """Return np.argmax or np.argmin: the first place of the extreme, or of NaN."""
    x = a.reshape(-1) if axis is None else a
    dims = dimensions(0 if axis is None else axis, x.ndim)
    if not count(x, dims):
        raise ValueError(f"attempt to get {name} of an empty sequence")
    _, found = results(name, [x], dims, keepdims)
    return found.reshape([1] * a.ndim) if keepdims and axis is None else found


of_arrays(np.argmax)(partial(place, "argmax"))
of_arrays(np.argmin)(partial(place, "argmin"))


@of_arrays(np.array_equal)
def array_equal(a: Any, b: Any, equal_nan: bool = False) -> bool:
    """Return True if two arrays have the same shape and elements."""
    if a.shape != b.shape:
        return False
    same = a == b
    return bool((same | ((a != a) & (b != b)) if equal_nan else same).all())


@of_arrays(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return reduce("nonzero", [a], dimensions(axis, a.ndim), keepdims, I8)


def spread(a: DeviceArray, dims: Sequence, keepdims: bool, correction: float, root: bool = False) -> DeviceArray:
    """Return the variance, or its root; a second pass adds up squared distances from the mean."""
    n = count(a, dims)
    middle = reduce("sum", [a], dims, True, F8) / n
    found = reduce("spread", [a, middle], dims, keepdims, F8) / max(n - correction, 0)
    return (np.sqrt(found) if root else found).astype(a.dtype, copy=False)


def count(a: Any, dims: Sequence) -> int:
    """Return the number of elements in each reduction."""
    return math.prod([a.shape[d] for d in dims])
