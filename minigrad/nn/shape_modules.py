"""Modules without parameters that change shapes or compare: paddings, resizing, windows, distances."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ops.nn import resize, similarity, unfold_fold
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


class ConstantPad1d(ConstantPad):
    """A border of one value, in the last dimension.

    >>> import minigrad
    >>> minigrad.nn.ConstantPad1d(1, 9.0)(minigrad.tensor([[1., 2., 3.]]))
    tensor([[9., 1., 2., 3., 9.]])
    """

    ndim = 1


class ConstantPad2d(ConstantPad):
    """A border of one value, in the last two dimensions.

    >>> import minigrad
    >>> minigrad.nn.ConstantPad2d(1, 9.0)(minigrad.ones(1, 2, 3)).shape
    minigrad.Size([1, 4, 5])
    """

    ndim = 2


class ConstantPad3d(ConstantPad):
    """A border of one value, in the last three dimensions.

    >>> import minigrad
    >>> minigrad.nn.ConstantPad3d(1, 9.0)(minigrad.ones(1, 2, 3, 4)).shape
    minigrad.Size([1, 4, 5, 6])
    """

    ndim = 3


class ZeroPad1d(ZeroPad):
    """A border of zeros, in the last dimension.

    >>> import minigrad
    >>> minigrad.nn.ZeroPad1d(1)(minigrad.tensor([[1., 2., 3.]]))
    tensor([[0., 1., 2., 3., 0.]])
    """

    ndim = 1


class ZeroPad2d(ZeroPad):
    """A border of zeros, in the last two dimensions.

    >>> import minigrad
    >>> minigrad.nn.ZeroPad2d(1)(minigrad.ones(1, 2, 3)).shape
    minigrad.Size([1, 4, 5])
    """

    ndim = 2


class ZeroPad3d(ZeroPad):
    """A border of zeros, in the last three dimensions.

    >>> import minigrad
    >>> minigrad.nn.ZeroPad3d(1)(minigrad.ones(1, 2, 3, 4)).shape
    minigrad.Size([1, 4, 5, 6])
    """

    ndim = 3


class ReflectionPad1d(ReflectionPad):
    """A border that mirrors the inside, in the last dimension.

    >>> import minigrad
    >>> minigrad.nn.ReflectionPad1d(1)(minigrad.tensor([[1., 2., 3.]]))
    tensor([[2., 1., 2., 3., 2.]])
    """

    ndim = 1


class ReflectionPad2d(ReflectionPad):
    """A border that mirrors the inside, in the last two dimensions.

    >>> import minigrad
    >>> minigrad.nn.ReflectionPad2d(1)(minigrad.ones(1, 2, 3)).shape
    minigrad.Size([1, 4, 5])
    """

    ndim = 2


class ReflectionPad3d(ReflectionPad):
    """A border that mirrors the inside, in the last three dimensions.

    >>> import minigrad
    >>> minigrad.nn.ReflectionPad3d(1)(minigrad.ones(1, 2, 3, 4)).shape
    minigrad.Size([1, 4, 5, 6])
    """

    ndim = 3


class ReplicationPad1d(ReplicationPad):
    """A border that repeats the outermost elements, in the last dimension.

    >>> import minigrad
    >>> minigrad.nn.ReplicationPad1d(1)(minigrad.tensor([[1., 2., 3.]]))
    tensor([[1., 1., 2., 3., 3.]])
    """

    ndim = 1


class ReplicationPad2d(ReplicationPad):
    """A border that repeats the outermost elements, in the last two dimensions.

    >>> import minigrad
    >>> minigrad.nn.ReplicationPad2d(1)(minigrad.ones(1, 2, 3)).shape
    minigrad.Size([1, 4, 5])
    """

    ndim = 2


class ReplicationPad3d(ReplicationPad):
    """A border that repeats the outermost elements, in the last three dimensions.

    >>> import minigrad
    >>> minigrad.nn.ReplicationPad3d(1)(minigrad.ones(1, 2, 3, 4)).shape
    minigrad.Size([1, 4, 5, 6])
    """

    ndim = 3


class CircularPad1d(CircularPad):
    """A border taken from the other side, in the last dimension.

    >>> import minigrad
    >>> minigrad.nn.CircularPad1d(1)(minigrad.tensor([[1., 2., 3.]]))
    tensor([[3., 1., 2., 3., 1.]])
    """

    ndim = 1


class CircularPad2d(CircularPad):
    """A border taken from the other side, in the last two dimensions.

    >>> import minigrad
    >>> minigrad.nn.CircularPad2d(1)(minigrad.ones(1, 2, 3)).shape
    minigrad.Size([1, 4, 5])
    """

    ndim = 2


class CircularPad3d(CircularPad):
    """A border taken from the other side, in the last three dimensions.

    >>> import minigrad
    >>> minigrad.nn.CircularPad3d(1)(minigrad.ones(1, 2, 3, 4)).shape
    minigrad.Size([1, 4, 5, 6])
    """

    ndim = 3


class Upsample(Module):
    """interpolate with these settings.

    >>> import minigrad
    >>> minigrad.nn.Upsample(scale_factor=2)(minigrad.tensor([[[1., 2.]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

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
    """Channels traded for height and width.

    >>> import minigrad
    >>> minigrad.nn.PixelShuffle(2)(minigrad.ones(1, 4, 3, 3)).shape
    minigrad.Size([1, 1, 6, 6])
    """

    def __init__(self, upscale_factor: int):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return resize.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Height and width traded for channels.

    >>> import minigrad
    >>> minigrad.nn.PixelUnshuffle(2)(minigrad.ones(1, 1, 6, 6)).shape
    minigrad.Size([1, 4, 3, 3])
    """

    def __init__(self, downscale_factor: int):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return resize.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class Unfold(Module):
    """The windows of an image as columns.

    >>> import minigrad
    >>> minigrad.nn.Unfold(kernel_size=2, stride=2)(minigrad.ones(1, 1, 4, 4)).shape
    minigrad.Size([1, 4, 4])
    """

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1):
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return unfold_fold.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Unfold):
    """Columns added up to an image.

    >>> import minigrad
    >>> minigrad.nn.Fold((4, 4), kernel_size=2, stride=2)(minigrad.ones(1, 4, 4)).shape
    minigrad.Size([1, 1, 4, 4])
    """

    def __init__(self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1):
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return unfold_fold.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, {super().extra_repr()}"


class CosineSimilarity(Module):
    """The cosine between two tensors along a dimension.

    >>> import minigrad
    >>> minigrad.nn.CosineSimilarity(dim=0)(minigrad.tensor([1., 1.]), minigrad.tensor([1., 0.]))
    tensor(0.7071)
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8):
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return similarity.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of the difference along the last dimension.

    >>> import minigrad
    >>> minigrad.nn.PairwiseDistance(eps=0.0)(minigrad.tensor([[3., 4.]]), minigrad.zeros(1, 2))
    tensor([5.])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False):
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return similarity.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
