"""The operations behind pooling: the maximum, or the mean, of each window over the last dimensions.

A window slides over the input or is one of its even parts.  The gradient of a maximum goes to its position, which is the
second result; the gradient of a mean is spread over its window.  The functions are in pool.py and adaptive_pool.py.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ...arrays.dtypes import FLOATS, int64
from ...arrays.kinds import to_device_of
from ...core.tensor import Tensor
from ...kernels.cpu import pool_cpu as kernels
from ...kernels.pool_windows import Windows, bounds, table
from ..base.families import Linear, Operation
from ..base.layouts import channels_last
from ..compare import where
from ..dimensions import single
from ..windows import count
from . import conv_transpose


class Sliding(NamedTuple):
    """Windows that slide over the last dimensions; each field has one value per dimension."""

    size: tuple
    number: tuple
    kernel: tuple
    stride: tuple
    padding: tuple
    dilation: tuple

    def text(self) -> str:
        """Return the settings as arguments of a pooling function."""
        ceil = self.number != tuple([count(*each) for each in zip(*self[:1], *self[2:])])
        stride = None if self.stride == self.kernel else single(self.stride)
        dilation = f", dilation={single(self.dilation)}" if set(self.dilation) != {1} else ""
        return f"{single(self.kernel)}, stride={stride}, padding={single(self.padding)}{dilation}, ceil_mode={ceil}"

    @functools.lru_cache(1024)  # noqa: B019  equal ones share it
    def along(self) -> tuple[Windows, ...]:
        """Return the windows along each dimension."""
        each = zip(*self)
        return tuple([Windows(m, w, s, -p, (k - 1) * d + 1 - p, 1, d) for m, w, k, s, p, d in each])


class EvenParts(NamedTuple):
    """Even parts of the last dimensions, from floor(i * size / number) to ceil((i + 1) * size / number) in each."""

    size: tuple
    number: tuple

    @functools.lru_cache(1024)  # noqa: B019  equal ones share it
    def along(self) -> tuple[Windows, ...]:
        """Return the windows along each dimension: they slide if they do not overlap."""
        return tuple([
            Windows(m, w, m, 0, m + w - 1, w) if w and m % w else Windows(m, w, m // (w or 1), 0, m // (w or 1))
            for m, w in zip(*self)
        ])  # fmt: skip


class MaxPool(Operation):
    """The largest element of each window over the last dimensions, and its position in the flattened input."""

    dimensions = "windows"
    call = lambda windows: with_indices(f"max_pool{len(windows.size)}d(x, {windows.text()}")
    n_internal = 1
    layout = channels_last
    node = "MaxPool2DWithIndices"
    depends_on_operand = True

    @staticmethod
    def impl(x: np.ndarray, windows: Sliding | EvenParts) -> tuple:
        return largest(x, windows.along())

    dx = lambda g0, x, out1, windows: put(g0, x._sizes, out1, windows)
    batch = lambda x, windows: (x, windows)

    arrays = lambda gs, bound: put_arrays(gs, bound)


class AdaptiveMaxPool(MaxPool):
    """The maxima of even parts."""

    call = lambda windows: with_indices(f"adaptive_max_pool{len(windows.size)}d(x, {single(windows.number)}")
    node = "AdaptiveMaxPool2D"


class AvgPool(Linear):
    """The mean of each window over the last dimensions: its sum divided by `divisor`, or by its number of elements.

    With `count_pad`, padding counts as elements too.
    """

    dimensions = "windows"
    call = lambda windows, count_pad, divisor: avg_pool_text(windows, count_pad, divisor)
    layout = channels_last
    node = "AvgPool2D"
    depends_on_operand = True

    @staticmethod
    def impl(x: np.ndarray, windows: Sliding | EvenParts, count_pad: bool, divisor: int | None) -> np.ndarray:
        return divided(sums(x, windows.along()), windows, count_pad, divisor)

    dx = lambda g, x, windows, count_pad, divisor: SpreadAvg.apply(g, windows, count_pad, divisor)
    batch = lambda x, *settings: (x, *settings)


class AdaptiveAvgPool(AvgPool):
    """The means of even parts."""

    call = lambda windows: f"adaptive_avg_pool{len(windows.size)}d(x, {single(windows.number)})"
    node = "AdaptiveAvgPool2D"
    depends_on_operand = False

    dx = lambda g, windows, count_pad, divisor: SpreadAvg.apply(g, windows, count_pad, divisor)


class SpreadAvg(Linear):
    """Each element divided among all positions of its window: the transpose of AvgPool."""

    @staticmethod
    def impl(x: np.ndarray, windows: Sliding | EvenParts, count_pad: bool, divisor: int | None) -> np.ndarray:
        return sums(divided(x, windows, count_pad, divisor), containing(windows))

    dx = lambda g, windows, count_pad, divisor: AvgPool.apply(g, windows, count_pad, divisor)
    batch = lambda x, *settings: (x, *settings)

    @staticmethod
    def definition(x: Tensor, windows: Sliding | EvenParts, count_pad: bool, divisor: int | None) -> Tensor:
        """Divide each element among its window: with sliding windows, a transposed convolution with ones."""
        by = divisor or elements_per_window(windows, count_pad)
        if not isinstance(by, int) or by != 1:
            x = x / (by if isinstance(by, int) else x.new_tensor(by.tolist()))
        return copied(x, windows) if isinstance(windows, Sliding) else repeated(x, windows)


def largest(x: np.ndarray, windows: tuple[Windows, ...]) -> tuple:
    """Return the largest element of each window over the last dimensions, and its position in these, flattened."""
    if (found := kernels.largest(x, windows)) is not None:
        return found
    places, inside = crossed(windows)
    low = -np.inf if x.dtype in FLOATS else np.iinfo(x.dtype).min
    elements = x.reshape(*x.shape[: x.ndim - len(windows)], math.prod([w.size for w in windows]))
    values = np.where(inside, elements[..., np.where(inside, places, 0)], x.dtype.type(low))
    best = np.expand_dims(values.argmax(-1), -1)
    found = np.take_along_axis(values, best, -1)
    if (found != found).any():  # PyTorch finds the last NaN, NumPy the first
        last = values.shape[-1] - 1 - np.isnan(values)[..., ::-1].argmax(-1)
        best = np.where(found != found, np.expand_dims(last, -1), best)
    return found[..., 0], np.take_along_axis(np.broadcast_to(places, values.shape), best, -1)[..., 0]


def put(g: Tensor, shape: tuple, at: Tensor, windows: Sliding | EvenParts) -> Tensor:
    """Return zeros of a shape, with g added at flat positions of its last dimensions."""
    lead = tuple(shape[: len(shape) - len(windows.size)])
    number, whole = math.prod(windows.number), math.prod(windows.size)
    gaps = isinstance(windows, Sliding) and max(windows.dilation) > 1  # a window may have its position behind the input
    at = where(at < whole, at, whole) if gaps else at
    zeros = g.new_zeros((*lead, whole + gaps))
    out = zeros.scatter_add(-1, at.reshape(*lead, number), g.reshape(*lead, number))
    return (out[..., :whole] if gaps else out).reshape(shape)


def put_arrays(gs: tuple, bound: tuple) -> tuple | None:
    """Return the gradient of the maxima, on arrays."""
    x, windows, _, place = bound
    dx = None if gs[0] is None else kernels.put(gs[0], place, x.shape, len(windows.size))
    return None if dx is None else (dx, None)


def sums(x: np.ndarray, windows: tuple[Windows, ...]) -> np.ndarray:
    """Return the sum of each window over the last dimensions."""
    if len(windows) > 2:  # the first dimension alone: the rest is one long row
        first, d = windows[0], x.ndim - len(windows)
        behind = math.prod(x.shape[d + 1 :])
        rows = sums(x.reshape(*x.shape[: d + 1], behind), (first, Windows(behind, behind, 1, 0, 1)))
        return sums(rows.reshape(*x.shape[:d], first.number, *x.shape[d + 1 :]), windows[1:])
    if (found := kernels.sums(x, windows)) is not None:
        return found
    for d, w in enumerate(windows, x.ndim - len(windows)):
        places, inside = table(w)
        there = inside.reshape(*inside.shape, *(1,) * (x.ndim - d - 1))
        x = np.where(there, x.take(np.where(inside, places, 0), d), x.dtype.type(0)).sum(d + 1, dtype=x.dtype)
    return x


def divided(x: np.ndarray, windows: Sliding | EvenParts, count_pad: bool, divisor: int | None) -> np.ndarray:
    """Return the window sums divided by `divisor`, or by the number of elements in each window."""
    by = divisor or elements_per_window(windows, count_pad)
    if type(by) is int:
        return x if by == 1 else x / by
    return x / to_device_of(by.astype(x.dtype), x)


@functools.lru_cache(1024)
def elements_per_window(windows: Sliding | EvenParts, count_pad: bool) -> Any:
    """Return the number of elements in each window, with or without padding; one int if all windows agree."""
    along = windows.along()
    margins = windows.padding if count_pad and isinstance(windows, Sliding) else (0,) * len(along)
    counts = math.prod(np.ix_(*[w.lengths(margin) for w, margin in zip(along, margins)]))
    return int(counts.flat[0]) if counts.size and (counts == counts.flat[0]).all() else counts


@functools.lru_cache(1024)
def containing(windows: Sliding | EvenParts) -> tuple[Windows, ...]:
    """Return along each dimension the windows of results that contain each element."""
    return tuple([w.transposed() for w in windows.along()])


def crossed(windows: tuple[Windows, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the flat positions of the elements of all windows, (*number, elements), and a mask of those inside the input."""
    (places, inside), *others = map(table, windows)
    for w, (more, there) in zip(windows[1:], others):
        places, inside = np.add.outer(places * w.size, more), np.logical_and.outer(inside, there)
    n = len(windows)
    order, number = (*range(0, 2 * n, 2), *range(1, 2 * n, 2)), [w.number for w in windows]
    elements = math.prod(places.shape[1::2])
    places, inside = [a.transpose(order).reshape(*number, elements) for a in (places, inside)]
    return places, inside


