"""Norms on the device: standardising, layer norm, batch norm and division by the root mean square, and their gradients.

Rows and columns are gone through for their mean, again for their variance, and once more for the result, of which the memory
sees one pass if they are not too long for that (rows_cuda.py).  Over other dimensions both statistics come from one pass
(reductions_cuda.py), and the result from another.
"""

from __future__ import annotations

from typing import Any

from ..formula import parameters
from . import pointwise_cuda
from .device_array import DeviceArray, empty
from .device_functions import rsqrt, where
from .reductions_cuda import F8, GRAIN, THREADS, count, reduce, reduce_to_two
from .rows_cuda import BLOCK, along_row, each, kept, launch, middle, seen

MOMENTS = f'''

@cuda.jit(device=True)
def moments(x_, x):
    """Mean and variance of a row: the mean first, then the squared distances from it.  What is not LONG is in `x` then.

    Distances are from the mean as the elements' dtype has it; what it has lost by that is taken off at the end.
    """
    o, j, lane, n = place(x_)
    first, total = lane, float64(0)
    {along_row("total += x[k]", "x")}
    mean = sum_of(total) / n
    near, first, total = real(mean), lane, float64(0)
    {along_row("distance = float64(x[k] - near); total += distance * distance", "x if LONG", inside=True)}
    return mean, max(sum_of(total) / n - (mean - near) * (mean - near), float64(0))
'''


KEEP_FACTOR = """
    if lane == 0 and o < dx_.shape[0]:
        factor_[o, j, 0] = narrow"""


def standardizing(name: str, weighted: bool) -> str:
    """The kernels that standardise a row, and take it times weight plus bias if it is `weighted`."""
    weight, bias = ("weight, ", "bias, ") if weighted else ("", "")
    scale, shift = (" * weight[i]", " + bias[i]") if weighted else ("", "")
    place = "i = uint64(first + k * LANES); " if weighted else ""
    factor = "factor_, " if weighted else ""
    both = f"hold_both(g_, x_, {weight}mean, o, first, j, n, g, x)"
    keep_factor = KEEP_FACTOR if weighted else ""
    return f'''{MOMENTS}

@cuda.jit
def {name}(x_, {weight}{bias}eps, mean_, variance_, out_):
    """(x - mean) / sqrt(variance + eps){scale}{shift}."""
    o, j, lane, n = place(x_)
    x = cuda.local.array(HELD, real)
    wide, variance = moments(x_, x)
    first, mean, factor = lane, real(wide), real(1 / sqrt(variance + eps))
    {along_row(f"{place}x[k] = (x[k] - mean) * factor{scale}{shift}", "x if LONG", put="x to out", inside=True)}
    if lane == 0 and o < x_.shape[0]:
        mean_[o, j, 0], variance_[o, j, 0] = mean, real(variance)


@cuda.jit(device=True)
def hold_both(g_, x_, {weight}mean, o, first, j, n, g, x):
    """Read the gradient{" of what is scaled" * weighted} and x - mean."""
    hold(g_, o, first, j, n, real(0), g)
    hold(x_, o, first, j, n, mean, x)
    end = left(first, n)
    for k in range(HELD):
        i = uint64(first + k * LANES)
        x[k] -= mean
        if k * LANES < end:
            g[k] = g[k]{scale}


@cuda.jit
def {name}_backward(g_, x_, {weight}mean_, variance_, eps, {factor}dx_):
    """The gradient by x: that of the result, without its mean and without its part along x - mean."""
    o, j, lane, n = place(dx_)
    g, x = cuda.local.array(HELD, real), cuda.local.array(HELD, real)
    mean, factor = real(0), float64(0)
    if n:
        mean, factor = mean_[o, j, 0], 1 / sqrt(float64(variance_[o, j, 0]) + eps)
    first, level, along = lane, float64(0), float64(0)
    {along_row("level += g[k]; along += g[k] * x[k]", both)}
    level = real(sum_of(level) / n)
    along = real(sum_of(along) / n * factor * factor * factor)
    first, narrow = lane, real(factor)
    {along_row("g[k] = (g[k] - level) * narrow - along * x[k]", f"{both} if LONG", put="g to dx")}{keep_factor}
'''


WEIGHTS = '''

@cuda.jit
def weight_gradients(g_, x_, mean_, factor_, dweight_, dbias_):
    """Sums over rows of g * (x - mean) * factor and of g: a thread for each column of each part of the rows."""
    parts, n = dweight_.shape
    p, i = cuda.grid(1) // n, cuda.grid(1) % n
    if p < parts:
        dweight, dbias = float64(0), float64(0)
        for o in range(p, x_.shape[0], parts):
            g = g_[o, 0, i]
            dweight += g * ((x_[o, 0, i] - mean_[o, 0, 0]) * factor_[o, 0, 0])
            dbias += g
        dweight_[p, i], dbias_[p, i] = dweight, dbias
'''

