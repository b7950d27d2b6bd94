"""Kernels that work on one row at a time: softmax, log_softmax, standardisation (layer norm) and cross-entropy.

A row that has just been read lies in the processor's nearest memory, so all steps on it cost one trip to the far one.
Each function here returns None where NumPy serves as well: small arrays, other layouts.  The operations' formulas are the
definitions; tests/kernels/test_rows.py compares the two.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from ...arrays.kinds import kernels_there, on_device
from ..cache import by_dtype
from ..fallback import alone
from ..threads import launch, launch_sums, parts
from . import softmax_dim
from .reductions_cpu import DOT, ORDER, SPREAD, SQUARES, SUM

ndarray = np.ndarray  # what is of another type lies on the device
ROWS_FROM = 256  # elements; below, NumPy's dozen calls on a row cost less than a first lesson's wait for the compiler

# Sums run in several lanes at once, so their terms may be reordered; halves are added pairwise, which keeps the error of
# long rows small.  The maximum of floats is taken on integers (see ORDER).  Elements are named by row and column, since
# references to slices, and to arrays that a function is given, are counted: on short rows that costs more than the work.
HEAD = (
    '''"""Rows of {real}: softmax, log_softmax, standardisation, cross-entropy, and their backward."""

from math import nan, sqrt

import numpy as np
from minigrad.kernels.vecmath import exp, log
from numba import njit
from numpy import {real} as real, {whole} as whole

'''
    + ORDER
    + SUM
    + SQUARES
    + SPREAD
    + DOT
)

LOG_SOFTMAX = """\
        for i in range(n):  # x - log(sum(exp(x))) of row r, where top is taken off before
            out_[r, i] = exp(x_[r, i] - top)
        lost = log(sum_of(out_[r]))
        for i in range(n):
            out_[r, i] = x_[r, i] - top - lost"""

SOFTMAX = '''

@njit(nogil=True, forceinline=True)
def largest(bits_, r):
    """The maximum of row r of what these are the bits of: NaN where there is one."""
    top = whole(~BELOW_SIGN)
    for i in range(bits_.shape[1]):
        top = whole(max(top, turned(bits_[r, i])))
    return np.{whole}(turned(top)).view(np.{real})


@njit(nogil=True, error_model="numpy")
def softmax(x_, out_):
    bits_, n = x_.view(np.{whole}), x_.shape[1]
    for r in range(len(x_)):
        top = largest(bits_, r)
        for i in range(n):
            out_[r, i] = exp(x_[r, i] - top)
        total = sum_of(out_[r])
        for i in range(n):
            out_[r, i] = out_[r, i] / total


@njit(nogil=True, error_model="numpy")
def softmax_backward(g_, out_, dx_):
    for r in range(len(g_)):
        total = dot_of(g_[r], out_[r], real(0))
        for i in range(dx_.shape[1]):
            dx_[r, i] = (g_[r, i] - total) * out_[r, i]


@njit(nogil=True, error_model="numpy")
def log_softmax(x_, out_):
    bits_, n = x_.view(np.{whole}), x_.shape[1]
    for r in range(len(x_)):
        top = largest(bits_, r)
LOG_SOFTMAX


@njit(nogil=True, error_model="numpy")
def log_softmax_backward(g_, out_, dx_):
    for r in range(len(g_)):
        total = sum_of(g_[r])
        for i in range(dx_.shape[1]):
            dx_[r, i] = g_[r, i] - exp(out_[r, i]) * total


@njit(nogil=True, error_model="numpy")
def cross_entropy(x_, target_, ignore, loss_, out_):
    bits_, n = x_.view(np.{whole}), x_.shape[1]
    for r in range(len(x_)):
        top, target = largest(bits_, r), target_[r]
LOG_SOFTMAX
        if target == ignore:
            loss_[r] = real(0)
        else:  # NaN stands for a class that there is not: the caller looks
            loss_[r] = -out_[r, target] if 0 <= target < n else nan


@njit(nogil=True, error_model="numpy")
def cross_entropy_backward(g_, target_, ignore, log_, dx_):
    for r in range(len(log_)):
        target = target_[r]
        g = real(0) if target == ignore else g_[r]
        for i in range(dx_.shape[1]):
            dx_[r, i] = exp(log_[r, i]) * g
        if target != ignore:
            dx_[r, target] -= g


@njit(nogil=True, error_model="numpy")
def valid(target_, ignore):
    n = 0
    for r in range(len(target_)):
        n += target_[r] != ignore
    return n


@njit(nogil=True, error_model="numpy")
def mean_cross_entropy(x_, target_, ignore, out_):
    loss_, total = np.empty(len(x_), np.{real}), 0.0
    cross_entropy(x_, target_, ignore, loss_, out_)
    for r in range(len(x_)):
        total += loss_[r]
    return total / valid(target_, ignore)


@njit(nogil=True, error_model="numpy")
def mean_cross_entropy_backward(g, target_, ignore, log_, dx_):
    cross_entropy_backward(np.full(len(log_), real(g / valid(target_, ignore))), target_, ignore, log_, dx_)
'''

NORM = """

