"""The product of matrices on the device: tiles in shared memory, and a small part of each tile in each thread's registers.

docs/howto/cuda-matmul.md builds this kernel step by step. An operand is flat memory and two terms of an address, one for the
row and one for the column. A term is a step, so that transposed and repeated matrices are read in place, or a table, from
which convolutions (conv_cuda.py) read windows that are never stored.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ...arrays.kinds import strided
from . import blas, kernel_modules, machine, simulator
from .device_array import DeviceArray, empty
from .functions import of_arrays
from .numpy_protocol import refuse_others
from .pointwise_cuda import walked


class Tile(NamedTuple):
    """Sizes of the matrices that a block and each of its threads compute."""

    m: int  # rows of the result
    n: int  # columns of the result
    k: int  # terms of the sums that are in shared memory at once
    thread_m: int
    thread_n: int
    blocks: int = 1  # blocks that a processor must be able to run at once: limits the registers of a thread

    @property
    def threads(self) -> int:
        return self.m // self.thread_m * (self.n // self.thread_n)


# A thread that computes 8 x 8 elements reads 16 numbers for 64 multiplications. Small results need more blocks, to keep all
# processors busy. Results of few rows (a convolution of 64 channels, a vector) need flatter ones, to leave few threads idle.
# Measured on an H200: 16 terms at once and one block per processor have 79% of cuBLAS's throughput, 8 and two blocks 76%.
LARGE, WIDE = Tile(128, 128, 16, 8, 8), Tile(64, 256, 8, 8, 8, 2)
MEDIUM, FLAT = Tile(64, 64, 16, 4, 4), Tile(8, 128, 8, 2, 4)
SMALL = Tile(8, 8, 4, 2, 2)  # for the simulator, where each thread costs time
SHORTEST = 8 if simulator.SMALL else 64  # terms of a sum that are worth a separate block


class Operand(NamedTuple):
    """A batch of matrices: the element (i, j) of matrix (a, b) is memory[a * outer + b * inner + i * rows + j * columns].

    `rows` and `columns` may also be tables: then they add rows[i], or columns[j]. If `along_rows`, the elements of a row are
    contiguous, else those of a column.
    """

    memory: DeviceArray
    outer: int
    inner: int
    rows: Any
    columns: Any
    along_rows: bool

    @property
    def T(self) -> Operand:
        return self._replace(rows=self.columns, columns=self.rows, along_rows=not self.along_rows)


# ---------------------------------------------------------------------- the kernel
HEAD = '''"""out = x @ y in {real}: a block computes {m} x {n} elements, each of its {threads} threads {thread_m} x {thread_n}.

Two tiles of each operand are in shared memory: while one is multiplied, the next one is being loaded.
"""

from minigrad.kernels.cuda.device_functions import {loads}
from numba import cuda
from numpy import int64, uint32, uint64
from numpy import {real} as real

TILE_M, TILE_N, TILE_K, THREAD_M, THREAD_N = {m}, {n}, {k}, {thread_m}, {thread_n}
THREADS, ACROSS, PATCH_M, PATCH_N = {threads}, {across}, {patch_m}, {patch_n}  # of a block, of a row, of a warp's sides
LAUNCH_BOUNDS = {{"product": (THREADS, {blocks})}}  # threads of a block, and blocks of a processor
X_PITCH, Y_PITCH, X_TILE, Y_TILE = {x_pitch}, {y_pitch}, {x_tile}, {y_tile}  # from one k to the next; from tile to tile
X_PARTS, Y_PARTS = {x_parts}, {y_parts}  # parts of a tile that each thread loads
X_HELD, Y_HELD, X_SHARED, Y_SHARED = {x_held}, {y_held}, 2 * {x_tile}, 2 * {y_tile}  # sizes of arrays
'''

# Unsigned indices: Numba tests signed indices for negative ones, which count from the end
FETCH = '''
@cuda.jit(device=True)
def places_{a}({a}_{outer}, begin, first, size, t, places):
    """Compute the addresses of this thread's parts of a tile at k = 0; beyond the matrix, of its end: those are not written."""
    for p in range({A}_PARTS):
        {i} = min(first + (p * THREADS + t) * {vector} {across}, size - {group})
        places[p] = begin + {address}


@cuda.jit(device=True)
def fetch_{a}({a}, places, {a}_{inner}, k, last, t, held):
    """Read them, from k on, into this thread's registers: 0 from `last` on."""
    for p in range({A}_PARTS):
        e = (p * THREADS + t) * {vector}
        {j} = k + e {along}
        if {j} < last{fits}:
            some = load{vector}({a}, places[p] + {term})
            for q in range({vector}):
                held[p * {vector} + q] = some[q]
        else:
            for q in range({vector}):
                held[p * {vector} + q] = real(0)


