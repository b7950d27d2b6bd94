"""Scans along a dimension: running sums, products, extremes and log-sums, and linear recurrences.

All use one kernel with a different `combine(earlier, later)`, which only has to be associative. It combines numbers or pairs:
a maximum and its place, or the a and b of y -> a * y + b.

For long rows, a block processes a chunk of a row, a tile at a time. Each thread combines a few neighbours. Their results are
combined within a warp over distances 1, 2, 4, 8 and 16 by shuffles, then over the warps of the block, then with the result of
the tiles before (Hillis and Steele, "Data parallel algorithms", 1986). If there are fewer rows than the GPU can process at
once, a row has several chunks, whose totals are computed first (Blelloch, "Prefix sums and their applications", 1990). With
many columns side by side, or few steps, each column has one thread.

Sums and products of float32 are carried in float64, as on the processor.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from . import kernel_modules, machine, simulator
from .device_array import DeviceArray, empty
from .functions import of_arrays
from .pointwise_cuda import computed_in

MOST_THREADS = 64 if simulator.SMALL else 256
# values of a thread in a tile, for rows of increasing length: odd, so that threads read from different banks of shared memory
ITEMS = (1, 3) if simulator.SMALL else (1, 3, 7)
BLOCKS_PER_PROCESSOR = 3
SHORT = 32  # steps that one thread takes, however few threads there are
COLUMNS = 2048  # columns side by side; from here on each has a thread


class Scan(NamedTuple):
    """The properties of a scan: names of inputs and results, a state of one or two numbers, and how states combine."""

    inputs: tuple
    read: str
    combine: str
    outputs: tuple = ("out",)
    write: str = "out_[o, i, j] = {v}"
    parts: int = 1
    imports: str = ""


def number(combine: str, imports: str = "") -> Scan:
    """Return a scan of numbers."""
    return Scan(("x",), "{state}(x_[o, i, j])", combine, imports=imports)


def place(operator: str) -> Scan:
    """Return a scan of extremes with their places: of equal ones the last, and of several NaN the last."""
    return Scan(("x",), "{state}(x_[o, i, j]), int64(i)", f"b if b[0] {operator} a[0] or b[0] != b[0] else a",
                ("out", "place"), "out_[o, i, j], place_[o, i, j] = {v}", 2)  # fmt: skip


LOGADDEXP = "a + 0.6931471805599453 if a == b else max(a, b) + log1p(exp(-abs(a - b))) if a - b == a - b else a + b"
RUNNING = {
    np.add: number("a + b"),
    np.multiply: number("a * b"),
    np.maximum: number("b if b >= a or b != b else a"),
    np.minimum: number("b if b <= a or b != b else a"),
    np.logaddexp: number(LOGADDEXP, "from minigrad.kernels.cuda.device_functions import exp, log1p\n"),
}
PLACES = {np.maximum: place(">="), np.minimum: place("<=")}
RECURRENCE = Scan(("a", "b"), "{state}(a_[o, i, j]), {state}(b_[o, i, j])", "(a[0] * b[0], b[0] * a[1] + b[1])",
                  write="out_[o, i, j] = {v}[1]", parts=2)  # fmt: skip

SOURCE = '''"""Scans: {combine}  [{state}]"""

from numba import cuda
from numpy import float32, float64, int64
{imports}
ALL = 0xFFFFFFFF
LAUNCH_BOUNDS = dict.fromkeys(("columns", "scanned"), ({most}, {blocks}))  # threads of a block, and blocks of a processor
THREADS, ITEMS = {threads}, {items}
TILE, WARPS = THREADS * ITEMS, THREADS // 32
SLOTS = WARPS + 1  # for the last value of each warp, and of the block


@cuda.jit(device=True)
def combine(a, b):
    """Combine an earlier and a later state."""
    return {combine}


@cuda.jit(device=True)
def read({inputs}, o, i, j):
    return {read}


@cuda.jit
def columns(reverse, {inputs}, {outputs}):
    """Scan each column in one thread."""
    n, width = {first}_.shape[1], {first}_.shape[2]
    for r in range(cuda.grid(1), {first}_.shape[0] * width, cuda.gridsize(1)):
        o, j, i = r // width, r % width, n - 1 if reverse else 0
        v = read({inputs}, o, i, j)
        {write}
        for k in range(1, n):
            i = step(k, n, reverse)
            v = combine(v, read({inputs}, o, i, j))
            {write}


@cuda.jit(device=True)
def earlier(v, distance):
    """Return the value of the thread `distance` before."""
    return {shifted}


@cuda.jit(device=True)
def step(k, n, reverse):
    """Return the index of step k."""
    return n - 1 - k if reverse else k


@cuda.jit(device=True)
def keep({arrays}, k, v):
    {places} = v


@cuda.jit(device=True)
def kept({arrays}, k):
    return {places}


@cuda.jit
def scanned(reverse, chunk, totalling, {inputs}, {totals}, {outputs}):
    """Scan chunk c of row r in a block, a tile at a time; with `totalling`, only for its total."""
{shared}
    n, width, t = {first}_.shape[1], {first}_.shape[2], cuda.threadIdx.x
    chunks = (n + chunk - 1) // chunk
    r, c, lane, warp = cuda.blockIdx.x // chunks, cuda.blockIdx.x % chunks, t % 32, t // 32
    o, j, end = r // width, r % width, min(n, (c + 1) * chunk)
    alone = c * chunk if totalling else 0  # start of the tile that receives no carry
    carry = read({inputs}, o, 0, j)
    if c > 0 and not totalling:
        carry = kept({totals}, r * chunks)
        for k in range(1, c):
            carry = combine(carry, kept({totals}, r * chunks + k))
    for first in range(c * chunk, end, TILE):
        # neighbours read neighbours, each several values at once; beyond the end the last one, which affects no earlier one
{reads}
        cuda.syncthreads()
        v = kept({tile}, t * ITEMS)
        for k in range(t * ITEMS + 1, (t + 1) * ITEMS):
            v = combine(v, kept({tile}, k))
        for level in range(5):
            before = earlier(v, 1 << level)
            if lane >= 1 << level:
                v = combine(before, v)
        if lane == 31:
            keep({slots}, warp, v)
        before = earlier(v, 1)  # the values before this thread's, unless it is the first one of its warp
        cuda.syncthreads()
        if warp > 0:
            of_warps = kept({slots}, 0)
            for w in range(1, warp):
                of_warps = combine(of_warps, kept({slots}, w))
            before = combine(of_warps, before) if lane > 0 else of_warps
            v = combine(of_warps, v)
        if first > alone:
            before = combine(carry, before) if t > 0 else carry
            v = combine(carry, v)
        if t == THREADS - 1:
            keep({slots}, WARPS, v)
        if not totalling:
            for k in range(t * ITEMS, (t + 1) * ITEMS):
                v = kept({tile}, k)
                if k > 0 or first > alone:
                    v = combine(before, v)
                keep({tile}, k, v)
                before = v
        cuda.syncthreads()
        carry = kept({slots}, WARPS)
        if not totalling:
            for k in range(t, min(TILE, end - first), THREADS):
                i = step(first + k, n, reverse)
                v = kept({tile}, k)
                {write}
    if totalling and t == 0:
        keep({totals}, cuda.blockIdx.x, carry)
'''

SHARED = "    slots{p}, tile{p} = cuda.shared.array(SLOTS, {kind}), cuda.shared.array(TILE, {kind})"
READ = "        v{q} = read({inputs}, o, step(min(first + {q} * THREADS + t, end - 1), n, reverse), j)"
KEEP = "        keep({tile}, {q} * THREADS + t, v{q})"


@functools.cache
def kernels(scan: Scan, state: str, kinds: tuple, threads: int, items: int) -> Any:
    """Return the module of one scan, with `columns` and `scanned`. `kinds` are the dtypes of the state's parts."""
    each = lambda text: ", ".join([text.format(p=p) for p in range(scan.parts)])
    shuffled = "v[{p}]" if scan.parts > 1 else "v"
    names = {
        "inputs": ", ".join([f"{n}_" for n in scan.inputs]),
        "outputs": ", ".join([f"{n}_" for n in scan.outputs]),
        "first": scan.inputs[-1],
        "combine": scan.combine,
        "read": scan.read.format(state=state),
        "state": state,
        "most": MOST_THREADS,
        "blocks": BLOCKS_PER_PROCESSOR,
        "threads": threads,
        "items": items,
        "imports": scan.imports,
        "write": scan.write.format(v="v"),
        "slots": each("slots{p}"),
        "tile": each("tile{p}"),
        "arrays": each("kept{p}"),
        "places": each("kept{p}[k]"),
        "shifted": each(f"cuda.shfl_up_sync(ALL, {shuffled}, distance)"),
        "totals": each("totals{p}_"),
        "shared": "\n".join([SHARED.format(p=p, kind=kind) for p, kind in enumerate(kinds)]),
    }
    reads = [READ.format(q=q, inputs=names["inputs"]) for q in range(items)]
    reads += [KEEP.format(q=q, tile=names["tile"]) for q in range(items)]
    names["reads"] = "\n".join(reads)
    return kernel_modules.load("scans", SOURCE.format(**names))


