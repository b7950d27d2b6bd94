"""Modules without parameters that change shapes or compare: paddings, resizing, windows, distances."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ops import columns, distance, resize
from ..ops.pad import pad
from .convolution import many
from .module import Module


class Padding(Module):
    """What the paddings share: one number for all sides, or two for each dimension, those of the last one first."""

    ndim, mode = 0, "constant"
    value: float | None = None

    def __init__(self, padding: Any):
        super().__init__()
        self.padding = many(padding, 2 * self.ndim)

    def forward(self, input: Tensor) -> Tensor:
        return pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad(Padding):
    """A border of one value."""

    def __init__(self, padding: Any, value: float):
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ZeroPad(ConstantPad):
    """A border of zeros."""

    def __init__(self, padding: Any):
        super().__init__(padding, 0.0)

    extra_repr = Padding.extra_repr


class ReflectionPad(Padding):
    """A border that mirrors the inside."""

    mode = "reflect"


class ReplicationPad(Padding):
    """A border that repeats the outermost elements."""

    mode = "replicate"


class CircularPad(Padding):
    """A border taken from the other side."""

    mode = "circular"


def paddings(base: type[Padding]) -> tuple:
    """Its modules for 1, 2 and 3 dimensions."""
    return tuple(
        [
            type(f"{base.__name__}{n}d", (base,), {"__doc__": base.__doc__, "__module__": __name__, "ndim": n})
            for n in (1, 2, 3)
        ]
    )


ConstantPad1d, ConstantPad2d, ConstantPad3d = paddings(ConstantPad)
ZeroPad1d, ZeroPad2d, ZeroPad3d = paddings(ZeroPad)
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = paddings(ReflectionPad)
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = paddings(ReplicationPad)
CircularPad1d, CircularPad2d, CircularPad3d = paddings(CircularPad)


class Upsample(Module):
    """interpolate with these settings."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ):
        super().__init__()
        several = isinstance(scale_factor, (tuple, list))
        self.size, self.mode, self.align_corners = size, mode, align_corners
        self.scale_factor = (
            tuple(map(float, scale_factor)) if several else float(scale_factor) if scale_factor else scale_factor
        )
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return resize.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self) -> str:
        to = f"scale_factor={self.scale_factor!r}" if self.scale_factor is not None else f"size={self.size!r}"
        return f"{to}, mode={self.mode!r}"


class PixelShuffle(Module):
    """Channels traded for height and width."""

    def __init__(self, upscale_factor: int):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return resize.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Height and width traded for channels."""

    def __init__(self, downscale_factor: int):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return resize.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class Unfold(Module):
    """The windows of an image as columns."""

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1):
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return columns.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Unfold):
    """Columns added up to an image."""

    def __init__(self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1):
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return columns.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, {super().extra_repr()}"


class CosineSimilarity(Module):
    """The cosine between two tensors along a dimension."""

    def __init__(self, dim: int = 1, eps: float = 1e-8):
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return distance.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of the difference along the last dimension."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False):
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return distance.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
