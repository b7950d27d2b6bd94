"""The way into a GPU's memory; minigrad/kernels/cuda, which needs more time to load, is only imported by whoever goes there."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dlpack
from ..arrays.devices import CPU, device


def count() -> int:
    """How many GPUs tensors can be on."""
    from ..kernels.cuda.machine import count as found

    return found()


def current() -> Any:
    """The GPU.  Raises RuntimeError where there is none."""
    from ..kernels.cuda.machine import current as found

    return found()


def allocator() -> Any:
    """What hands out the memory of the GPU."""
    from ..kernels.cuda.allocator import ALLOCATOR

    return ALLOCATOR


def upload(a: np.ndarray) -> Any:
    """An array's elements in the memory of the GPU."""
    from ..kernels.cuda.device_array import to_device

    return to_device(a)


def blank(shape: tuple, value: Any, dtype: np.dtype) -> Any:
    """An array of one value in the memory of the GPU; None says that its elements need not be set."""
    from ..kernels.cuda.device_array import empty

    array = empty(shape, dtype)
    if value is not None:
        array.fill(value)
    return array


def borrowed(lender: Any) -> Any:
    """The array in the memory of the GPU that an object of another library shows by __cuda_array_interface__."""
    current()
    from ..kernels.cuda.exchange import from_interface

    return from_interface(lender)


def lent(lender: Any) -> Any:
    """The array that another library lends by DLPack, in the memory where it is."""
    if lender.__dlpack_device__()[0] == dlpack.PROCESSOR:
        return dlpack.borrowed(lender)
    current()
    from ..kernels.cuda.exchange import from_dlpack

    return from_dlpack(lender)


def stream(bits: np.random.Philox) -> Any:
    """What makes random numbers in the memory of the GPU."""
    from ..kernels.cuda.random_cuda import Stream

    return Stream(bits)


def placed(a: Any, place: device) -> Any:
    """An array that has just been made, where it is wanted."""
    if (place == CPU) == (type(a) is np.ndarray):
        return a
    return a.to_host() if place == CPU else upload(a)