RMS = f'''

@cuda.jit
def divide_by_rms(x_, eps, factor_, out_):
    """x / sqrt(mean(x * x) + eps)."""
    o, j, lane, n = place(x_)
    x = cuda.local.array(HELD, real)
    first, total = lane, float64(0)
    {along_row("total += float64(x[k]) * float64(x[k])", "x")}
    first, factor = lane, real(1 / sqrt(sum_of(total) / n + eps))
    {along_row("x[k] *= factor", "x if LONG", put="x to out")}
    if lane == 0 and o < x_.shape[0]:
        factor_[o, j, 0] = factor


@cuda.jit
def divide_by_rms_backward(g_, x_, factor_, dx_):
    """g * factor - x * mean(g * x) * factor ** 3."""
    o, j, lane, n = place(dx_)
    g, x = cuda.local.array(HELD, real), cuda.local.array(HELD, real)
    first, total, factor = lane, float64(0), factor_[o, j, 0] if n else real(0)
    {along_row("total += float64(g[k]) * float64(x[k])", "g", "x")}
    first, along = lane, real(sum_of(total) / n * factor * factor * factor)
    {along_row("g[k] = g[k] * factor - along * x[k]", "g if LONG", "x if LONG", put="g to dx")}
'''

TEXTS = {
    "standardize": standardizing("standardize", False),
    "layer_norm": standardizing("layer_norm", True) + WEIGHTS,
    "divide_by_rms": RMS,
}


def run(title: str, kernel: str, t: DeviceArray, *args: Any) -> Any:
    """Launch a kernel of one of these texts; the module that has it."""
    return launch(title, TEXTS[title], kernel, t, *args)


def standardize(x: DeviceArray, dims: tuple, eps: float) -> tuple | None:
    """(x - mean) / sqrt(variance + eps), the mean and the variance."""
    if (t := middle(x, dims)) is None:
        return norm(x, 1.0, 0.0, dims, eps)
    out, mean, variance = empty(x.shape, x.dtype), kept(x, dims), kept(x, dims)
    run("standardize", "standardize", t, t, x.dtype.type(eps), each(mean, t), each(variance, t), seen(out, t))
    return out, mean, variance


def standardize_backward(
    g: DeviceArray, x: DeviceArray, mean: DeviceArray, variance: DeviceArray, dims: tuple, eps: float
) -> DeviceArray | None:
    """The gradient by x of the first of them."""
    if (t := middle(x, dims)) is None:
        found = input_gradient(g, x, 1.0, mean, variance, dims, eps)
        return None if found is None else found[0]
    dx, eps = empty(x.shape, x.dtype), x.dtype.type(eps)
    given = seen(g, t), t, each(mean, t), each(variance, t), eps, seen(dx, t)
    run("standardize", "standardize_backward", t, *given)
    return dx


def layer_norm(x: DeviceArray, weight: DeviceArray, bias: DeviceArray, dims: tuple, eps: float) -> tuple | None:
    """standardize over the last dimensions, with the result times weight plus bias."""
    t = middle(x, dims)
    if t is None or not meets(weight, x, dims) or not meets(bias, x, dims):
        return None
    out, mean, variance = empty(x.shape, x.dtype), kept(x, dims), kept(x, dims)
    w, b, eps = weight.reshape(-1), bias.reshape(-1), x.dtype.type(eps)
    run("layer_norm", "layer_norm", t, t, w, b, eps, each(mean, t), each(variance, t), seen(out, t))
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
    dx, w, factor = empty(x.shape, x.dtype), weight.reshape(-1), empty((t.shape[0], 1, 1), x.dtype)
    g, m, v, eps = seen(g, t), each(mean, t), each(variance, t), x.dtype.type(eps)
    kernels = run("layer_norm", "layer_norm_backward", t, g, t, w, m, v, eps, factor, seen(dx, t))
    parts = max(1, min(THREADS // w.size, t.shape[0] // GRAIN))
    dweight, dbias = empty((parts, w.size), F8), empty((parts, w.size), F8)
    kernels.weight_gradients[-(-dweight.size // BLOCK), BLOCK](g, t, m, factor, dweight, dbias)
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
    given = t, x.dtype.type(eps), each(factor, t), seen(out, t)
    run("divide_by_rms", "divide_by_rms", t, *given)
    return out, factor


def divide_by_rms_backward(g: DeviceArray, x: DeviceArray, factor: DeviceArray, dims: tuple) -> DeviceArray | None:
    """The gradient by x of the first of them."""
    if (t := middle(x, dims)) is None:
        return None
    dx = empty(x.shape, x.dtype)
    run("divide_by_rms", "divide_by_rms_backward", t, seen(g, t), t, each(factor, t), seen(dx, t))
    return dx


# ---------------------------------------------------------------------- over any dimensions
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
    made = pointwise_cuda.apply(name, f, parameters(f), (first, *others), first.dtype, first.dtype)
    assert made is not None, name
    return made
