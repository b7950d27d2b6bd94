"""Resize images and signals: interpolate; pixel_shuffle, which trades channels for size; channel_shuffle."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ...arrays import dtypes
from ...core.tensor import Tensor
from ...errors import error
from ..base.layouts import wrap_near
from ..copy import Contiguous
from ..index import Take
from .adaptive_pool import adaptive_avg_pool
from .entry import expect_floats, functional


def interpolate_node(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None,
    recompute_scale_factor: Any = None, antialias: bool = False,
) -> str:  # fmt: skip
    """Return PyTorch's node of interpolate; with "area" it is the node of a pooling."""
    kind = "".join(word.capitalize() for word in mode.split("-"))
    return "" if mode == "area" else f"Upsample{kind}{input.ndim - 2}D{'Aa' * antialias}"


@functional(
    "T(2, 3, 4), 7",
    "T(1, 2, 3, 4), scale_factor=2",
    "T(1, 2, 5, 4), (3, 7)",
    "T(1, 2, 3, 4), scale_factor=1.7",
    "T(2, 3, 4), 7, mode='linear'",
    "T(2, 3, 4), 7, None, 'linear', True",
    "T(1, 2, 3, 4), (5, 9), mode='bilinear'",
    "T(1, 2, 4, 5), scale_factor=(1.5, 0.7), mode='bilinear'",
    "T(1, 2, 4, 5), (2, 1), mode='bilinear', align_corners=True",
    "T(1, 2, 4, 5), scale_factor=1.5, mode='bilinear', recompute_scale_factor=True",
    "T(1, 2, 4, 5), (7, 3), mode='bicubic'",
    "T(1, 1, 4, 3), scale_factor=1.7, mode='bicubic', align_corners=True",
    "T(1, 1, 4, 4), 3, mode='area'",
    "T(1, 1, 3, 4), 5, mode='nearest-exact'",
    "T(1, 1, 5, 4), (2, 6), mode='bilinear', antialias=True",
    "T(1, 1, 5, 4), (2, 6), mode='bicubic', antialias=True",
    node=interpolate_node,
)
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize the dimensions behind the first two of (n, c, ...) to `size`, or by `scale_factor`.

    `mode` is "nearest", "nearest-exact", "linear" (3 dimensions), "bilinear" or "bicubic" (4), "trilinear" (5) or
    "area".  With `align_corners` the centres of the corner elements keep their places, else the outer edges do.
    "bilinear" and "bicubic" round bytes (uint8); with `antialias` they average all old elements below a new one, as Pillow
    does.  Raises NotImplementedError for a mode that does not support the number of dimensions or integers; ValueError for
    antialias with other modes, and unless exactly one of `size` and `scale_factor` is given; RuntimeError for sizes of 0.
    Source of bicubic: Keys, "Cubic convolution interpolation for digital image processing", 1981, with a = -0.75.
    """
    n = input.ndim - 2
    smooth = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
    if not (1 <= n <= 3 and smooth.get(mode, n) == n and mode in (*smooth, "nearest", "nearest-exact", "area")):
        raise error(
            NotImplementedError,
            "interpolate",
            f"mode {mode!r} does not support an input of {input.ndim} dimensions",
            "use 'nearest' or 'area', or 'linear' with 3 dimensions, 'bilinear' or 'bicubic' with 4, 'trilinear' with 5",
        )
    if align_corners is not None and mode not in smooth:
        what = "align_corners can only be set with the modes linear, bilinear, bicubic and trilinear"
        raise error(ValueError, "interpolate", what, "leave align_corners out, or write mode='bilinear'")
    if antialias and mode not in ("bilinear", "bicubic"):
        fix = "leave antialias=True out, or write mode='bilinear'"
        raise error(ValueError, "interpolate", f"antialias supports bilinear and bicubic, not mode {mode!r}", fix)
    sizes, factors = targets(input, size, scale_factor, n, bool(recompute_scale_factor))
    if min(*sizes, *input.shape[2:]) < 1:
        raise error(
            RuntimeError,
            "interpolate",
            f"input and output sizes should be greater than 0, but got input {tuple(input.shape[2:])}, output {sizes}",
            "pass a size of at least 1",
        )
    if mode == "area":
        return adaptive_avg_pool("interpolate", n, input, sizes)
    of_bytes = mode in ("bilinear", "bicubic") and input.dtype is dtypes.uint8
    if mode in smooth and not of_bytes:
        expect_floats("interpolate", input)
    for d, new, factor in reversed(list(zip(range(2, input.ndim), sizes, factors))):
        old = input.shape[d]
        x = input.float() if of_bytes else input
        if antialias:
            x = averaged(x, d, new, stride(old, new, factor, bool(align_corners)), mode == "bicubic")
        else:
            x = combined(x, d, neighbours(mode, old, new, factor, bool(align_corners)))
        input = to_bytes(x) if of_bytes else x
    return input


def targets(input: Tensor, size: Any, scale_factor: Any, n: int, recompute: bool) -> tuple:
    """Return the new sizes, and the given scale factors (None: follow the sizes)."""
    if (size is None) == (scale_factor is None):
        what = "takes exactly one of size and scale_factor"
        raise error(ValueError, "interpolate", what, "write size=(h, w) or scale_factor=2")
    given = scale_factor if size is None else size
    values = tuple(given) if isinstance(given, (tuple, list)) else (given,) * n
    if len(values) != n:
        name = "scale_factor" if size is None else "size"
        raise error(
            ValueError,
            "interpolate",
            f"{name}={given} should have {n} values, one per spatial dimension of an input of shape {tuple(input.shape)}",
            f"write {name}={(2,) * n if n > 1 else 2}",
        )
    if size is not None:
        return tuple([int(v) for v in values]), (None,) * n
    sizes = tuple([math.floor(m * f) for m, f in zip(input.shape[2:], values)])
    return sizes, (None,) * n if recompute else tuple(map(float, values))


def stride(old: int, new: int, factor: float | None, align_corners: bool) -> float:
    """Return the distance of two new elements that are neighbours, in old ones."""
    if align_corners:
        return (old - 1) / (new - 1) if new > 1 else 0.0
    return old / new if factor is None else 1 / factor


def source(old: int, new: int, factor: float | None, align_corners: bool) -> np.ndarray:
    """Return the position of each new element among the old ones."""
    step, shift = stride(old, new, factor, align_corners), 0.0 if align_corners else 0.5
    return (np.arange(new) + shift) * step - shift


@lru_cache(256)
def neighbours(mode: str, old: int, new: int, factor: float | None, align_corners: bool) -> list:
    """Return the terms of new elements along one dimension: the indices of old ones, and their weights, None for 1.

    Beyond the border, the border's element repeats.
    """
    if "nearest" in mode:
        at = (np.arange(new) + (0.5 if mode == "nearest-exact" else 0.0)) * stride(old, new, factor, False)
        terms = [(np.floor(at).astype(np.int64), None)]
    elif mode == "bicubic":
        terms = cubic(source(old, new, factor, align_corners))
    else:
        at = np.maximum(source(old, new, factor, align_corners), 0.0)
        low = np.minimum(np.floor(at).astype(np.int64), old - 1)
        terms = [(low, 1 - (at - low)), (low + 1, at - low)]
    return [(np.clip(i, 0, old - 1), w) for i, w in terms]


def near(x: np.ndarray, a: float) -> np.ndarray:
    """Return Keys' cubic kernel at distances of at most 1."""
    return ((a + 2) * x - (a + 3)) * x * x + 1


