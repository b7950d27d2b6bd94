"""Softmax, its logarithm, logsumexp and cross-entropy on the device, each in one pass over memory and one over the cache.

The sum of exponentials is taken along with the maximum: what is there is scaled when a larger element comes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .array import DeviceArray, empty
from .rows import each, kept, launch, load, middle

SOURCE = '''

@cuda.jit(device=True)
def largest(value, lanes):
    """The largest over the team, which each of its threads gets."""
    distance = min(lanes, 32) // 2
    while distance:
        value = max(value, cuda.shfl_xor_sync(ALL, value, distance))
        distance //= 2
    if lanes > 32:
        each = cuda.shared.array(32, real)
        cuda.syncthreads()
        each[cuda.threadIdx.x // 32] = value
        cuda.syncthreads()
        for w in range(lanes // 32):
            value = max(value, each[w])
    return value


@cuda.jit(device=True)
def exponentials(x_, lanes):
    """The largest of a row, 0 if it is infinite, and the sum of exp(x - largest), in one pass.

    The sum so far is scaled when a larger element comes.  Four elements are read before the first is used: the memory has
    something to do while a thread waits.
    """
    o, j, lane, n = place(x_, lanes)
    some = cuda.local.array(4, real)
    top, total = real(-inf), float64(0)
    for first in range(lane, n, 4 * lanes):
        larger = top
        for k in range(4):
            i = first + k * lanes
            some[k] = x_[o, i, j] if i < n else real(-inf)
            larger = some[k] if some[k] > larger else larger
        shift = real(0) if isinf(larger) else larger
        total *= exp(top - shift)
        for k in range(4):
            total += exp(some[k] - shift)
        top = larger
    best = largest(top, lanes)
    shift = real(0) if isinf(best) else best
    return shift, sum_of(total * exp(top - shift), lanes)


@cuda.jit
def softmax(x_, out_, lanes):
    """exp(x) / sum(exp(x)); all NaN where one of a row is infinite."""
    o, j, lane, n = place(x_, lanes)
    top, total = exponentials(x_, lanes)
    factor = real(nan) if isinf(total) else real(1 / total)
    for i in range(lane, n, lanes):
        out_[o, i, j] = exp(x_[o, i, j] - top) * factor


@cuda.jit
def log_softmax(x_, out_, lanes):
    """x - log(sum(exp(x)))."""
    o, j, lane, n = place(x_, lanes)
    top, total = exponentials(x_, lanes)
    lost = real(nan) if isinf(total) else real(log(total))
    for i in range(lane, n, lanes):
        out_[o, i, j] = x_[o, i, j] - top - lost


@cuda.jit
def logsumexp(x_, out_, lanes):
    """log(sum(exp(x)))."""
    o, j, lane, n = place(x_, lanes)
    top, total = exponentials(x_, lanes)
    if lane == 0 and o < x_.shape[0]:
        out_[o, 0, j] = real(log(total) + top)


@cuda.jit
def softmax_backward(g_, out_, dx_, lanes):
    """(g - sum(g * out)) * out."""
    o, j, lane, n = place(dx_, lanes)
    total = float64(0)
    for i in range(lane, n, lanes):
        total += g_[o, i, j] * out_[o, i, j]
    total = real(sum_of(total, lanes))
    for i in range(lane, n, lanes):
        dx_[o, i, j] = (g_[o, i, j] - total) * out_[o, i, j]


@cuda.jit
def log_softmax_backward(g_, out_, dx_, lanes):
    """g - exp(out) * sum(g)."""
    o, j, lane, n = place(dx_, lanes)
    total = float64(0)
    for i in range(lane, n, lanes):
        total += g_[o, i, j]
    total = real(sum_of(total, lanes))
    for i in range(lane, n, lanes):
        dx_[o, i, j] = g_[o, i, j] - exp(out_[o, i, j]) * total


@cuda.jit
def cross_entropy(x_, target_, loss_, out_, ignore, lanes):
    """log_softmax, and less that at the target; NaN stands for a class that there is not: the caller looks."""
    o, j, lane, n = place(x_, lanes)
    top, total = exponentials(x_, lanes)
    lost = real(log(total))
    for i in range(lane, n, lanes):
        out_[o, i, j] = x_[o, i, j] - top - lost
    if lane == 0 and o < x_.shape[0]:
        target, loss = target_[o, 0, j], real(nan)
        if target == ignore:
            loss = real(0)
        elif 0 <= target < n:
            loss = -(x_[o, target, j] - top - lost)
        loss_[o, 0, j] = loss


@cuda.jit
def cross_entropy_backward(g_, target_, log_, dx_, ignore, lanes):
    """(softmax - one_hot(target)) * g."""
    o, j, lane, n = place(dx_, lanes)
    if o < dx_.shape[0]:
        target = target_[o, 0, j]
        g = g_[o, 0, j] if target != ignore else real(0)
        for i in range(lane, n, lanes):
            dx = exp(log_[o, i, j]) * g
            dx_[o, i, j] = dx - g if i == target else dx


@cuda.jit
def nll(x_, target_, loss_, ignore, lanes):
    """-x at the target, NaN where there is no such class."""
    o, j, lane, n = place(x_, lanes)
    if lane == 0 and o < x_.shape[0]:
        target, loss = target_[o, 0, j], real(nan)
        if target == ignore:
            loss = real(0)
        elif 0 <= target < n:
            loss = -x_[o, target, j]
        loss_[o, 0, j] = loss


@cuda.jit
def at_target(x_, target_, out_, ignore, lanes):
    """Zeros with x at the target."""
    o, j, lane, n = place(out_, lanes)
    for i in range(lane, n, lanes):
        target = target_[o, 0, j]
        out_[o, i, j] = x_[o, 0, j] if i == target and target != ignore else real(0)
'''


@cache
def module(dtype: np.dtype) -> Any:
    """The kernels for one dtype."""
    return load("softmax", SOURCE, dtype)


def softmax(x: DeviceArray, dims: tuple, log: bool = False) -> DeviceArray | None:
    """Softmax, or its logarithm."""
    if (t := middle(x, dims)) is None:
        return None
    out, kernels = empty(x.shape, x.dtype), module(x.dtype)
    launch(kernels.log_softmax if log else kernels.softmax, t, t, out.reshape(t.shape))
    return out


def softmax_backward(g: DeviceArray, out: DeviceArray, dims: tuple, log: bool = False) -> DeviceArray | None:
    """The gradient of either by x."""
    if (t := middle(out, dims)) is None:
        return None
    dx, kernels = empty(out.shape, out.dtype), module(out.dtype)
    kernel = kernels.log_softmax_backward if log else kernels.softmax_backward
    launch(kernel, t, g.reshape(t.shape), t, dx.reshape(t.shape))
    return dx


def logsumexp(x: DeviceArray, dims: tuple, keepdim: bool) -> DeviceArray | None:
    """log(sum(exp(x)))."""
    if (t := middle(x, dims)) is None:
        return None
    out = kept(x, dims)
    launch(module(x.dtype).logsumexp, t, t, each(out, t))
    return out if keepdim else out.squeeze(dims)


def cross_entropy(x: DeviceArray, target: DeviceArray, dim: int, ignore: int) -> tuple | None:
    """The loss at each class, NaN where there is no such class, and the log_softmax."""
    if (t := middle(x, (dim,))) is None:
        return None
    loss, log_p = empty(target.shape, x.dtype), empty(x.shape, x.dtype)
    kernel = module(x.dtype).cross_entropy
    launch(kernel, t, t, each(target, t), each(loss, t), log_p.reshape(t.shape), ignore)
    return loss, log_p


def cross_entropy_backward(g: DeviceArray, target: DeviceArray, log_p: DeviceArray, dim: int, ignore: int) -> Any:
    """The gradient of the loss by x."""
    if (t := middle(log_p, (dim,))) is None:
        return None
    dx, kernel = empty(log_p.shape, log_p.dtype), module(log_p.dtype).cross_entropy_backward
    launch(kernel, t, each(g, t), each(target, t), t, dx.reshape(t.shape), ignore)
    return dx


def nll(x: DeviceArray, target: DeviceArray, dim: int, ignore: int) -> DeviceArray:
    """-x at each class, NaN where there is no such class."""
    t, loss = middle(x, (dim,)), empty(target.shape, x.dtype)
    launch(module(x.dtype).nll, t, t, each(target, t), each(loss, t), ignore)
    return loss


def at_target(x: DeviceArray, target: DeviceArray, size: tuple, dim: int, ignore: int) -> DeviceArray:
    """Zeros of a shape with x at each class."""
    out = empty(size, x.dtype)
    t = middle(out, (dim,))
    launch(module(x.dtype).at_target, t, each(x, t), each(target, t), t, ignore)
    return out
