"""The classes of torchvision.transforms, and of its v2: functions of an image, with settings that stay.

Each is a module whose fields are the arguments of a function of functional.py, behind the image. Random ones draw from
minigrad's generator, in the order of torchvision.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, dataclass_transform

import minigrad
from minigrad.errors import error
from minigrad.nn import Module

from . import functional
from .functional import InterpolationMode as InterpolationMode

__all__ = """CenterCrop ColorJitter Compose ConvertImageDtype Grayscale InterpolationMode Lambda Normalize PILToTensor Pad
RandomCrop RandomHorizontalFlip RandomResizedCrop RandomRotation RandomVerticalFlip Resize ToDtype ToImage ToPILImage
ToTensor""".split()

CHECKS = {"interpolation": functional.mode_of, "padding": functional.margins, "size": functional.sides_of}


@dataclass_transform(eq_default=False)
class ImageTransform(Module):
    """A module that calls `function` with an image and its fields; `shown` are those in the repr, `name?` unless it is None."""

    function: ClassVar[Callable]
    shown: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        dataclass(eq=False, repr=False)(cls)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__new__(cls)
        Module.__init__(made)  # before the fields are assigned
        return made

    def __post_init__(self) -> None:
        for name, value in self.settings().items():
            if name in CHECKS and value is not None:
                CHECKS[name](value)  # an error names the line that makes the transform

    def settings(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def forward(self, img: Any) -> Any:
        return self.function(img, **self.settings())

    def __repr__(self) -> str:
        settings = self.settings()
        if "interpolation" in settings:
            settings["interpolation"] = functional.mode_of(settings["interpolation"]).value
        names = [name.strip("?") for name in self.shown.split() if name[-1] != "?" or settings[name[:-1]] is not None]
        return f"{type(self).__name__}({', '.join(f'{name}={settings[name]}' for name in names)})"


def of(name: str, function: Callable, shown: str = "") -> type:
    """Make the class of a function, with the function's arguments behind the image as fields."""
    _, *arguments = inspect.signature(function).parameters.values()
    types = {"__annotations__": dict.fromkeys([one.name for one in arguments], Any)}
    defaults = {one.name: one.default for one in arguments if one.default is not one.empty}
    about = {"function": staticmethod(function), "shown": shown, "__doc__": function.__doc__, "__module__": __name__}
    return type(name, (ImageTransform,), types | defaults | about)


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


class Compose(ImageTransform):
    """Apply one transform after another."""

    transforms: Any

    def forward(self, img: Any) -> Any:
        for one in self.transforms:
            img = one(img)
        return img

    def __repr__(self) -> str:
        return "\n".join([f"{type(self).__name__}(", *(f"    {one}" for one in self.transforms), ")"])


class Lambda(ImageTransform):
    """Apply a function."""

    lambd: Callable

    def __post_init__(self) -> None:
        if not callable(self.lambd):
            raise error(
                TypeError, "Lambda", f"Argument lambd should be callable, got {self.lambd!r}", "pass a function"
            )

    def forward(self, img: Any) -> Any:
        return self.lambd(img)


