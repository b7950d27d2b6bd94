"""DLPack's record of a lent array, the capsules that carry such records, and bfloat16 in the computer's memory.

NumPy lends its own arrays but has no bfloat16.  It lends and borrows such arrays as 16-bit integers; this module corrects the
dtype in the record.  kernels/cuda/exchange.py lends the memory of a GPU.

Source: dmlc.github.io/dlpack.
"""

import ctypes
from typing import Any

import numpy as np

from .dtypes import BF2

CUDA, PROCESSOR, PINNED = 2, 1, 3  # DLPack's numbers for device types
KINDS = {"i": 0, "u": 1, "f": 2, "bf": 4, "b": 6}  # DLPack's numbers for dtype codes
LENT, TAKEN = b"dltensor", b"used_dltensor"  # the names of a capsule before and after a consumer takes its record
VERSIONED, AHEAD = b"dltensor_versioned", 32  # a versioned record begins with this number of other bytes


class DLDevice(ctypes.Structure):
    """Type and number of a device."""

    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    """Kind and width in bits of the elements."""

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
    """A lent array and the function that ends the loan."""


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(DLManagedTensor))
DLManagedTensor._fields_ = [("array", DLTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]

python = ctypes.pythonapi
has_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", python))
pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", python))
set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", python))


def array_in(capsule: Any) -> DLTensor:
    """Return the array of the record in a capsule that is still unconsumed."""
    if has_name(capsule, VERSIONED):
        return DLTensor.from_address(pointer_in(capsule, VERSIONED) + AHEAD)
    return DLTensor.from_address(pointer_in(capsule, LENT))


def is_bfloat16(a: DLTensor) -> bool:
    """Return True if the elements of a lent array are bfloat16."""
    return (a.dtype.kind, a.dtype.bits, a.dtype.lanes) == (KINDS["bf"], 16, 1)


# ---------------------------------------------------------------------- the computer's memory
def as_capsule(a: np.ndarray, **options: Any) -> Any:
    """Return an array in the computer's memory as a DLPack capsule."""
    if a.dtype != BF2:
        return a.__dlpack__(**options)
    capsule = a.view(np.uint16).__dlpack__(**options)
    array_in(capsule).dtype.kind = KINDS["bf"]
    return capsule


class Lender:
    """Lends another library's array to NumPy; passes bfloat16 on as integers, and notes it."""

    bfloat16 = False

    def __init__(self, lender: Any):
        self.lender = lender

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.lender.__dlpack__(**options)
        array = array_in(capsule)
        if is_bfloat16(array):
            self.bfloat16, array.dtype.kind = True, KINDS["u"]
        return capsule

    def __dlpack_device__(self) -> tuple:
        return self.lender.__dlpack_device__()


def from_capsule(lender: Any) -> np.ndarray:
    """Return the array that another library lends in the computer's memory."""
    seen = Lender(lender)
    array = np.from_dlpack(seen)
    return array.view(BF2) if seen.bfloat16 else array
