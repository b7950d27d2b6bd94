"""Indices: which of them are views, and kernels that take and put elements at places that other arrays name."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_basic(index: Any) -> bool:
    """Whether an index gives a view: integers, slices, None and dots, but no arrays, lists or bools."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        [
            i is None or i is Ellipsis or isinstance(i, (slice, int, np.integer)) and not isinstance(i, bool)
            for i in parts
        ]
    )


def take(a: Any, index: Any) -> Any:
    raise NotImplementedError


def put(a: Any, index: Any, value: Any) -> None:
    raise NotImplementedError
