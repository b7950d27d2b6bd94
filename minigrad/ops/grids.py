"""Grids: the coordinates of a grid's points, and all ways to choose elements of vectors."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ..arrays.kinds import require_one_device
from ..core.saved import plain_tensor
from ..core.tensor import Tensor, wrap
from ..errors import error, no_room
from .base.registry import op
from .broadcast import tensors_from
from .create import arange
from .index import Take
from .join import stack
from .products import linalg
from .shape import expand, reshape, transpose


@op("T(2), T(3)", "T(2), T(3), T(), indexing='xy'", "T(2), T(3), T(2), indexing='ij'", method=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple:
    """Return the coordinates of a grid, whose sides are the given vectors: one tensor of the grid's shape each, as views.

    With indexing="xy" the first two dimensions are swapped, as for an image.
    """
    xs = tensors_from(tensors)
    if indexing not in (None, "ij", "xy"):
        raise error(
            RuntimeError,
            "meshgrid",
            f'indexing must be one of "xy" or "ij", but received: {indexing}',
            "write indexing='ij'",
        )
    for x in xs:
        if x.ndim > 1:
            raise error(
                RuntimeError,
                "meshgrid",
                f"expected 0D or 1D tensor in the tensor list but got shape {tuple(x.shape)}",
                "write x.flatten() for each of them",
            )
    require_one_device("meshgrid", {f"tensors[{i}]": plain_tensor(x)._a for i, x in enumerate(xs)})
    size = [x.numel() for x in xs]
    grids = [expand(reshape(x, [m if e == d else 1 for e, m in enumerate(size)]), size) for d, x in enumerate(xs)]
    return tuple([transpose(g, 0, 1) if indexing == "xy" and len(xs) > 1 else g for g in grids])


@op("T(2), T(3)", "T(3)", method=False)
def cartesian_prod(*tensors: Any) -> Tensor:
    """Return all ways to take one element of each vector, one row each."""
    xs = tensors_from(tensors)
    for x in xs:
        if x.ndim != 1:
            raise error(
                RuntimeError,
                "cartesian_prod",
                f"expect a 1D vector, but got shape {tuple(x.shape)}",
                "write x.flatten() for each of them",
            )
    if len(xs) == 1:
        return xs[0]
    return stack([reshape(g, -1) for g in meshgrid(*xs, indexing="ij")], 1)


@op("T(4)", "T(4), 3", "T(3), 2, True", "T(2), 3", method=False)
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Return all ways to take r elements of a vector, one row each, in the order of itertools.combinations."""
    if input.ndim != 1:
        raise error(
            RuntimeError,
            "combinations",
            f"expect a 1D vector, but got shape {tuple(input.shape)}",
            "write input.flatten()",
        )
    n, choose = input.shape[0], itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = count(n + r - 1 if with_replacement and r else n, r)
    try:
        places = np.empty((rows, r), np.int64)
        if rows:
            places.reshape(-1)[:] = np.fromiter(itertools.chain.from_iterable(choose(range(n), r)), np.int64, rows * r)
    except (MemoryError, ValueError, OverflowError):
        raise no_room("combinations", (rows, r), np.dtype(np.int64)) from None
    return Take.apply(input, (0,), wrap(places))


def count(n: int, r: int) -> int:
    """Return the number of ways to choose r of n things; 2**63 for all larger numbers."""
    found = 1 if 0 <= r <= n else 0
    for i in range(min(r, n - r)):
        found = found * (n - i) // (i + 1)
        if found >= 1 << 63:
            return 1 << 63
    return found


REFUSES = "its derivative, which PyTorch's backward refuses to compute"  # it modifies a saved tensor


@linalg("T(3)", "T(2, 3), N=4", "T(3), N=2", "I(4, 9), N=3", differs=REFUSES)
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Return the powers x**0 to x**(N-1) of each number of x (..., n), along a new last dimension; N defaults to n."""
    x = x if x.ndim else x.reshape(1)
    n = x.shape[-1] if N is None else N
    if x._np_dtype.kind == "b":
        what = f"linalg.vander supports floating point and integer tensors, but got {x.dtype.name}"
        raise error(RuntimeError, "linalg.vander", what, "convert it first: x.int()")
    if n < 2:
        raise error(RuntimeError, "linalg.vander", f"N must be greater than 1, got {n}", "write N=3 for 1, x and x*x")
    return x.unsqueeze(-1) ** arange(n, device=x.device)


@op("T(3)", "T(3), 2, True", "T(3), 0", "I(4, 9)", "B(3), 2", method=False, differs=REFUSES)
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Return a Vandermonde matrix: rows of powers of a vector's numbers, the highest power first unless `increasing`.

    >>> import minigrad
    >>> minigrad.vander(minigrad.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    if x.ndim != 1:
        what = f"x must be a one-dimensional tensor, but has shape {tuple(x.shape)}"
        raise error(RuntimeError, "vander", what, "write x.flatten(), or use linalg.vander")
    n = len(x) if N is None else N
    if n < 0:
        raise error(RuntimeError, "vander", f"N must be non-negative, got {n}", "write N=3 for x*x, x and 1")
    powers = x.unsqueeze(-1) ** arange(n, device=x.device)
    return powers if increasing else powers.flip(-1)


@op("I(3, 4, 23), (2, 3, 4)", "I(5, 6), 6", method=False, differentiable=False)
def unravel_index(indices: Tensor, shape: Any) -> tuple:
    """Convert flat row-major indices to coordinates in an array of `shape`: one tensor per dimension.

    Raises TypeError for indices that are not integers, ValueError for negative sizes.

    >>> import minigrad
    >>> minigrad.unravel_index(minigrad.tensor([5, 3]), (2, 3))
    (tensor([1, 1]), tensor([2, 0]))
    """
    if indices._np_dtype.kind not in "iu":
        what = f"expected 'indices' to be integer dtype, but got {indices.dtype.name}"
        raise error(TypeError, "unravel_index", what, "convert it first: indices.long()")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if min(sizes, default=0) < 0:
        what = f"'shape' cannot have negative values, but got {sizes}"
        raise error(ValueError, "unravel_index", what, "pass the shape of a tensor: tuple(x.shape)")
    steps = [math.prod(sizes[d + 1 :]) for d in range(len(sizes))]
    return tuple([indices // step % n for step, n in zip(steps, sizes)])