@cuda.jit(device=True)
def keep_{a}(held, tile, begin, t):
    """Write them to shared memory, where all elements of one k are adjacent."""
    for p in range({A}_PARTS):
        e = (p * THREADS + t) * {vector}
        {guard}for q in range({vector}):
        {indent}    tile[uint32(begin + {kept})] = held[p * {vector} + q]

'''

BODY = '''
@cuda.jit(device=True)
def multiply_one(xs, ys, x_place, y_place, total):
    """Add the products for one k to this thread's elements: groups of {x_wide} rows and {y_wide} columns."""
    x, y = cuda.local.array(THREAD_M, real), cuda.local.array(THREAD_N, real)
    for i in range(0, THREAD_M, {x_wide}):
        some = load{x_wide}(xs, x_place + i * (TILE_M // THREAD_M))
        for q in range({x_wide}):
            x[i + q] = some[q]
    for j in range(0, THREAD_N, {y_wide}):
        more = load{y_wide}(ys, y_place + j * (TILE_N // THREAD_N))
        for q in range({y_wide}):
            y[j + q] = more[q]
    for i in range(THREAD_M):
        for j in range(THREAD_N):
            total[i, j] += x[i] * y[j]


@cuda.jit(device=True)
def multiply(xs, ys, x_place, y_place, total):
    """Add the products of two tiles: without a loop, so that reads for the next k overlap with multiplications."""
{each_k}

@cuda.jit
def product(rows, columns, depth, some, inner, x, x_outer, x_inner, x_rows, x_columns,
            y, y_outer, y_inner, y_rows, y_columns, out, out_outer, out_inner, out_rows, out_columns, out_part):
    """Compute one tile of one product of the batch; `some` terms of its sums, if several blocks share them."""
    xs = cuda.shared.array(X_SHARED, real, 16)
    ys = cuda.shared.array(Y_SHARED, real, 16)
    places_of_x, places_of_y = cuda.local.array(X_PARTS, int64), cuda.local.array(Y_PARTS, int64)
    held_x, held_y = cuda.local.array(X_HELD, real), cuda.local.array(Y_HELD, real)
    total = cuda.local.array((THREAD_M, THREAD_N), real)
    for i in range(THREAD_M):
        for j in range(THREAD_N):
            total[i, j] = real(0)

    across, parts, rest = -(-columns // TILE_N), -(-depth // some) if depth else 1, cuda.blockIdx.x
    column, rest = rest % across * TILE_N, rest // across
    tiles = -(-rows // TILE_M)
    row, rest = rest % tiles * TILE_M, rest // tiles
    part, rest = rest % parts, rest // parts
    a, b = rest // inner, rest % inner
    t = cuda.threadIdx.x
    patch, lane = t // (PATCH_M * PATCH_N), t % (PATCH_M * PATCH_N)  # a patch reads few different numbers at once
    down = patch // (ACROSS // PATCH_N) * PATCH_M + lane // PATCH_N
    along = patch % (ACROSS // PATCH_N) * PATCH_N + lane % PATCH_N
    places_x(x_rows, a * x_outer + b * x_inner, row, rows, t, places_of_x)
    places_y(y_columns, a * y_outer + b * y_inner, column, columns, t, places_of_y)
    row, column, begin = row + down * {x_wide}, column + along * {y_wide}, part * out_part + a * out_outer + b * out_inner

    first, last, now = part * some, min(depth, (part + 1) * some), 0
    for k in range(first, last + TILE_K, TILE_K):
        fetch_x(x, places_of_x, x_columns, k, last, t, held_x)  # requested now, needed after `multiply`
        fetch_y(y, places_of_y, y_rows, k, last, t, held_y)
        if k > first:
            multiply(xs, ys, now * X_TILE + down * {x_wide}, now * Y_TILE + along * {y_wide}, total)
        now = 1 - now
        keep_x(held_x, xs, now * X_TILE, t)  # no thread still reads this half: all are past the barrier
        keep_y(held_y, ys, now * Y_TILE, t)
        cuda.syncthreads()

    for i in range(THREAD_M):
        m = row + i // {x_wide} * {x_wide} * (TILE_M // THREAD_M) + i % {x_wide}
        for j in range(THREAD_N):
            n = column + j // {y_wide} * {y_wide} * (TILE_N // THREAD_N) + j % {y_wide}
            if m < rows and n < columns:
                out[begin + {out_row} + {out_column}] = total[i, j]
'''


TOGETHER = '''"""Parts of sums, which several blocks have computed, added up."""

from numba import cuda


@cuda.jit
def together(parts, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        total = parts[i]
        for p in range(i + out.size, parts.size, out.size):
            total += parts[p]
        out[i] = total
'''


@functools.cache
def module(dtype: np.dtype, tile: Tile, tables: tuple, along_k: tuple, vectors: tuple) -> Any:
    """Return the module with the kernel `product`."""
    return kernel_modules.load(f"matmul_{dtype.name}", text(dtype, tile, tables, along_k, vectors))


def text(
    dtype: np.dtype, tile: Tile, tables: tuple = (False,) * 6, along_k: tuple = (True, False), vectors: tuple = (1, 1)
) -> str:
    """Return the kernel for a dtype and tile; `tables` marks terms that are tables, `along_k` contiguous k, `vectors` loads."""
    names = ("x_rows", "x_columns", "y_rows", "y_columns", "out_rows", "out_columns")
    term = {n: f"{n}[uint64({{}})]" if is_table else f"{{}} * {n}" for n, is_table in zip(names, tables)}
    values = {**tile._asdict(), "real": dtype.name, "threads": tile.threads, "across": tile.n // tile.thread_n,
              "patch_m": min(4, tile.m // tile.thread_m), "patch_n": min(8, tile.n // tile.thread_n),
              "x_wide": min(load_width(dtype), tile.thread_m), "y_wide": min(load_width(dtype), tile.thread_n),
              "x_vector": vectors[0], "y_vector": vectors[1], "out_row": term["out_rows"].format("m"),
              "out_column": term["out_columns"].format("n")}  # fmt: skip
    fetches = ""
    for a, side, size, vector, runs in zip("xy", "MN", (tile.m, tile.n), vectors, along_k):
        # threads of a warp write below each other: padding keeps them out of one memory bank
        pitch = size + load_width(dtype) if runs else size
        parts = -(-size * tile.k // (tile.threads * vector))
        values |= {f"{a}_pitch": pitch, f"{a}_tile": pitch * tile.k, f"{a}_parts": parts, f"{a}_held": parts * vector}
        fits = f"e < TILE_{side} * TILE_K" if size * tile.k % (tile.threads * vector) else ""
        across, along = (f"% TILE_{side}", f"// TILE_{side}") if not runs else ("// TILE_K", "% TILE_K")
        kept = "(e {k} + q) * {A}_PITCH + e {o}" if runs else "e {k} * {A}_PITCH + e {o} + q"
        i, j, outer, inner = ("i", "j", "rows", "columns") if a == "x" else ("j", "i", "columns", "rows")
        fetches += FETCH.format(
            a=a, A=a.upper(), i=i, j=j, outer=outer, inner=inner, vector=vector, across=across, along=along,
            group=1 if runs else vector, fits=f" and {fits}" if fits else "",
            guard=f"if {fits}:\n            " if fits else "", indent="    " if fits else "",
            kept=kept.format(A=a.upper(), k=along, o=across), address=term[f"{a}_{outer}"].format(i),
            term=term[f"{a}_{inner}"].format(j))  # fmt: skip
    each = "    multiply_one(xs, ys, x_place + {k} * X_PITCH, y_place + {k} * Y_PITCH, total)\n"
    values["each_k"] = "".join([each.format(k=k) for k in range(tile.k)])
    values["loads"] = ", ".join(sorted({f"load{values[n]}" for n in ("x_wide", "y_wide", "x_vector", "y_vector")}))
    return HEAD.format(**values) + fetches + BODY.format(**values)


def load_width(dtype: np.dtype) -> int:
    """Return the number of elements that a thread can load at once: 16 bytes."""
    return 16 // dtype.itemsize if dtype.kind == "f" else 1


def tiles(dtype: np.dtype) -> tuple[Tile, ...]:
    """Return the tiles for elements of a dtype: two tiles of the large ones leave no room for eight bytes in shared memory."""
    return (LARGE, WIDE, MEDIUM, FLAT) if dtype.itemsize <= 4 else (MEDIUM, FLAT)


def chosen_tile(dtype: np.dtype, rows: int, columns: int, batch: int) -> Tile:
    """Return the largest tile that leaves no processor idle."""
    if simulator.SMALL:
        return SMALL
    if rows <= 2 * FLAT.m:
        return FLAT
    large = WIDE if rows <= WIDE.m else LARGE
    blocks = batch * -(-rows // large.m) * -(-columns // large.n)
    return large if large in tiles(dtype) and blocks >= machine.current().processors else MEDIUM


def vector(a: Operand, dtype: np.dtype, rows: int, columns: int) -> int:
    """Return the number of elements that a thread loads at once: the maximum if all groups are aligned to it, else 1."""
    most = load_width(dtype)
    step, other, size = (a.columns, a.rows, columns) if a.along_rows else (a.rows, a.columns, rows)
    apart = not any(isinstance(s, DeviceArray) for s in (step, other)) and step == 1
    whole = apart and not any(n % most for n in (other, a.outer, a.inner, size)) and a.memory.address % 16 == 0
    return most if whole else 1


def run(x: Operand, y: Operand, out: Operand, batch: tuple, rows: int, columns: int, depth: int) -> None:
    """Compute out = x @ y for (outer, inner) batches of matrices (rows, depth) and (depth, columns)."""
    if blas.product(x, y, out, batch, rows, columns, depth):
        return
    if columns < rows and columns <= 2 * FLAT.m:  # few columns are few rows of the transposed product
        x, y, out, rows, columns = y.T, x.T, out.T, columns, rows
    dtype, number = out.memory.dtype, math.prod(batch)
    tile = chosen_tile(dtype, rows, columns, number)
    tiles = number * -(-rows // tile.m) * -(-columns // tile.n)
    if not tiles:
        return
    dense = out.memory.size == number * rows * columns
    parts = max(1, min(2 * machine.current().processors // tiles, depth // SHORTEST)) if dense else 1
    some = max(1, -(-depth // (parts * tile.k))) * tile.k
    parts = max(1, -(-depth // some))
    tables = tuple([isinstance(s, DeviceArray) for a in (x, y, out) for s in (a.rows, a.columns)])
    vectors = vector(x, dtype, rows, depth), vector(y, dtype, depth, columns)
    kernel = module(dtype, tile, tables, (x.along_rows, not y.along_rows), vectors).product
    target = out.memory if parts == 1 else empty((parts, out.memory.size), dtype)
    kernel[tiles * parts, tile.threads](
        rows, columns, depth, some, batch[1], *x[:5], *y[:5], target.reshape(-1), *out[1:5], out.memory.size)  # fmt: skip
    if parts > 1:  # in a fixed order, unlike atomic additions
        together = kernel_modules.load("matmul_parts", TOGETHER).together
        together[kernel_modules.threads(out.memory.size)](target.reshape(-1), out.memory)


# ---------------------------------------------------------------------- NumPy's functions
def matrices(a: DeviceArray, outer: int = 0, inner: int = 0) -> Operand:
    """Return the last two dimensions of an array as an operand; outer and inner are steps between matrices in bytes."""
    size = a.shadow.itemsize
    *_, rows, columns = steps = [s // size for s in a.shadow.strides]
    extent = 1 + sum([(n - 1) * s for n, s in zip(a.shadow.shape, steps)])
    memory = strided(a, (extent,), (size,))
    return Operand(memory, outer // size, inner // size, rows, columns, columns == 1 or rows != 1)


@of_arrays(np.matmul, np.dot)
def matmul(x: Any, y: Any) -> DeviceArray:
    """Return np.matmul(x, y): vectors are matrices of one row or column, and batches of matrices broadcast."""
    refuse_others("matmul", (x, y))
    dtype = x.dtype if x.dtype is y.dtype else np.result_type(x.dtype, y.dtype)
    x, y = [a if min(a.shadow.strides, default=0) >= 0 and a.dtype is dtype else a.astype(dtype, "C") for a in (x, y)]
    row, column = x.ndim == 1, y.ndim == 1
    x, y = x.reshape(1, -1) if row else x, y.reshape(-1, 1) if column else y
    if x.shape[-1] != y.shape[-2]:
        raise ValueError(f"matmul: shapes {x.shape} and {y.shape} cannot be multiplied")
    if x.ndim == y.ndim == 2:
        batch, result = (), empty((x.shape[0], y.shape[1]), dtype)
    else:
        batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        result = empty((*batch, x.shape[-2], y.shape[-1]), dtype)
        x, y = [np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in (x, y)]
    fill(x, y, result)
    return result.reshape(*batch, *result.shape[-2 + row :][: 2 - row - column]) if row or column else result


def fill(x: DeviceArray, y: DeviceArray, out: DeviceArray) -> None:
    """Compute out = x @ y for batches of one shape, whose dimensions are merged to two at most if memory allows."""
    if not out.size or not x.size:
        out.fill(0)
        return
    if out.ndim == 2:
        run(matrices(x), matrices(y), matrices(out), (1, 1), *out.shape, x.shape[-1])
        return
    corners = [a[..., 0, 0] for a in (x, y, out)]
    sizes, steps = walked(out.shape[:-2], corners)
    if len(sizes) > 2:
        for i in range(len(out)):
            fill(x[i], y[i], out[i])
        return
    outer, inner = [(0,) * 3] * (2 - len(sizes)) + list(zip(*steps))
    operands = [matrices(a, *s) for a, s in zip((x, y, out), zip(outer, inner))]
    run(*operands, (1,) * (2 - len(sizes)) + sizes, out.shape[-2], out.shape[-1], x.shape[-1])
