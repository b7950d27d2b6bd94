"""Normalisation, dropout and embedding.

Layer, group, instance and batch norm are one operation over different dimensions: `Standardize`, (x - mean) / std.  Its
mean and variance are outputs too, with gradients of their own, so its pull-back may read them and is right at any
order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..core import dtypes
from ..core.engine import sum_to
from ..core.tensor import Tensor
from ..errors import error
from ..kernels import channels, rows
from .families import Operation
from .pad import pad
from .pool import avg_pool2d
from .primitive import ShapeOf
from .registry import op


class Standardize(Operation):
    """(x - mean) / sqrt(variance + eps) over dimensions, the mean and the (biased) variance, these dimensions as 1."""

    @staticmethod
    def impl(x: np.ndarray, dims: tuple, eps: float) -> tuple:
        if (found := rows.standardize(x, dims, eps)) is not None:
            return found
        n = math.prod([x.shape[d] for d in dims])
        mean = np.add.reduce(x, axis=dims, keepdims=True) / n
        centred = x - mean
        variance = np.add.reduce(centred * centred, axis=dims, keepdims=True) / n
        return centred / np.sqrt(variance + eps), mean, variance

    dx = lambda g0, g1, g2, x, out1, out2, dims, eps: destandardize(g0, g1, g2, x - out1, (out2 + eps).rsqrt(), dims)
    batch = lambda x, dims, eps: (x, tuple([d + 1 for d in dims]), eps)

    @staticmethod
    def arrays(gs: tuple, bound: tuple) -> tuple | None:
        """The gradient of the result alone, on arrays."""
        (g, g_mean, g_variance), (x, dims, eps, _, mean, variance) = gs, bound
        if g is None or g_mean is not None or g_variance is not None:
            return None
        dx = rows.standardize_backward(g, x, mean, variance, dims, eps)
        if dx is None:
            centred, rstd = x - mean, 1 / np.sqrt(variance + eps)
            n = math.prod([x.shape[d] for d in dims])
            along = np.add.reduce(g * centred, axis=dims, keepdims=True) / n * -(rstd * rstd * rstd)
            dx = (g - np.add.reduce(g, axis=dims, keepdims=True) / n) * rstd + along * centred
        return dx, None, None


class LayerNorm(Operation):
    """Standardize with its result times weight plus bias, which are broadcast to x."""

    @staticmethod
    def impl(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, dims: tuple, eps: float) -> tuple:
        for kernel in (rows.layer_norm, channels.norm):
            if (found := kernel(x, weight, bias, dims, eps)) is not None:
                return found
        out, mean, variance = Standardize.impl(x, dims, eps)
        return out * weight + bias, mean, variance

    dx = lambda g0, g1, g2, x, weight, out1, out2, dims, eps: destandardize(
        None if g0 is None else g0 * weight, g1, g2, x - out1, (out2 + eps).rsqrt(), dims
    )
    dweight = lambda g0, x, out1, out2, eps, shape: (
        None if g0 is None else sum_to(g0 * ((x - out1) * (out2 + eps).rsqrt()), shape)
    )
    dbias = lambda g0, shape: None if g0 is None else sum_to(g0, shape)
    batch = lambda x, weight, bias, dims, eps: (
        x,
        meeting(weight, x),
        meeting(bias, x),
        tuple([d + 1 for d in dims]),
        eps,
    )

    @staticmethod
    def arrays(gs: tuple, bound: tuple) -> tuple | None:
        """The gradients of the result alone, on arrays."""
        (g, g_mean, g_variance), (x, weight, _, dims, eps, _, mean, variance) = gs, bound
        if g is None or g_mean is not None or g_variance is not None or type(x) is ShapeOf or type(weight) is ShapeOf:
            return None
        for kernel in (rows.layer_norm_backward, channels.norm_backward):
            if (found := kernel(g, x, weight, mean, variance, dims, eps)) is not None:
                return *found, None, None
        (dx, *_) = Standardize.arrays((g * weight, None, None), (x, dims, eps, None, mean, variance))
        return dx, g * ((x - mean) / np.sqrt(variance + eps)), g, None, None


def meeting(t: Tensor, x: Tensor) -> Tensor:
    """A weight with a batch dimension in front, which is that of x."""
    return t.reshape(t.shape[:1] + (1,) * (x.ndim - t.ndim) + t.shape[1:])


def destandardize(g: Any, g_mean: Any, g_variance: Any, centred: Tensor, rstd: Tensor, dims: tuple) -> Tensor:
    """The gradient by x: that of the result without its mean and its part along x - mean, and those of both statistics."""
    n = math.prod([centred.shape[d] for d in dims])
    free = along = 0.0
    if g is not None:
        free = (g - g.mean(dims, True)) * rstd
        along = (g * centred).mean(dims, True) * -(rstd * rstd * rstd)
    if g_mean is not None:
        free = free + g_mean / n
    if g_variance is not None:
        along = along + g_variance * (2 / n)
    return free + along * centred


class DivideByRMS(Operation):
    """x / sqrt(mean(x * x) + eps) over dimensions, and the factor 1 / sqrt(...)."""

    @staticmethod
    def impl(x: np.ndarray, dims: tuple, eps: float) -> tuple:
        n = math.prod([x.shape[d] for d in dims])
        factor = 1 / np.sqrt(np.add.reduce(x * x, axis=dims, keepdims=True) / n + eps)
        return x * factor, factor

    dx = lambda g0, g1, x, out1, dims: undivide(g0, g1, x, out1, dims)
    batch = lambda x, dims, eps: (x, tuple([d + 1 for d in dims]), eps)


def undivide(g: Any, g_factor: Any, x: Tensor, factor: Tensor, dims: tuple) -> Tensor:
    """The gradient by x, where d factor / dx = -factor**3 * x / n."""
    n, cubed = math.prod([x.shape[d] for d in dims]), factor * factor * factor
    along = 0.0 if g is None else (g * x).sum(dims, True)
    along = along if g_factor is None else along + g_factor
    out = x * (along * cubed * (-1 / n))
    return out if g is None else g * factor + out


@op(
    "T(4, 3), (3,)",
    "T(2, 3, 4), (3, 4), T(3, 4), T(3, 4)",
    "T(4, 3), (3,), T(3), None, 0.1",
    "T(0, 3), (3,), T(3)",
    torch="nn.functional.layer_norm",
    method=False,
)
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Mean 0 and variance 1 over the last dimensions, those of `normalized_shape`; then times `weight` plus `bias`.

    Raises RuntimeError where `input` does not end in `normalized_shape`.
    Source: Ba, Kiros, Hinton, "Layer normalization", 2016.

    >>> import minigrad
    >>> layer_norm(minigrad.tensor([1., 3.]), (2,), eps=0.)
    tensor([-1.,  1.])
    """
    dims = last_dims("layer_norm", input, normalized_shape, weight, bias)
    if weight is None and bias is None:
        return Standardize.apply(input, dims, float(eps))[0]
    return scaled(input, dims, weight, bias, tuple(normalized_shape), eps)[0]


