"""Convolutions of large arrays and their two gradients, without a copy of each window.

The input is copied once, with zeros around it, so that each channel is one long line that holds all images in turn. An
element of a window is then at a fixed distance from the window's first one, and a convolution is a sum of shifted lines,
which conv_tiles.py adds up in registers. Zeros at the end of a row also pad the start of the next. Results that cross the
end of a row are left out when the result is copied to its place. A stride splits the input into phases, each a separate
line; for the input gradient it splits the result. If a plane of the result is much smaller than one of the input, as for
large kernels, the tiles restart at each plane: a third to a half of the time for kernels of 15 by 10 elements.

ops/nn/conv.py has the definitions. The functions here return None where those are as fast or needed: small arrays, many
channels of few elements (conv_cost.py), and weight gradients that are not finite (a padding zero times infinity is NaN).
"""

from __future__ import annotations

import itertools
import math
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ...arrays.kinds import on_device
from .. import cuda_kernels
from ..cache import load
from ..fallback import only_definitions
from ..threads import launch
from .conv_cost import BY_INPUT, BY_WEIGHT, FORWARD, of_single_elements

CONV_FROM = 1 << 15  # multiplications; below, a dozen NumPy calls take no longer than a lesson's wait for the compiler
# multiplications that take as long as a NumPy call: the transpose makes one call per element of the kernel
CALL = 1 << 10
BLOCK = 1 << 16  # numbers in one piece of work, which must fit in the second-level cache
WORK = 32  # multiplications that take as long as an element of other kernels, whose work threads.py counts

