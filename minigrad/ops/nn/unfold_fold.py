"""nn.functional's unfold and fold: the windows of an image as columns of a matrix, and their sum back into an image."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.kinds import contiguous
from ...core.tensor import Tensor
from ...errors import error
from ..base.families import Linear
from ..windows import add_windows, count, padded, per_dim, windows
from .conv import Geometry, merge, settings, split, with_batch
from .entry import functional


class Im2Col(Linear):
    """All windows of x as columns: (n, c, *size) becomes (n, c * elements of a window, number of windows)."""

    @staticmethod
    def impl(x: np.ndarray, kernel: tuple, geometry: Geometry) -> np.ndarray:
        number = tuple(map(count, x.shape[2:], kernel, *geometry[:3]))
        view = windows(
            padded(x, geometry.padding, geometry.padding), kernel, number, geometry.stride, geometry.dilation
        )
        return view.reshape(x.shape[0], x.shape[1] * int(np.prod(kernel)), int(np.prod(number)))

    dx = lambda g, shape, kernel, geometry: Col2Im.apply(g, tuple(shape[2:]), kernel, geometry)

    def vmap(info: Any, in_dims: tuple, x: Tensor, kernel: tuple, geometry: Geometry) -> tuple:
        """One larger batch."""
        return split(Im2Col.apply(merge(x.movedim(in_dims[0], 0), 0), kernel, geometry), 0, info.batch_size), 0


class Col2Im(Linear):
    """Columns added back to where Im2Col took them from."""

    @staticmethod
    def impl(x: np.ndarray, size: tuple, kernel: tuple, geometry: Geometry) -> np.ndarray:
        number = tuple(map(count, size, kernel, *geometry[:3]))
        parts = x.reshape(x.shape[0], x.shape[1] // int(np.prod(kernel)), *kernel, *number)
        return contiguous(add_windows(parts, size, *geometry[:3]))

    dx = lambda g, kernel, geometry: Im2Col.apply(g, kernel, geometry)

    def vmap(info: Any, in_dims: tuple, x: Tensor, size: tuple, kernel: tuple, geometry: Geometry) -> tuple:
        """One larger batch."""
        return split(Col2Im.apply(merge(x.movedim(in_dims[0], 0), 0), size, kernel, geometry), 0, info.batch_size), 0


@functional(
    "T(2, 3, 5, 4), 2",
    "T(1, 2, 6, 5), (2, 3), 2, 1, (1, 2)",
    "T(2, 4, 4), (2, 1)",
    name="im2col",
)
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """All windows of `input` (n, c, height, width) as columns: (n, c * elements of a window, number of windows)."""
    single, x = with_batch(input, 2, "unfold")
    kernel = per_dim(kernel_size, 2, "unfold", "kernel_size")
    geometry = settings("unfold", 2, stride, padding, dilation)
    if min(map(count, x.shape[2:], kernel, *geometry[:3])) < 1:
        raise error(
            RuntimeError,
            "unfold",
            f"no window of size {kernel} fits into an input of shape {tuple(input.shape)}",
            "pad the input (padding=), or use a smaller kernel",
        )
    out = Im2Col.apply(x, kernel, geometry)
    return out[0] if single else out


@functional("T(2, 12, 12), (5, 4), 2", "T(1, 12, 8), (6, 5), (2, 3), (1, 2), 1, 2", name="col2im")
def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Columns (n, c * elements of a window, windows) added up into (n, c, *output_size): unfold's transpose."""
    size, kernel = per_dim(output_size, 2, "fold", "output_size"), per_dim(kernel_size, 2, "fold", "kernel_size")
    geometry = settings("fold", 2, stride, padding, dilation)
    elements, number = int(np.prod(kernel)), int(np.prod(list(map(count, size, kernel, *geometry[:3]))))
    if input.ndim not in (2, 3) or input.shape[-2] % elements or input.shape[-1] != number:
        raise error(
            RuntimeError,
            "fold",
            f"input of shape {tuple(input.shape)} does not hold the {number} windows of {elements} "
            f"elements that an output of size {size} has",
            f"its last two sizes should be c * {elements} and {number}",
        )
    out = Col2Im.apply(input if input.ndim == 3 else input.unsqueeze(0), size, kernel, geometry)
    return out if input.ndim == 3 else out[0]
