"""Convolutions in one, two and three dimensions; conv_transpose.py has the public transposed convolutions.

Three bilinear operations refer to each other: the convolution of an input with a weight, the input from an output and a
weight (the transposed convolution), and the weight from an output and an input.  Each is the gradient of the others, so
derivatives of every order are convolutions again.  All three are one matrix product over the windows of the input
(im2col; Chellapilla et al., "High performance convolutional neural networks for document processing", 2006).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...arrays.kinds import contiguous
from ...core.tensor import Tensor
from ...errors import error
from ...kernels.cpu import conv_cpu as kernels
from ...layers.batch import batched
from ...layers.batching import front
from ...tensors.printing import error_notes
from ..base.families import Bilinear, Operation
from ..base.layouts import channels_last
from ..dimensions import single
from ..join import cat
from ..pad import pad
from ..products import one_dtype
from ..windows import add_windows, count, padded, per_dim, ranks, windows
from .entry import expect_numbers, functional


class Geometry(NamedTuple):
    """Layout of a convolution's windows: stride, padding and dilation per dimension, and the number of groups."""

    stride: tuple
    padding: tuple
    dilation: tuple
    groups: int = 1

    def text(self, *names: str) -> str:
        """Return the settings as keyword arguments."""
        return ", ".join([f"{name}={single(getattr(self, name))}" for name in names or self._fields])


class Conv(Bilinear):
    """out[n, o, i] = sum over c and k of x[n, c, i * stride + k * dilation - padding] * w[o, c, k]."""

    autocast = "half"
    dimensions = "convolution"
    call = lambda x, geometry: f"conv{x.ndim - 2}d(x, w, {geometry.text()})"
    layout = channels_last
    node = "Convolution"

    @staticmethod
    def impl(x: np.ndarray, w: np.ndarray, geometry: Geometry) -> np.ndarray:
        kernel = w.shape[2:]
        number = tuple(map(count, x.shape[2:], kernel, *geometry[:3]))
        if (found := kernels.forward(x, w, None, number, geometry)) is not None:
            return found
        product = matrix(w, geometry.groups) @ columns(x, kernel, number, geometry)
        return batch_first(product.reshape(w.shape[0], x.shape[0], *number))

    dx = lambda g, w, shape, geometry: ConvInput.apply(g, w, tuple(shape[2:]), geometry)
    dw = lambda g, x, shape, geometry: ConvWeight.apply(g, x, tuple(shape[2:]), geometry)

    def vmap(info: Any, in_dims: tuple, x: Tensor, w: Tensor, geometry: Geometry) -> tuple:
        """Treat a batch of inputs as a larger batch, and a batch of weights as more groups."""
        return grouped(info, in_dims, x, w, geometry)


class ConvBias(Operation):
    """Conv, plus one number per channel of the result."""

    autocast = "half"
    dimensions = "convolution"
    call = lambda x, geometry: f"conv{x.ndim - 2}d(x, w, bias, {geometry.text()})"
    layout = channels_last
    node = "Convolution"
    name = "conv"

    @staticmethod
    def impl(x: np.ndarray, w: np.ndarray, bias: np.ndarray, geometry: Geometry) -> np.ndarray:
        number = tuple(map(count, x.shape[2:], w.shape[2:], *geometry[:3]))
        if (found := kernels.forward(x, w, bias, number, geometry)) is not None:
            return found
        out = Conv.impl(x, w, geometry)
        out += bias.reshape(-1, *[1] * len(number))
        return out

    dx = lambda g, w, shape, geometry: ConvInput.apply(g, w, tuple(shape[2:]), geometry)
    dw = lambda g, x, shape, geometry: ConvWeight.apply(g, x, tuple(shape[2:]), geometry)
    dbias = lambda g: g.sum((0, *range(2, g.ndim)))

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        (x, w, _, geometry), (tx, tw, tb, _) = primals, tangents
        terms = [
            None if tx is None else Conv.apply(tx, w, geometry),
            None if tw is None else Conv.apply(x, tw, geometry),
        ]
        terms = [t for t in terms if t is not None]
        if tb is not None:
            terms.append(tb.reshape(-1, *[1] * (x.ndim - 2)).expand(outs[0].shape))
        return sum(terms[1:], terms[0])

    def vmap(info: Any, in_dims: tuple, x: Tensor, w: Tensor, bias: Tensor, geometry: Geometry) -> tuple:
        """Apply a convolution and a sum, which have vmap rules."""
        each = lambda x, w, bias: Conv.apply(x, w, geometry) + bias.reshape(-1, *[1] * (x.ndim - 2))
        return batched(each, (x, w, bias), in_dims[:3], info.batch_size), 0