@njit(nogil=True, error_model="numpy")
def {name}({weights}x_, eps, mean_, variance_, out_):
    for r in range(len(x_)):
        x, out = x_[r], out_[r]
        n = real(x.size)
        mean = sum_of(x) / n
        variance = spread_of(x, mean) / n
        factor = real(1) / real(sqrt(variance + eps))
        for i in range(out.size):
            out[i] = (x[i] - mean) * factor{scaled}
        mean_[r], variance_[r] = mean, variance
"""

BACKWARD = """

@njit(nogil=True, error_model="numpy")
def standardize_backward(g_, x_, mean_, variance_, eps, dx_):
    n = real(x_.shape[1])
    for r in range(len(x_)):
        g, x, dx, mean = g_[r], x_[r], dx_[r], mean_[r]
        factor = real(1) / real(sqrt(variance_[r] + eps))
        level = sum_of(g) / n
        along = dot_of(g, x, mean) / n * factor * factor * factor
        for i in range(dx.size):
            dx[i] = (g[i] - level) * factor - along * (x[i] - mean)


@njit(nogil=True, error_model="numpy")
def layer_norm_backward(weight, dweight, dbias, g_, x_, mean_, variance_, eps, dx_):
    n = real(x_.shape[1])
    few_w, few_b = np.zeros(weight.size, np.{real}), np.zeros(weight.size, np.{real})
    for r in range(len(x_)):
        g, x, dx, mean = g_[r], x_[r], dx_[r], mean_[r]
        factor = real(1) / real(sqrt(variance_[r] + eps))
        for i in range(dx.size):
            few_w[i] += g[i] * ((x[i] - mean) * factor)
            few_b[i] += g[i]
            dx[i] = g[i] * weight[i]
        level = sum_of(dx) / n
        along = dot_of(dx, x, mean) / n * factor * factor * factor
        for i in range(dx.size):
            dx[i] = (dx[i] - level) * factor - along * (x[i] - mean)
        if r % 64 == 63 or r == len(x_) - 1:  # short sums, which are added up in double precision
            for i in range(weight.size):
                dweight[i] += few_w[i]
                dbias[i] += few_b[i]
            few_w[:] = 0
            few_b[:] = 0


@njit(nogil=True, error_model="numpy")
def divide_by_rms(x_, eps, factor_, out_):
    for r in range(len(x_)):
        x, out = x_[r], out_[r]
        factor = real(1) / real(sqrt(squares_of(x) / real(x.size) + eps))
        for i in range(out.size):
            out[i] = x[i] * factor
        factor_[r] = factor


@njit(nogil=True, error_model="numpy")
def divide_by_rms_backward(g_, x_, factor_, dx_):
    for r in range(len(x_)):
        g, x, dx, factor = g_[r], x_[r], dx_[r], factor_[r]
        along = dot_of(g, x, real(0)) / real(x.size) * factor * factor * factor
        for i in range(dx.size):
            dx[i] = g[i] * factor - along * x[i]
