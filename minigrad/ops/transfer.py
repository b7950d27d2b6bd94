"""The way into a GPU's memory; minigrad/kernels/cuda, which needs more time to load, is only imported by whoever goes there."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dlpack, kinds
from ..arrays.devices import CUDA, META, device
from ..arrays.nowhere import entered


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


def shape_of(a: Any) -> Any:
    """An array nowhere that is like another one."""
    from ..kernels.cuda.device_array import like

    with entered():
        return like(a)


def blank(shape: tuple, value: Any, dtype: np.dtype, place: device = CUDA) -> Any:
    """An array of one value on a device; None says that its elements need not be set."""
    from ..kernels.cuda.device_array import empty

    if place == META:
        with entered():
            return empty(shape, dtype)
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


def stream(bits: np.random.Philox, place: device = CUDA) -> Any:
    """Return the module that draws random numbers in the memory of the GPU, or for meta arrays."""
    from ..kernels.cuda.random_cuda import NoStream, Stream

    return NoStream(bits) if place == META else Stream(bits)


def placed(a: Any, place: device) -> Any:
    """Return an array, or a number of NumPy's, on the device where it is wanted."""
    if place == kinds.place(a):
        return a
    if place == META:
        return shape_of(a)
    return a.to_host() if kinds.on_device(a) else upload(np.asarray(a))
