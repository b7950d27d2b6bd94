"""Windows along one dimension of an array, for the pooling kernels.

One formula covers sliding windows, even parts and, transposed, the windows that contain each element.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np


class Windows(NamedTuple):
    """`number` windows along a dimension of `size`.

    Window i takes every `every`-th element from (i * step + begin) // by to (i * step + end) // by, within the array.
    """

    size: int
    number: int
    step: int
    begin: int
    end: int
    by: int = 1
    every: int = 1

    def transposed(self) -> Windows:
        """Return the windows that contain each element: neighbours, if `every` is 1."""
        size, number, step, begin, end, by, _ = self
        return Windows(number, size, by, by + step - end - 1, by + step - begin - 1, step)

    def lengths(self, margin: int) -> np.ndarray:
        """Return the number of elements in each window, counting a margin of `margin` elements on both sides of the array."""
        start, end = unbounded(self)
        return np.minimum(end, self.size + margin) - np.maximum(start, -margin)


def unbounded(w: Windows) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of all windows, which may be outside the array."""
    i = np.arange(w.number) * w.step
    return (i + w.begin) // w.by, (i + w.end) // w.by


@lru_cache(1024)
def bounds(w: Windows) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds inside the array, unsigned so that no index in a kernel counts from the end."""
    start, end = unbounded(w)
    start = np.where(start < 0, start % w.every, start)
    return start.astype(np.uint64), np.clip(end, 0, w.size).astype(np.uint64)


@lru_cache(1024)
def runs(w: Windows) -> np.ndarray:
    """Return the indices of the windows that differ from the one before, followed by the number of windows."""
    changes = np.any([a[1:] != a[:-1] for a in bounds(w)], axis=0)
    return np.concatenate([[0] * bool(w.number), np.flatnonzero(changes) + 1, [w.number]]).astype(np.uint64)


def table(w: Windows) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of each window's elements, (number, longest), and a mask of those that exist."""
    start, end = [a.astype(np.int64)[:, None] for a in bounds(w)]
    places = start + np.arange(0, max((end - start).max(initial=0), 1), w.every)
    return places, places < end
