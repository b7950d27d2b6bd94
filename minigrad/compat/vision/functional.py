"""torchvision.transforms.functional, for images of Pillow and for tensors of shape (..., channels, height, width).

Pillow does the work for its own images. Tensors get operations of minigrad, so you can differentiate the results. Numbers are
torchvision's: equal for Pillow's images, up to rounding for tensors.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

import minigrad
from minigrad import Tensor
from minigrad.errors import error
from minigrad.nn.functional import grid_sample, interpolate
from minigrad.nn.functional import pad as pad_tensor


class InterpolationMode(Enum):
    """The ways in which `resize` and `rotate` find the colours between pixels; the numbers are Pillow's."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


NEAREST, BILINEAR = InterpolationMode.NEAREST, InterpolationMode.BILINEAR


def mode_of(interpolation: Any) -> InterpolationMode:
    """Return a mode from itself or from Pillow's number, such as `Image.BILINEAR`."""
    if isinstance(interpolation, int):
        return InterpolationMode[Image.Resampling(interpolation).name]
    if isinstance(interpolation, InterpolationMode):
        return interpolation
    what = f"interpolation should be an InterpolationMode, got {interpolation!r}"
    raise error(TypeError, "transforms", what, "write transforms.InterpolationMode.BILINEAR")


def resampling(interpolation: Any) -> Any:
    """Return Pillow's name of a mode."""
    return Image.Resampling[mode_of(interpolation).name.removesuffix("_EXACT")]


def is_pil(img: Any) -> bool:
    """Return True for an image of Pillow, False for a tensor; raise TypeError for anything else."""
    if isinstance(img, (Image.Image, Tensor)):
        return isinstance(img, Image.Image)
    what = f"img should be PIL Image or Tensor. Got {type(img)}"
    raise error(TypeError, "transforms", what, "use Image.open, Image.fromarray or torch.tensor")


def get_dimensions(img: Any) -> list[int]:
    """Return the number of channels, the height and the width."""
    if is_pil(img):
        return [len(img.getbands()), img.height, img.width]
    return [1 if img.ndim == 2 else img.shape[-3], *img.shape[-2:]]


# ---------------------------------------------------------------- images and tensors
def pixels_of(pic: Any) -> np.ndarray:
    """Return the pixels of an image or an array (height, width, channels) as an array (channels, height, width)."""
    if not isinstance(pic, (Image.Image, np.ndarray)):
        raise error(TypeError, "to_tensor", f"pic should be PIL Image or ndarray. Got {type(pic)}", "leave it out")
    pixels = np.array(pic)
    if pixels.ndim not in (2, 3):
        what = f"pic should be 2/3 dimensional. Got {pixels.ndim} dimensions."
        raise error(ValueError, "to_tensor", what, "pass one image of shape (height, width, channels)")
    pixels = pixels.view(np.int16) if pixels.dtype == np.uint16 else pixels
    return np.ascontiguousarray(np.atleast_3d(pixels).transpose(2, 0, 1))


def pil_to_tensor(pic: Any) -> Tensor:
    """Return the pixels of an image or an array (height, width, channels) as a tensor (channels, height, width)."""
    return minigrad.from_numpy(pixels_of(pic))


def to_image(inpt: Any) -> Tensor:
    """Return what pil_to_tensor returns; a tensor stays."""
    return inpt if isinstance(inpt, Tensor) else pil_to_tensor(inpt)


def to_tensor(pic: Any) -> Tensor:
    """Return what pil_to_tensor returns, with bytes scaled to [0, 1].

    >>> to_tensor(np.full((1, 2), 255, dtype=np.uint8))
    tensor([[[1., 1.]]])
    """
    pixels = pixels_of(pic.convert("L") if isinstance(pic, Image.Image) and pic.mode == "1" else pic)
    if pixels.dtype != np.uint8:
        return minigrad.from_numpy(pixels)
    dtype = minigrad.empty(0).numpy().dtype  # the default; a picture of the program begins behind the division
    return minigrad.from_numpy(pixels.astype(dtype) / dtype.type(255))


