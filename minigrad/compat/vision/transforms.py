"""The classes of torchvision.transforms: functions of images that are made once and called for each image.

Random ones draw from minigrad's generator, in the order of torchvision, so a seed gives the same images.  The names of
torchvision.transforms.v2 are here, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import minigrad

from . import functional as F
from .functional import InterpolationMode as InterpolationMode


class Transform:
    """A function of images that shows its settings."""

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in vars(self).items() if not name.startswith("_"))
        return f"{type(self).__name__}({settings})"


class Compose(Transform):
    """Apply one transform after another."""

    def __init__(self, transforms: Sequence[Callable]):
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        for one in self.transforms:
            img = one(img)
        return img

    def __repr__(self) -> str:
        return "\n".join(["Compose(", *(f"    {one}" for one in self.transforms), ")"])


class Lambda(Transform):
    """Apply a function."""

    def __init__(self, lambd: Callable, *types: type):
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd, self._types = lambd, types

    def __call__(self, img: Any) -> Any:
        return self.lambd(img) if not self._types or isinstance(img, self._types) else img

    def __repr__(self) -> str:
        return "Lambda()"


# ---------------------------------------------------------------- images and tensors
class ToTensor(Transform):
    """Return an image of Pillow or NumPy as a float tensor of shape (channels, height, width) with values in [0, 1]."""

    def __call__(self, pic: Any) -> Any:
        return F.to_tensor(pic)


class ToImage(Transform):
    """Return an image as a tensor with its pixels as they are; a tensor stays."""

    def __call__(self, pic: Any) -> Any:
        if isinstance(pic, minigrad.Tensor):
            return pic
        return F.pil_to_tensor(pic) if F.is_image(pic) else minigrad.from_numpy(F.planes(pic))


class ToPILImage(Transform):
    """Return a tensor or an array as an image of Pillow."""

    def __init__(self, mode: str | None = None):
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        return f"ToPILImage({'' if self.mode is None else f'mode={self.mode}'})"


class ToDtype(Transform):
    """Return a tensor in another dtype, scaled on request; images of Pillow stay."""

    def __init__(self, dtype: Any, scale: bool = False):
        self.dtype, self.scale = dtype, scale

    def __call__(self, image: Any) -> Any:
        if not isinstance(image, minigrad.Tensor):
            return image
        return F.convert_image_dtype(image, self.dtype) if self.scale else image.to(self.dtype)


class Normalize(Transform):
    """Subtract a mean from each channel, and divide by a standard deviation."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False):
        self.mean, self.std, self._inplace = mean, std, inplace

    def __call__(self, tensor: Any) -> Any:
        return F.normalize(tensor, self.mean, self.std, self._inplace)


# ---------------------------------------------------------------- sizes
class Resize(Transform):
    """Change the size: (height, width), or a number for the smaller edge."""

    def __init__(self, size: Any, interpolation: Any = "bilinear", max_size: int | None = None, antialias: Any = True):
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise ValueError("If size is a sequence, it should have 1 or 2 values")
        self.size, self.interpolation, self.max_size, self.antialias = (
            size,
            F.mode_of(interpolation),
            max_size,
            antialias,
        )

    def __call__(self, img: Any) -> Any:
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def __repr__(self) -> str:
        how = f"interpolation={self.interpolation.value}, max_size={self.max_size}, antialias={self.antialias}"
        return f"Resize(size={self.size}, {how})"


class CenterCrop(Transform):
    """Keep the middle."""

    def __init__(self, size: int | Sequence[int]):
        self.size = F.sides_of(size)

    def __call__(self, img: Any) -> Any:
        return F.center_crop(img, self.size)


class Pad(Transform):
    """Add margins: one width, (left and right, top and bottom), or (left, top, right, bottom)."""

    def __init__(self, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant"):
        F.margins(padding)
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def __call__(self, img: Any) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)


