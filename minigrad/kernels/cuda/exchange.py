"""Device memory shared between libraries: the protocols of DLPack and of __cuda_array_interface__.

Neither direction copies. The receiver of an array keeps its source alive: through a MemoryBlock whose `owner` is the other
library's object, or, under DLPack, through the record that the two pass on, whose `deleter` the receiver calls at the end.

The order of work follows the protocols: the lender makes the borrower's stream wait. Our stream and the default stream wait
for each other anyway, so only a third stream needs work here.

DLPack's record is in arrays/dlpack.py. Source: numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html.
"""

from typing import Any

import numpy as np

from ...arrays import dlpack
from ...arrays.dlpack import (
    CUDA,
    KINDS,
    LENT,
    PROCESSOR,
    TAKEN,
    DLManagedTensor,
    array_in,
    is_bfloat16,
    pointer_in,
    set_name,
)
from ...arrays.dtypes import BF2
from ...arrays.meta import is_meta
from ...errors import error
from . import machine, simulator
from .allocator import MemoryBlock
from .device_array import DeviceArray, empty, placed, plain

DEFAULT_STREAMS = (None, 0, 1)
NO_WAITING = -1


# ---------------------------------------------------------------------- lending
def capsule(a: DeviceArray, stream: Any = None, max_version: Any = None, dl_device: Any = None,
            copy: bool | None = None) -> Any:  # fmt: skip
    """Return the array as DLPack's capsule, for work on the given stream."""
    refuse_meta(a)
    if dl_device is not None and tuple(dl_device) != (CUDA, 0):
        if tuple(dl_device) != (PROCESSOR, 0) or copy is False:
            what = f"an array of shape {a.shape} on cuda:0 cannot be shared on DLPack's device {tuple(dl_device)}"
            raise error(BufferError, "dlpack", what, "copy it first: x.cpu()")
        return dlpack.as_capsule(a.to_host())
    if copy:
        a = a.copy()
    if stream not in (*DEFAULT_STREAMS, NO_WAITING, machine.current().stream):
        machine.current().synchronize()
    seen = machine.Interface(a.address, a.shape, plain(a.shadow).dtype.str, a.strides, a)
    lent = dlpack.as_capsule(np.asarray(seen).view(a.dtype))
    array_in(lent).device.kind = CUDA
    return lent


def refuse_meta(a: DeviceArray) -> None:
    """Raise BufferError for a meta tensor: other libraries cannot know that it has no memory."""
    if is_meta(a):
        what = f"a meta tensor of shape {a.shape} has no memory to share"
        raise error(BufferError, "dlpack", what, "make it on a device: torch.empty_like(x, device='cpu')")


def interface(a: DeviceArray) -> dict:
    """Return the __cuda_array_interface__ of an array."""
    refuse_meta(a)
    if a.dtype == BF2:
        what = f"has no name for bfloat16, the dtype of an array of shape {a.shape}"
        fix = "share it through DLPack: from_dlpack(x), or pass x.float()"
        raise error(TypeError, "__cuda_array_interface__", what, fix)
    return {
        "shape": a.shape,
        "typestr": a.dtype.str,
        "data": (a.address if a.size else 0, False),
        "strides": None if a.flags.c_contiguous else a.strides,
        "stream": machine.current().stream or None,
        "version": 3,
    }


class InOrder:
    """Device memory for a library without streams: reading its address waits for pending kernels."""

    def __init__(self, a: DeviceArray):
        self.a = a

    @property
    def __cuda_array_interface__(self) -> dict:
        machine.current().synchronize()
        return {**interface(self.a), "stream": None}


def in_order(a: DeviceArray) -> Any:
    """Return a contiguous array for such a library; in the simulator, its memory, which is main memory."""
    if simulator.SIMULATED:
        machine.current().synchronize()
        return np.asarray(machine.Interface(a.address - machine.SHIFT, a.shape, a.dtype.str, owner=a))
    return InOrder(a)


# ---------------------------------------------------------------------- borrowing
class Loan:
    """A DLPack record that was taken out of its capsule."""

    record: Any = None

    def __init__(self, capsule: Any):
        self.record = DLManagedTensor.from_address(pointer_in(capsule, LENT))
        set_name(capsule, TAKEN)

    def __del__(self):
        if self.record is not None and self.record.deleter:
            self.record.deleter(self.record)


def from_dlpack(lender: Any) -> DeviceArray:
    """Return the array of another library whose __dlpack_device__ is a GPU."""
    kind, number = lender.__dlpack_device__()
    if (int(kind), number) != (CUDA, 0):
        what = f"the array is on DLPack's device {(int(kind), number)}, but tensors are on the first GPU, {(CUDA, 0)}"
        fix = "copy it there, or to the processor, with the library that made it"
        raise error(BufferError, "from_dlpack", what, fix)
    loan = Loan(lender.__dlpack__(stream=machine.current().stream or None))
    a = loan.record.array
    letters = {number: letter for letter, number in KINDS.items()}
    dtype = BF2 if is_bfloat16(a) else np.dtype(f"{letters.get(a.dtype.kind, 'V')}{a.dtype.bits // 8}")
    shape = tuple(a.shape[: a.ndim])
    strides = tuple([s * dtype.itemsize for s in a.strides[: a.ndim]]) if a.strides else None
    return at_address((a.data or 0) + a.byte_offset, shape, dtype, strides, loan)


def from_interface(lender: Any) -> DeviceArray:
    """Return the array behind an object with __cuda_array_interface__."""
    found = lender.__cuda_array_interface__
    if found.get("mask") is not None:
        what = f"does not take masked arrays, got one of shape {found['shape']}"
        raise error(NotImplementedError, "as_tensor", what, "fill in the masked elements first")
    if found.get("stream") not in (*DEFAULT_STREAMS, machine.current().stream):
        machine.current().wait_for(found["stream"])
    dtype = np.dtype(found["typestr"])
    return at_address(found["data"][0], tuple(found["shape"]), dtype, found.get("strides"), lender)


def at_address(address: int, shape: tuple, dtype: np.dtype, strides: tuple | None, owner: Any) -> DeviceArray:
    """Return an array in the memory of another library; the array keeps `owner` alive."""
    if 0 in shape:
        return empty(shape, dtype)
    strides = np.empty(shape, dtype).strides if strides is None else strides  # untouched memory costs nothing
    if min(strides, default=0) < 0:
        what = f"at least one stride of the array of shape {shape} is negative, which tensors do not support"
        raise error(ValueError, "as_tensor", what, "pass a copy of the array")
    nbytes = sum([(n - 1) * s for n, s in zip(shape, strides)]) + dtype.itemsize
    return placed(MemoryBlock(address, nbytes, 0, owner), shape, dtype, strides)