MODES = {2: ("LA",), 3: ("RGB", "YCbCr", "HSV"), 4: ("RGBA", "CMYK", "RGBX")}  # Pillow's, by the number of channels
GREY_MODES = {"uint8": "L", "int16": "I;16", "int32": "I", "float32": "F"}


def to_pil_image(pic: Any, mode: str | None = None) -> Image.Image:
    """Return a tensor (channels, height, width) or an array (height, width, channels) as an image; floats are scaled by 255."""
    if not isinstance(pic, (Tensor, np.ndarray)):
        raise error(TypeError, "to_pil_image", f"pic should be Tensor or ndarray. Got {type(pic)}.", "pass a tensor")
    pixels = np.asarray(pic.detach().cpu()) if isinstance(pic, Tensor) else pic
    pixels = pixels.transpose(1, 2, 0) if isinstance(pic, Tensor) and pixels.ndim == 3 else np.atleast_3d(pixels)
    if pic.ndim not in (2, 3) or pixels.shape[-1] > 4:
        what = f"takes one image with at most 4 channels. Got shape {tuple(pic.shape)}"
        raise error(ValueError, "to_pil_image", what, "pass a tensor (channels, height, width), such as batch[0]")
    if pixels.dtype.kind == "f" and mode != "F":
        pixels = (pixels * 255).astype(np.uint8)
    modes = MODES.get(pixels.shape[-1]) or (GREY_MODES.get(str(pixels.dtype)),)
    if mode not in (None, *modes):
        what = f"Incorrect mode ({mode}) supplied for {pixels.dtype} of shape {pixels.shape}"
        raise error(ValueError, "to_pil_image", what, f"choose one of {modes}, or leave mode out")
    if modes == (None,) or pixels.shape[-1] > 1 and pixels.dtype != np.uint8:
        raise error(TypeError, "to_pil_image", f"Input type {pixels.dtype} is not supported", "convert it to uint8")
    return Image.frombytes(mode or str(modes[0]), pixels.shape[1::-1], pixels.tobytes())


TOO_LARGE = {(minigrad.float32, minigrad.int32), (minigrad.float32, minigrad.int64), (minigrad.float64, minigrad.int64)}


