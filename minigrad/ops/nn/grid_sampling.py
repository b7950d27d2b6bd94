"""Sample images and volumes between their points: affine_grid computes the places, grid_sample the values there.

Along each dimension a point has a few neighbours (taps), weighted by their distances; its value is the sum over all
combinations of taps (weighted_gather.py).  Source: Jaderberg et al., "Spatial transformer networks", 2015.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...arrays.dtypes import HALVES
from ...arrays.kinds import require_one_device
from ...core.saved import plain_tensor
from ...core.tensor import Tensor
from ...errors import error
from ...kernels.cpu import grid_sample_cpu as kernels
from ..base.layouts import wrap_near
from ..base.program import Program
from ..compare import Clamp, where
from ..create import arange, ones_like
from ..join import stack
from .entry import expect_floats, functional
from .weighted_gather import CombinedPlaces, WeightedGather


@functional(
    "T(2, 2, 3), (2, 1, 3, 4)",
    "T(1, 2, 3), (1, 2, 2, 1), align_corners=True",
    "T(1, 3, 4), (1, 1, 2, 3, 2)",
    node="AffineGridGenerator",
)
def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Return the input coordinates of each point of an output of `size` under affine maps: the grid for grid_sample.

    `theta` is (n, 2, 3) for a size (n, c, h, w), or (n, 3, 4) for (n, c, d, h, w); the result is (n, h, w, 2) or
    (n, d, h, w, 3).  Coordinates range from -1 to 1, x first: to the centres of the corner elements with `align_corners`,
    else to their outer edges.  Raises NotImplementedError for a size of other length, ValueError for other shapes and sizes
    below 1, RuntimeError for another n.
    """
    expect_floats("affine_grid", theta)
    if not isinstance(size, (tuple, list)):
        what = f"size must be a tuple of integers, got {type(size).__name__}"
        raise error(TypeError, "affine_grid", what, "write affine_grid(theta, input.shape)")
    n = len(size) - 2
    if n not in (2, 3) or tuple(theta.shape) != (size[0], n, n + 1) or min(size) < 1:
        batches = tuple(theta.shape[1:]) == (n, n + 1) and min(size) > 0  # only these differ
        raise error(
            NotImplementedError if n not in (2, 3) else RuntimeError if batches else ValueError,
            "affine_grid",
            f"expected theta of shape (n, 2, 3) and a size (n, c, h, w), or (n, 3, 4) and (n, c, d, h, w), all sizes "
            f"positive, but got theta {tuple(theta.shape)} and size {tuple(size)}",
            "write affine_grid(theta, input.shape)",
        )
    axes = []
    for d, m in enumerate(size[:1:-1]):  # x, y, z
        i = arange(m, dtype=theta.dtype, device=theta.device)
        at = (2 * i / max(m - 1, 1) - (1 if m > 1 else 0)) if align_corners else (2 * i + 1) / m - 1
        axes.append(at.reshape(m, *[1] * d).expand(size[2:]))
    points = stack([*axes, ones_like(axes[0])], -1).flatten(0, -2)
    return (points @ theta.mT).unflatten(1, tuple(size[2:]))


