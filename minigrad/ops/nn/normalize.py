"""Normalisation: layer, RMS, group, batch, instance and local response norm, and division by a vector norm.

Each function checks its arguments, reshapes the input for its statistics, and calls an operation of standardize.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays import dtypes
from ...arrays.dtypes import F4, HALVES
from ...arrays.errstate import restore, silence
from ...core.frames import OFF, ON, current, use
from ...core.inplace import writable
from ...core.saved import memory
from ...core.tensor import Tensor
from ...errors import error
from ...events import events, unheard
from ...tensors.printing import error_notes
from ..dimensions import axes
from ..pad import pad
from ..reduce import count
from .entry import expect_floats, functional
from .pool import avg_pool2d
from .standardize import Channelwise, DivideByNorm, DivideByRMS, LayerNorm, Standardize


@functional(
    "T(4, 3), (3,)",
    "T(2, 3, 4), (3, 4), T(3, 4), T(3, 4)",
    "T(4, 3), (3,), T(3), None, 0.1",
    "T(0, 3), (3,), T(3)",
)
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalise the last dimensions, `normalized_shape`, to mean 0 and variance 1; then multiply by `weight` and add `bias`.

    Raises RuntimeError if the shape of `input` does not end in `normalized_shape`.
    Source: Ba, Kiros, Hinton, "Layer normalization", 2016.

    >>> import minigrad
    >>> layer_norm(minigrad.tensor([1., 3.]), (2,), eps=0.)
    tensor([-1.,  1.])
    """
    dims = last_dims("layer_norm", input, normalized_shape, weight, bias)
    return scaled(input, dims, weight, bias, tuple(normalized_shape), eps)[0]


@functional("T(4, 3), (3,)", "T(2, 3, 4), (3, 4), T(3, 4)", "T(4, 3), (3,), T(3), 0.1")
def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Divide by the root of the mean square over the last dimensions (`normalized_shape`); then multiply by `weight`.

    `eps` defaults to the dtype's machine epsilon, or float32's for half precision, which is computed in float32.
    Source: Zhang, Sennrich, "Root mean square layer normalization", 2019.
    """
    dims = last_dims("rms_norm", input, normalized_shape, weight, None)
    if eps is None:
        eps = dtypes.finfo(dtypes.float32 if input._np_dtype in dtypes.HALVES else input.dtype).eps
    return affine(DivideByRMS.apply(input, dims, float(eps))[0], weight, None)


@functional("T(2, 4, 3), 2", "T(2, 6, 2, 3), 3, T(6), T(6)", "T(3, 4), 2, T(4), None, 0.1", node="NativeGroupNorm")
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalise each group of channels (dimension 1) of each example to mean 0 and variance 1; then map each channel affinely.

    Raises RuntimeError if the channels cannot be divided into the groups.
    Source: Wu, He, "Group normalization", 2018.
    """
    if input.ndim < 2 or num_groups < 1 or input.shape[1] % num_groups:
        raise error(
            RuntimeError,
            "group_norm",
            f"expected the number of channels in an input of shape {tuple(input.shape)} to be divisible "
            f"by num_groups={num_groups}",
            f"choose num_groups as a divisor of {input.shape[1] if input.ndim > 1 else 0}, the size of dimension 1",
        )
    check_channels("group_norm", input, weight=weight, bias=bias)
    n, c, *rest = input.shape
    some = c // num_groups
    grouped = input.reshape(n, num_groups, some, math.prod(rest))
    return scaled(grouped, (2, 3), weight, bias, (num_groups, some, 1), eps)[0].reshape(input.shape)