class ConvInput(Bilinear):
    """The input of spatial shape `size` for an output y and a weight: Conv's transpose by its input."""

    autocast = "half"
    call = lambda y, w, size, geometry: transposed_text(y.shape[2:], w.shape[2:], size, geometry)
    layout = channels_last
    node = "Convolution"

    @staticmethod
    def impl(y: np.ndarray, w: np.ndarray, size: tuple, geometry: Geometry) -> np.ndarray:
        if (found := kernels.input_gradient(y, w, size, geometry)) is not None:
            return found
        groups, number = geometry.groups, y.shape[2:]
        product = matrix(w, groups).swapaxes(1, 2) @ matrix(y.swapaxes(0, 1), groups)
        parts = product.reshape(groups * w.shape[1], *w.shape[2:], y.shape[0], *number)
        n = len(number)
        parts = parts.transpose(0, n + 1, *range(1, n + 1), *range(n + 2, 2 * n + 2))
        return batch_first(add_windows(parts, size, *geometry[:3]))

    dy = lambda g, w, shape, geometry: cut(Conv.apply(g, w, geometry), shape)
    dw = lambda g, y, shape, geometry: ConvWeight.apply(y, g, tuple(shape[2:]), geometry)

    def vmap(info: Any, in_dims: tuple, y: Tensor, w: Tensor, size: tuple, geometry: Geometry) -> tuple:
        """Treat batches as Conv does."""
        return grouped(info, in_dims, y, w, size, geometry)