def run(scan: Scan, inputs: list, dim: int, reverse: bool, state: np.dtype, results: list) -> list:
    """Return the results, of these dtypes, of a scan of arrays along a dimension, from its end if `reverse`."""
    shape = inputs[0].shape
    outs = [empty(shape, dtype) for dtype in results]
    if not outs[0].size:
        return outs
    outer, n, inner = math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])
    arrays = [a.reshape(outer, n, inner) for a in inputs]
    results = [a.reshape(outer, n, inner) for a in outs]
    kinds = (state.name, "int64" if len(outs) > 1 else state.name)[: scan.parts]
    items = next((m for m in ITEMS if n <= 32 * m), ITEMS[-1])
    threads = min(-(-n // (32 * items)) * 32, MOST_THREADS)
    module, rows = kernels(scan, state.name, kinds, threads, items), outer * inner
    if n <= SHORT or inner > 1 and rows >= COLUMNS:
        module.columns[kernel_modules.threads(rows)](reverse, *arrays, *results)
        return outs
    tile = threads * items
    chunks = min(-(-n // tile), max(parallel() // rows, 1))
    chunk = -(-n // (chunks * tile)) * tile
    chunks = -(-n // chunk)
    totals = [empty(rows * chunks, kind) for kind in kinds]
    for totalling in (True, False) if chunks > 1 else (False,):
        module.scanned[rows * chunks, threads](reverse, chunk, totalling, *arrays, *totals, *results)
    return outs


def parallel() -> int:
    """Return the number of blocks that keep the device busy."""
    return 4 if simulator.SMALL else BLOCKS_PER_PROCESSOR * machine.current().processors


def accumulator_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which sums and products of a dtype are carried."""
    return np.dtype(np.float64 if dtype.kind == "f" else np.int64)


def same(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which extremes of a dtype are carried, which threads must be able to exchange."""
    return computed_in(dtype) if dtype.kind == "f" else np.dtype(np.int64)


# ---------------------------------------------------------------------- the scans
def running(ufunc: np.ufunc, x: DeviceArray, dim: int, reverse: bool = False, dtype: Any = None) -> DeviceArray:
    """Return `ufunc` accumulated along dim, from the end if `reverse`."""
    state = same(x.dtype) if ufunc in PLACES else accumulator_dtype(x.dtype if dtype is None else np.dtype(dtype))
    return run(RUNNING[ufunc], [x], dim, reverse, state, [x.dtype if dtype is None else np.dtype(dtype)])[0]


def running_extreme(ufunc: np.ufunc, x: DeviceArray, dim: int) -> tuple:
    """Return running extremes and their places."""
    return tuple(run(PLACES[ufunc], [x], dim, False, same(x.dtype), [x.dtype, np.dtype(np.int64)]))


def recurrence(a: DeviceArray, b: DeviceArray, dim: int, reverse: bool) -> DeviceArray:
    """Return y[i] = a[i] * y[i-1] + b[i] along a dimension, from its end if `reverse`."""
    return run(RECURRENCE, [a, b], dim, reverse, accumulator_dtype(b.dtype), [b.dtype])[0]


def accumulate(ufunc: np.ufunc, x: Any, axis: int = 0, dtype: Any = None) -> DeviceArray:
    """Return ufunc.accumulate."""
    return running(ufunc, x, axis % x.ndim, False, dtype)


for ufunc in RUNNING:
    of_arrays((ufunc, "accumulate"))(functools.partial(accumulate, ufunc))


@of_arrays(np.cumsum)
def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> DeviceArray:
    """Return running sums; of bools and small integers in int64."""
    a, axis = (a.reshape(-1), 0) if axis is None else (a, axis % a.ndim)
    return running(np.add, a, axis, False, np.int64 if dtype is None and a.dtype.kind != "f" else dtype)


@of_arrays(np.diff)
def diff(a: Any) -> DeviceArray:
    """Return differences of neighbours in a one-dimensional array."""
    return a[1:] - a[:-1]
