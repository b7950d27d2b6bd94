"""Device memory that several libraries share: the protocols of DLPack and of __cuda_array_interface__.

Nothing is copied in either direction.  Who receives an array keeps what it came from alive: a Block whose `owner` is the other
library's object, or, for what is lent by DLPack, the record that the two pass on: who is done with it calls its `deleter`.

The order of work is kept as the protocols say: the lender makes the other's stream wait.  Our stream and the default stream
wait for each other by themselves, so there is only something to do for a third one.

Sources: dmlc.github.io/dlpack, numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ...errors import error
from . import device
from .allocator import Block
from .array import DeviceArray, empty, placed

CUDA, PROCESSOR = 2, 1  # DLPack's numbers for kinds of devices
KINDS = {"i": 0, "u": 1, "f": 2, "b": 6}  # DLPack's numbers for kinds of dtypes
LENT, TAKEN = b"dltensor", b"used_dltensor"  # the names of a capsule before and after somebody has taken what is in it
DEFAULT_STREAMS = (None, 0, 1)
NO_WAITING = -1


# ---------------------------------------------------------------------- DLPack's record
class DLDevice(ctypes.Structure):
    """Kind and number of a device."""

    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    """Kind and bits of elements."""

    _fields_ = [("kind", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    """An array; strides count elements, and are NULL for row-major order."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    """An array that is lent, and the function that ends the loan."""


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(DLManagedTensor))
DLManagedTensor._fields_ = [("array", DLTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]

python = ctypes.pythonapi
DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, DESTRUCTOR)(
    ("PyCapsule_New", python)
)
# the first takes a capsule by its address: the one that is being destroyed must not get a reference any more
has_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", python))
pointer_at = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", python))
set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", python))

_lent: dict[int, tuple] = {}  # address of a record -> the record, and what has to live as long


# ---------------------------------------------------------------------- lending
def capsule(a: DeviceArray, stream: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
    """The array as DLPack's capsule, for work on the given stream."""
    if dl_device is not None and tuple(dl_device) != (CUDA, 0):
        if tuple(dl_device) != (PROCESSOR, 0) or copy is False:
            raise error(
                BufferError,
                "dlpack",
                f"an array of shape {a.shape} on cuda:0 cannot be lent on DLPack's device {tuple(dl_device)}",
                "copy it first: x.cpu()",
            )
        return a.to_host().__dlpack__()
    if copy:
        a = a.copy()
    if stream not in (*DEFAULT_STREAMS, NO_WAITING, device.current().stream):
        device.current().synchronize()
    whole = ctypes.c_int64 * a.ndim
    shape, strides = whole(*a.shape), whole(*[s // a.itemsize for s in a.strides])
    kind = DLDataType(KINDS[a.dtype.kind], 8 * a.itemsize, 1)
    array = DLTensor(a.address, DLDevice(CUDA, 0), a.ndim, kind, shape, strides, 0)
    record = DLManagedTensor(array, None, end_loan)
    address = ctypes.addressof(record)
    _lent[address] = record, a, shape, strides
    return new_capsule(address, LENT, end_capsule)


@DELETER
def end_loan(record: Any) -> None:
    """Whoever took the array does not need it any more."""
    _lent.pop(ctypes.addressof(record.contents), None)


@DESTRUCTOR
def end_capsule(capsule: int) -> None:
    """A capsule that nobody has taken anything from ends the loan itself."""
    if has_name(capsule, LENT):
        _lent.pop(pointer_at(capsule, LENT), None)


def interface(a: DeviceArray) -> dict:
    """What __cuda_array_interface__ says of an array."""
    return {
        "shape": a.shape,
        "typestr": a.dtype.str,
        "data": (a.address if a.size else 0, False),
        "strides": None if a.flags.c_contiguous else a.strides,
        "stream": device.current().stream or None,
        "version": 3,
    }


# ---------------------------------------------------------------------- borrowing
class Loan:
    """A record of DLPack's that has been taken out of its capsule."""

    record: Any = None

    def __init__(self, capsule: Any):
        self.record = DLManagedTensor.from_address(pointer_at(id(capsule), LENT))
        set_name(capsule, TAKEN)

    def __del__(self):
        if self.record is not None and self.record.deleter:
            self.record.deleter(self.record)


def from_dlpack(lender: Any) -> DeviceArray:
    """The array that another library lends, whose __dlpack_device__ is a GPU."""
    kind, number = lender.__dlpack_device__()
    if (int(kind), number) != (CUDA, 0):
        raise error(
            BufferError,
            "from_dlpack",
            f"the array is on DLPack's device {(int(kind), number)}, and tensors are on the first GPU, {(CUDA, 0)}",
            "copy it there, or to the processor, with the library that it comes from",
        )
    loan = Loan(lender.__dlpack__(stream=device.current().stream or None))
    a = loan.record.array
    dtype = np.dtype(f"{ {v: k for k, v in KINDS.items()}.get(a.dtype.kind, 'V') }{a.dtype.bits // 8}")
    shape = tuple(a.shape[: a.ndim])
    strides = tuple([s * dtype.itemsize for s in a.strides[: a.ndim]]) if a.strides else None
    return at_address((a.data or 0) + a.byte_offset, shape, dtype, strides, loan)


def from_interface(lender: Any) -> DeviceArray:
    """The array behind an object with __cuda_array_interface__."""
    found = lender.__cuda_array_interface__
    if found.get("mask") is not None:
        raise error(
            NotImplementedError,
            "as_tensor",
            f"a masked array of shape {found['shape']}",
            "fill what is masked first",
        )
    if found.get("stream") not in (*DEFAULT_STREAMS, device.current().stream):
        device.current().wait_for(found["stream"])
    dtype = np.dtype(found["typestr"])
    return at_address(found["data"][0], tuple(found["shape"]), dtype, found.get("strides"), lender)


def at_address(address: int, shape: tuple, dtype: np.dtype, strides: tuple | None, owner: Any) -> DeviceArray:
    """An array in the memory of another library, whose `owner` lives as long."""
    if 0 in shape:
        return empty(shape, dtype)
    steps = np.zeros(0) if strides is None else np.asarray(strides)
    if (steps < 0).any():
        raise error(
            ValueError,
            "as_tensor",
            f"at least one stride of the array of shape {shape} is negative, which tensors do not support",
            "pass a copy of the array",
        )
    last = int(np.prod(shape)) - 1 if strides is None else sum([(n - 1) * s for n, s in zip(shape, strides)])
    nbytes = (last * dtype.itemsize if strides is None else last) + dtype.itemsize
    return placed(Block(address, nbytes, 0, owner), shape, dtype, strides)
