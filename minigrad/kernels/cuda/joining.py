"""Arrays put together: concatenate and stack copy each into its part of the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.kinds import near
from .device_array import empty
from .functions import of_arrays


@of_arrays(np.concatenate)
def concatenate(
    arrays: Any, axis: int | None = 0, out: Any = None, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    arrays = [a.reshape(-1) for a in arrays] if axis is None else list(arrays)
    axis = (axis or 0) % arrays[0].ndim
    target = np.result_type(*[a.dtype for a in arrays]) if dtype is None else np.dtype(dtype)
    shape = list(arrays[0].shape)
    shape[axis] = sum([a.shape[axis] for a in arrays])
    out = empty(shape, target) if out is None else out
    begin = 0
    for a in arrays:
        out[(slice(None),) * axis + (slice(begin, begin + a.shape[axis]),)] = a
        begin += a.shape[axis]
    return out


@of_arrays(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, dtype: Any = None, casting: str = "same_kind") -> Any:
    return concatenate([np.expand_dims(a, axis) for a in arrays], axis, out, dtype)


@of_arrays(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    return concatenate([arr, near(values if isinstance(values, np.ndarray) else np.atleast_1d(values), arr)], axis)
