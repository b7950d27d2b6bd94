"""Questions about a tensor that are functions (is_tensor, numel, result_type, typename, ...), and the method `type`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import dtypes
from ..core.tensor import Box, Tensor
from ..errors import error
from .memory import to

KINDS = {
    "float32": "Float",
    "float64": "Double",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "uint8": "Byte",
    "bool": "Bool",
}


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a tensor."""
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is float32 or float64."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Always False: there are no complex tensors."""
    return input.is_complex()


def is_signed(input: Tensor) -> bool:
    """Whether the dtype can hold negative numbers."""
    return input.is_signed()


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element of `input` is not zero.  Raises RuntimeError for another number of elements."""
    return bool(input)


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made under inference_mode."""
    return input.is_inference()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the two shapes are equal."""
    return input.shape == other.shape


def result_type(tensor1: Any, tensor2: Any) -> Any:
    """The dtype in which two tensors or numbers meet in one operation.

    >>> import minigrad
    >>> minigrad.result_type(minigrad.tensor([1, 2]), 1.5)
    minigrad.float32
    """
    return dtypes.of_numpy(dtypes.common([stand_in(x) for x in (tensor1, tensor2)]))


def stand_in(x: Any) -> Any:
    """A tensor's array, or the value at the bottom of a box: only dtype and whether it is 0-d are looked at."""
    if not isinstance(x, Tensor):
        return x
    return np.empty((1,) * x.ndim, x._np_dtype) if type(x) is Box else x._a


def typename(obj: Any) -> str:
    """The name of an object's type, for a tensor that of its dtype: "minigrad.FloatTensor"."""
    if isinstance(obj, Tensor):
        return type_of(obj)
    kind = obj if isinstance(obj, type) else type(obj)
    return kind.__qualname__ if kind.__module__ in ("builtins", None) else f"{kind.__module__}.{kind.__qualname__}"


def type_of(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, "minigrad.FloatTensor", or with `dtype` (or such a name) the tensor converted."""
    if dtype is None:
        return f"minigrad.{KINDS[self.dtype.name]}Tensor"
    if isinstance(dtype, str):
        short = dtype.rpartition(".")[2].removesuffix("Tensor")
        found = [name for name, kind in KINDS.items() if kind == short]
        if not found:
            raise error(ValueError, "type", f"invalid type: {dtype!r}", f"use one of {', '.join(KINDS)} as a dtype")
        dtype = dtypes.of_numpy(found[0])
    return to(self, dtype)


METHODS = {"type": type_of, "is_same_size": is_same_size}
