"""Cutting along a named direction: hsplit, vsplit, dsplit, the inverses of hstack, vstack, dstack."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from .base.registry import op
from .join import tensor_split


@op("T(4, 6), 3", "T(6), 2", "T(2, 5), (1, 3)")
def hsplit(input: Tensor, indices_or_sections: Any) -> tuple:
    """Cut columns: the second dimension, or the only one of a vector, into equal parts, or at the given indices; views."""
    return cut("hsplit", input, 1 if input.ndim > 1 else 0, 1, indices_or_sections)


@op("T(4, 2), 2", "T(5, 2), (1, 3)")
def vsplit(input: Tensor, indices_or_sections: Any) -> tuple:
    """Cut rows: the first dimension of at least two, into equal parts, or at the given indices; views."""
    return cut("vsplit", input, 0, 2, indices_or_sections)


@op("T(2, 1, 4), 2", "T(1, 2, 5), [1, 3]")
def dsplit(input: Tensor, indices_or_sections: Any) -> tuple:
    """Cut the third dimension, into equal parts, or at the given indices; views."""
    return cut("dsplit", input, 2, 3, indices_or_sections)


def cut(who: str, x: Tensor, dim: int, least: int, sections: Any) -> tuple:
    """Apply tensor_split after checking the number of dimensions and, for a number of parts, that they are equal."""
    if x.ndim < least:
        what = f"requires a tensor with at least {least} dimension{'s' * (least > 1)}, but got one of shape {tuple(x.shape)}"
        raise error(RuntimeError, who, what, "use tensor_split(input, sections, dim)")
    n = x.shape[dim]
    if isinstance(sections, int) and (sections == 0 or n % sections):
        what = f"the size of dimension {dim}, {n}, is not divisible by {sections}"
        raise error(
            RuntimeError, who, what, f"use tensor_split(input, {max(sections, 1)}, {dim}), whose parts may differ"
        )
    return tensor_split(x, sections, dim)