"""

SOURCE = (
    HEAD
    + SOFTMAX.replace("LOG_SOFTMAX", LOG_SOFTMAX)
    + NORM.format(name="standardize", weights="", scaled="")
    + NORM.format(name="layer_norm", weights="weight, bias, ", scaled=" * weight[i] + bias[i]")
    + BACKWARD
)

module = by_dtype("rows", SOURCE)


def table(x: Any, dims: tuple) -> np.ndarray | None:
    """x as rows, if it lies in memory so that `dims` are in them, and is worth a kernel."""
    first = x.ndim - len(dims)
    if x.size < ROWS_FROM or alone() or x.dtype.kind != "f" or dims != tuple(range(first, x.ndim)):
        return None
    if not x.flags.c_contiguous:
        return None
    return x if x.ndim == 2 and first == 1 else x.reshape(-1, math.prod(x.shape[first:]))


def lines(x: np.ndarray, dims: tuple) -> np.ndarray | None:
    """x as rows, or as columns: (outer, n, inner)."""
    t = table(x, dims)
    return softmax_dim.table(x, dims) if t is None else t


def kernels_for(t: np.ndarray) -> Any:
    """The kernels for rows, or columns."""
    return (module if t.ndim == 2 else softmax_dim.module)(t.dtype)


def as_table(a: np.ndarray, t: np.ndarray) -> np.ndarray:
    """An array of as many elements as the rows have; copied where it is broadcast."""
    return np.ascontiguousarray(a).reshape(t.shape)


def each(a: np.ndarray) -> np.ndarray:
    """One value for each row, as a kernel takes them."""
    return a if a.ndim == 1 and a.flags.c_contiguous else np.ascontiguousarray(a).reshape(-1)


def each_line(a: np.ndarray, t: np.ndarray) -> np.ndarray:
    """One value for each row, or column."""
    return each(a) if t.ndim == 2 else np.ascontiguousarray(a).reshape(len(t), t.shape[2])


def softmax(x: np.ndarray, dims: tuple, log: bool = False) -> np.ndarray | None:
    """Softmax, or its logarithm."""
    if on_device(x):
        return kernels_there("softmax_cuda").softmax(x, dims, log)
    t = lines(x, dims)
    if t is None:
        return None
    out, kernels = np.empty(x.shape, x.dtype), kernels_for(t)
    launch(kernels.log_softmax if log else kernels.softmax, [t, out.reshape(t.shape)])
    return out


def softmax_backward(g: np.ndarray, out: np.ndarray, dims: tuple, log: bool = False) -> np.ndarray | None:
    """The gradient of either by x."""
    if on_device(out):
        return kernels_there("softmax_cuda").softmax_backward(g, out, dims, log)
    t = lines(out, dims)
    if t is None:
        return None
    dx, kernels = np.empty(out.shape, out.dtype), kernels_for(t)
    launch(kernels.log_softmax_backward if log else kernels.softmax_backward, [as_table(g, t), t, dx.reshape(t.shape)])
    return dx


def logsumexp(x: np.ndarray, dims: tuple, keepdim: bool) -> Any:
    """log(sum(exp(x))), on the device."""
    return None if type(x) is ndarray else kernels_there("softmax_cuda").logsumexp(x, dims, keepdim)


def standardize(x: np.ndarray, dims: tuple, eps: float) -> tuple | None:
    """(x - mean) / sqrt(variance + eps), the mean and the variance, over the last dimensions."""
    if on_device(x):
        return kernels_there("normalize_cuda").standardize(x, dims, eps)
    return standardized(x, (), dims, eps)


def standardize_backward(
    g: np.ndarray, x: np.ndarray, mean: np.ndarray, variance: np.ndarray, dims: tuple, eps: float
) -> np.ndarray | None:
    """The gradient by x of the first of them."""
    if on_device(x):
        return kernels_there("normalize_cuda").standardize_backward(g, x, mean, variance, dims, eps)
    t = table(x, dims)
    if t is None:
        return None
    dx = np.empty(x.shape, x.dtype)
    args = [as_table(g, t), t, each(mean), each(variance), x.dtype.type(eps), dx.reshape(t.shape)]
    launch(module(x.dtype).standardize_backward, args)
    return dx


def layer_norm(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, dims: tuple, eps: float) -> tuple | None:
    """standardize, with the result times weight plus bias."""
    if on_device(x):
        return kernels_there("normalize_cuda").layer_norm(x, weight, bias, dims, eps)
    return standardized(x, (weight, bias), dims, eps) if weight.shape == bias.shape else None


def standardized(x: np.ndarray, weights: tuple, dims: tuple, eps: float) -> tuple | None:
    """Both, with a weight and a bias or none."""
    t = table(x, dims)
    if t is None or weights and weights[0].shape != x.shape[x.ndim - len(dims) :]:
        return None
    kept = x.shape[: x.ndim - len(dims)] + (1,) * len(dims)
    out, mean, variance = np.empty(x.shape, x.dtype), np.empty(kept, x.dtype), np.empty(kept, x.dtype)
    kernel = module(x.dtype).layer_norm if weights else module(x.dtype).standardize
    args = [t, x.dtype.type(eps), each(mean), each(variance), out.reshape(t.shape)]
    launch(partial(kernel, *map(each, weights)) if weights else kernel, args)
    return out, mean, variance


def layer_norm_backward(
    g: np.ndarray, x: np.ndarray, weight: np.ndarray, mean: np.ndarray, variance: np.ndarray, dims: tuple, eps: float
) -> tuple | None:
    """Its gradients by x, weight and bias."""
    if on_device(x):
        return kernels_there("normalize_cuda").layer_norm_backward(g, x, weight, mean, variance, dims, eps)
    t = table(x, dims)
    if t is None or weight.shape != x.shape[x.ndim - len(dims) :]:
        return None
    kernel, w, dx = module(x.dtype).layer_norm_backward, each(weight), np.empty(x.shape, x.dtype)
    args = [as_table(g, t), t, each(mean), each(variance), x.dtype.type(eps), dx.reshape(t.shape)]
    dweight, dbias = launch_sums(partial(kernel, w), (2, w.size), args).astype(x.dtype)
    return dx, dweight.reshape(weight.shape), dbias.reshape(weight.shape)


def divide_by_rms(x: np.ndarray, dims: tuple, eps: float) -> tuple | None:
    """x / sqrt(mean(x * x) + eps), and the factor, over the last dimensions."""
    if on_device(x):
        return kernels_there("normalize_cuda").divide_by_rms(x, dims, eps)
    t = table(x, dims)
    if t is None:
        return None
    out, factor = np.empty(x.shape, x.dtype), np.empty(x.shape[: x.ndim - len(dims)] + (1,) * len(dims), x.dtype)
    launch(module(x.dtype).divide_by_rms, [t, x.dtype.type(eps), each(factor), out.reshape(t.shape)])
    return out, factor


def divide_by_rms_backward(g: np.ndarray, x: np.ndarray, factor: np.ndarray, dims: tuple) -> np.ndarray | None:
    """The gradient by x of the first of them."""
    if on_device(x):
        return kernels_there("normalize_cuda").divide_by_rms_backward(g, x, factor, dims)
    t = table(x, dims)
    if t is None:
        return None
    dx = np.empty(x.shape, x.dtype)
    launch(module(x.dtype).divide_by_rms_backward, [as_table(g, t), t, each(factor), dx.reshape(t.shape)])
    return dx


def cross_entropy(x: np.ndarray, target: np.ndarray, dim: int, ignore: int) -> tuple | None:
    """The loss at each row's class, NaN where there is no such class, and the log_softmax."""
    if on_device(x):
        return kernels_there("softmax_cuda").cross_entropy(x, target, dim, ignore)
    t = lines(x, (dim,))
    if t is None:
        return None
    loss, log_p = np.empty(target.shape, x.dtype), np.empty(x.shape, x.dtype)
    arrays = [t, classes(target, t), ignore, each_line(loss, t), log_p.reshape(t.shape)]
    launch(kernels_for(t).cross_entropy, arrays)
    return loss, log_p


