"""Convolutions on the device and their two gradients: products with a matrix of windows that is never stored.

Element k of a window is at the same distance from the window's start in every window. So the address of element (k, n) in
the matrix of windows is the sum of two table entries, one for k and one for n, and the product (matmul_cuda.py) reads it
there (implicit GEMM; Chetlur et al., "cuDNN: efficient primitives for deep learning", 2014). Padded images are copied first.
ops/nn/conv.py has the definitions.
"""

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from operator import mul
from typing import Any

import numpy as np

from ...arrays.kinds import contiguous
from ...arrays.meta import inside
from .device_array import DeviceArray, empty, full, to_device
from .matmul_cuda import Operand, run


def forward(x: DeviceArray, w: DeviceArray, bias: Any, number: tuple, geometry: Any) -> DeviceArray:
    """Return the convolution, with `number` windows in each dimension; `bias` has a number per channel, or is None."""
    out = empty((x.shape[0], w.shape[0], *number), x.dtype)
    if out.size:
        weight, seen, product, sizes = operands(w, x, out, geometry)
        run(weight, seen, product, (1, geometry.groups), *sizes)
    if bias is not None:
        out += bias.reshape(-1, *[1] * len(number))
    return out


def weight_gradient(y: DeviceArray, x: DeviceArray, kernel: tuple, geometry: Any) -> DeviceArray:
    """Return the weight gradient for kernels of that shape; y is the gradient of the result."""
    out = empty((y.shape[1], x.shape[1] // geometry.groups, *kernel), y.dtype)
    if not y.size:
        out.fill(0)
    elif out.size:
        weight, seen, given, (channels, windows, elements) = operands(out, x, y, geometry)
        run(given, seen.T, weight, (1, geometry.groups), channels, elements, windows)
    return out


def operands(w: DeviceArray, x: DeviceArray, y: DeviceArray, geometry: Any) -> tuple:
    """Return the weight, the input's windows and the result as matrices, and the sizes of their product."""
    (channels, *kernel), number, groups = w.shape[1:], y.shape[2:], geometry.groups
    rows, taps, windows = w.shape[0] // groups, math.prod(kernel), math.prod(number)
    line = surrounded(x, geometry.padding, geometry.padding)
    elements, begins = windows_of(line, channels, kernel, number, geometry)
    weight = Operand(flat(w), 0, w.size // groups, channels * taps, 1, True)
    seen = Operand(flat(line), 0, steps(line)[1] * channels, elements, begins, True)
    images = table((range(len(y)), range(windows)), (windows * y.shape[1], 1))  # addresses of a channel's elements
    result = Operand(flat(y), 0, rows * windows, windows, images, True)
    return weight, seen, result, (rows, len(x) * windows, channels * taps)


def input_gradient(y: DeviceArray, w: DeviceArray, size: tuple, geometry: Any) -> DeviceArray:
    """Return the input gradient for an input of that size; y is the gradient of the result.

    With stride s, only every s-th element of the kernel meets a given place of the input. The places that meet the same
    elements form a phase, which is a separate convolution.
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
    """Return one dimension of phase r: its places, the kernel's elements that meet them, the first window of each place (with
    `before` more windows in front), and for each element the offset from that window."""
    places = range((r - padding) % stride, size, stride)
    taps = tuple([k for k in range(kernel) if k * dilation % stride == r])
    begin = before + (places.start + padding) // stride
    return places, taps, range(begin, begin + len(places)), tuple([-(k * dilation // stride) for k in taps])


def by_phase(line: DeviceArray, w: DeviceArray, out: DeviceArray, groups: int, parts: list) -> None:
    """Compute the gradient at the places of one phase."""
    places, taps, begins, shifts = zip(*parts)
    channels, inner = w.shape[1], w.shape[0] // groups
    of_w, of_line, of_out = steps(w), steps(line), steps(out)
    chosen = table((range(inner), *taps), (of_w[0], *of_w[2:]))
    elements = table((range(inner), *shifts), of_line[1:])
    first = table((range(len(line)), *begins), (of_line[0], *of_line[2:]))
    target = table((range(len(out)), *places), (of_out[0], *of_out[2:]))
    weight = Operand(flat(w), 0, inner * of_w[0], of_w[1], chosen, False)
    seen = Operand(flat(line), 0, inner * of_line[1], elements, first, True)
    product = Operand(flat(out), 0, channels * of_out[1], of_out[1], target, True)
    run(weight, seen, product, (1, groups), channels, first.size, chosen.size)


# ---------------------------------------------------------------------- addresses
def windows_of(line: DeviceArray, channels: int, kernel: Sequence, number: Sequence, geometry: Any) -> tuple:
    """Return the offsets of a window's elements, and the starts of the windows."""
    image, channel, *inner = steps(line)
    elements = table((range(channels), *map(range, kernel)), (channel, *map(mul, inner, geometry.dilation)))
    begins = table((range(len(line)), *map(range, number)), (image, *map(mul, inner, geometry.stride)))
    return elements, begins


def table(indices: tuple, steps: tuple) -> DeviceArray:
    """Return the offsets for all combinations of one index per dimension, with the last dimension fastest.

    It is kept for further convolutions of the same shape; one of meta arrays has no numbers, and is not.
    """
    return (offsets if inside.active else kept_offsets)(indices, steps)


def offsets(indices: tuple, steps: tuple) -> DeviceArray:
    """Return a new table."""
    total = np.zeros(1, np.int64)
    for some, step in zip(indices, steps):
        total = np.add.outer(total, np.array(some, np.int64) * step).reshape(-1)
    small = abs(total).max(initial=0) < 1 << 31  # the kernel reads tables as often as it reads images
    return to_device(total.astype(np.int32) if small else total)


kept_offsets = lru_cache(64)(offsets)


def steps(a: DeviceArray) -> tuple:
    """Return the distance between neighbours along each dimension of an array in C order."""
    return tuple([math.prod(a.shape[d + 1 :]) for d in range(a.ndim)])


def flat(a: DeviceArray) -> DeviceArray:
    """Return the elements next to each other, in C order; `reshape` alone may leave steps between them, even of 0 bytes."""
    return contiguous(a).reshape(-1)


def surrounded(x: DeviceArray, before: Any, after: Any) -> DeviceArray:
    """Return x with zeros around its last dimensions, in C order."""
    if not any(before) and not any(after):
        return contiguous(x)
    out = full((*x.shape[:2], *[n + b + a for n, b, a in zip(x.shape[2:], before, after)]), 0, x.dtype)
    out[(..., *[slice(b, b + n) for b, n in zip(before, x.shape[2:])])] = x
    return out
