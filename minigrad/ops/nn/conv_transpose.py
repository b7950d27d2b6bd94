"""Transposed convolutions: public functions for the gradient of a convolution by its input (ConvInput in conv.py)."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from ...errors import error
from ...tensors.printing import error_notes
from ..windows import per_dim
from .conv import ConvInput, channels, finish, settings, with_batch, with_weight
from .entry import functional


@functional(
    "T(2, 3, 5), T(3, 4, 3)",
    "T(2, 4, 5), T(4, 3, 3), T(6), stride=3, padding=1, output_padding=2, groups=2, dilation=2",
    "T(3, 5), T(3, 2, 2)",
)
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Apply a transposed convolution to (n, c, length) with `weight` (c, out / groups, kernel); see conv_transpose2d."""
    return spread(1, input, weight, bias, (stride, padding, dilation, groups), output_padding)


@functional(
    "T(2, 3, 4, 3), T(3, 4, 2, 3)",
    "T(1, 4, 3, 3), T(4, 3, 3, 2), T(6), stride=(2, 3), padding=1, output_padding=(1, 2), groups=2",
    "T(3, 3, 2), T(3, 2, 2, 2), dilation=2",
    "T(1, 2, 3, 3), T(2, 1, 3, 3), None, 1, 1, 1, 1, 2",
)
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Apply a transposed convolution to `input` (n, c, height, width) with `weight` (c, out / groups, *kernel).

    This is the gradient of conv2d by its input.  The result exceeds the smallest possible output size by `output_padding`,
    which must be smaller than stride or dilation; RuntimeError otherwise.
    """
    return spread(2, input, weight, bias, (stride, padding, dilation, groups), output_padding)


@functional(
    "T(1, 3, 2, 3, 2), T(3, 2, 2, 2, 3)",
    "T(2, 2, 2, 3), T(2, 1, 2, 2, 2), T(2), stride=(2, 1, 3), padding=(1, 0, 1), groups=2, output_padding=(1, 0, 2)",
)
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Apply a transposed convolution to (n, c, depth, height, width); `weight` as in conv_transpose2d."""
    return spread(3, input, weight, bias, (stride, padding, dilation, groups), output_padding)


def spread(n: int, input: Tensor, weight: Tensor, bias: Tensor | None, windows: tuple, output_padding: Any) -> Tensor:
    """Apply a transposed convolution over n dimensions; `windows` are stride, padding, dilation and groups."""
    who, groups = f"conv_transpose{n}d", windows[-1]
    y, single = with_batch(who, n, input)
    y, weight = with_weight(who, n, y, weight)
    geometry = settings(who, n, *windows)
    extra = per_dim(output_padding, n, who, "output_padding")
    if y.shape[1] != weight.shape[0] or y.shape[1] % groups:
        raise error(
            RuntimeError,
            who,
            f"given groups={groups} and a weight of shape {tuple(weight.shape)}, expected an input of "
            f"{weight.shape[0]} channels, but got {y.shape[1]} (shape {tuple(input.shape)})",
            channels(y, weight.shape[0]),
            notes=error_notes({"input": y, "weight": weight}, marked=()),
        )
    if any(e >= max(s, d) for e, s, d in zip(extra, geometry.stride, geometry.dilation)):
        raise error(
            RuntimeError,
            who,
            f"output padding must be smaller than either stride or dilation, but got output_padding={extra}, "
            f"stride={geometry.stride}, dilation={geometry.dilation}",
            f"pass an output_padding below {tuple(max(s, d) for s, d in zip(geometry.stride, geometry.dilation))}",
        )
    each = zip(y.shape[2:], *geometry[:3], weight.shape[2:], extra)
    size = tuple([(m - 1) * s - 2 * p + d * (k - 1) + e + 1 for m, s, p, d, k, e in each])
    if min(size) < 1:
        raise error(RuntimeError, who, f"calculated output size {size} is too small", "use less padding")
    return finish(ConvInput.apply(y, weight, size, geometry), who, bias, single)
