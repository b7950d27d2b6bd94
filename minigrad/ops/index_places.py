"""Positions in arrays: index arrays at some dimensions, all elements of the others.  Take and Put of index.py build on it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays.shapes import broadcast_shape
from ..core.tensor import Tensor, wrap
from ..kernels.cpu import index_cpu as kernels
from ..layers.batching import front, lift

WHOLE = slice(None)
DIVIDED_FROM = 2048  # elements; below, NumPy finds the coordinates of places in less time


def place(ndim: int, dims: tuple, indices: tuple) -> tuple:
    """Return NumPy's index: the indices at their dimensions, all elements of the others."""
    at = dict(zip(dims, indices))
    return tuple([at.get(d, WHOLE) for d in range(ndim)])


def are_adjacent(dims: tuple) -> bool:
    """Return True if indexed dimensions are neighbours, so that the result of indexing keeps their place."""
    return dims[-1] - dims[0] == len(dims) - 1


def selected_shape(shape: tuple, dims: tuple, index_shapes: list) -> tuple:
    """Return the shape of a selection by index tensors."""
    size, rest = broadcast_shape(*index_shapes), tuple([n for d, n in enumerate(shape) if d not in dims])
    lead = dims[0] if are_adjacent(dims) else 0
    return rest[:lead] + size + rest[lead:]


def flat_places(shape: tuple, dims: tuple, indices: tuple) -> Any:
    """Return the positions as row-major numbers, index dimensions first.  One such array is much faster than several."""
    flat: Any = None
    for d, i in zip(dims, indices):
        step, i = math.prod(shape[d + 1 :]), kernels.nonnegative_indices(i, d, shape[d])
        i = i * step if step > 1 else i
        flat = i if flat is None else flat + i
    for d, n in enumerate(shape):
        if d not in dims:
            flat = flat[..., None] + np.arange(n) * math.prod(shape[d + 1 :])
    return flat


def places_where(x: np.ndarray) -> np.ndarray:
    """Return the positions where x is not zero, one row each; in memory they are columns, as PyTorch's.

    Places in large arrays are divided in 32 bits if these suffice: a tenth of the time of np.argwhere for 100,000 elements.
    """
    if type(x) is not np.ndarray:
        return np.argwhere(x)
    if x.ndim == 1 or x.size < DIVIDED_FROM:
        return np.array(x.nonzero()).T
    flat = x.reshape(-1).nonzero()[0]
    flat, out = flat.astype(np.uint32 if x.size < 1 << 32 else np.uint64), np.empty((x.ndim, flat.size), np.int64)
    for d in range(x.ndim - 1, 0, -1):
        rest = flat // x.shape[d]
        out[d], flat = flat - rest * x.shape[d], rest
    out[0] = flat
    return out.T


def take_at(x: np.ndarray, dims: tuple, indices: tuple) -> np.ndarray:
    """Return x[indices]."""
    if len(dims) == 1 and (found := kernels.take(x, dims[0], indices[0])) is not None:
        return found
    if len(dims) == x.ndim > 1 and type(x) is np.ndarray and indices[0].size >= kernels.PLACES_FROM:
        return x.reshape(-1).take(flat_places(x.shape, dims, indices))
    if len(dims) == 1:
        return x.take(indices[0], axis=dims[0])
    found = x[place(x.ndim, dims, indices)]
    return np.asarray(found, order="C") if type(x) is np.ndarray else found


def add_at(out: np.ndarray, value: Any, dims: tuple, indices: tuple, known: bool = False) -> None:
    """Add value to out[indices], counting repeated positions; np.add.at is fast only in one dimension."""
    if kernels.add(out, dims, indices, value, known):
        return
    if not out.flags.c_contiguous:
        copy = out.copy()
        add_at(copy, value, dims, indices)
        out[...] = copy
        return
    flat = flat_places(out.shape, dims, indices)
    rank = flat.ndim - (out.ndim - len(dims))
    value = np.asarray(value, out.dtype)
    if value.ndim and are_adjacent(dims) and dims[0]:
        value = np.moveaxis(value, range(dims[0], dims[0] + rank), range(rank))
    value = value if value.shape == flat.shape else np.broadcast_to(value, flat.shape)
    value = value.copy() if np.may_share_memory(value, out) else value
    np.add.at(out.reshape(-1), flat.reshape(-1), value.reshape(-1))


def overwritten(shape: tuple, dims: tuple, indices: tuple) -> np.ndarray:
    """Return True for each written value that a later one overwrites."""
    size, table = broadcast_shape(*[i.shape for i in indices]), np.empty([shape[d] for d in dims], np.int64)
    order = np.arange(math.prod(size)).reshape(size)
    table[tuple(indices)] = order
    rest = len(shape) - len(dims) - (dims[0] if are_adjacent(dims) else 0)
    return (table[tuple(indices)] != order).reshape((*size, *(1,) * rest))


def batch_places(size: int, dims: tuple, indices: tuple, index_dims: tuple) -> tuple:
    """Return the rank of one example's indices, and (dims, indices) for tensors with the batch dimension in front."""
    rank = max(i.ndim - (d is not None) for i, d in zip(indices, index_dims))
    shifted = tuple([d + 1 for d in dims])
    if all(d is None for d in index_dims):
        return rank, (shifted, indices)
    example = wrap(np.arange(size).reshape((size,) + (1,) * rank))
    return rank, ((0, *shifted), (example, *[lift(i, d, rank) for i, d in zip(indices, index_dims)]))


def moved(dims: tuple, rank: int) -> tuple:
    """Return the index dimensions of a batched result, and their targets: behind the dimensions that are not indexed."""
    return tuple(range(1, rank + 1)), tuple(range(1 + dims[0], 1 + dims[0] + rank))


def batch_values(value: Tensor, dim: int | None, size: int, dims: tuple, rank: int, index_dims: tuple) -> Tensor:
    """Return the values to write, arranged like the result of indexing with `batch_places`."""
    value = front(value, dim, size)
    if all(d is None for d in index_dims):
        return value if are_adjacent(dims) else value.movedim(0, rank)
    return value.movedim(*moved(dims, rank)[::-1]) if are_adjacent(dims) and dims[0] else value
