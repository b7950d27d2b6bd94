"""Adaptive pooling: the maximum or the mean of a requested number of even parts of the last dimensions."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ...core.tensor import Tensor
from ...errors import error
from .entry import expect_floats, expect_numbers, functional
from .pool import check_rank
from .pool_operations import AdaptiveAvgPool, AdaptiveMaxPool, EvenParts


@functional("T(2, 3, 8), 4", "T(3, 7), 3", "T(2, 2, 3), (5,)")
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Average `output_size` even parts of (n, c, length) or (c, length); parts overlap if necessary."""
    return adaptive_avg_pool("adaptive_avg_pool1d", 1, input, output_size)


@functional("T(2, 3, 4, 6), 2", "T(3, 7, 5), (3, None)", "T(2, 2, 3, 4), (5, 1)")
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Average even parts, `output_size` in each direction (None: one per element); see adaptive_avg_pool1d."""
    return adaptive_avg_pool("adaptive_avg_pool2d", 2, input, output_size)


@functional("T(2, 2, 4, 6, 5), 2", "T(1, 2, 7, 5, 4), (3, None, 1)", node="AdaptiveAvgPool3D")
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Average even parts of (n, c, depth, height, width), or without n; see adaptive_avg_pool2d."""
    return adaptive_avg_pool("adaptive_avg_pool3d", 3, input, output_size)


@functional("T(2, 3, 8), 4", "T(3, 7), 3", "T(2, 2, 3), 5, True")
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Return the maxima of `output_size` even parts of (n, c, length) or (c, length)."""
    return adaptive_max_pool("adaptive_max_pool1d", 1, input, output_size, return_indices)


@functional("T(2, 3, 4, 6), 2", "T(3, 7, 5), (3, None)", "T(2, 2, 3, 4), (5, 1), True")
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Return the maxima of even parts, `output_size` in each direction; with `return_indices` also their positions."""
    return adaptive_max_pool("adaptive_max_pool2d", 2, input, output_size, return_indices)


@functional("T(2, 2, 4, 6, 5), 2", "T(1, 2, 7, 5, 4), (3, None, 1), True", node="AdaptiveMaxPool3D")
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Return the maxima of even parts of (n, c, depth, height, width), or without n; see adaptive_max_pool2d."""
    return adaptive_max_pool("adaptive_max_pool3d", 3, input, output_size, return_indices)


def adaptive_avg_pool(who: str, n: int, input: Tensor, output_size: Any) -> Tensor:
    """Return the mean of even parts; a single part is the mean of all elements."""
    expect_floats(who, input)
    parts = even_parts(who, n, input, output_size)
    if parts.number == (1,) * n and input.numel():
        return input.mean(tuple(range(-n, 0)), True)
    return AdaptiveAvgPool.apply(input, parts, False, None)


def adaptive_max_pool(who: str, n: int, input: Tensor, output_size: Any, return_indices: bool) -> Any:
    """Return the maximum of even parts."""
    expect_numbers(who, input)
    out = AdaptiveMaxPool.apply(input, even_parts(who, n, input, output_size))
    return out if return_indices else out[0]


def even_parts(who: str, n: int, input: Tensor, output_size: Any) -> EvenParts:
    """Return the requested parts.  Raises RuntimeError for an input or an output_size that does not fit."""
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * n
    if len(given) != n or any([w is not None and w < 0 for w in given]):
        check_rank(who, n, input._sizes)
        what = f"output_size={output_size} is not {n} non-negative sizes"
        raise error(RuntimeError, who, what, f"write output_size={(1,) * n if n > 1 else 1}")
    return planned(n, who, input._sizes, tuple([None if w is None else int(w) for w in given]))


@lru_cache(1024)
def planned(n: int, who: str, shape: tuple, number: tuple) -> EvenParts:
    """Return the parts of an input of a shape, after its check; a program asks for the same ones again and again."""
    check_rank(who, n, shape)
    size = shape[-n:]
    return EvenParts(size, tuple([m if w is None else w for m, w in zip(size, number)]))
