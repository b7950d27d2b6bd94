"""Functions that answer questions about a tensor: is_tensor, numel, result_type, typename, ..."""

from __future__ import annotations

from typing import Any

from ..arrays import dtypes
from ..core.tensor import Tensor
from .base.families import stand_in
from .legacy import type_of


def is_tensor(obj: Any) -> bool:
    """Return True if `obj` is a tensor.

    >>> import minigrad
    >>> minigrad.is_tensor(minigrad.ones(2)), minigrad.is_tensor([1., 1.])
    (True, False)
    """
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> int:
    """Return the number of elements.

    >>> import minigrad
    >>> minigrad.numel(minigrad.ones(2, 3))
    6
    """
    return input.numel()


def is_floating_point(input: Tensor) -> bool:
    """Return True if the dtype is a floating-point dtype.

    >>> import minigrad
    >>> minigrad.is_floating_point(minigrad.ones(2)), minigrad.is_floating_point(minigrad.arange(2))
    (True, False)
    """
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Return False: minigrad has no complex tensors.

    >>> import minigrad
    >>> minigrad.is_complex(minigrad.ones(2))
    False
    """
    return input.is_complex()


def is_signed(input: Tensor) -> bool:
    """Return True if the dtype can hold negative numbers.

    >>> import minigrad
    >>> minigrad.is_signed(minigrad.arange(2)), minigrad.is_signed(minigrad.arange(2, dtype=minigrad.uint8))
    (True, False)
    """
    return input.is_signed()


def is_nonzero(input: Tensor) -> bool:
    """Return True if the single element of `input` is not zero.  Raises RuntimeError for another number of elements.

    >>> import minigrad
    >>> minigrad.is_nonzero(minigrad.tensor([0.5]))
    True
    """
    return bool(input)


def is_inference(input: Tensor) -> bool:
    """Return True if the tensor was created under inference_mode.

    >>> import minigrad
    >>> with minigrad.inference_mode():
    ...     print(minigrad.is_inference(minigrad.ones(2)))
    True
    """
    return input.is_inference()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return True if the two shapes are equal.

    >>> import minigrad
    >>> minigrad.is_same_size(minigrad.ones(2, 3), minigrad.zeros(2, 3))
    True
    """
    return input.shape == other.shape


def result_type(tensor1: Any, tensor2: Any) -> Any:
    """Return the common dtype of two tensors or numbers in one operation.

    >>> import minigrad
    >>> minigrad.result_type(minigrad.tensor([1, 2]), 1.5)
    minigrad.float32
    """
    return dtypes.of_numpy(dtypes.common([stand_in(x, None) for x in (tensor1, tensor2)]))


def typename(obj: Any) -> str:
    """Return the name of an object's type; for a tensor it includes the dtype: "minigrad.FloatTensor".

    >>> import minigrad
    >>> minigrad.typename(minigrad.ones(2))
    'minigrad.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return type_of(obj)
    kind = obj if isinstance(obj, type) else type(obj)
    return kind.__qualname__ if kind.__module__ in ("builtins", None) else f"{kind.__module__}.{kind.__qualname__}"


def get_device(self: Tensor) -> int:
    """Return the index of the tensor's GPU, or -1 for the CPU."""
    return -1 if self.device.type == "cpu" else self.device.index or 0


METHODS = {"is_same_size": is_same_size, "is_nonzero": is_nonzero, "get_device": get_device}
