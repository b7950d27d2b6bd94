"""Softmax, its logarithm, logsumexp and cross-entropy on the device, each in one pass over memory.

The sum of exponentials is taken along with the maximum: what is there is scaled when a larger element comes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .device_array import DeviceArray, empty
from .rows_cuda import each, kept, launch, middle, seen

SOURCE = '''

@cuda.jit(device=True)
def largest(value):
    """The largest over the team, which each of its threads gets."""
    distance = min(LANES, 32) // 2
    while distance:
        value = max(value, cuda.shfl_xor_sync(ALL, value, distance))
        distance //= 2
    if LANES > 32:
        each = cuda.shared.array(32, real)
        cuda.syncthreads()
        each[cuda.threadIdx.x // 32] = value
        cuda.syncthreads()
        for w in range(LANES // 32):
            value = max(value, each[w])
    return value


@cuda.jit(device=True)
def exponentials(x_, row):
    """The largest of a row, 0 if it is infinite, and the sum of exp(x - largest), in one pass.

    The sum so far is scaled when a larger element comes.  What is not LONG is in `row` then.
    """
    o, j, first, n = place(x_)
    top, total = real(-inf), float64(0)
    while first < n:
        hold(x_, o, first, j, n, real(-inf), row)
        larger = top
        for k in range(HELD):
            larger = max(larger, row[k])
        shift = real(0) if isinf(larger) else larger
        total *= exp(top - shift)
        for k in range(HELD):
            total += exp(row[k] - shift)
        top = larger
        first += HELD * LANES
    best = largest(top)
    shift = real(0) if isinf(best) else best
    return shift, sum_of(total * exp(top - shift))


@cuda.jit
def softmax(x_, out_):
    """exp(x) / sum(exp(x)); all NaN where one of a row is infinite."""
    o, j, first, n = place(x_)
    row = cuda.local.array(HELD, real)
    top, total = exponentials(x_, row)
    factor = real(nan) if isinf(total) else real(1 / total)
    while first < n:
        if LONG:
            hold(x_, o, first, j, n, real(-inf), row)
        for k in range(HELD):
            row[k] = exp(row[k] - top) * factor
        put(out_, o, first, j, n, row)
        first += HELD * LANES


@cuda.jit(device=True)
def put_logarithms(x_, out_, top, lost, row):
    """Write x - top - lost."""
    o, j, first, n = place(x_)
    while first < n:
        if LONG:
            hold(x_, o, first, j, n, real(-inf), row)
        for k in range(HELD):
            row[k] = row[k] - top - lost
        put(out_, o, first, j, n, row)
        first += HELD * LANES


@cuda.jit
def log_softmax(x_, out_):
    """x - log(sum(exp(x)))."""
    row = cuda.local.array(HELD, real)
    top, total = exponentials(x_, row)
    put_logarithms(x_, out_, top, real(nan) if isinf(total) else real(log(total)), row)


@cuda.jit
def logsumexp(x_, out_):
    """log(sum(exp(x)))."""
    o, j, lane, n = place(x_)
    row = cuda.local.array(HELD, real)
    top, total = exponentials(x_, row)
    if lane == 0 and o < x_.shape[0]:
        out_[o, j, 0] = real(log(total) + top)


@cuda.jit
def softmax_backward(g_, out_, dx_):
    """(g - sum(g * out)) * out."""
    o, j, lane, n = place(dx_)
    g, out = cuda.local.array(HELD, real), cuda.local.array(HELD, real)
    first, total = lane, float64(0)
    while first < n:
        hold(g_, o, first, j, n, real(0), g)
        hold(out_, o, first, j, n, real(0), out)
        for k in range(HELD):
            total += g[k] * out[k]
        first += HELD * LANES
    first, along = lane, real(sum_of(total))
    while first < n:
        if LONG:
            hold(g_, o, first, j, n, real(0), g)
            hold(out_, o, first, j, n, real(0), out)
        for k in range(HELD):
            g[k] = (g[k] - along) * out[k]
        put(dx_, o, first, j, n, g)
        first += HELD * LANES


@cuda.jit
def log_softmax_backward(g_, out_, dx_):
    """g - exp(out) * sum(g)."""
    o, j, lane, n = place(dx_)
    g, out = cuda.local.array(HELD, real), cuda.local.array(HELD, real)
    first, total = lane, float64(0)
    while first < n:
        hold(g_, o, first, j, n, real(0), g)
        if not LONG:
            hold(out_, o, first, j, n, real(0), out)
        for k in range(HELD):
            total += g[k]
        first += HELD * LANES
    first, level = lane, real(sum_of(total))
    while first < n:
        if LONG:
            hold(g_, o, first, j, n, real(0), g)
            hold(out_, o, first, j, n, real(0), out)
        for k in range(HELD):
            g[k] -= exp(out[k]) * level
        put(dx_, o, first, j, n, g)
        first += HELD * LANES


@cuda.jit
def cross_entropy(x_, target_, loss_, out_, ignore):
    """log_softmax, and less that at the target; NaN stands for a class that there is not: the caller looks."""
    o, j, lane, n = place(x_)
    row = cuda.local.array(HELD, real)
    top, total = exponentials(x_, row)
    lost = real(log(total))
    put_logarithms(x_, out_, top, lost, row)
    if lane == 0 and o < x_.shape[0]:
        target, loss = target_[o, j, 0], real(nan)
        if target == ignore:
            loss = real(0)
        elif 0 <= target < n:
            loss = -(x_[o, j, target] - top - lost)
        loss_[o, j, 0] = loss


@cuda.jit
def cross_entropy_backward(g_, target_, log_, dx_, ignore):
    """(softmax - one_hot(target)) * g."""
    o, j, first, n = place(dx_)
    row = cuda.local.array(HELD, real)
    target = target_[o, j, 0] if n else ignore
    g = g_[o, j, 0] if target != ignore else real(0)
    while first < n:
        hold(log_, o, first, j, n, real(0), row)
        for k in range(HELD):
            dx = exp(row[k]) * g
            row[k] = dx - g if first + k * LANES == target else dx
        put(dx_, o, first, j, n, row)
        first += HELD * LANES


@cuda.jit
def nll(x_, target_, loss_, ignore):
    """-x at the target, NaN where there is no such class."""
    o, j, lane, n = place(x_)
    if lane == 0 and o < x_.shape[0]:
        target, loss = target_[o, j, 0], real(nan)
        if target == ignore:
            loss = real(0)
        elif 0 <= target < n:
            loss = -x_[o, j, target]
        loss_[o, j, 0] = loss


@cuda.jit
def at_target(x_, target_, out_, ignore):
    """Zeros with x at the target."""
    o, j, lane, n = place(out_)
    for i in range(lane, n, LANES):
        target = target_[o, j, 0]
        out_[o, j, i] = x_[o, j, 0] if i == target and target != ignore else real(0)
'''


run = partial(launch, "softmax", SOURCE)


def softmax(x: DeviceArray, dims: tuple, log: bool = False) -> DeviceArray | None:
    """Softmax, or its logarithm."""
    if (t := middle(x, dims)) is None:
        return None
    out = empty(x.shape, x.dtype)
    run("log_softmax" if log else "softmax", t, t, seen(out, t))
    return out


def softmax_backward(g: DeviceArray, out: DeviceArray, dims: tuple, log: bool = False) -> DeviceArray | None:
    """The gradient of either by x."""
    if (t := middle(out, dims)) is None:
        return None
    dx = empty(out.shape, out.dtype)
    run("log_softmax_backward" if log else "softmax_backward", t, seen(g, t), t, seen(dx, t))
    return dx


def logsumexp(x: DeviceArray, dims: tuple, keepdim: bool) -> DeviceArray | None:
    """log(sum(exp(x)))."""
    if (t := middle(x, dims)) is None:
        return None
    out = kept(x, dims)
    run("logsumexp", t, t, each(out, t))
    return out if keepdim else out.squeeze(dims)


def cross_entropy(x: DeviceArray, target: DeviceArray, dim: int, ignore: int) -> tuple | None:
    """The loss at each class, NaN where there is no such class, and the log_softmax."""
    if (t := middle(x, (dim,))) is None:
        return None
    loss, log_p = empty(target.shape, x.dtype), empty(x.shape, x.dtype)
    run("cross_entropy", t, t, each(target, t), each(loss, t), seen(log_p, t), ignore)
    return loss, log_p


def cross_entropy_backward(g: DeviceArray, target: DeviceArray, log_p: DeviceArray, dim: int, ignore: int) -> Any:
    """The gradient of the loss by x."""
    if (t := middle(log_p, (dim,))) is None:
        return None
    dx = empty(log_p.shape, log_p.dtype)
    run("cross_entropy_backward", t, each(g, t), each(target, t), t, seen(dx, t), ignore)
    return dx


def nll(x: DeviceArray, target: DeviceArray, dim: int, ignore: int) -> DeviceArray:
    """-x at each class, NaN where there is no such class."""
    t, loss = middle(x, (dim,)), empty(target.shape, x.dtype)
    run("nll", t, t, each(target, t), each(loss, t), ignore)
    return loss


def at_target(x: DeviceArray, target: DeviceArray, size: tuple, dim: int, ignore: int) -> DeviceArray:
    """Zeros of a shape with x at each class."""
    out = empty(size, x.dtype)
    t = middle(out, (dim,))
    run("at_target", t, each(x, t), each(target, t), t, ignore)
    return out