SOURCE = '''"""Convolutions of {real}: slide (forward and input gradient) and correlate (weight gradient)."""

from minigrad.kernels.cpu import conv_tiles as tiles
from numba import njit
from numpy import empty, zeros
from numpy import {real} as real

LANES, ROWS, COLUMNS, DEPTH, CHUNK = {lanes}, {rows}, {columns}, 128, 2048
slide_rows, slide_four, slide_one = tiles.slide(ROWS, 3), tiles.slide(4, 3), tiles.slide(1, 6)
correlate_four, correlate_one = tiles.correlate(4, COLUMNS), tiles.correlate(1, 9)


@njit(nogil=True)
def place(x, line, length, lead, stride, pitch):
    """Lay out x (images, channels, depth, height, width): for each channel its phases, one line after another."""
    images, channels, depth, height, width = x.shape
    image, source, at = pitch[0] * pitch[1] * pitch[2], x.reshape(-1), 0
    for n in range(images):
        for c in range(channels):
            for d in range(lead[0], lead[0] + depth):
                phase, deep = c * stride[0] + d % stride[0], d // stride[0]
                high, part = lead[1] // stride[1], lead[1] % stride[1]  # updated below: divisions cost as much as short rows
                for _ in range(height):
                    to = (phase * stride[1] + part) * stride[2] * length + n * image + (deep * pitch[1] + high) * pitch[2]
                    if deep < pitch[0] and high < pitch[1]:
                        if stride[2] == 1:
                            tiles.copy(source, at, line, to + lead[2], width)
                        else:
                            for i in range(lead[2], lead[2] + min(stride[2], width)):
                                begin = to + i % stride[2] * length + i // stride[2]
                                some = min((lead[2] + width - i - 1) // stride[2] + 1, pitch[2] - i // stride[2])
                                tiles.stride(source, at + i - lead[2], stride[2], line, begin, 1, some)
                    at += width
                    part += 1
                    if part == stride[1]:
                        high, part = high + 1, 0


@njit(nogil=True)
def take(lines, line, pitch, phase, step, cut, out, first, last):
    """Copy lines to channels of out: element j of the phase is element j * step + phase - cut of the result."""
    images, channels, depth, height, width = out.shape
    image, target = pitch[0] * pitch[1] * pitch[2], out.reshape(-1)
    top, left = (phase[1] - cut[1]) % step[1], (phase[2] - cut[2]) % step[2]
    high, wide, some = (top + cut[1]) // step[1], (left + cut[2]) // step[2], (width - left - 1) // step[2] + 1
    for n in range(images):
        for o in range(first, last):
            for d in range((phase[0] - cut[0]) % step[0], depth, step[0]):
                row = (d + cut[0]) // step[0] * pitch[1] + high
                at = (o - first) * line + n * image + row * pitch[2] + wide
                to = ((n * channels + o) * depth + d) * height * width + left
                for h in range(top, height, step[1]):
                    if step[2] == 1:
                        tiles.copy(lines, at, target, to + h * width, width)
                    else:
                        tiles.stride(lines, at, 1, target, to + h * width, step[2], some)
                    at += pitch[2]


@njit(nogil=True)
def packed(w, taps, counts, rows, swapped):
    """Pack weights (groups, out, in, taps) for the tiles, each phase with its taps; `swapped` exchanges in and out."""
    groups, out, inner = w.shape[0], w.shape[2 if swapped else 1], w.shape[1 if swapped else 2]
    result = zeros((len(taps), groups, -(-out // rows), inner * taps.shape[1] * rows), real)
    for p in range(len(taps)):
        for g in range(groups):
            for o in range(out):
                block, k = result[p, g, o // rows], o % rows
                for c in range(inner):
                    for t in range(counts[p]):
                        block[k] = w[g, c, o, taps[p, t]] if swapped else w[g, o, c, taps[p, t]]
                        k += rows
    return result


@njit(nogil=True, forceinline=True)
def tile(line, at, offsets, w, bias, more, rows, lines, to, width):
    """Compute one tile of the result: a part of its sums."""
    if rows == 1:
        slide_one(line, at, offsets, offsets.size, w, bias, more, lines, to, width)
    elif rows == 4:
        slide_four(line, at, offsets, offsets.size, w, bias, more, lines, to, width)
    else:
        slide_rows(line, at, offsets, offsets.size, w, bias, more, lines, to, width)


@njit(nogil=True)
def slide(weights, bias, rows, offsets, depths, phases, block, length, lead, stride, pitch, step, cut, x, out):
    """For each phase of the result, sum the lines of x, shifted by the offsets, times weights."""
    groups = weights.shape[1]
    inner, outer, image = x.shape[1] // groups, out.shape[1] // groups, pitch[0] * pitch[1] * pitch[2]
    deep, high = (out.shape[2] - 1 + cut[0]) // step[0], (out.shape[3] - 1 + cut[1]) // step[1]
    plane, last = pitch[1] * pitch[2], high * pitch[2] + (out.shape[4] - 1 + cut[2]) // step[2] + 1
    wide = LANES * (6 if rows == 1 else 3)
    width, apart = -(-block * image // wide) * wide, -(-last // wide) * wide <= plane
    channel = length * stride[0] * stride[1] * stride[2]
    line, lines, nothing = empty(x.shape[1] * channel + wide, real), empty(rows * width, real), zeros(rows, real)
    for n in range(0, len(x), block):
        some = min(block, len(x) - n)
        piece, size = (plane, last) if apart else (some * image, (some - 1) * image + deep * plane + last)
        line[:] = 0
        place(x[n : n + some], line, length, lead, stride, pitch)
        for p in range(len(weights)):
            for g in range(groups):
                for b in range(weights.shape[2]):
                    at, start = g * inner * channel, bias[g, b * rows :]
                    for k in range(0, max(depths[p], 1), DEPTH):  # short sums keep rounding errors small, as NumPy does
                        shifts, w = offsets[p, k : min(k + DEPTH, depths[p])], weights[p, g, b, k * rows :]
                        for begin in range(0, some * image, piece):
                            if begin // plane % pitch[0] <= deep:
                                for i in range(begin, begin + size, wide):
                                    tile(line, at + i, shifts, w, start, k > 0, rows, lines, i, width)
                        start = nothing
                    first, end = g * outer + b * rows, g * outer + min((b + 1) * rows, outer)
                    take(lines, width, pitch, phases[p], step, cut, out[n : n + some], first, end)


@njit(nogil=True)
def correlate(offsets, block, length, lead, stride, pitch, dw, x, g):
    """Add up dw[group, out, k]: line `out` of g times the line of x at offset k. The offsets fill whole columns."""
    groups, inner, outer = len(dw), x.shape[1] // len(dw), g.shape[1] // len(dw)
    rows, columns = (1, 9) if outer == 1 else (4, COLUMNS)
    image, channel = pitch[0] * pitch[1] * pitch[2], length * stride[0] * stride[1] * stride[2]
    width = -(-block * image // LANES) * LANES
    line, lines = empty(x.shape[1] * channel + LANES, real), empty((g.shape[1] + rows) * width, real)
    for n in range(0, len(x), block):
        some = min(block, len(x) - n)
        line[:] = 0
        lines[:] = 0
        place(x[n : n + some], line, length, lead, stride, pitch)
        place(g[n : n + some], lines, width, (0, 0, 0), (1, 1, 1), pitch)
        plane, last = pitch[1] * pitch[2], -(-((g.shape[3] - 1) * pitch[2] + g.shape[4]) // LANES) * LANES
        piece, size = (plane, last) if 2 * last <= plane else (some * image, -(-some * image // LANES) * LANES)
        for begin in range(0, some * image, piece):
            for s in range(begin, begin + size if begin // plane % pitch[0] < g.shape[2] else begin, CHUNK):
                many = min(CHUNK, begin + size - s)
                for group in range(groups):
                    for o in range(0, outer, rows):
                        here, out = lines[(group * outer + o) * width + s :], dw[group, o : o + rows]
                        for k in range(0, offsets.size, columns):
                            xs, sums = line[group * inner * channel + s :], out.reshape(-1)[k:]
                            if rows == 1:
                                correlate_one(here, width, xs, offsets[k:], many, sums, offsets.size)
                            else:
                                correlate_four(here, width, xs, offsets[k:], many, sums, offsets.size)
'''


