"""Images beside each other, and in files: torchvision.utils and torchvision.io."""

from __future__ import annotations

from enum import Enum
from typing import Any

from PIL import Image

import minigrad
from minigrad import Tensor
from minigrad.errors import error

from .functional import pil_to_tensor


class ImageReadMode(Enum):
    """The channels of an image that is read: those of the file, or some others."""

    UNCHANGED, GRAY, GRAY_ALPHA, RGB, RGB_ALPHA = range(5)


READ_AS = {"GRAY": "L", "GRAY_ALPHA": "LA", "RGB": "RGB", "RGB_ALPHA": "RGBA"}  # Pillow's modes


@minigrad.no_grad()
def make_grid(
    tensor: Any, nrow: int = 8, padding: int = 2, normalize: bool = False, value_range: Any = None,
    scale_each: bool = False, pad_value: float = 0.0,
) -> Tensor:  # fmt: skip
    """Return images of shape (number, channels, height, width) as one image, `nrow` in a row, with margins of `padding` pixels.

    With `normalize` the values of `value_range`, or from the smallest to the largest, become [0, 1], for each image with
    `scale_each`.

    >>> tuple(make_grid(minigrad.ones(3, 1, 4, 4), nrow=2).shape)
    (3, 14, 14)
    """
    if not isinstance(tensor, (Tensor, list)) or not all(isinstance(one, Tensor) for one in tensor):
        what = f"tensor or list of tensors expected, got {type(tensor)}"
        raise error(TypeError, "make_grid", what, "pass a batch, or [image, ...] of equal shapes")
    images = minigrad.stack(tensor) if isinstance(tensor, list) else tensor
    while images.ndim < 4:
        images = images[None]
    images = images.expand(-1, 3, -1, -1) if images.size(1) == 1 else images
    if normalize:
        over = (1, 2, 3) if scale_each else (0, 1, 2, 3)
        low, high = value_range or (images.amin(over, keepdim=True), images.amax(over, keepdim=True))
        images = (images.clamp(low, high) - low) / minigrad.as_tensor(high - low).clamp(min=1e-5)
    if len(images) == 1:
        return images[0]
    columns, (channels, height, width) = min(nrow, len(images)), images.shape[1:]
    size = [-(-len(images) // columns) * (height + padding) + padding, columns * (width + padding) + padding]
    grid = images.new_full((channels, *size), pad_value)
    for i, image in enumerate(images):
        top, left = i // columns * (height + padding) + padding, i % columns * (width + padding) + padding
        grid[:, top : top + height, left : left + width] = image
    return grid


@minigrad.no_grad()
def save_image(tensor: Any, fp: Any, format: str | None = None, **kwargs: Any) -> None:
    """Write images as one file; the other arguments are those of `make_grid`."""
    pixels = (make_grid(tensor, **kwargs) * 255 + 0.5).clamp(0, 255).permute(1, 2, 0).to("cpu", minigrad.uint8)
    Image.fromarray(pixels.numpy()).save(fp, format=format)


def read_image(path: Any, mode: ImageReadMode | str = ImageReadMode.UNCHANGED) -> Tensor:
    """Return the image in a file as bytes of shape (channels, height, width), with the channels of the file or of `mode`."""
    channels = ImageReadMode[mode.upper()] if isinstance(mode, str) else mode
    with Image.open(path) as image:
        usual = {"P": "RGB", "1": "L"}.get(image.mode, image.mode)  # bytes, not indices into a palette or bits
        return pil_to_tensor(image.convert(READ_AS.get(channels.name, usual)))
