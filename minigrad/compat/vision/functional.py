"""The functions of torchvision.transforms.functional, for images of Pillow and for tensors of shape (..., channels, height, width).

Pillow does the work for its own images, operations of minigrad for tensors, so these can be differentiated.  Results are
torchvision's: those of Pillow to the bit, those of tensors up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from numbers import Number
from typing import Any

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

import minigrad
from minigrad import Tensor
from minigrad.nn.functional import interpolate

GREY = (0.2989, 0.587, 0.114)  # weights of red, green and blue (ITU-R 601-2)
MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}  # Pillow's, by the number of channels


class InterpolationMode(Enum):
    """How `resize` and `rotate` find the colours between pixels."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


def mode_of(interpolation: InterpolationMode | str | int) -> InterpolationMode:
    """Return a mode from its name or from Pillow's number."""
    if isinstance(interpolation, int):
        interpolation = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}[interpolation]
    return InterpolationMode(interpolation)


def resampling(interpolation: InterpolationMode | str | int) -> Any:
    """Return Pillow's name of a mode."""
    return getattr(Image.Resampling, mode_of(interpolation).name.removesuffix("_EXACT"))


def is_image(img: Any) -> bool:
    """Return True for an image of Pillow."""
    return isinstance(img, Image.Image)


def planes(pixels: np.ndarray) -> np.ndarray:
    """Return an array (height, width, channels) as (channels, height, width)."""
    return np.ascontiguousarray(np.atleast_3d(pixels).transpose(2, 0, 1))


def is_pil(img: Any) -> bool:
    """Return True for an image of Pillow, False for a tensor; raise TypeError for others."""
    if not isinstance(img, (Image.Image, Tensor)):
        raise TypeError(f"img should be PIL Image or Tensor. Got {type(img)}")
    return isinstance(img, Image.Image)


# ---------------------------------------------------------------- sizes
def get_dimensions(img: Any) -> list[int]:
    """Return the number of channels, the height and the width."""
    if is_pil(img):
        return [len(img.getbands()), img.height, img.width]
    return [img.shape[-3] if img.ndim > 2 else 1, *img.shape[-2:]]


def get_image_size(img: Any) -> list[int]:
    """Return the width and the height."""
    return get_dimensions(img)[:0:-1]


def get_image_num_channels(img: Any) -> int:
    """Return the number of channels."""
    return get_dimensions(img)[0]


# ---------------------------------------------------------------- images and tensors
def pil_to_tensor(pic: Image.Image) -> Tensor:
    """Return a tensor of shape (channels, height, width) with the pixels of an image as they are, such as uint8."""
    if not isinstance(pic, Image.Image):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    pixels = np.array(pic.convert("L") if pic.mode == "1" else pic, copy=True)
    return minigrad.from_numpy(planes(pixels))


def to_tensor(pic: Any) -> Tensor:
    """Return an image or an array (height, width, channels) as a tensor (channels, height, width); uint8 is scaled to [0, 1].

    >>> to_tensor(np.full((1, 2), 255, dtype=np.uint8))
    tensor([[[1., 1.]]])
    """
    if isinstance(pic, Image.Image):
        made = pil_to_tensor(pic)
    elif not isinstance(pic, np.ndarray):
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    elif pic.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
    else:
        made = minigrad.from_numpy(planes(pic))
    return made.to(minigrad.get_default_dtype()) / 255 if made.dtype == minigrad.uint8 else made


def to_pil_image(pic: Any, mode: str | None = None) -> Image.Image:
    """Return a tensor (channels, height, width) or an array (height, width, channels) as an image; floats are scaled by 255."""
    if not isinstance(pic, (Tensor, np.ndarray)):
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    if pic.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
    if isinstance(pic, Tensor):
        pic = pic.detach().cpu()
        pic = (pic * 255).to(minigrad.uint8) if pic.is_floating_point() and mode != "F" else pic
        pic = pic.numpy()
        pic = pic.transpose(1, 2, 0) if pic.ndim == 3 else pic[:, :, None]
    pic = np.atleast_3d(pic)
    if pic.shape[-1] not in MODES:
        raise ValueError(f"pic should not have > 4 channels. Got {pic.shape[-1]} channels.")
    if pic.shape[-1] == 1:
        of = {"uint8": "L", "int16": "I;16", "uint16": "I;16", "int32": "I", "float32": "F"}
        if str(pic.dtype) not in of:
            raise TypeError(f"Input type {pic.dtype} is not supported")
        own = of[str(pic.dtype)]
        if mode not in (None, own) and not (own == "L" and mode == "1"):
            raise ValueError(f"Incorrect mode ({mode}) supplied for input type {pic.dtype}. Should be {own}")
        return Image.fromarray(np.ascontiguousarray(pic[:, :, 0]))
    if pic.dtype != np.uint8:
        raise TypeError(f"Input type {pic.dtype} is not supported")
    made = Image.fromarray(np.ascontiguousarray(pic))
    if mode is None or mode == made.mode:
        return made
    if len(Image.new(mode, (1, 1)).getbands()) != pic.shape[-1]:
        raise ValueError(f"the mode {mode} does not have {pic.shape[-1]} channels")
    return Image.frombytes(mode, made.size, made.tobytes())