def convert_image_dtype(image: Tensor, dtype: Any = minigrad.float32) -> Tensor:
    """Return a tensor in another dtype; integers are scaled from their whole range to [0, 1], and back."""
    if not isinstance(image, Tensor):
        what = f"Input img should be Tensor Image. Got {type(image)}"
        raise error(TypeError, "convert_image_dtype", what, "apply PILToTensor() before")
    old, new, floating = white(image.dtype), white(dtype), image.is_floating_point()
    if floating and dtype.is_floating_point or image.dtype == dtype:
        return image.to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / old
    if (image.dtype, dtype) in TOO_LARGE:
        what = f"The cast from {image.dtype} to {dtype} cannot be performed safely."
        raise error(RuntimeError, "convert_image_dtype", what, "convert to uint8")
    if floating:
        return (image * (new + 1 - 1e-3)).to(dtype)  # each integer gets an equal part of [0, 1]
    return (image // ((old + 1) // (new + 1))).to(dtype) if old > new else image.to(dtype) * ((new + 1) // (old + 1))


def to_dtype(inpt: Any, dtype: Any = minigrad.float32, scale: bool = False) -> Any:
    """Return a tensor in another dtype, with `scale` as convert_image_dtype does; images of Pillow stay."""
    return inpt if is_pil(inpt) else convert_image_dtype(inpt, dtype) if scale else inpt.to(dtype)


def white(dtype: Any) -> int:
    """Return the value of white."""
    return 1 if dtype.is_floating_point or dtype == minigrad.bool else minigrad.iinfo(dtype).max


def normalize(tensor: Tensor, mean: Any, std: Any, inplace: bool = False) -> Tensor:
    """Subtract a mean from each channel, and divide by a standard deviation."""
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        got = tensor.dtype if isinstance(tensor, Tensor) else type(tensor)
        raise error(TypeError, "normalize", f"Input should be a float tensor. Got {got}", "apply ToTensor() before")
    if tensor.ndim < 3:
        what = f"Expected a tensor image of size (..., C, H, W). Got tensor.size() = {tuple(tensor.shape)}"
        raise error(ValueError, "normalize", what, "write x.unsqueeze(0)")
    means, stds = (x.reshape(-1, 1, 1) if x.ndim == 1 else x for x in map(np.asarray, (mean, std)))
    if 0 in stds:
        raise error(ValueError, "normalize", f"std={std} leads to division by zero.", "write 1 for 0")
    channels = tensor.shape[-3]
    if {len(x) for x in (means, stds) if x.ndim == 3} - {1, channels}:
        what = f"mean={mean} and std={std} do not match the {channels} channels of {tuple(tensor.shape)}"
        raise error(RuntimeError, "normalize", what, f"pass 1 number or {channels} in each")
    means, stds = (minigrad.as_tensor(x.tolist(), dtype=tensor.dtype, device=tensor.device) for x in (means, stds))
    return tensor.sub_(means).div_(stds) if inplace else (tensor - means) / stds


# ---------------------------------------------------------------- geometry
def sides_of(size: Any) -> list[int]:
    """Return a size as a list of one or two numbers."""
    sides = list(size) if isinstance(size, (tuple, list)) else [size]
    if len(sides) in (1, 2):
        return sides
    raise error(ValueError, "transforms", f"size = {size} should have 1 or 2 values", "write (height, width)")


def resize(img: Any, size: Any, interpolation: Any = BILINEAR, max_size: Any = None, antialias: Any = True) -> Any:
    """Return an image of another size: (height, width), or a number for the smaller edge, with `max_size` for the larger."""
    _, *old = get_dimensions(img)
    sides = sides_of(size)
    if max_size is not None and (len(sides) > 1 or max_size <= sides[0]):
        what = f"max_size = {max_size} should be greater than size = {size}, which is the smaller edge"
        raise error(ValueError, "resize", what, "leave max_size out")
    if len(sides) == 1:
        short, long = sides[0], int(sides[0] * max(old) / min(old))
        if max_size is not None and long > max_size:
            short, long = int(max_size * short / long), max_size
        sides = [short, long] if old[0] <= old[1] else [long, short]
    if old == sides:
        return img
    if is_pil(img):
        return img.resize(sides[::-1], resampling(interpolation))
    mode = mode_of(interpolation).value
    smooth = {"align_corners": False, "antialias": bool(antialias)} if mode in ("bilinear", "bicubic") else {}
    made = interpolate(batch_of(img), size=sides, mode=mode, **smooth)
    return like(img, made.clamp(0, 255) if img.dtype == minigrad.uint8 else made)


def batch_of(img: Tensor) -> Tensor:
    """Return images of any number of dimensions as floats of shape (number, channels, height, width)."""
    return (img if img.is_floating_point() else img.float()).reshape(-1, *get_dimensions(img))


def like(img: Tensor, batch: Tensor) -> Tensor:
    """Return a batch with the dimensions and the dtype of the images that it is made of."""
    batch = batch.reshape(*img.shape[:-2], *batch.shape[-2:])
    return batch if img.is_floating_point() else batch.round().to(img.dtype)


def margins(padding: Any) -> list[int]:
    """Return the widths of the margins (left, top, right, bottom) from 1, 2 or 4 numbers."""
    sides = list(padding) if isinstance(padding, (tuple, list)) else [padding]
    if len(sides) in (1, 2, 4):
        return (sides * 4)[:4]
    what = f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(sides)} element tuple"
    raise error(ValueError, "pad", what, "write (left, top, right, bottom)")


