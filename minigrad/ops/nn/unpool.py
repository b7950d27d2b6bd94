"""Max unpooling: the values of a max pool, written to the positions that they came from; 0 elsewhere.

Each is made of the operations scatter and reshape, under which records and pages show it.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ...core.tensor import Tensor
from ...errors import error
from ..windows import per_dim, ranks


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Write (n, c, length) or (c, length) to the positions `indices` of a longer tensor of zeros; see max_unpool2d.

    >>> import minigrad
    >>> max_unpool1d(minigrad.tensor([[2., 3.]]), minigrad.tensor([[1, 2]]), 2)
    tensor([[0., 2., 3., 0.]])
    """
    return max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Write (n, c, height, width) or (c, height, width) to the positions `indices` that max_pool2d has returned.

    The result has the size (n - 1) * stride + kernel_size - 2 * padding in each direction. Max pools of several sizes have
    results of one size: `output_size`, with batch and channels or without, chooses one that differs by less than a stride.
    Of several values at one position the last counts, and gets the gradient.

    Raises RuntimeError if the shapes differ or a position is outside, ValueError for another `output_size`.

    >>> import minigrad
    >>> pooled, places = minigrad.nn.functional.max_pool2d(minigrad.tensor([[[1., 2.], [4., 3.]]]), 2, return_indices=True)
    >>> max_unpool2d(pooled, places, 2)
    tensor([[[0., 0.],
             [4., 0.]]])
    """
    return max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Write (n, c, depth, height, width), or without n, to the positions of a max pool; see max_unpool2d.

    >>> import minigrad
    >>> max_unpool3d(minigrad.ones(1, 1, 1, 1), minigrad.tensor([[[[5]]]]), 2).flatten()
    tensor([0., 0., 0., 0., 0., 1., 0., 0.])
    """
    return max_unpool(3, input, indices, kernel_size, stride, padding, output_size)


def max_unpool(
    n: int, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Tensor:
    """Scatter the input into zeros, whose last n dimensions the windows' settings give."""
    who = f"max_unpool{n}d"
    if input.ndim not in (n + 1, n + 2):
        raise error(
            RuntimeError, who, f"takes {n + 1} or {n + 2} dimensions, not shape {input._sizes}", ranks(input.ndim, n)
        )
    if input.shape != indices.shape:
        what = f"input has shape {input._sizes}, but indices {indices._sizes}"
        raise error(RuntimeError, who, what, "pass both results of the max pool with return_indices=True")
    kernel, pad = per_dim(kernel_size, n, who, "kernel_size"), per_dim(padding, n, who, "padding")
    step = kernel if stride is None or stride == () or stride == [] else per_dim(stride, n, who, "stride")
    least = tuple([(d - 1) * s + k - 2 * p for d, s, k, p in zip(input._sizes[-n:], step, kernel, pad)])
    size = chosen_size(who, n, least, step, output_size)
    lead = input._sizes[:-n]
    return (
        input.new_zeros((*lead, prod(size))).scatter(-1, indices.flatten(-n), input.flatten(-n)).reshape(*lead, *size)
    )


def chosen_size(who: str, n: int, least: tuple, step: tuple, output_size: Any) -> tuple:
    """Return the sizes of the last dimensions: `output_size` if it is given and a max pool could have had it."""
    if output_size is None:
        return least
    size = tuple(output_size)[-n:]
    low, high = [tuple([d + sign * s for d, s in zip(least, step)]) for sign in (-1, 1)]
    if len(output_size) not in (n, n + 2) or not all(a < d < b for a, d, b in zip(low, size, high)):
        what = f"output_size={tuple(output_size)} does not fit: its last {n} sizes must be between {low} and {high}"
        raise error(ValueError, who, what, "pass the shape of the max pool's input: output_size=x.shape")
    return size
