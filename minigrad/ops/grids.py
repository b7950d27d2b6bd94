"""Grids: the coordinates of a grid's points, and all ways to choose elements of vectors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays.kinds import require_one_device
from ..core.saved import plain_tensor
from ..core.tensor import Tensor, wrap
from ..errors import error, no_room
from .base.registry import op
from .broadcast import tensors_from
from .create import arange
from .dimensions import distinct_axes
from .index import Take
from .join import cat, stack
from .products import linalg
from .shape import expand, reshape, transpose


@op("T(2), T(3)", "T(2), T(3), T(), indexing='xy'", "T(2), T(3), T(2), indexing='ij'", method=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple:
    """Return the coordinates of a grid, whose sides are the given vectors: one tensor of the grid's shape each, as views.

    With indexing="xy" the first two dimensions are swapped, as for an image.
    """
    xs = tensors_from(tensors)
    if indexing not in (None, "ij", "xy"):
        what = f'indexing must be one of "xy" or "ij", but received: {indexing}'
        raise error(RuntimeError, "meshgrid", what, "write indexing='ij'")
    for x in xs:
        if x.ndim > 1:
            what = f"expected 0D or 1D tensor in the tensor list but got shape {tuple(x.shape)}"
            raise error(RuntimeError, "meshgrid", what, "write x.flatten() for each of them")
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
            what = f"expect a 1D vector, but got shape {tuple(x.shape)}"
            raise error(RuntimeError, "cartesian_prod", what, "write x.flatten() for each of them")
    if len(xs) == 1:
        return xs[0]
    return stack([reshape(g, -1) for g in meshgrid(*xs, indexing="ij")], 1)


@op("T(4)", "T(4), 3", "T(3), 2, True", "T(2), 3", method=False)
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Return all ways to take r elements of a vector, one row each, in the order of itertools.combinations."""
    if input.ndim != 1:
        what = f"expect a 1D vector, but got shape {tuple(input.shape)}"
        raise error(RuntimeError, "combinations", what, "write input.flatten()")
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


@op("T(5)", "T(3, 4)", "T(3, 4), dim=-1", "T(4, 5), spacing=0.5, edge_order=2", "T(2, 4, 3), spacing=(2.0, -1.0), dim=(1, 0)",
    method=False)  # fmt: skip
def gradient(
    input: Tensor, *, spacing: float | Sequence[float | Tensor] = 1, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """Estimate the derivatives of a function along all dimensions, or those in `dim`, from its values on a grid.

    `spacing` is the distance of neighbours, one for each dimension, or the coordinates along each as tensors.  The formulas are
    of second order inside, and of `edge_order` (1 or 2) at both ends.
    Raises RuntimeError if a dimension has fewer than edge_order + 1 values.

    >>> import minigrad
    >>> minigrad.gradient(minigrad.tensor([4.0, 1.0, 1.0, 16.0]), spacing=(minigrad.tensor([-2.0, -1.0, 1.0, 4.0]),))
    (tensor([-3., -2.,  2.,  5.]),)
    """
    dims = range(input.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    dims = distinct_axes(tuple(dims), input.ndim, "gradient")
    spacing = 1 if spacing is None else spacing
    spaces = spacing if isinstance(spacing, (tuple, list)) else (spacing,) * len(dims)
    if wrong := [space for space in spaces if not isinstance(space, (int, float, complex, Tensor))]:
        what = f"spacing has to be numbers or tensors, but got {type(wrong[0]).__name__}"
        raise error(TypeError, "gradient", what, "pass a number, or a tensor of coordinates, for each dimension")
    if edge_order not in (1, 2):
        what = f"only supports edge_order=1 and edge_order=2, got {edge_order}"
        raise error(RuntimeError, "gradient", what, "pass edge_order=1 or edge_order=2")
    if len(spaces) != len(dims):
        what = f"expected a spacing for each of {len(dims)} dimensions, but got a list of length {len(spaces)}"
        raise error(RuntimeError, "gradient", what, "pass one number, or one for each dimension")
    if small := [d for d in dims if input.shape[d] <= edge_order]:
        what = f"expected each dimension size to be at least edge_order+1, but dimension {small[0]} of shape "
        raise error(
            RuntimeError, "gradient", f"{what}{tuple(input.shape)} has {input.shape[small[0]]}", "pass more values"
        )
    return tuple([slopes(input, d, space, edge_order) for d, space in zip(dims, spaces)])


def slopes(x: Tensor, d: int, space: Any, edge_order: int) -> Tensor:
    """Return the derivative along one dimension, from the distances of neighbours or from their coordinates."""
    n, values = x.shape[d], lambda first, count=1: x.narrow(d, first, count)
    if isinstance(space, Tensor):
        steps = (space[1:] - space[:-1]).reshape([-1] + [1] * (x.ndim - d - 1))
        a, b = steps[:-1], steps[1:]
        inner = (b - a) / (a * b) * values(1, n - 2) - b / (a * (a + b)) * values(0, n - 2)
        inner = inner + a / (b * (a + b)) * values(2, n - 2)
        ends = (steps[:1], steps[1:2]), (steps[-1:], steps[-2:-1])
    else:
        inner, ends = (values(2, n - 2) - values(0, n - 2)) / (2 * space), ((space, space),) * 2

    def edge(i: int, to: int, a: Any, b: Any) -> Tensor:
        if edge_order == 1:
            return to * (values(i + to) - values(i)) / a
        if a is b:  # equal distances
            return to * (4 * values(i + to) - 3 * values(i) - values(i + 2 * to)) / (2 * a)
        near = (a + b) / (a * b) * values(i + to) - (2 * a + b) / (a * (a + b)) * values(i)
        return to * (near - a / (b * (a + b)) * values(i + 2 * to))

    return cat([edge(0, 1, *ends[0]), inner, edge(n - 1, -1, *ends[1])], d)