@cache
def module(dtype: np.dtype) -> Any:
    """Return the kernels for one dtype."""
    from . import conv_tiles

    many = conv_tiles.registers()[0] == 32
    text = SOURCE.format(
        real=dtype.name, lanes=conv_tiles.lanes(dtype.itemsize), rows=8 if many else 4, columns=6 if many else 2
    )
    return load(f"conv_{dtype.name}", text)


class ConvLayout(NamedTuple):
    """Layout of the lines: settings of `place`, and each element of a window as a distance, for lines of length 0."""

    lead: tuple
    stride: tuple
    pitch: tuple
    shifts: tuple  # per element of the kernel: the distance along the line, and the phase
    reach: int  # the longest distance

    def length(self, block: int) -> int:
        """Return the length of a line of `block` images, but no power of two: those collide in the cache."""
        n = -(-(block * math.prod(self.pitch) + self.reach) // 16) * 16
        return n + 16 * (n % 256 == 0)

    def offsets(self, channels: int, length: int, taps: tuple) -> np.ndarray:
        """Return the offsets of the elements `taps` of each channel's kernel."""
        phases, at = math.prod(self.stride), np.array(self.shifts, np.int64).reshape(-1, 2)[list(taps)]
        each = at[:, 0] + at[:, 1] * length
        return (np.arange(channels)[:, None] * (phases * length) + each).reshape(-1)

    def block(self, images: int, channels: int, limit: int) -> int:
        """Return the number of images to process at once, at most `limit` numbers."""
        return max(1, min(images, limit // (channels * math.prod(self.pitch) * math.prod(self.stride))))


def by_windows(size: tuple, number: tuple, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple) -> ConvLayout:
    """Return the layout of a convolution's input: phases, with the padding in front."""
    far = [d * (k - 1) // s for d, k, s in zip(dilation, kernel, stride)]
    pitch = tuple([max(m + p, w) if s == 1 else w + f for m, p, w, s, f in zip(size, padding, number, stride, far)])
    shifts = []
    for element in itertools.product(*map(range, kernel)):
        at = [e * d for e, d in zip(element, dilation)]
        phase = flat([a % s for a, s in zip(at, stride)], stride)
        shifts.append((flat([a // s for a, s in zip(at, stride)], pitch), phase))
    return ConvLayout(padding, stride, pitch, tuple(shifts), flat(far, pitch))


def by_phases(size: tuple, number: tuple, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple) -> tuple:
    """Return the layout of the output for the input gradient, and for each phase of the input its number and elements."""
    far = tuple([d * (k - 1) // s for d, k, s in zip(dilation, kernel, stride)])
    pitch = tuple([max(w + f, (m - 1 + p) // s + 1) for w, f, m, p, s in zip(number, far, size, padding, stride)])
    elements = list(itertools.product(*map(range, kernel)))
    shifts = [flat([f - e * d // s for f, e, d, s in zip(far, el, dilation, stride)], pitch) for el in elements]
    phases: dict[tuple, list] = {phase: [] for phase in itertools.product(*map(range, stride))}
    for i, element in enumerate(elements):
        phases[tuple([e * d % s for e, d, s in zip(element, dilation, stride)])].append(i)
    layout = ConvLayout(far, (1, 1, 1), pitch, tuple([(s, 0) for s in shifts]), flat(far, pitch))
    return layout, tuple([(phase, tuple(taps)) for phase, taps in phases.items()])


def flat(index: Any, shape: tuple) -> int:
    """Return the position of an index in row-major order."""
    total = 0
    for i, n in zip(index, shape):
        total = total * n + i
    return total


def three(t: tuple, fill: int = 1) -> tuple:
    """Return settings of one or two dimensions as settings of three."""
    return (fill,) * (3 - len(t)) + tuple(t)


def volume(x: np.ndarray) -> np.ndarray:
    """Return x as contiguous (images, channels, depth, height, width)."""
    return np.ascontiguousarray(x).reshape(*x.shape[:2], *three(x.shape[2:]))


def settings(size: tuple, number: tuple, kernel: tuple, geometry: Any) -> tuple:
    """Return all that a layout depends on, for three dimensions."""
    stride, padding, dilation, _ = geometry
    return three(size), three(number), three(kernel), three(stride), three(padding, 0), three(dilation)


def worth_a_kernel(x: np.ndarray, size: int, rank: int) -> bool:
    """Return True if a convolution of `size` multiplications is worth a kernel."""
    return size >= CONV_FROM and not only_definitions() and x.dtype.kind == "f" and rank < 6


class ConvPlan(NamedTuple):
    """Everything a kernel needs for a convolution of given shapes, prepared once."""

    kernels: Any
    rows: int  # of a tile
    taps: tuple  # elements of the kernel for each phase, and their number
    settings: tuple  # arguments of the kernel other than data
    padding: int  # offsets that only fill up a tile


@lru_cache(256)
def to_slide(x: tuple, w: tuple, number: tuple, geometry: Any, dtype: np.dtype, limit: int) -> ConvPlan:
    """Return the plan of a convolution, from the shapes of input and weight and the number of windows."""
    layout = by_windows(*settings(x[2:], number, w[2:], geometry))
    phases = (((0, 0, 0), tuple(range(math.prod(w[2:])))),)
    return slide_plan(layout, phases, x, w[0] // geometry.groups, w[1], ((1, 1, 1), (0, 0, 0)), dtype, limit)


@lru_cache(256)
def to_slide_back(y: tuple, w: tuple, size: tuple, geometry: Any, dtype: np.dtype, limit: int) -> ConvPlan:
    """Return the plan of the input gradient, from the shapes of result and weight, for an input of this size."""
    given = settings(size, y[2:], w[2:], geometry)
    layout, phases = by_phases(*given)
    return slide_plan(layout, phases, y, w[1], w[0] // geometry.groups, given[3:5], dtype, limit)


def slide_plan(
    layout: ConvLayout, phases: tuple, x: tuple, out: int, channels: int, step: tuple, dtype: np.dtype, limit: int
) -> ConvPlan:
    """Return a plan for the input channels and outputs of one group."""
    kernels, block = module(dtype), layout.block(x[0], x[1], limit)
    idle = lambda rows: -out % rows
    rows = 1 if out == 1 else min(kernels.ROWS, 4, key=idle)
    length = layout.length(block)
    counts = np.array([len(taps) for _, taps in phases], np.int64)
    elements = np.zeros((len(phases), max(counts)), np.int64)
    offsets = np.zeros((len(phases), max(counts) * channels), np.int64)
    for p, (_, taps) in enumerate(phases):
        elements[p, : len(taps)] = taps
        offsets[p, : len(taps) * channels] = layout.offsets(channels, length, taps)
    numbers = tuple([phase for phase, _ in phases])
    fixed = (rows, offsets, counts * channels, numbers, block, length, *layout[:3], *step)
    return ConvPlan(kernels, rows, (elements, counts), fixed, 0)


@lru_cache(256)
def to_correlate(x: tuple, y: tuple, kernel: tuple, geometry: Any, dtype: np.dtype, limit: int) -> ConvPlan:
    """Return the plan of the weight gradient, from the shapes of input, result and kernel."""
    layout, kernels = by_windows(*settings(x[2:], y[2:], kernel, geometry)), module(dtype)
    rows, columns = (1, 9) if y[1] == geometry.groups else (4, kernels.COLUMNS)
    block = layout.block(x[0], x[1], limit)
    length = layout.length(block)
    offsets = layout.offsets(x[1] // geometry.groups, length, tuple(range(math.prod(kernel))))
    padding = -offsets.size % columns
    offsets = np.concatenate([offsets, offsets[:1].repeat(padding)])
    return ConvPlan(kernels, rows, (), (offsets, block, length, *layout[:3]), padding)


def forward(x: np.ndarray, w: np.ndarray, bias: Any, number: tuple, geometry: Any) -> np.ndarray | None:
    """Return the convolution, with `number` windows in each dimension; `bias` has a number per channel, or is None."""
    if on_device(x):
        return cuda_kernels("conv_cuda").forward(x, w, bias, number, geometry)
    shape = (x.shape[0], *w.shape[:1], *number)
    if x.size and of_single_elements(w.shape, geometry):
        out = np.matmul(w.reshape(w.shape[:2]), x.reshape(*x.shape[:2], -1)).reshape(shape)
        return out if bias is None else np.add(out, bias.reshape(-1, *[1] * len(number)), out=out)
    size = math.prod(shape) * math.prod(w.shape[1:])
    if not worth_a_kernel(x, size, w.ndim) or FORWARD.favours_product(number, len(x), w.shape, geometry.groups):
        return None
    plan = to_slide(x.shape, w.shape, number, geometry, x.dtype, BLOCK)
    return run(plan, x, w, bias, geometry.groups, False, np.empty(shape, x.dtype), size)


def input_gradient(y: np.ndarray, w: np.ndarray, size: tuple, geometry: Any) -> np.ndarray | None:
    """Return the input gradient, of shape `size`; y is the gradient of the result."""
    if on_device(y):
        return cuda_kernels("conv_cuda").input_gradient(y, w, size, geometry)
    if y.size and of_single_elements(w.shape, geometry):
        return np.matmul(w.reshape(w.shape[:2]).T, y.reshape(*y.shape[:2], -1)).reshape(len(y), w.shape[1], *size)
    work = y.size * math.prod(w.shape[1:])
    if not worth_a_kernel(y, work + CALL * math.prod(w.shape[2:]), w.ndim):
        return None
    if BY_INPUT.favours_product(y.shape[2:], len(y), w.shape, geometry.groups):
        return None
    plan = to_slide_back(y.shape, w.shape, size, geometry, y.dtype, BLOCK)
    out = np.empty((y.shape[0], w.shape[1] * geometry.groups, *size), y.dtype)
    return run(plan, y, w, None, geometry.groups, True, out, work)


def run(plan: ConvPlan, x: Any, w: Any, bias: Any, groups: int, swapped: bool, out: Any, work: int) -> np.ndarray:
    """Return sums of shifted lines of x; `swapped` exchanges in and out of the weight."""
    kernels, rows = plan.kernels, plan.rows
    w = np.ascontiguousarray(w).reshape(groups, w.shape[0] // groups, w.shape[1], math.prod(w.shape[2:]))
    outer = w.shape[2 if swapped else 1]
    start = np.zeros((groups, -(-outer // rows) * rows), x.dtype)
    if bias is not None:
        start[:, :outer] = bias.reshape(groups, outer)
    packed = kernels.packed(w, *plan.taps, rows, swapped)
    launch(partial(kernels.slide, packed, start, *plan.settings), [volume(x), volume(out)], work // WORK)
    return out


def weight_gradient(y: np.ndarray, x: np.ndarray, kernel: tuple, geometry: Any) -> np.ndarray | None:
    """Return the weight gradient for kernels of that shape; y is the gradient of the result."""
    if on_device(y):
        return cuda_kernels("conv_cuda").weight_gradient(y, x, kernel, geometry)
    groups, shape = geometry.groups, (y.shape[1], x.shape[1] // geometry.groups, *kernel)
    if x.size and y.size and of_single_elements(shape, geometry) and len(x) * math.prod(shape) <= x.size + y.size:
        x, y = [a.reshape(*a.shape[:2], -1) for a in (x, y)]
        return np.add.reduce(np.matmul(y, x.swapaxes(1, 2))).reshape(shape)
    work = y.size * math.prod(shape[1:])
    if not worth_a_kernel(x, work, len(shape)) or BY_WEIGHT.favours_product(y.shape[2:], len(y), shape, groups):
        return None
    plan, outer = to_correlate(x.shape, y.shape, kernel, geometry, x.dtype, BLOCK), y.shape[1] // groups
    rows, width = -(-outer // plan.rows) * plan.rows, plan.settings[0].size

    def part(*some: np.ndarray) -> np.ndarray:
        sums = np.zeros((groups, rows, width), x.dtype)
        plan.kernels.correlate(*plan.settings, sums, *some)
        return sums

    first, *others = launch(part, [volume(x), volume(y)], work // WORK)
    dw = sum(others, first)[:, :outer, : width - plan.padding]
    return dw.reshape(shape) if np.isfinite(dw).all() else None
