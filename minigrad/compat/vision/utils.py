"""Grids of images: torchvision.utils."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, BinaryIO

from PIL import Image

import minigrad
from minigrad import Tensor


def make_grid(
    tensor: Tensor | list[Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Return images of shape (number, channels, height, width) as one image, `nrow` in a row, with margins of `padding` pixels.

    With `normalize` the values of `value_range`, or from the smallest to the largest, become [0, 1], for each image with
    `scale_each`.

    >>> make_grid(minigrad.ones(3, 1, 4, 4), nrow=2).shape
    torch.Size([3, 14, 14])
    """
    if not isinstance(tensor, (Tensor, list, tuple)) or not all(isinstance(one, Tensor) for one in tensor):
        raise TypeError(f"tensor or list of tensors expected, got {type(tensor)}")
    images = minigrad.stack(list(tensor)) if isinstance(tensor, (list, tuple)) else tensor
    if not 2 <= images.ndim <= 4:
        raise ValueError(f"expected images of 2 to 4 dimensions, got the shape {tuple(images.shape)}")
    while images.ndim < 4:
        images = images.unsqueeze(0)
    if images.size(1) == 1:
        images = images.expand(-1, 3, -1, -1)
    if normalize:
        images = (
            minigrad.stack([scaled(one, value_range) for one in images]) if scale_each else scaled(images, value_range)
        )
    count, channels, height, width = images.shape
    if count == 1:
        return images.squeeze(0)
    columns = min(nrow, count)
    rows = math.ceil(count / columns)
    height, width = height + padding, width + padding
    grid = images.new_full((channels, height * rows + padding, width * columns + padding), pad_value)
    for i, image in enumerate(images):
        top, left = i // columns * height + padding, i % columns * width + padding
        grid[:, top : top + height - padding, left : left + width - padding] = image
    return grid


def scaled(images: Tensor, between: tuple[float, float] | None) -> Tensor:
    """Return images whose values from `between` are scaled to [0, 1]."""
    low, high = (float(images.min()), float(images.max())) if between is None else between
    return (images.clamp(low, high) - low) / max(high - low, 1e-5)


def save_image(
    tensor: Tensor | list[Tensor], fp: str | Path | BinaryIO, format: str | None = None, **kwargs: Any
) -> None:
    """Write images as one file; the other arguments are those of `make_grid`."""
    grid = make_grid(tensor, **kwargs).detach()
    pixels = (grid * 255 + 0.5).clamp(0, 255).permute(1, 2, 0).cpu().to(minigrad.uint8).numpy()
    Image.fromarray(pixels).save(fp, format=format)
