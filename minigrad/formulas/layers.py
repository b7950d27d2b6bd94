"""The spelling of layers and losses: convolutions, pooling, norms, cross-entropy, embeddings."""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Tensor
from ..kernels.pool_windows import bounds
from ..ops.compare import where
from ..ops.create import arange, ones
from ..ops.elementary import exp, log, sqrt
from ..ops.from_data import tensor
from ..ops.gather import take_along_dim
from ..ops.join import cat
from ..ops.masks import one_hot
from ..ops.nn import (
    activation,
    conv,
    conv_transpose,
    cross_entropy,
    embedding,
    embedding_bag,
    loss,
    standardize,
    weighted_gather,
)
from ..ops.nn import pool_operations as pool
from ..ops.nn.unfold_fold import Col2Im, Im2Col
from ..ops.sort import SearchSorted, searchsorted
from ..ops.windows import count
from . import expression as e
from .expression import Tree
from .spelling import defined, written
from .terms import Terms, numbers


def one(values: tuple) -> Any:
    """Return a setting for all dimensions as one number, if all are equal."""
    return values[0] if len(set(values)) == 1 else values


def unless_default(usual: Any, values: tuple) -> Any:
    """Return a setting, or None if it has its usual value."""
    return None if set(values) <= {usual} else one(values)


@written(activation.Glu)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, dim: int) -> Tree:
    return e.call("glu", layer.tree(x), dim)


# ---------------------------------------------------------------------- convolutions
@written(conv.Conv, conv.ConvBias)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, w: Tensor, *rest: Any) -> Tree:
    *bias, (stride, padding, dilation, groups) = rest
    return e.call(
        f"conv{x.ndim - 2}d", *map(layer.tree, (x, w, *bias)),
        stride=unless_default(1, stride), padding=unless_default(0, padding), dilation=unless_default(1, dilation),
        groups=None if groups == 1 else groups,
    )  # fmt: skip


@written(conv.ConvInput)
def _(layer: Terms, cls: Any, out: Tensor, y: Tensor, w: Tensor, size: tuple, geometry: conv.Geometry) -> Tree:
    stride, padding, dilation, groups = geometry
    each = zip(size, y.shape[2:], stride, padding, dilation, w.shape[2:])
    extra = tuple([n - ((m - 1) * s - 2 * p + d * (k - 1) + 1) for n, m, s, p, d, k in each])
    return e.call(
        f"conv_transpose{y.ndim - 2}d", layer.tree(y), layer.tree(w),
        stride=unless_default(1, stride), padding=unless_default(0, padding), output_padding=unless_default(0, extra),
        groups=None if groups == 1 else groups, dilation=unless_default(1, dilation),
    )  # fmt: skip


@defined(conv.ConvWeight)
def _(y: Tensor, x: Tensor, kernel: tuple, geometry: conv.Geometry) -> Tensor:
    """Convolve the input with the gradient: examples are summed like channels, strides and dilations swap roles."""
    stride, padding, dilation, groups = geometry
    n, rows, columns = len(kernel), y.shape[1] // groups, x.shape[1] // groups
    run = (conv.conv1d, conv.conv2d, conv.conv3d)[n - 1]
    found = []
    for k in range(groups):
        part_x = x if groups == 1 else x[:, k * columns : (k + 1) * columns]
        part_y = y if groups == 1 else y[:, k * rows : (k + 1) * rows]
        made = run(part_x.transpose(0, 1), part_y.transpose(0, 1), None, dilation, padding, stride).transpose(0, 1)
        found.append(made if tuple(made.shape[2:]) == kernel else made[(..., *[slice(m) for m in kernel])])
    return found[0] if groups == 1 else cat(found)


# ---------------------------------------------------------------------- pooling
@written(pool.MaxPool)
def _(layer: Terms, cls: Any, outs: tuple, x: Tensor, shape: pool.Sliding) -> list:
    word, given, settings = f"max_pool{len(shape.size)}d", (layer.tree(x), one(shape.kernel)), sliding(shape)
    return [e.call(word, *given, **settings), e.subscript(e.call(word, *given, **settings, return_indices=True), 1)]


