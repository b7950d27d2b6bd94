"""Indexing: reading and writing parts of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor
from .families import Linear, View


class Index(View):
    """A part of a tensor by integers, slices, None and Ellipsis: a view."""

    impl = lambda x, index: x[(*index, ...)] if Ellipsis not in index else x[index]
    dx = lambda g, shape, index: Unindex.apply(g, shape, index)
    batch = lambda x, index: (x, (slice(None), *index))


class Unindex(Linear):
    """Zeros of a shape with a part of it filled in: the transpose of Index."""

    @staticmethod
    def impl(x: np.ndarray, size: tuple, index: tuple) -> np.ndarray:
        out = np.zeros(size, x.dtype)
        out[index] = x
        return out

    dx = lambda g, index: Index.apply(g, index)
    batch = lambda x, size, index: (x, (x.shape[0], *size), (slice(None), *index))


def getitem(self: Tensor, index: Any) -> Tensor:
    return Index.apply(self, index if isinstance(index, tuple) else (index,))


Tensor.__getitem__ = getitem
