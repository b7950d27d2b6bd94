"""Unpooling: each element back at its position before max_pool, between zeros.

Source: Zeiler et al., "Adaptive deconvolutional networks", 2011.
"""

from __future__ import annotations

import math
from typing import Any

from ...core.tensor import Tensor
from ...errors import error
from ..windows import per_dim, ranks
from .entry import expect_numbers, functional


@functional(
    "T(2, 2, 4), I(2, 2, 4, 2) + 2 * torch.arange(4), 2",
    "T(2, 3), 2 * torch.arange(3).expand(2, 3), 2, output_size=(7,)",
)
def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Put each element of (n, c, length) or (c, length) at its position in a longer row of zeros; see max_unpool2d."""
    return max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


@functional("T(1, 2, 2, 2), torch.tensor([[[[0, 3], [9, 14]], [[5, 2], [8, 15]]]]), 2", node="MaxUnpool2D")
def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Put each element of (n, c, height, width) or (c, height, width) at its position in a larger image of zeros.

    `indices` are the positions that max_pool2d returns with `return_indices=True`.  Several sizes are pooled to the same one:
    `output_size` selects among them, and defaults to (size - 1) * stride + kernel - 2 * padding.  Raises ValueError for an
    output_size that does not pool to this size, RuntimeError for positions outside.

    >>> import minigrad
    >>> F = minigrad.nn.functional
    >>> y, places = F.max_pool2d(minigrad.tensor([[[1., 2.], [4., 3.]]]), 2, return_indices=True)
    >>> F.max_unpool2d(y, places, 2)
    tensor([[[0., 0.],
             [4., 0.]]])
    """
    return max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


@functional("T(1, 1, 1, 1, 2), torch.tensor([[[[[5, 2]]]]]), (2, 2, 1)", node="MaxUnpool3D")
def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Put each element of (n, c, depth, height, width), or without n, at its position in zeros; see max_unpool2d."""
    return max_unpool(3, input, indices, kernel_size, stride, padding, output_size)


def max_unpool(
    n: int, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Tensor:
    """Return zeros over the last n dimensions, with the elements at their positions."""
    who = f"max_unpool{n}d"
    expect_numbers(who, input)
    if input.ndim not in (n + 1, n + 2) or input.shape != indices.shape:
        what = f"expected an input of {n + 1} or {n + 2} dimensions and as many indices, got {tuple(input.shape)} and "
        raise error(RuntimeError, who, f"{what}{tuple(indices.shape)}", ranks(input, n))
    kernel, pad = per_dim(kernel_size, n, who, "kernel_size"), per_dim(padding, n, who, "padding")
    step = kernel if stride is None or stride == () or stride == [] else per_dim(stride, n, who, "stride")
    size = size_before(who, tuple(input.shape[-n:]), kernel, step, pad, output_size)
    zeros = input.new_zeros((*input.shape[:-n], math.prod(size)))
    return zeros.scatter(-1, indices.flatten(-n), input.flatten(-n)).unflatten(-1, size)


def size_before(who: str, size: tuple, kernel: tuple, step: tuple, pad: tuple, wanted: Any) -> tuple:
    """Return the size from before the pooling to `size`: the requested one, if possible."""
    usual = tuple([(m - 1) * s + k - 2 * p for m, k, s, p in zip(size, kernel, step, pad)])
    if wanted is None:
        return usual
    whole = isinstance(wanted, (tuple, list)) and len(wanted) == len(size) + 2  # with the batch and the channels
    given = per_dim(tuple(wanted)[2:] if whole else wanted, len(size), who, "output_size")
    if any(not u - s < w < u + s for w, u, s in zip(given, usual, step)):
        what = f"output_size={wanted} is not within a stride, {step}, of {usual}"
        raise error(ValueError, who, what, "pass the size of the tensor that was pooled: x.size()")
    return given
