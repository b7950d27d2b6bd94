"""Grids: the coordinates of a grid's points, and all ways to choose elements of vectors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ..arrays.kinds import on_two_devices
from ..core.saved import bottom
from ..core.tensor import Tensor, wrap
from ..errors import error, no_room
from .base.registry import op
from .broadcast import tensors_from
from .index import Take
from .join import stack
from .shape import expand, reshape, transpose


@op("T(2), T(3)", "T(2), T(3), T(), indexing='xy'", "T(2), T(3), T(2), indexing='ij'", method=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple:
    """The coordinates of a grid: one tensor of the grid's shape for each of the vectors along its sides, as views.

    With indexing="xy" the first two dimensions are exchanged, as on an image.
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
    if mixed := on_two_devices("meshgrid", {f"tensors[{i}]": bottom(x)._a for i, x in enumerate(xs)}):
        raise mixed
    size = [x.numel() for x in xs]
    grids = [expand(reshape(x, [m if e == d else 1 for e, m in enumerate(size)]), size) for d, x in enumerate(xs)]
    return tuple([transpose(g, 0, 1) if indexing == "xy" and len(xs) > 1 else g for g in grids])


@op("T(2), T(3)", "T(3)", method=False)
def cartesian_prod(*tensors: Any) -> Tensor:
    """All ways to take one element of each vector, one row each."""
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
    """All ways to take r elements of a vector, one row each, in the order of itertools.combinations."""
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
    """Return in how many ways r of n things can be chosen; 2**63 for all larger numbers."""
    found = 1 if 0 <= r <= n else 0
    for i in range(min(r, n - r)):
        found = found * (n - i) // (i + 1)
        if found >= 1 << 63:
            return 1 << 63
    return found