@functional(
    "T(4, 3), torch.ones_like(P(3)).cumsum(0), torch.ones_like(P(3)).cumsum(0)",
    "T(4, 3, 2), None, None, T(3), T(3), True",
    "T(3, 2, 2, 3), torch.ones_like(P(2)).cumsum(0), torch.ones_like(P(2)).cumsum(0), T(2), T(2), False, 0.1, 0.1",
    "T(4, 3), torch.ones_like(P(3)).cumsum(0), torch.ones_like(P(3)).cumsum(0), None, T(3), False",
    node="NativeBatchNorm",
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
    """Normalise each channel (dimension 1) to mean 0 and variance 1; then map it affinely.

    In training, the statistics come from the batch, and the running ones move towards them, in place, by the fraction
    `momentum`; otherwise the running ones are used.  Raises ValueError in training for a single value per channel, and
    for an `eps` that is not positive.
    Source: Ioffe, Szegedy, "Batch normalization", 2015.
    """
    if input.ndim < 2 and not input.numel():
        expect_floats("batch_norm", input)
        return input.clone()
    if input.ndim < 2:
        what = f"expected an input of at least 2 dimensions, got shape {tuple(input.shape)}"
        fix = "write input.unsqueeze(0) for a single example: (batch, channels, ...)"
        raise error(RuntimeError, "batch_norm", what, fix)
    check_channels("batch_norm", input, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var)
    if not training:
        if running_mean is None or running_var is None:
            what = "expected running_mean and running_var to be given when training=False"
            fix = "write batch_norm(input, running_mean, running_var), or training=True"
            raise error(RuntimeError, "batch_norm", what, fix)
        factor = (running_var + eps).rsqrt() if weight is None else (running_var + eps).rsqrt() * weight
        begin = -running_mean * factor if bias is None else bias - running_mean * factor
        out = Channelwise.apply(input, along_channels(factor, input), along_channels(begin, input))
        return out.to(input.dtype)
    n = math.prod([input.shape[0], *input.shape[2:]])
    if eps <= 0:
        what = f"eps must be positive during training, but got {eps}"
        raise error(ValueError, "batch_norm", what, "leave eps out, it is 1e-5: a variance may be 0")
    if n == 1:
        what = f"expected more than 1 value per channel when training, got input size {tuple(input.shape)}"
        raise error(ValueError, "batch_norm", what, "use a larger batch, or eval()")
    if not n:  # nothing to standardise, no statistics to update
        return affine(input, *(None if t is None else along_channels(t, input) for t in (weight, bias)))
    shape = (input.shape[1], *[1] * (input.ndim - 2))
    out, mean, var = scaled(input, (0, *range(2, input.ndim)), weight, bias, shape, eps)
    move(running_mean, 1 - momentum, mean, momentum)
    move(running_var, 1 - momentum, var, momentum * n / (n - 1))
    return out


@functional(
    "T(2, 3, 4)",
    "T(2, 3, 4, 2), None, None, T(3), T(3)",
    "T(2, 3, 4), torch.ones_like(P(3)).cumsum(0), torch.ones_like(P(3)).cumsum(0), None, None, False",
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
    """Normalise each channel of each example to mean 0 and variance 1; then map it affinely.

    Running statistics, if given, are updated as in batch_norm, with the means over the examples.
    """
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    n = math.prod(input.shape[2:])
    if n == 1:
        what = f"expected more than 1 spatial element when training, got input size {tuple(input.shape)}"
        fix = "pass (batch, channels, length) with a length above 1, or use layer_norm"
        raise error(ValueError, "instance_norm", what, fix)
    check_channels("instance_norm", input, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var)
    channels = input.reshape(*input.shape[:2], 1, n)
    out, mean, var = scaled(channels, (2, 3), weight, bias, (input.shape[1], 1, 1), eps)
    move(running_mean, 1 - momentum, mean.detach().mean(0), momentum)
    move(running_var, 1 - momentum, var.detach().mean(0), momentum * n / (n - 1))
    return out.reshape(input.shape)


@functional("T(2, 5, 3), 3", "T(1, 4, 2, 2), 2, 0.1, 0.5, 2.0")
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divide each channel by `(k + alpha * m) ** beta`, m the mean square of the `size` channels around it."""
    if input.ndim < 3:
        what = f"expected 3D or higher dimensionality input (got {input.ndim} dimensions)"
        raise error(ValueError, "local_response_norm", what, "write input.unsqueeze(0): (batch, channels, length)")
    if not input.numel():
        return input
    squares = (input * input).flatten(2).unsqueeze(1)
    means = avg_pool2d(pad(squares, [0, 0, size // 2, (size - 1) // 2]), (size, 1), 1)
    return input / (means.reshape(input.shape) * alpha + k) ** beta


@functional("T(3, 4)", "T(3, 4), 1.0, 0", "T(2, 3), 2.0, -1", "T(4), dim=0", out=True)
def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """Divide `input` by its p-norm along `dim`, clamped to at least `eps`."""
    if p == 2 and input.is_floating_point() and count(input._sizes, dims := axes(input, dim, "norm")) > 1:
        return DivideByNorm.apply(input, dims, float(eps))[0]
    return input / input.norm(p, dim, True).clamp_min(eps)


def last_dims(who: str, input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None) -> tuple:
    """Return the dimensions of `normalized_shape`, after checking dtypes and shapes."""
    shape, sizes, kind = normalized_shape, input._sizes, input._np_dtype
    given = [t for t in (weight, bias) if t is not None]
    known = type(shape) is tuple and shape and sizes[-len(shape) :] == shape and kind.kind == "f"
    if not known or any([t._sizes != shape or t._np_dtype != kind for t in given]):
        shape = checked_dims(who, input, normalized_shape, weight, bias)
    return tuple(range(len(sizes) - len(shape), len(sizes)))


def checked_dims(who: str, input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None) -> tuple:
    """Return `normalized_shape` as a tuple; raise an error if input, weight or bias do not fit it."""
    expect_floats(who, input)
    if not isinstance(normalized_shape, (tuple, list)):
        what = f"normalized_shape must be a tuple of ints, not {type(normalized_shape).__name__}"
        raise error(TypeError, who, what, "write normalized_shape=tuple(x.shape[1:]), or the int x.shape[-1]")
    shape = tuple(normalized_shape)
    if not shape or tuple(input.shape[-len(shape) :]) != shape:
        raise error(
            RuntimeError,
            who,
            f"given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}], "
            f"but got input of size {list(input.shape)}",
            f"write {who}(input, {list(input.shape)[-len(shape) :]}): the end of the input's shape, without the batch",
            notes=error_notes({"input": input}, {"input": tuple(input.shape), "normalized_shape": shape}),
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if who != "rms_norm":  # PyTorch multiplies at the end
            check_dtype(who, input, name, t)
        if t is not None and tuple(t.shape) != shape:
            raise error(
                RuntimeError,
                who,
                f"expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(t.shape)} and normalized_shape = {list(shape)}",
                f"pass {name}=ones({', '.join(map(str, shape))})",
            )
    return shape


def check_dtype(who: str, input: Tensor, name: str, t: Tensor | None) -> None:
    """Raise RuntimeError for another dtype than the input's; with float16 and bfloat16, float32 is allowed too."""
    dtypes = (input._np_dtype, F4) if input._np_dtype in HALVES else (input._np_dtype,)
    if t is not None and t._np_dtype not in dtypes:
        what = f"expected {name} to have the dtype of input, {input.dtype}, but got {t.dtype}"
        raise error(RuntimeError, who, what, f"convert it: {name}.to(input.dtype)")


def affine(out: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Return out * weight + bias, without the ones that are None."""
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def scaled(
    x: Tensor, dims: tuple, weight: Tensor | None, bias: Tensor | None, shape: tuple, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Apply LayerNorm with weight and bias reshaped to broadcast; 1 or 0 replaces one None, Standardize serves if both are."""
    w, b = [t if t is None or t._sizes == shape else t.reshape(shape) for t in (weight, bias)]
    if any([t is not None and t._np_dtype != x._np_dtype for t in (w, b)]):  # half precision and float32 mixed
        out, mean, variance = Standardize.apply(x.float(), dims, float(eps))
        return affine(out, w, b).to(x.dtype), mean, variance
    if w is b is None:
        return Standardize.apply(x, dims, float(eps))
    w, b = x.new_ones(shape) if w is None else w, x.new_zeros(shape) if b is None else b
    return LayerNorm.apply(x, w, b, dims, float(eps))


def move(running: Tensor | None, kept: float, now: Tensor, share: float) -> None:
    """Set running statistics, if any, to kept * running + share * now."""
    if running is None:
        return
    frame = current()
    plain = (frame is ON or frame is OFF) and events.writes is unheard and writable(running)
    if plain and type(a := running._a) is type(now._a) is np.ndarray:
        previous = silence()  # no observer: update the arrays directly
        try:
            a *= kept
            a += now._a.reshape(-1) * share
        finally:
            restore(previous)
        memory(running).bump("add_")
        return
    with use(frame.all_grad(False)):
        running.mul_(kept).add_(now.detach().flatten() * share)


def along_channels(t: Tensor, input: Tensor) -> Tensor:
    """Return one value per channel, in a shape that broadcasts against an input with channels in dimension 1."""
    return t.reshape(-1, *[1] * (input.ndim - 2))


def check_channels(who: str, input: Tensor, **values: Tensor | None) -> None:
    """Check that the input has floats, and each given value one element per channel."""
    expect_floats(who, input)
    for name, t in values.items():
        check_dtype(who, input, name, t)
        if t is not None and t._sizes != input._sizes[1:2]:
            what = f"expected {name} of size {input.shape[1]}, the number of channels, but got shape {tuple(t.shape)}"
            raise error(RuntimeError, who, what, f"pass {name} of shape ({input.shape[1]},): zeros({input.shape[1]})")