class ConvWeight(Bilinear):
    """The weight with kernels of shape `kernel` for an output y and an input x: Conv's transpose by its weight."""

    @staticmethod
    def impl(y: np.ndarray, x: np.ndarray, kernel: tuple, geometry: Geometry) -> np.ndarray:
        if (found := kernels.weight_gradient(y, x, kernel, geometry)) is not None:
            return found
        groups = geometry.groups
        product = matrix(y.swapaxes(0, 1), groups) @ columns(x, kernel, y.shape[2:], geometry).swapaxes(1, 2)
        return product.reshape(y.shape[1], x.shape[1] // groups, *kernel)

    dy = lambda g, x, shape, geometry: cut(Conv.apply(x, g, geometry), shape)
    dx = lambda g, y, shape, geometry: ConvInput.apply(y, g, tuple(shape[2:]), geometry)

    def vmap(info: Any, in_dims: tuple, y: Tensor, x: Tensor, kernel: tuple, geometry: Geometry) -> tuple:
        """Treat a batch of weights as more groups."""
        size = info.batch_size
        y, x = (merge(front(t, d, size).movedim(0, 1), 1) for t, d in zip((y, x), in_dims))
        out = ConvWeight.apply(y, x, kernel, geometry._replace(groups=size * geometry.groups))
        return split(out, 0, size), 0

    @staticmethod
    def definition(y: Tensor, x: Tensor, kernel: tuple, geometry: Geometry) -> Tensor:
        """Convolve the input with the gradient: examples are summed like channels, strides and dilations swap roles."""
        stride, padding, dilation, groups = geometry
        found, run = [], (conv1d, conv2d, conv3d)[len(kernel) - 1]
        for part_y, part_x in zip(y.chunk(groups, 1), x.chunk(groups, 1)) if groups > 1 else [(y, x)]:
            made = run(part_x.transpose(0, 1), part_y.transpose(0, 1), None, dilation, padding, stride).transpose(0, 1)
            found.append(made if tuple(made.shape[2:]) == kernel else made[(..., *[slice(m) for m in kernel])])
        return found[0] if groups == 1 else cat(found)


@functional(
    "T(2, 3, 8), T(4, 3, 3)",
    "T(2, 4, 9), T(6, 2, 3), T(6), stride=2, padding=1, dilation=2, groups=2",
    "T(3, 5), T(2, 3, 2)",
    "T(2, 3, 6), T(4, 3, 4), padding='same'",
    "T(0, 3, 5), T(4, 3, 3)",
)
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve `input` (n, c, length) or (c, length) with `weight` (out, c / groups, kernel); see conv2d."""
    return convolve(1, input, weight, bias, stride, padding, dilation, groups)


@functional(
    "T(2, 3, 5, 6), T(4, 3, 3, 2)",
    "T(2, 4, 7, 6), T(6, 2, 3, 3), T(6), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2",
    "T(3, 4, 4), T(2, 3, 2, 2), T(2)",
    "T(1, 2, 4, 5), T(3, 2, 2, 3), padding='same'",
    "T(1, 2, 4, 4), T(2, 2, 1, 1), padding='valid'",
    "T(2, 5, 6, 3).permute(0, 3, 1, 2), T(3, 2, 3, 4).permute(1, 0, 3, 2)",
    "T(4, 2, 3, 3), T(2, 1, 3, 3), groups=2",
)
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve `input` (n, c, height, width) or (c, height, width) with `weight` (out, c / groups, *kernel).

    `padding` is a number per dimension, 'valid' (none) or 'same' (the output as large as the input; needs stride 1).
    Raises RuntimeError if channels do not match or the kernel is larger than the padded input.

    >>> import minigrad
    >>> x = minigrad.tensor([[[[1., 2., 3.], [4., 5., 6.]]]])
    >>> minigrad.nn.functional.conv2d(x, minigrad.tensor([[[[1., 10.]]]]))
    tensor([[[[21., 32.],
              [54., 65.]]]])
    """
    return convolve(2, input, weight, bias, stride, padding, dilation, groups)


@functional(
    "T(1, 2, 3, 4, 3), T(2, 2, 2, 2, 2), T(2), padding=1, stride=(1, 2, 1)",
    "T(2, 3, 3, 3), T(1, 2, 2, 1, 2)",
)
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve `input` (n, c, depth, height, width) with `weight` (out, c / groups, *kernel); see conv2d."""
    return convolve(3, input, weight, bias, stride, padding, dilation, groups)


def convolve(
    n: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    """Convolve over n dimensions: normalize settings, check, add a batch dimension and the bias."""
    who = f"conv{n}d"
    x, single = with_batch(who, n, input)
    x, weight = with_weight(who, n, x, weight)
    kernel = tuple(weight.shape[2:])
    if isinstance(padding, str):
        x, padding = by_name(who, x, kernel, stride, padding, per_dim(dilation, n, who, "dilation"))
    geometry = settings(who, n, stride, padding, dilation, groups)
    if x.shape[1] != weight.shape[1] * groups:
        raise error(
            RuntimeError,
            who,
            f"given groups={groups} and a weight of shape {tuple(weight.shape)}, expected an input of "
            f"{weight.shape[1] * groups} channels, but got {x.shape[1]} (shape {tuple(input.shape)})",
            channels(x, weight.shape[1] * groups),
            notes=error_notes({"input": x, "weight": weight}, marked=[-n - 1] if groups == 1 else ()),
        )
    if weight.shape[0] % groups:
        what = f"the {weight.shape[0]} output channels of the weight cannot be divided into groups={groups}"
        fix = f"choose a multiple of {groups} as the number of output channels, or groups=1"
        raise error(RuntimeError, who, what, fix)
    if min(map(count, x.shape[2:], kernel, *geometry[:3])) < 1:
        reach = [m + 2 * p for m, p in zip(x.shape[2:], geometry.padding)]
        what = f"kernel size {kernel} with dilation {geometry.dilation} is larger than the padded input, {reach}"
        raise error(RuntimeError, who, what, "pad the input more, or use a smaller kernel")
    if bias is not None and tuple(bias.shape) == weight.shape[:1] and bias._np_dtype == x._np_dtype:
        return finish(ConvBias.apply(x, weight, bias, geometry), who, None, single)
    return finish(Conv.apply(x, weight, geometry), who, bias, single)


def channels(x: Tensor, expected: int) -> str:
    """Return the fix for an input with the wrong number of channels."""
    if x.shape[-1] == expected:
        return f"write input.movedim(-1, {1 - x.ndim}): the channels come before the spatial dimensions"
    return f"build the convolution with in_channels={x.shape[1]}, or pass an input of {expected} channels"


def settings(who: str, n: int, stride: Any, padding: Any, dilation: Any, groups: int = 1) -> Geometry:
    """Return checked settings, one value per dimension."""
    found = Geometry(
        *[per_dim(v, n, who, k) for k, v in (("stride", stride), ("padding", padding), ("dilation", dilation))], groups
    )
    if min(found.stride) < 1 or min(found.dilation) < 1 or min(found.padding) < 0 or groups < 1:
        raise error(
            RuntimeError,
            who,
            f"stride {found.stride}, dilation {found.dilation} and groups {groups} must be positive, padding "
            f"{found.padding} not negative",
            "pass integers: stride, dilation and groups of at least 1, padding of at least 0",
        )
    return found


def check_rank(who: str, n: int, input: Tensor) -> None:
    """Raise RuntimeError for an input of another rank; the batch dimension is optional."""
    if input.ndim not in (n + 1, n + 2):
        what = f"expected {n + 1}D (unbatched) or {n + 2}D (batched) input, but got input of shape {tuple(input.shape)}"
        raise error(RuntimeError, who, what, ranks(input.ndim, n))


def with_batch(who: str, n: int, input: Tensor) -> tuple:
    """Return the input with a batch dimension, and True if that is new."""
    check_rank(who, n, input)
    single = input.ndim == n + 1
    return (input.unsqueeze(0) if single else input), single


def with_weight(who: str, n: int, input: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return the input and a weight of the right rank, in one dtype."""
    expect_numbers(who, input)
    if weight.ndim != n + 2:
        what = f"expected a weight of {n + 2} dimensions, got shape {tuple(weight.shape)}"
        fix = f"pass a weight of shape (out_channels, in_channels / groups, {', '.join(['kernel size'] * n)})"
        raise error(RuntimeError, who, what, fix)
    return one_dtype(who, input, weight, names=("input", "weight"))


def by_name(who: str, x: Tensor, kernel: tuple, stride: Any, name: str, dilation: tuple) -> tuple:
    """Convert padding='valid' or 'same' to numbers; for an odd 'same', pad the input by one element at its far end."""
    if name not in ("valid", "same"):
        raise error(RuntimeError, who, f"invalid padding string {name!r}", "use 'valid' or 'same'")
    if name == "valid":
        return x, 0
    if any(s != 1 for s in per_dim(stride, len(kernel), who, "stride")):
        what = f"padding='same' is not supported for strided convolutions (stride={stride})"
        raise error(RuntimeError, who, what, "use stride=1, or numbers: padding=kernel_size // 2")
    totals = [d * (k - 1) for d, k in zip(dilation, kernel)]
    if any(t % 2 for t in totals):
        x = pad(x, [v for t in reversed(totals) for v in (0, t % 2)])
    return x, tuple([t // 2 for t in totals])


def finish(out: Tensor, who: str, bias: Tensor | None, single: bool) -> Tensor:
    """Add the bias, and remove the batch dimension if the input had none."""
    if bias is not None:
        out, bias = one_dtype(who, out, bias, names=("input", "bias"))
        if tuple(bias.shape) != (out.shape[1],):
            what = f"expected a bias of shape {(out.shape[1],)}, got {tuple(bias.shape)}"
            raise error(RuntimeError, who, what, f"pass one bias for each output channel: zeros({out.shape[1]})")
        out = out + bias.reshape(-1, *[1] * (out.ndim - 2))
    return out[0] if single else out


def columns(x: np.ndarray, kernel: tuple, number: tuple, geometry: Geometry) -> np.ndarray:
    """Return the windows of x as a stack of matrices, (groups, channels * kernel, batch * windows)."""
    n, groups = len(kernel), geometry.groups
    view = windows(padded(x, geometry.padding, geometry.padding), kernel, number, geometry.stride, geometry.dilation)
    view = view.transpose(1, *range(2, n + 2), 0, *range(n + 2, 2 * n + 2))
    return view.reshape(groups, x.shape[1] // groups * math.prod(kernel), x.shape[0] * math.prod(number))


def matrix(x: np.ndarray, groups: int) -> np.ndarray:
    """Return (channels, ...) as a stack of matrices (groups, channels / groups, the rest)."""
    rows = x.shape[0] // groups
    return x.reshape(groups, rows, x.size // (groups * rows) if x.size else math.prod(x.shape[1:]))


def batch_first(x: np.ndarray) -> np.ndarray:
    """Return (channels, batch, ...) as (batch, channels, ...)."""
    return contiguous(x.swapaxes(0, 1))


def cut(t: Tensor, shape: tuple) -> Tensor:
    """Return the leading part of t: if output_padding exceeds the stride, more windows fit than the output has."""
    return t if tuple(t.shape) == tuple(shape) else t[tuple([slice(n) for n in shape])]


def merge(t: Tensor, dim: int) -> Tensor:
    """Merge dimensions dim and dim + 1."""
    s = t.shape
    return t.reshape(*s[:dim], s[dim] * s[dim + 1], *s[dim + 2 :])


def split(t: Tensor, dim: int, size: int) -> Tensor:
    """Split the batch off a merged dimension."""
    s = t.shape
    return t.reshape(*s[:dim], size, s[dim] // size, *s[dim + 1 :])


def grouped(info: Any, in_dims: tuple, x: Tensor, w: Tensor, *settings: Any) -> tuple:
    """Apply Conv or ConvInput under vmap: a batch of inputs is a larger batch, a batch of weights is more groups."""
    cls, size = info.function, info.batch_size
    if in_dims[1] is None:
        return split(cls.apply(merge(x.movedim(in_dims[0], 0), 0), w, *settings), 0, size), 0
    geometry = settings[-1]
    x, w = merge(front(x, in_dims[0], size).movedim(0, 1), 1), merge(w.movedim(in_dims[1], 0), 0)
    out = cls.apply(x, w, *settings[:-1], geometry._replace(groups=size * geometry.groups))
    return split(out, 1, size).movedim(1, 0), 0


def transposed_text(shape: tuple, kernel: tuple, size: tuple, geometry: Geometry) -> str:
    """Return the call of a transposed convolution from an image of `shape` to one of `size`."""
    stride, padding, dilation, _ = geometry
    each = zip(size, shape, stride, padding, dilation, kernel)
    extra = tuple([n - ((m - 1) * s - 2 * p + d * (k - 1) + 1) for n, m, s, p, d, k in each])
    given = (
        f"{geometry.text('stride', 'padding')}, output_padding={single(extra)}, {geometry.text('groups', 'dilation')}"
    )
    return f"conv_transpose{len(size)}d(y, w, {given})"