@written(pool.AdaptiveMaxPool)
def _(layer: Terms, cls: Any, outs: tuple, x: Tensor, parts: pool.EvenParts) -> list:
    word, given = f"adaptive_max_pool{len(parts.size)}d", (layer.tree(x), one(parts.number))
    return [e.call(word, *given), e.subscript(e.call(word, *given, return_indices=True), 1)]


@written(pool.AvgPool)
def _(
    layer: Terms, cls: Any, out: Tensor, x: Tensor, shape: pool.Sliding, count_pad: bool, divisor: int | None
) -> Tree:
    """Write an average pool; a divisor is only possible in two dimensions."""
    tree, n, rows = layer.tree(x), len(shape.size), divisor is not None and len(shape.size) == 1
    if rows:
        tree, n = e.method(tree, "unsqueeze", -2), 2
        shape = pool.Sliding(*[(usual, *given) for usual, given in zip((1, 1, 1, 1, 0, 1), shape)])
    counts_less = any(shape.padding) and not count_pad and divisor is None
    made = e.call(
        f"avg_pool{n}d", tree, one(shape.kernel), **sliding(shape),
        count_include_pad=False if counts_less else None, divisor_override=divisor,
    )  # fmt: skip
    return e.method(made, "squeeze", -2) if rows else made


@written(pool.AdaptiveAvgPool)
def _(
    layer: Terms, cls: Any, out: Tensor, x: Tensor, parts: pool.EvenParts, count_pad: bool, divisor: int | None
) -> Tree:
    return e.call(f"adaptive_avg_pool{len(parts.size)}d", layer.tree(x), one(parts.number))


def sliding(shape: pool.Sliding) -> dict:
    """Return the keyword arguments of sliding windows that are not the usual ones."""
    each = zip(shape.size, shape.kernel, shape.stride, shape.padding, shape.dilation)
    ceil = shape.number != tuple([count(*settings) for settings in each])
    return {
        "stride": None if shape.stride == shape.kernel else one(shape.stride),
        "padding": unless_default(0, shape.padding),
        "dilation": unless_default(1, shape.dilation),
        "ceil_mode": ceil or None,
    }


@defined(pool.SpreadAvg)
def _(x: Tensor, shape: pool.Sliding | pool.EvenParts, count_pad: bool, divisor: int | None) -> Tensor:
    """Divide each element among the positions of its window: with sliding windows, a transposed convolution with ones."""
    by = divisor or pool.elements_per_window(shape, count_pad)
    if not isinstance(by, int) or by != 1:
        x = x / (by if isinstance(by, int) else tensor(by.tolist(), dtype=x.dtype, device=x.device))
    return copied(x, shape) if isinstance(shape, pool.Sliding) else repeated(x, shape)


def copied(x: Tensor, shape: pool.Sliding) -> Tensor:
    """Return a tensor with each element of x added at all positions of its window."""
    n, channels = len(shape.size), x.shape[-len(shape.size) - 1]
    run = (conv_transpose.conv_transpose1d, conv_transpose.conv_transpose2d, conv_transpose.conv_transpose3d)[n - 1]
    each = zip(shape.size, shape.number, shape.stride, shape.padding, shape.kernel)
    extra = [m - ((w - 1) * s - 2 * p + k) for m, w, s, p, k in each]
    made = run(
        x, ones(channels, 1, *shape.kernel, dtype=x.dtype, device=x.device), None, shape.stride, shape.padding,
        [max(v, 0) for v in extra], channels,
    )  # fmt: skip
    return made if min(extra) >= 0 else made[(..., *[slice(m) for m in shape.size])]


