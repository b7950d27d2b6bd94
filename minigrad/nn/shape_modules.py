"""Modules without parameters that change shapes or compare inputs: paddings, resizing, windows, distances."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..ops.nn import resize, similarity, unfold_fold
from ..ops.norms import pairwise_distance
from ..ops.pad import pad
from .module import Module
from .settings import Functional, as_ntuple


class Padding(Functional, function=pad):
    """Base class of the paddings: one number for all sides, or two per dimension, the last dimension first."""

    padding: Any

    _ndim, _mode = 0, "constant"

    def __init_subclass__(cls, ndim: int = 0, **options: Any):
        super().__init_subclass__(**options)
        cls._ndim = ndim or cls._ndim

    def __post_init__(self) -> None:
        self.padding = as_ntuple(self.padding, 2 * self._ndim)

    def forward(self, input: Tensor) -> Tensor:
        return pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad(Padding, function=pad):
    """A border of one value."""

    value: float

    def forward(self, input: Tensor) -> Tensor:
        return pad(input, self.padding, value=self.value)

    extra_repr = Functional.extra_repr


class ZeroPad(ConstantPad):
    """A border of zeros."""

    def __init__(self, padding: Any):
        super().__init__(padding, 0.0)

    extra_repr = Padding.extra_repr


class ReflectionPad(Padding):
    """A border that mirrors the inside."""

    _mode = "reflect"


class ReplicationPad(Padding):
    """A border that repeats the outermost elements."""

    _mode = "replicate"


class CircularPad(Padding):
    """A border that wraps around from the opposite side."""

    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        n = self._ndim
        if input.ndim not in (n + 1, n + 2):
            what = f"expected {n + 1}D or {n + 2}D input (got {input.ndim}D input)"
            raise error(ValueError, f"CircularPad{n}d", what, "pass (batch, channels, ...) or (channels, ...)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return super().forward(input)


class ConstantPad1d(ConstantPad, ndim=1):
    """A border of one value, in the last dimension.

    >>> import minigrad
    >>> minigrad.nn.ConstantPad1d(1, 9.0)(minigrad.tensor([[1., 2., 3.]]))
    tensor([[9., 1., 2., 3., 9.]])
    """


class ConstantPad2d(ConstantPad, ndim=2):
    """A border of one value, in the last two dimensions.

    >>> import minigrad
    >>> minigrad.nn.ConstantPad2d(1, 9.0)(minigrad.ones(1, 2, 3)).shape
    minigrad.Size([1, 4, 5])
    """


class ConstantPad3d(ConstantPad, ndim=3):
    """A border of one value, in the last three dimensions.

    >>> import minigrad
    >>> minigrad.nn.ConstantPad3d(1, 9.0)(minigrad.ones(1, 2, 3, 4)).shape
    minigrad.Size([1, 4, 5, 6])
    """


class ZeroPad1d(ZeroPad, ConstantPad1d, ndim=1):
    """A border of zeros, in the last dimension.

    >>> import minigrad
    >>> minigrad.nn.ZeroPad1d(1)(minigrad.tensor([[1., 2., 3.]]))
    tensor([[0., 1., 2., 3., 0.]])
    """


class ZeroPad2d(ZeroPad, ConstantPad2d, ndim=2):
    """A border of zeros, in the last two dimensions.

    >>> import minigrad
    >>> minigrad.nn.ZeroPad2d(1)(minigrad.ones(1, 2, 3)).shape
    minigrad.Size([1, 4, 5])
    """


class ZeroPad3d(ZeroPad, ConstantPad3d, ndim=3):
    """A border of zeros, in the last three dimensions.

    >>> import minigrad
    >>> minigrad.nn.ZeroPad3d(1)(minigrad.ones(1, 2, 3, 4)).shape
    minigrad.Size([1, 4, 5, 6])
    """


class ReflectionPad1d(ReflectionPad, ndim=1):
    """A border that mirrors the inside, in the last dimension.

    >>> import minigrad
    >>> minigrad.nn.ReflectionPad1d(1)(minigrad.tensor([[1., 2., 3.]]))
    tensor([[2., 1., 2., 3., 2.]])
    """


class ReflectionPad2d(ReflectionPad, ndim=2):
    """A border that mirrors the inside, in the last two dimensions.

    >>> import minigrad
    >>> minigrad.nn.ReflectionPad2d(1)(minigrad.ones(1, 2, 3)).shape
    minigrad.Size([1, 4, 5])
    """


class ReflectionPad3d(ReflectionPad, ndim=3):
    """A border that mirrors the inside, in the last three dimensions.

    >>> import minigrad
    >>> minigrad.nn.ReflectionPad3d(1)(minigrad.ones(1, 2, 3, 4)).shape
    minigrad.Size([1, 4, 5, 6])
    """


class ReplicationPad1d(ReplicationPad, ndim=1):
    """A border that repeats the outermost elements, in the last dimension.

    >>> import minigrad
    >>> minigrad.nn.ReplicationPad1d(1)(minigrad.tensor([[1., 2., 3.]]))
    tensor([[1., 1., 2., 3., 3.]])
    """


class ReplicationPad2d(ReplicationPad, ndim=2):
    """A border that repeats the outermost elements, in the last two dimensions.

    >>> import minigrad
    >>> minigrad.nn.ReplicationPad2d(1)(minigrad.ones(1, 2, 3)).shape
    minigrad.Size([1, 4, 5])
    """


class ReplicationPad3d(ReplicationPad, ndim=3):
    """A border that repeats the outermost elements, in the last three dimensions.

    >>> import minigrad
    >>> minigrad.nn.ReplicationPad3d(1)(minigrad.ones(1, 2, 3, 4)).shape
    minigrad.Size([1, 4, 5, 6])
    """


class CircularPad1d(CircularPad, ndim=1):
    """A border that wraps around from the opposite side, in the last dimension.

    >>> import minigrad
    >>> minigrad.nn.CircularPad1d(1)(minigrad.tensor([[1., 2., 3.]]))
    tensor([[3., 1., 2., 3., 1.]])
    """


class CircularPad2d(CircularPad, ndim=2):
    """A border that wraps around from the opposite side, in the last two dimensions.

    >>> import minigrad
    >>> minigrad.nn.CircularPad2d(1)(minigrad.ones(1, 2, 3)).shape
    minigrad.Size([1, 4, 5])
    """


class CircularPad3d(CircularPad, ndim=3):
    """A border that wraps around from the opposite side, in the last three dimensions.

    >>> import minigrad
    >>> minigrad.nn.CircularPad3d(1)(minigrad.ones(1, 2, 3, 4)).shape
    minigrad.Size([1, 4, 5, 6])
    """


class Upsample(Functional, function=resize.interpolate):
    """nn.functional.interpolate with these settings.

    >>> import minigrad
    >>> minigrad.nn.Upsample(scale_factor=2)(minigrad.tensor([[[1., 2.]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    size: Any = None
    scale_factor: Any = None
    mode: str = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None

    def __post_init__(self) -> None:
        if isinstance(self.scale_factor, (tuple, list)):
            self.scale_factor = tuple(map(float, self.scale_factor))
        elif self.scale_factor:
            self.scale_factor = float(self.scale_factor)

    def extra_repr(self) -> str:
        to = f"scale_factor={self.scale_factor!r}" if self.scale_factor is not None else f"size={self.size!r}"
        return f"{to}, mode={self.mode!r}"


class ChannelShuffle(Functional, function=resize.channel_shuffle):
    """Channels interleaved by group: the first of each group, then the second of each, and so on.

    >>> import minigrad
    >>> minigrad.nn.ChannelShuffle(2)(minigrad.arange(4.).reshape(1, 4, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    groups: int


class PixelShuffle(Functional, function=resize.pixel_shuffle):
    """Channels rearranged into height and width.

    >>> import minigrad
    >>> minigrad.nn.PixelShuffle(2)(minigrad.ones(1, 4, 3, 3)).shape
    minigrad.Size([1, 1, 6, 6])
    """

    upscale_factor: int


class PixelUnshuffle(Functional, function=resize.pixel_unshuffle):
    """Height and width rearranged into channels.

    >>> import minigrad
    >>> minigrad.nn.PixelUnshuffle(2)(minigrad.ones(1, 1, 6, 6)).shape
    minigrad.Size([1, 4, 3, 3])
    """

    downscale_factor: int


class Unfold(Functional, function=unfold_fold.unfold):
    """The windows of an image as columns.

    >>> import minigrad
    >>> minigrad.nn.Unfold(kernel_size=2, stride=2)(minigrad.ones(1, 1, 4, 4)).shape
    minigrad.Size([1, 4, 4])
    """

    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1


class Fold(Functional, function=unfold_fold.fold):
    """Columns summed into an image, the adjoint of Unfold.

    >>> import minigrad
    >>> minigrad.nn.Fold((4, 4), kernel_size=2, stride=2)(minigrad.ones(1, 4, 4)).shape
    minigrad.Size([1, 1, 4, 4])
    """

    output_size: Any
    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1


class CosineSimilarity(Functional, function=similarity.cosine_similarity):
    """The cosine between two tensors along a dimension.

    >>> import minigrad
    >>> minigrad.nn.CosineSimilarity(dim=0)(minigrad.tensor([1., 1.]), minigrad.tensor([1., 0.]))
    tensor(0.7071)
    """

    dim: int = 1
    eps: float = 1e-8

    _shown = ()

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:  # type: ignore[override]
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
        return pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
