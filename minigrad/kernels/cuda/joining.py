"""Arrays put together: concatenate and stack copy each into its part of the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.kinds import near
from .device_array import DeviceArray, empty
from .functions import of_arrays


@of_arrays(np.concatenate)
def concatenate(arrays: Any, axis: int = 0, dtype: Any = None, casting: str = "same_kind") -> DeviceArray:
    arrays, axis = list(arrays), axis % arrays[0].ndim
    shape = list(arrays[0].shape)
    shape[axis] = sum([a.shape[axis] for a in arrays])
    out = empty(shape, np.result_type(*[a.dtype for a in arrays]) if dtype is None else dtype)
    begin = 0
    for a in arrays:
        out[(slice(None),) * axis + (slice(begin, begin + a.shape[axis]),)] = a
        begin += a.shape[axis]
    return out


@of_arrays(np.stack)
def stack(arrays: Any, axis: int = 0, dtype: Any = None, casting: str = "same_kind") -> DeviceArray:
    return concatenate([np.expand_dims(a, axis) for a in arrays], axis, dtype)


@of_arrays(np.append)
def append(arr: Any, values: Any) -> DeviceArray:
    """Numbers behind those of an array of one dimension."""
    return concatenate([arr, near(np.atleast_1d(values), arr)])