def cross_entropy_backward(
    g: np.ndarray, target: np.ndarray, log_p: np.ndarray, dim: int, ignore: int
) -> np.ndarray | None:
    """The gradient of the loss by x."""
    if on_device(log_p):
        return kernels_there("softmax_cuda").cross_entropy_backward(g, target, log_p, dim, ignore)
    t = lines(log_p, (dim,))
    if t is None:
        return None
    dx = np.empty(log_p.shape, log_p.dtype)
    launch(kernels_for(t).cross_entropy_backward, [each_line(g, t), classes(target, t), ignore, t, dx.reshape(t.shape)])
    return dx


def mean_cross_entropy(x: np.ndarray, target: np.ndarray, dim: int, ignore: int) -> tuple | None:
    """The mean of the losses, NaN where there is no such class, and the log_softmax, of arrays that one thread takes."""
    t = table(x, (dim,)) if type(x) is ndarray else None
    if t is None or parts(x.size) > 1:
        return None
    log_p = np.empty(x.shape, x.dtype)
    mean = module(x.dtype).mean_cross_entropy(
        t, classes(target, t), ignore, log_p if x.ndim == 2 else log_p.reshape(t.shape)
    )
    return np.array(mean, x.dtype), log_p


def mean_cross_entropy_backward(
    g: Any, target: np.ndarray, log_p: np.ndarray, dim: int, ignore: int
) -> np.ndarray | None:
    """The gradient of that mean by x."""
    t = table(log_p, (dim,)) if type(log_p) is ndarray else None
    if t is None or parts(log_p.size) > 1:
        return None
    dx = np.empty(t.shape, log_p.dtype)
    module(log_p.dtype).mean_cross_entropy_backward(float(g), classes(target, t), ignore, t, dx)
    return dx if log_p.ndim == 2 else dx.reshape(log_p.shape)


def classes(target: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Targets as the kernels take them."""
    return each_line(target if target.dtype == np.int64 else target.astype(np.int64), t)
