"""Sorting long rows by their digits: stable, with NaN after every number.

Numbers become unsigned integers of the same order. These are sorted by their last 8 bits, then by the 8 bits before, and so
on: each pass keeps the order of equal digits. For a pass, each block counts the digits in its tile; running sums of all counts
say where the tile's elements with each digit go. The block first sorts its tile in shared memory, so that neighbouring threads
write to neighbouring places. The method is from Merrill and Grimshaw, "High performance and scalable radix sorting", 2011.
"""

import functools
from typing import Any

import numpy as np

from . import kernel_modules, simulator
from .device_array import DeviceArray, empty
from .scans_cuda import running

THREADS, BITS = (64, 4) if simulator.SMALL else (256, 8)  # of a block; of a digit, which has at most THREADS values
ITEMS = 2 if simulator.SMALL else 16  # elements of a thread; half as many if a key or a place has 8 bytes

SOURCE = '''"""Sorting {real} by its digits, {order} first."""

from minigrad.kernels.cuda.device_functions import bits, of_bits
from numba import cuda
from numpy import int32, int64, uint32
from numpy import {real} as real
from numpy import {key} as Key
from numpy import {place} as Place

THREADS, ITEMS, BITS = {threads}, {items}, {bits}
TILE, WARPS, DIGITS, ALL = THREADS * ITEMS, THREADS // 32, 1 << BITS, uint32(0xFFFFFFFF)
SIGN, MASK, LAST = Key({sign}), Key(DIGITS - 1), Key({last})
NAN, ZERO, MINUS_ZERO = Key({nan}), Key({zero}), Key({minus_zero})  # bits of NaN, keys of 0.0 and -0.0


@cuda.jit(device=True)
def key_of(x):
    """Return an unsigned integer that is in order as the numbers are."""
{key_of}

@cuda.jit(device=True)
def value_of(key):
    """Return the number of a key."""
{value_of}

@cuda.jit(device=True)
def digit_of(key, shift):
    """Return one digit of a key; 0.0 and -0.0 are equal, and count as one key."""
{digit_of}

@cuda.jit
def encode(x_, keys_):
    for i in range(cuda.grid(1), x_.size, cuda.gridsize(1)):
        keys_[i] = key_of(x_[i])


@cuda.jit
def decode(keys_, places_, out_, out_places_):
    for i in range(cuda.grid(1), keys_.size, cuda.gridsize(1)):
        out_[i], out_places_[i] = value_of(keys_[i]), places_[i]


@cuda.jit(device=True)
def key_at(keys_, row, i):
    """Return a key; beyond the row, the last of all keys."""
    return keys_[row, i] if i < keys_.shape[1] else LAST


@cuda.jit
def count(shift, keys_, counts_):
    """Count the digits in each tile: counts_[row, digit, tile]."""
    counts, t = cuda.shared.array(DIGITS, int32), cuda.threadIdx.x
    row, tile = cuda.blockIdx.x // counts_.shape[2], cuda.blockIdx.x % counts_.shape[2]
    if t < DIGITS:
        counts[t] = 0
    cuda.syncthreads()
    for i in range(tile * TILE + t, (tile + 1) * TILE, THREADS):
        cuda.atomic.add(counts, digit_of(key_at(keys_, row, i), shift), 1)
    cuda.syncthreads()
    if t < DIGITS:
        counts_[row, t, tile] = counts[t]


@cuda.jit
def scatter(shift, given, keys_, places_, until_, out_, out_places_):
    """Move each element behind all smaller digits, and equal ones before it; until_[row, digit, tile] is where those end.

    Places are those `given`, or the elements' numbers.
    """
    counts = cuda.shared.array((WARPS, DIGITS), int32)  # of digits in a warp's part of the tile, later where they begin
    ends, moves = cuda.shared.array(DIGITS, int32), cuda.shared.array(DIGITS, int64)
    sorted_keys, sorted_places = cuda.shared.array(TILE, Key), cuda.shared.array(TILE, Place)
    n, t = keys_.shape[1], cuda.threadIdx.x
    warp, lane = t // 32, t % 32
    row, tile = cuda.blockIdx.x // until_.shape[2], cuda.blockIdx.x % until_.shape[2]
    begin = tile * TILE
    first, below = begin + warp * 32 * ITEMS + lane, uint32((1 << lane) - 1)
    for d in range(lane, DIGITS, 32):
        counts[warp, d] = 0
    cuda.syncwarp()
    for i in range(first, first + 32 * ITEMS, 32):
        cuda.atomic.add(counts, (warp, digit_of(key_at(keys_, row, i), shift)), 1)
    cuda.syncthreads()

    total = int32(0)
    if t < DIGITS:
        for w in range(WARPS):
            total += counts[w, t]
        ends[t] = total
    cuda.syncthreads()
    distance = 1
    while distance < DIGITS:  # running sums, as in scans_cuda.py
        before = ends[t - distance] if distance <= t < DIGITS else int32(0)
        cuda.syncthreads()
        if t < DIGITS:
            ends[t] += before
        cuda.syncthreads()
        distance *= 2
    if t < DIGITS:
        at = ends[t] - total
        moves[t] = until_[row, t, tile] - total - at
        for w in range(WARPS):
            found = counts[w, t]
            counts[w, t] = at
            at += found
    cuda.syncthreads()

    for i in range(first, first + 32 * ITEMS, 32):
        key = key_at(keys_, row, i)
        digit = digit_of(key, shift)
        equal = ALL  # the threads of the warp with the same digit
        for b in range(BITS):
            votes = uint32(cuda.ballot_sync(ALL, digit >> b & 1))
            equal = uint32(equal & (votes if digit >> b & 1 else ~votes))
        at = counts[warp, digit] + cuda.popc(uint32(equal & below))
        cuda.syncwarp()
        if equal & below == 0:
            counts[warp, digit] += cuda.popc(equal)
        cuda.syncwarp()
        sorted_keys[at] = key
        if i < n:
            sorted_places[at] = places_[row, i] if given else i
    cuda.syncthreads()

    for k in range(t, min(TILE, n - begin), THREADS):
        key = sorted_keys[k]
        at = moves[digit_of(key, shift)] + k
        out_[row, at], out_places_[row, at] = key, sorted_places[k]
'''

