"""Lay results out in memory as PyTorch does, so that `.view` works, and is refused, in the same cases.

An operation without the attribute `layout` leaves its result as NumPy made it.  For elementwise operations that is the
order of the operands; of several that lie in different ones PyTorch takes the first's, NumPy goes row by row.  On a GPU
kernels write their results row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.kinds import near
from ...arrays.memory import order_in_memory
from ...core.saved import bottom
from ...core.tensor import Tensor, wrap

if TYPE_CHECKING:
    from .primitive import Primitive


def row_major(out: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the result row by row, however the operands lie."""
    return out if out.flags.c_contiguous else out.copy()


def as_operand(out: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the result with its dimensions in the order that those of the first operand have in memory."""
    if out.shape != x.shape or x.flags.c_contiguous and out.flags.c_contiguous:
        return out
    return ordered(out, order_in_memory(x))


def column_major(out: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return each matrix of the result column by column, as LAPACK leaves them."""
    return out if out.ndim < 2 else ordered(out, [*range(out.ndim - 2), out.ndim - 1, out.ndim - 2])


def channels_last(out: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return images with the channels (dimension 1) last where those of the operand lie so, else row by row."""
    return ordered(out, (0, 2, 3, 1)) if x.ndim == 4 and lies_channels_last(x) else row_major(out, x)


def lies_channels_last(x: np.ndarray) -> bool:
    """Return whether images count as lying with the channels last, sizes of 1 and strides of 0 among them, by PyTorch's rule.

    See is_channels_last_strides_2d_s4 in PyTorch's c10/core/MemoryFormat.h.
    """
    least = 0
    for d in (1, 3, 2, 0):
        if not x.shape[d] or x.strides[d] < least or d == 0 and x.strides[1] == least:
            return False
        least = x.strides[d] * x.shape[d]
    return x.strides[1] != 0


def as_power(out: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return powers of a single number row by row, as PyTorch has those of Python's numbers."""
    return out if getattr(x, "ndim", 0) else row_major(out, out)


def ordered(out: np.ndarray, order: Sequence[int]) -> np.ndarray:
    """Return a result whose dimensions lie in memory in this order."""
    moved = out.transpose(order)
    return out if moved.flags.c_contiguous else moved.copy().transpose([order.index(d) for d in range(out.ndim)])


def arranged(cls: type[Primitive], raw: Any, operands: tuple) -> Any:
    """Return what impl gave, as the operation's `layout` has it."""
    if type(raw) is tuple:
        return tuple([arranged(cls, r, operands) for r in raw])
    return cls.layout(raw, operands[0]) if type(raw) is np.ndarray and raw.ndim > 1 else raw


def wrap_near(array: np.ndarray, other: Tensor) -> Tensor:
    """Return a plain tensor on this array, in the memory where another tensor is."""
    return wrap(near(array, bottom(other)._a))
