"""Kernels for batch, group and instance norm: (images, channels, elements), with a weight and a bias for each channel.

Statistics, the affine map and all gradients cost one or two trips through memory each.  ops/nn/normalize.py has the
definitions; None stands for "NumPy serves as well".
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...arrays.kinds import kernels_there, on_device
from ..cache import by_dtype
from ..fallback import alone
from ..threads import launch, launch_sums
from .reductions_cpu import DOT, SPREAD, SUM

NORM_FROM = 2048  # elements; below, NumPy's dozen calls cost less than a first lesson's wait for the compiler
NARROW = 16  # elements of a channel, below which a kernel goes along whole images

SOURCE = (
    '''"""Batch norm and group norm of {real}, and their gradients."""

from math import sqrt

import numpy as np
from numba import njit
from numpy import {real} as real

'''
    + SUM
    + SPREAD
    + DOT
    + '''

@njit(nogil=True)
def affine(factor, begin, x_, out_):
    for b in range(len(x_)):
        for c in range(factor.size):
            x, out, f, s = x_[b, c], out_[b, c], factor[c], begin[c]
            for i in range(out.size):
                out[i] = x[i] * f + s


@njit(nogil=True)
def affine_backward(factor, dfactor, dbegin, g_, x_, dx_):
    for b in range(len(x_)):
        for c in range(factor.size):
            g, x, dx, f = g_[b, c], x_[b, c], dx_[b, c], factor[c]
            dfactor[c] += dot_of(g, x, real(0))
            dbegin[c] += sum_of(g)
            for i in range(dx.size):
                dx[i] = g[i] * f


@njit(nogil=True)
def narrow_affine(factor, begin, x_, out_):
    """affine where channels have few elements: a factor for each place."""
    for b in range(len(x_)):
        for i in range(factor.size):
            out_[b, i] = x_[b, i] * factor[i] + begin[i]


@njit(nogil=True)
def narrow_affine_backward(factor, dfactor, dbegin, g_, x_, dx_):
    along, total = np.empty(factor.size, np.{real}), np.empty(factor.size, np.{real})
    for first in range(0, len(x_), 64):  # short sums, which are added up in double precision
        along[:] = 0
        total[:] = 0
        for b in range(first, min(first + 64, len(x_))):
            for i in range(factor.size):
                along[i] += g_[b, i] * x_[b, i]
                total[i] += g_[b, i]
                dx_[b, i] = g_[b, i] * factor[i]
        for i in range(factor.size):
            dfactor[i] += along[i]
            dbegin[i] += total[i]


@njit(nogil=True, error_model="numpy")
def batch_norm(x_, weight, bias, eps, mean_, variance_, out_, channels):
    n = len(x_) * x_.shape[2]
    for c in channels[:, 0]:
        total = 0.0
        for b in range(len(x_)):
            total += sum_of(x_[b, c])
        mean, total = real(total / n), 0.0
        for b in range(len(x_)):
            total += spread_of(x_[b, c], mean)
        mean_[c], variance_[c] = mean, total / n
        factor, begin = real(weight[c] / sqrt(variance_[c] + eps)), bias[c]
        for b in range(len(x_)):
            for i in range(x_.shape[2]):
                out_[b, c, i] = (x_[b, c, i] - mean) * factor + begin


@njit(nogil=True, error_model="numpy")
def batch_norm_backward(g_, x_, weight, eps, mean_, variance_, dweight, dbias, dx_, channels):
    n = len(x_) * x_.shape[2]
    for c in channels[:, 0]:
        total, along, mean = 0.0, 0.0, mean_[c]
        for b in range(len(x_)):
            total += sum_of(g_[b, c])
            along += dot_of(g_[b, c], x_[b, c], mean)
        factor = 1 / sqrt(variance_[c] + eps)
        dweight[c], dbias[c] = along * factor, total
        level, slope, factor = real(total / n), real(along * factor * factor / n), real(factor * weight[c])
        for b in range(len(x_)):
            for i in range(x_.shape[2]):
                dx_[b, c, i] = (g_[b, c, i] - level - (x_[b, c, i] - mean) * slope) * factor


@njit(nogil=True)
def per_channel(totals, size, out):
    """Sums over the elements of each channel."""
    for c in range(out.size):
        total = 0.0
        for i in range(c * size, (c + 1) * size):
            total += totals[i]
        out[c] = total


@njit(nogil=True, error_model="numpy")
def narrow_norm(x_, weight, bias, eps, mean_, variance_, out_):
    """batch_norm where channels have few elements: image by image, with a sum for each place."""
    n, width, size = len(x_), x_.shape[1], x_.shape[1] // mean_.size
    total, few = np.zeros(width), np.empty(mean_.size)
    means, factors, begins = np.empty(width, np.{real}), np.empty(width, np.{real}), np.empty(width, np.{real})
    for b in range(n):
        x = x_[b]
        for i in range(width):
            total[i] += x[i]
    per_channel(total, size, few)
    for c in range(mean_.size):
        mean_[c] = few[c] / (n * size)
        means[c * size : (c + 1) * size] = mean_[c]
    total[:] = 0
    for b in range(n):
        x = x_[b]
        for i in range(width):
            total[i] += (x[i] - means[i]) * (x[i] - means[i])
    per_channel(total, size, few)
    for c in range(mean_.size):
        variance_[c] = few[c] / (n * size)
        factors[c * size : (c + 1) * size] = weight[c] / sqrt(variance_[c] + eps)
        begins[c * size : (c + 1) * size] = bias[c]
    for b in range(n):
        x, out = x_[b], out_[b]
        for i in range(out.size):
            out[i] = (x[i] - means[i]) * factors[i] + begins[i]


@njit(nogil=True, error_model="numpy")
def narrow_norm_backward(g_, x_, weight, eps, mean_, variance_, dweight, dbias, dx_):
    n, width, size = len(x_), x_.shape[1], x_.shape[1] // mean_.size
    total, along, few, slopes = np.zeros(width), np.zeros(width), np.empty(mean_.size), np.empty(mean_.size)
    means, factors, levels, tilts = [np.empty(width, np.{real}) for _ in range(4)]
    for c in range(mean_.size):
        means[c * size : (c + 1) * size] = mean_[c]
    for b in range(n):
        g, x = g_[b], x_[b]
        for i in range(width):
            total[i] += g[i]
            along[i] += g[i] * (x[i] - means[i])
    per_channel(total, size, few)
    per_channel(along, size, slopes)
    for c in range(mean_.size):
        factor, here = 1 / sqrt(variance_[c] + eps), slice(c * size, (c + 1) * size)
        dweight[c], dbias[c] = slopes[c] * factor, few[c]
        levels[here], tilts[here] = few[c] / (n * size), slopes[c] * factor * factor / (n * size)
        factors[here] = factor * weight[c]
    for b in range(n):
        g, x, dx = g_[b], x_[b], dx_[b]
        for i in range(dx.size):
            dx[i] = (g[i] - levels[i] - (x[i] - means[i]) * tilts[i]) * factors[i]


@njit(nogil=True, error_model="numpy")
def group_norm(weight, bias, eps, x_, mean_, variance_, out_):
    """x_ (images, groups, channels of a group, elements); weight and bias (groups, channels of a group)."""
    n = x_.shape[2] * x_.shape[3]
    for b in range(len(x_)):
        for g in range(x_.shape[1]):
            x = x_[b, g].reshape(-1)
            mean = real(sum_of(x) / n)
            mean_[b, g], variance_[b, g] = mean, spread_of(x, mean) / n
            factor = 1 / sqrt(variance_[b, g] + eps)
            for c in range(x_.shape[2]):
                x, out, scale, begin = x_[b, g, c], out_[b, g, c], real(factor * weight[g, c]), bias[g, c]
                for i in range(out.size):
                    out[i] = (x[i] - mean) * scale + begin


@njit(nogil=True, error_model="numpy")
def group_norm_backward(weight, dweight, dbias, eps, g_, x_, mean_, variance_, dx_):
    n = x_.shape[2] * x_.shape[3]
    for b in range(len(x_)):
        for k in range(x_.shape[1]):
            mean, factor, level, along = mean_[b, k], 1 / sqrt(variance_[b, k] + eps), 0.0, 0.0
            for c in range(x_.shape[2]):
                total, slope = sum_of(g_[b, k, c]), dot_of(g_[b, k, c], x_[b, k, c], mean)
                dweight[k, c] += slope * factor
                dbias[k, c] += total
                level, along = level + weight[k, c] * total, along + weight[k, c] * slope
            tilt, level = real(along / n * factor * factor * factor), real(level / n * factor)
            for c in range(x_.shape[2]):
                g, x, dx, scale = g_[b, k, c], x_[b, k, c], dx_[b, k, c], real(factor * weight[k, c])
                for i in range(dx.size):
                    dx[i] = g[i] * scale - level - (x[i] - mean) * tilt
'''
)


module = by_dtype("channels", SOURCE)
SEEN = {  # how kernels see an array: (images, channels, elements), or channels with their elements as one
    "batch": lambda x: x.reshape(*x.shape[:2], math.prod(x.shape[2:])),
    "narrow": lambda x: x.reshape(len(x), -1),
}


def kind(x: np.ndarray, weight: np.ndarray, dims: tuple) -> str:
    """Which kernels serve for statistics over `dims` and a weight of that shape."""
    n = x.ndim
    if x.size < NORM_FROM or alone() or x.dtype.kind != "f" or not x.flags.c_contiguous:
        return ""
    if dims == (0, *range(2, n)) and weight.shape == (x.shape[1],) + (1,) * (n - 2):
        return "batch" if x.size >= NARROW * x.shape[0] * x.shape[1] else "narrow"
    return "group" if n == 4 and dims == (2, 3) and weight.shape == (*x.shape[1:3], 1) else ""


def norm(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, dims: tuple, eps: float) -> tuple | None:
    """(x - mean) / sqrt(variance + eps) * weight + bias, the mean and the variance over dims, kept as 1."""
    if on_device(x):
        return kernels_there("normalize_cuda").norm(x, weight, bias, dims, eps)
    which = kind(x, weight, dims)
    if not which or bias.shape != weight.shape:
        return None
    kernels, kept = module(x.dtype), [1 if d in dims else n for d, n in enumerate(x.shape)]
    out, mean, variance = np.empty(x.shape, x.dtype), np.empty(kept, x.dtype), np.empty(kept, x.dtype)
    if which == "group":
        w, b = (np.ascontiguousarray(a).reshape(a.shape[:2]) for a in (weight, bias))
        launch(partial(kernels.group_norm, w, b, eps), [x, mean[:, :, 0, 0], variance[:, :, 0, 0], out])
        return out, mean, variance
    fixed = (SEEN[which](x), *map(flat, (weight, bias)), eps, *map(flat, (mean, variance)), SEEN[which](out))
    if which == "narrow":
        kernels.narrow_norm(*fixed)
    else:
        launch(partial(kernels.batch_norm, *fixed), [numbers(weight)], x.size // 2)
    return out, mean, variance


def norm_backward(
    g: np.ndarray, x: np.ndarray, weight: np.ndarray, mean: np.ndarray, variance: np.ndarray, dims: tuple, eps: float
) -> tuple | None:
    """Its gradients by x, weight and bias."""
    if on_device(x):
        return kernels_there("normalize_cuda").norm_backward(g, x, weight, mean, variance, dims, eps)
    which = kind(x, weight, dims)
    if not which:
        return None
    kernels, g, dx = module(x.dtype), np.ascontiguousarray(g), np.empty(x.shape, x.dtype)
    if which == "group":
        w = np.ascontiguousarray(weight).reshape(weight.shape[:2])
        args = [eps, g, x, mean[:, :, 0, 0], variance[:, :, 0, 0], dx]
        dweight, dbias = launch_sums(partial(kernels.group_norm_backward, w), (2, *w.shape), args).astype(x.dtype)
        return dx, dweight.reshape(weight.shape), dbias.reshape(weight.shape)
    dweight, dbias = np.empty(weight.size, x.dtype), np.empty(weight.size, x.dtype)
    arrays, (w, m, v) = map(SEEN[which], (g, x)), map(flat, (weight, mean, variance))
    fixed = (*arrays, w, eps, m, v, dweight, dbias, SEEN[which](dx))
    if which == "narrow":
        kernels.narrow_norm_backward(*fixed)
    else:
        launch(partial(kernels.batch_norm_backward, *fixed), [numbers(weight)], x.size // 2)
    return dx, dweight.reshape(weight.shape), dbias.reshape(weight.shape)


def affine(x: np.ndarray, factor: np.ndarray, begin: np.ndarray) -> np.ndarray | None:
    """x * factor + begin, with a number for each channel."""
    if on_device(x):
        return kernels_there("normalize_cuda").affine(x, factor, begin)
    which = kind(x, factor, (0, *range(2, x.ndim)))
    if which not in ("batch", "narrow") or begin.shape != factor.shape or {factor.dtype, begin.dtype} != {x.dtype}:
        return None
    out, kernels, seen = np.empty(x.shape, x.dtype), module(x.dtype), SEEN[which]
    kernel = kernels.narrow_affine if which == "narrow" else kernels.affine
    launch(partial(kernel, per_place(factor, x, which), per_place(begin, x, which)), [seen(x), seen(out)])
    return out


def affine_backward(g: np.ndarray, x: np.ndarray, factor: np.ndarray) -> tuple | None:
    """Its gradients by x, factor and begin."""
    which = kind(x, factor, (0, *range(2, x.ndim)))
    if which not in ("batch", "narrow") or factor.dtype != x.dtype:
        return None
    dx, kernels, seen, f = np.empty(x.shape, x.dtype), module(x.dtype), SEEN[which], per_place(factor, x, which)
    kernel = kernels.narrow_affine_backward if which == "narrow" else kernels.affine_backward
    sums = launch_sums(partial(kernel, f), (2, f.size), [seen(np.ascontiguousarray(g)), seen(x), seen(dx)])
    dfactor, dbegin = sums.reshape(2, x.shape[1], -1).sum(2).astype(x.dtype)
    return dx, dfactor.reshape(factor.shape), dbegin.reshape(factor.shape)


def flat(a: np.ndarray) -> np.ndarray:
    """An array as kernels take one value per channel."""
    return np.ascontiguousarray(a).reshape(-1)


def per_place(a: np.ndarray, x: np.ndarray, which: str) -> np.ndarray:
    """One value per channel; where these are narrow, repeated for each of its elements."""
    return np.repeat(flat(a), math.prod(x.shape[2:])) if which == "narrow" else flat(a)


def numbers(weight: np.ndarray) -> np.ndarray:
    """The channels' numbers, as what threads share."""
    return np.arange(weight.size).reshape(-1, 1)