class CenterCrop(ImageTransform):
    """Keep the middle."""

    size: Any
    shown = "size"

    def __post_init__(self) -> None:
        self.size = tuple(functional.sides_of(self.size) * 2)[:2]

    def forward(self, img: Any) -> Any:
        return functional.center_crop(img, self.size)


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

    padding: Any = None
    pad_if_needed: bool = False
    fill: Any = 0
    padding_mode: str = "constant"
    shown = "size padding"

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Draw the part: top, left, height, width."""
        _, *old = functional.get_dimensions(img)
        rest = [before - after for before, after in zip(old, output_size)]
        if min(rest) < 0:
            what = f"Required crop size {tuple(output_size)} is larger than input image size {tuple(old)}"
            raise error(ValueError, "RandomCrop", what, "pass pad_if_needed=True, or apply Resize before")
        return *(place(rest) if any(rest) else (0, 0)), *output_size

    def forward(self, img: Any) -> Any:
        how = (self.fill, self.padding_mode)
        img = img if self.padding is None else functional.pad(img, self.padding, *how)
        _, tall, wide = functional.get_dimensions(img)
        for lacking in ((self.size[1] - wide, 0), (0, self.size[0] - tall)):
            img = functional.pad(img, lacking, *how) if self.pad_if_needed and max(lacking) > 0 else img
        return functional.crop(img, *self.get_params(img, self.size))


class RandomResizedCrop(CenterCrop):
    """Keep a part of random area and shape, and change its size."""

    scale: Any = (0.08, 1.0)
    ratio: Any = (3 / 4, 4 / 3)
    interpolation: Any = functional.BILINEAR
    antialias: Any = True
    shown = "size scale ratio interpolation antialias"

    @staticmethod
    def get_params(img: Any, scale: Any, ratio: Any) -> tuple[int, int, int, int]:
        """Draw the part: top, left, height, width."""
        _, tall, wide = functional.get_dimensions(img)
        for _ in range(10):
            area = tall * wide * uniform(*scale)
            shape = math.exp(uniform(math.log(ratio[0]), math.log(ratio[1])))
            width, height = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < width <= wide and 0 < height <= tall:
                return *place([tall - height, wide - width]), height, width
        height, width = min(tall, round(wide / min(ratio))), min(wide, round(tall * max(ratio)))  # the middle
        return (tall - height) // 2, (wide - width) // 2, height, width

    def forward(self, img: Any) -> Any:
        part = functional.crop(img, *self.get_params(img, self.scale, self.ratio))
        return functional.resize(part, self.size, self.interpolation, antialias=self.antialias)


class RandomHorizontalFlip(ImageTransform):
    """Mirror left for right, with probability `p`."""

    p: float = 0.5
    shown = "p"
    function = staticmethod(functional.hflip)

    def forward(self, img: Any) -> Any:
        return self.function(img) if minigrad.rand(1).item() < self.p else img


class RandomVerticalFlip(RandomHorizontalFlip):
    """Mirror top for bottom, with probability `p`."""

    function = staticmethod(functional.vflip)


class RandomRotation(ImageTransform):
    """Rotate by an angle between -degrees and degrees, or between two angles."""

    degrees: Any
    interpolation: Any = functional.NEAREST
    expand: bool = False
    center: Any = None
    fill: Any = 0
    shown = "degrees interpolation expand center? fill?"

    def __post_init__(self) -> None:
        low, high = self.degrees if isinstance(self.degrees, (tuple, list)) else (-self.degrees, self.degrees)
        self.degrees = [float(low), float(high)]
        if low > high:
            raise error(ValueError, "RandomRotation", f"degrees go from {low} to {high}", "write the smaller one first")

    @staticmethod
    def get_params(degrees: Any) -> float:
        """Draw the angle."""
        return uniform(*degrees)

    def forward(self, img: Any) -> Any:
        return functional.rotate(img, uniform(*self.degrees), self.interpolation, self.expand, self.center, self.fill)


class ColorJitter(ImageTransform):
    """Change brightness, contrast, saturation and hue at random, in random order.

    A number x stands for a factor from 1 - x to 1 + x, for the hue a shift from -x to x.
    """

    brightness: Any = 0
    contrast: Any = 0
    saturation: Any = 0
    hue: Any = 0
    shown = "brightness contrast saturation hue"

    def __post_init__(self) -> None:
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

    def forward(self, img: Any) -> Any:
        order, *factors = self.get_params(*self.settings().values())
        adjust = (
            functional.adjust_brightness,
            functional.adjust_contrast,
            functional.adjust_saturation,
            functional.adjust_hue,
        )
        for i in order.tolist():
            img = img if factors[i] is None else adjust[i](img, factors[i])
        return img