def far(x: np.ndarray, a: float) -> np.ndarray:
    """Return Keys' cubic kernel at distances from 1 to 2."""
    return ((x - 5) * x + 8) * x * a - 4 * a


def cubic(at: np.ndarray, a: float = -0.75) -> list:
    """Return the four neighbours of cubic convolution, weighted by their distances."""
    low = np.floor(at).astype(np.int64)
    t = at - low
    weights = [far(t + 1, a), near(t, a), near(1 - t, a), far(2 - t, a)]
    return [(low + i, w) for i, w in enumerate(weights, -1)]


def averaged(input: Tensor, dim: int, new: int, step: float, cubic: bool) -> Tensor:
    """Average along one dimension: the kernel is as wide as a new element if that is wider than an old one.

    PyTorch measures from the outer edges here, even with align_corners, and has a = -0.5 in the cubic kernel, as Pillow.
    """
    middle = (np.arange(new) + 0.5)[:, None] * step
    x = np.abs(np.arange(input.shape[dim]) + 0.5 - middle) / max(step, 1.0)
    curve = np.where(x < 1, near(x, -0.5), np.where(x < 2, far(x, -0.5), 0.0)) if cubic else np.maximum(1 - x, 0.0)
    weights = (curve / curve.sum(1, keepdims=True)).T.astype(input._np_dtype)
    return Contiguous.apply((input.movedim(dim, -1) @ wrap_near(weights, input)).movedim(-1, dim))


