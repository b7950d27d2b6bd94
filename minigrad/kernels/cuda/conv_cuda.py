"""Convolutions on the device, and their two gradients: products whose second matrix, that of the windows, is nowhere in memory.

Element k of a window lies as far from its beginning in every window of an image.  So where the element (k, n) of the matrix of
windows lies is the sum of two tables, one of k and one of n, and the product (matmul_cuda.py) reads it there (implicit GEMM;
Chetlur et al., "cuDNN: efficient primitives for deep learning", 2014).  Zeros around an image are copied around it first.
ops/nn/conv.py has the definitions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from operator import mul
from typing import Any

import numpy as np

from .device_array import DeviceArray, empty, full, to_device
from .matmul_cuda import Operand, run


def forward(x: DeviceArray, w: DeviceArray, bias: Any, number: tuple, geometry: Any) -> DeviceArray:
    """The convolution, of so many windows in each direction; `bias` is a number per channel, or None."""
    out = empty((x.shape[0], w.shape[0], *number), x.dtype)
    if out.size:
        weight, seen, product, sizes = operands(w, x, out, geometry)
        run(weight, seen, product, (1, geometry.groups), *sizes)
    if bias is not None:
        out += bias.reshape(-1, *[1] * len(number))
    return out


def by_weight(y: DeviceArray, x: DeviceArray, kernel: tuple, geometry: Any) -> DeviceArray:
    """The gradient by the weight, with kernels of that shape; y is that of the result."""
    out = empty((y.shape[1], x.shape[1] // geometry.groups, *kernel), y.dtype)
    if not y.size:
        out.fill(0)
    elif out.size:
        weight, seen, given, (channels, windows, elements) = operands(out, x, y, geometry)
        run(given, seen.T, weight, (1, geometry.groups), channels, elements, windows)
    return out


def operands(w: DeviceArray, x: DeviceArray, y: DeviceArray, geometry: Any) -> tuple:
    """The weight, the windows of the input and the result of a convolution as matrices, and the sizes of their product."""
    (channels, *kernel), number, groups = w.shape[1:], y.shape[2:], geometry.groups
    rows, taps, windows = w.shape[0] // groups, math.prod(kernel), math.prod(number)
    line = surrounded(x, geometry.padding, geometry.padding)
    elements, begins = windows_of(line, channels, kernel, number, geometry)
    weight = Operand(w.reshape(-1), 0, w.size // groups, channels * taps, 1, True)
    seen = Operand(line.reshape(-1), 0, steps(line)[1] * channels, elements, begins, True)
    images = table((range(len(y)), range(windows)), (windows * y.shape[1], 1))  # where the elements of a channel lie
    result = Operand(y.reshape(-1), 0, rows * windows, windows, images, True)
    return weight, seen, result, (rows, len(x) * windows, channels * taps)


def by_input(y: DeviceArray, w: DeviceArray, size: tuple, geometry: Any) -> DeviceArray:
    """The gradient by an input of that size; y is that of the result.

    With stride s a place of the input is met by every s-th element of the kernel only: places that are met by the same ones
    are a phase, which is a convolution of its own.
    """
    stride, padding, dilation, groups = geometry
    kernel, number = w.shape[2:], y.shape[2:]
    out = empty((len(y), w.shape[1] * groups, *size), y.dtype)
    before = [(k - 1) * d // s for k, d, s in zip(kernel, dilation, stride)]
    after = [max(0, (m - 1 + p) // s - (n - 1)) for m, p, s, n in zip(size, padding, stride, number)]
    line = surrounded(y, before, after)
    met = all([s <= k for s, k in zip(stride, kernel)]) and set(dilation) == {1}
    if not (met and y.size):
        out.fill(0)
    if not (out.size and y.size):
        return out
    for phase in itertools.product(*map(range, stride)):
        parts = [in_phase(*given) for given in zip(phase, size, kernel, stride, padding, dilation, before)]
        if all([places and taps for places, taps, _, _ in parts]):
            by_phase(line, w, out, groups, parts)
    return out


def in_phase(r: int, size: int, kernel: int, stride: int, padding: int, dilation: int, before: int) -> tuple:
    """Along one dimension: the places of phase r, the elements of the kernel that meet them, and, in windows with `before` more
    in front, where each place's first one lies and how far before it that of each element."""
    places = range((r - padding) % stride, size, stride)
    taps = tuple([k for k in range(kernel) if k * dilation % stride == r])
    begin = before + (places.start + padding) // stride
    return places, taps, range(begin, begin + len(places)), tuple([-(k * dilation // stride) for k in taps])


def by_phase(line: DeviceArray, w: DeviceArray, out: DeviceArray, groups: int, parts: list) -> None:
    """The gradient at the places of one phase."""
    places, taps, begins, shifts = zip(*parts)
    channels, inner = w.shape[1], w.shape[0] // groups
    of_w, of_line, of_out = steps(w), steps(line), steps(out)
    chosen = table((range(inner), *taps), (of_w[0], *of_w[2:]))
    elements = table((range(inner), *shifts), of_line[1:])
    first = table((range(len(line)), *begins), (of_line[0], *of_line[2:]))
    target = table((range(len(out)), *places), (of_out[0], *of_out[2:]))
    weight = Operand(w.reshape(-1), 0, inner * of_w[0], of_w[1], chosen, False)
    seen = Operand(line.reshape(-1), 0, inner * of_line[1], elements, first, True)
    product = Operand(out.reshape(-1), 0, channels * of_out[1], of_out[1], target, True)
    run(weight, seen, product, (1, groups), channels, first.size, chosen.size)


# ---------------------------------------------------------------------- where things lie
def windows_of(line: DeviceArray, channels: int, kernel: Sequence, number: Sequence, geometry: Any) -> tuple:
    """Where the elements of a window lie, and where the windows begin."""
    image, channel, *inner = steps(line)
    elements = table((range(channels), *map(range, kernel)), (channel, *map(mul, inner, geometry.dilation)))
    begins = table((range(len(line)), *map(range, number)), (image, *map(mul, inner, geometry.stride)))
    return elements, begins


@lru_cache(64)
def table(indices: tuple, steps: tuple) -> DeviceArray:
    """Where elements lie, by all choices of one of the indices of each dimension, those of the last running fastest.

    It is made once for convolutions of one shape.
    """
    total = np.zeros(1, np.int64)
    for some, step in zip(indices, steps):
        total = np.add.outer(total, np.array(some, np.int64) * step).reshape(-1)
    return to_device(total)


def steps(a: DeviceArray) -> tuple:
    """The distance of neighbours along each dimension of an array in C order."""
    return tuple([math.prod(a.shape[d + 1 :]) for d in range(a.ndim)])


def surrounded(x: DeviceArray, before: Any, after: Any) -> DeviceArray:
    """x with zeros around its last dimensions, in C order."""
    if not any(before) and not any(after):
        return x if x.flags.c_contiguous else x.copy("C")
    out = full((*x.shape[:2], *[n + b + a for n, b, a in zip(x.shape[2:], before, after)]), 0, x.dtype)
    out[(..., *[slice(b, b + n) for b, n in zip(before, x.shape[2:])])] = x
    return out
