"""Questions about a tensor that are functions: is_tensor, numel, result_type, typename, ..."""

from __future__ import annotations

from typing import Any

from ..arrays import dtypes
from ..core.tensor import Tensor
from .base.families import stand_in
from .legacy import type_of


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a tensor.

    >>> import minigrad
    >>> minigrad.is_tensor(minigrad.ones(2)), minigrad.is_tensor([1., 1.])
    (True, False)
    """
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> int:
    """The number of elements.

    >>> import minigrad
    >>> minigrad.numel(minigrad.ones(2, 3))
    6
    """
    return input.numel()


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is float32 or float64.

    >>> import minigrad
    >>> minigrad.is_floating_point(minigrad.ones(2)), minigrad.is_floating_point(minigrad.arange(2))
    (True, False)
    """
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Always False: there are no complex tensors.

    >>> import minigrad
    >>> minigrad.is_complex(minigrad.ones(2))
    False
    """
    return input.is_complex()


def is_signed(input: Tensor) -> bool:
    """Whether the dtype can hold negative numbers.

    >>> import minigrad
    >>> minigrad.is_signed(minigrad.arange(2)), minigrad.is_signed(minigrad.arange(2, dtype=minigrad.uint8))
    (True, False)
    """
    return input.is_signed()


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element of `input` is not zero.  Raises RuntimeError for another number of elements.

    >>> import minigrad
    >>> minigrad.is_nonzero(minigrad.tensor([0.5]))
    True
    """
    return bool(input)


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made under inference_mode.

    >>> import minigrad
    >>> with minigrad.inference_mode():
    ...     print(minigrad.is_inference(minigrad.ones(2)))
    True
    """
    return input.is_inference()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the two shapes are equal.

    >>> import minigrad
    >>> minigrad.is_same_size(minigrad.ones(2, 3), minigrad.zeros(2, 3))
    True
    """
    return input.shape == other.shape


def result_type(tensor1: Any, tensor2: Any) -> Any:
    """The dtype in which two tensors or numbers meet in one operation.

    >>> import minigrad
    >>> minigrad.result_type(minigrad.tensor([1, 2]), 1.5)
    minigrad.float32
    """
    return dtypes.of_numpy(dtypes.common([stand_in(x, None) for x in (tensor1, tensor2)]))


def typename(obj: Any) -> str:
    """The name of an object's type, for a tensor that of its dtype: "minigrad.FloatTensor".

    >>> import minigrad
    >>> minigrad.typename(minigrad.ones(2))
    'minigrad.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return type_of(obj)
    kind = obj if isinstance(obj, type) else type(obj)
    return kind.__qualname__ if kind.__module__ in ("builtins", None) else f"{kind.__module__}.{kind.__qualname__}"


def get_device(self: Tensor) -> int:
    """The number of the GPU that the tensor is on; -1 for the computer's own memory."""
    return -1 if self.device.type == "cpu" else self.device.index or 0


METHODS = {"is_same_size": is_same_size, "is_nonzero": is_nonzero, "get_device": get_device}