def repeated(x: Tensor, parts: pool.EvenParts) -> Tensor:
    """Return a tensor with each element of x added at all positions of its part, one dimension after the other."""
    for d, window in enumerate(parts.along(), x.ndim - len(parts.size)):
        start, end = (ends.tolist() for ends in bounds(window))
        each = x.repeat_interleave(tensor([b - a for a, b in zip(start, end)], device=x.device), d)
        places = tensor([k for a, b in zip(start, end) for k in range(a, b)], device=x.device)
        x = each.new_zeros((*x.shape[:d], window.size, *x.shape[d + 1 :])).index_add(d, places, each)
    return x


@written(Im2Col)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, kernel: tuple, geometry: conv.Geometry) -> Tree:
    return e.call("unfold", layer.tree(x), one(kernel), **windows(geometry))


@written(Col2Im)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, size: tuple, kernel: tuple, geometry: conv.Geometry) -> Tree:
    return e.call("fold", layer.tree(x), size, one(kernel), **windows(geometry))


def windows(geometry: conv.Geometry) -> dict:
    """Return the keyword arguments of windows that are not the usual ones."""
    usual = {"dilation": 1, "padding": 0, "stride": 1}
    return {word: unless_default(number, getattr(geometry, word)) for word, number in usual.items()}


# ---------------------------------------------------------------------- classes
@written(cross_entropy.NLL)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, target: Tensor, dim: int, ignore: int) -> Tree:
    ignored = ignore if ignores(target, ignore) else None
    return e.call("nll_loss", layer.tree(x), layer.tree(target), ignore_index=ignored, reduction="none")


@written(cross_entropy.MeanNLL)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, target: Tensor, dim: int, ignore: int, lead: int) -> Tree:
    return e.call(
        "nll_loss", layer.tree(x), layer.tree(target), ignore_index=ignore if ignores(target, ignore) else None
    )


@written(cross_entropy.CrossEntropy, cross_entropy.MeanCrossEntropy)
def _(layer: Terms, cls: Any, outs: tuple, x: Tensor, target: Tensor, dim: int, ignore: int, *lead: int) -> list:
    ignored = ignore if ignores(target, ignore) else None
    reduction = None if cls is cross_entropy.MeanCrossEntropy else "none"
    made = e.call("cross_entropy", layer.tree(x), layer.tree(target), ignore_index=ignored, reduction=reduction)
    return [made, e.call("log_softmax", layer.tree(x), dim)]


def ignores(target: Tensor, ignore: int) -> bool:
    """Return True if some target is the ignored class."""
    return bool((numbers(target) == ignore).any())


@written(cross_entropy.CountValid)
def _(layer: Terms, cls: Any, out: Tensor, target: Tensor, ignore: int, dtype: Any, lead: int) -> Tree:
    if ignores(target, ignore):
        return e.method(e.operator("!=", layer.tree(target), ignore), "sum")
    return e.method(layer.tree(target), "numel")


@defined(cross_entropy.AtTarget)
def _(x: Tensor, target: Tensor, size: tuple, dim: int, ignore: int) -> Tensor:
    return chosen(target, size[dim], dim, ignore) * counted(x, target, ignore).unsqueeze(dim)


@defined(cross_entropy.FromLogits)
def _(w: Tensor, target: Tensor, log_p: Tensor, dim: int, ignore: int) -> Tensor:
    return (exp(log_p) - chosen(target, log_p.shape[dim], dim, ignore)) * counted(w, target, ignore).unsqueeze(dim)


def chosen(target: Tensor, n: int, dim: int, ignore: int) -> Tensor:
    """Return 1 at each example's class and 0 elsewhere, along a dimension."""
    known = where(target == ignore, 0, target) if ignores(target, ignore) else target
    return one_hot(known, n).movedim(-1, dim)


def counted(x: Tensor, target: Tensor, ignore: int) -> Tensor:
    """Return x with 0 for ignored examples."""
    return where(target == ignore, 0.0, x) if ignores(target, ignore) else x


@written(embedding.Embed)
def _(layer: Terms, cls: Any, out: Tensor, weight: Tensor, indices: Tensor, padding: Any, even: bool) -> Tree:
    return e.call("embedding", layer.tree(indices), layer.tree(weight))


