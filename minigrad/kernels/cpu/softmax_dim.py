"""Softmax, log_softmax and cross-entropy along a dimension that is not the last: (outer, n, inner) along n.

The loops run over `inner`, which lies together in memory, a few hundred columns at a time, so that all n rows of them
stay near.  softmax_rows.py has the kernels for the last dimension and calls these; None stands for "NumPy serves as well".
"""

from __future__ import annotations

import math

import numpy as np

from ..cache import by_dtype
from ..fallback import alone

COLUMNS_FROM = 4096  # elements; below, NumPy's dozen calls cost less than a first lesson's wait for the compiler

SOURCE = '''"""Columns of {real}: softmax, log_softmax, cross-entropy, and their backward."""

from math import inf, nan

import numpy as np
from minigrad.kernels.vecmath import exp, log
from numba import njit
from numpy import {real} as real

NEAR = 1 << 16  # elements that are worked on at once: they have to stay in the second cache


@njit(nogil=True)
def block(n, width):
    """How many columns to work on at once."""
    return min(max(NEAR // max(n, 1) // 16 * 16, 16), width)


@njit(nogil=True)
def peaks(x_, first, tops):
    """The largest of each column, NaN if there is one."""
    tops[:] = -inf
    for k in range(len(x_)):
        x = x_[k, first : first + tops.size]
        for i in range(tops.size):
            tops[i] = x[i] if (x[i] > tops[i]) | (x[i] != x[i]) else tops[i]


@njit(nogil=True, error_model="numpy")
def softmax(x_, out_):
    n, width = x_.shape[1], x_.shape[2]
    step = block(n, width)
    peak_, total_ = np.empty(step, np.{real}), np.empty(step, np.{real})
    for r in range(len(x_)):
        for first in range(0, width, step):
            tops, total = peak_[: min(step, width - first)], total_[: min(step, width - first)]
            peaks(x_[r], first, tops)
            total[:] = 0
            for k in range(n):
                x, out = x_[r, k, first : first + step], out_[r, k, first : first + step]
                for i in range(out.size):
                    out[i] = exp(x[i] - tops[i])
                    total[i] += out[i]
            for k in range(n):
                out = out_[r, k, first : first + step]
                for i in range(out.size):
                    out[i] = out[i] / total[i]


@njit(nogil=True, error_model="numpy")
def softmax_backward(g_, out_, dx_):
    n, width = g_.shape[1], g_.shape[2]
    step = block(n, width)
    total_ = np.empty(step, np.{real})
    for r in range(len(g_)):
        for first in range(0, width, step):
            total = total_[: min(step, width - first)]
            total[:] = 0
            for k in range(n):
                g, out = g_[r, k, first : first + step], out_[r, k, first : first + step]
                for i in range(total.size):
                    total[i] += g[i] * out[i]
            for k in range(n):
                here = slice(first, first + step)
                g, out, dx = g_[r, k, here], out_[r, k, here], dx_[r, k, here]
                for i in range(dx.size):
                    dx[i] = (g[i] - total[i]) * out[i]


@njit(nogil=True, error_model="numpy")
def shifted_logs(x_, out_, first, tops, total):
    """x less tops, less the logarithm of the sum of exponentials; tops are those of a block of columns."""
    total[:] = 0
    for k in range(len(x_)):
        x = x_[k, first : first + tops.size]
        for i in range(total.size):
            total[i] += exp(x[i] - tops[i])
    for i in range(total.size):
        total[i] = log(total[i])
    for k in range(len(x_)):
        x, out = x_[k, first : first + tops.size], out_[k, first : first + tops.size]
        for i in range(out.size):
            out[i] = x[i] - tops[i] - total[i]


@njit(nogil=True, error_model="numpy")
def log_softmax(x_, out_):
    width = x_.shape[2]
    step = block(x_.shape[1], width)
    peak_, total_ = np.empty(step, np.{real}), np.empty(step, np.{real})
    for r in range(len(x_)):
        for first in range(0, width, step):
            tops, total = peak_[: min(step, width - first)], total_[: min(step, width - first)]
            peaks(x_[r], first, tops)
            shifted_logs(x_[r], out_[r], first, tops, total)


@njit(nogil=True, error_model="numpy")
def log_softmax_backward(g_, out_, dx_):
    n, width = g_.shape[1], g_.shape[2]
    step = block(n, width)
    total_ = np.empty(step, np.{real})
    for r in range(len(g_)):
        for first in range(0, width, step):
            total = total_[: min(step, width - first)]
            total[:] = 0
            for k in range(n):
                g = g_[r, k, first : first + step]
                for i in range(total.size):
                    total[i] += g[i]
            for k in range(n):
                here = slice(first, first + step)
                g, out, dx = g_[r, k, here], out_[r, k, here], dx_[r, k, here]
                for i in range(dx.size):
                    dx[i] = g[i] - exp(out[i]) * total[i]


@njit(nogil=True, error_model="numpy")
def cross_entropy(x_, target_, ignore, loss_, out_):
    n, width = x_.shape[1], x_.shape[2]
    step = block(n, width)
    peak_, total_ = np.empty(step, np.{real}), np.empty(step, np.{real})
    for r in range(len(x_)):
        for first in range(0, width, step):
            tops, total = peak_[: min(step, width - first)], total_[: min(step, width - first)]
            peaks(x_[r], first, tops)
            shifted_logs(x_[r], out_[r], first, tops, total)
        target, loss, out = target_[r], loss_[r], out_[r]
        for i in range(width):  # NaN stands for a class that there is not: the caller looks
            k = target[i]
            loss[i] = real(0) if k == ignore else -out[k, i] if 0 <= k < n else nan


@njit(nogil=True, error_model="numpy")
def cross_entropy_backward(g_, target_, ignore, log_, dx_):
    for r in range(len(log_)):
        g, target = np.where(target_[r] == ignore, real(0), g_[r]), target_[r]
        for k in range(log_.shape[1]):
            log_p, dx = log_[r, k], dx_[r, k]
            for i in range(dx.size):
                dx[i] = exp(log_p[i]) * g[i]
        for i in range(target.size):
            if target[i] != ignore:
                dx_[r, target[i], i] -= g[i]
'''


module = by_dtype("columns", SOURCE)


def table(x: np.ndarray, dims: tuple) -> np.ndarray | None:
    """x as (outer, n, inner), if it lies in memory so, and is worth a kernel."""
    if x.size < COLUMNS_FROM or alone() or x.dtype.kind != "f" or len(dims) != 1 or not x.flags.c_contiguous:
        return None
    outer, inner = math.prod(x.shape[: dims[0]]), math.prod(x.shape[dims[0] + 1 :])
    return x.reshape(outer, x.shape[dims[0]], inner) if inner > 1 else None