def to_bytes(x: Tensor) -> Tensor:
    """Return bytes, rounded to nearest: PyTorch rounds after each dimension, halves up."""
    return (x + 0.5).floor().clamp(0, 255).to(dtypes.uint8)


def combined(input: Tensor, dim: int, terms: list) -> Tensor:
    """Return the weighted sum of elements along one dimension."""
    shape, picked = (-1, *[1] * (input.ndim - dim - 1)), []
    for i, w in terms:
        x = Take.apply(input, (dim,), wrap_near(i, input))
        picked.append(x if w is None else x * wrap_near(w.astype(input._np_dtype).reshape(shape), input))
    return sum(picked[1:], picked[0])


@functional("T(1, 2, 3, 4), 5", "T(1, 2, 3), scale_factor=2, mode='linear'", node=interpolate_node)
def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """Resize; PyTorch's older name of interpolate."""
    return interpolate(input, size, scale_factor, mode, align_corners)


@functional("T(1, 2, 3, 4), 5", "T(1, 2, 3), scale_factor=2")
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Resize by repeating the nearest element; PyTorch's older name of interpolate with mode="nearest"."""
    return interpolate(input, size, scale_factor)


@functional("T(1, 2, 3, 4), 5", "T(1, 2, 3, 4), scale_factor=2")
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Resize images bilinearly; PyTorch's older name of interpolate with mode="bilinear" and align_corners=True."""
    return interpolate(input, size, scale_factor, "bilinear", True)


@functional("T(2, 8, 2, 3), 2", "T(9, 2, 2), 3", node="PixelShuffle")
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Rearrange (..., c * r * r, h, w) to (..., c, h * r, w * r), for r = `upscale_factor`."""
    r, lead = upscale_factor, tuple(input.shape[:-3])
    if input.ndim < 3 or r < 1 or input.shape[-3] % (r * r):
        raise error(
            RuntimeError,
            "pixel_shuffle",
            f"expects the channels (dimension -3) of an input of shape {tuple(input.shape)} to be "
            f"divisible by upscale_factor ** 2 = {r * r}",
            f"make {r * r} channels for each output channel: nn.Conv2d(c, {r * r} * c, 3, padding=1)",
        )
    c, h, w = input.shape[-3] // (r * r), *input.shape[-2:]
    x = input.reshape(*lead, c, r, r, h, w).movedim((-4, -3), (-3, -1))
    return Contiguous.apply(x).reshape(*lead, c, h * r, w * r)


@functional("T(2, 2, 4, 6), 2", "T(1, 3, 6), 3", node="PixelUnshuffle")
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Rearrange (..., c, h * r, w * r) to (..., c * r * r, h, w), for r = `downscale_factor`: the inverse of pixel_shuffle."""
    r, lead = downscale_factor, tuple(input.shape[:-3])
    if input.ndim < 3 or r < 1 or input.shape[-2] % r or input.shape[-1] % r:
        raise error(
            RuntimeError,
            "pixel_unshuffle",
            f"expects height and width of an input of shape {tuple(input.shape)} to be divisible by "
            f"downscale_factor = {r}",
            "pad height and width to a multiple: nn.functional.pad(input, (0, right, 0, bottom))",
        )
    c, h, w = input.shape[-3], input.shape[-2] // r, input.shape[-1] // r
    x = input.reshape(*lead, c, h, r, w, r).movedim((-3, -1), (-4, -3))
    return Contiguous.apply(x).reshape(*lead, c * r * r, h, w)


@functional("T(2, 6, 2, 3), 3", "T(1, 4, 3), 2", node="ChannelShuffle")
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Reorder the channels of (n, groups * c, ...) as 0, c, 2 c, ..., 1, c + 1, ...: the first of each group comes first.

    Source: Zhang et al., "ShuffleNet", 2017.
    """
    if input.ndim < 3 or groups < 1 or input.shape[1] % groups:
        raise error(
            RuntimeError,
            "channel_shuffle",
            f"expects 3 or more dimensions, and channels (dimension 1) that are divisible by groups = {groups}, "
            f"got an input of shape {tuple(input.shape)}",
            f"make the number of channels a multiple of {max(groups, 1)}",
        )
    x = input.unflatten(1, (groups, input.shape[1] // groups)).movedim(1, 2)
    return Contiguous.apply(x).flatten(1, 2)