@defined(embedding.AddRows)
def _(x: Tensor, indices: Tensor, n: int) -> Tensor:
    rows = x.new_zeros((n, *x.shape[indices.ndim :]))
    if indices.ndim == 1:
        return rows.index_add(0, indices, x)
    return rows.index_put((indices,), x, accumulate=True)


def at_places(x: Tensor, places: Tensor) -> Tensor:
    """Return the elements at the given positions, of shape (n, c, k, points)."""
    return take_along_dim(x.unsqueeze(2), places.clamp_min(0).unsqueeze(1), -1)


def where_there(places: Tensor, terms: Tensor) -> Tensor:
    """Return terms with zeros where a position is negative."""
    return where(places < 0, 0.0, terms) if bool((numbers(places) < 0).any()) else terms


@defined(weighted_gather.WeightedGather)
def _(x: Tensor, w: Tensor, places: Tensor) -> Tensor:
    return where_there(places.unsqueeze(1), at_places(x, places) * w.unsqueeze(1)).sum(2)


@defined(weighted_gather.GatheredProducts)
def _(y: Tensor, x: Tensor, places: Tensor) -> Tensor:
    return where_there(places, (at_places(x, places) * y.unsqueeze(2)).sum(1))


@defined(weighted_gather.WeightedScatter)
def _(y: Tensor, w: Tensor, places: Tensor, size: int) -> Tensor:
    terms = where_there(places.unsqueeze(1), y.unsqueeze(2) * w.unsqueeze(1)).flatten(2)
    index = places.clamp_min(0).flatten(1).unsqueeze(1).expand(terms.shape)
    return y.new_zeros((*y.shape[:2], size)).scatter_add(2, index, terms)


@defined(weighted_gather.CombinedPlaces)
def _(taps: Tensor, sizes: tuple) -> Tensor:
    outside = -math.prod(sizes)
    one, *others = [
        where((here >= 0) & (here < size), here, outside).long() for here, size in zip(taps.unbind(1), sizes)
    ]
    for d, other in enumerate(others, 1):
        one = (other.unsqueeze(2) * math.prod(sizes[:d]) + one.unsqueeze(1)).flatten(1, 2)
    return one.clamp_min(-1)


@written(SearchSorted)
def _(layer: Terms, cls: Any, out: Tensor, rows: Tensor, values: Tensor, right: bool) -> Tree:
    return e.call("searchsorted", layer.tree(rows), layer.tree(values), right=right or None)


@defined(embedding_bag.BagNumbers)
def _(offsets: Tensor, n: int) -> Tensor:
    return searchsorted(offsets, arange(n, device=offsets.device), right=True) - 1


# ---------------------------------------------------------------------- losses and norms
@defined(loss.Probability)
def _(x: Tensor, y: Tensor) -> Tensor:
    return -(y * log(x) + (1 - y) * log(1 - x))


@defined(loss.Variance)
def _(x: Tensor, least: float) -> Tensor:
    return x.clamp_min(least)


@defined(standardize.Standardize)
def _(x: Tensor, dims: tuple, eps: float) -> tuple:
    mean, variance = x.mean(dims, True), x.var(dims, correction=0, keepdim=True)
    return (x - mean) / sqrt(variance + eps), mean, variance


@defined(standardize.LayerNorm)
def _(x: Tensor, weight: Tensor, bias: Tensor, dims: tuple, eps: float) -> tuple:
    mean, variance = x.mean(dims, True), x.var(dims, correction=0, keepdim=True)
    return (x - mean) / sqrt(variance + eps) * weight + bias, mean, variance


@defined(standardize.DivideByRMS)
def _(x: Tensor, dims: tuple, eps: float) -> tuple:
    factor = 1 / sqrt((x**2).mean(dims, True) + eps)
    return x * factor, factor


@defined(standardize.DivideByNorm)
def _(x: Tensor, dims: tuple, eps: float) -> tuple:
    norm = x.norm(2, dims, True)
    return x / norm.clamp_min(eps), norm


defined(standardize.Channelwise)(lambda x, factor, begin: x * factor + begin)
