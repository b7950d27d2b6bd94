"""Sliding windows on arrays: their number, a view of all of them, and the transpose, which adds them back.

Convolutions, pooling and nn.functional.unfold build on these.  A window has, per spatial dimension, the size of the kernel,
the stride from one window to the next, the padding on both sides and the dilation between elements.
"""

from __future__ import annotations

import math
from operator import index
from typing import Any

import numpy as np

from ..arrays.kinds import strided, zeros
from ..errors import error


def per_dim(value: Any, n: int, who: str, name: str) -> tuple:
    """Return a setting as one integer per spatial dimension: `3` and `(3,)` stand for all of them."""
    if type(value) is int:
        return (value,) * n
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(given) not in (1, n):
        raise error(
            RuntimeError, who, f"{name}={value} has {len(given)} values for {n} spatial dimensions", f"pass 1 or {n}"
        )
    return tuple([index(v) for v in given]) * (n if len(given) == 1 else 1)


def ranks(ndim: int, n: int) -> str:
    """Return the fix for an input that does not have n spatial dimensions."""
    wanted = ", ".join(("batch", "channels", *("depth", "height", "width")[-n:]))
    if ndim < n + 1:
        return f"pass ({wanted}): input.unsqueeze(0) adds a dimension in front" + ", here one channel" * (ndim == n)
    return f"pass ({wanted}): input.flatten(0, {ndim - n - 2}) merges the first dimensions"


def count(n: int, kernel: int, stride: int, padding: int = 0, dilation: int = 1, ceil: bool = False) -> int:
    """Return the number of windows along a dimension of size n; with `ceil` the last may overhang if it starts inside."""
    free = n + 2 * padding - dilation * (kernel - 1) - 1
    found = (-(-free // stride) if ceil else free // stride) + 1
    return found - 1 if ceil and (found - 1) * stride >= n + padding else found


def reach(size: tuple, number: tuple, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple) -> tuple:
    """Return the number of elements needed behind the end of the input: the padding, or the reach of the last windows."""
    each = zip(size, number, kernel, stride, padding, dilation)
    return tuple([max(p, (w - 1) * s + (k - 1) * d + 1 - m - p) for m, w, k, s, p, d in each])


def padded(x: np.ndarray, before: Any, after: Any, value: Any = 0) -> np.ndarray:
    """Return x surrounded by these numbers of elements of `value` in its last dimensions; x itself if all are 0."""
    if not any(before) and not any(after):
        return x
    lead = x.ndim - len(before)
    shape = (*x.shape[:lead], *[n + b + a for n, b, a in zip(x.shape[lead:], before, after)])
    zero = not value and math.copysign(1, value) > 0
    out = zeros(shape, x) if zero else np.full_like(x, value, shape=shape, order="C")
    out[(..., *[slice(b, b + n) for b, n in zip(before, x.shape[lead:])])] = x
    return out


def element(offset: tuple, number: tuple, stride: tuple, dilation: tuple) -> tuple:
    """Return the index that selects, of every window, the element at `offset`."""
    starts = [o * d for o, d in zip(offset, dilation)]
    return (..., *[slice(a, a + (n - 1) * s + 1, s) if n else slice(0) for a, n, s in zip(starts, number, stride)])


def windows(x: np.ndarray, kernel: tuple, number: tuple, stride: tuple, dilation: tuple) -> np.ndarray:
    """Return a view (..., *kernel, *number) of the last dimensions of x."""
    lead, steps = x.ndim - len(kernel), x.strides[x.ndim - len(kernel) :]
    strides = (*x.strides[:lead], *[s * d for s, d in zip(steps, dilation)], *[s * d for s, d in zip(steps, stride)])
    return strided(x, (*x.shape[:lead], *kernel, *number), strides)


def add_windows(columns: np.ndarray, size: tuple, stride: tuple, padding: tuple, dilation: tuple) -> np.ndarray:
    """Sum (..., *kernel, *number) into (..., *size): the transpose of padding and `windows`."""
    n = len(size)
    lead, kernel, number = columns.ndim - 2 * n, columns.shape[-2 * n : -n], columns.shape[-n:]
    after = reach(size, number, kernel, stride, padding, dilation)
    shape = (*columns.shape[:lead], *[m + p + a for m, p, a in zip(size, padding, after)])
    total = zeros(shape, columns)
    for offset in np.ndindex(*kernel):
        total[element(offset, number, stride, dilation)] += columns[(slice(None),) * lead + offset]
    return total[(..., *[slice(p, p + m) for p, m in zip(padding, size)])]
