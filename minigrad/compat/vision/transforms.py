"""The classes of torchvision.transforms, and of its v2: functions of an image, with settings that stay.

A class has a function, whose arguments behind the image are the class's settings. Random functions draw from minigrad's
generator, in the order of torchvision.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import minigrad
from minigrad.diagnose.boundary import guard as _guard
from minigrad.errors import error
from minigrad.nn import Module

from . import functional
from .functional import BILINEAR, NEAREST, get_dimensions, mode_of, sides_of
from .functional import InterpolationMode as InterpolationMode

__all__ = [
    "CenterCrop", "ColorJitter", "Compose", "ConvertImageDtype", "Grayscale", "InterpolationMode", "Lambda",
    "Normalize", "PILToTensor", "Pad", "RandomCrop", "RandomHorizontalFlip", "RandomResizedCrop",
    "RandomRotation", "RandomVerticalFlip", "Resize", "ToDtype", "ToImage", "ToPILImage", "ToTensor",
]  # fmt: skip


def expect_callable(lambd: Any) -> None:
    """Raise TypeError for an argument that is not a function."""
    if not callable(lambd):
        raise error(TypeError, "Lambda", f"Argument lambd should be callable, got {lambd!r}", "pass a function")


CHECKS = {"interpolation": mode_of, "lambd": expect_callable, "padding": functional.margins, "size": sides_of}


class ImageTransform(Module):
    """A module that calls `function` with an image and its settings; `shown` are those in the repr, `name?` unless None."""

    function: Callable
    signature: inspect.Signature
    shown = ""

    def __init_subclass__(cls) -> None:
        _, *settings = inspect.signature(cls.function).parameters.values()
        cls.signature = inspect.Signature(settings)

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()
        given = self.signature.bind(*args, **kwargs)
        given.apply_defaults()
        for name, value in given.arguments.items():
            if name in CHECKS and value is not None:
                CHECKS[name](value)  # an error names the line that makes the transform
            setattr(self, name, value)

    def settings(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {name: getattr(self, name) for name in self.signature.parameters}

    def forward(self, img: Any) -> Any:
        return self.function(img, **self.settings())

    def __repr__(self) -> str:
        settings = self.settings()
        if "interpolation" in settings:
            settings["interpolation"] = mode_of(settings["interpolation"]).value
        names = [name.strip("?") for name in self.shown.split() if name[-1] != "?" or settings[name[:-1]] is not None]
        return f"{type(self).__name__}({', '.join(f'{name}={settings[name]}' for name in names)})"


def of(name: str, function: Callable, shown: str = "", about: str = "") -> Any:
    """Make the class of a function."""
    about = about or (function.__doc__ or "").partition("\n")[0]
    names = {"function": staticmethod(function), "shown": shown, "__doc__": about, "__module__": __name__}
    return type(name, (ImageTransform,), names)


def randomly(change: Callable) -> Callable:
    """Return a function that changes an image with probability `p`."""
    return lambda img, p=0.5: change(img) if minigrad.rand(1).item() < p else img


ToTensor = of("ToTensor", functional.to_tensor)
PILToTensor = of("PILToTensor", functional.pil_to_tensor)
ToImage = of("ToImage", functional.to_image)
ToPILImage = of("ToPILImage", functional.to_pil_image, "mode?")
ConvertImageDtype = of("ConvertImageDtype", functional.convert_image_dtype)
ToDtype = of("ToDtype", functional.to_dtype, "scale")
Normalize = of("Normalize", functional.normalize, "mean std")
Grayscale = of("Grayscale", functional.rgb_to_grayscale, "num_output_channels")
Resize = of("Resize", functional.resize, "size interpolation max_size antialias")
Pad = of("Pad", functional.pad, "padding fill padding_mode")
Lambda = of("Lambda", lambda img, lambd: lambd(img), about="Apply a function.")
RandomHorizontalFlip = of("RandomHorizontalFlip", randomly(functional.hflip), "p", "Mirror left for right, at random.")
RandomVerticalFlip = of("RandomVerticalFlip", randomly(functional.vflip), "p", "Mirror top for bottom, at random.")


class Compose(ImageTransform):
    """Apply one transform after another."""

    @staticmethod
    def function(img: Any, transforms: Any) -> Any:
        for one in transforms:
            img = one(img)
        return img

    def __repr__(self) -> str:
        return "\n".join([f"{type(self).__name__}(", *(f"    {one}" for one in self.transforms), ")"])


class CenterCrop(ImageTransform):
    """Keep the middle."""

    shown = "size"

    def __init__(self, size: Any, *args: Any, **kwargs: Any):
        super().__init__(tuple(sides_of(size) * 2)[:2], *args, **kwargs)

    @staticmethod
    def function(img: Any, size: Any) -> Any:
        return functional.center_crop(img, size)


# ---------------------------------------------------------------- random ones
def uniform(low: float, high: float) -> float:
    """Draw a number from an interval."""
    return float(minigrad.empty(1).uniform_(low, high).item())


def place(rest: list[int]) -> tuple[int, int]:
    """Draw the top left corner of a part, from the height and the width that it leaves free."""
    top, left = (int(minigrad.randint(0, n + 1, size=(1,)).item()) for n in rest)
    return top, left


class RandomCrop(CenterCrop):
    """Keep a part of this size, anywhere."""

    shown = "size padding"

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple:
        """Draw the part: top, left, height, width."""
        (height, width), (_, tall, wide) = output_size, get_dimensions(img)
        if tall < height or wide < width:
            what = f"Required crop size {(height, width)} is larger than input image size {(tall, wide)}"
            raise error(ValueError, "RandomCrop", what, "pass pad_if_needed=True, or apply Resize before")
        rest = [tall - height, wide - width]
        return *(place(rest) if any(rest) else (0, 0)), height, width

    @staticmethod
    def function(
        img: Any,
        size: Any,
        padding: Any = None,
        pad_if_needed: Any = False,
        fill: Any = 0,
        padding_mode: Any = "constant",
    ) -> Any:
        img = img if padding is None else functional.pad(img, padding, fill, padding_mode)
        _, tall, wide = get_dimensions(img)
        for lacking in ((size[1] - wide, 0), (0, size[0] - tall)):
            grows = pad_if_needed and max(lacking) > 0
            img = functional.pad(img, lacking, fill, padding_mode) if grows else img
        return functional.crop(img, *RandomCrop.get_params(img, size))


class RandomResizedCrop(CenterCrop):
    """Keep a part of random area and shape, and change its size."""

    shown = "size scale ratio interpolation antialias"

    @staticmethod
    def get_params(img: Any, scale: Any, ratio: Any) -> tuple:
        """Draw the part: top, left, height, width."""
        _, tall, wide = get_dimensions(img)
        for _ in range(10):
            area = tall * wide * uniform(*scale)
            shape = math.exp(uniform(math.log(ratio[0]), math.log(ratio[1])))
            width, height = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < width <= wide and 0 < height <= tall:
                return *place([tall - height, wide - width]), height, width
        height, width = min(tall, round(wide / min(ratio))), min(wide, round(tall * max(ratio)))  # the middle
        return (tall - height) // 2, (wide - width) // 2, height, width

    @staticmethod
    def function(
        img: Any, size: Any, scale: Any = (0.08, 1.0), ratio: Any = (3 / 4, 4 / 3), interpolation: Any = BILINEAR,
        antialias: Any = True,
    ) -> Any:  # fmt: skip
        part = functional.crop(img, *RandomResizedCrop.get_params(img, scale, ratio))
        return functional.resize(part, size, interpolation, antialias=antialias)


class RandomRotation(ImageTransform):
    """Rotate by an angle between -degrees and degrees, or between two angles."""

    shown = "degrees interpolation expand center? fill"

    def __init__(self, degrees: Any, *args: Any, **kwargs: Any):
        low, high = degrees if isinstance(degrees, (tuple, list)) else (-degrees, degrees)
        if low > high:
            raise error(ValueError, "RandomRotation", f"degrees go from {low} to {high}", "write the smaller one first")
        super().__init__([float(low), float(high)], *args, **kwargs)

    @staticmethod
    def get_params(degrees: Any) -> float:
        """Draw the angle."""
        return uniform(*degrees)

    @staticmethod
    def function(
        img: Any, degrees: Any, interpolation: Any = NEAREST, expand: bool = False, center: Any = None, fill: Any = 0
    ) -> Any:
        return functional.rotate(img, uniform(*degrees), interpolation, expand, center, fill)


class ColorJitter(ImageTransform):
    """Change brightness, contrast, saturation and hue at random, in random order.

    A number x stands for a factor from 1 - x to 1 + x, for the hue a shift from -x to x.
    """

    shown = "brightness contrast saturation hue"

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0):
        super().__init__(brightness, contrast, saturation, hue)
        for name, given in self.settings().items():
            center, least, most = (0.0, -0.5, 0.5) if name == "hue" else (1.0, 0.0, math.inf)
            number = not isinstance(given, (tuple, list))
            low, high = (max(center - given, center - 1), center + given) if number else given
            if not least <= low <= high <= most:
                what = f"{name} values should be between {least} and {most}, got {given}"
                raise error(ValueError, "ColorJitter", what, "pass a number of at least 0, or (low, high)")
            setattr(self, name, None if low == high == center else (float(low), float(high)))

    @staticmethod
    def get_params(*ranges: Any) -> tuple:
        """Draw the order, and the factors of brightness, contrast, saturation and hue."""
        return minigrad.randperm(4), *(None if one is None else uniform(*one) for one in ranges)

    @staticmethod
    def function(img: Any, brightness: Any, contrast: Any, saturation: Any, hue: Any) -> Any:
        order, *factors = ColorJitter.get_params(brightness, contrast, saturation, hue)
        adjust = (
            functional.adjust_brightness,
            functional.adjust_contrast,
            functional.adjust_saturation,
            functional.adjust_hue,
        )
        for i in order.tolist():
            img = img if factors[i] is None else adjust[i](img, factors[i])
        return img


_guard(__name__)
