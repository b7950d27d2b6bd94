"""Norms over any dimensions on the device, batch norm's above all: the statistics from one pass, the result from another.

Norms of rows are generated (lines_cuda.py).  A channel lies in several pieces, of which many threads have to add up some.
"""

from __future__ import annotations

from typing import Any

from ..formula import parameters
from . import pointwise_cuda
from .device_array import DeviceArray, empty
from .device_functions import rsqrt, where
from .reductions_cuda import F8, count, reduce_to_two


def mean_and_variance(x: DeviceArray, dims: tuple) -> tuple[DeviceArray, DeviceArray]:
    """Over dimensions, which are kept as 1, in the dtype of x.

    Sums are of the distances from one of the elements, so that an offset that all have costs no digits.
    """
    some = x[tuple([slice(1) if d in dims else slice(None) for d in range(x.ndim)])]
    one, two = reduce_to_two("distances", [x, some], dims, True)
    mean, variance = empty(some.shape, x.dtype), empty(some.shape, x.dtype)
    values = {"s": some, "one": one, "two": two, "n": float(count(x, dims))}
    pointwise_cuda.run("mean_and_variance", MEAN_AND_VARIANCE, values, F8, [mean, variance])
    return mean, variance


MEAN_AND_VARIANCE = {
    "mean": lambda s, one, n: s + one / n,
    "variance": lambda one, two, n: where(two * n > one * one, two / n - (one / n) * (one / n), 0 * two),
}


def norm(
    x: DeviceArray, weight: DeviceArray | float, bias: DeviceArray | float, dims: tuple, eps: float
) -> tuple | None:
    """(x - mean) / sqrt(variance + eps) * weight + bias, the mean and the variance over dims, kept as 1."""
    if x.dtype.kind != "f" or not x.size:
        return None
    mean, variance = mean_and_variance(x, dims)
    return formula("norm", NORM, x, mean, variance, weight, bias, eps), mean, variance


def standardize_backward(
    g: DeviceArray, x: DeviceArray, mean: DeviceArray, variance: DeviceArray, dims: tuple, eps: float
) -> tuple | None:
    """The gradient by x of `norm` without weight and bias, alone."""
    found = input_gradient(g, x, 1.0, mean, variance, dims, eps)
    return None if found is None else found[:1]


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
    one_each = weight.size == mean.size and weight.shape == mean.shape[x.ndim - weight.ndim :]
    if not one_each or (found := input_gradient(g, x, weight, mean, variance, dims, eps)) is None:
        return None
    dx, total, along = found
    dweight = formula("norm_weight_backward", WEIGHT_BACKWARD, along, variance, eps)
    return dx, dweight.reshape(weight.shape), total.reshape(weight.shape)


def input_gradient(
    g: DeviceArray,
    x: DeviceArray,
    weight: DeviceArray | float,
    mean: DeviceArray,
    variance: DeviceArray,
    dims: tuple,
    eps: float,
) -> tuple | None:
    """Its gradient by x, and the sums of g and of g * (x - mean)."""
    if x.dtype.kind != "f" or not x.size:
        return None
    total, along = reduce_to_two("gradients", [g, x, mean], dims, True, g.dtype)
    dx = formula("norm_backward", NORM_BACKWARD, g, x, mean, variance, weight, total, along, count(x, dims), eps)
    return dx, total, along


NORM = lambda x, mean, variance, weight, bias, eps: (x - mean) * (rsqrt(variance + eps) * weight) + bias
NORM_BACKWARD = lambda g, x, mean, variance, weight, total, along, n, eps: (
    (g - total / n - (x - mean) * (along / n / (variance + eps))) * (rsqrt(variance + eps) * weight)
)
WEIGHT_BACKWARD = lambda along, variance, eps: along * rsqrt(variance + eps)


def formula(name: str, f: Any, first: DeviceArray, *others: Any) -> DeviceArray:
    """One kernel for a formula of arrays and numbers."""
    made = pointwise_cuda.apply(name, f, parameters(f), (first, *others), first.dtype, first.dtype)
    assert made is not None, name
    return made
