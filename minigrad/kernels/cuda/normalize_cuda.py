"""Norms over any dimensions on the device, above all batch norm: one pass for the statistics, another for the result.

Norms of rows are generated (lines_cuda.py). A channel is in several pieces of memory, and many threads share its sums.
"""

from typing import Any

from ...arrays.dtypes import F8
from ..formula import parameters
from . import pointwise_cuda
from .device_array import DeviceArray, empty
from .device_functions import rsqrt, where
from .reductions_cuda import count, results


def mean_and_variance(x: DeviceArray, dims: tuple) -> tuple[DeviceArray, DeviceArray]:
    """Return mean and variance over dimensions, which stay as 1, in the dtype of x.

    The sums are over differences from one of the elements, so that a common offset costs no digits.
    """
    some = x[tuple([slice(1) if d in dims else slice(None) for d in range(x.ndim)])]
    one, two = results("distances", [x, some], dims, True)
    mean, variance = empty(some.shape, x.dtype), empty(some.shape, x.dtype)
    values = {"s": some, "one": one, "two": two, "n": float(count(x, dims))}
    pointwise_cuda.run("mean_and_variance", MEAN_AND_VARIANCE, values, F8, [mean, variance])
    return mean, variance


MEAN_AND_VARIANCE = {
    "mean": lambda s, one, n: s + one / n,
    "variance": lambda one, two, n: where(two * n > one * one, two / n - (one / n) * (one / n), 0 * two),
}


# ---------------------------------------------------------------------- operations, with the arguments of lines_cuda.py's plans
SCALED = {"standardize": (1.0, 0.0), "layer_norm": ()}  # by name: default weight and bias


def forward(x: DeviceArray, weight: Any, bias: Any, dims: tuple, eps: float) -> tuple:
    """Return (x - mean) / sqrt(variance + eps) * weight + bias, the mean, and the variance over dims, which stay as 1."""
    mean, variance = mean_and_variance(x, dims)
    return formula("norm", NORM, x, mean, variance, weight, bias, eps), mean, variance


def backward(x: DeviceArray, weight: Any, bias: Any, dims: tuple, eps: float, out: Any, mean: DeviceArray,
             variance: DeviceArray, g: DeviceArray, *_: Any) -> tuple | None:  # fmt: skip
    """Return the gradients of x and, if these are arrays with an element for each mean, of weight and bias."""
    alone = isinstance(weight, float)
    if not alone and (weight.size != mean.size or weight.shape != mean.shape[x.ndim - weight.ndim :]):
        return None
    total, along = results("gradients", [g, x, mean], dims, True, g.dtype)
    dx = formula("norm_backward", NORM_BACKWARD, g, x, mean, variance, weight, total, along, count(x, dims), eps)
    if alone:
        return (dx,)
    dweight = formula("norm_weight_backward", WEIGHT_BACKWARD, along, variance, eps)
    return dx, dweight.reshape(weight.shape), total.reshape(weight.shape)


NORM = lambda x, mean, variance, weight, bias, eps: (x - mean) * (rsqrt(variance + eps) * weight) + bias
NORM_BACKWARD = lambda g, x, mean, variance, weight, total, along, n, eps: (
    (g - total / n - (x - mean) * (along / n / (variance + eps))) * (rsqrt(variance + eps) * weight)
)
WEIGHT_BACKWARD = lambda along, variance, eps: along * rsqrt(variance + eps)


def formula(name: str, f: Any, first: DeviceArray, *others: Any) -> DeviceArray:
    """Return a formula of arrays and numbers, computed by one kernel."""
    made = pointwise_cuda.apply(name, f, parameters(f), (first, *others), first.dtype, first.dtype)
    assert made is not None, name
    return made