def pad(img: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
    """Return an image with margins (left, top, right, bottom), of one colour or from its edge, reflect or symmetric."""
    left, top, right, bottom = margins(padding)
    if padding_mode not in (modes := ("constant", "edge", "reflect", "symmetric")):
        raise error(ValueError, "pad", f"Padding mode should not be {padding_mode!r}", f"choose one of {modes}")
    if padding_mode == "constant" and is_pil(img):
        return ImageOps.expand(img, (left, top, right, bottom), colour(img, fill))
    if padding_mode == "constant":
        return pad_tensor(img, (left, right, top, bottom), value=fill or 0)
    _, height, width = get_dimensions(img)
    rows = np.pad(np.arange(height), (top, bottom), padding_mode)[:, None]
    columns = np.pad(np.arange(width), (left, right), padding_mode)
    if is_pil(img):
        return Image.fromarray(np.asarray(img)[rows, columns])
    return img[..., minigrad.from_numpy(rows), minigrad.from_numpy(columns)]


def colour(img: Any, fill: Any) -> Any:
    """Return a colour as Pillow takes it: a number for one channel, a tuple for several."""
    channels, number = get_dimensions(img)[0], float if img.mode == "F" else int
    parts = [number(part) for part in (fill if isinstance(fill, (tuple, list)) else [fill or 0])]
    if len(parts) not in (1, channels):
        what = f"The number of elements in 'fill' does not match the number of channels: {len(parts)} != {channels}"
        raise error(ValueError, "transforms", what, "pass one number")
    return parts[0] if channels == 1 else tuple(parts * channels)[:channels]


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """Return the part of an image that begins at (top, left); outside of the image it is black."""
    if is_pil(img):
        return img.crop((left, top, left + width, top + height))
    part = img[..., max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
    y, x = min(max(-top, 0), height), min(max(-left, 0), width)
    outside = (x, width - part.shape[-1] - x, y, height - part.shape[-2] - y)
    return pad_tensor(part, outside) if any(outside) else part


def center_crop(img: Any, output_size: Any) -> Any:
    """Return the middle of an image; a smaller image gets black margins."""
    (height, width), (_, tall, wide) = (sides_of(output_size) * 2)[:2], get_dimensions(img)
    x, y = max(width - wide, 0), max(height - tall, 0)
    img = pad(img, (x // 2, y // 2, (x + 1) // 2, (y + 1) // 2)) if x or y else img
    return crop(img, round((tall + y - height) / 2), round((wide + x - width) / 2), height, width)


def hflip(img: Any) -> Any:
    """Return the mirror image, left for right."""
    return ImageOps.mirror(img) if is_pil(img) else img.flip(-1)


def vflip(img: Any) -> Any:
    """Return the mirror image, top for bottom."""
    return ImageOps.flip(img) if is_pil(img) else img.flip(-2)


def rotate(
    img: Any, angle: float, interpolation: Any = NEAREST, expand: bool = False, center: Any = None, fill: Any = None
) -> Any:
    """Return an image rotated by degrees, counter-clockwise; with `expand` it grows until all of it is inside."""
    if is_pil(img):
        return img.rotate(angle, resampling(interpolation), expand, center, fillcolor=colour(img, fill))
    x, half = batch_of(img), np.array(img.shape[:-3:-1], dtype=np.float32) / 2  # points are (x, y) from here on
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    back = np.array([[cos, -sin], [sin, cos]], dtype=np.float32)
    grown = np.ceil(half + np.abs(back) @ half - 1e-4) - half if expand else half
    shift = 0 * half if center is None else np.array(center) - half
    points = np.stack(np.meshgrid(*(np.arange(-side + 0.5, side) for side in grown)), -1)
    grid = points.astype(np.float32) @ (back.T / half) + (shift - back @ shift) / half
    grid = minigrad.as_tensor(grid, dtype=x.dtype, device=x.device).expand(len(x), *grid.shape)
    if (mode := mode_of(interpolation).value) not in ("nearest", "bilinear"):
        raise error(ValueError, "rotate", f"{mode} is for images of Pillow, not for tensors", "use BILINEAR")
    made, inside = (grid_sample(one, grid, mode, align_corners=False) for one in (x, minigrad.ones_like(x)))
    if fill is not None:
        fill = minigrad.as_tensor(fill, dtype=x.dtype, device=x.device).view(-1, 1, 1)
        made = made * inside + (1 - inside) * fill
    return like(img, made)


# ---------------------------------------------------------------- colours
def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Return the brightness of an image, in one channel or in three equal ones."""
    if num_output_channels not in (1, 3):
        raise error(ValueError, "rgb_to_grayscale", "num_output_channels should be either 1 or 3", "write 1 or 3")
    if is_pil(img):
        return img.convert("L") if num_output_channels == 1 else Image.merge("RGB", [img.convert("L")] * 3)
    if (channels := get_dimensions(img)[0]) not in (1, 3):
        raise error(TypeError, "rgb_to_grayscale", f"takes 1 or 3 channels, but found {channels}", "write img[:3]")
    if channels == 3:
        red, green, blue = img.unbind(-3)
        img = (0.2989 * red + 0.587 * green + 0.114 * blue).to(img.dtype).unsqueeze(-3)  # ITU-R 601-2
    return img.expand(*img.shape[:-3], num_output_channels, *img.shape[-2:])


to_grayscale = rgb_to_grayscale


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """Return an image with this multiple of its brightness: 0 is black, 1 the image."""
    return blend(img, ImageEnhance.Brightness, lambda x: 0.0, brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """Return an image with this multiple of its contrast: 0 is grey, 1 the image."""
    grey = lambda x: batch_of(rgb_to_grayscale(x)).reshape(x.shape[:-3] + (1, -1, 1)).mean(-2, keepdim=True)
    return blend(img, ImageEnhance.Contrast, grey, contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """Return an image with this multiple of its saturation: 0 is black and white, 1 the image."""
    return blend(img, ImageEnhance.Color, rgb_to_grayscale, saturation_factor)


def blend(img: Any, enhance: Any, other: Any, factor: float) -> Any:
    """Return `factor` of an image and the rest of another: one of a class of Pillow, or a function of the tensor."""
    if is_pil(img):
        return enhance(img).enhance(factor)
    if factor < 0:
        raise error(ValueError, "transforms", f"the factor {factor} is not non-negative.", "pass 0 or more")
    return (factor * img + (1.0 - factor) * other(img)).clamp(0, white(img.dtype)).to(img.dtype)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Return an image whose hues are shifted by a part of the colour circle, from -0.5 to 0.5."""
    if not -0.5 <= hue_factor <= 0.5:
        raise error(ValueError, "adjust_hue", f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].", "write -0.5 to 0.5")
    if get_dimensions(img)[0] == 1:
        return img
    if is_pil(img):
        hue, saturation, value = img.convert("HSV").split()
        shifted = np.array(hue) + np.int32(hue_factor * 255).astype(np.uint8)
        return Image.merge("HSV", (Image.fromarray(shifted), saturation, value)).convert(img.mode)
    red, green, blue = (x := convert_image_dtype(img)).unbind(-3)
    high, range_ = x.amax(-3), x.amax(-3) - x.amin(-3)
    scale = minigrad.where(range_ == 0, 1.0, range_)
    hue = minigrad.where(high == green, 2 + (blue - red) / scale, 4 + (red - green) / scale)
    hue = minigrad.where(high == red, (green - blue) / scale, hue) + 6 * hue_factor  # 0 is red, 2 green, 4 blue, 6 red
    away = [(n + hue) % 6 for n in (5, 3, 1)]
    parts = [high - range_ * minigrad.minimum(k, 4 - k).clamp(0, 1) for k in away]
    return convert_image_dtype(minigrad.stack(parts, -3), img.dtype)
