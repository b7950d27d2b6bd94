"""unfold and fold of nn.functional: the windows of an image as columns of a matrix, and their sum back into an image."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays.kinds import contiguous
from ...core.tensor import Tensor
from ...errors import error
from ..base.families import Linear
from ..dimensions import single
from ..windows import add_windows, count, padded, per_dim, windows
from .conv import Geometry, check_rank, settings
from .entry import functional

WINDOWS = ("dilation", "padding", "stride")


class Im2Col(Linear):
    """All windows of x as columns: (..., c, *size) becomes (..., c * elements of a window, number of windows)."""

    call = lambda kernel, geometry: f"unfold(x, {single(kernel)}, {geometry.text(*WINDOWS)})"

    @staticmethod
    def impl(x: np.ndarray, kernel: tuple, geometry: Geometry) -> np.ndarray:
        *lead, c = x.shape[:-2]
        number = tuple(map(count, x.shape[-2:], kernel, *geometry[:3]))
        whole = padded(x, geometry.padding, geometry.padding)
        view = windows(whole, kernel, number, geometry.stride, geometry.dilation)
        return view.copy().reshape(*lead, c * math.prod(kernel), math.prod(number))

    dx = lambda g, shape, kernel, geometry: Col2Im.apply(g, tuple(shape[-2:]), kernel, geometry)
    batch = lambda x, *settings: (x, *settings)


class Col2Im(Linear):
    """Columns added back at the positions that Im2Col took them from."""

    call = lambda kernel, geometry: f"fold(x, size, {single(kernel)}, {geometry.text(*WINDOWS)})"

    @staticmethod
    def impl(x: np.ndarray, size: tuple, kernel: tuple, geometry: Geometry) -> np.ndarray:
        *lead, rows, _ = x.shape
        number = tuple(map(count, size, kernel, *geometry[:3]))
        parts = x.reshape(*lead, rows // math.prod(kernel), *kernel, *number)
        return contiguous(add_windows(parts, size, *geometry[:3]))

    dx = lambda g, kernel, geometry: Im2Col.apply(g, kernel, geometry)
    batch = lambda x, *settings: (x, *settings)


@functional(
    "T(2, 3, 5, 4), 2",
    "T(1, 2, 6, 5), (2, 3), 2, 1, (1, 2)",
    "T(2, 4, 4), (2, 1)",
    name="im2col",
)
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Return all windows of `input` (n, c, height, width) as columns: (n, c * elements of a window, number of windows)."""
    check_rank("unfold", 2, input)
    kernel = per_dim(kernel_size, 2, "unfold", "kernel_size")
    geometry = settings("unfold", 2, stride, padding, dilation)
    if min(kernel) < 1 or min(map(count, input.shape[-2:], kernel, *geometry[:3])) < 1:
        what = f"no window of size {kernel} fits into an input of shape {tuple(input.shape)}"
        raise error(RuntimeError, "unfold", what, "pad the input (padding=), or use a smaller kernel")
    return Im2Col.apply(input, kernel, geometry)


@functional("T(2, 12, 12), (5, 4), 2", "T(1, 12, 8), (6, 5), (2, 3), (1, 2), 1, 2", name="col2im")
def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Add up columns (n, c * elements of a window, windows) into (n, c, *output_size): the transpose of unfold."""
    size, kernel = per_dim(output_size, 2, "fold", "output_size"), per_dim(kernel_size, 2, "fold", "kernel_size")
    geometry = settings("fold", 2, stride, padding, dilation)
    if min(kernel) < 1:
        raise error(RuntimeError, "fold", f"kernel_size must be positive, got {kernel}", "write kernel_size=2")
    elements, number = math.prod(kernel), math.prod(map(count, size, kernel, *geometry[:3]))
    if input.ndim not in (2, 3) or input.shape[-2] % elements or input.shape[-1] != number:
        raise error(
            RuntimeError,
            "fold",
            f"input of shape {tuple(input.shape)} does not hold the {number} windows of {elements} "
            f"elements that an output of size {size} has",
            f"pass an input whose last two sizes are c * {elements} and {number}",
        )
    return Col2Im.apply(input, size, kernel, geometry)