def convert_image_dtype(image: Tensor, dtype: Any = minigrad.float32) -> Tensor:
    """Return a tensor in another dtype; integers are scaled from their whole range to [0, 1], and back."""
    if image.dtype == dtype:
        return image
    from_float, to_float = image.is_floating_point(), dtype.is_floating_point
    if from_float and to_float:
        return image.to(dtype)
    if to_float:
        return image.to(dtype) / minigrad.iinfo(image.dtype).max
    most = minigrad.iinfo(dtype).max
    if from_float:
        return (image * (most + 1 - 1e-3)).to(dtype)  # each integer gets an equal part of [0, 1]
    ratio = (most + 1) / (minigrad.iinfo(image.dtype).max + 1)
    return image.to(dtype) * int(ratio) if ratio >= 1 else (image // int(1 / ratio)).to(dtype)


def normalize(tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """Subtract a mean from each channel, and divide by a standard deviation."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
    if not tensor.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(
            f"Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = {tensor.size()}"
        )
    means, stds = (minigrad.as_tensor(one, dtype=tensor.dtype, device=tensor.device) for one in (mean, std))
    if (stds == 0).any():
        raise ValueError(f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero.")
    means, stds = (one.view(-1, 1, 1) if one.ndim == 1 else one for one in (means, stds))
    return tensor.sub_(means).div_(stds) if inplace else (tensor - means) / stds


# ---------------------------------------------------------------- geometry
def resize(
    img: Any, size: Any, interpolation: Any = "bilinear", max_size: int | None = None, antialias: bool | None = True
) -> Any:
    """Return an image of another size: (height, width), or a number for the smaller edge."""
    _, height, width = get_dimensions(img)
    sides = [size] if isinstance(size, int) or size is None else list(size)
    if max_size is not None and len(sides) != 1:
        raise ValueError("max_size should only be passed if size specifies the length of the smaller edge")
    if len(sides) == 1:
        short, long = sorted((height, width))
        longest = max_size if sides[0] is None else int(sides[0] * long / short)
        if max_size is not None and (sides[0] is None or longest > max_size):
            sides = [int(max_size * short / long), max_size]
        else:
            sides = [sides[0], longest]
        sides = sides if height <= width else sides[::-1]
    if [height, width] == sides:
        return img
    if is_pil(img):
        return img.resize((sides[1], sides[0]), resampling(interpolation))
    mode = mode_of(interpolation).value
    if mode not in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        raise ValueError(
            f"a tensor cannot be resized with {mode}; use nearest, bilinear or bicubic, or an image of Pillow"
        )
    smooth = {"align_corners": False, "antialias": bool(antialias)} if mode.startswith("bi") else {}
    batch = img.reshape(-1, *img.shape[-3:])
    made = interpolate(batch if img.is_floating_point() else batch.float(), size=sides, mode=mode, **smooth)
    if not img.is_floating_point():
        made = made.round().clamp(0, bound(img)).to(img.dtype)
    return made.reshape(*img.shape[:-2], *sides)


def margins(padding: int | Sequence[int]) -> tuple[int, int, int, int]:
    """Return the widths of the margins: left, top, right, bottom.

    >>> margins(1), margins((1, 2)), margins((1, 2, 3, 4))
    ((1, 1, 1, 1), (1, 2, 1, 2), (1, 2, 3, 4))
    """
    sides = (padding,) if isinstance(padding, Number) else tuple(padding)
    if len(sides) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(sides)} element tuple")
    left, top, right, bottom = (sides * 4)[:4]
    return left, top, right, bottom


def pad(img: Any, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> Any:
    """Return an image with margins (left, top, right, bottom), of one colour or from its edge, reflect or symmetric."""
    left, top, right, bottom = margins(padding)
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
    if padding_mode == "constant":
        if not is_pil(img):
            return minigrad.nn.functional.pad(img, (left, right, top, bottom), value=fill or 0)
        return ImageOps.expand(img, border=(left, top, right, bottom), fill=filling(img, fill))
    _, height, width = get_dimensions(img)
    rows = np.pad(np.arange(height), (top, bottom), mode=padding_mode)
    columns = np.pad(np.arange(width), (left, right), mode=padding_mode)
    if is_pil(img):
        return Image.fromarray(np.asarray(img)[rows[:, None], columns])
    return img[..., minigrad.from_numpy(rows)[:, None], minigrad.from_numpy(columns)]


def filling(img: Image.Image, fill: Any) -> Any:
    """Return a colour in the form that Pillow needs for an image."""
    channels = len(img.getbands())
    if fill is None:
        return 0
    if isinstance(fill, Number):
        return fill if channels == 1 else (fill,) * channels
    colour = tuple(fill) * (channels if len(fill) == 1 else 1)
    if len(colour) != channels:
        raise ValueError(
            f"The number of elements in 'fill' does not match the number of channels of the image ({len(fill)} != {channels})"
        )
    return colour[0] if channels == 1 else colour


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """Return the part of an image that begins at (top, left); outside of the image it is black."""
    if is_pil(img):
        return img.crop((left, top, left + width, top + height))
    _, tall, wide = get_dimensions(img)
    outside = [max(-left, 0), max(left + width - wide, 0), max(-top, 0), max(top + height - tall, 0)]
    part = img[..., max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
    return minigrad.nn.functional.pad(part, outside) if any(outside) else part


def center_crop(img: Any, output_size: int | Sequence[int]) -> Any:
    """Return the middle of an image; a smaller image gets black margins."""
    height, width = sides_of(output_size)
    _, tall, wide = get_dimensions(img)
    if width > wide or height > tall:
        x, y = max(width - wide, 0), max(height - tall, 0)
        img = pad(img, (x // 2, y // 2, (x + 1) // 2, (y + 1) // 2))
        _, tall, wide = get_dimensions(img)
    return crop(img, round((tall - height) / 2.0), round((wide - width) / 2.0), height, width)


def sides_of(size: int | Sequence[int]) -> tuple[int, int]:
    """Return (height, width) of a size, which may be one number."""
    height, width = (size, size) if isinstance(size, int) else tuple(size) * (2 if len(size) == 1 else 1)
    return height, width


def hflip(img: Any) -> Any:
    """Return the mirror image, left for right."""
    return img.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if is_pil(img) else img.flip(-1)


def vflip(img: Any) -> Any:
    """Return the mirror image, top for bottom."""
    return img.transpose(Image.Transpose.FLIP_TOP_BOTTOM) if is_pil(img) else img.flip(-2)


def rotate(
    img: Any, angle: float, interpolation: Any = "nearest", expand: bool = False, center: Any = None, fill: Any = None
) -> Any:
    """Return an image rotated by degrees, counter-clockwise; with `expand` it grows until all of it is inside."""
    if is_pil(img):
        return img.rotate(angle, resampling(interpolation), expand, center, fillcolor=filling(img, fill))
    raise TypeError(f"rotate takes images of Pillow, got a tensor of shape {tuple(img.shape)}: rotate before ToTensor")


# ---------------------------------------------------------------- colours
def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Return the brightness of an image, in one channel or in three equal ones."""
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    if is_pil(img):
        grey = img.convert("L")
        return grey if num_output_channels == 1 else Image.merge("RGB", [grey] * 3)
    grey = img
    if img.shape[-3] == 3:
        red, green, blue = img.unbind(-3)
        grey = (GREY[0] * red + GREY[1] * green + GREY[2] * blue).to(img.dtype).unsqueeze(-3)
    return grey.expand(*img.shape[:-3], num_output_channels, *img.shape[-2:]) if num_output_channels == 3 else grey


to_grayscale = rgb_to_grayscale


def invert(img: Any) -> Any:
    """Return the negative of an image."""
    return ImageOps.invert(img) if is_pil(img) else bound(img) - img


def bound(img: Tensor) -> float:
    """Return the value of white."""
    return 1 if img.is_floating_point() else minigrad.iinfo(img.dtype).max


def blend(img: Tensor, other: Any, ratio: float) -> Tensor:
    """Return `ratio` of one image and the rest of another."""
    return (ratio * img + (1.0 - ratio) * other).clamp(0, bound(img)).to(img.dtype)


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """Return an image with this multiple of its brightness: 0 is black, 1 the image."""
    not_negative("brightness_factor", brightness_factor)
    return (
        ImageEnhance.Brightness(img).enhance(brightness_factor) if is_pil(img) else blend(img, 0.0, brightness_factor)
    )


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """Return an image with this multiple of its contrast: 0 is grey, 1 the image."""
    not_negative("contrast_factor", contrast_factor)
    if is_pil(img):
        return ImageEnhance.Contrast(img).enhance(contrast_factor)
    grey = rgb_to_grayscale(img)
    grey = grey if img.is_floating_point() else grey.float()
    return blend(img, grey.mean(dim=(-3, -2, -1), keepdim=True), contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """Return an image with this multiple of its saturation: 0 is black and white, 1 the image."""
    not_negative("saturation_factor", saturation_factor)
    if is_pil(img):
        return ImageEnhance.Color(img).enhance(saturation_factor)
    return img if img.shape[-3] == 1 else blend(img, rgb_to_grayscale(img), saturation_factor)


def not_negative(name: str, factor: float) -> None:
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Return an image whose hues are shifted by a part of the colour circle, from -0.5 to 0.5."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if not is_pil(img):
        raise TypeError(
            f"adjust_hue takes images of Pillow, got a tensor of shape {tuple(img.shape)}: use it before ToTensor"
        )
    if img.mode in ("L", "1", "I", "F"):
        return img
    hue, saturation, value = img.convert("HSV").split()
    shifted = np.array(hue, dtype=np.uint8) + np.array(hue_factor * 255).astype(np.int64).astype(np.uint8)
    return Image.merge("HSV", (Image.fromarray(shifted), saturation, value)).convert(img.mode)
