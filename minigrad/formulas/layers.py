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
from ..ops.sort import searchsorted
from . import expression as e
from .expression import Tree
from .spelling import defined, written
from .terms import Terms, numbers


# ---------------------------------------------------------------------- convolutions
@defined(conv.ConvWeight)
def conv_weight(y: Tensor, x: Tensor, kernel: tuple, geometry: conv.Geometry) -> Tensor:
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
@defined(pool.SpreadAvg)
def spread_avg(x: Tensor, shape: pool.Sliding | pool.EvenParts, count_pad: bool, divisor: int | None) -> Tensor:
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


# ---------------------------------------------------------------------- classes
def ignores(target: Tensor, ignore: int) -> bool:
    """Return True if some target is the ignored class."""
    return bool((numbers(target) == ignore).any())


@written(cross_entropy.CountValid)
def count_valid(layer: Terms, cls: Any, out: Tensor, target: Tensor, ignore: int, dtype: Any, lead: int) -> Tree:
    if ignores(target, ignore):
        return e.method(e.operator("!=", layer.tree(target), ignore), "sum")
    return e.method(layer.tree(target), "numel")


@defined(cross_entropy.AtTarget)
def at_target(x: Tensor, target: Tensor, size: tuple, dim: int, ignore: int) -> Tensor:
    return chosen(target, size[dim], dim, ignore) * counted(x, target, ignore).unsqueeze(dim)


@defined(cross_entropy.FromLogits)
def from_logits(w: Tensor, target: Tensor, log_p: Tensor, dim: int, ignore: int) -> Tensor:
    return (exp(log_p) - chosen(target, log_p.shape[dim], dim, ignore)) * counted(w, target, ignore).unsqueeze(dim)


def chosen(target: Tensor, n: int, dim: int, ignore: int) -> Tensor:
    """Return 1 at each example's class and 0 elsewhere, along a dimension."""
    known = where(target == ignore, 0, target) if ignores(target, ignore) else target
    return one_hot(known, n).movedim(-1, dim)


def counted(x: Tensor, target: Tensor, ignore: int) -> Tensor:
    """Return x with 0 for ignored examples."""
    return where(target == ignore, 0.0, x) if ignores(target, ignore) else x


@defined(embedding.AddRows)
def add_rows(x: Tensor, indices: Tensor, n: int) -> Tensor:
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
def gathered_with_weights(x: Tensor, w: Tensor, places: Tensor) -> Tensor:
    return where_there(places.unsqueeze(1), at_places(x, places) * w.unsqueeze(1)).sum(2)


@defined(weighted_gather.GatheredProducts)
def gathered_products(y: Tensor, x: Tensor, places: Tensor) -> Tensor:
    return where_there(places, (at_places(x, places) * y.unsqueeze(2)).sum(1))


@defined(weighted_gather.WeightedScatter)
def weighted_scatter(y: Tensor, w: Tensor, places: Tensor, size: int) -> Tensor:
    terms = where_there(places.unsqueeze(1), y.unsqueeze(2) * w.unsqueeze(1)).flatten(2)
    index = places.clamp_min(0).flatten(1).unsqueeze(1).expand(terms.shape)
    return y.new_zeros((*y.shape[:2], size)).scatter_add(2, index, terms)


@defined(weighted_gather.CombinedPlaces)
def combined_places(taps: Tensor, sizes: tuple) -> Tensor:
    outside = -math.prod(sizes)
    one, *others = [
        where((here >= 0) & (here < size), here, outside).long() for here, size in zip(taps.unbind(1), sizes)
    ]
    for d, other in enumerate(others, 1):
        one = (other.unsqueeze(2) * math.prod(sizes[:d]) + one.unsqueeze(1)).flatten(1, 2)
    return one.clamp_min(-1)


@defined(embedding_bag.BagNumbers)
def bag_numbers(offsets: Tensor, n: int) -> Tensor:
    return searchsorted(offsets, arange(n, device=offsets.device), right=True) - 1


# ---------------------------------------------------------------------- losses and norms
@defined(loss.Probability)
def probability(x: Tensor, y: Tensor) -> Tensor:
    return -(y * log(x) + (1 - y) * log(1 - x))


@defined(loss.Variance)
def variance(x: Tensor, least: float) -> Tensor:
    return x.clamp_min(least)


@defined(standardize.Standardize)
def standardized(x: Tensor, dims: tuple, eps: float) -> tuple:
    mean, variance = x.mean(dims, True), x.var(dims, correction=0, keepdim=True)
    return (x - mean) / sqrt(variance + eps), mean, variance


@defined(standardize.LayerNorm)
def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, dims: tuple, eps: float) -> tuple:
    mean, variance = x.mean(dims, True), x.var(dims, correction=0, keepdim=True)
    return (x - mean) / sqrt(variance + eps) * weight + bias, mean, variance


@defined(standardize.DivideByRMS)
def divide_by_rms(x: Tensor, dims: tuple, eps: float) -> tuple:
    factor = 1 / sqrt((x**2).mean(dims, True) + eps)
    return x * factor, factor


@defined(standardize.DivideByNorm)
def divide_by_norm(x: Tensor, dims: tuple, eps: float) -> tuple:
    norm = x.norm(2, dims, True)
    return x / norm.clamp_min(eps), norm


defined(standardize.Channelwise)(lambda x, factor, begin: x * factor + begin)