@op(
    "T(4, 3), (3,)",
    "T(2, 3, 4), (3, 4), T(3, 4)",
    "T(4, 3), (3,), T(3), 0.1",
    torch="nn.functional.rms_norm",
    method=False,
)
def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Divided by the root of the mean square over the last dimensions (`normalized_shape`); then times `weight`.

    `eps` is the dtype's smallest step from 1 where it is None.
    Source: Zhang, Sennrich, "Root mean square layer normalization", 2019.
    """
    dims = last_dims("rms_norm", input, normalized_shape, weight, None)
    eps = dtypes.finfo(input.dtype).eps if eps is None else float(eps)
    return affine(DivideByRMS.apply(input, dims, eps)[0], weight, None)


@op(
    "T(2, 4, 3), 2",
    "T(2, 6, 2, 3), 3, T(6), T(6)",
    "T(3, 4), 2, T(4), None, 0.1",
    torch="nn.functional.group_norm",
    method=False,
)
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Mean 0 and variance 1 over each group of channels (dimension 1) of each example; then an affine map per channel.

    Raises RuntimeError where the channels cannot be divided into the groups.
    Source: Wu, He, "Group normalization", 2018.
    """
    if input.ndim < 2 or input.shape[1] % num_groups:
        raise error(
            RuntimeError,
            "group_norm",
            f"expected the number of channels in an input of shape {tuple(input.shape)} to be divisible "
            f"by num_groups={num_groups}",
        )
    check_channels("group_norm", input, weight, bias)
    n, c, *rest = input.shape
    some = c // num_groups
    grouped = input.reshape(n, num_groups, some, math.prod(rest))
    return scaled(grouped, (2, 3), weight, bias, (num_groups, some, 1), eps)[0].reshape(input.shape)


