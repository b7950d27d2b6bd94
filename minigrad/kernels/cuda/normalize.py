"""Norms on the device: standardising, layer norm, batch norm and division by the root mean square, and their gradients.

Rows and columns are read twice for their mean and variance, and once more for the result; of what fits into the cache the
memory sees one pass.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..formula import parameters
from . import pointwise
from .array import DeviceArray, empty
from .functions import rsqrt
from .reductions import F8, GRAIN, THREADS, count, reduce
from .rows import BLOCK, each, kept, launch, load, middle

MOMENTS = '''

@cuda.jit(device=True)
def moments(x_, lanes):
    """Mean and variance of a row: the mean first, then the squared distances from it."""
    o, j, lane, n = place(x_, lanes)
    total = float64(0)
    for i in range(lane, n, lanes):
        total += x_[o, i, j]
    mean = sum_of(total, lanes) / n
    total = float64(0)
    for i in range(lane, n, lanes):
        distance = x_[o, i, j] - mean
        total += distance * distance
    return mean, sum_of(total, lanes) / n
'''

STANDARDIZE = '''

@cuda.jit
def {name}(x_, {weights}eps, mean_, variance_, out_, lanes):
    """(x - mean) / sqrt(variance + eps){scale}{shift}."""
    o, j, lane, n = place(x_, lanes)
    wide, variance = moments(x_, lanes)
    mean, factor = real(wide), real(1 / sqrt(variance + eps))
    for i in range(lane, n, lanes):
        out_[o, i, j] = (x_[o, i, j] - mean) * factor{scale}{shift}
    if lane == 0 and o < x_.shape[0]:
        mean_[o, 0, j], variance_[o, 0, j] = mean, real(variance)


@cuda.jit
def {name}_backward(g_, x_, {given}mean_, variance_, eps, dx_, lanes):
    """The gradient by x: that of the result, without its mean and without its part along x - mean."""
    o, j, lane, n = place(dx_, lanes)
    mean, factor, level, along = real(0), float64(0), float64(0), float64(0)
    if n:
        mean, factor = mean_[o, 0, j], 1 / sqrt(float64(variance_[o, 0, j]) + eps)
    for i in range(lane, n, lanes):
        g = g_[o, i, j]{scale}
        level += g
        along += g * (x_[o, i, j] - mean)
    level = sum_of(level, lanes) / n
    along = sum_of(along, lanes) / n * factor * factor * factor
    for i in range(lane, n, lanes):
        dx_[o, i, j] = (g_[o, i, j]{scale} - real(level)) * real(factor) - real(along) * (x_[o, i, j] - mean)
'''

WEIGHTS = '''

@cuda.jit
def weight_gradients(g_, x_, mean_, variance_, eps, dweight_, dbias_):
    """Sums over rows of g * (x - mean) / sqrt(variance + eps) and of g: a thread for each column of each part of the rows."""
    parts, n = dweight_.shape
    p, i = cuda.grid(1) // n, cuda.grid(1) % n
    if p < parts:
        dweight, dbias = float64(0), float64(0)
        for o in range(p, x_.shape[0], parts):
            g, factor = g_[o, i, 0], 1 / sqrt(variance_[o, 0, 0] + eps)
            dweight += g * ((x_[o, i, 0] - mean_[o, 0, 0]) * factor)
            dbias += g
        dweight_[p, i], dbias_[p, i] = dweight, dbias
'''

RMS = '''

@cuda.jit
def divide_by_rms(x_, eps, factor_, out_, lanes):
    """x / sqrt(mean(x * x) + eps)."""
    o, j, lane, n = place(x_, lanes)
    total = float64(0)
    for i in range(lane, n, lanes):
        total += float64(x_[o, i, j]) * float64(x_[o, i, j])
    factor = real(1 / sqrt(sum_of(total, lanes) / n + eps))
    for i in range(lane, n, lanes):
        out_[o, i, j] = x_[o, i, j] * factor
    if lane == 0 and o < x_.shape[0]:
        factor_[o, 0, j] = factor


@cuda.jit
def divide_by_rms_backward(g_, x_, factor_, dx_, lanes):
    """g * factor - x * mean(g * x) * factor ** 3."""
    o, j, lane, n = place(dx_, lanes)
    total, factor = float64(0), factor_[o, 0, j] if n else real(0)
    for i in range(lane, n, lanes):
        total += float64(g_[o, i, j]) * float64(x_[o, i, j])
    along = real(sum_of(total, lanes) / n * factor * factor * factor)
    for i in range(lane, n, lanes):
        dx_[o, i, j] = g_[o, i, j] * factor - along * x_[o, i, j]
'''

WEIGHTED = {"weights": "weight, bias, ", "given": "weight, ", "scale": " * weight[i]", "shift": " + bias[i]"}
TEXTS = {
    "standardize": MOMENTS + STANDARDIZE.format(name="standardize", **dict.fromkeys(WEIGHTED, "")),
    "layer_norm": MOMENTS + STANDARDIZE.format(name="layer_norm", **WEIGHTED) + WEIGHTS,
    "divide_by_rms": RMS,
}


@cache
def module(title: str, dtype: np.dtype) -> Any:
    """The kernels of one of these texts, for a dtype."""
    return load(title, TEXTS[title], dtype)


def standardize(x: DeviceArray, dims: tuple, eps: float) -> tuple | None:
    """(x - mean) / sqrt(variance + eps), the mean and the variance."""
    if (t := middle(x, dims)) is None:
        return None
    out, mean, variance = empty(x.shape, x.dtype), kept(x, dims), kept(x, dims)
    kernel = module("standardize", x.dtype).standardize
    launch(kernel, t, t, x.dtype.type(eps), each(mean, t), each(variance, t), out.reshape(t.shape))
    return out, mean, variance


def standardize_backward(
    g: DeviceArray, x: DeviceArray, mean: DeviceArray, variance: DeviceArray, dims: tuple, eps: float
) -> DeviceArray | None:
    """The gradient by x of the first of them."""
    if (t := middle(x, dims)) is None:
        return None
    dx, kernel = empty(x.shape, x.dtype), module("standardize", x.dtype).standardize_backward
    launch(kernel, t, g.reshape(t.shape), t, each(mean, t), each(variance, t), x.dtype.type(eps), dx.reshape(t.shape))
    return dx


def layer_norm(x: DeviceArray, weight: DeviceArray, bias: DeviceArray, dims: tuple, eps: float) -> tuple | None:
    """standardize over the last dimensions, with the result times weight plus bias."""
    t = middle(x, dims)
    if t is None or not meets(weight, x, dims) or not meets(bias, x, dims):
        return None
    out, mean, variance = empty(x.shape, x.dtype), kept(x, dims), kept(x, dims)
    kernel, w, b = module("layer_norm", x.dtype).layer_norm, weight.reshape(-1), bias.reshape(-1)
    launch(kernel, t, t, w, b, x.dtype.type(eps), each(mean, t), each(variance, t), out.reshape(t.shape))
    return out, mean, variance


def layer_norm_backward(
    g: DeviceArray,
    x: DeviceArray,
    weight: DeviceArray,
    mean: DeviceArray,
    variance: DeviceArray,
    dims: tuple,
    eps: float,
) -> tuple | None:
    """Its gradients by x, weight and bias."""
    t = middle(x, dims)
    if t is None or not meets(weight, x, dims):
        return None
    kernels, dx, w = module("layer_norm", x.dtype), empty(x.shape, x.dtype), weight.reshape(-1)
    g, m, v, eps = g.reshape(t.shape), each(mean, t), each(variance, t), x.dtype.type(eps)
    launch(kernels.layer_norm_backward, t, g, t, w, m, v, eps, dx.reshape(t.shape))
    parts = max(1, min(THREADS // w.size, t.shape[0] // GRAIN))
    dweight, dbias = empty((parts, w.size), F8), empty((parts, w.size), F8)
    kernels.weight_gradients[-(-dweight.size // BLOCK), BLOCK](g, t, m, v, eps, dweight, dbias)
    dweight, dbias = (reduce("sum", [a], (0,), False, x.dtype).reshape(weight.shape) for a in (dweight, dbias))
    return dx, dweight, dbias


def meets(weight: DeviceArray, x: DeviceArray, dims: tuple) -> bool:
    """Whether there is one weight for each element of a row."""
    return dims[-1] == x.ndim - 1 and weight.shape == x.shape[dims[0] :]


def divide_by_rms(x: DeviceArray, dims: tuple, eps: float) -> tuple | None:
    """x / sqrt(mean(x * x) + eps), and the factor."""
    if (t := middle(x, dims)) is None:
        return None
    out, factor = empty(x.shape, x.dtype), kept(x, dims)
    launch(
        module("divide_by_rms", x.dtype).divide_by_rms, t, t, x.dtype.type(eps), each(factor, t), out.reshape(t.shape)
    )
    return out, factor


def divide_by_rms_backward(g: DeviceArray, x: DeviceArray, factor: DeviceArray, dims: tuple) -> DeviceArray | None:
    """The gradient by x of the first of them."""
    if (t := middle(x, dims)) is None:
        return None
    dx, kernel = empty(x.shape, x.dtype), module("divide_by_rms", x.dtype).divide_by_rms_backward
    launch(kernel, t, g.reshape(t.shape), t, each(factor, t), dx.reshape(t.shape))
    return dx


# ---------------------------------------------------------------------- over any dimensions
def norm(x: DeviceArray, weight: DeviceArray, bias: DeviceArray, dims: tuple, eps: float) -> tuple | None:
    """(x - mean) / sqrt(variance + eps) * weight + bias, the mean and the variance over dims, kept as 1."""
    if x.dtype.kind != "f" or not x.size:
        return None
    n = count(x, dims)
    middle = reduce("sum", [x], dims, True, F8) / n
    variance = (reduce("spread", [x, middle], dims, True, F8) / n).astype(x.dtype, copy=False)
    mean = middle.astype(x.dtype, copy=False)
    return formula("norm", NORM, x, mean, variance, weight, bias, eps), mean, variance


def norm_backward(
    g: DeviceArray,
    x: DeviceArray,
    weight: DeviceArray,
    mean: DeviceArray,
    variance: DeviceArray,
    dims: tuple,
    eps: float,
) -> tuple | None:
    """Its gradients by x, weight and bias, where there is one of these for each mean."""
    if (
        x.dtype.kind != "f"
        or not x.size
        or weight.size != mean.size
        or weight.shape != mean.shape[x.ndim - weight.ndim :]
    ):
        return None
    total = reduce("sum", [g], dims, True)
    along = reduce("along", [g, x, mean], dims, True)
    dx = formula("norm_backward", NORM_BACKWARD, g, x, mean, variance, weight, total, along, count(x, dims), eps)
    dweight = formula("norm_weight_backward", WEIGHT_BACKWARD, along, variance, eps)
    return dx, dweight.reshape(weight.shape), total.reshape(weight.shape)


def affine(x: DeviceArray, factor: DeviceArray, begin: DeviceArray) -> DeviceArray | None:
    """x * factor + begin, in one kernel; None where they differ in dtype."""
    return formula("affine", AFFINE, x, factor, begin) if x.dtype == factor.dtype == begin.dtype else None


AFFINE = lambda x, factor, begin: x * factor + begin
NORM = lambda x, mean, variance, weight, bias, eps: (x - mean) * (rsqrt(variance + eps) * weight) + bias
NORM_BACKWARD = lambda g, x, mean, variance, weight, total, along, n, eps: (
    (g - total / n - (x - mean) * (along / n / (variance + eps))) * (rsqrt(variance + eps) * weight)
)
WEIGHT_BACKWARD = lambda along, variance, eps: along * rsqrt(variance + eps)


def formula(name: str, f: Any, first: DeviceArray, *others: Any) -> DeviceArray:
    """One kernel for a formula of arrays and numbers."""
    made = pointwise.apply(name, f, parameters(f), (first, *others), first.dtype, first.dtype)
    assert made is not None, name
    return made
