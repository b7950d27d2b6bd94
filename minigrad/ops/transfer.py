"""The gateway to GPU memory; it imports minigrad/kernels/cuda, which is slow to load, only on demand."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dlpack, kinds
from ..arrays.devices import CUDA, META, device
from ..arrays.meta import entered
from ..errors import error


def count() -> int:
    """Return the number of GPUs that tensors can be on."""
    from ..kernels.cuda.machine import count as found

    return found()


def current() -> Any:
    """Return the GPU.  Raises RuntimeError if there is none."""
    from ..kernels.cuda.machine import current as found

    return found()


def allocator() -> Any:
    """Return the allocator of GPU memory."""
    from ..kernels.cuda.allocator import ALLOCATOR

    return ALLOCATOR


def empty_cache() -> None:
    """Release the memory kept for reuse, a GPU's and pinned memory."""
    from ..kernels.cuda.pinned import free

    allocator().empty()
    free.clear()


def upload(a: np.ndarray, wait: bool = True) -> Any:
    """Return an array's elements in GPU memory; if not `wait`, perhaps while the GPU still reads them from pinned memory."""
    from ..kernels.cuda.device_array import to_device

    return to_device(a, wait)


def pinned(a: np.ndarray) -> np.ndarray:
    """Return a copy of an array in pinned memory.  Raises RuntimeError if there is no GPU to pin it for."""
    current()
    from ..kernels.cuda.pinned import copy_of

    return copy_of(a)


def shape_of(a: Any) -> Any:
    """Return a meta array like another array."""
    from ..kernels.cuda.device_array import like

    with entered():
        return like(a)


def blank(shape: tuple, value: Any, dtype: np.dtype, place: device = CUDA) -> Any:
    """Return an array of one value on a device; None leaves its elements unset."""
    from ..kernels.cuda.device_array import empty

    if place == META:
        with entered():
            return empty(shape, dtype)
    array = empty(shape, dtype)
    if value is not None:
        array.fill(value)
    return array


def from_cuda_interface(lender: Any) -> Any:
    """Return the GPU array that an object of another library exposes by __cuda_array_interface__."""
    current()
    from ..kernels.cuda.exchange import from_interface

    return from_interface(lender)


def from_library(lender: Any) -> Any:
    """Return the array that another library lends by DLPack, on its device."""
    try:
        if lender.__dlpack_device__()[0] in (dlpack.PROCESSOR, dlpack.PINNED):
            return dlpack.from_capsule(lender)
        current()
        from ..kernels.cuda.exchange import from_dlpack

        return from_dlpack(lender)
    except ValueError as e:
        if "PyCapsule" not in str(e):
            raise
        what = "its PyCapsule holds no array, or one that has been taken already"
        raise error(ValueError, "from_dlpack", what, "pass the array itself: a capsule is taken once") from None


def stream(place: device = CUDA) -> Any:
    """Return the stream of random numbers in GPU memory, or for meta arrays."""
    from ..kernels.cuda.random_cuda import NoStream, RandomStream

    return (NoStream if place == META else RandomStream)()


def placed(a: Any, place: device, wait: bool = True) -> Any:
    """Return an array, or a NumPy number, on the requested device; see `upload` for `wait`."""
    if place == kinds.place(a):
        return a
    if place == META:
        return shape_of(a)
    return a.to_host() if kinds.on_device(a) else upload(np.asarray(a), wait)
