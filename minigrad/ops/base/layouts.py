"""Lay results out in memory as PyTorch does, so that `.view` works, or raises, in the same cases.

An operation without the attribute `layout` leaves its result as NumPy made it.  An elementwise result has the memory order
of its operands; if these differ, PyTorch follows the first operand, and NumPy goes row by row.  GPU kernels write their
results row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.kinds import to_device_of
from ...arrays.memory import order_in_memory
from ...core.saved import plain_tensor
from ...core.tensor import Tensor, wrap

if TYPE_CHECKING:
    from .primitive import Primitive


def row_major(out: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the result in row-major order, whatever the layout of the operands."""
    return out if out.flags.c_contiguous else out.copy()


def as_operand(out: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the result with its dimensions in the memory order of the first operand."""
    if out.shape != x.shape or x.flags.c_contiguous and out.flags.c_contiguous:
        return out
    return ordered(out, order_in_memory(x))


def column_major(out: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return each matrix of the result in column-major order, as LAPACK leaves it."""
    return out if out.ndim < 2 else ordered(out, [*range(out.ndim - 2), out.ndim - 1, out.ndim - 2])


def channels_last(out: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return images channels last (dimension 1 innermost) if the operand is stored so, else in row-major order."""
    return ordered(out, (0, 2, 3, 1)) if x.ndim == 4 and is_channels_last(x) else row_major(out, x)


def is_channels_last(x: np.ndarray) -> bool:
    """Return True if images are channels last by PyTorch's rule, which also covers sizes of 1 and strides of 0.

    See is_channels_last_strides_2d_s4 in PyTorch's c10/core/MemoryFormat.h.
    """
    least = 0
    for d in (1, 3, 2, 0):
        if not x.shape[d] or x.strides[d] < least or d == 0 and x.strides[1] == least:
            return False
        least = x.strides[d] * x.shape[d]
    return x.strides[1] != 0


def as_power(out: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return powers of a single number in row-major order, as PyTorch does for Python numbers."""
    return out if getattr(x, "ndim", 0) else row_major(out, out)


def ordered(out: np.ndarray, order: Sequence[int]) -> np.ndarray:
    """Return the result with its dimensions in this memory order."""
    moved = out.transpose(order)
    return out if moved.flags.c_contiguous else moved.copy().transpose([order.index(d) for d in range(out.ndim)])


def arranged(cls: type[Primitive], raw: Any, operands: tuple) -> Any:
    """Return the result of impl in the memory order that the operation's `layout` asks for."""
    if type(raw) is tuple:
        return tuple([arranged(cls, r, operands) for r in raw])
    return cls.layout(raw, operands[0]) if type(raw) is np.ndarray and raw.ndim > 1 else raw


def wrap_near(array: np.ndarray, other: Tensor) -> Tensor:
    """Return a plain tensor on this array, on the device of another tensor."""
    return wrap(to_device_of(array, plain_tensor(other)._a))