@functional(
    "T(2, 3, 4, 5), T(2, 3, 2, 2)",
    "T(1, 2, 4, 5), 2 * T(1, 3, 2, 2), align_corners=True",
    "T(1, 2, 4, 3), 2 * T(1, 3, 2, 2), padding_mode='border'",
    "T(1, 2, 4, 3), 3 * T(1, 3, 2, 2), padding_mode='reflection'",
    "T(1, 2, 4, 5), T(1, 3, 2, 2), 'bicubic'",
    "T(1, 1, 4, 5), 2 * T(1, 2, 2, 2), 'bicubic', 'border', True",
    "T(1, 2, 4, 5), T(1, 3, 2, 2).detach(), 'nearest'",
    "T(1, 2, 2, 3, 4), T(1, 2, 1, 2, 3)",
    "T(1, 1, 3, 2, 4), 2 * T(1, 2, 1, 2, 3).detach(), 'nearest', 'border'",
    "T(1, 1, 3, 2, 4), 2 * T(1, 2, 1, 2, 3), padding_mode='reflection'",
    node=lambda input, *_, **__: f"GridSampler{input.ndim - 2}D",
)
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Return the values of `input`, (n, c, h, w) or (n, c, d, h, w), at the points of `grid`, (n, ..., 2) or (n, ..., 3).

    Coordinates range from -1 to 1, x first: to the centres of the corner elements with `align_corners`, else to their outer
    edges.  `mode` is "bilinear", which weighs all neighbours of a volume too, "nearest" or, for images, "bicubic" (Keys,
    a = -0.75).  `padding_mode` defines values outside: "zeros", "border" repeats the edge, "reflection" mirrors at it.
    Raises ValueError for other words, RuntimeError for shapes that do not fit together.
    """
    expect_floats("grid_sample", input)
    check(input, grid, mode, padding_mode)
    if input._np_dtype in HALVES:  # too few digits to distinguish places
        return grid_sample(input.float(), grid.float(), mode, padding_mode, align_corners).to(input.dtype)
    return GridSample.apply(input, grid, mode, padding_mode, bool(align_corners))


class GridSample(Program):
    """grid_sample with its arguments checked."""

    call = "grid_sample(x, grid, mode, padding_mode, align_corners)"
    n_settings = 3

    @staticmethod
    def program(x: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool) -> Tensor:
        sizes = tuple(x.shape[:1:-1])  # x first, like the grid
        size = by_dimension(grid, sizes)
        at = grid.flatten(1, -2).mT.contiguous().unsqueeze(2)  # (n, dimensions, 1, points)
        at = (at + 1) / 2 * (size - 1) if align_corners else ((at + 1) * size - 1) / 2
        inside = lambda x: within(x, sizes, padding_mode, align_corners)
        taps, w = neighbours(at if mode == "bicubic" else inside(at), mode)
        places = CombinedPlaces.apply(inside(taps) if mode == "bicubic" else taps, sizes)
        weights = w[:, 0]
        for d in range(1, len(sizes)):
            weights = (w[:, d, :, None] * weights.unsqueeze(1)).flatten(1, 2)
        return WeightedGather.apply(x.flatten(2), weights, places).unflatten(2, tuple(grid.shape[1:-1]))

    # a seventh of the program's time for 64 pictures of 28 x 28
    @classmethod
    def impl(cls, x: np.ndarray, grid: np.ndarray, mode: str, padding_mode: str, align_corners: bool) -> np.ndarray:
        found = kernels.sample(x, grid, WEIGHTS[mode], padding_mode, align_corners)
        return super().impl(x, grid, mode, padding_mode, align_corners) if found is None else found

    @staticmethod
    def arrays(gs: tuple, bound: tuple) -> tuple | None:
        """Return the gradients of x and the grid on arrays; None to leave them to the program."""
        x, grid, mode, *settings = bound[:5]
        found = kernels.gradients(gs[0], x, grid, WEIGHTS[mode], *settings)
        return None if found is None else (*found, None, None, None)


def check(input: Tensor, grid: Tensor, mode: str, padding_mode: str) -> None:
    """Raise an error for unknown words, and for shapes that do not fit together."""
    who, k = "grid_sample", input.ndim - 2
    for name, value, known in (
        ("mode", mode, tuple(WEIGHTS)),
        ("padding_mode", padding_mode, ("zeros", "border", "reflection")),
    ):
        if value not in known:
            what = f"expected {name} to be one of {', '.join(map(repr, known))}, but got {value!r}"
            raise error(ValueError, who, what, f"write {name}={known[0]!r}")
    if k not in (2, 3) or grid.ndim != input.ndim or grid.shape[-1] != k or len(grid) != len(input):
        raise error(
            RuntimeError,
            who,
            f"expected input (n, c, h, w) and grid (n, ..., ..., 2), or one dimension more in both and a last "
            f"size of 3, but got input {tuple(input.shape)} and grid {tuple(grid.shape)}",
            "make a grid with affine_grid(theta, size)",
        )
    require_one_device(who, {"input": plain_tensor(input)._a, "grid": plain_tensor(grid)._a})
    if min(input.shape[2:]) < 1 or mode == "bicubic" and k == 3 or input.dtype is not grid.dtype:
        what = (
            f"input of {input.dtype} and grid of {grid.dtype} must have one dtype"
            if input.dtype is not grid.dtype
            else "bicubic interpolation only supports 4D input"
            if min(input.shape[2:]) > 0
            else f"the input, of shape {tuple(input.shape)}, has no elements to sample"
        )
        raise error(
            RuntimeError, who, what, "use grid.to(input.dtype), or mode='bilinear' for volumes that are not empty"
        )


class Edge(Clamp):
    """Clamp to [lo, hi], without a gradient at the bounds, as in PyTorch."""

    call = "clamp(x, lo, hi)"
    name = "clamp"
    dx = lambda g, x, lo, hi: where((x > lo) & (x < hi), g, 0.0)


def within(at: Tensor, sizes: tuple, padding_mode: str, corners: bool) -> Tensor:
    """Return coordinates moved inside by `padding_mode`."""
    if padding_mode == "zeros":
        return at
    if padding_mode == "reflection":
        low, spans = (0.0, [n - 1 for n in sizes]) if corners else (-0.5, sizes)
        far = (at - low).abs() % by_dimension(at, [2 * span or 1 for span in spans])
        span = by_dimension(at, spans)
        at = span - (far - span).abs() + low
    return Edge.apply(at, 0.0, by_dimension(at, [n - 1 for n in sizes]))


A = -0.75  # Keys' parameter, with PyTorch's value
# mode -> for each neighbour, counted from the one below, its weight as coefficients of powers of the distance from there
WEIGHTS: dict[str, dict[int, tuple]] = {
    "bilinear": {0: (-1.0, 1.0), 1: (1.0, 0.0)},
    "nearest": {0: (0.0, 1.0)},  # a slope of 0: the grid's gradient is zeros, as in PyTorch
    "bicubic": {
        -1: (A, -2 * A, A, 0.0),
        0: (A + 2, -A - 3, 0.0, 1.0),
        1: (-A - 2, 2 * A + 3, -A, 0.0),
        2: (-A, A, 0.0, 0.0),
    },
}


def neighbours(at: Tensor, mode: str) -> tuple[Tensor, Any]:
    """Return the positions and the weights of the neighbours of points, both (n, dimensions, neighbours, points)."""
    base, table = at.detach(), WEIGHTS[mode]
    base = base.round() if mode == "nearest" else base.floor()
    weights, *rest = [constant(at, numbers) for numbers in zip(*table.values())]
    for coefficients in rest:
        weights = weights * (at - base) + coefficients
    return base + constant(at, table), weights


def by_dimension(like: Tensor, numbers: Iterable) -> Tensor:
    """Return one number per dimension of points, to broadcast against (n, dimensions, neighbours, points)."""
    return constant(like, numbers).unsqueeze(2)


def constant(like: Tensor, numbers: Iterable) -> Tensor:
    """Return numbers as a column, with a tensor's dtype and on its device."""
    return wrap_near(np.array([*numbers], plain_tensor(like)._np_dtype)[:, None], like)