FLOAT_KEY = """\
    n = NAN if x != x else Key(bits(x))
    return Key({not_}(~n if n & SIGN else n ^ SIGN))
"""
FLOAT_VALUE = """\
    n = Key({not_}key)
    return of_bits({integer}(n ^ SIGN if n & SIGN else ~n))
"""
FLOAT_DIGIT = """\
    k = ZERO if key == MINUS_ZERO else key
    return int32(k >> Key(shift) & MASK)
"""
WHOLE_KEY, WHOLE_VALUE = "    return Key({not_}(Key(x) ^ SIGN))\n", "    return real(Key({not_}key) ^ SIGN)\n"
WHOLE_DIGIT = "    return int32(key >> Key(shift) & MASK)\n"


@functools.cache
def module(dtype: np.dtype, place: str, descending: bool) -> Any:
    """Return the kernels for elements of a dtype and places of a dtype."""
    size, wide = dtype.itemsize, 8 * max(dtype.itemsize, 4)
    every, sign = (1 << wide) - 1, 1 << (8 * size - 1)
    zeros = (sign, sign - 1)  # keys of 0.0 and -0.0 in ascending order
    zero, minus_zero = [every - z for z in zeros] if descending else zeros
    texts = (FLOAT_KEY, FLOAT_VALUE, FLOAT_DIGIT) if dtype.kind == "f" else (WHOLE_KEY, WHOLE_VALUE, WHOLE_DIGIT)
    not_ = "~" if descending else ""
    key_of, value_of, digit_of = [text.format(not_=not_, integer=f"int{wide}") for text in texts]
    source = SOURCE.format(
        real=dtype.name,
        order="the largest" if descending else "the smallest",
        key=f"uint{wide}",
        place=place,
        threads=THREADS,
        items=ITEMS if (wide, place) == (32, "int32") else ITEMS // 2,
        bits=BITS,
        sign=0 if dtype.kind == "u" else sign,
        last=every,
        nan=np.array(np.nan, dtype).view(f"u{size}") if dtype.kind == "f" else 0,
        zero=zero,
        minus_zero=minus_zero,
        key_of=key_of,
        value_of=value_of,
        digit_of=digit_of,
    )
    return kernel_modules.load("radix", source)


def ordered(x: DeviceArray, descending: bool) -> tuple:
    """Return contiguous rows in order, and the places that their elements had."""
    r, n = x.shape
    place = "int32" if n < 1 << 30 else "int64"
    kernels = module(x.dtype, place, descending)
    tiles = -(-n // kernels.TILE)
    keys, places = empty(x.shape, kernels.Key), empty(x.shape, place)
    spare, spare_places = empty(x.shape, kernels.Key), empty(x.shape, place)
    counts = empty((r, kernels.DIGITS, tiles), place)
    each = kernel_modules.threads(x.size)
    kernels.encode[each](x.reshape(-1), keys.reshape(-1))
    for shift in range(0, 8 * x.itemsize, BITS):
        kernels.count[r * tiles, THREADS](shift, keys, counts)
        until = running(np.add, counts.reshape(r, -1), 1).reshape(counts.shape)
        kernels.scatter[r * tiles, THREADS](shift, shift > 0, keys, places, until, spare, spare_places)
        keys, places, spare, spare_places = spare, spare_places, keys, places
    out, found = empty(x.shape, x.dtype), empty(x.shape, np.int64)
    kernels.decode[each](keys.reshape(-1), places.reshape(-1), out.reshape(-1), found.reshape(-1))
    return out, found
