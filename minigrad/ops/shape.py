"""Shapes: views that rearrange dimensions without copying, and what is built of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..errors import error
from .families import View, sum_to
from .memory import Clone
from .registry import op


class Reshape(View):
    """The same elements in the same order under another shape, without copying."""

    impl = lambda x, size: np.reshape(x, size, copy=False)
    dx = lambda g, shape: g.reshape(shape)
    batch = lambda x, size: (x, (x.shape[0], *size))


class Permute(View):
    """Dimensions in another order."""

    impl = lambda x, order: x.transpose(order)
    dx = lambda g, order: g.permute(tuple([int(i) for i in np.argsort(order)]))
    batch = lambda x, order: (x, (0, *[i + 1 for i in order]))


class Expand(View):
    """Dimensions of size 1, and new ones in front, repeated without copying."""

    impl = lambda x, size: np.lib.stride_tricks.as_strided(x, size, strides_of(x, size))
    dx = lambda g, shape: sum_to(g, shape)

    @staticmethod
    def batch(x: Any, size: tuple) -> tuple:
        """New dimensions come behind the batch."""
        return x.reshape(x.shape[:1] + (1,) * (len(size) - x.ndim + 1) + x.shape[1:]), (x.shape[0], *size)


def strides_of(x: np.ndarray, size: tuple) -> tuple:
    """Steps of an expanded array: 0 where it repeats."""
    lead = len(size) - x.ndim
    return (0,) * lead + tuple([s if n == m else 0 for s, n, m in zip(x.strides, x.shape, size[lead:], strict=True)])


def shape_from(args: tuple) -> tuple:
    """`f(2, 3)` and `f((2, 3))` mean the same."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = tuple(args[0])
    return tuple([int(n) for n in args])


def inferred(input: Tensor, shape: tuple, who: str) -> tuple:
    """The shape with its one -1 worked out."""
    n = input.numel()
    if shape.count(-1) > 1:
        raise error(RuntimeError, who, f"only one dimension can be inferred, but shape {shape} has {shape.count(-1)} of -1")
    known = math.prod([s for s in shape if s != -1])
    if -1 in shape:
        if known == 0 and n == 0:
            raise error(RuntimeError, who, f"cannot reshape a tensor of 0 elements into shape {shape}: the -1 could be any size")
        if known and n % known == 0:
            return tuple([n // known if s == -1 else s for s in shape])
    elif known == n and all(s >= 0 for s in shape):
        return shape
    raise error(RuntimeError, who, f"shape {shape} is invalid for input of size {n} (shape {tuple(input.shape)})",
                f"choose sizes whose product is {n}")


@op("T(2, 6), (3, 4)", "T(2, 6), (-1,)", "T(4, 3).mT, (2, 6)", "T(), (1, 1)", "T(0, 3), (3, 0)")
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in row-major order under another shape; a view where the memory allows it, else a copy.

    One size may be -1: it is worked out.
    """
    size = inferred(input, shape_from(shape), "reshape")
    return Reshape.apply(input if viewable(input, size) else Clone.apply(input).contiguous(), size)


def viewable(input: Tensor, size: tuple) -> bool:
    """Whether the memory of `input` can be seen under shape `size` without copying."""
    while input._layer is not None:
        if tuple(input.shape) != tuple(input._value.shape):
            return False
        input = input._value
    try:
        np.reshape(input._a, size, copy=False)
    except ValueError:
        return False
    return True


@op("T(2, 3, 4), (2, 0, 1)", "T(2, 3), (-1, 0)")
def permute(input: Tensor, *dims: Any) -> Tensor:
    """The dimensions in the given order, as a view."""
    order = shape_from(dims)
    if sorted(d % max(input.ndim, 1) for d in order) != list(range(input.ndim)):
        raise error(RuntimeError, "permute", f"dims {order} are not an order of the {input.ndim} dimensions of shape {tuple(input.shape)}")
    return Permute.apply(input, tuple([d % input.ndim for d in order]))


@op("T(3, 1), (3, 4)", "T(3), (2, -1)", "T(), (2,)", torch="Tensor.expand")
def expand(input: Tensor, *size: Any) -> Tensor:
    """Dimensions of size 1 repeated to the given size, and new dimensions in front, without copying; -1 keeps a size."""
    size, old = shape_from(size), tuple(input.shape)
    lead = len(size) - len(old)
    if lead < 0 or any(n == -1 for n in size[:lead]):
        raise error(RuntimeError, "expand", f"cannot expand shape {old} to {size}: the new shape needs at least {len(old)} dimensions, "
                    "and new ones cannot be -1")
    new = tuple([*size[:lead], *[m if n == -1 else n for n, m in zip(size[lead:], old, strict=True)]])
    for d, (n, m) in enumerate(zip(new[lead:], old, strict=True)):
        if m != n and m != 1:
            raise error(RuntimeError, "expand", f"dimension {d} of shape {old} has size {m} and cannot be expanded to {n}: only size 1 repeats")
    return Expand.apply(input, new)