@op(
    "T(4, 3), torch.ones_like(P(3)).cumsum(0), torch.ones_like(P(3)).cumsum(0)",
    "T(4, 3, 2), None, None, T(3), T(3), True",
    "T(3, 2, 2, 3), torch.ones_like(P(2)).cumsum(0), torch.ones_like(P(2)).cumsum(0), T(2), T(2), False, 0.1, 0.1",
    "T(4, 3), torch.ones_like(P(3)).cumsum(0), torch.ones_like(P(3)).cumsum(0), None, T(3), False",
    torch="nn.functional.batch_norm",
    method=False,
)
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 per channel (dimension 1); then an affine map per channel.

    In training the statistics are those of the batch, and the running ones are moved towards them, in place, by the
    fraction `momentum`; else the running ones are used.  Raises ValueError in training for one value per channel.
    Source: Ioffe, Szegedy, "Batch normalization", 2015.
    """
    if input.ndim < 2:
        raise error(
            RuntimeError, "batch_norm", f"expected an input of at least 2 dimensions, got shape {tuple(input.shape)}"
        )
    check_channels("batch_norm", input, weight, bias)
    if not training:
        if running_mean is None or running_var is None:
            raise error(
                RuntimeError, "batch_norm", "expected running_mean and running_var to be given when training=False"
            )
        factor = (running_var + eps).rsqrt() if weight is None else (running_var + eps).rsqrt() * weight
        begin = -running_mean * factor if bias is None else bias - running_mean * factor
        return input * along_channels(factor, input) + along_channels(begin, input)
    n = input.numel() // max(input.shape[1], 1)
    if n == 1:
        raise error(
            ValueError,
            "batch_norm",
            f"expected more than 1 value per channel when training, got input size {tuple(input.shape)}",
            "use a larger batch, or eval()",
        )
    shape = (input.shape[1], *[1] * (input.ndim - 2))
    out, mean, var = scaled(input, (0, *range(2, input.ndim)), weight, bias, shape, eps)
    with no_grad():
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(mean.detach().flatten() * momentum)
        if running_var is not None:
            running_var.mul_(1 - momentum).add_(var.detach().flatten() * (momentum * n / (n - 1)))
    return out


@op(
    "T(2, 3, 4)",
    "T(2, 3, 4, 2), None, None, T(3), T(3)",
    "T(2, 3, 4), torch.ones_like(P(3)).cumsum(0), torch.ones_like(P(3)).cumsum(0), None, None, False",
    torch="nn.functional.instance_norm",
    method=False,
)
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 per channel of each example; then an affine map per channel.

    Running statistics, if given, are moved as by batch_norm, towards the means over the examples.
    """
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    n = math.prod(input.shape[2:])
    if n == 1:
        raise error(
            ValueError,
            "instance_norm",
            f"expected more than 1 spatial element when training, got input size {tuple(input.shape)}",
        )
    check_channels("instance_norm", input, weight, bias)
    channels = input.reshape(*input.shape[:2], 1, n)
    out, mean, var = scaled(channels, (2, 3), weight, bias, (input.shape[1], 1, 1), eps)
    with no_grad():
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(mean.detach().mean(0).flatten() * momentum)
        if running_var is not None:
            running_var.mul_(1 - momentum).add_(var.detach().mean(0).flatten() * (momentum * n / (n - 1)))
    return out.reshape(input.shape)


@op("T(2, 5, 3), 3", "T(1, 4, 2, 2), 2, 0.1, 0.5, 2.0", torch="nn.functional.local_response_norm", method=False)
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Each channel divided by (k + alpha * mean of the squares of the `size` channels around it) ** beta."""
    if input.ndim < 3:
        raise error(
            ValueError,
            "local_response_norm",
            f"expected 3D or higher dimensionality input (got {input.ndim} dimensions)",
        )
    squares = (input * input).flatten(2).unsqueeze(1)
    means = avg_pool2d(pad(squares, [0, 0, size // 2, (size - 1) // 2]), (size, 1), 1)
    return input / (means.reshape(input.shape) * alpha + k) ** beta


@op("T(3, 4)", "T(3, 4), 1.0, 0", "T(2, 3), 2.0, -1", "T(4), dim=0", torch="nn.functional.normalize", method=False)
def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """`input` divided by its p-norm along `dim`, which is taken as at least `eps`."""
    return input / input.norm(p, dim, True).clamp_min(eps)


def last_dims(who: str, input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None) -> tuple:
    """The dimensions of `normalized_shape`, after a check of all shapes."""
    if not isinstance(normalized_shape, (tuple, list)):
        raise error(TypeError, who, f"normalized_shape must be a tuple of ints, not {type(normalized_shape).__name__}")
    shape = tuple(normalized_shape)
    if not shape or tuple(input.shape[-len(shape) :]) != shape:
        raise error(
            RuntimeError,
            who,
            f"given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}], "
            f"but got input of size {list(input.shape)}",
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t.shape) != shape:
            raise error(
                RuntimeError,
                who,
                f"expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(t.shape)} and normalized_shape = {list(shape)}",
            )
    return tuple(range(input.ndim - len(shape), input.ndim))


def affine(out: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """out * weight + bias, where they are given."""
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def scaled(
    x: Tensor, dims: tuple, weight: Tensor | None, bias: Tensor | None, shape: tuple, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """LayerNorm with weight and bias in a shape that meets x; 1 and 0 where they are None."""
    w, b = (None if t is None else t if tuple(t.shape) == shape else t.reshape(shape) for t in (weight, bias))
    if any(t is not None and t._np_dtype != x._np_dtype for t in (w, b)):
        out, mean, variance = Standardize.apply(x, dims, float(eps))
        return affine(out, w, b), mean, variance
    w, b = x.new_ones(shape) if w is None else w, x.new_zeros(shape) if b is None else b
    return LayerNorm.apply(x, w, b, dims, float(eps))


def along_channels(t: Tensor, input: Tensor) -> Tensor:
    """One value per channel, in a shape that meets an input with channels in dimension 1."""
    return t.reshape(-1, *[1] * (input.ndim - 2))


def check_channels(who: str, input: Tensor, weight: Tensor | None, bias: Tensor | None) -> None:
    """Weight and bias have one value per channel."""
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t.shape) != (input.shape[1],):
            raise error(
                RuntimeError,
                who,
                f"expected {name} to be a vector of size {input.shape[1]}, the number of channels, but got shape "
                f"{tuple(t.shape)}",
            )