# ---------------------------------------------------------------------- calls as users write them
def with_indices(call: str) -> tuple[str, str]:
    """Return the calls of maxima and of their positions."""
    return f"{call})", f"{call}, return_indices=True)[1]"


def avg_pool_text(windows: Sliding, count_pad: bool, divisor: int | None) -> str:
    """Return the call of an average pool; a divisor is only possible in two dimensions."""
    rows = divisor is not None and len(windows.size) == 1
    if rows:
        windows = Sliding(*[(usual, *given) for usual, given in zip((1, 1, 1, 1, 0, 1), windows)])
    counts_less = any(windows.padding) and not count_pad and divisor is None
    how = f"{windows.text()}, count_include_pad={not counts_less}, divisor_override={divisor}"
    made = f"avg_pool{len(windows.size)}d({'x.unsqueeze(-2)' if rows else 'x'}, {how})"
    return f"{made}.squeeze(-2)" if rows else made


def copied(x: Tensor, shape: Sliding) -> Tensor:
    """Return a tensor with each element of x added at all positions of its window."""
    n, channels = len(shape.size), x.shape[-len(shape.size) - 1]
    run = (conv_transpose.conv_transpose1d, conv_transpose.conv_transpose2d, conv_transpose.conv_transpose3d)[n - 1]
    each = zip(shape.size, shape.number, shape.stride, shape.padding, shape.kernel)
    extra = [m - ((w - 1) * s - 2 * p + k) for m, w, s, p, k in each]
    weight, outside = x.new_ones(channels, 1, *shape.kernel), [max(v, 0) for v in extra]
    made = run(x, weight, None, shape.stride, shape.padding, outside, channels)
    return made if min(extra) >= 0 else made[(..., *[slice(m) for m in shape.size])]


def repeated(x: Tensor, parts: EvenParts) -> Tensor:
    """Return a tensor with each element of x added at all positions of its part, one dimension after the other."""
    for d, window in enumerate(parts.along(), x.ndim - len(parts.size)):
        start, end = (ends.tolist() for ends in bounds(window))
        each = x.repeat_interleave(x.new_tensor([b - a for a, b in zip(start, end)], dtype=int64), d)
        places = x.new_tensor([k for a, b in zip(start, end) for k in range(a, b)], dtype=int64)
        x = each.new_zeros((*x.shape[:d], window.size, *x.shape[d + 1 :])).index_add(d, places, each)
    return x
