"""Softmax, its logarithm, logsumexp and cross-entropy on the device, each in one pass over memory.

The sum of exponentials is taken along with the maximum: what is there is scaled when a larger element comes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .device_array import DeviceArray, empty
from .rows_cuda import along_row, each, kept, launch, middle, seen

SOURCE = f'''

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
def exponentials(x_, x):
    """The largest of a row, 0 if it is infinite, and the sum of exp(x - largest), in one pass.

    The sum so far is scaled when a larger element comes.  What is not LONG is in `x` then.
    """
    o, j, first, n = place(x_)
    top, total = real(-inf), float64(0)
    while first < n:
        hold(x_, o, first, j, n, real(-inf), x)
        larger = top
        for k in range(HELD):
            larger = max(larger, x[k])
        shift = real(0) if isinf(larger) else larger
        total *= exp(top - shift)
        for k in range(HELD):
            total += exp(x[k] - shift)
        top = larger
        first += HELD * LANES
    best = largest(top)
    shift = real(0) if isinf(best) else best
    return shift, sum_of(total * exp(top - shift))


@cuda.jit
def softmax(x_, out_):
    """exp(x) / sum(exp(x)); all NaN where one of a row is infinite."""
    o, j, first, n = place(x_)
    x = cuda.local.array(HELD, real)
    top, total = exponentials(x_, x)
    factor = real(nan) if isinf(total) else real(1 / total)
    {along_row("x[k] = exp(x[k] - top) * factor", "x if LONG", put="x to out", beyond="real(-inf)")}


@cuda.jit(device=True)
def put_logarithms(x_, out_, top, lost, x):
    """Write x - top - lost."""
    o, j, first, n = place(x_)
    {along_row("x[k] = x[k] - top - lost", "x if LONG", put="x to out", beyond="real(-inf)")}


@cuda.jit
def log_softmax(x_, out_):
    """x - log(sum(exp(x)))."""
    x = cuda.local.array(HELD, real)
    top, total = exponentials(x_, x)
    put_logarithms(x_, out_, top, real(nan) if isinf(total) else real(log(total)), x)


@cuda.jit
def logsumexp(x_, out_):
    """log(sum(exp(x)))."""
    o, j, lane, n = place(x_)
    x = cuda.local.array(HELD, real)
    top, total = exponentials(x_, x)
    if lane == 0 and o < x_.shape[0]:
        out_[o, j, 0] = real(log(total) + top)


@cuda.jit
def softmax_backward(g_, out_, dx_):
    """(g - sum(g * out)) * out."""
    o, j, lane, n = place(dx_)
    g, out = cuda.local.array(HELD, real), cuda.local.array(HELD, real)
    first, total = lane, float64(0)
    {along_row("total += g[k] * out[k]", "g", "out")}
    first, along = lane, real(sum_of(total))
    {along_row("g[k] = (g[k] - along) * out[k]", "g if LONG", "out if LONG", put="g to dx")}


@cuda.jit
def log_softmax_backward(g_, out_, dx_):
    """g - exp(out) * sum(g)."""
    o, j, lane, n = place(dx_)
    g, out = cuda.local.array(HELD, real), cuda.local.array(HELD, real)
    first, total = lane, float64(0)
    {along_row("total += g[k]", "g", "out if not LONG")}
    first, level = lane, real(sum_of(total))
    {along_row("g[k] -= exp(out[k]) * level", "g if LONG", "out if LONG", put="g to dx")}


@cuda.jit(device=True)
def put_loss(x_, target_, loss_, top, lost, ignore):
    """Write top + lost - x at the target, 0 if that is to be ignored, NaN for a class that there is not: the caller looks."""
    o, j, lane, n = place(x_)
    if lane == 0 and o < x_.shape[0]:
        target, loss = target_[o, j, 0], real(nan)
        if target == ignore:
            loss = real(0)
        elif 0 <= target < n:
            loss = -(x_[o, j, target] - top - lost)
        loss_[o, j, 0] = loss


@cuda.jit
def cross_entropy(x_, target_, loss_, out_, ignore):
    """log_softmax, and less that at the target."""
    x = cuda.local.array(HELD, real)
    top, total = exponentials(x_, x)
    lost = real(nan) if isinf(total) else real(log(total))
    put_logarithms(x_, out_, top, lost, x)
    put_loss(x_, target_, loss_, top, lost, ignore)


@cuda.jit
def cross_entropy_backward(g_, target_, log_p_, dx_, ignore):
    """(softmax - one_hot(target)) * g."""
    o, j, first, n = place(dx_)
    log_p = cuda.local.array(HELD, real)
    target = target_[o, j, 0] if n else ignore
    g = g_[o, j, 0] if target != ignore else real(0)
    {along_row("dx = exp(log_p[k]) * g; log_p[k] = dx - g if first + k * LANES == target else dx", "log_p", put="log_p to dx")}


@cuda.jit
def nll(x_, target_, loss_, ignore):
    """-x at the target, NaN where there is no such class."""
    put_loss(x_, target_, loss_, real(0), real(0), ignore)


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