class RandomCrop(Transform):
    """Keep a part of this size, anywhere."""

    def __init__(
        self, size: Any, padding: Any = None, pad_if_needed: bool = False, fill: Any = 0, padding_mode: str = "constant"
    ):
        self.size, self.padding = F.sides_of(size), padding
        self._pad_if_needed, self._fill, self._padding_mode = pad_if_needed, fill, padding_mode

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Draw the place of the part: top, left, height, width."""
        _, tall, wide = F.get_dimensions(img)
        height, width = output_size
        if tall < height or wide < width:
            raise ValueError(f"Required crop size {(height, width)} is larger than input image size {(tall, wide)}")
        if (tall, wide) == (height, width):
            return 0, 0, tall, wide
        top = int(minigrad.randint(0, tall - height + 1, size=(1,)).item())
        left = int(minigrad.randint(0, wide - width + 1, size=(1,)).item())
        return top, left, height, width

    def __call__(self, img: Any) -> Any:
        how = {"fill": self._fill, "padding_mode": self._padding_mode}
        if self.padding is not None:
            img = F.pad(img, self.padding, **how)
        _, tall, wide = F.get_dimensions(img)
        if self._pad_if_needed and wide < self.size[1]:
            img = F.pad(img, [self.size[1] - wide, 0], **how)
        if self._pad_if_needed and tall < self.size[0]:
            img = F.pad(img, [0, self.size[0] - tall], **how)
        return F.crop(img, *self.get_params(img, self.size))


# ---------------------------------------------------------------- flips, rotations, colours
class Randomly(Transform):
    """Apply a function with probability `p`."""

    def __init__(self, p: float = 0.5):
        self.p = p

    def __call__(self, img: Any) -> Any:
        return self._changed(img) if minigrad.rand(1).item() < self.p else img

    def _changed(self, img: Any) -> Any:
        raise NotImplementedError


class RandomHorizontalFlip(Randomly):
    """Mirror left for right, with probability `p`."""

    def _changed(self, img: Any) -> Any:
        return F.hflip(img)


class RandomVerticalFlip(Randomly):
    """Mirror top for bottom, with probability `p`."""

    def _changed(self, img: Any) -> Any:
        return F.vflip(img)


class Grayscale(Transform):
    """Take the colours away: one channel, or three equal ones."""

    def __init__(self, num_output_channels: int = 1):
        self.num_output_channels = num_output_channels

    def __call__(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, self.num_output_channels)


class RandomRotation(Transform):
    """Rotate by an angle between -degrees and degrees, or between two angles."""

    def __init__(
        self, degrees: Any, interpolation: Any = "nearest", expand: bool = False, center: Any = None, fill: Any = 0
    ):
        if isinstance(degrees, (int, float)) and degrees < 0:
            raise ValueError("If degrees is a single number, it must be positive.")
        self.degrees = (
            [-float(degrees), float(degrees)] if isinstance(degrees, (int, float)) else [float(d) for d in degrees]
        )
        self.interpolation, self.expand, self.fill, self._center = F.mode_of(interpolation), expand, fill, center

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """Draw the angle."""
        return float(minigrad.empty(1).uniform_(float(degrees[0]), float(degrees[1])).item())

    def __call__(self, img: Any) -> Any:
        angle = self.get_params(self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self._center, self.fill)

    def __repr__(self) -> str:
        how = f"interpolation={self.interpolation.value}, expand={self.expand}"
        return f"RandomRotation(degrees={self.degrees}, {how}, fill={self.fill})"


class ColorJitter(Transform):
    """Change brightness, contrast, saturation and hue at random, in random order.

    A number x stands for a factor from 1 - x to 1 + x, for the hue a shift from -x to x.
    """

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0):
        self.brightness = self._between("brightness", brightness)
        self.contrast = self._between("contrast", contrast)
        self.saturation = self._between("saturation", saturation)
        self.hue = self._between("hue", hue, center=0.0, least=-0.5, most=0.5)

    @staticmethod
    def _between(name: str, value: Any, center: float = 1.0, least: float = 0.0, most: float = math.inf) -> Any:
        """Return the range of a factor, or None for no change."""
        if isinstance(value, (int, float)):
            if value < 0:
                raise ValueError(f"If {name} is a single number, it must be non negative.")
            value = (max(center - value, least) if center else -value, center + value)
        low, high = (center, center) if value is None else (float(one) for one in value)
        if not least <= low <= high <= most:
            raise ValueError(f"{name} values should be between {(least, most)}, but got {[low, high]}.")
        return None if low == high == center else (low, high)

    @staticmethod
    def get_params(*ranges: Any) -> tuple:
        """Draw the order, and the factors of brightness, contrast, saturation and hue."""
        order = minigrad.randperm(4)
        return order, *(None if one is None else float(minigrad.empty(1).uniform_(*one).item()) for one in ranges)

    def __call__(self, img: Any) -> Any:
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        adjust = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        for i in order.tolist():
            if factors[i] is not None:
                img = adjust[i](img, factors[i])
        return img
